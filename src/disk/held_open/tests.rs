//! Waiting for what somebody holds open: how long, for what, and who is told.

use std::cell::RefCell;

use super::*;

fn held() -> io::Error {
    io::Error::from_raw_os_error(32)
}

/// On Linux no error says so; here this one does.
fn says_held(error: &io::Error) -> bool {
    error.raw_os_error() == Some(32)
}

#[test]
fn only_what_may_pass_is_tried_again_and_not_for_ever() {
    let told = RefCell::new(Vec::new());
    let tell = |line: &str| told.borrow_mut().push(line.to_owned());
    let waits = Waits::new(Duration::from_millis(40));
    let patience = || Patience { waits: &waits, tell: &tell };
    let mut tries = 0;
    let done = patience().retry(Path::new("file"), says_held, || {
        tries += 1;
        if tries < 3 { Err(held()) } else { Ok(tries) }
    });
    assert_eq!(done.expect("the third try"), 3);
    let never: io::Result<()> = patience().retry(Path::new("file"), says_held, || Err(held()));
    assert!(never.is_err());
    assert!(waits.are_over(), "all waits together count");
    let mut tries = 0;
    let spent: io::Result<()> = patience().retry(Path::new("another"), says_held, || {
        tries += 1;
        Err(held())
    });
    assert!(spent.is_err() && tries == 1, "there is no more time for anybody");
    let mut tries = 0;
    let fresh = Waits::new(Duration::from_secs(1));
    let patience = Patience { waits: &fresh, tell: &tell };
    let other: io::Result<()> = patience.retry(Path::new("file"), says_held, || {
        tries += 1;
        Err(io::Error::from_raw_os_error(2))
    });
    assert!(other.is_err());
    assert_eq!(tries, 1);
    assert!(told.borrow().is_empty(), "a short wait is not worth a line");
}

#[test]
fn threads_that_wait_together_spend_the_time_once() {
    let waits = Waits::new(Duration::from_secs(60));
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| waits.wait(Duration::from_millis(50)));
        }
    });
    let spent = waits.lock().spent();
    assert!(spent >= Duration::from_millis(50) && spent <= begun.elapsed(), "{spent:?}");
}

/// With a file that is really held: each way to touch it waits until it is let go.
#[cfg(windows)]
mod with_a_held_file {
    use std::os::windows::fs::OpenOptionsExt;
    use std::path::PathBuf;
    use std::sync::Mutex;

    use super::*;

    /// Holds a file without sharing it while `work` begins, and lets it go a while later.
    fn while_held<T>(path: &Path, held_for: u64, work: impl FnOnce() -> T) -> (T, Duration) {
        let file = File::options().read(true).share_mode(0).open(path).expect("held");
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(held_for));
                drop(file);
            });
            let begun = Instant::now();
            (work(), begun.elapsed())
        })
    }

    fn fresh(directory: &tempfile::TempDir, name: &str) -> PathBuf {
        let path = directory.path().join(name);
        fs::write(&path, name).expect("written");
        path
    }

    #[test]
    fn every_way_to_touch_a_file_waits_until_it_is_let_go() {
        let directory = tempfile::tempdir().expect("a directory");
        let wait = |path: &Path, work: &dyn Fn(&Path) -> io::Result<()>| {
            let (done, waited) = while_held(path, 200, || work(path));
            done.expect("let go");
            assert!(waited >= Duration::from_millis(150), "it went too fast to have waited");
        };
        wait(&fresh(&directory, "read"), &|path| read(path).map(drop));
        wait(&fresh(&directory, "open"), &|path| open(path).map(drop));
        wait(&fresh(&directory, "removed"), &remove_file);
        wait(&fresh(&directory, "renamed"), &|path| rename(path, &path.with_extension("new")));
        wait(&fresh(&directory, "target"), &|path| {
            let staged = path.with_extension("staged");
            fs::write(&staged, "new")?;
            super::super::super::rename_over(&staged, path)
        });
        wait(&fresh(&directory, "replaced"), &|path| {
            super::super::super::replace_file(path, b"new", 0o644).map_err(|error| error.source)
        });
    }

    #[test]
    fn after_a_second_the_file_and_the_likely_cause_are_told_once() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = fresh(&directory, "scanned.dll");
        let told = Mutex::new(Vec::new());
        let tell = |line: &str| told.lock().expect("no panic").push(line.to_owned());
        let waits = Waits::new(BUDGET);
        let (done, _) = while_held(&path, 1600, || {
            let patience = Patience { waits: &waits, tell: &tell };
            patience.retry(&path, is_held_open, || fs::read(&path))
        });
        done.expect("let go");
        let told = told.into_inner().expect("no panic");
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("scanned.dll") && told[0].contains("virus scanner"), "{told:?}");
    }

    #[test]
    fn what_is_denied_for_good_is_not_waited_for() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = fresh(&directory, "file");
        let in_the_way = directory.path().join("directory");
        fs::create_dir(&in_the_way).expect("made");
        let begun = Instant::now();
        rename(&path, &in_the_way).expect_err("a directory is in the way");
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
}
