//! A project's lock as a root of the store: what it needs is kept from gc.

use super::Result;
use super::project::Project;
use crate::lock::LockedPlatform;
use crate::model::{Name, Progress};
use crate::store::{Root, Store};

/// Registers a lock: the trees of its packages are kept, and the archives of those that are not
/// unpacked yet.
pub(super) fn register_lock(
    project: &Project<'_>,
    store: &Store,
    environment: &Name,
    section: &LockedPlatform,
    progress: &dyn Progress,
) -> Result<()> {
    let mut roots = Vec::new();
    for package in section.packages.values() {
        roots.push(Root::Unpacked(package.unpack_key));
        match store.unpacked(&package.unpack_key)? {
            Some(tree) => roots.push(Root::Tree(tree.id())),
            None => roots.push(Root::Archive(package.sha256)),
        }
    }
    let directory = store.environment(&project.id()?, environment, progress)?;
    Ok(directory.register(&roots, &project.directory)?)
}
