//! Where things of a store are, for those who read them.

use std::path::{Path, PathBuf};

use super::Store;
use super::environments::LockedDirectory;
use super::error::{At, Result};
use super::listing::directories;
use super::project::{ProjectId, exact_path, exact_text};
use super::roots::{Root, roots_text};
use crate::disk;
use crate::model::{BlobId, Name};

/// The file of an environment's directory that says where its project lies.
const DIRECTORY: &str = "directory";

/// The directory that the file in an environment's directory names.
pub(super) fn read_directory(environment: &Path) -> Option<PathBuf> {
    let text = disk::read_to_string(&environment.join(DIRECTORY)).ok()?;
    Some(exact_path(text.strip_suffix('\n')?))
}

impl LockedDirectory {
    /// Writes down what a lock needs and where its project lies; what is written already is left
    /// alone, so that a build that changes nothing waits for no disk.
    pub fn register(&self, roots: &[Root], project: &Path) -> Result<()> {
        let directory = exact_text(project) + "\n";
        for (name, text) in [("roots", roots_text(roots)), (DIRECTORY, directory)] {
            if disk::read(&self.path().join(name)).is_ok_and(|there| there == text.as_bytes()) {
                continue;
            }
            self.write(name, text.as_bytes())?;
        }
        Ok(())
    }
}

impl Store {
    /// The projects that have environments or runtime directories here, sorted.
    pub fn projects(&self) -> Result<Vec<ProjectId>> {
        let mut projects = Vec::new();
        for kind in ["environments", "runtimes"] {
            projects.extend(self.names_in(&self.root().join(kind))?);
        }
        let mut projects: Vec<ProjectId> =
            projects.iter().filter_map(|name| ProjectId::from_text(name)).collect();
        projects.sort();
        projects.dedup();
        Ok(projects)
    }

    fn names_in(&self, directory: &Path) -> Result<Vec<String>> {
        let entries = match std::fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error).at("list", directory),
        };
        let mut names = Vec::new();
        for entry in entries {
            names.extend(entry.at("list", directory)?.file_name().into_string());
        }
        names.sort();
        Ok(names)
    }

    /// The environments of a project that have something recorded here, sorted.
    pub fn environment_names(&self, project: &ProjectId) -> Result<Vec<Name>> {
        let directory = self.root().join("environments").join(project.as_str());
        let names = self.names_in(&directory)?;
        Ok(names.iter().filter_map(|name| name.parse().ok()).collect())
    }

    /// The directories of the environments of all projects, sorted.
    pub fn all_environments(&self) -> Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        for (_, project) in directories(&self.layout().directory("environments"))? {
            found.extend(directories(&project)?.into_iter().map(|(_, environment)| environment));
        }
        Ok(found)
    }

    /// Where the project of an environment lay when it last used this store, as far as that is
    /// written down.
    pub fn project_directory(&self, project: &ProjectId, environment: &Name) -> Option<PathBuf> {
        read_directory(&self.environment_path(project, environment))
    }

    /// The realised directory of this name, protected from gc with its tree and all its contents;
    /// it need not exist.
    pub fn realised_directory(&self, name: &str) -> Result<PathBuf> {
        if super::roots::is_realised_name(name) {
            self.protect_if_writable([Root::Realised(name.to_owned())])?;
        }
        Ok(self.layout().realised(name))
    }

    /// The file of a content, in the form that is here where only one is: for reading. It need not
    /// exist.
    pub fn blob_path(&self, blob: &BlobId, executable: bool) -> PathBuf {
        let asked = self.layout().blob(blob, executable);
        let other = self.layout().blob(blob, !executable);
        if !asked.exists() && other.exists() { other } else { asked }
    }

    /// The directory of all runtime directories of a project; it need not exist.
    pub fn project_runtimes(&self, project: &ProjectId) -> PathBuf {
        self.root().join("runtimes").join(project.as_str())
    }
}
