//! Adopting a store that came from elsewhere: with a clone, on a disk, from a backup.
//!
//! Nothing in it is believed. Generations, runtime directories, records of what was unpacked,
//! realised directories and locks are discarded; every content and tree is read; what is damaged,
//! and every tree that names a content that is not there, is removed. Only then does it get a
//! `format` again, with a new id and this user as its owner.

use std::collections::HashSet;
use std::path::Path;

use crate::disk::{self, machine_path};
use crate::model::{Progress, TreeId};

use super::Store;
use super::damage::{Damage, DamageKind};
use super::error::{At, Result, StoreError};
use super::format::Format;
use super::layout::{DIRECTORIES, KEPT_OUT_OF_GIT, Layout, random_id};
use super::listing;
use super::lock_file::{self, Mode};
use super::open::StoreOptions;
use super::owner;
use super::roots::Root;
use super::tree_file;
use super::verify::VerifyOptions;
use super::verify_blobs::attributes;

/// What adopting found.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct AdoptReport {
    /// Contents that were verified and stay.
    pub blobs: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Trees that stay.
    pub trees: u64,
    /// What was damaged and is removed.
    pub removed: Vec<Damage>,
}

impl Store {
    /// Verifies everything in a store that came from elsewhere and makes it this user's.
    pub fn adopt(
        root: &Path,
        options: &StoreOptions,
        progress: &dyn Progress,
    ) -> Result<(Self, AdoptReport)> {
        let root = machine_path(root).at("find", root)?;
        let layout = Layout::new(root.clone());
        refuse_what_is_no_store(&layout)?;
        discard_locks(&layout)?;
        disk::make_directories(&layout.sessions())?;
        let gc = layout.lock("gc");
        let alone =
            lock_file::acquire(&gc, Mode::Exclusive, "the store to be idle", progress)?.signed(&gc);
        // Without this file nobody opens it while it is half adopted.
        disk::remove_tree(&layout.format())?;
        discard(&layout)?;
        drop(alone);
        let format = Format::new(random_id()?, owner::current()?);
        let store = Self::assemble(layout, format, options)?;
        let report = store.verify_and_clean(progress)?;
        store.rewrite_format()?;
        Ok((store, report))
    }

    fn verify_and_clean(&self, progress: &dyn Progress) -> Result<AdoptReport> {
        for blob in listing::blobs(self.layout())? {
            let Some((_, executable)) = blob.name else { continue };
            // Never through a link: it could lead out of the store.
            let Ok(there) = blob.path.symlink_metadata() else { continue };
            // Copies and clones lose modes and times; contents are what counts.
            if there.is_file() && attributes(&blob.path, &there, executable).is_some() {
                super::repair::reset_attributes(&blob.path)?;
            }
        }
        let verified = self.verify(&VerifyOptions::default(), progress)?;
        if let Some(skipped) = verified.skipped.first() {
            return Err(StoreError::NotVerified {
                path: skipped.path.clone(),
                reason: skipped.reason.clone(),
            });
        }
        let mut report = AdoptReport::default();
        for damage in verified.damages {
            match damage.kind {
                DamageKind::Format | DamageKind::BlobMissing => continue,
                _ => disk::remove_tree(&damage.path)?,
            }
            report.removed.push(damage);
        }
        for named in listing::trees(self.layout())? {
            // A link may lead to another content tomorrow.
            if !named.path.symlink_metadata().is_ok_and(|there| there.is_file()) {
                disk::remove_tree(&named.path)?;
                let detail = "it is not a file";
                report.removed.push(Damage::new(DamageKind::Tree, &named.path, detail));
            }
        }
        for tree in self.incomplete_trees()? {
            let path = self.layout().tree(&tree);
            disk::remove_tree(&path)?;
            let detail = "a blob that it names is not there";
            report.removed.push(Damage::new(DamageKind::Tree, &path, detail));
        }
        let stat = self.stat()?;
        (report.blobs, report.bytes, report.trees) = (stat.blobs, stat.bytes, stat.trees);
        Ok(report)
    }

    fn incomplete_trees(&self) -> Result<Vec<TreeId>> {
        let blobs: HashSet<_> = listing::blobs(self.layout())?
            .into_iter()
            .filter_map(|blob| blob.name.map(|(id, _)| id))
            .collect();
        let mut incomplete = Vec::new();
        for named in listing::trees(self.layout())? {
            let Some(id) = named.name else { continue };
            let Some(tree) = tree_file::read(self.layout(), &id)? else { continue };
            if tree.entries().iter().filter_map(|entry| entry.blob).any(|id| !blobs.contains(&id)) {
                incomplete.push(id);
            }
        }
        self.protect(&incomplete.iter().copied().map(Root::Tree).collect::<Vec<_>>())?;
        Ok(incomplete)
    }
}

fn refuse_what_is_no_store(layout: &Layout) -> Result<()> {
    match Format::read(layout) {
        Ok(Some(format)) => format.check_writable(layout.root())?,
        Ok(None) | Err(StoreError::FormatDamaged { .. }) => {}
        Err(error) => return Err(error),
    }
    for name in listing::names(layout.root())? {
        let known = name.to_str().is_some_and(|name| {
            // Links are refused: they could lead out of the store.
            let there = layout.directory(name).symlink_metadata();
            there.is_ok_and(|it| {
                (matches!(name, "format" | KEPT_OUT_OF_GIT) && it.is_file())
                    || (DIRECTORIES.contains(&name) && it.is_dir())
            })
        });
        if !known {
            let found = name.to_string_lossy().into_owned();
            return Err(StoreError::NotAStore { path: layout.root().to_path_buf(), found });
        }
    }
    let blobs = layout.directory("blobs");
    if !blobs.is_dir() {
        let found = "no directory blobs".to_owned();
        return Err(StoreError::NotAStore { path: layout.root().to_path_buf(), found });
    }
    Ok(())
}

/// Locks of a copy lock nothing. Nobody else's are here: a store in use was not copied here just
/// now. What stays is `gc`, which another adopting process may hold, and never a link.
fn discard_locks(layout: &Layout) -> Result<()> {
    let directory = layout.directory("locks");
    for name in listing::names(&directory)? {
        let path = directory.join(&name);
        if name != "gc" || !path.symlink_metadata().is_ok_and(|there| there.is_file()) {
            disk::remove_tree(&path)?;
        }
    }
    Ok(())
}

/// Removes everything that could make drystone do something, and sets modes.
fn discard(layout: &Layout) -> Result<()> {
    for name in ["environments", "runtimes", "unpacked", "realised", "tmp"] {
        disk::remove_tree(&layout.directory(name))?;
    }
    for name in DIRECTORIES {
        disk::make_directory(&layout.directory(name))?;
    }
    for name in ["", "blobs", "trees", "archives", "locks"] {
        private(&layout.directory(name))?;
    }
    for name in ["blobs", "trees"] {
        for (_, path) in listing::directories(&layout.directory(name))? {
            private(&path)?;
        }
    }
    discard_archives(&layout.directory("archives"))
}

/// Downloads are believed by their name alone, so none of these stays.
fn discard_archives(directory: &Path) -> Result<()> {
    for name in listing::names(directory)? {
        disk::remove_tree(&directory.join(name))?;
    }
    Ok(())
}

fn private(path: &Path) -> Result<()> {
    #[cfg(unix)]
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o700))
        .at("set the mode of", path)?;
    #[cfg(windows)]
    let _ = path;
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::model::NoProgress;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_in_a_store_that_came_along_lead_nowhere() {
        let directory = tempfile::tempdir().expect("a directory");
        let outside = directory.path().join("outside");
        fs::create_dir_all(outside.join("sessions")).expect("made");
        let root = directory.path().join("store");
        drop(Store::open(&root, &StoreOptions::default()).expect("a store"));
        fs::remove_dir(root.join("locks/sessions")).expect("removed");
        symlink(outside.join("sessions"), root.join("locks/sessions")).expect("linked");
        fs::remove_file(root.join("locks/gc")).expect("removed");
        symlink(outside.join("gc"), root.join("locks/gc")).expect("linked");
        fs::create_dir_all(root.join("trees/ab")).expect("made");
        symlink(outside.join("tree"), root.join("trees/ab").join("ab".repeat(32))).expect("linked");
        let adopted = Store::adopt(&root, &StoreOptions::default(), &NoProgress).expect("adopted");
        let written: Vec<_> = walkdir::WalkDir::new(&outside).into_iter().flatten().collect();
        assert_eq!(written.len(), 2, "{written:?}");
        assert!(adopted.0.root().join("locks/gc").symlink_metadata().expect("there").is_file());
        assert!(!root.join("trees/ab").join("ab".repeat(32)).is_symlink());
    }
}
