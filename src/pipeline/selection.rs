//! Which packages of a lock a build takes: all that are not optional, and those asked for.

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
    if let Some(unknown) = with.iter().find(|name| !locked.packages.contains_key(name)) {
        return Err(not_optional(environment, locked, unknown));
    }
    let selected = locked.selected(&with.iter().cloned().collect());
    Ok(selected.into_iter().filter_map(|name| locked.packages.get(name)).collect())
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
