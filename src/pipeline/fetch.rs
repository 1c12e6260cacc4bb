//! `fetch`: brings the archives of a lock into the store, and nothing more.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::archives::{Archives, Brought, Wanted};
use super::freshness::fresh_lock;
use super::project::{Project, choose_platform};
use super::registration::register_lock;
use super::selection::select;
use super::{Error, Result, Settings};
use crate::fetch::hash_file;
use crate::lock::{LockedPackage, LockedPlatform};
use crate::model::{Name, Platform, Progress, Version};

/// What to fetch.
#[derive(Debug, Clone, Default)]
pub struct FetchRequest {
    /// A file brought by hand.
    pub from: Option<PathBuf>,
    /// Optional packages to fetch as well.
    pub with: Vec<Name>,
    /// The platform, instead of the machine's own.
    pub platform: Option<Platform>,
}

/// What `fetch` brought.
#[derive(Debug, Serialize)]
pub struct FetchReport {
    /// The archives that came in this call.
    pub fetched: Vec<FetchedArchive>,
    /// How many were in the store already.
    pub present: u64,
}

/// One archive that came.
#[derive(Debug, Serialize)]
pub struct FetchedArchive {
    /// Its package.
    pub package: Name,
    /// Its version.
    pub version: Version,
    /// Its size in bytes.
    pub size: u64,
    /// The URL or file it came from.
    pub from: String,
    /// Where it is.
    pub path: PathBuf,
}

/// Brings the archives of the lock, or takes a file brought by hand.
pub fn fetch(
    settings: &Settings,
    request: &FetchRequest,
    progress: &dyn Progress,
) -> Result<FetchReport> {
    let project = Project::find(settings)?;
    let manifest = project.manifest()?;
    let catalogue = project.catalogue(&manifest)?;
    let environment = project.environment(&manifest)?;
    let lock = fresh_lock(&project, &manifest, &catalogue, environment, progress)?;
    let platform = choose_platform(environment, request.platform)?;
    let section = section(&lock, platform)?;
    let store = project.store(progress)?;
    let archives = Archives::new(&project, &store);
    let (packages, brought) = match &request.from {
        Some(file) => {
            let every = lock.platforms.values().flat_map(|section| section.packages.values());
            let package = package_of(file, every, progress)?;
            (vec![package], vec![archives.take(file, &Wanted::of(package), progress)?])
        }
        None => {
            let packages = select(&environment.name, section, &request.with)?;
            let wanted: Vec<_> = packages.iter().map(|package| Wanted::of(package)).collect();
            let brought = archives.bring(&wanted, progress)?;
            (packages, brought)
        }
    };
    register_lock(&project, &store, &environment.name, section, &BTreeMap::new(), progress)?;
    Ok(report(&packages, brought))
}

/// The section of a lock for a platform. A fresh lock has one for each that is declared.
pub(super) fn section(lock: &crate::lock::Lock, platform: Platform) -> Result<&LockedPlatform> {
    lock.platforms.get(&platform).ok_or_else(|| Error::PlatformNotDeclared {
        environment: lock.environment.clone(),
        asked: platform.to_string(),
        declared: lock.platforms.keys().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    })
}

/// The package whose archive has a file's hash.
fn package_of<'l>(
    file: &Path,
    packages: impl Iterator<Item = &'l LockedPackage>,
    progress: &dyn Progress,
) -> Result<&'l LockedPackage> {
    let (found, _) = hash_file(file, progress)?;
    let mut wanted = Vec::new();
    for package in packages {
        if package.sha256 == found {
            return Ok(package);
        }
        wanted.push(format!("{} {}: {}", package.name, package.version, package.sha256));
    }
    wanted.sort();
    wanted.dedup();
    Err(Error::UnknownFile {
        path: file.to_path_buf(),
        found,
        help: format!("the lock asks for:\n{}", wanted.join("\n")),
    })
}

fn report(packages: &[&LockedPackage], brought: Vec<Brought>) -> FetchReport {
    let mut report = FetchReport { fetched: Vec::new(), present: 0 };
    for (package, brought) in packages.iter().zip(brought) {
        match brought.from {
            None => report.present += 1,
            Some(from) => report.fetched.push(FetchedArchive {
                package: package.name.clone(),
                version: package.version.clone(),
                size: brought.size,
                from,
                path: brought.path,
            }),
        }
    }
    report
}
