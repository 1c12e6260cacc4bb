//! How a file of the store comes to another place: hard link, then reflink, then copy where it
//! stays read-only; reflink, then copy where it may be written.
//!
//! What fails concerns that one file: at the link limit of its file system (65,000 on ext4, 1,023
//! on NTFS, 177 on EFS) the blob gets a fresh file under its name and linking goes on. Errors that
//! nobody foresaw copy. Whatever came otherwise than by a link is counted with the reason, so that
//! one line can say what it cost.

use std::collections::BTreeMap;
use std::fs;
use std::io;
#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Mutex;

use crate::disk;
use crate::model::{BlobId, Kind};

use super::Store;
use super::blob;
use super::error::{At, Result, StoreError};
#[cfg(unix)]
use super::layout::Layout;

/// How a file came to its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placed {
    /// A hard link: no content was copied, and none may be changed.
    Linked,
    /// A file of its own that shares the blob's blocks until one is changed.
    Cloned,
    /// A copy.
    Copied,
    /// Made anew: an empty file, a link, a directory.
    Created,
}

/// What was copied or cloned instead of linked, by reason.
#[derive(Debug, Default)]
pub(super) struct Degradations(Mutex<BTreeMap<String, Cost>>);

#[derive(Debug, Default, Clone, Copy)]
struct Cost {
    files: u64,
    bytes: u64,
}

impl Degradations {
    fn add(&self, reason: String, size: u64) {
        let mut costs = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let cost = costs.entry(reason).or_default();
        cost.files += 1;
        cost.bytes += size;
    }

    /// One line for each reason, and forgets them.
    pub(super) fn take(&self) -> Vec<String> {
        let costs = {
            let mut costs = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            std::mem::take(&mut *costs)
        };
        costs
            .into_iter()
            .map(|(reason, Cost { files, bytes })| {
                let bytes = bytesize::ByteSize(bytes).display().si();
                format!("{files} files ({bytes}) were copied instead of linked: {reason}")
            })
            .collect()
    }
}

/// Places one file of a tree; see [`Store::place`].
pub(super) fn place(
    store: &Store,
    kind: Kind,
    blob: &BlobId,
    size: u64,
    target: &Path,
    writable: bool,
) -> Result<Placed> {
    let executable = kind == Kind::Executable;
    match kind {
        Kind::Directory => {
            fs::create_dir(target).at("make the directory", target)?;
            return Ok(Placed::Created);
        }
        Kind::Link => {
            let text = blob::read(store.layout(), blob)?;
            return make_link(&text, target).map(|()| Placed::Created);
        }
        Kind::File | Kind::Executable => {}
    }
    if size == 0 {
        let mode = file_mode(executable, writable);
        let file = disk::create_new(target, mode).at("create", target)?;
        if !writable {
            blob::seal(&file).at("set the time of", target)?;
        }
        return Ok(Placed::Created);
    }
    let source = store.layout().blob(blob, executable);
    // A link to another user's file would make this user keep it alive, or lose it.
    if !writable && store.session().is_err() {
        store.degradations().add("the store can only be read".to_owned(), size);
    } else if !writable {
        match hard_link(store, blob, executable, &source, target) {
            Ok(()) => return Ok(Placed::Linked),
            Err(Unlinked::Because(reason)) => store.degradations().add(reason, size),
            Err(Unlinked::Failed(error)) => return Err(error),
        }
    } else if source.symlink_metadata().is_err() {
        blob::ensure_form(store, blob, executable)?;
    }
    clone_or_copy(&source, target, executable, writable)
}

/// Makes hard links between directories that are open, so that their paths are not walked for each.
/// What does not go this way is left to [`place`].
#[cfg(unix)]
pub(super) struct Linker {
    blobs: OwnedFd,
    into: OwnedFd,
}

#[cfg(unix)]
impl Linker {
    /// For links from the blobs of a store into one directory; none where they are not to be made.
    pub(super) fn new(store: &Store, into: &Path) -> Option<Self> {
        if !store.link_limit().is_default() || store.session().is_err() {
            return None;
        }
        let open = |path: &Path| {
            use rustix::fs::{Mode, OFlags};
            rustix::fs::open(path, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        };
        let blobs = open(&store.layout().directory("blobs")).ok()?;
        Some(Self { blobs, into: open(into).ok()? })
    }

    /// Links a blob to a name in the directory; whether that went well.
    pub(super) fn link(&self, kind: Kind, blob: &BlobId, size: u64, name: &str) -> bool {
        if size == 0 || !kind.is_file() {
            return false;
        }
        let source =
            Layout::fanned(Path::new(""), &Layout::blob_name(blob, kind == Kind::Executable));
        rustix::fs::linkat(&self.blobs, &source, &self.into, name, rustix::fs::AtFlags::empty())
            .is_ok()
    }
}

/// Why a file was not linked.
enum Unlinked {
    /// It is to be copied.
    Because(String),
    /// It can't be placed at all.
    Failed(StoreError),
}

fn hard_link(
    store: &Store,
    blob: &BlobId,
    executable: bool,
    source: &Path,
    target: &Path,
) -> std::result::Result<(), Unlinked> {
    // A missing form and a used-up blob are each put right once; other processes may use it up again.
    for _ in 0..16 {
        let error = match store.link_limit().link(source, target) {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        match error.kind() {
            io::ErrorKind::NotFound if source.symlink_metadata().is_err() => {
                blob::ensure_form(store, blob, executable).map_err(Unlinked::Failed)?;
            }
            io::ErrorKind::TooManyLinks => {
                blob::renew(store, source, executable).map_err(Unlinked::Failed)?;
            }
            io::ErrorKind::NotFound
            | io::ErrorKind::AlreadyExists
            | io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::ReadOnlyFilesystem
            | io::ErrorKind::NotADirectory => {
                return Err(Unlinked::Failed(StoreError::io("link", target, error)));
            }
            io::ErrorKind::CrossesDevices => {
                return Err(Unlinked::Because(
                    "the store and the directory lie on different file systems".to_owned(),
                ));
            }
            _ => return Err(Unlinked::Because(error.to_string())),
        }
    }
    Err(Unlinked::Because("its links are used up as fast as they are renewed".to_owned()))
}

fn clone_or_copy(source: &Path, target: &Path, executable: bool, writable: bool) -> Result<Placed> {
    let file = disk::open(source).map_err(|error| StoreError::reading("open", source, error))?;
    let mode = file_mode(executable, writable);
    let placed = if reflink_copy::reflink(source, target).is_ok() {
        Placed::Cloned
    } else {
        let mut copy = disk::create_new(target, mode).at("create", target)?;
        let copied = io::copy(&mut &file, &mut copy).at("copy to", target)?;
        let size = file.metadata().at("look at", source)?.len();
        if copied != size {
            return Err(StoreError::BlobDamaged {
                path: source.to_path_buf(),
                reason: format!("{copied} of {size} bytes could be read"),
            });
        }
        Placed::Copied
    };
    // A clone keeps the mode of the blob on some systems and has a default one on others.
    #[cfg(unix)]
    if placed == Placed::Cloned {
        fs::set_permissions(target, std::os::unix::fs::PermissionsExt::from_mode(mode))
            .at("set the mode of", target)?;
    }
    if !writable {
        let copy = disk::open_for_attributes(target).at("open", target)?;
        blob::seal(&copy).at("set the time of", target)?;
    }
    Ok(placed)
}

const fn file_mode(executable: bool, writable: bool) -> u32 {
    match (executable, writable) {
        (_, false) => blob::mode(executable),
        (true, true) => 0o755,
        (false, true) => 0o644,
    }
}

#[cfg(unix)]
fn make_link(text: &[u8], target: &Path) -> Result<()> {
    use std::os::unix::ffi::OsStrExt;
    std::os::unix::fs::symlink(std::ffi::OsStr::from_bytes(text), target)
        .at("make the link", target)
}

#[cfg(windows)]
fn make_link(_text: &[u8], target: &Path) -> Result<()> {
    Err(StoreError::Foreign { name: target.display().to_string(), what: "a link" })
}

/// How many names a file may have, where a test says fewer than the file system does.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LinkLimit(Option<u64>);

impl LinkLimit {
    #[cfg(unix)]
    const fn is_default(self) -> bool {
        self.0.is_none()
    }

    #[cfg(test)]
    pub(super) const fn of(links: u64) -> Self {
        Self(Some(links))
    }

    fn link(self, source: &Path, target: &Path) -> io::Result<()> {
        if let Some(limit) = self.0
            && disk::facts(source)?.names >= limit
        {
            return Err(io::ErrorKind::TooManyLinks.into());
        }
        disk::hard_link(source, target)
    }
}
