//! How two environments differ, in packages and in files.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::{Difference, Entry, Name, NodeId, Tree, TreeId, TreePath, Version};

/// What a package in an environment is, for comparing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageIdentity {
    /// Its version.
    pub version: Version,
    /// Its node of the lock.
    pub node: NodeId,
    /// What it holds.
    pub tree: TreeId,
}

/// One of two environments.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// Its packages.
    pub packages: &'a BTreeMap<Name, PackageIdentity>,
    /// Its tree.
    pub tree: &'a Tree,
}

/// What is different from one environment to another. Each list is sorted by name or path.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct EnvironmentDiff {
    /// Packages only in the second.
    pub packages_added: Vec<PackageAt>,
    /// Packages only in the first.
    pub packages_removed: Vec<PackageAt>,
    /// Packages in both, with another version, node or tree.
    pub packages_changed: Vec<PackageChange>,
    /// Files and links only in the second.
    pub files_added: Vec<FileAt>,
    /// Files and links only in the first.
    pub files_removed: Vec<FileAt>,
    /// Files and links in both, with another kind or content.
    pub files_changed: Vec<FileChange>,
}

/// A package of one environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PackageAt {
    /// Its name.
    pub name: Name,
    /// Its version.
    pub version: Version,
}

/// A package that changed. The versions are equal where only its source, its options or its content
/// did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PackageChange {
    /// Its name.
    pub name: Name,
    /// What it was.
    pub from: PackageIdentity,
    /// What it is.
    pub to: PackageIdentity,
}

/// A file of one environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileAt {
    /// Its path inside the environment.
    pub path: TreePath,
    /// Bytes.
    pub size: u64,
}

/// A file that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileChange {
    /// Its path inside the environment.
    pub path: TreePath,
    /// Bytes before.
    pub from: u64,
    /// Bytes after.
    pub to: u64,
}

impl EnvironmentDiff {
    /// Whether the two are the same.
    pub const fn is_empty(&self) -> bool {
        self.packages_added.is_empty()
            && self.packages_removed.is_empty()
            && self.packages_changed.is_empty()
            && self.files_added.is_empty()
            && self.files_removed.is_empty()
            && self.files_changed.is_empty()
    }
}

/// Compares two environments.
pub fn difference(from: Side<'_>, to: Side<'_>) -> EnvironmentDiff {
    let mut diff = EnvironmentDiff::default();
    for (name, old) in from.packages {
        match to.packages.get(name) {
            None => diff.packages_removed.push(package_at(name, old)),
            Some(new) if new != old => diff.packages_changed.push(PackageChange {
                name: name.clone(),
                from: old.clone(),
                to: new.clone(),
            }),
            Some(_) => {}
        }
    }
    let added = to.packages.iter().filter(|(name, _)| !from.packages.contains_key(*name));
    diff.packages_added.extend(added.map(|(name, new)| package_at(name, new)));
    for difference in from.tree.differences(to.tree) {
        match difference {
            Difference::Added(entry) => diff.files_added.push(file_at(entry)),
            Difference::Removed(entry) => diff.files_removed.push(file_at(entry)),
            Difference::Changed(old, new) => diff.files_changed.push(FileChange {
                path: new.path.clone(),
                from: old.size,
                to: new.size,
            }),
        }
    }
    diff
}

fn package_at(name: &Name, package: &PackageIdentity) -> PackageAt {
    PackageAt { name: name.clone(), version: package.version.clone() }
}

fn file_at(entry: &Entry) -> FileAt {
    FileAt { path: entry.path.clone(), size: entry.size }
}
