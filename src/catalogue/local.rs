//! Catalogues beside the manifest: the files and directories that it names.

use std::collections::BTreeMap;
use std::path::Path;

use super::error::CatalogueError;
use crate::disk::real_path;
use crate::manifest::{HostDescription, InputFile, Manifest, Package, load_catalogue};
use crate::model::Name;

/// What the catalogues beside a manifest describe.
#[derive(Default)]
pub(super) struct Local {
    pub(super) packages: BTreeMap<Name, Package>,
    pub(super) hosts: BTreeMap<Name, HostDescription>,
    /// The files read, for the inputs digest.
    pub(super) files: Vec<InputFile>,
    /// Which file described what.
    origins: BTreeMap<(&'static str, Name), String>,
}

/// Reads all that the manifest names: files, and the `.kdl` files of directories by name. A file
/// that is named twice is read once.
pub(super) fn load(manifest: &Manifest) -> Result<Local, CatalogueError> {
    let mut local = Local::default();
    for reference in &manifest.catalogues {
        for path in files_of(&manifest.directory, &reference.path)? {
            if local.files.iter().any(|file| file.path == path) {
                continue;
            }
            let file = load_catalogue(&manifest.directory, &path)?;
            for (name, package) in file.packages {
                join(&mut local.packages, &mut local.origins, "package", name, package, &path)?;
            }
            for (name, host) in file.hosts {
                join(&mut local.hosts, &mut local.origins, "host", name, host, &path)?;
            }
            local.files.push(file.file);
        }
    }
    Ok(local)
}

fn join<T: PartialEq>(
    into: &mut BTreeMap<Name, T>,
    origins: &mut BTreeMap<(&'static str, Name), String>,
    kind: &'static str,
    name: Name,
    value: T,
    path: &str,
) -> Result<(), CatalogueError> {
    if into.get(&name).is_some_and(|known| *known != value) {
        let first = origins.get(&(kind, name.clone())).cloned().unwrap_or_default();
        let (name, second) = (name.to_string(), path.to_owned());
        return Err(CatalogueError::Conflict { name, first, second });
    }
    origins.entry((kind, name.clone())).or_insert_with(|| path.to_owned());
    into.insert(name, value);
    Ok(())
}

/// The catalogue files behind a path, sorted, as paths from the manifest's directory.
fn files_of(directory: &Path, path: &str) -> Result<Vec<String>, CatalogueError> {
    let at = directory.join(path);
    if !at.exists() {
        return Err(CatalogueError::Missing { path: path.to_owned(), at });
    }
    if !at.is_dir() {
        return inside(directory, path).map(|path| vec![path]);
    }
    let unreadable = |source| CatalogueError::Directory { path: at.clone(), source };
    let mut files = Vec::new();
    for entry in at.read_dir().map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name();
        // A name that is not Unicode could not be written into the inputs digest.
        let Some(name) = name.to_str().filter(|name| name.ends_with(".kdl")) else { continue };
        // The path of the manifest's own directory is empty.
        let separator = if path.is_empty() { "" } else { "/" };
        files.push(inside(directory, &format!("{path}{separator}{name}"))?);
    }
    if files.is_empty() {
        return Err(CatalogueError::Empty { path: path.to_owned() });
    }
    files.sort();
    Ok(files)
}

/// The path again, unless a link leads from it out of the manifest's directory.
fn inside(directory: &Path, path: &str) -> Result<String, CatalogueError> {
    if let (Ok(real), Ok(root)) = (real_path(&directory.join(path)), real_path(directory))
        && !real.starts_with(root)
    {
        return Err(CatalogueError::Outside { path: path.to_owned() });
    }
    Ok(path.to_owned())
}
