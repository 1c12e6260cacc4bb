//! Retries what a virus scanner or an indexer holds up on Windows for a moment.
//!
//! Renames and reads fail there with a sharing violation while another program has the file open.
//! All retries of one command together may take 25 seconds: scanners hold a fresh package that long.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What all retries of one command may take together, in milliseconds.
const BUDGET: u64 = 25_000;

static SPENT: AtomicU64 = AtomicU64::new(0);

/// Whether an error says that another program holds the file open: sharing violation, lock
/// violation, delete pending.
pub(super) fn is_held_open(error: &io::Error) -> bool {
    cfg!(windows) && matches!(error.raw_os_error(), Some(32 | 33 | 303))
}

/// Runs it again while somebody holds the file open and the budget lasts.
pub(super) fn retried<T>(work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    retried_when(is_held_open, BUDGET, &SPENT, work)
}

/// The same for renames, which are denied in other words while a scanner reads what is new.
pub(super) fn retried_rename<T>(work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let denied = |error: &io::Error| cfg!(windows) && error.raw_os_error() == Some(5);
    retried_when(|error| is_held_open(error) || denied(error), BUDGET, &SPENT, work)
}

fn retried_when<T>(
    worth: impl Fn(&io::Error) -> bool,
    budget: u64,
    spent: &AtomicU64,
    mut work: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    let mut pause = 5;
    loop {
        match work() {
            Err(error) if worth(&error) && spent.load(Ordering::Relaxed) < budget => {
                spent.fetch_add(pause, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(pause));
                pause = (pause * 2).min(500);
            }
            other => return other,
        }
    }
}

/// `fs::read`, retried.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    retried(|| fs::read(path))
}

/// `fs::rename`, retried. It replaces what is there.
pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    retried_rename(|| fs::rename(from, to))
}

/// `fs::remove_file`, retried.
pub(super) fn remove_file(path: &Path) -> io::Result<()> {
    retried(|| fs::remove_file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_pass_is_tried_again_and_not_for_ever() {
        let spent = AtomicU64::new(0);
        let mut tries = 0;
        let held = || io::Error::from_raw_os_error(32);
        let done = retried_when(
            |error| error.raw_os_error() == Some(32),
            1000,
            &spent,
            || {
                tries += 1;
                if tries < 3 { Err(held()) } else { Ok(tries) }
            },
        );
        assert_eq!(done.expect("the third try"), 3);
        let spent = AtomicU64::new(0);
        let never: io::Result<()> =
            retried_when(|error| error.raw_os_error() == Some(32), 20, &spent, || Err(held()));
        assert!(never.is_err());
        let mut tries = 0;
        let other: io::Result<()> = retried_when(
            |error| error.raw_os_error() == Some(32),
            1000,
            &AtomicU64::new(0),
            || {
                tries += 1;
                Err(io::Error::from_raw_os_error(2))
            },
        );
        assert!(other.is_err());
        assert_eq!(tries, 1);
    }
}
