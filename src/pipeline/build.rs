//! `build`: a new generation of an environment, from its lock.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use super::archives::{Archives, Wanted};
use super::composing::compose_packages;
use super::fetch::section;
use super::freshness::fresh_lock;
use super::hosts::locate_hosts;
use super::plans::Planned;
use super::project::{MANIFEST, Project, choose_platform};
use super::registration::register_lock;
use super::repair::repair;
use super::selection::select;
use super::unpacking::{Part, Unpacked, unpack_all};
use super::{Error, Result, Settings};
use crate::catalogue::Catalogue;
use crate::compose::{Composed, PackageIdentity, realised_root_units, require_path_budget};
use crate::generation::{self, Generation, NewGeneration, Recorded};
use crate::host::machine_facts;
use crate::lock::{self, Lock, LockedPackage, LockedPlatform};
use crate::manifest::{Environment, Manifest};
use crate::model::{
    Family, Name, Platform, Progress, Sha256Digest, Tree, TreeId, TreePath, UnpackKey,
};
use crate::store::{Realised, Root, Store, StoreError, VerifyOptions};

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
        let made = match self.make(progress) {
            Err(Error::Store(lost @ StoreError::BlobMissing { .. })) => {
                progress.note(&format!("{lost}; bringing it back"));
                self.bring_back(progress)?;
                self.make(progress)?
            }
            made => made?,
        };
        let name = &self.environment.name;
        register_lock(self.project, self.store, name, self.section, &made.packages, progress)?;
        let (generation, new) = match self.record(&made, hosts, progress)? {
            Recorded::Made(generation) => (generation, true),
            Recorded::AlreadyBuilt(generation) => (generation, false),
        };
        Ok(self.report(&made, &generation, new))
    }

    /// Stages everything, commits it by one barrier, and realises it by a second one.
    fn make(&self, progress: &dyn Progress) -> Result<Made> {
        let archives = Archives::new(self.project, self.store);
        let parts: Vec<Part<'_>> =
            self.packages.iter().map(|&package| (self.platform, package)).collect();
        let rules = self.lock.unpack_rules;
        let Unpacked { trees: packages, records, staging, locks } =
            unpack_all(self.store, &archives, &parts, rules, progress)?;
        let composed = compose_packages(
            self.environment,
            self.lock,
            self.platform,
            &self.packages,
            &packages,
        )?;
        for warning in &composed.warnings {
            progress.note(&warning.to_string());
        }
        for text in &composed.texts {
            staging.add(&text.content, false)?;
        }
        let store = self.store.root().as_os_str().to_string_lossy().encode_utf16().count();
        let units = realised_root_units(store, &self.environment.name);
        require_path_budget(&composed.tree, self.platform, units)?;
        let files = self.import_files(&staging)?;
        let trees: Vec<&Tree> =
            packages.values().chain([&composed.tree]).chain(files.values()).collect();
        let committed = staging.commit(&trees, &records)?;
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
        Ok(Made { packages, composed, planned, realised, new_bytes, barrier })
    }

    /// Puts right what the store has lost: from the archives in it, or fetched again by the lock.
    fn bring_back(&self, progress: &dyn Progress) -> Result<()> {
        let report = self.store.verify(&VerifyOptions { quick: true }, progress)?;
        let archives = Archives::new(self.project, self.store);
        let archive_of = |source: &Sha256Digest| -> Result<Option<PathBuf>> {
            let Some(package) = self.packages.iter().find(|one| one.sha256 == *source) else {
                return Ok(self.store.archive(source)?);
            };
            let brought = archives.bring(&[Wanted::of(package)], progress)?;
            Ok(brought.into_iter().next().map(|brought| brought.path))
        };
        repair(self.store, &report, &archive_of, progress)?;
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
            let content = std::fs::read(&path)
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
