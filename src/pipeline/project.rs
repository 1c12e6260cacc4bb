//! The project of a call: its directory, its manifest, its environments, its store.

use std::path::{Path, PathBuf};

use super::{Error, Result};
use crate::catalogue::Catalogue;
use crate::disk::{self, machine_path};
use crate::generation::Generations;
use crate::lock::{self, Lock};
use crate::manifest::{self, Environment, Manifest};
use crate::model::{Name, Platform, Progress, nearest};
use crate::store::{Locate, ProjectId, Store, StoreOptions, project_id};

/// The file that a person writes.
pub(super) const MANIFEST: &str = "env.kdl";

/// What holds for a call, whatever the verb.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The directory of the manifest; without it the nearest above the current one.
    pub project: Option<PathBuf>,
    /// The environment, where the manifest describes several.
    pub environment: Option<Name>,
    /// The store, where it is not the usual one.
    pub store: Option<PathBuf>,
    /// Whether the network may not be used.
    pub offline: bool,
    /// Whether a lock or generation that is not what the manifest asks for is an error.
    pub locked: bool,
    /// Whether the store may lie on a file system where its promises cannot hold.
    pub unsafe_filesystem: bool,
}

/// A directory with a manifest, and the settings of the call.
pub(super) struct Project<'a> {
    pub directory: PathBuf,
    pub settings: &'a Settings,
}

impl<'a> Project<'a> {
    /// The project that the settings name, or the nearest from the current directory upwards.
    pub fn find(settings: &'a Settings) -> Result<Self> {
        let absolute = |path: &Path| {
            machine_path(path)
                .map_err(|source| Error::Directory { path: path.to_path_buf(), source })
        };
        if let Some(named) = &settings.project {
            let mut directory = absolute(named)?;
            // The manifest itself names its project as well.
            if directory.file_name().is_some_and(|name| name == MANIFEST) && directory.is_file() {
                directory.pop();
            }
            if !directory.is_dir() {
                return Err(Error::NoProject { path: directory });
            }
            return match is_project(&directory) {
                true => Ok(Self { directory, settings }),
                false => Err(Error::NoManifest { directory, upwards: false }),
            };
        }
        let here = absolute(Path::new("."))?;
        let directory = here
            .ancestors()
            .find(|directory| is_project(directory))
            .ok_or_else(|| Error::NoManifest { directory: here.clone(), upwards: true })?;
        Ok(Self { directory: directory.to_path_buf(), settings })
    }

    /// The same, or the current directory where there is no project: the store can be looked after
    /// from anywhere.
    pub fn find_or_here(settings: &'a Settings) -> Result<Self> {
        match Self::find(settings) {
            Err(Error::NoManifest { directory, .. }) => Ok(Self { directory, settings }),
            found => found,
        }
    }

    pub fn manifest_path(&self) -> PathBuf {
        self.directory.join(MANIFEST)
    }

    pub fn manifest(&self) -> Result<Manifest> {
        Ok(manifest::load(&self.manifest_path())?)
    }

    pub fn catalogue(&self, manifest: &Manifest) -> Result<Catalogue> {
        Ok(Catalogue::load(manifest)?)
    }

    /// Opens the project's store, making the user's own on first use.
    pub fn store(&self, progress: &dyn Progress) -> Result<Store> {
        let chosen = self.settings.store.clone();
        let location = Locate::from_environment(chosen, Some(self.directory.clone())).find()?;
        if let Some(note) = &location.note {
            progress.note(note);
        }
        let options = StoreOptions { unsafe_filesystem: self.settings.unsafe_filesystem };
        Ok(Store::open(&location.path, &options)?)
    }

    /// The random id that this project has in stores.
    pub fn id(&self) -> Result<ProjectId> {
        Ok(project_id(&self.directory)?)
    }

    /// The one environment that the call is about.
    pub fn environment<'m>(&self, manifest: &'m Manifest) -> Result<&'m Environment> {
        match self.environments(manifest)?.as_slice() {
            [one] => Ok(one),
            several => Err(Error::SeveralEnvironments {
                names: several.iter().map(|environment| environment.name.clone()).collect(),
            }),
        }
    }

    /// The bytes of the manifest.
    pub fn read_manifest(&self) -> Result<Vec<u8>> {
        let path = self.manifest_path();
        disk::read(&path).map_err(|source| Error::Directory { path, source })
    }

    /// The generations of an environment.
    pub fn generations(&self, store: &Store, environment: &Name) -> Result<Generations> {
        Ok(Generations::open(&store.environment_path(&self.id()?, environment)))
    }

    /// The environment that the call is about, without reading the manifest where the settings or
    /// the store can say it: going back must work whatever became of the manifest.
    pub fn chosen_environment(&self, store: &Store) -> Result<Name> {
        if let Some(name) = &self.settings.environment {
            return Ok(name.clone());
        }
        match store.environment_names(&self.id()?)?.as_slice() {
            [one] => Ok(one.clone()),
            _ => Ok(self.environment(&self.manifest()?)?.name.clone()),
        }
    }

    /// The environments that the call is about: the one it names, or all.
    pub fn environments<'m>(&self, manifest: &'m Manifest) -> Result<Vec<&'m Environment>> {
        let known = &manifest.environments;
        if known.is_empty() {
            return Err(Error::NoEnvironment { path: manifest.path.clone() });
        }
        match &self.settings.environment {
            None => Ok(known.values().collect()),
            Some(name) => match known.get(name) {
                Some(environment) => Ok(vec![environment]),
                None => Err(Error::UnknownEnvironment {
                    name: name.to_string(),
                    help: known_names("environment", name.as_str(), known.keys()),
                }),
            },
        }
    }

    /// The lock of an environment, where there is one.
    pub fn existing_lock(&self, environment: &Name) -> Result<Option<Lock>> {
        Ok(lock::load(&lock::lock_path(&self.directory, environment))?)
    }

    /// The lock of an environment; without one that is an error.
    pub fn required_lock(&self, environment: &Name) -> Result<Lock> {
        self.existing_lock(environment)?.ok_or_else(|| Error::LockMissing {
            environment: environment.clone(),
            path: self.lock_name(environment),
        })
    }

    /// How a lock's path reads in messages: relative to the project, with `/`.
    pub fn lock_name(&self, environment: &Name) -> String {
        format!("lockfiles/{environment}.lock.kdl")
    }
}

/// Whether a manifest is here, or was when the project was first used: what was built can be run and
/// gone back to without it.
fn is_project(directory: &Path) -> bool {
    directory.join(MANIFEST).is_file() || directory.join(".drystone/project").is_file()
}

/// "Did you mean …", or the list of what there is.
pub(super) fn known_names<'n>(
    noun: &str,
    wanted: &str,
    known: impl Iterator<Item = &'n Name>,
) -> String {
    let known: Vec<&str> = known.map(Name::as_str).collect();
    match nearest(wanted, known.iter().copied()) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None if known.is_empty() => format!("env.kdl describes no {noun}"),
        None => format!("env.kdl describes: {}", known.join(", ")),
    }
}

/// The platform to build for: the one asked for, else the machine's own, else the only one.
pub(super) fn choose_platform(
    environment: &Environment,
    asked: Option<Platform>,
) -> Result<Platform> {
    let declared = &environment.platforms;
    let wanted = asked.or_else(|| Platform::current().filter(|own| declared.contains(own)));
    match wanted {
        Some(platform) if declared.contains(&platform) => Ok(platform),
        None if declared.len() == 1 => {
            declared.first().copied().ok_or_else(|| Error::PlatformNotDeclared {
                environment: environment.name.clone(),
                asked: "this machine".into(),
                declared: String::new(),
            })
        }
        _ => Err(Error::PlatformNotDeclared {
            environment: environment.name.clone(),
            asked: asked.map_or_else(|| "this machine".to_owned(), |platform| platform.to_string()),
            declared: declared
                .iter()
                .map(|platform| platform.to_string())
                .collect::<Vec<_>>()
                .join(", "),
        }),
    }
}
