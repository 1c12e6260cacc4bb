//! Which packages of a lock a build takes: all that are not optional, and those asked for.

use std::collections::BTreeSet;

use super::{Error, Result};
use crate::lock::{LockedPackage, LockedPlatform};
use crate::model::Name;

/// The packages of a build, sorted by name: what is not optional, what `with` names, and all that
/// these depend on.
pub(super) fn select<'l>(
    environment: &Name,
    locked: &'l LockedPlatform,
    with: &[Name],
) -> Result<Vec<&'l LockedPackage>> {
    let mut wanted: BTreeSet<&Name> = BTreeSet::new();
    let mut pending: Vec<&Name> =
        locked.packages.values().filter(|package| !package.optional).map(|p| &p.name).collect();
    for name in with {
        match locked.packages.get(name) {
            Some(package) => pending.push(&package.name),
            None => return Err(not_optional(environment, locked, name)),
        }
    }
    while let Some(name) = pending.pop() {
        if let Some(package) = locked.packages.get(name)
            && wanted.insert(name)
        {
            pending.extend(&package.depends);
        }
    }
    Ok(wanted.into_iter().filter_map(|name| locked.packages.get(name)).collect())
}

fn not_optional(environment: &Name, locked: &LockedPlatform, package: &Name) -> Error {
    let optional: Vec<&str> = locked
        .packages
        .values()
        .filter(|package| package.optional)
        .map(|package| package.name.as_str())
        .collect();
    let help = if optional.is_empty() {
        "it has no optional packages".to_owned()
    } else {
        format!("its optional packages: {}", optional.join(", "))
    };
    Error::NotOptional { package: package.clone(), environment: environment.clone(), help }
}
