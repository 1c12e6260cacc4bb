//! Files that are on this machine already: `file:` sources, and files brought by hand.
//!
//! A copy is made beside the partial file and takes its place only when it is the right one, so
//! that a wrong file never costs what was downloaded before. The copy is what is hashed: it is ours,
//! and nobody changes it between the proof and its use.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::arriving::Arriving;
use super::error::FetchError;
use super::options::FetchOptions;
use super::request::{Ahead, Fetched, Place, Request};
use super::sniff::{Content, HEAD};
use super::trouble::{Mismatch, Trouble};
use crate::disk;
use crate::model::{Fate, Progress, Sha256Digest, Task, Vanished, VanishedFile};

/// How much of the end is copied first: the directory of a zip archive of some 50,000 entries.
const END: u64 = 4 << 20;

/// What copying a local file comes to, if not to the right file.
pub(super) enum CopyFailed {
    /// The file is absent, unreadable or the wrong one.
    Source(Trouble),
    /// The place cannot be written, or it was cancelled.
    Fatal(FetchError),
}

/// Takes a file brought by hand into the place, if hash and size are those of the request. A wrong
/// file changes nothing.
pub fn take_file(
    from: &Path,
    request: &Request,
    place: &Place,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<Fetched, FetchError> {
    copy_verified(from, request, place, options, &|_| {}, progress).map_err(|failed| match failed {
        CopyFailed::Fatal(error) => error,
        CopyFailed::Source(trouble) => FetchError::WrongFile {
            label: request.label.to_owned(),
            path: from.to_owned(),
            trouble: Box::new(trouble),
        },
    })
}

/// Hashes a file; returns its hash and its size in bytes. For finding out which package a file
/// belongs to.
pub fn hash_file(path: &Path, progress: &dyn Progress) -> Result<(Sha256Digest, u64), FetchError> {
    let label = path.display().to_string();
    let read = |error| FetchError::disk(&label, "read", path, error);
    let mut file = disk::open(path).map_err(read)?;
    let task = progress
        .start(&format!("check {label}"), file.metadata().ok().map(|metadata| metadata.len()));
    let mut hasher = Sha256::new();
    let mut size = 0;
    let mut buffer = vec![0; 256 * 1024];
    while let Some(count) = read_some(&mut file, &mut buffer).map_err(read)? {
        hasher.update(&buffer[..count]);
        size += count as u64;
        task.advance(count as u64);
    }
    Ok((Sha256Digest::from_bytes(hasher.finalize().into()), size))
}

/// Checks that a file has this hash, and this size where one is known; returns its size.
pub fn check_file(
    path: &Path,
    sha256: &Sha256Digest,
    size: Option<u64>,
    progress: &dyn Progress,
) -> Result<u64, FetchError> {
    let (got, got_size) = hash_file(path, progress)?;
    if got == *sha256 && size.is_none_or(|size| size == got_size) {
        return Ok(got_size);
    }
    let came =
        look(path).map_err(|error| FetchError::disk(&sha256.to_string(), "read", path, error))?;
    let mismatch =
        Mismatch { expected: *sha256, got, expected_size: size, got_size, came, aside: None };
    Err(FetchError::WrongFile {
        label: sha256.to_string(),
        path: path.to_owned(),
        trouble: Box::new(mismatch.into()),
    })
}

/// Copies a file into the place and checks it. `ahead` is given the copy when it begins.
pub(super) fn copy_verified(
    from: &Path,
    request: &Request,
    place: &Place,
    options: &FetchOptions,
    ahead: Ahead<'_>,
    progress: &dyn Progress,
) -> Result<Fetched, CopyFailed> {
    let source = open(from)?;
    let copying = Copying { from, request, place, options };
    let there = source.metadata().map_err(|error| copying.unreadable(error))?.len();
    if let Some(expected) = request.size.filter(|expected| *expected != there) {
        let came = look(from).map_err(|error| copying.unreadable(error))?;
        return Err(CopyFailed::Source(Trouble::Size { expected, got: there, came }));
    }
    let task = progress.start(&format!("copy {}", request.label), Some(there));
    let aside = &place.aside;
    let copied = copying
        .copy(source, there, ahead, &*task)
        .and_then(|()| copying.hash())
        .and_then(|fetched| copying.check(fetched));
    match copied {
        Ok(fetched) => {
            disk::rename(aside, &place.partial).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => {
                    let file = VanishedFile::at(Fate::Vanished, aside);
                    let vanished = Vanished::file(file, "right after it was copied");
                    CopyFailed::Fatal(FetchError::Vanished(vanished))
                }
                _ => copying.disk("replace", &place.partial, error),
            })?;
            copying.remove(&place.validator)?;
            Ok(fetched)
        }
        Err(failed) => {
            copying.remove(aside)?;
            Err(failed)
        }
    }
}

/// A copy from a file to the place's second file.
struct Copying<'a> {
    from: &'a Path,
    request: &'a Request<'a>,
    place: &'a Place,
    options: &'a FetchOptions,
}

impl Copying<'_> {
    /// Copies the end first: there the directory of a zip archive is, which unpacking begins with.
    fn copy(
        &self,
        mut source: File,
        length: u64,
        ahead: Ahead<'_>,
        task: &dyn Task,
    ) -> Result<(), CopyFailed> {
        let aside = &self.place.aside;
        let failed = |error| self.disk("write", aside, error);
        let mut copy = File::create(aside).map_err(failed)?;
        let (archive, teller) = Arriving::coming(aside, length).map_err(failed)?;
        ahead(archive);
        let end = length - length.min(END);
        for (start, stop) in [(end, length), (0, end)] {
            source.seek(SeekFrom::Start(start)).map_err(|error| self.unreadable(error))?;
            copy.seek(SeekFrom::Start(start)).map_err(failed)?;
            let mut part = (&source).take(stop - start);
            let mut buffer = vec![0; 256 * 1024];
            let mut at = start;
            while let Some(count) =
                read_some(&mut part, &mut buffer).map_err(|error| self.unreadable(error))?
            {
                self.stop_if_cancelled()?;
                copy.write_all(&buffer[..count]).map_err(failed)?;
                at += count as u64;
                task.advance(count as u64);
                if start == 0 {
                    teller.beginning(at);
                }
            }
            if at < stop {
                let came = look(self.from).map_err(|error| self.unreadable(error))?;
                let trouble = Trouble::Size { expected: length, got: at, came };
                return Err(CopyFailed::Source(trouble)); // It became shorter meanwhile.
            }
            if start > 0 {
                teller.end(start);
            }
        }
        Ok(())
    }

    /// Hashes the copy.
    fn hash(&self) -> Result<Fetched, CopyFailed> {
        let aside = &self.place.aside;
        let read = |error| self.disk("read", aside, error);
        let mut copy = disk::open(aside).map_err(read)?;
        let mut hasher = Sha256::new();
        let mut size = 0;
        let mut buffer = vec![0; 256 * 1024];
        while let Some(count) = read_some(&mut copy, &mut buffer).map_err(read)? {
            self.stop_if_cancelled()?;
            hasher.update(&buffer[..count]);
            size += count as u64;
        }
        Ok(Fetched { sha256: Sha256Digest::from_bytes(hasher.finalize().into()), size, url: None })
    }

    fn stop_if_cancelled(&self) -> Result<(), CopyFailed> {
        if !self.options.cancelled() {
            return Ok(());
        }
        Err(CopyFailed::Fatal(FetchError::Cancelled { label: self.request.label.to_owned() }))
    }

    fn check(&self, fetched: Fetched) -> Result<Fetched, CopyFailed> {
        let got = fetched.sha256;
        let Some(expected) = self.request.sha256.filter(|expected| *expected != got) else {
            return Ok(fetched);
        };
        let mismatch = Mismatch {
            expected,
            got,
            expected_size: self.request.size,
            got_size: fetched.size,
            came: look(self.from).map_err(|error| self.unreadable(error))?,
            aside: None,
        };
        Err(CopyFailed::Source(mismatch.into()))
    }

    fn remove(&self, path: &Path) -> Result<(), CopyFailed> {
        match disk::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(self.disk("remove", path, error))
            }
            _ => Ok(()),
        }
    }

    fn unreadable(&self, error: io::Error) -> CopyFailed {
        unreadable(self.from, error, |error| error.to_string())
    }

    fn disk(&self, step: &'static str, path: &Path, error: io::Error) -> CopyFailed {
        CopyFailed::Fatal(FetchError::disk(self.request.label, step, path, error))
    }
}

/// Opens a plain file; anything else is named, and a pipe is not waited for.
fn open(path: &Path) -> Result<File, CopyFailed> {
    let wrong = |reason: &str| {
        let (path, reason) = (path.to_owned(), reason.to_owned());
        CopyFailed::Source(Trouble::File { path, reason })
    };
    let failed = |error: io::Error| {
        unreadable(path, error, |error| match error.kind() {
            io::ErrorKind::NotFound => "there is no such file".to_owned(),
            io::ErrorKind::PermissionDenied => "reading it is not permitted".to_owned(),
            _ => error.to_string(),
        })
    };
    let metadata = fs::metadata(path).map_err(failed)?;
    if metadata.is_dir() {
        return Err(wrong("it is a directory, not an archive"));
    }
    if !metadata.is_file() {
        return Err(wrong("it is no plain file"));
    }
    disk::open(path).map_err(failed)
}

/// Why a file cannot be read: no other mirror helps where a virus scanner holds it back.
fn unreadable(
    path: &Path,
    error: io::Error,
    words: impl FnOnce(&io::Error) -> String,
) -> CopyFailed {
    match Fate::told_by(&error) {
        Some(fate) => {
            CopyFailed::Fatal(FetchError::Vanished(Vanished::answered(fate, "read", path, error)))
        }
        None => {
            let reason = words(&error);
            CopyFailed::Source(Trouble::File { path: path.to_owned(), reason })
        }
    }
}

fn look(path: &Path) -> io::Result<Content> {
    let mut head = Vec::new();
    disk::open(path)?.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(Content::of(&head))
}

/// Reads into the buffer; none at the end.
fn read_some(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    loop {
        match file.read(buffer) {
            Ok(0) => return Ok(None),
            Ok(count) => return Ok(Some(count)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
