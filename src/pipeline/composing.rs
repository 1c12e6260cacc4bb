//! An environment's tree: its packages' trees, and the text that describes it.

use std::collections::BTreeMap;

use super::Result;
use crate::compose::{Composed, DescribedPackage, EnvironmentText, Part, compose};
use crate::lock::LockedPackage;
use crate::manifest::Environment;
use crate::model::{Name, Platform, Tree, UnpackKey};

/// Composes an environment out of the trees of its packages.
pub(super) fn compose_packages(
    environment: &Environment,
    platform: Platform,
    packages: &[&LockedPackage],
    trees: &BTreeMap<UnpackKey, Tree>,
) -> Result<Composed> {
    let parts: Vec<Part<'_>> = packages
        .iter()
        .filter_map(|package| {
            let tree = trees.get(&package.unpack_key)?;
            Some(Part { name: &package.name, placement: &package.placement, tree })
        })
        .collect();
    let described: BTreeMap<_, _> = packages
        .iter()
        .map(|package| {
            let described = DescribedPackage {
                version: package.version.clone(),
                placement: package.placement.clone(),
                node: package.id,
            };
            (package.name.clone(), described)
        })
        .collect();
    let text = EnvironmentText {
        name: &environment.name,
        platform,
        gpus: &environment.gpus,
        variables: &environment.variables,
        packages: &described,
    };
    // An override for a package that the selection leaves out decides nothing in this build.
    let here = |name: &Name| packages.iter().any(|package| package.name == *name);
    let overrides: Vec<_> =
        environment.overrides.iter().filter(|one| here(&one.package)).cloned().collect();
    Ok(compose(&parts, platform, &overrides, vec![text.text()?])?)
}
