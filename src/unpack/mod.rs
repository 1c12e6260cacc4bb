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

use std::path::Path;

pub use error::{Problem, UnpackError};
pub use sink::{BlobWriter, Sink};

use crate::fetch::Arriving;
use crate::model::{
    ArchiveFormat, Family, Fate, Progress, Task, Tree, UnpackOptions, Vanished, VanishedFile,
};
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
    let archive = Arriving::whole(archive)
        .map_err(|source| UnpackError::opening(label.to_owned(), archive, source))?;
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
    let path = archive.path().to_owned();
    unpack_file(archive, label, options, family, sink, progress).map_err(|problem| {
        let problem = Box::new(problem.of_archive(&path));
        UnpackError { archive: label.to_owned(), problem }
    })
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
        bounds: Bounds::new(options, length),
        progress,
        task: progress.start(&format!("unpack {label}"), Some(length)),
    };
    let assembly = Assembly::new(options, family);
    let tree = match format {
        ArchiveFormat::Zip => zip::unpack(&job, assembly),
        ArchiveFormat::File => content::unpack_single(&job, assembly),
        _ => tar::unpack(&job, format, assembly),
    };
    // A scanner that cleans an archive while it is read makes it another one, and most formats
    // would not notice.
    if job.archive.changed_its_length() {
        let file = VanishedFile::at(Fate::Changed, job.archive.path());
        return Err(Problem::Vanished(Vanished::file(file, "while it was unpacked")));
    }
    tree
}
