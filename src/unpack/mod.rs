//! Unpacking: an archive becomes a tree, its contents go into a sink.
//!
//! Archives are hostile. This room decides what may come out of one, and knows nothing of where
//! the contents go. `docs/unpacking.md` says what is taken, refused and bounded; what it says is
//! unpack rules number 1 and never changes under that number.

mod assembly;
mod bounds;
mod collisions;
mod content;
mod error;
mod format;
mod links;
mod overlap;
mod placing;
mod sink;
mod tar;
mod zip;

#[cfg(test)]
mod tests;

use std::fs::File;
use std::path::Path;

pub use error::{Problem, UnpackError};
pub use sink::{BlobWriter, Sink};

use crate::fetch::Arriving;
use crate::model::{ArchiveFormat, Family, Progress, Task, Tree, UnpackOptions};
use assembly::Assembly;
use bounds::Bounds;

/// What every part of one unpacking shares.
struct Job<'a> {
    archive: Arriving,
    options: &'a UnpackOptions,
    family: Family,
    sink: &'a dyn Sink,
    bounds: Bounds,
    progress: &'a dyn Progress,
    task: Box<dyn Task>,
}

/// Unpacks an archive: writes every content into the sink once and returns the tree.
///
/// `label` names the archive in errors and progress, `family` is that of the platform the tree is
/// for. The tree depends on the bytes of the archive, the hashed options and the family alone.
/// After an error what the sink was given is of no use and must be dropped with its staging.
pub fn unpack(
    archive: &Path,
    label: &str,
    options: &UnpackOptions,
    family: Family,
    sink: &dyn Sink,
    progress: &dyn Progress,
) -> Result<Tree, UnpackError> {
    let failed = |problem| UnpackError { archive: label.to_owned(), problem: Box::new(problem) };
    let archive = File::open(archive)
        .and_then(Arriving::whole)
        .map_err(|source| failed(Problem::Open { path: archive.to_owned(), source }))?;
    unpack_arriving(archive, label, options, family, sink, progress)
}

/// The same for an archive that may still be coming, and need not be proven yet.
pub fn unpack_arriving(
    archive: Arriving,
    label: &str,
    options: &UnpackOptions,
    family: Family,
    sink: &dyn Sink,
    progress: &dyn Progress,
) -> Result<Tree, UnpackError> {
    unpack_file(archive, label, options, family, sink, progress)
        .map_err(|problem| UnpackError { archive: label.to_owned(), problem: Box::new(problem) })
}

fn unpack_file(
    archive: Arriving,
    label: &str,
    options: &UnpackOptions,
    family: Family,
    sink: &dyn Sink,
    progress: &dyn Progress,
) -> Result<Tree, Problem> {
    let length = archive.length();
    let format = format::decide(&archive, options)?;
    let job = Job {
        archive,
        options,
        family,
        sink,
        bounds: Bounds::new(options.max_unpacked, length),
        progress,
        task: progress.start(&format!("unpack {label}"), Some(length)),
    };
    let assembly = Assembly::new(options, family);
    match format {
        ArchiveFormat::Zip => zip::unpack(&job, assembly),
        ArchiveFormat::File => content::unpack_single(&job, assembly),
        _ => tar::unpack(&job, format, assembly),
    }
}
