//! Loads manifests and catalogue files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::application::Application;
use super::document::{Collection, directory_of};
use super::environment::{CatalogueReference, Environment};
use super::error::ManifestError;
use super::inputs::InputFile;
use super::package::{HostDescription, Package};
use super::text::read_text;
use crate::model::Name;

/// What `env.kdl` and the files it includes say.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// The directory it lies in, absolute: what its relative paths start from.
    pub directory: PathBuf,
    /// The file, as it was named.
    pub path: PathBuf,
    /// Its environments.
    pub environments: BTreeMap<Name, Environment>,
    /// Its applications. Each one's environment is among the environments.
    pub applications: BTreeMap<Name, Application>,
    /// Packages that it describes itself.
    pub packages: BTreeMap<Name, Package>,
    /// Host components that it describes itself.
    pub hosts: BTreeMap<Name, HostDescription>,
    /// Catalogues beside it, in the order written: paths from its directory, resolved.
    pub catalogues: Vec<CatalogueReference>,
    /// The files that were read: itself, then what it includes.
    pub files: Vec<InputFile>,
}

/// Packages and host components of one catalogue file.
#[derive(Debug, Clone)]
pub struct CatalogueFile {
    /// Its packages.
    pub packages: BTreeMap<Name, Package>,
    /// Its host components.
    pub hosts: BTreeMap<Name, HostDescription>,
    /// Its text, for the inputs digest.
    pub file: InputFile,
}

/// Reads a manifest and the files it includes. Every complaint about their texts comes at once, in
/// the order of the texts. That packages exist, overlays among them, is the resolver's to say: it
/// knows the catalogues.
pub fn load(path: &Path) -> Result<Manifest, ManifestError> {
    let text = read_text(path)?;
    let (directory, shown) = directory_of(path);
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into());
    let mut collection = Collection::new(Some(directory.clone()), shown);
    let label = path.display().to_string();
    collection.manifest(&name, &label, text)?;
    let collection = without_complaints(collection, &label)?;
    if collection.nodes == 0 {
        return Err(ManifestError::Empty { path: path.to_owned() });
    }
    Ok(Manifest {
        directory,
        path: path.to_owned(),
        environments: collection.environments,
        applications: collection.applications,
        packages: collection.packages,
        hosts: collection.hosts,
        catalogues: collection.catalogues,
        files: collection.files,
    })
}

/// Reads one catalogue file of a directory. `relative` is its path from there, `/`-separated.
pub fn load_catalogue(directory: &Path, relative: &str) -> Result<CatalogueFile, ManifestError> {
    let path = directory.join(relative);
    let text = read_text(&path)?;
    decode_catalogue(relative, text)
}

/// Decodes the text of one catalogue file; `relative` names it.
pub fn decode_catalogue(relative: &str, text: String) -> Result<CatalogueFile, ManifestError> {
    let mut collection = Collection::new(None, String::new());
    collection.catalogue(relative, relative, text)?;
    let collection = without_complaints(collection, relative)?;
    let Collection { packages, hosts, mut files, .. } = collection;
    Ok(CatalogueFile { packages, hosts, file: files.remove(0) })
}

fn without_complaints(collection: Collection, file: &str) -> Result<Collection, ManifestError> {
    let (collection, complaints) = collection.finish();
    if complaints.is_empty() {
        return Ok(collection);
    }
    Err(ManifestError::Invalid { file: file.to_owned(), complaints })
}
