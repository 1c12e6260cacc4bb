//! `store`: what is in it, whether it is sound, and a store of a project's own.

use std::path::PathBuf;

use serde::Serialize;

use super::project::Project;
use super::repair::repair;
use super::{Error, Result, Settings};
use crate::model::Progress;
use crate::store::{
    Locate, Store, StoreError, StoreOptions, VerifyOptions, keep_out_of_git, register,
};

/// Where a store is.
#[derive(Debug, Serialize)]
pub struct StorePathReport {
    /// Its directory.
    pub path: PathBuf,
}

/// What is in a store.
#[derive(Debug, Serialize)]
pub struct StoreStatReport {
    /// Its directory.
    pub path: PathBuf,
    /// How many contents; the two forms of one count twice.
    pub blobs: u64,
    /// Bytes of them, each once.
    pub blob_bytes: u64,
    /// Bytes that they take on the disk.
    pub bytes_on_disk: u64,
    /// How many realised directories.
    pub realised: u64,
    /// Bytes of their files, counted in each.
    pub realised_bytes: u64,
    /// How many trees.
    pub trees: u64,
    /// How many archives.
    pub archives: u64,
    /// Bytes of them.
    pub archive_bytes: u64,
    /// How many generations.
    pub generations: u64,
    /// How many runtime directories.
    pub runtimes: u64,
}

/// What a verification found.
#[derive(Debug, Serialize)]
pub struct StoreVerifyReport {
    /// How many contents were read.
    pub blobs: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// What is damaged.
    pub damages: Vec<Damage>,
}

/// Something damaged.
#[derive(Debug, Serialize)]
pub struct Damage {
    /// Where.
    pub path: PathBuf,
    /// What is wrong with it, and what it touches.
    pub what: String,
    /// Whether it is right again.
    pub repaired: bool,
}

/// Counts what is in the store.
pub fn store_stat(settings: &Settings, progress: &dyn Progress) -> Result<StoreStatReport> {
    let project = Project::find_or_here(settings)?;
    let store = project.store(progress)?;
    let stat = store.stat()?;
    Ok(StoreStatReport {
        path: store.root().to_path_buf(),
        blobs: stat.blobs,
        blob_bytes: stat.bytes,
        bytes_on_disk: stat.bytes_on_disk,
        realised: stat.realised,
        realised_bytes: stat.realised_bytes,
        trees: stat.trees,
        archives: stat.archives,
        archive_bytes: stat.archive_bytes,
        generations: stat.generations,
        runtimes: stat.runtimes,
    })
}

/// Reads everything again and compares it with its digests; with `repairing` what is damaged is
/// brought back from its archive.
pub fn store_verify(
    settings: &Settings,
    repairing: bool,
    progress: &dyn Progress,
) -> Result<StoreVerifyReport> {
    let project = Project::find_or_here(settings)?;
    let store = project.store(progress)?;
    let found = store.verify(&VerifyOptions::default(), progress)?;
    let left = if repairing && !found.damages.is_empty() {
        repair(&store, &found, &|source| Ok(store.archive(source)?), progress)?
    } else {
        found.damages.clone()
    };
    let damages = found.damages.iter().map(|damage| Damage {
        path: damage.path.clone(),
        what: damage.to_string(),
        repaired: !left.iter().any(|still| still.path == damage.path),
    });
    Ok(StoreVerifyReport { blobs: found.blobs, bytes: found.bytes, damages: damages.collect() })
}

/// Gives the project a store of its own, in `store/` beside its manifest.
pub fn store_init(settings: &Settings, progress: &dyn Progress) -> Result<StorePathReport> {
    let project = Project::find(settings)?;
    let path = own_store(&project)?;
    let before = Locate::from_environment(None, Some(project.directory.clone())).find()?.path;
    let store = Store::open(&path, &options(settings))?;
    keep_out_of_git(&path)?;
    register(&path, store.id())?;
    if before != path && before.is_dir() {
        let old = Store::open(&before, &options(settings))?;
        if !old.environment_names(&project.id()?)?.is_empty() {
            progress.note(&format!(
                "what was built so far stays in {0}: \"drystone build\" builds it again here, --store {0} still reaches it",
                before.display()
            ));
        }
    }
    Ok(StorePathReport { path })
}

/// Takes over the `store/` that came with the project: verifies everything in it and discards its
/// plans, generations and records.
pub fn store_adopt(settings: &Settings, progress: &dyn Progress) -> Result<StorePathReport> {
    let project = Project::find(settings)?;
    let path = own_store(&project)?;
    let own = Locate { manifest_dir: Some(project.directory.clone()), ..Locate::default() };
    if own.find()?.path == path {
        return Err(Error::AdoptedAlready { path });
    }
    let (store, report) = Store::adopt(&path, &options(settings), progress)?;
    for damage in &report.removed {
        progress.note(&format!("removed, because it is damaged: {damage}"));
    }
    register(&path, store.id())?;
    Ok(StorePathReport { path })
}

/// The store that the call names, or `store/` of the project. That may have come with the project,
/// and a link there would have another store adopted, with all its generations discarded.
fn own_store(project: &Project<'_>) -> Result<PathBuf> {
    if let Some(named) = &project.settings.store {
        return Ok(named.clone());
    }
    let path = project.directory.join("store");
    if path.is_symlink() {
        return Err(StoreError::Linked { path }.into());
    }
    Ok(path)
}

fn options(settings: &Settings) -> StoreOptions {
    StoreOptions { unsafe_filesystem: settings.unsafe_filesystem }
}
