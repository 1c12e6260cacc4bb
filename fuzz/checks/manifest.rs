//! A manifest: it loads or is complained about, and what loads can be locked and read back.
//!
//! What stands behind a line `// other.kdl` is the text of a second file, for `include` and
//! `catalogue`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use drystone::catalogue::{Catalogue, local_inputs};
use drystone::lock::{self, Ingredients, Lock, RecordedHashes, missing_hashes};
use drystone::manifest::{Application, Environment, Manifest, load};
use drystone::model::Sha256Digest;
use drystone::resolve::{Available, ResolveError, resolve};
use tempfile::TempDir;

use super::diagnostic::draw;

const SECOND_FILE: &[u8] = b"\n// other.kdl\n";

/// Takes the bytes through loading, the catalogue, resolving and locking.
pub fn check(bytes: &[u8]) {
    thread_local! {
        static DIRECTORY: TempDir = TempDir::new().expect("a directory");
    }
    DIRECTORY.with(|directory| {
        write_files(directory.path(), bytes);
        match load(&directory.path().join("env.kdl")) {
            Ok(manifest) => check_manifest(&manifest),
            Err(error) => draw(error),
        }
    });
}

fn write_files(directory: &Path, bytes: &[u8]) {
    let split = bytes.windows(SECOND_FILE.len()).position(|part| part == SECOND_FILE);
    let (first, second) = match split {
        Some(at) => (&bytes[..=at], &bytes[at + SECOND_FILE.len()..]),
        None => (bytes, &b""[..]),
    };
    fs::write(directory.join("env.kdl"), first).expect("written");
    fs::write(directory.join("other.kdl"), second).expect("written");
}

fn check_manifest(manifest: &Manifest) {
    let catalogue = match Catalogue::load(manifest) {
        Ok(catalogue) => catalogue,
        Err(error) => return draw(error),
    };
    let inputs = local_inputs(manifest).expect("catalogues that were just read");
    assert_eq!(inputs, catalogue.inputs_digest());
    for environment in manifest.environments.values() {
        match make_lock(manifest, &catalogue, environment) {
            Ok(lock) => check_lock(&lock, manifest, environment),
            Err(error) => draw(error),
        }
    }
}

fn applications_of<'m>(manifest: &'m Manifest, environment: &Environment) -> Vec<&'m Application> {
    let all = manifest.applications.values();
    all.filter(|application| application.environment == environment.name).collect()
}

fn make_lock(
    manifest: &Manifest,
    catalogue: &Catalogue,
    environment: &Environment,
) -> Result<Lock, ResolveError> {
    let available = Available { packages: &catalogue.packages, hosts: &catalogue.hosts };
    let graphs = environment
        .platforms
        .iter()
        .map(|&platform| resolve(environment, platform, available, &BTreeMap::new()))
        .collect::<Result<Vec<_>, _>>()?;
    let missing = graphs.iter().flat_map(|graph| missing_hashes(graph, None));
    let recorded: RecordedHashes = missing
        .map(|one| ((one.name.clone(), one.platform), (Sha256Digest::from_bytes([7; 32]), 1)))
        .collect();
    let lock = Lock::make(&Ingredients {
        environment,
        applications: &applications_of(manifest, environment),
        graphs: &graphs,
        inputs: catalogue.inputs_digest(),
        contents: false,
        old: None,
        recorded: &recorded,
    });
    Ok(lock.expect("every hash is known"))
}

/// A lock that was just made reads back as itself, and is the lock of what it was made from.
fn check_lock(lock: &Lock, manifest: &Manifest, environment: &Environment) {
    let text = lock::write(lock);
    match lock::read(&text, "made.lock.kdl") {
        Ok(again) => assert_eq!(again, *lock, "another lock came back"),
        Err(error) => {
            panic!("a lock that cannot be read: {:?}\n{text}", miette::Report::new(error))
        }
    }
    let inputs = local_inputs(manifest).expect("catalogues that were just read");
    let agreed = lock::check(lock, &inputs, environment, &applications_of(manifest, environment));
    assert_eq!(agreed, Ok(()), "it is not the lock of its own manifest");
}
