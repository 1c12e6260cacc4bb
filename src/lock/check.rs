//! Whether a lock still says what its inputs say, and how it does not.

use std::collections::BTreeSet;

use super::keys::{self, applies};
use super::model::{Lock, LockedPlatform};
use crate::manifest::{Application, Environment, HostUse, Use};
use crate::model::{InputsDigest, Name, Platform, Range, Version};

/// One way in which a lock and its inputs disagree; shown as one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Disagreement {
    /// It is the lock of another environment; nothing else was compared.
    #[error("the lock is of environment \"{locked}\", not \"{environment}\"")]
    Environment { environment: Name, locked: Name },
    /// A declared platform has no section.
    #[error("the environment is for {platform}, which the lock does not have")]
    PlatformMissing { platform: Platform },
    /// A section is of a platform that is not declared.
    #[error("the lock has {platform}, which the environment is not for")]
    PlatformSuperfluous { platform: Platform },
    /// A package that is used is not locked.
    #[error("{platform}: the environment uses \"{name}\" {range}, which the lock does not have")]
    PackageMissing { platform: Platform, name: Name, range: Range },
    /// A package that is used is locked at a version outside of the range.
    #[error("{platform}: the environment uses \"{name}\" {range}, the lock has {locked}")]
    PackageVersion { platform: Platform, name: Name, range: Range, locked: Version },
    /// A package is locked as used and is used no more.
    #[error(
        "{platform}: the lock has \"{name}\" as used by the environment, which uses it no more"
    )]
    PackageUnused { platform: Platform, name: Name },
    /// A package is optional in one and not in the other; `manifest` says whether it is there.
    #[error(
        "{platform}: \"{name}\" is {} in the environment and {} in the lock", optional(*.manifest), optional(!.manifest)
    )]
    PackageOptional { platform: Platform, name: Name, manifest: bool },
    /// A declared host component is not locked.
    #[error(
        "{platform}: the environment declares host \"{name}\" {range}, which the lock does not have"
    )]
    HostMissing { platform: Platform, name: Name, range: Range },
    /// A host component is locked without what its declaration asks for.
    #[error("{platform}: the environment declares host \"{name}\" {range}, the lock has {locked}")]
    HostRange { platform: Platform, name: Name, range: Range, locked: Range },
    /// A locked host component is not declared.
    #[error("{platform}: the lock has host \"{name}\", which the environment does not declare")]
    HostSuperfluous { platform: Platform, name: Name },
    /// The settings have another digest.
    #[error("{platform}: the variables, GPU targets or overrides of the environment have changed")]
    Settings { platform: Platform },
    /// An application with a program for the platform is not locked.
    #[error("{platform}: application \"{name}\" is not in the lock")]
    ApplicationMissing { platform: Platform, name: Name },
    /// A locked application is not in the manifest, or has no program there.
    #[error("{platform}: the lock has application \"{name}\", which the manifest does not have")]
    ApplicationSuperfluous { platform: Platform, name: Name },
    /// An application has another digest.
    #[error("{platform}: application \"{name}\" has changed")]
    ApplicationChanged { platform: Platform, name: Name },
    /// The inputs have another digest, and nothing above says why.
    #[error("the manifest, its includes or local catalogues have changed since the lock was made")]
    Inputs,
}

const fn optional(optional: bool) -> &'static str {
    if optional { "optional" } else { "not optional" }
}

/// Compares a lock with its inputs: their digest, and what the manifest alone says. Reads neither
/// catalogues nor the machine. All disagreements at once, in a stable order.
pub fn check(
    lock: &Lock,
    inputs: &InputsDigest,
    environment: &Environment,
    applications: &[&Application],
) -> Result<(), Vec<Disagreement>> {
    let mut found = Vec::new();
    if lock.environment != environment.name {
        let (environment, locked) = (environment.name.clone(), lock.environment.clone());
        return Err(vec![Disagreement::Environment { environment, locked }]);
    }
    for &platform in &environment.platforms {
        match lock.platforms.get(&platform) {
            None => found.push(Disagreement::PlatformMissing { platform }),
            Some(section) => {
                compare_packages(environment, platform, section, &mut found);
                compare_hosts(environment, platform, section, &mut found);
                if keys::settings_id(environment, platform) != section.settings {
                    found.push(Disagreement::Settings { platform });
                }
                let own = applications.iter().filter(|one| one.environment == environment.name);
                compare_applications(own.copied(), platform, section, &mut found);
            }
        }
    }
    for &platform in lock.platforms.keys().filter(|one| !environment.platforms.contains(one)) {
        found.push(Disagreement::PlatformSuperfluous { platform });
    }
    if found.is_empty() && lock.inputs != *inputs {
        found.push(Disagreement::Inputs);
    }
    if found.is_empty() { Ok(()) } else { Err(found) }
}

fn compare_packages(
    environment: &Environment,
    platform: Platform,
    section: &LockedPlatform,
    found: &mut Vec<Disagreement>,
) {
    let mut uses: Vec<&Use> =
        environment.uses.iter().filter(|one| applies(one.platform, platform)).collect();
    uses.sort_by(|a, b| (&a.package, &a.range).cmp(&(&b.package, &b.range)));
    for one in &uses {
        let (name, range) = (one.package.clone(), one.range.clone());
        match section.packages.get(&name) {
            None => found.push(Disagreement::PackageMissing { platform, name, range }),
            Some(package) if !range.contains(&package.version) => {
                let locked = package.version.clone();
                found.push(Disagreement::PackageVersion { platform, name, range, locked });
            }
            // A package can be needed by another that is not optional.
            Some(package) if package.optional && !one.optional => {
                found.push(Disagreement::PackageOptional { platform, name, manifest: false });
            }
            Some(package)
                if !package.optional
                    && section.dependents(&name).is_empty()
                    && uses.iter().all(|other| other.package != name || other.optional) =>
            {
                found.push(Disagreement::PackageOptional { platform, name, manifest: true });
            }
            Some(_) => {}
        }
    }
    let used: BTreeSet<&Name> = uses.iter().map(|one| &one.package).collect();
    let unused = section.packages.values().filter(|one| one.direct && !used.contains(&one.name));
    found
        .extend(unused.map(|one| Disagreement::PackageUnused { platform, name: one.name.clone() }));
}

fn compare_hosts(
    environment: &Environment,
    platform: Platform,
    section: &LockedPlatform,
    found: &mut Vec<Disagreement>,
) {
    let mut hosts: Vec<&HostUse> =
        environment.hosts.iter().filter(|one| applies(one.platform, platform)).collect();
    hosts.sort_by(|a, b| (&a.component, &a.range).cmp(&(&b.component, &b.range)));
    for one in &hosts {
        let (name, range) = (one.component.clone(), one.range.clone());
        match section.hosts.get(&name) {
            None => found.push(Disagreement::HostMissing { platform, name, range }),
            Some(host) if !host.range.includes_comparisons_of(&range) => {
                let locked = host.range.clone();
                found.push(Disagreement::HostRange { platform, name, range, locked });
            }
            Some(_) => {}
        }
    }
    let declared: BTreeSet<&Name> = hosts.iter().map(|one| &one.component).collect();
    let superfluous = section.hosts.keys().filter(|name| !declared.contains(name));
    found.extend(
        superfluous.map(|name| Disagreement::HostSuperfluous { platform, name: name.clone() }),
    );
}

fn compare_applications<'a>(
    applications: impl Iterator<Item = &'a Application>,
    platform: Platform,
    section: &LockedPlatform,
    found: &mut Vec<Disagreement>,
) {
    let mut applications: Vec<_> = applications
        .filter_map(|one| Some((&one.name, keys::application_id(one, platform)?)))
        .collect();
    applications.sort();
    for (name, id) in &applications {
        let name = (*name).clone();
        match section.applications.get(&name) {
            None => found.push(Disagreement::ApplicationMissing { platform, name }),
            Some(locked) if locked.id != *id => {
                found.push(Disagreement::ApplicationChanged { platform, name });
            }
            Some(_) => {}
        }
    }
    let there: BTreeSet<&Name> = applications.iter().map(|(name, _)| *name).collect();
    let superfluous = section.applications.keys().filter(|name| !there.contains(name));
    found.extend(
        superfluous
            .map(|name| Disagreement::ApplicationSuperfluous { platform, name: name.clone() }),
    );
}
