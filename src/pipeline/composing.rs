//! An environment's tree: its packages' trees, and the text that describes it.

use std::collections::{BTreeMap, BTreeSet};

use super::Result;
use crate::compose::{Composed, DescribedPackage, Elsewhere, EnvironmentText, Part, compose};
use crate::lock::{Lock, LockedPackage};
use crate::manifest::Environment;
use crate::model::{Name, Platform, Tree, UnpackKey};

/// Composes an environment out of the trees of its packages.
pub(super) fn compose_packages(
    environment: &Environment,
    lock: &Lock,
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
    let here: BTreeSet<&Name> = packages.iter().map(|package| &package.name).collect();
    let all = lock.platforms.values().flat_map(|section| section.packages.keys());
    let elsewhere = Elsewhere {
        packages: all.filter(|&name| !here.contains(name)).cloned().collect(),
        platforms: environment.platforms.len() > 1,
    };
    let texts = vec![text.text()?];
    Ok(compose(&parts, platform, &environment.overrides, texts, &elsewhere)?)
}
