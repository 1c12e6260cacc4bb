//! A first look at what was placed, from directories that are open: walking the path of each file would
//! cost more than the look.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::UNIX_EPOCH;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};

use crate::model::{BlobId, Entry, Kind};

use super::super::layout::Layout;
use super::super::{Store, blob};

/// One realised directory, and the blobs.
pub(super) struct Glance {
    blobs: OwnedFd,
    directory: OwnedFd,
}

impl Glance {
    /// None where one of them cannot be opened.
    pub(super) fn new(store: &Store, directory: &Path) -> Option<Self> {
        let open = |path: &Path| {
            rustix::fs::open(path, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok()
        };
        let blobs = open(&store.layout().directory("blobs"))?;
        Some(Self { blobs, directory: open(directory)? })
    }

    /// Whether a file of the directory has the size and time of its blob, which is there too. What is
    /// not found so may be whole all the same.
    pub(super) fn finds_whole(&self, entry: &Entry) -> bool {
        let Some(blob) = entry.blob.filter(|_| entry.kind.is_file()) else { return false };
        let stat =
            rustix::fs::statat(&self.directory, entry.path.file_name(), AtFlags::SYMLINK_NOFOLLOW);
        let Ok(there) = stat else { return false };
        FileType::from_raw_mode(there.st_mode) == FileType::RegularFile
            && u64::try_from(there.st_size) == Ok(entry.size)
            && has_fixed_time(&there)
            && self.has_blob(&blob, entry.kind == Kind::Executable)
    }

    fn has_blob(&self, blob: &BlobId, executable: bool) -> bool {
        let path = Layout::fanned(Path::new(""), &Layout::blob_name(blob, executable));
        rustix::fs::statat(&self.blobs, &path, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }
}

fn has_fixed_time(there: &rustix::fs::Stat) -> bool {
    let fixed = blob::fixed_time().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(fixed.as_secs()) == Ok(there.st_mtime)
        && u64::from(fixed.subsec_nanos()) == there.st_mtime_nsec
}
