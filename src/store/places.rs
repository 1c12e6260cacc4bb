//! Where things of a store are, for those who read them.

use std::path::PathBuf;

use super::error::{At, Result};
use super::{ProjectId, Store};
use crate::model::{BlobId, Name};

impl Store {
    /// The environments of a project that have something recorded here, sorted.
    pub fn environment_names(&self, project: &ProjectId) -> Result<Vec<Name>> {
        let directory = self.root().join("environments").join(project.as_str());
        let entries = match std::fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error).at("list", &directory),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.at("list", &directory)?;
            names.extend(entry.file_name().to_str().and_then(|name| name.parse::<Name>().ok()));
        }
        names.sort();
        Ok(names)
    }

    /// The realised directory of this name.
    pub fn realised_directory(&self, name: &str) -> PathBuf {
        self.root().join("realised").join(name)
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
