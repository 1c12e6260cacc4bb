//! What another program holds open for a moment: on Windows opening, renaming and removing then fail
//! with a sharing violation, and trying again helps.
//!
//! One command may stand still for that for 25 seconds in all: virus scanners hold a fresh package that
//! long. Every use of files that can meet such a program goes through [`retried`]; after a second of
//! waiting for one file it says which file, and what the likely cause is.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How long a command may stand still for others.
const BUDGET: Duration = Duration::from_secs(25);
/// After this time of waiting for one file a person is told.
const QUIET: Duration = Duration::from_secs(1);
const SHORTEST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

static WAITS: Waits = Waits::new(BUDGET);
type Listener = Box<dyn Fn(&str) + Send + Sync>;

static LISTENER: OnceLock<Listener> = OnceLock::new();

/// Says who is told, in one line each, which file this process waits for and why. The first call
/// counts: it is the command line's.
pub fn tell_of_waits(listener: impl Fn(&str) + Send + Sync + 'static) {
    let _ = LISTENER.set(Box::new(listener)); // A second listener would hear the same.
}

/// Tells the same listener of any other wait.
pub fn tell_of_wait(line: &str) {
    if let Some(listener) = LISTENER.get() {
        listener(line);
    }
}

/// Whether an error says that another program holds the file open: `ERROR_SHARING_VIOLATION`,
/// `ERROR_LOCK_VIOLATION`, `ERROR_DELETE_PENDING`, `ERROR_USER_MAPPED_FILE`.
pub fn is_held_open(error: &io::Error) -> bool {
    cfg!(windows) && matches!(error.raw_os_error(), Some(32 | 33 | 303 | 1224))
}

/// Whether it is a program that runs, or a library that one has loaded: for as long as it runs, which
/// no wait outlasts.
fn is_running(error: &io::Error) -> bool {
    cfg!(windows) && error.raw_os_error() == Some(1224)
}

/// What to do about an error of the operating system: this where another program holds the file
/// open, else `otherwise`.
pub fn advice(error: &io::Error, otherwise: &'static str) -> &'static str {
    match is_held_open(error) {
        true => {
            "another program holds it open, most likely a virus scanner or a running program: close it, or wait for the scan to end, and run the command again"
        }
        false => otherwise,
    }
}

/// Whether a change of names was refused, most likely for such a program. While somebody has a file
/// open that is to be replaced or was removed, or that lies in a directory to be moved, Windows says
/// "access denied" (5), as it does where it will never be allowed.
pub fn may_be_held_open(error: &io::Error) -> bool {
    is_held_open(error) || (cfg!(windows) && error.raw_os_error() == Some(5))
}

/// Runs it again while somebody holds the file open and the budget lasts. `path` is the file that
/// people are told about.
pub fn retried<T>(path: &Path, work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    Patience::of_this_process().retry(path, is_held_open, work)
}

/// The same for work that changes names. Where access is denied for good, it says so after a second:
/// the budget is not spent on it.
pub(super) fn retried_naming<T>(path: &Path, work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    Patience::of_this_process().retry(path, may_be_held_open, work)
}

/// The time in which at least one thread waited: many that wait for one scanner spend it once.
struct Waits {
    budget: Duration,
    waiting: Mutex<Waiting>,
}

struct Waiting {
    threads: u32,
    since: Option<Instant>,
    before: Duration,
}

impl Waits {
    const fn new(budget: Duration) -> Self {
        let waiting = Waiting { threads: 0, since: None, before: Duration::ZERO };
        Self { budget, waiting: Mutex::new(waiting) }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn are_over(&self) -> bool {
        self.lock().spent() >= self.budget
    }

    fn wait(&self, pause: Duration) {
        let mut waiting = self.lock();
        waiting.threads += 1;
        waiting.since.get_or_insert_with(Instant::now);
        drop(waiting);
        std::thread::sleep(pause);
        let mut waiting = self.lock();
        waiting.threads -= 1;
        if waiting.threads == 0 {
            waiting.before = waiting.spent();
            waiting.since = None;
        }
    }
}

impl Waiting {
    fn spent(&self) -> Duration {
        self.before + self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

/// How long to try, and whom to tell.
struct Patience<'a> {
    waits: &'a Waits,
    tell: &'a dyn Fn(&str),
}

impl Patience<'static> {
    fn of_this_process() -> Self {
        Self { waits: &WAITS, tell: &tell_of_wait }
    }
}

impl Patience<'_> {
    fn retry<T>(
        &self,
        path: &Path,
        worth: impl Fn(&io::Error) -> bool,
        mut work: impl FnMut() -> io::Result<T>,
    ) -> io::Result<T> {
        let mut begun = None;
        let mut told = false;
        let mut pause = SHORTEST_PAUSE;
        loop {
            let error = match work() {
                Err(error) if worth(&error) => error,
                done => return done,
            };
            let waited = begun.get_or_insert_with(Instant::now).elapsed();
            // "Access denied" may be for good and a program may run for days: neither is worth more
            // than a moment.
            let is_long = waited >= QUIET;
            let may_pass = is_held_open(&error) && !is_running(&error);
            if self.waits.are_over() || is_long && !may_pass {
                return Err(error);
            }
            if is_long && !told {
                told = true;
                (self.tell)(&format!(
                    "waiting for \"{}\": another program holds it open, most likely a virus scanner or an indexer",
                    path.display()
                ));
            }
            self.waits.wait(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

/// `File::open`, retried.
pub fn open(path: &Path) -> io::Result<File> {
    retried(path, || File::open(path))
}

/// `fs::read`, retried.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    retried(path, || fs::read(path))
}

/// `fs::read_to_string`, retried.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    retried(path, || fs::read_to_string(path))
}

/// `fs::rename`, retried. It replaces what is there.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    retried_naming(from, || fs::rename(from, to))
}

/// `fs::hard_link`, retried.
pub fn hard_link(from: &Path, to: &Path) -> io::Result<()> {
    retried(from, || fs::hard_link(from, to))
}

/// Removes a name, retried, without touching what the file's other names share: neither attributes
/// nor access rights are cleared first.
pub fn remove_file(path: &Path) -> io::Result<()> {
    #[cfg(windows)]
    return retried(path, || super::windows::remove_name(path).map(drop));
    #[cfg(unix)]
    fs::remove_file(path)
}

/// The same; the bytes that are free then: none while the file has other names.
pub(super) fn remove_counting(path: &Path, there: &fs::Metadata) -> io::Result<u64> {
    #[cfg(windows)]
    let names = u64::from(retried(path, || super::windows::remove_name(path))?);
    #[cfg(unix)]
    let names = fs::remove_file(path).map(|()| std::os::unix::fs::MetadataExt::nlink(there))?;
    Ok(if names > 1 { 0 } else { there.len() })
}

#[cfg(test)]
mod tests;
