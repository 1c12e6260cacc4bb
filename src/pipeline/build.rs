//! `build`: a new generation of an environment, from its lock.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use rayon::prelude::*;
use serde::Serialize;

use super::archives::{Archives, Wanted};
use super::composing::compose_packages;
use super::fetch::section;
use super::freshness::fresh_lock;
use super::hosts::locate_hosts;
use super::origins::{IN_THE_STORE, Origins};
use super::plans::{Planned, store_units, too_long_in};
use super::project::{MANIFEST, Project, choose_platform};
use super::registration::register_lock;
use super::repair::repair;
use super::selection::select;
use super::unpacking::{Part, Unpacked, unpack_all};
use super::{Error, Result, Settings};
use crate::catalogue::Catalogue;
use crate::compose::{Composed, PackageIdentity, require_path_budget};
use crate::disk;
use crate::generation::{self, Generation, NewGeneration, Recorded};
use crate::host::machine_facts;
use crate::lock::{self, Lock, LockedPackage, LockedPlatform};
use crate::manifest::{Environment, Manifest};
use crate::model::{
    Family, Fate, Name, Platform, Progress, Sha256Digest, Tree, TreeId, TreePath, UnpackKey,
    Vanished, VanishedFile,
};
use crate::runtime::PlannedFile;
use crate::store::{
    Checked, Realised, Root, Staging, Store, UnpackRecord, VerifyOptions, WorkLock,
};

/// What to build.
#[derive(Debug, Clone, Default)]
pub struct BuildRequest {
    /// Optional packages to build as well.
    pub with: Vec<Name>,
    /// The platform, instead of the machine's own.
    pub platform: Option<Platform>,
    /// Where host components are, instead of where they are usually found.
    pub hosts: BTreeMap<Name, PathBuf>,
}

/// What `build` made.
#[derive(Debug, Serialize)]
pub struct BuildReport {
    /// The environment.
    pub environment: Name,
    /// The generation that is current now.
    pub generation: u64,
    /// Whether it was made by this build; false where the current one held exactly this already.
    pub new: bool,
    /// The platform.
    pub platform: Platform,
    /// The environment's hash.
    pub tree: TreeId,
    /// Where it is realised; nowhere for a platform that this machine is not.
    pub directory: Option<PathBuf>,
    /// How many packages it is made of.
    pub packages: u64,
    /// How many files it has.
    pub files: u64,
    /// Bytes of all its files.
    pub size: u64,
    /// Bytes that came new into the store.
    pub new_bytes: u64,
    /// How long the disk was waited for, in seconds.
    pub barrier_seconds: f64,
}

/// Builds the environment that the settings name.
pub fn build(
    settings: &Settings,
    request: &BuildRequest,
    progress: &dyn Progress,
) -> Result<BuildReport> {
    let project = Project::find(settings)?;
    let manifest = project.manifest()?;
    let environment = project.environment(&manifest)?;
    let store = project.store(progress)?;
    build_environment(&project, &store, &manifest, environment, request, progress)
}

/// Builds one environment into an open store.
pub(super) fn build_environment(
    project: &Project<'_>,
    store: &Store,
    manifest: &Manifest,
    environment: &Environment,
    request: &BuildRequest,
    progress: &dyn Progress,
) -> Result<BuildReport> {
    let catalogue = project.catalogue(manifest)?;
    let platform = choose_platform(environment, request.platform)?;
    let lock = fresh_lock(project, manifest, &catalogue, environment, progress)?;
    let section = section(&lock, platform)?;
    let build = Build {
        project,
        store,
        manifest,
        catalogue: &catalogue,
        environment,
        platform,
        lock: &lock,
        section,
        packages: select(&environment.name, section, &request.with)?,
        selection: optional_ones(section, &request.with),
    };
    build.run(request, progress)
}

/// Those of the packages asked for that are not built anyway: asking for the others makes no other
/// environment.
fn optional_ones(section: &LockedPlatform, with: &[Name]) -> BTreeSet<Name> {
    let optional =
        |name: &&Name| section.packages.get(*name).is_some_and(|package| package.optional);
    with.iter().filter(optional).cloned().collect()
}

/// One build: what it is made from.
pub(super) struct Build<'a> {
    pub project: &'a Project<'a>,
    pub store: &'a Store,
    pub manifest: &'a Manifest,
    pub catalogue: &'a Catalogue,
    pub environment: &'a Environment,
    pub platform: Platform,
    pub lock: &'a Lock,
    pub section: &'a LockedPlatform,
    pub packages: Vec<&'a LockedPackage>,
    pub selection: BTreeSet<Name>,
}

/// What a build put into the store.
struct Made {
    packages: BTreeMap<UnpackKey, Tree>,
    composed: Composed,
    planned: Planned,
    realised: Option<Realised>,
    new_bytes: u64,
    barrier: Duration,
}

impl Build<'_> {
    fn run(&self, request: &BuildRequest, progress: &dyn Progress) -> Result<BuildReport> {
        let hosts =
            locate_hosts(self.catalogue, self.section, self.platform, &request.hosts, progress)?;
        let made = self.make_whole(progress)?;
        let name = &self.environment.name;
        register_lock(self.project, self.store, name, self.section, &made.packages, progress)?;
        let (generation, new) = match self.record(&made, hosts, progress)? {
            Recorded::Made(generation) => (generation, true),
            Recorded::AlreadyBuilt(generation) => (generation, false),
        };
        Ok(self.report(&made, &generation, new))
    }

    /// Makes all of it and looks whether it is still there. What the store has lost since an earlier
    /// build is brought back once; what vanishes as soon as it was made is not put back behind the
    /// back of whoever took it, but told.
    fn make_whole(&self, progress: &dyn Progress) -> Result<Made> {
        let lost = match self.make(progress) {
            Ok(made) => {
                let gone = self.gone(&made)?;
                if gone.is_empty() {
                    return Ok(made);
                }
                // A content that changed may have been in the store before.
                let is_new = made.realised.as_ref().is_some_and(|realised| realised.made)
                    && gone.iter().any(|file| file.what != Fate::Changed);
                if is_new {
                    return Err(self.told(&made, gone, "right after it was built"));
                }
                self.told(&made, gone, IN_THE_STORE)
            }
            Err(Error::Vanished(lost)) if lost.moment == IN_THE_STORE => Error::Vanished(lost),
            Err(error) => return Err(error),
        };
        progress.note(&format!("{lost}; bringing it back"));
        self.bring_back(progress)?;
        const AGAIN: &str = "again right after it was brought back";
        let made = self.make(progress).map_err(|error| match error {
            Error::Vanished(mut lost) => {
                lost.moment = AGAIN.into();
                Error::Vanished(lost)
            }
            error => error,
        })?;
        match self.gone(&made)? {
            gone if gone.is_empty() => Ok(made),
            gone => Err(self.told(&made, gone, AGAIN)),
        }
    }

    /// What of the realised environment, and of what its applications are placed from, is not there
    /// any more.
    fn gone(&self, made: &Made) -> Result<Vec<VanishedFile>> {
        let Some(realised) = &made.realised else { return Ok(Vec::new()) };
        let tree = &made.composed.tree;
        let mut gone = match realised.made {
            true => self.store.absent_of_new(tree, &realised.path)?,
            false => self.store.absent(tree, &realised.path)?,
        };
        let look = |file: &PlannedFile| {
            let blob = file.blob.as_ref()?;
            let what = match self.store.check_blob(file.kind.into(), blob, file.size) {
                Ok(Checked::Whole) => return None,
                Ok(Checked::Missing) => Fate::Vanished,
                Ok(Checked::Changed) => Fate::Changed,
                Err(error) => return Some(Err(error.into())),
            };
            let place = self.store.blob_path(blob, false);
            let file = VanishedFile::of(what, &file.path, Some(*blob));
            Some(Ok(VanishedFile { file: Some(place), ..file }))
        };
        let placed = made.planned.files.par_iter();
        let lost: Vec<VanishedFile> = placed.filter_map(look).collect::<Result<_>>()?;
        let known = |file: &VanishedFile| gone.iter().any(|there| there.blob == file.blob);
        let lost: Vec<_> = lost.into_iter().filter(|file| !known(file)).collect();
        gone.extend(lost);
        Ok(gone)
    }

    fn told(&self, made: &Made, gone: Vec<VanishedFile>, moment: &'static str) -> Error {
        let mut vanished = Vanished::files(gone, moment);
        Origins::of_build(&self.packages, &made.packages).complete(&mut vanished.files);
        Error::Vanished(vanished)
    }

    fn make(&self, progress: &dyn Progress) -> Result<Made> {
        let archives = Archives::new(self.project, self.store);
        let parts: Vec<Part<'_>> =
            self.packages.iter().map(|&package| (self.platform, package)).collect();
        let rules = self.lock.unpack_rules;
        let Unpacked { mut trees, records, staging, locks } =
            unpack_all(self.store, &archives, &parts, rules, progress)?;
        self.put_together(&mut trees, &records, staging, locks, progress)
            .map_err(|error| Origins::of_build(&self.packages, &trees).explain(error))
    }

    /// Stages everything, commits it by one barrier, and realises it by a second one. Takes the
    /// packages' trees where that goes well.
    fn put_together(
        &self,
        packages: &mut BTreeMap<UnpackKey, Tree>,
        records: &[UnpackRecord],
        staging: Staging<'_>,
        locks: Vec<WorkLock>,
        progress: &dyn Progress,
    ) -> Result<Made> {
        let composed =
            compose_packages(self.environment, self.lock, self.platform, &self.packages, packages)?;
        for warning in &composed.warnings {
            progress.note(&warning.to_string());
        }
        for text in &composed.texts {
            staging.add(&text.content, false)?;
        }
        let units = store_units(self.store);
        let too_long = too_long_in(self.environment, &composed.tree, self.platform, units);
        require_path_budget(too_long)?;
        let files = self.import_files(&staging)?;
        let trees: Vec<&Tree> =
            packages.values().chain([&composed.tree]).chain(files.values()).collect();
        let committed = staging.commit(&trees, records)?;
        drop(locks);
        let planned = self.plan_applications(&composed.tree, &files, progress)?;
        let mut barrier = committed.barrier;
        let realised = if self.is_foreign() {
            None
        } else {
            let realised = self.store.realise(&composed.tree, &self.environment.name, progress)?;
            barrier += realised.barrier;
            Some(realised)
        };
        let new_bytes = committed.new_bytes;
        let packages = std::mem::take(packages);
        Ok(Made { packages, composed, planned, realised, new_bytes, barrier })
    }

    /// Puts right what the store has lost: from the archives in it, or fetched again by the lock.
    fn bring_back(&self, progress: &dyn Progress) -> Result<()> {
        let quick = VerifyOptions { quick: true };
        let report = self.store.verify(&quick, progress)?;
        let archives = Archives::new(self.project, self.store);
        let archive_of = |source: &Sha256Digest| -> Result<Option<PathBuf>> {
            let Some(package) = self.packages.iter().find(|one| one.sha256 == *source) else {
                return Ok(self.store.archive(source)?);
            };
            let brought = archives.bring(&[Wanted::of(package)], progress)?;
            Ok(brought.into_iter().next().map(|brought| brought.path))
        };
        repair(self.store, &report, quick, &archive_of, progress)?;
        Ok(())
    }

    /// Whether it is for another way of files than this machine's. Windows environments are
    /// realised on Linux as well: their trees have neither links nor execute bits.
    fn is_foreign(&self) -> bool {
        Family::current() == Family::Windows && self.platform.family() == Family::Unix
    }

    fn record(
        &self,
        made: &Made,
        hosts: BTreeMap<Name, String>,
        progress: &dyn Progress,
    ) -> Result<Recorded> {
        let manifest_bytes = self.project.read_manifest()?;
        let lock_text = lock::write(self.lock);
        let new = NewGeneration {
            created: Timestamp::now(),
            platform: self.platform,
            foreign: made.realised.is_none(),
            tree: made.composed.tree.id(),
            root: self.section.root,
            inputs_digest: self.catalogue.inputs_digest(),
            catalogue: self.catalogue.revision().to_string(),
            selection: self.selection.clone(),
            packages: self.identities(made),
            realised: made.realised.as_ref().map(|realised| realised.name.clone()),
            hosts,
            machine: machine_facts(),
            manifest: &manifest_bytes,
            lock: lock_text.as_bytes(),
            inputs: self.inputs()?,
            plans: made.planned.plans.clone(),
            roots: self.roots(made),
        };
        let directory =
            self.store.environment(&self.project.id()?, &self.environment.name, progress)?;
        Ok(generation::record(&directory, &new)?)
    }

    /// Includes and local catalogues as they are: their bytes by their path beside the manifest.
    fn inputs(&self) -> Result<BTreeMap<TreePath, Vec<u8>>> {
        let included = self.manifest.files.iter().map(|file| file.path.as_str());
        let local = self.catalogue.local_files().iter().map(String::as_str);
        let mut inputs = BTreeMap::new();
        for text in included.chain(local).filter(|&text| text != MANIFEST) {
            let path = self.project.directory.join(text);
            let content = disk::read(&path)
                .map_err(|source| Error::Directory { path: path.clone(), source })?;
            if let Ok(inside) = text.parse::<TreePath>() {
                inputs.insert(inside, content);
            }
        }
        Ok(inputs)
    }

    fn identities(&self, made: &Made) -> BTreeMap<Name, PackageIdentity> {
        let identity = |package: &&LockedPackage| {
            let tree = made.packages.get(&package.unpack_key)?.id();
            let identity =
                PackageIdentity { version: package.version.clone(), node: package.id, tree };
            Some((package.name.clone(), identity))
        };
        self.packages.iter().filter_map(identity).collect()
    }

    /// What gc keeps for the generation.
    fn roots(&self, made: &Made) -> Vec<Root> {
        let mut roots = vec![Root::Tree(made.composed.tree.id())];
        roots.extend(made.realised.iter().map(|realised| Root::Realised(realised.name.clone())));
        for package in &self.packages {
            roots.push(Root::Unpacked(package.unpack_key));
            let tree = made.packages.get(&package.unpack_key);
            roots.extend(tree.map(|tree| Root::Tree(tree.id())));
        }
        roots.extend(made.planned.trees.iter().copied().map(Root::Tree));
        roots
    }

    fn report(&self, made: &Made, generation: &Generation, new: bool) -> BuildReport {
        BuildReport {
            environment: self.environment.name.clone(),
            generation: generation.number,
            new,
            platform: self.platform,
            tree: generation.tree,
            directory: made.realised.as_ref().map(|realised| realised.path.clone()),
            packages: self.packages.len() as u64,
            files: made.composed.tree.file_count() as u64,
            size: made.composed.tree.size(),
            new_bytes: made.new_bytes,
            barrier_seconds: made.barrier.as_secs_f64(),
        }
    }
}
