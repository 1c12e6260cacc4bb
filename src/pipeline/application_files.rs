//! An application's own directory, imported into the store.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

use unicode_normalization::UnicodeNormalization;
use walkdir::WalkDir;

use super::build::Build;
use super::freshness::applications_of;
use super::{Error, Result};
use crate::disk::real_path;
use crate::lock::program;
use crate::manifest::Application;
use crate::model::{
    Entry, Family, FoldedPath, Kind, Name, Tree, TreeBuilder, TreePath, check_windows_path,
};
use crate::store::Staging;

impl Build<'_> {
    /// Imports the `files` of each application that has them: copied, never linked from the
    /// person's own files.
    pub(super) fn import_files(&self, staging: &Staging<'_>) -> Result<BTreeMap<Name, Tree>> {
        let mut imported = BTreeMap::new();
        for application in applications_of(self.manifest, self.environment) {
            let Some(files) = &application.files else { continue };
            if program(application, self.platform).is_none() {
                continue;
            }
            let directory = self.project.directory.join(&files.path);
            let store = self.store.root();
            let tree = import(application, &directory, store, self.platform.family(), staging)?;
            imported.insert(application.name.clone(), tree);
        }
        Ok(imported)
    }
}

/// Stages every file below a directory. Links are followed where they stay inside it. What drystone
/// keeps there itself stays out: a store that is imported into itself doubles with each build.
fn import(
    application: &Application,
    directory: &Path,
    store: &Path,
    family: Family,
    staging: &Staging<'_>,
) -> Result<Tree> {
    let failed = |path: &Path, reason: String| Error::ApplicationFiles {
        application: application.name.clone(),
        path: path.to_path_buf(),
        reason,
    };
    let top = real_path(directory).map_err(|error| failed(directory, plain(&error)))?;
    if !top.is_dir() {
        return Err(failed(directory, "it is no directory".to_owned()));
    }
    let store = real_path(store).unwrap_or_else(|_| store.to_path_buf());
    let (own, mut builder) = (top.join(".drystone"), TreeBuilder::default());
    let mut names = WindowsNames::default();
    let walk = WalkDir::new(&top).min_depth(1).follow_links(true).sort_by_file_name();
    let walk = walk.into_iter().filter_entry(|entry| entry.path() != store && entry.path() != own);
    for entry in walk {
        let entry =
            entry.map_err(|error| failed(error.path().unwrap_or(directory), unwalkable(&error)))?;
        let path = entry.path();
        let inside = tree_path(&top, path).map_err(|reason| failed(path, reason))?;
        if entry.path_is_symlink() && !stays_inside(&top, path) {
            return Err(failed(path, "the link leads out of the directory".to_owned()));
        }
        if family == Family::Windows {
            names.take(&inside).map_err(|reason| failed(path, reason))?;
        }
        let metadata = entry.metadata().map_err(|error| failed(path, error.to_string()))?;
        let entry = if metadata.is_dir() {
            Entry::directory(inside)
        } else if metadata.is_file() {
            let executable = family == Family::Unix && is_executable(&metadata);
            let kind = if executable { Kind::Executable } else { Kind::File };
            let (blob, size) = staging.add_file(path, executable)?;
            Entry::content(kind, size, blob, inside)
        } else {
            return Err(failed(path, "it is neither a file nor a directory".to_owned()));
        };
        builder.add(entry).map_err(|error| failed(path, error.to_string()))?;
    }
    builder.finish().map_err(|error| failed(directory, error.to_string()))
}

/// The names of a directory that is to lie on Windows, as Windows, or the eye, takes them for one.
#[derive(Default)]
struct WindowsNames(BTreeMap<FoldedPath, TreePath>);

impl WindowsNames {
    /// Takes in the path of a file or directory, or says why it cannot be there.
    fn take(&mut self, path: &TreePath) -> Result<(), String> {
        check_windows_path(path).map_err(|error| format!("on Windows it cannot be: it {error}"))?;
        let normal: String = path.as_str().nfc().collect();
        match self.0.insert(FoldedPath::new(&normal), path.clone()) {
            Some(other) => Err(format!("on Windows it has the same name as \"{other}\"")),
            None => Ok(()),
        }
    }
}

/// Why a directory could not be walked on, without its path, which the error has already.
fn unwalkable(error: &walkdir::Error) -> String {
    if error.loop_ancestor().is_some() {
        return "the link leads in a circle".to_owned();
    }
    let link = error.path().is_some_and(|path| path.is_symlink());
    match error.io_error() {
        Some(io) if link && io.kind() == io::ErrorKind::NotFound => {
            "the link leads to nothing".to_owned()
        }
        Some(io) => plain(io),
        None => error.to_string(),
    }
}

fn plain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "it does not exist".to_owned(),
        _ => error.to_string(),
    }
}

fn tree_path(top: &Path, path: &Path) -> Result<TreePath, String> {
    let relative = path.strip_prefix(top).map_err(|error| error.to_string())?;
    let parts: Vec<&str> = relative
        .iter()
        .map(|part| part.to_str().ok_or("its name is not valid Unicode"))
        .collect::<Result<_, _>>()?;
    parts.join("/").parse().map_err(|error| format!("its path {error}"))
}

fn stays_inside(top: &Path, link: &Path) -> bool {
    real_path(link).is_ok_and(|target: PathBuf| target.starts_with(top))
}

#[cfg(unix)]
fn is_executable(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o100 != 0
}

#[cfg(windows)]
fn is_executable(_metadata: &Metadata) -> bool {
    false
}
