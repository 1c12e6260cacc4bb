//! The partial file of one download: what is here already, its running hash, and what a server
//! said of its version.
//!
//! The validator file has three lines, `url …`, then `etag …` or `last-modified …`, then `end`; one
//! that is torn or of another address counts as absent.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::error::FetchError;
use super::exchange::{Exchange, Part};
use super::options::FetchOptions;
use super::request::{Place, Request};
use super::sniff::{Content, HEAD};
use crate::disk;
use crate::model::{Progress, Sha256Digest, Task};

fn start_task(request: &Request, progress: &dyn Progress) -> Box<dyn Task> {
    progress.start(&format!("fetch {}", request.label), request.size)
}

/// The open partial file. Its length and hash are always those of the bytes written.
pub(super) struct Partial<'a> {
    pub(super) place: &'a Place,
    request: &'a Request<'a>,
    progress: &'a dyn Progress,
    task: Box<dyn Task>,
    file: File,
    hasher: Sha256,
    length: u64,
    /// From how many answers its bytes are; more than one may not fit together.
    answers: u32,
    /// The furthest it ever got, in bytes.
    furthest: u64,
}

impl<'a> Partial<'a> {
    /// Opens or makes the file, and hashes what is there.
    pub(super) fn open(
        place: &'a Place,
        request: &'a Request<'a>,
        options: &FetchOptions,
        progress: &'a dyn Progress,
    ) -> Result<Self, FetchError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&place.partial)
            .map_err(|error| FetchError::disk(request.label, "open", &place.partial, error))?;
        let mut partial = Self {
            place,
            request,
            progress,
            task: start_task(request, progress),
            file,
            hasher: Sha256::new(),
            length: 0,
            answers: 0,
            furthest: 0,
        };
        // Without a hash to decide at the end nothing proves old bytes: after a crash they may be
        // zeros. And more than the whole can only be wrong.
        let there = partial.file.metadata().map_err(|error| partial.disk("inspect", error))?.len();
        if request.sha256.is_none() || request.size.is_some_and(|size| there > size) {
            partial.reset()?;
        } else if there > 0 {
            partial.hash_existing(options)?;
        }
        Ok(partial)
    }

    fn hash_existing(&mut self, options: &FetchOptions) -> Result<(), FetchError> {
        let mut buffer = vec![0; 256 * 1024];
        loop {
            if options.cancelled() {
                return Err(FetchError::Cancelled { label: self.request.label.to_owned() });
            }
            let count = match self.file.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.disk("read", error)),
            };
            self.count(&buffer[..count]);
        }
        self.answers = 1;
        Ok(())
    }

    fn count(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.length += bytes.len() as u64;
        self.furthest = self.furthest.max(self.length);
        self.task.advance(bytes.len() as u64);
    }

    /// Adds what came.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), FetchError> {
        if let Err(error) = self.file.write_all(bytes) {
            // Part of it may have been written: length and hash go on counting what is there.
            let end = self.length;
            let _ = self.file.set_len(end).and_then(|()| self.file.seek(SeekFrom::Start(end)));
            return Err(self.disk("write", error));
        }
        self.count(bytes);
        Ok(())
    }

    /// Throws away what is here.
    pub(super) fn reset(&mut self) -> Result<(), FetchError> {
        self.forget_version()?;
        self.file
            .set_len(0)
            .and_then(|()| self.file.seek(SeekFrom::Start(0)))
            .map_err(|error| self.disk("empty", error))?;
        if self.length > 0 {
            self.task = start_task(self.request, self.progress);
        }
        self.hasher = Sha256::new();
        self.length = 0;
        self.answers = 0;
        Ok(())
    }

    /// Notes that the bytes that follow come from another answer, which has this total length.
    pub(super) fn begin_answer(&mut self, total: Option<u64>) {
        self.answers += 1;
        if let Some(total) = total.filter(|_| self.request.size.is_none()) {
            self.task.set_length(total);
        }
    }

    pub(super) const fn length(&self) -> u64 {
        self.length
    }

    pub(super) const fn furthest(&self) -> u64 {
        self.furthest
    }

    /// Whether its bytes are from several answers.
    pub(super) const fn is_pieced(&self) -> bool {
        self.answers > 1
    }

    /// The hash of what is here.
    pub(super) fn sha256(&self) -> Sha256Digest {
        Sha256Digest::from_bytes(self.hasher.clone().finalize().into())
    }

    /// What it looks like.
    pub(super) fn content(&mut self) -> Result<Content, FetchError> {
        let head = self.head().map_err(|error| self.disk("read", error))?;
        Ok(Content::of(&head))
    }

    fn head(&mut self) -> io::Result<Vec<u8>> {
        self.file.seek(SeekFrom::Start(0))?;
        let mut head = Vec::new();
        (&self.file).take(HEAD as u64).read_to_end(&mut head)?;
        self.file.seek(SeekFrom::Start(self.length))?;
        Ok(head)
    }

    /// Which part to ask this mirror for, if what is here can be continued there: by the version
    /// it gave, or because hash and size are known and will decide.
    pub(super) fn missing_part(&self, url: &str) -> Option<Part> {
        if self.length == 0 {
            return None;
        }
        let version = self.version(url);
        let decidable = self.request.sha256.is_some() && self.request.size.is_some();
        (version.is_some() || decidable).then_some(Part { from: self.length, version })
    }

    fn version(&self, url: &str) -> Option<String> {
        let text = disk::read_to_string(&self.place.validator).ok()?;
        let mut lines = text.lines();
        if lines.next()?.strip_prefix("url ")? != url {
            return None;
        }
        let line = lines.next()?;
        let value = line.strip_prefix("etag ").or_else(|| line.strip_prefix("last-modified "))?;
        (lines.next()? == "end").then(|| value.to_owned())
    }

    /// Remembers the version that an answer names: a strong ETag, else its date.
    pub(super) fn remember_version(
        &self,
        url: &str,
        exchange: &Exchange,
    ) -> Result<(), FetchError> {
        let etag = exchange.header("etag").filter(|etag| etag.starts_with('"'));
        let line = match (etag, exchange.header("last-modified")) {
            (Some(etag), _) => format!("etag {etag}"),
            (None, Some(date)) => format!("last-modified {date}"),
            (None, None) => return self.forget_version(),
        };
        let path = &self.place.validator;
        fs::write(path, format!("url {url}\n{line}\nend\n"))
            .map_err(|error| FetchError::disk(self.request.label, "write", path, error))
    }

    fn forget_version(&self) -> Result<(), FetchError> {
        let path = &self.place.validator;
        match disk::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(FetchError::disk(self.request.label, "remove", path, error))
            }
            _ => Ok(()),
        }
    }

    /// Closes the complete and verified file.
    pub(super) fn finish(self) -> Result<(), FetchError> {
        self.forget_version()
    }

    /// Keeps the wrong file aside by renaming it, and starts over with an empty one.
    pub(super) fn put_aside(&mut self) -> Result<(), FetchError> {
        let Place { partial, aside, .. } = self.place;
        let disk =
            |step, path: &Path, error| FetchError::disk(self.request.label, step, path, error);
        disk::rename(partial, aside).map_err(|error| disk("put aside", partial, error))?;
        self.file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(partial)
            .map_err(|error| disk("create", partial, error))?;
        self.reset()
    }

    fn disk(&self, step: &'static str, error: io::Error) -> FetchError {
        FetchError::disk(self.request.label, step, &self.place.partial, error)
    }
}
