//! One content on its way into the sink: counted, and looked at for the execute bit.

use std::io::Write;

use super::Job;
use super::assembly::{Assembly, What};
use super::error::Problem;
use super::sink::{BlobWriter, Sink};
use crate::model::{BlobId, Family, Tree, TreePath};

/// Bytes moved at once.
pub(super) const CHUNK: usize = 256 << 10;

/// What the sink said of one content.
#[derive(Debug, Clone, Copy)]
pub(super) struct Content {
    pub(super) blob: BlobId,
    pub(super) size: u64,
    pub(super) executable: bool,
}

/// What decides the execute bit of a file before its content is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Execute {
    /// The archive or an option says so.
    Yes,
    /// The archive says no.
    No,
    /// The archive says nothing: the first bytes decide.
    Look,
}

impl Execute {
    /// From the mode in the archive, where it has one, and from the options.
    pub(super) fn of(mode: Option<u32>, wanted: bool, family: Family) -> Self {
        match (family, mode) {
            (Family::Windows, _) => Self::No,
            _ if wanted => Self::Yes,
            (_, Some(mode)) if mode & 0o100 != 0 => Self::Yes,
            (_, Some(_)) => Self::No,
            (_, None) => Self::Look,
        }
    }
}

/// Writes one content. Dropped without `finish`, the sink forgets it.
pub(super) struct ContentWriter<'a> {
    writer: Box<dyn BlobWriter + 'a>,
    job: &'a Job<'a>,
    entry: &'a str,
    execute: Execute,
    head: [u8; 4],
    written: u64,
}

impl<'a> ContentWriter<'a> {
    pub(super) fn new(
        job: &'a Job<'a>,
        entry: &'a str,
        size: Option<u64>,
        execute: Execute,
    ) -> Result<Self, Problem> {
        let writer = job.sink.create(size).map_err(|source| Problem::write(entry, source))?;
        Ok(Self { writer, job, entry, execute, head: [0; 4], written: 0 })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        if self.written < 4 {
            let at = self.written as usize;
            let length = bytes.len().min(4 - at);
            self.head[at..at + length].copy_from_slice(&bytes[..length]);
        }
        self.job.bounds.take(bytes.len() as u64)?;
        self.writer.write_all(bytes).map_err(|source| Problem::write(self.entry, source))?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Bytes written so far.
    pub(super) const fn written(&self) -> u64 {
        self.written
    }

    pub(super) fn finish(self) -> Result<Content, Problem> {
        let executable = match self.execute {
            Execute::Yes => true,
            Execute::No => false,
            Execute::Look => self.head == *b"\x7fELF" || self.head.starts_with(b"#!"),
        };
        let (blob, size) =
            self.writer.finish(executable).map_err(|source| Problem::write(self.entry, source))?;
        Ok(Content { blob, size, executable })
    }
}

/// Writes the target of a link.
pub(super) fn write_link(
    sink: &dyn Sink,
    path: &TreePath,
    target: &str,
) -> Result<Content, Problem> {
    let failed = |source| Problem::write(path.as_str(), source);
    let mut writer = sink.create(Some(target.len() as u64)).map_err(failed)?;
    writer.write_all(target.as_bytes()).map_err(failed)?;
    let (blob, size) = writer.finish(false).map_err(failed)?;
    Ok(Content { blob, size, executable: false })
}

/// Takes the whole file as the one file of the tree.
pub(super) fn unpack_single(job: &Job<'_>, mut assembly: Assembly<'_>) -> Result<Tree, Problem> {
    let name = job.options.file_name.as_ref().ok_or(Problem::NoFileName)?;
    if let Some(path) = assembly.place(name.as_str(), What::File(None))? {
        let execute = Execute::of(None, assembly.placing.executable(&path), job.family);
        let mut writer =
            ContentWriter::new(job, name.as_str(), Some(job.archive.length()), execute)?;
        let mut buffer = vec![0; CHUNK];
        let mut at = 0;
        loop {
            let length = job
                .archive
                .read_some_at(&mut buffer, at)
                .map_err(|source| Problem::Read { source })?;
            if length == 0 {
                break;
            }
            at += length as u64;
            writer.write(&buffer[..length])?;
            job.task.advance(length as u64);
        }
        assembly.fill(&path, What::File(Some(writer.finish()?)));
    }
    assembly.finish(job.sink, &job.bounds, job.progress)
}
