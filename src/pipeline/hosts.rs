//! Host components of a build: where they are on this machine.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::{Error, Result};
use crate::catalogue::Catalogue;
use crate::disk::machine_path;
use crate::host::{ComponentSearch, SearchRoot, locate};
use crate::lock::LockedPlatform;
use crate::manifest::{HostDescription, HostRoot};
use crate::model::{Name, Platform, Progress};

/// The root of each host component that was found. One that is missing is said, and is an error
/// only when something that needs it is started: an environment may be built for another machine.
pub(super) fn locate_hosts(
    catalogue: &Catalogue,
    section: &LockedPlatform,
    platform: Platform,
    chosen: &BTreeMap<Name, PathBuf>,
    progress: &dyn Progress,
) -> Result<BTreeMap<Name, String>> {
    let mut found = BTreeMap::new();
    for (name, directory) in chosen {
        if !section.hosts.contains_key(name) {
            return Err(Error::UnknownHost { component: name.clone(), help: known_hosts(section) });
        }
        if !directory.is_dir() {
            let source = std::io::ErrorKind::NotADirectory.into();
            return Err(Error::Directory { path: directory.clone(), source });
        }
    }
    if Platform::current() != Some(platform) {
        return Ok(found);
    }
    for name in section.hosts.keys() {
        if let Some(directory) = chosen.get(name) {
            let root = machine_path(directory)
                .map_err(|source| Error::Directory { path: directory.clone(), source })?;
            found.insert(name.clone(), root.display().to_string());
            continue;
        }
        let Some(description) = catalogue.hosts.get(name) else { continue };
        match locate(&search(description), &|variable| std::env::var_os(variable)) {
            Ok(located) => {
                found.insert(name.clone(), located.root.display().to_string());
            }
            Err(missing) => {
                progress.note(&format!(
                    "host component {name} was not found: {}",
                    missing.tried.join("; ")
                ));
            }
        }
    }
    Ok(found)
}

fn known_hosts(section: &LockedPlatform) -> String {
    let names: Vec<&str> = section.hosts.keys().map(Name::as_str).collect();
    if names.is_empty() {
        return "the environment has no host components".to_owned();
    }
    format!("its host components: {}", names.join(", "))
}

fn search(description: &HostDescription) -> ComponentSearch {
    let roots = description.roots.iter().map(|root| match root {
        HostRoot::Variable(name) => SearchRoot::Variable(name.clone()),
        HostRoot::Directory(directory) => SearchRoot::Directory(directory.clone()),
    });
    ComponentSearch { roots: roots.collect(), evidence: description.evidence.clone() }
}
