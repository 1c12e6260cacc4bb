//! `store`: what is in it, whether it is sound, and a store of a project's own.

use std::path::PathBuf;

use serde::Serialize;

use super::origins::Origins;
use super::project::Project;
use super::repair::{Left, repair};
use super::{Error, Result, Settings};
use crate::generation::{self, Generations};
use crate::model::{Fate, Progress, Sha256Digest, Vanished, VanishedFile};
use crate::store::{
    self, DamageKind, Locate, Skipped, Store, StoreError, StoreOptions, VerifyOptions,
    keep_out_of_git, register,
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
    /// What is damaged, and what vanished again while it was repaired.
    pub damages: Vec<Damage>,
    /// What another program held open, so that nothing is known of it.
    pub skipped: Vec<Skipped>,
    /// What to do where files vanished or changed that were right once.
    pub advice: Option<String>,
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
    /// The code of an error about it, where another program may have done it.
    pub code: Option<&'static str>,
    /// What another program may have done to it, and which archive it came from.
    pub vanished: Option<VanishedFile>,
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
    let archive_of = |source: &Sha256Digest| Ok(store.archive(source)?);
    let left = if repairing && !found.damages.is_empty() {
        repair(&store, &found, VerifyOptions::default(), &archive_of, progress)?
    } else {
        Left { damages: found.damages.clone(), skipped: found.skipped.clone(), ..Left::default() }
    };
    let mut damages = told(&store, &found.damages, &left)?;
    let advice = advice(&damages);
    let mut skipped = left.skipped;
    for environment in store.all_environments()? {
        let examined = Generations::open(&environment).examine();
        let held = examined.skipped.into_iter();
        skipped.extend(held.map(|held| Skipped { path: held.path, reason: held.what }));
        damages.extend(examined.wrong.into_iter().map(Damage::of_generation));
    }
    // What a generation keeps is read by the store as well.
    damages.sort_by(|a, b| a.path.cmp(&b.path));
    damages.dedup_by(|later, earlier| later.path == earlier.path);
    Ok(StoreVerifyReport { blobs: found.blobs, bytes: found.bytes, damages, skipped, advice })
}

impl Damage {
    /// What is recorded of a build is in no archive: another build records it anew.
    fn of_generation(finding: generation::Finding) -> Self {
        Self {
            what: format!("{}: {}", finding.path.display(), finding.what),
            path: finding.path,
            repaired: false,
            code: None,
            vanished: None,
        }
    }
}

/// Every damage that was found or came during the repair, with where its file came from.
fn told(store: &Store, found: &[store::Damage], left: &Left) -> Result<Vec<Damage>> {
    let fresh =
        left.damages.iter().filter(|damage| !found.iter().any(|old| old.path == damage.path));
    let damages: Vec<&store::Damage> = found.iter().chain(fresh).collect();
    let origins = match damages.iter().any(|damage| damage.fate.is_some()) {
        true => Origins::of_store(store)?,
        false => Origins::default(),
    };
    let tell = |damage: &&store::Damage| {
        let vanished = damage.fate.map(|what| {
            let mut files =
                [VanishedFile { blob: damage.blob, ..VanishedFile::at(what, &damage.path) }];
            origins.complete(&mut files);
            let [mut file] = files;
            if damage.kind == DamageKind::Archive {
                file.origin = origins.of_archive_at(&damage.path);
            }
            file
        });
        let mut what = damage.to_string();
        if let Some(file) = vanished.as_ref().filter(|file| file.origin.is_some()) {
            what.push_str(&format!("; it is {}", file.name()));
        }
        if left.again.contains(&damage.path) {
            what.push_str("; it was brought back and went wrong again at once");
        }
        Damage {
            path: damage.path.clone(),
            what,
            repaired: !left.damages.iter().any(|still| still.path == damage.path),
            code: damage.fate.map(Fate::code),
            vanished,
        }
    };
    Ok(damages.iter().map(tell).collect())
}

/// What to do about files that vanished, repaired or not, and about those that are still changed.
fn advice(damages: &[Damage]) -> Option<String> {
    let concerns = |damage: &&Damage| match &damage.vanished {
        Some(file) => !damage.repaired || file.what != Fate::Changed,
        None => false,
    };
    let concerned = damages.iter().filter(concerns);
    let mut files: Vec<VanishedFile> =
        concerned.filter_map(|damage| damage.vanished.clone()).collect();
    // What is gone comes first: its cause is the likelier one.
    files.sort_by_key(|file| file.what);
    let cause = files.first()?.what.cause();
    Some(format!("{cause}.\n{}", Vanished::files(files, "").advice()))
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
