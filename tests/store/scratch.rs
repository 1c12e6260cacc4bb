//! A directory for one test, with a store in it, removed at the end whatever its modes are.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use drystone::model::{Entry, Kind, Name, NoProgress, Tree, TreeBuilder};
use drystone::store::{Staging, Store, StoreOptions, VerifyOptions, VerifyReport};

pub struct Scratch(tempfile::TempDir);

impl Scratch {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn root(&self) -> PathBuf {
        self.path().join("store")
    }

    pub fn store(&self) -> Store {
        open(&self.root())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Realised directories are read-only, and nobody but root could remove what is in them.
        #[cfg(unix)]
        for entry in walkdir::WalkDir::new(self.path()).into_iter().flatten() {
            if entry.file_type().is_dir() {
                let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
                let _ = fs::set_permissions(entry.path(), mode);
            }
        }
    }
}

pub fn open(root: &Path) -> Store {
    Store::open(root, &StoreOptions::default()).expect("a store")
}

pub fn label() -> Name {
    "test".parse().expect("a name")
}

pub type Files<'a> = &'a [(Kind, &'a str, &'a [u8])];

/// Stages these files and gives their tree.
pub fn stage(staging: &Staging<'_>, files: Files<'_>) -> Tree {
    let mut builder = TreeBuilder::default();
    for (kind, path, content) in files {
        let path = path.parse().expect("a path");
        let entry = if *kind == Kind::Directory {
            Entry::directory(path)
        } else {
            let (blob, size) = staging.add(content, *kind == Kind::Executable).expect("staged");
            Entry::content(*kind, size, blob, path)
        };
        builder.add(entry).expect("an entry");
    }
    builder.finish().expect("a tree")
}

pub fn commit(store: &Store, files: Files<'_>) -> Tree {
    let staging = store.stage().expect("staging");
    let tree = stage(&staging, files);
    staging.commit(&[&tree], &[]).expect("committed");
    tree
}

/// Every file below a directory with its content.
pub fn contents(root: &Path) -> BTreeMap<String, Vec<u8>> {
    walkdir::WalkDir::new(root)
        .into_iter()
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| {
            let path = entry.path().strip_prefix(root).expect("below");
            (path.to_string_lossy().replace('\\', "/"), fs::read(entry.path()).expect("read"))
        })
        .collect()
}

pub fn verify(store: &Store) -> VerifyReport {
    store.verify(&VerifyOptions::default(), &NoProgress).expect("verified")
}
