//! Verifying the places that a store is made of: what lies at its top and among its projects, and is
//! nothing of it.

use std::path::Path;

use super::Store;
use super::damage::{Damage, DamageKind};
use super::error::Result;
use super::layout::{DIRECTORIES, KEPT_OUT_OF_GIT};
use super::listing;
use super::verify::VerifyReport;

/// Names everything that another program put there. What lies deeper is known to those who read it.
pub(super) fn verify(store: &Store, report: &mut VerifyReport) -> Result<()> {
    let root = store.root();
    for name in listing::names(root)? {
        let known = name.to_str().is_some_and(|name| {
            DIRECTORIES.contains(&name) || name == "format" || name == KEPT_OUT_OF_GIT
        });
        if !known {
            stray(&root.join(name), report);
        }
    }
    for place in ["environments", "runtimes"] {
        let directory = store.layout().directory(place);
        files_in(&directory, report)?;
        for (_, project) in listing::directories(&directory)? {
            files_in(&project, report)?;
        }
    }
    Ok(())
}

/// Where only directories belong.
fn files_in(directory: &Path, report: &mut VerifyReport) -> Result<()> {
    for name in listing::names(directory)? {
        let path = directory.join(name);
        if path.symlink_metadata().is_ok_and(|there| !there.is_dir()) {
            stray(&path, report);
        }
    }
    Ok(())
}

fn stray(path: &Path, report: &mut VerifyReport) {
    report.damages.push(Damage::new(DamageKind::Stray, path, "it is not a file of the store"));
}
