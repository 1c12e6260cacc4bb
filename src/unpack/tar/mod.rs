//! Tar archives, plain or compressed: read once, from front to back, an entry at a time.

mod compression;
mod header;
mod pax;
mod reader;

use std::io::{self, Read};

pub(super) use self::compression::{Compression, decoder, decoding};
pub(super) use self::header::is_tar_start;
use self::reader::{Entries, Member, Type};
use super::Job;
use super::assembly::{Assembly, What};
use super::content::{CHUNK, ContentWriter, Execute};
use super::error::Problem;
use super::overlap::{Chunks, read_ahead};
use crate::model::{ArchiveFormat, Tree};

/// Unpacks a tar archive of a format.
pub(super) fn unpack(
    job: &Job<'_>,
    format: ArchiveFormat,
    assembly: Assembly<'_>,
) -> Result<Tree, Problem> {
    let source = Source { job, at: 0 };
    match Compression::in_format(format) {
        None => unpack_from(job, assembly, &mut Chunks::of(source)),
        Some(compression) => read_ahead(
            move || decoder(compression, Box::new(source)),
            |chunks| unpack_from(job, assembly, chunks),
        ),
    }
}

/// The bytes of the archive file, counted for progress.
struct Source<'a> {
    job: &'a Job<'a>,
    at: u64,
}

impl Read for Source<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.job.archive.read_some_at(buffer, self.at)?;
        self.at += length as u64;
        self.job.task.advance(length as u64);
        Ok(length)
    }
}

fn unpack_from(
    job: &Job<'_>,
    mut assembly: Assembly<'_>,
    input: &mut Chunks<'_>,
) -> Result<Tree, Problem> {
    let mut entries = Entries::new(input, &job.bounds);
    while let Some(member) = entries.next()? {
        take(job, &mut assembly, &mut entries, &member)?;
    }
    entries.finish()?;
    assembly.finish(job.sink, &job.bounds, job.progress)
}

fn take(
    job: &Job<'_>,
    assembly: &mut Assembly<'_>,
    entries: &mut Entries<'_, '_>,
    member: &Member,
) -> Result<(), Problem> {
    match &member.kind {
        Type::Directory => assembly.place(&member.name, What::Directory).map(|_| ()),
        Type::Link(target) => assembly.place(&member.name, What::Link(target.clone())).map(|_| ()),
        Type::HardLink(target) => job.bounds.link(assembly.place_hard_link(&member.name, target)?),
        Type::File => {
            let Some(path) = assembly.place(&member.name, What::File(None))? else {
                job.bounds.pass(member.size)?;
                return entries.skip(member.size, &member.name);
            };
            job.bounds.foresee(member.size)?;
            let wanted = assembly.placing.executable(&path);
            let execute = Execute::of(Some(member.mode), wanted, job.family);
            let mut writer = ContentWriter::new(job, &member.name, Some(member.size), execute)?;
            let mut left = member.size;
            while left > 0 {
                let bytes = entries.data(left.min(CHUNK as u64), &member.name)?;
                let length = bytes.len();
                writer.write(bytes)?;
                entries.consume(length);
                left -= length as u64;
            }
            entries.skip_padding(member.size, &member.name)?;
            assembly.fill(&path, What::File(Some(writer.finish()?)));
            Ok(())
        }
    }
}
