//! OS locks on files in `locks/`, released by the death of their holder.
//!
//! Who holds a lock is written in a second file, `<lock>.holder`, for people only: no process
//! number is ever part of a name or a decision. A wait says whom it waits for after a second; Ctrl-C
//! ends it with the process, whose locks the system releases.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::disk;
use crate::model::{NoProgress, Progress, Task};

use super::error::{At, Result, StoreError};

/// How a lock is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Shared,
    Exclusive,
}

/// A lock, held until dropped.
#[derive(Debug)]
pub(super) struct HeldLock {
    holder: Option<PathBuf>,
    // Released by closing: under Wine, unlocking reports an error although it worked.
    _file: File,
}

impl HeldLock {
    /// Writes down, for those who wait, that this process holds the lock of this path.
    pub(super) fn signed(mut self, path: &Path) -> Self {
        let holder = holder_path(path);
        if fs::write(&holder, describe_this_process()).is_ok() {
            self.holder = Some(holder);
        }
        self
    }
}

impl Drop for HeldLock {
    fn drop(&mut self) {
        if let Some(holder) = &self.holder {
            let _ = disk::remove_file(holder); // It informs people only.
        }
    }
}

/// Opens the file of a lock, making it if there is none.
fn open(path: &Path) -> Result<File> {
    disk::retried(path, || opening(true).open(path)).at("open the lock", path)
}

/// How the file of a lock is opened: never through a link, which may have come with a clone and
/// would have a file made wherever it leads.
fn opening(create: bool) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(create).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    }
    options
}

fn try_lock(file: &File, mode: Mode, path: &Path) -> Result<bool> {
    let tried = match mode {
        Mode::Shared => file.try_lock_shared(),
        Mode::Exclusive => file.try_lock(),
    };
    match tried {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
        Err(TryLockError::Error(error)) => Err(StoreError::io("lock", path, error)),
    }
}

/// Takes the lock if nobody holds it the other way.
pub(super) fn try_acquire(path: &Path, mode: Mode) -> Result<Option<HeldLock>> {
    let file = open(path)?;
    Ok(try_lock(&file, mode, path)?.then_some(HeldLock { holder: None, _file: file }))
}

/// Whether somebody holds this lock exclusively. A file that is gone is held by nobody. Looks with
/// a shared lock, so that two who look are not taken for somebody who holds it.
pub(super) fn is_held(path: &Path) -> Result<bool> {
    match opening(false).open(path) {
        Ok(file) => Ok(!try_lock(&file, Mode::Shared, path)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(StoreError::io("open the lock", path, error)),
    }
}

/// Takes a lock whose file is never removed, waiting as long as it takes. `what` completes
/// "waiting for …".
pub(super) fn acquire(
    path: &Path,
    mode: Mode,
    what: &str,
    progress: &dyn Progress,
) -> Result<HeldLock> {
    let file = open(path)?;
    wait_until(path, what, progress, || Ok(try_lock(&file, mode, path)?.then_some(())))?;
    Ok(HeldLock { holder: None, _file: file })
}

/// Takes a lock whose file may be removed while nobody holds it: each try opens it anew, and
/// `step` keeps the remover away during the try.
pub(super) fn acquire_named<Guard>(
    path: &Path,
    what: &str,
    progress: &dyn Progress,
    step: impl Fn() -> Result<Guard>,
) -> Result<HeldLock> {
    let held = wait_until(path, what, progress, || {
        let _guard = step()?;
        try_acquire(path, Mode::Exclusive)
    })?;
    Ok(held.signed(path))
}

/// Where the work has no progress of its own: waits are told to whoever is told of them in this
/// process.
pub(super) struct Told;

impl Progress for Told {
    fn start(&self, _label: &str, _length: Option<u64>) -> Box<dyn Task> {
        Box::new(NoProgress)
    }

    fn note(&self, line: &str) {
        disk::tell_of_wait(line);
    }
}

fn wait_until<T>(
    path: &Path,
    what: &str,
    progress: &dyn Progress,
    mut tried: impl FnMut() -> Result<Option<T>>,
) -> Result<T> {
    let begun = Instant::now();
    let mut pause = Duration::from_millis(1);
    let mut told = false;
    loop {
        if let Some(done) = tried()? {
            return Ok(done);
        }
        if !told && begun.elapsed() >= Duration::from_secs(1) {
            progress.note(&format!("waiting for {what}, held by {}", holder_of(path)));
            told = true;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

fn holder_path(lock: &Path) -> PathBuf {
    let mut name = lock.as_os_str().to_owned();
    name.push(".holder");
    PathBuf::from(name)
}

fn holder_of(lock: &Path) -> String {
    match disk::read_to_string(&holder_path(lock)) {
        Ok(text) if !text.trim().is_empty() => text.trim().to_owned(),
        _ => "another drystone".to_owned(),
    }
}

/// `drystone build cuda-on-amd (process 1234)`.
pub(super) fn describe_this_process() -> String {
    let mut words: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    if let Some(program) = words.first_mut()
        && let Some(name) = Path::new(program.as_str()).file_stem()
    {
        *program = name.to_string_lossy().into_owned();
    }
    let command: String =
        words.join(" ").chars().map(|c| if c < ' ' { ' ' } else { c }).take(200).collect();
    format!("{command} (process {})\n", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    struct Notes(Mutex<Vec<String>>);

    impl Progress for Notes {
        fn start(&self, _label: &str, _length: Option<u64>) -> Box<dyn Task> {
            Box::new(NoProgress)
        }

        fn note(&self, line: &str) {
            self.0.lock().expect("no panic").push(line.to_owned());
        }
    }

    #[test]
    fn a_lock_excludes_and_is_free_after_its_drop() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a");
        let held = try_acquire(&path, Mode::Exclusive).expect("a lock").expect("free");
        assert!(try_acquire(&path, Mode::Shared).expect("tried").is_none());
        assert!(is_held(&path).expect("asked"));
        drop(held);
        let first = try_acquire(&path, Mode::Shared).expect("tried").expect("free");
        assert!(try_acquire(&path, Mode::Shared).expect("tried").is_some());
        drop(first);
        assert!(!is_held(&path).expect("asked"));
    }

    #[test]
    fn who_signed_a_lock_is_named_until_it_is_dropped() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a");
        let held = acquire(&path, Mode::Exclusive, "the thing", &NoProgress).expect("free");
        assert_eq!(holder_of(&path), "another drystone");
        let held = held.signed(&path);
        assert_eq!(holder_of(&path), describe_this_process().trim());
        drop(held);
        assert_eq!(holder_of(&path), "another drystone");
    }

    #[test]
    fn a_wait_says_whom_it_waits_for() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a");
        let held = acquire_named(&path, "the thing", &NoProgress, || Ok(())).expect("free");
        let notes = Notes(Mutex::default());
        std::thread::scope(|scope| {
            let waiting =
                scope.spawn(|| acquire_named(&path, "the thing", &notes, || Ok(())).map(drop));
            while notes.0.lock().expect("no panic").is_empty() {
                std::thread::sleep(Duration::from_millis(20));
            }
            drop(held);
            waiting.join().expect("no panic").expect("it got the lock");
        });
        let notes = notes.0.into_inner().expect("no panic");
        assert_eq!(notes.len(), 1);
        assert!(notes[0].starts_with("waiting for the thing, held by "), "{notes:?}");
        assert!(notes[0].contains(&format!("(process {})", std::process::id())), "{notes:?}");
    }
}
