//! Giving a generation's manifest, inputs and lock back to the project.
//!
//! A file is replaced without a word only where what it holds now is kept: by this or another
//! generation of the environment. Line ends do not count: a file that differs from what would be
//! written only by CRLF is left as it is. Nothing is ever deleted: an include that the generation
//! did not have stays, and is no longer included.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::disk::{self, real_path};
use crate::model::{BlobId, Name, TreePath};

use super::error::{GenerationError, Step};
use super::reading::Generations;
use super::record::{Generation, INPUTS, LOCK, MANIFEST, digest};

/// What restoring did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Restored {
    /// The files that were written, sorted by their path beside the manifest.
    pub written: Vec<PathBuf>,
    /// Where files with changes that no generation holds were put aside (only when forced).
    pub kept: Vec<PathBuf>,
}

/// One file to restore.
struct Target {
    /// Where it lies beside the manifest.
    at: TreePath,
    /// Where generations keep it.
    kept_as: TreePath,
    content: Vec<u8>,
}

/// Writes `env.kdl`, its includes and local catalogues, and `lockfiles/<environment>.lock.kdl` as a
/// generation has them, each by rename. Refuses, before anything is written, where a file has
/// changes that no generation holds; with `force` such a file is kept beside as
/// `<name>.before-rollback`.
pub fn restore_files(
    generations: &Generations,
    generation: &Generation,
    project: &Path,
    environment: &Name,
    force: bool,
) -> Result<Restored, GenerationError> {
    let Pending { changed, unsaved } =
        pending(generations, generation, project, environment, force)?;
    let mut restored = Restored::default();
    for path in &unsaved {
        restored.kept.push(keep_aside(path)?);
    }
    for (path, target) in changed {
        replace(&path, &target.content)?;
        restored.written.push(path);
    }
    Ok(restored)
}

/// Fails where [`restore_files`] would refuse, and changes nothing: so that going back can be
/// refused as a whole.
pub fn check_restore(
    generations: &Generations,
    generation: &Generation,
    project: &Path,
    environment: &Name,
    force: bool,
) -> Result<(), GenerationError> {
    pending(generations, generation, project, environment, force).map(|_| ())
}

/// What restoring would write.
struct Pending {
    changed: Vec<(PathBuf, Target)>,
    /// Those of them whose changes no generation holds.
    unsaved: Vec<PathBuf>,
}

fn pending(
    generations: &Generations,
    generation: &Generation,
    project: &Path,
    environment: &Name,
    force: bool,
) -> Result<Pending, GenerationError> {
    let targets = targets(generations, generation, environment)?;
    let mut held: Option<BTreeMap<TreePath, BTreeSet<BlobId>>> = None;
    let (mut changed, mut unsaved) = (Vec::new(), Vec::new());
    for target in targets {
        let path = target.at.at(project);
        let now = match disk::read(&path) {
            Ok(now) => Some(now),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error).step("read", &path),
        };
        if let Some(now) = now {
            if with_line_feeds(&now) == with_line_feeds(&target.content) {
                continue;
            }
            if held.is_none() {
                held = Some(all_held(generations)?);
            }
            let digests = held.as_ref().and_then(|held| held.get(&target.kept_as));
            let is_held = |content: &[u8]| digests.is_some_and(|d| d.contains(&digest(content)));
            if !is_held(&now) && !is_held(&with_line_feeds(&now)) {
                unsaved.push(path.clone());
            }
        }
        if !stays_inside(project, &path) {
            return Err(GenerationError::Outside { path });
        }
        changed.push((path, target));
    }
    if !unsaved.is_empty() && !force {
        let files = unsaved.iter().map(|path| path.strip_prefix(project).unwrap_or(path).into());
        return Err(GenerationError::Unsaved { files: files.collect() });
    }
    Ok(Pending { changed, unsaved })
}

/// Whether writing to a path writes below the project: a link that came with a clone may lead
/// anywhere.
fn stays_inside(project: &Path, path: &Path) -> bool {
    let Ok(project) = real_path(project) else { return false };
    // A link that leads to nothing is not written through, but replaced.
    let there = path.ancestors().find_map(|above| real_path(above).ok());
    there.is_some_and(|there| there.starts_with(&project))
}

fn targets(
    generations: &Generations,
    generation: &Generation,
    environment: &Name,
) -> Result<Vec<Target>, GenerationError> {
    let path = |text: &str| -> TreePath {
        text.parse().expect("a path") // Constants and a `Name`: parts that a path may have.
    };
    let inputs = path(INPUTS);
    let mut targets = vec![
        Target {
            at: path("env.kdl"),
            kept_as: path(MANIFEST),
            content: generations.manifest(generation)?,
        },
        Target {
            at: path(&format!("lockfiles/{environment}.lock.kdl")),
            kept_as: path(LOCK),
            content: generations.lock(generation)?,
        },
    ];
    for (at, content) in generations.inputs(generation)? {
        targets.push(Target { kept_as: at.under(Some(&inputs)), at, content });
    }
    targets.sort_by(|a, b| a.at.cmp(&b.at));
    Ok(targets)
}

/// The digests of every file in every generation that can be read.
fn all_held(
    generations: &Generations,
) -> Result<BTreeMap<TreePath, BTreeSet<BlobId>>, GenerationError> {
    let mut held: BTreeMap<TreePath, BTreeSet<BlobId>> = BTreeMap::new();
    for listed in generations.list()? {
        let files = listed.generation.map(|readable| readable.files).unwrap_or_default();
        for (path, digest) in files {
            held.entry(path).or_default().insert(digest);
        }
    }
    Ok(held)
}

fn with_line_feeds(content: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(content.len());
    for (at, &byte) in content.iter().enumerate() {
        if byte != b'\r' || content.get(at + 1) != Some(&b'\n') {
            text.push(byte);
        }
    }
    text
}

/// Copies a file beside itself, under a name that is free.
fn keep_aside(path: &Path) -> Result<PathBuf, GenerationError> {
    let content = disk::read(path).step("read", path)?;
    let mut number = 1u32;
    loop {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".before-rollback");
        if number > 1 {
            name.push(format!("-{number}"));
        }
        let aside = path.with_file_name(name);
        match fs::OpenOptions::new().write(true).create_new(true).open(&aside) {
            Ok(mut file) => {
                file.write_all(&content).step("write", &aside)?;
                file.sync_all().step("write to the disk", &aside)?;
                return Ok(aside);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error).step("create", &aside),
        }
    }
}

/// Replaces a file of the project by rename; through a link, the file that it leads to.
fn replace(path: &Path, content: &[u8]) -> Result<(), GenerationError> {
    let path = real_path(path).unwrap_or_else(|_| path.to_owned());
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory).step("create", directory)?;
    Ok(disk::replace_file(&path, content, 0o666)?)
}
