//! An archive that is worked with while it is still coming.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::disk;

/// An archive of known length, for reading anywhere in it. Whoever reads what has not come yet
/// waits for it. Nothing of it is proven before fetching ended well.
pub struct Arriving {
    file: File,
    path: PathBuf,
    length: u64,
    arrival: Arc<Arrival>,
}

/// What is here of it: a beginning that grows, and an end that may come before the rest.
struct Arrival {
    here: Mutex<Here>,
    changed: Condvar,
    /// The beginning once more, to be looked at without the lock.
    beginning: AtomicU64,
}

struct Here {
    beginning: u64,
    /// Where the end begins.
    end: u64,
    /// Nothing more will come.
    stopped: bool,
}

impl Arriving {
    /// Opens a file that is here.
    pub fn whole(path: &Path) -> io::Result<Self> {
        let file = disk::open(path)?;
        let length = file.metadata()?.len();
        let arrival = Arc::new(Arrival::new(length, length));
        Ok(Self { file, path: path.to_owned(), length, arrival })
    }

    /// Opens a file of which nothing is here yet; what says how it comes.
    pub(super) fn coming(path: &Path, length: u64) -> io::Result<(Self, Teller)> {
        let file = disk::open(path)?;
        let arrival = Arc::new(Arrival::new(0, length));
        let teller = Teller { arrival: Arc::clone(&arrival), length };
        Ok((Self { file, path: path.to_owned(), length, arrival }, teller))
    }

    /// Where it lay when it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of the whole.
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// Whether the file has another length now: somebody changes it while it is read. While it is
    /// still coming nobody knows.
    pub fn changed_its_length(&self) -> bool {
        let is_here = {
            let here = self.arrival.lock();
            here.beginning >= here.end
        };
        is_here && self.file.metadata().is_ok_and(|there| there.len() != self.length)
    }

    /// Reads some bytes at an offset, without a position of the file's own: threads share it. None at
    /// the end.
    pub fn read_some_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let there = usize::try_from(self.wait_for(offset)?).unwrap_or(usize::MAX);
        let length = buffer.len().min(there);
        disk::read_some_at(&self.file, &mut buffer[..length], offset)
    }

    /// Waits until there is something at an offset; how much is.
    fn wait_for(&self, offset: u64) -> io::Result<u64> {
        let beginning = self.arrival.beginning.load(Ordering::Acquire);
        if offset < beginning || offset >= self.length {
            return Ok(beginning.saturating_sub(offset));
        }
        let mut here = self.arrival.lock();
        loop {
            if offset < here.beginning {
                return Ok(here.beginning - offset);
            }
            if offset >= here.end {
                return Ok(self.length - offset);
            }
            if here.stopped {
                return Err(io::Error::other("the archive stopped coming"));
            }
            here = self.arrival.changed.wait(here).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Arrival {
    fn new(beginning: u64, end: u64) -> Self {
        let here = Mutex::new(Here { beginning, end, stopped: false });
        Self { here, changed: Condvar::new(), beginning: AtomicU64::new(beginning) }
    }

    fn lock(&self) -> MutexGuard<'_, Here> {
        self.here.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Here)) {
        let mut here = self.lock();
        change(&mut here);
        self.beginning.store(here.beginning, Ordering::Release);
        drop(here);
        self.changed.notify_all();
    }
}

/// Says what has come. Dropped, it says that nothing more will: nobody waits for ever.
pub(super) struct Teller {
    arrival: Arc<Arrival>,
    length: u64,
}

impl Teller {
    /// Everything before this offset is in the file.
    pub(super) fn beginning(&self, end: u64) {
        self.arrival.change(|here| here.beginning = end.min(self.length));
    }

    /// Everything from this offset on is in the file.
    pub(super) fn end(&self, start: u64) {
        self.arrival.change(|here| here.end = start);
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        self.arrival.change(|here| here.stopped = true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn readers_wait_for_what_has_not_come_and_for_nothing_else() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(b"0123456789").expect("written");
        let (arriving, teller) = Arriving::coming(file.path(), 10).expect("opened");
        let read = |offset, buffer: &mut [u8]| arriving.read_some_at(buffer, offset);
        let mut buffer = [0; 16];
        teller.end(8);
        assert_eq!(read(8, &mut buffer).expect("the end"), 2);
        assert_eq!(read(10, &mut buffer).expect("behind it"), 0);
        teller.beginning(3);
        assert_eq!(read(1, &mut buffer).expect("the beginning"), 2);
        assert_eq!(&buffer[..2], b"12");
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| read(5, &mut [0; 16]));
            teller.beginning(6);
            assert_eq!(waiting.join().expect("no panic").expect("read"), 1);
        });
        drop(teller);
        assert_eq!(read(5, &mut buffer).expect("it came"), 1);
        assert!(read(6, &mut buffer).is_err(), "it never came");
        assert_eq!(Arriving::whole(file.path()).expect("whole").length(), 10);
    }

    #[test]
    fn only_an_archive_that_is_here_can_be_found_changed() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        file.as_file().set_len(4).expect("a part");
        let (arriving, teller) = Arriving::coming(file.path(), 10).expect("opened");
        assert!(!arriving.changed_its_length(), "it is still coming");
        file.as_file().set_len(10).expect("the rest");
        teller.beginning(10);
        assert!(!arriving.changed_its_length());
        file.as_file().set_len(9).expect("cut");
        assert!(arriving.changed_its_length(), "somebody cut it");
    }
}
