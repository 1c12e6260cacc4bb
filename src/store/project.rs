//! Which project of a store a manifest belongs to: `.drystone/project` beside it.
//!
//! The file holds a random id and the directory it was made for, and is never committed. A copy of
//! the project found elsewhere gets an id of its own; a project that was moved keeps its id.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::disk::{self, real_path};

use super::error::{At, Result, StoreError};
use super::layout::{KEPT_OUT_OF_GIT, is_base32, random_id, refuse_link};
use super::lock_file::{self, Mode};

/// A random id that names a project inside a store: 16 characters of base32.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProjectId(String);

impl ProjectId {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id of this text, if it is one.
    pub fn from_text(text: &str) -> Option<Self> {
        is_base32(text, 16).then(|| Self(text.to_owned()))
    }
}

#[derive(Serialize, Deserialize)]
struct Text {
    format: u32,
    id: String,
    directory: String,
}

/// The id of the project whose manifest lies in this directory; made when there is none. Safe when
/// two processes ask first at the same time.
pub fn project_id(manifest_dir: &Path) -> Result<ProjectId> {
    let directory = real_path(manifest_dir).at("find", manifest_dir)?;
    let here = exact_text(&directory);
    if let Some((id, recorded)) = read(&directory)?
        && recorded == here
    {
        return Ok(id);
    }
    let own = directory.join(".drystone");
    refuse_link(&own)?;
    disk::make_directory(&own)?;
    let lock = own.join("project.lock");
    let _lock = lock_file::acquire(&lock, Mode::Exclusive, "the project's id", &lock_file::Told)?;
    let id = match read(&directory)? {
        Some((id, recorded)) if recorded == here => return Ok(id),
        Some((id, recorded)) if !is_copy_of(&id, &recorded) => id,
        _ => ProjectId(random_id()?),
    };
    let text = Text { format: 1, id: id.0.clone(), directory: here };
    let text = serde_json::to_string(&text).map_err(|error| registration(&own, &error))? + "\n";
    keep_out_of_git(&own)?;
    let staged = own.join(format!("project.{}", random_id()?));
    disk::write_synced(&staged, text.as_bytes(), 0o644)?;
    let path = own.join("project");
    disk::rename(&staged, &path).at("put in place", &path)?;
    disk::sync_directory(&own)?;
    Ok(id)
}

fn registration(path: &Path, error: &dyn std::fmt::Display) -> StoreError {
    StoreError::Registration { path: path.to_path_buf(), reason: error.to_string() }
}

/// The id and the directory that the file of a project records. A damaged file counts as none.
fn read(directory: &Path) -> Result<Option<(ProjectId, String)>> {
    let path = directory.join(".drystone").join("project");
    let bytes = match disk::read(&path) {
        Ok(bytes) => bytes,
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(StoreError::io("read", &path, error)),
    };
    let Ok(text) = serde_json::from_slice::<Text>(&bytes) else { return Ok(None) };
    if text.format != 1 {
        let reason = format!("its format {} is not known to this drystone; update it", text.format);
        return Err(StoreError::Registration { path, reason });
    }
    Ok(ProjectId::from_text(&text.id).map(|id| (id, text.directory)))
}

/// Whether the project of this id still lies where the file says: then this one is a copy of it.
fn is_copy_of(id: &ProjectId, recorded: &str) -> bool {
    let there = exact_path(recorded);
    match read(&there) {
        Ok(Some((other, _))) => other == *id,
        Ok(None) => false,
        // It is there and can't be read: surely not moved away.
        Err(_) => true,
    }
}

/// Keeps a directory inside a project out of the project's repository, whatever it holds.
pub fn keep_out_of_git(own: &Path) -> Result<()> {
    let path = own.join(KEPT_OUT_OF_GIT);
    match disk::create_new(&path, 0o644) {
        Ok(mut file) => io::Write::write_all(&mut file, b"*\n").at("write", &path),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(StoreError::io("create", &path, error)),
    }
}

/// A path as text that is equal only for equal paths: what is not Unicode is written as bytes.
pub(super) fn exact_text(path: &Path) -> String {
    match path.to_str() {
        Some(text) => text.to_owned(),
        None => {
            let bytes = path.as_os_str().as_encoded_bytes();
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("bytes:{hex}")
        }
    }
}

/// The path of such a text. One that was written as bytes is not looked up again.
pub(super) fn exact_path(text: &str) -> std::path::PathBuf {
    std::path::PathBuf::from(text)
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;

    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_that_came_with_a_project_lead_nowhere() {
        let directory = tempfile::tempdir().expect("a directory");
        let (outside, project) = (directory.path().join("outside"), directory.path().join("clone"));
        fs::create_dir(&outside).expect("made");
        fs::create_dir(&project).expect("made");
        let own = project.join(".drystone");
        symlink(&outside, &own).expect("linked");
        assert!(matches!(project_id(&project), Err(StoreError::Linked { .. })));
        fs::remove_file(&own).expect("removed");
        fs::create_dir(&own).expect("made");
        symlink(outside.join("file"), own.join("project.lock")).expect("linked");
        assert!(project_id(&project).is_err());
        assert_eq!(fs::read_dir(&outside).expect("there").count(), 0, "nothing was written there");
    }
}
