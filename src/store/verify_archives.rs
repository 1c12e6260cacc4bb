//! verify, the archives: each downloaded one still has the SHA-256 that names it.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use sha2::{Digest, Sha256};

use super::Store;
use super::damage::{Damage, DamageKind, Skipped};
use super::error::{At, Result, StoreError};
use super::listing;
use super::reading::READ;
use super::verify::VerifyReport;
use crate::disk;
use crate::model::{Fate, Progress, Sha256Digest};

/// Reads every finished download again. One that vanishes meanwhile is no damage.
pub(super) fn verify(store: &Store, progress: &dyn Progress) -> Result<VerifyReport> {
    let directory = store.layout().directory("archives");
    let archives: Vec<(PathBuf, Sha256Digest)> = listing::names(&directory)?
        .into_iter()
        .filter_map(|name| {
            let named = Sha256Digest::from_hex(name.to_str()?).ok()?;
            Some((directory.join(name), named))
        })
        .collect();
    let found: Vec<Result<Option<Sha256Digest>>> =
        archives.par_iter().map(|(path, _)| hash(path, progress)).collect();
    let mut report = VerifyReport::default();
    for ((path, named), found) in archives.iter().zip(found) {
        match found {
            Ok(Some(found)) if found != *named => {
                let detail = format!("the archive hashes to {found} now; it is of no use");
                let damage = Damage::new(DamageKind::Archive, path, detail);
                report.damages.push(Damage { fate: Some(Fate::Changed), ..damage });
            }
            Ok(_) => {}
            Err(error @ StoreError::HeldOpen { .. }) => {
                report.skipped.push(Skipped::because(path, &error));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(report)
}

fn hash(path: &Path, progress: &dyn Progress) -> Result<Option<Sha256Digest>> {
    let mut file = match disk::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).at("open", path),
    };
    let size = file.metadata().at("look at", path)?.len();
    let task = progress.start("verify an archive", Some(size));
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; READ];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(Some(Sha256Digest::from_bytes(hasher.finalize().into()))),
            Ok(read) => {
                hasher.update(&buffer[..read]);
                task.advance(read as u64);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error).at("read", path),
        }
    }
}
