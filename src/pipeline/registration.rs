//! A project's lock as a root of the store: what it needs is kept from gc.

use std::collections::BTreeMap;

use super::Result;
use super::project::Project;
use crate::lock::LockedPlatform;
use crate::model::{Name, Progress, Tree, UnpackKey};
use crate::store::{Root, Store};

/// Registers a lock: the trees of its packages are kept, and the archives of those that are not
/// unpacked yet. `known` are trees that this command has read or made: they are not read again.
pub(super) fn register_lock(
    project: &Project<'_>,
    store: &Store,
    environment: &Name,
    section: &LockedPlatform,
    known: &BTreeMap<UnpackKey, Tree>,
    progress: &dyn Progress,
) -> Result<()> {
    let mut roots = Vec::new();
    for package in section.packages.values() {
        roots.push(Root::Unpacked(package.unpack_key));
        let tree = match known.get(&package.unpack_key) {
            Some(tree) => Some(tree.id()),
            None => store.unpacked(&package.unpack_key)?.map(|tree| tree.id()),
        };
        roots.push(tree.map_or(Root::Archive(package.sha256), Root::Tree));
    }
    let directory = store.environment(&project.id()?, environment, progress)?;
    Ok(directory.register(&roots, &project.directory)?)
}
