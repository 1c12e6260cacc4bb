//! What a new lock changes against the old one: for the text after `drystone lock`.

use std::collections::BTreeSet;

use super::model::{Lock, LockedHost, LockedPackage, LockedPlatform};
use crate::model::{Name, Platform, Range, Sha256Digest, Version};

/// One change; shown as one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Change {
    /// A platform is new.
    #[error("{platform}: added")]
    PlatformAdded { platform: Platform },
    /// A platform is gone.
    #[error("{platform}: removed")]
    PlatformRemoved { platform: Platform },
    /// A package is new.
    #[error("{platform}: \"{name}\" {version} added")]
    PackageAdded { platform: Platform, name: Name, version: Version },
    /// A package is gone.
    #[error("{platform}: \"{name}\" {version} removed")]
    PackageRemoved { platform: Platform, name: Name, version: Version },
    /// A package has another version.
    #[error("{platform}: \"{name}\" {from} → {to}")]
    PackageVersion { platform: Platform, name: Name, from: Version, to: Version },
    /// A package has the same version and another archive.
    #[error("{platform}: \"{name}\" {version} has another archive: {from} → {to}")]
    PackageHash {
        platform: Platform,
        name: Name,
        version: Version,
        from: Sha256Digest,
        to: Sha256Digest,
    },
    /// Anything else of a package: URLs, options, requirements, optional or not.
    #[error("{platform}: \"{name}\" {version} is described differently")]
    PackageDescription { platform: Platform, name: Name, version: Version },
    /// A host component is new.
    #[error("{platform}: host \"{name}\" {range} added")]
    HostAdded { platform: Platform, name: Name, range: Range },
    /// A host component is gone.
    #[error("{platform}: host \"{name}\" removed")]
    HostRemoved { platform: Platform, name: Name },
    /// Other versions of a host component will do.
    #[error("{platform}: host \"{name}\" {from} → {to}")]
    HostRange { platform: Platform, name: Name, from: Range, to: Range },
    /// A host component provides something else.
    #[error("{platform}: host \"{name}\" is described differently")]
    HostDescription { platform: Platform, name: Name },
    /// An application is new.
    #[error("{platform}: application \"{name}\" added")]
    ApplicationAdded { platform: Platform, name: Name },
    /// An application is gone.
    #[error("{platform}: application \"{name}\" removed")]
    ApplicationRemoved { platform: Platform, name: Name },
    /// An application has another digest.
    #[error("{platform}: application \"{name}\" changed")]
    ApplicationChanged { platform: Platform, name: Name },
    /// The settings have another digest.
    #[error("{platform}: variables, GPU targets or overrides changed")]
    Settings { platform: Platform },
    /// Each package's tree is recorded from now on.
    #[error("contents are recorded from now on")]
    Contents,
}

/// Lists what changes from an old lock to a new one, sorted by platform and name.
pub fn changes(old: &Lock, new: &Lock) -> Vec<Change> {
    let mut found = Vec::new();
    let platforms: BTreeSet<Platform> =
        old.platforms.keys().chain(new.platforms.keys()).copied().collect();
    for platform in platforms {
        match (old.platforms.get(&platform), new.platforms.get(&platform)) {
            (None, Some(_)) => found.push(Change::PlatformAdded { platform }),
            (Some(_), None) => found.push(Change::PlatformRemoved { platform }),
            (Some(old), Some(new)) => compare(platform, old, new, &mut found),
            (None, None) => {}
        }
    }
    if new.contents && !old.contents {
        found.push(Change::Contents);
    }
    found
}

fn compare(
    platform: Platform,
    old: &LockedPlatform,
    new: &LockedPlatform,
    found: &mut Vec<Change>,
) {
    for name in old.packages.keys().chain(new.packages.keys()).collect::<BTreeSet<_>>() {
        found.extend(package_change(platform, old.packages.get(name), new.packages.get(name)));
    }
    for name in old.hosts.keys().chain(new.hosts.keys()).collect::<BTreeSet<_>>() {
        found.extend(host_change(platform, old.hosts.get(name), new.hosts.get(name)));
    }
    for name in old.applications.keys().chain(new.applications.keys()).collect::<BTreeSet<_>>() {
        let name = name.clone();
        match (old.applications.get(&name), new.applications.get(&name)) {
            (None, Some(_)) => found.push(Change::ApplicationAdded { platform, name }),
            (Some(_), None) => found.push(Change::ApplicationRemoved { platform, name }),
            (old, new) if old != new => found.push(Change::ApplicationChanged { platform, name }),
            _ => {}
        }
    }
    if old.settings != new.settings {
        found.push(Change::Settings { platform });
    }
}

fn package_change(
    platform: Platform,
    old: Option<&LockedPackage>,
    new: Option<&LockedPackage>,
) -> Option<Change> {
    let of = |package: &LockedPackage| (package.name.clone(), package.version.clone());
    match (old, new) {
        (None, Some(new)) => {
            let (name, version) = of(new);
            Some(Change::PackageAdded { platform, name, version })
        }
        (Some(old), None) => {
            let (name, version) = of(old);
            Some(Change::PackageRemoved { platform, name, version })
        }
        (Some(old), Some(new)) => {
            let (name, version) = of(new);
            if old.version != new.version {
                let from = old.version.clone();
                return Some(Change::PackageVersion { platform, name, from, to: version });
            }
            if old.sha256 != new.sha256 {
                let (from, to) = (old.sha256, new.sha256);
                return Some(Change::PackageHash { platform, name, version, from, to });
            }
            // The ids of dependencies are not part of the description; they have their own lines.
            let own = |package: &LockedPackage| LockedPackage {
                id: new.id,
                tree: None,
                ..package.clone()
            };
            (own(old) != own(new)).then_some(Change::PackageDescription { platform, name, version })
        }
        (None, None) => None,
    }
}

fn host_change(
    platform: Platform,
    old: Option<&LockedHost>,
    new: Option<&LockedHost>,
) -> Option<Change> {
    match (old, new) {
        (None, Some(new)) => {
            let (name, range) = (new.name.clone(), new.range.clone());
            Some(Change::HostAdded { platform, name, range })
        }
        (Some(old), None) => Some(Change::HostRemoved { platform, name: old.name.clone() }),
        (Some(old), Some(new)) if old.range != new.range => {
            let (from, to) = (old.range.clone(), new.range.clone());
            Some(Change::HostRange { platform, name: new.name.clone(), from, to })
        }
        (Some(old), Some(new)) if old.id != new.id => {
            Some(Change::HostDescription { platform, name: new.name.clone() })
        }
        _ => None,
    }
}
