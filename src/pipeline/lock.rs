//! `lock`: resolves, records what nobody published, and writes the lock; or checks it.

use serde::Serialize;

use super::archives::{Archives, Wanted};
use super::composing::compose_packages;
use super::freshness::{applications_of, disagreements};
use super::plans::Planning;
use super::project::Project;
use super::unpacking::{Part, unpack_all};
use super::{Error, Result, Settings};
use crate::catalogue::Catalogue;
use crate::compose::NOMINAL_ROOT_UNITS;
use crate::lock::{self, Ingredients, Lock, RecordedHashes, Saved, missing_hashes};
use crate::manifest::{Environment, Manifest};
use crate::model::{Name, Progress, Sha256Digest};
use crate::resolve::{Available, Graph, resolve};

/// How to lock.
#[derive(Debug, Clone, Copy, Default)]
pub struct LockRequest {
    /// Whether each package's tree is recorded; stays on once set.
    pub contents: bool,
    /// Whether the versions of the old lock are let go.
    pub update: bool,
}

/// What `lock` did.
#[derive(Debug, Serialize)]
pub struct LockReport {
    /// One for each environment.
    pub locks: Vec<LockedEnvironment>,
}

/// The lock of one environment.
#[derive(Debug, Serialize)]
pub struct LockedEnvironment {
    /// The environment.
    pub environment: Name,
    /// The lock, relative to the project.
    pub path: String,
    /// Whether the file was written; it is left alone where nothing changed.
    pub written: bool,
    /// What changed, a line each.
    pub changes: Vec<String>,
    /// Hashes that nobody published and that were recorded from what came.
    pub recorded: Vec<RecordedHash>,
}

/// A hash that was recorded because nobody published one.
#[derive(Debug, Serialize)]
pub struct RecordedHash {
    /// The package.
    pub package: Name,
    /// Its hash.
    pub sha256: Sha256Digest,
    /// Its size in bytes.
    pub size: u64,
    /// Where it came from.
    pub url: String,
}

/// Locks the environment that the settings name, or all of the manifest.
pub fn lock(
    settings: &Settings,
    request: LockRequest,
    progress: &dyn Progress,
) -> Result<LockReport> {
    let project = Project::find(settings)?;
    let manifest = project.manifest()?;
    let catalogue = project.catalogue(&manifest)?;
    let mut locks = Vec::new();
    for environment in project.environments(&manifest)? {
        let locking = Locking { project: &project, manifest: &manifest, catalogue: &catalogue };
        locks.push(locking.lock(environment, request, progress)?.1);
    }
    Ok(LockReport { locks })
}

/// Checks that the locks are what the manifest asks for; changes nothing, and needs neither the
/// network nor the built-in catalogue.
pub fn check_lock(settings: &Settings) -> Result<LockReport> {
    let project = Project::find(settings)?;
    let manifest = project.manifest()?;
    let mut locks = Vec::new();
    for environment in project.environments(&manifest)? {
        let path = project.lock_name(&environment.name);
        let lock = project.required_lock(&environment.name)?;
        let how = disagreements(&manifest, environment, &lock)?;
        if !how.is_empty() {
            return Err(Error::LockDisagrees { path, how });
        }
        locks.push(LockedEnvironment {
            environment: environment.name.clone(),
            path,
            written: false,
            changes: Vec::new(),
            recorded: Vec::new(),
        });
    }
    Ok(LockReport { locks })
}

/// What locking is made from.
pub(super) struct Locking<'a> {
    pub project: &'a Project<'a>,
    pub manifest: &'a Manifest,
    pub catalogue: &'a Catalogue,
}

impl Locking<'_> {
    /// Makes and saves the lock of one environment.
    pub fn lock(
        &self,
        environment: &Environment,
        request: LockRequest,
        progress: &dyn Progress,
    ) -> Result<(Lock, LockedEnvironment)> {
        let old = self.project.existing_lock(&environment.name)?;
        let graphs = self.graphs(environment, old.as_ref().filter(|_| !request.update))?;
        let (recorded, said) = self.record_hashes(&graphs, old.as_ref(), progress)?;
        let applications: Vec<_> = applications_of(self.manifest, environment).collect();
        let mut lock = Lock::make(&Ingredients {
            environment,
            applications: &applications,
            graphs: &graphs,
            inputs: self.catalogue.inputs_digest(),
            contents: request.contents,
            old: old.as_ref(),
            recorded: &recorded,
        })?;
        if lock.contents {
            self.record_contents(environment, &mut lock, progress)?;
        }
        let saved =
            lock::save(&lock::lock_path(&self.project.directory, &environment.name), &lock)?;
        let changes = match &old {
            Some(old) => lock::changes(old, &lock).iter().map(ToString::to_string).collect(),
            None => listing(&lock),
        };
        let report = LockedEnvironment {
            environment: environment.name.clone(),
            path: self.project.lock_name(&environment.name),
            written: saved == Saved::Written,
            changes,
            recorded: said,
        };
        Ok((lock, report))
    }

    fn graphs(&self, environment: &Environment, old: Option<&Lock>) -> Result<Vec<Graph<'_>>> {
        let available =
            Available { packages: &self.catalogue.packages, hosts: &self.catalogue.hosts };
        environment
            .platforms
            .iter()
            .map(|&platform| {
                let favoured = old.map(|old| old.versions(platform)).unwrap_or_default();
                Ok(resolve(environment, platform, available, &favoured)?)
            })
            .collect()
    }

    /// Fetches the archives that nobody publishes a hash of, to record what comes.
    fn record_hashes(
        &self,
        graphs: &[Graph<'_>],
        old: Option<&Lock>,
        progress: &dyn Progress,
    ) -> Result<(RecordedHashes, Vec<RecordedHash>)> {
        let missing: Vec<_> = graphs.iter().flat_map(|graph| missing_hashes(graph, old)).collect();
        let (mut recorded, mut said) = (RecordedHashes::new(), Vec::new());
        if missing.is_empty() {
            return Ok((recorded, said));
        }
        let store = self.project.store(progress)?;
        let archives = Archives::new(self.project, &store);
        let wanted: Vec<Wanted<'_>> = missing
            .iter()
            .map(|one| Wanted {
                package: one.name,
                version: one.version,
                urls: &one.source.urls,
                sha256: None,
                size: one.source.size,
            })
            .collect();
        for (one, brought) in missing.iter().zip(archives.bring(&wanted, progress)?) {
            recorded.insert((one.name.clone(), one.platform), (brought.sha256, brought.size));
            said.push(RecordedHash {
                package: one.name.clone(),
                sha256: brought.sha256,
                size: brought.size,
                url: brought.from.unwrap_or_default(),
            });
        }
        said.dedup_by(|a, b| a.package == b.package && a.sha256 == b.sha256);
        Ok((recorded, said))
    }

    /// Unpacks what the lock has no tree of, records the trees, and makes the checks that need the
    /// list of files.
    fn record_contents(
        &self,
        environment: &Environment,
        lock: &mut Lock,
        progress: &dyn Progress,
    ) -> Result<()> {
        let store = self.project.store(progress)?;
        let archives = Archives::new(self.project, &store);
        let parts: Vec<Part<'_>> = lock
            .platforms
            .iter()
            .flat_map(|(&platform, section)| {
                section.packages.values().map(move |package| (platform, package))
            })
            .collect();
        let unpacked = unpack_all(&store, &archives, &parts, lock.unpack_rules, progress)?;
        let trees: Vec<_> = unpacked.trees.values().collect();
        unpacked.staging.commit(&trees, &unpacked.records)?;
        for (&platform, section) in &lock.platforms {
            let packages: Vec<_> = section.packages.values().collect();
            let composed =
                compose_packages(environment, lock, platform, &packages, &unpacked.trees)?;
            let planning = Planning {
                store: &store,
                manifest: self.manifest,
                environment,
                platform,
                section,
                packages: &packages,
            };
            planning.check_lengths(&composed.tree, NOMINAL_ROOT_UNITS)?;
        }
        lock.record_trees(&unpacked.trees.iter().map(|(key, tree)| (*key, tree.id())).collect());
        Ok(())
    }
}

/// What a first lock holds, a line for each package and host component.
fn listing(lock: &Lock) -> Vec<String> {
    let mut lines = Vec::new();
    for (platform, section) in &lock.platforms {
        for package in section.packages.values() {
            let optional = if package.optional { " (optional)" } else { "" };
            lines.push(format!("{platform}: {} {}{optional}", package.name, package.version));
        }
        for host in section.hosts.values() {
            lines.push(format!("{platform}: host {} {}", host.name, host.range));
        }
    }
    lines
}

/// Locks again with the versions of the old lock where they still fit.
pub(super) fn relock(
    project: &Project<'_>,
    manifest: &Manifest,
    catalogue: &Catalogue,
    environment: &Environment,
    progress: &dyn Progress,
) -> Result<Lock> {
    let locking = Locking { project, manifest, catalogue };
    Ok(locking.lock(environment, LockRequest::default(), progress)?.0)
}
