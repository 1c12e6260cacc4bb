//! The catalogue: every package and host component that is known, the nearer description winning.
//!
//! Three layers, from far to near: what is built into the program (the repository's `catalogue/`),
//! what the manifest names with `catalogue "path"`, what the manifest describes itself. A nearer
//! description replaces a farther one as a whole, so that nothing of an unseen file leaks in.
//! Only what the manifest names counts: no directory is a catalogue by its name alone.

mod built_in;
mod error;
mod local;

#[cfg(test)]
mod tests;

pub use built_in::{Revision, revision};
pub use error::CatalogueError;

use std::collections::BTreeMap;

use crate::manifest::{HostDescription, InputFile, Manifest, Package, inputs_digest};
use crate::model::{InputsDigest, Name};

/// Every package and host component that a manifest's environments may ask for.
#[derive(Debug, Clone)]
pub struct Catalogue {
    /// The packages.
    pub packages: BTreeMap<Name, Package>,
    /// The host components.
    pub hosts: BTreeMap<Name, HostDescription>,
    local: Vec<String>,
    inputs: InputsDigest,
}

impl Catalogue {
    /// Joins the built-in catalogue, those that the manifest names, and what it describes itself.
    pub fn load(manifest: &Manifest) -> Result<Self, CatalogueError> {
        let built_in = built_in::load()?;
        let local = local::load(manifest)?;
        let (mut packages, mut hosts) = (built_in.packages, built_in.hosts);
        packages.extend(local.packages);
        packages.extend(manifest.packages.clone());
        hosts.extend(local.hosts);
        hosts.extend(manifest.hosts.clone());
        let inputs = digest(manifest, &local.files);
        let local = local.files.into_iter().map(|file| file.path).collect();
        Ok(Self { packages, hosts, local, inputs })
    }

    /// The catalogue files beside the manifest that were read: their paths from its directory.
    pub fn local_files(&self) -> &[String] {
        &self.local
    }

    /// The digest of the manifest, its includes and the catalogues it names. The built-in one is
    /// not in it: a lock carries all that building needs.
    pub const fn inputs_digest(&self) -> InputsDigest {
        self.inputs
    }

    /// The digest of the catalogue that is built into this program.
    pub fn revision(&self) -> Revision {
        revision()
    }
}

/// The digest of a manifest, its includes and the catalogues it names, without reading the built-in
/// catalogue: what a check of a lock compares.
pub fn local_inputs(manifest: &Manifest) -> Result<InputsDigest, CatalogueError> {
    Ok(digest(manifest, &local::load(manifest)?.files))
}

fn digest(manifest: &Manifest, local: &[InputFile]) -> InputsDigest {
    let files = manifest.files.iter().chain(local);
    inputs_digest(files.map(|file| (file.path.as_str(), file.text.as_str())))
}
