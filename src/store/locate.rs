//! Where the store is, and which project's own stores this user made.
//!
//! In this order: what `--store` says; `DRYSTONE_STORE`; the project's own `store/` beside the
//! manifest, if this user made it (`store init`) or adopted it; the user's store. A `store/` that
//! came with a clone is in nobody's list and is ignored, with one line.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use serde::{Deserialize, Serialize};

use crate::disk::{self, machine_path, real_path};

use super::error::{At, Result, StoreError};
use super::format::Format;
use super::layout::{Layout, random_id};
use super::lock_file::{self, Mode};
use super::project::exact_text;

/// The environment variable that names the store.
pub const STORE_VARIABLE: &str = "DRYSTONE_STORE";

/// What decides where the store is.
#[derive(Debug, Clone, Default)]
pub struct Locate {
    /// The value of `--store`.
    pub option: Option<PathBuf>,
    /// The value of `DRYSTONE_STORE`.
    pub variable: Option<OsString>,
    /// The directory of the manifest, where there is one.
    pub manifest_dir: Option<PathBuf>,
    /// The user's data directory of drystone, instead of the operating system's.
    pub data: Option<PathBuf>,
}

/// Where the store is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// Its directory, which may not exist yet.
    pub path: PathBuf,
    /// One line for the user, where something was ignored.
    pub note: Option<String>,
}

impl Locate {
    /// With the value of `DRYSTONE_STORE` as it is now.
    pub fn from_environment(option: Option<PathBuf>, manifest_dir: Option<PathBuf>) -> Self {
        let variable = std::env::var_os(STORE_VARIABLE).filter(|value| !value.is_empty());
        Self { option, variable, manifest_dir, data: None }
    }

    /// Finds the store.
    pub fn find(&self) -> Result<Location> {
        let named = self.option.clone().or_else(|| self.variable.clone().map(PathBuf::from));
        if let Some(path) = named {
            let path = machine_path(&path).at("find", &path)?;
            return Ok(Location { path, note: None });
        }
        let data = match &self.data {
            Some(data) => data.clone(),
            None => user_data()?,
        };
        let mut note = None;
        if let Some(own) = self.manifest_dir.as_ref().map(|directory| directory.join("store"))
            && Layout::new(own.clone()).format().symlink_metadata().is_ok()
        {
            if is_registered(&data, &own)? {
                return Ok(Location { path: own, note: None });
            }
            note = Some(format!(
                "{} was not made here and is not used; drystone store adopt verifies it first",
                own.display()
            ));
        }
        Ok(Location { path: data.join("store"), note })
    }
}

/// The user's data directory of drystone: `$XDG_DATA_HOME/drystone`, `%LOCALAPPDATA%\drystone`.
pub fn user_data() -> Result<PathBuf> {
    let strategy = etcetera::choose_base_strategy()
        .map_err(|error| StoreError::NoHome { reason: error.to_string() })?;
    // The data directory of Windows roams between machines; its cache directory is the local one.
    let base = if cfg!(windows) { strategy.cache_dir() } else { strategy.data_dir() };
    if !base.is_absolute() {
        // Each directory would get a store of its own.
        let reason = format!("LOCALAPPDATA is \"{}\", which is not absolute", base.display());
        return Err(StoreError::NoHome { reason });
    }
    Ok(base.join("drystone"))
}

/// Remembers in the user's data directory that this user made or adopted the store.
pub fn register(path: &Path, store_id: &str) -> Result<()> {
    register_in(&user_data()?, path, store_id)
}

/// The same with another data directory.
pub fn register_in(data: &Path, path: &Path, store_id: &str) -> Result<()> {
    let path = real_path(path).at("find", path)?;
    disk::make_directories(data)?;
    let lock = data.join("stores.lock");
    let _lock = lock_file::acquire(&lock, Mode::Exclusive, "the list of stores", &lock_file::Told)?;
    let mut list = read(data)?;
    let text = exact_text(&path);
    list.stores.retain(|store| store.path != text);
    list.stores.push(Registered { id: store_id.to_owned(), path: text });
    list.stores.sort_by(|a, b| a.path.cmp(&b.path));
    let target = data.join("stores");
    let text = serde_json::to_string_pretty(&list).map_err(|error| StoreError::Registration {
        path: target.clone(),
        reason: error.to_string(),
    })?;
    let staged = data.join(format!("stores.{}", random_id()?));
    disk::write_synced(&staged, (text + "\n").as_bytes(), 0o600)?;
    disk::rename(&staged, &target).at("put in place", &target)?;
    Ok(disk::sync_directory(data)?)
}

#[derive(Serialize, Deserialize)]
struct List {
    format: u32,
    stores: Vec<Registered>,
}

#[derive(Serialize, Deserialize)]
struct Registered {
    id: String,
    path: String,
}

fn read(data: &Path) -> Result<List> {
    let path = data.join("stores");
    let bytes = match disk::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(List { format: 1, stores: Vec::new() });
        }
        Err(error) => return Err(StoreError::io("read", &path, error)),
    };
    let damaged = |reason: String| StoreError::Registration { path: path.clone(), reason };
    let list: List = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    if list.format != 1 {
        return Err(damaged(format!("its format is {}, and this drystone knows 1", list.format)));
    }
    Ok(list)
}

/// Whether the store at this path is the one that this user made or adopted there.
fn is_registered(data: &Path, path: &Path) -> Result<bool> {
    let canonical = real_path(path).at("find", path)?;
    let text = exact_text(&canonical);
    let Some(registered) = read(data)?.stores.into_iter().find(|store| store.path == text) else {
        return Ok(false);
    };
    // A registered one that is newer or damaged is not ignored: opening it says what is wrong.
    match Format::read(&Layout::new(canonical)) {
        Ok(Some(format)) => Ok(format.id == registered.id),
        Ok(None) => Ok(false),
        Err(_) => Ok(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Store, StoreOptions};

    #[test]
    fn the_option_wins_over_the_variable_over_the_projects_own_over_the_users() {
        let directory = tempfile::tempdir().expect("a directory");
        let data = directory.path().join("data");
        let project = directory.path().join("project");
        let own = project.join("store");
        let store = Store::open(&own, &StoreOptions::default()).expect("a store");
        let mut locate = Locate {
            option: Some(directory.path().join("option")),
            variable: Some(directory.path().join("variable").into()),
            manifest_dir: Some(project),
            data: Some(data.clone()),
        };
        let found = |locate: &Locate| locate.find().expect("a place");
        assert!(found(&locate).path.ends_with("option"));
        locate.option = None;
        assert!(found(&locate).path.ends_with("variable"));
        locate.variable = None;
        let ignored = found(&locate);
        assert_eq!(ignored.path, data.join("store"));
        assert!(ignored.note.is_some_and(|note| note.contains("drystone store adopt")));
        register_in(&data, &own, "aaaaaaaaaaaaaaaa").expect("registered");
        assert_eq!(found(&locate).path, data.join("store"), "another store lies there now");
        register_in(&data, &own, store.id()).expect("registered");
        assert_eq!(found(&locate), Location { path: own, note: None });
        locate.manifest_dir = None;
        assert_eq!(found(&locate), Location { path: data.join("store"), note: None });
    }
}
