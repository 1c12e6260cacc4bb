//! `init`: writes a commented starter.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::project::MANIFEST;
use super::{Error, Result, Settings};
use crate::disk::machine_path;
use crate::manifest;

/// What `init` did.
#[derive(Debug, Serialize)]
pub struct InitReport {
    /// The manifest it wrote.
    pub manifest: PathBuf,
}

/// Writes a commented `env.kdl` into the project's directory; never over an existing one.
pub fn init(settings: &Settings) -> Result<InitReport> {
    let directory = settings.project.as_deref().unwrap_or(Path::new("."));
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        move |source| Error::Directory { path, source }
    };
    let directory = machine_path(directory).map_err(failed(directory))?;
    std::fs::create_dir_all(&directory).map_err(failed(&directory))?;
    let path = directory.join(MANIFEST);
    let mut file = match std::fs::File::create_new(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(Error::ManifestExists { path });
        }
        Err(error) => return Err(failed(&path)(error)),
    };
    file.write_all(manifest::starter().as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(failed(&path))?;
    Ok(InitReport { manifest: path })
}
