//! Which package and archive a file comes from: what rooms below the lock cannot know when they find
//! that a file vanished.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::archives::Wanted;
use super::{Error, Result};
use crate::binary::BinaryError;
use crate::generation::{Generation, Generations};
use crate::lock::{self, LockedPackage};
use crate::model::{
    BlobId, Fate, Origin, Sha256Digest, Tree, TreePath, UnpackKey, Vanished, VanishedFile,
};
use crate::runtime::RuntimeError;
use crate::store::{Store, StoreError};
use crate::unpack::{Problem, UnpackError};

/// The packages that files may come from.
#[derive(Default)]
pub(super) struct Origins {
    known: Vec<Known>,
    /// The realised environment.
    realised: Option<PathBuf>,
}

struct Known {
    origin: Origin,
    /// Where it lies in the environment.
    directory: Option<TreePath>,
    tree: Option<Tree>,
}

impl Origins {
    /// Of packages whose trees a build has.
    pub fn of_build(packages: &[&LockedPackage], trees: &BTreeMap<UnpackKey, Tree>) -> Self {
        let known = packages.iter().map(|package| Known {
            tree: trees.get(&package.unpack_key).cloned(),
            ..Known::new(package)
        });
        Self { known: known.collect(), realised: None }
    }

    /// Of a recorded generation, as far as its lock and trees can be read: this is for telling of
    /// another error, and must not become one.
    pub fn of_generation(
        store: &Store,
        generations: &Generations,
        generation: &Generation,
        realised: Option<&Path>,
    ) -> Self {
        let mut origins = Self { known: Vec::new(), realised: realised.map(Path::to_path_buf) };
        let text = generations.lock(generation).ok().and_then(|text| String::from_utf8(text).ok());
        let Some(lock) = text.and_then(|text| lock::read(&text, "lock.kdl").ok()) else {
            return origins;
        };
        let Some(section) = lock.platforms.get(&generation.platform) else { return origins };
        for (name, identity) in &generation.packages {
            let Some(package) = section.packages.get(name) else { continue };
            let tree = store.tree(&identity.tree).ok().flatten();
            origins.known.push(Known { tree, ..Known::new(package) });
        }
        origins
    }

    /// Of every generation that any project has in a store; one package of several is taken once.
    pub fn of_store(store: &Store) -> Result<Self> {
        let mut origins = Self::default();
        for project in store.projects()? {
            for environment in store.environment_names(&project)? {
                let generations =
                    Generations::open(&store.environment_path(&project, &environment));
                let listed = generations.list()?.into_iter();
                for generation in listed.filter_map(|listed| listed.generation.ok()) {
                    let more = Self::of_generation(store, &generations, &generation, None).known;
                    for known in more {
                        let same = |there: &Known| {
                            there.origin == known.origin && there.directory == known.directory
                        };
                        if !origins.known.iter().any(same) {
                            origins.known.push(known);
                        }
                    }
                }
            }
        }
        Ok(origins)
    }

    /// The package of an archive that is named by its hash.
    pub fn of_archive_at(&self, path: &Path) -> Option<Origin> {
        let source = Sha256Digest::from_hex(path.file_name()?.to_str()?).ok()?;
        let of = |known: &&Known| known.origin.archive.sha256 == Some(source);
        self.known.iter().find(of).map(|known| known.origin.clone())
    }

    /// Says of each file where it came from, by its path in the environment or its content.
    pub fn complete(&self, files: &mut [VanishedFile]) {
        for file in files.iter_mut().filter(|file| file.origin.is_none()) {
            if file.path.is_none() {
                file.path = self.path_in_environment(file);
            }
            let by_path = || self.known.iter().find_map(|known| known.by_path(file));
            let by_content = || self.known.iter().find_map(|known| known.by_content(file));
            if let Some((path, origin)) = by_path().or_else(by_content) {
                file.path = Some(path);
                file.origin = Some(origin);
            }
        }
    }

    fn path_in_environment(&self, file: &VanishedFile) -> Option<TreePath> {
        let below = file.file.as_ref()?.strip_prefix(self.realised.as_ref()?).ok()?;
        let parts: Option<Vec<&str>> = below.iter().map(|part| part.to_str()).collect();
        parts?.join("/").parse().ok()
    }

    /// An error of any room that comes from a file that vanished, told as that and with its origin;
    /// others as they are.
    pub fn explain(&self, error: Error) -> Error {
        match vanished(error) {
            Ok(mut found) => {
                self.complete(&mut found.files);
                Error::Vanished(found)
            }
            Err(error) => error,
        }
    }
}

impl Known {
    fn new(package: &LockedPackage) -> Self {
        Self {
            origin: Wanted::of(package).origin(),
            directory: package.placement.directory().cloned(),
            tree: None,
        }
    }

    fn by_path(&self, file: &VanishedFile) -> Option<(TreePath, Origin)> {
        let path = file.path.as_ref()?;
        let inside = match &self.directory {
            Some(directory) => path.strip(directory)?,
            None => path.clone(),
        };
        if let Some(tree) = &self.tree {
            let entry = tree.get(&inside)?;
            if file.blob.is_some() && file.blob != entry.blob {
                return None;
            }
        }
        Some((path.clone(), self.at(inside)))
    }

    fn by_content(&self, file: &VanishedFile) -> Option<(TreePath, Origin)> {
        let blob = Some(file.blob?);
        let tree = self.tree.as_ref()?;
        let entry = tree.entries().iter().find(|entry| entry.blob == blob)?;
        let path = entry.path.under(self.directory.as_ref());
        Some((path, self.at(entry.path.clone())))
    }

    fn at(&self, inside: TreePath) -> Origin {
        Origin { path_in_package: Some(inside), ..self.origin.clone() }
    }
}

/// When, of a content that was in the store.
pub(super) const IN_THE_STORE: &str = "since it was put into the store";

/// The content that a file of the store is named by.
fn blob_of(path: &Path) -> Option<BlobId> {
    BlobId::from_hex(path.file_stem()?.to_str()?).ok()
}

/// What vanished, of an error that says so in any room's words.
fn vanished(error: Error) -> Result<Box<Vanished>, Error> {
    let of_blob = |what, blob: BlobId, name: &str| {
        // Some who miss one know only its digest.
        let path = name.parse().ok().filter(|_| name != blob.hex());
        let file = VanishedFile { what, file: None, path, blob: Some(blob), origin: None };
        Ok(Vanished::file(file, IN_THE_STORE))
    };
    match error {
        Error::Vanished(vanished)
        | Error::Store(StoreError::Vanished(vanished))
        | Error::Runtime(RuntimeError::Vanished(vanished)) => Ok(vanished),
        Error::Unpack(UnpackError { archive, problem }) => match *problem {
            Problem::Vanished(vanished) => Ok(vanished),
            problem => Err(UnpackError { archive, problem: Box::new(problem) }.into()),
        },
        Error::Store(StoreError::BlobMissing { blob, name }) => {
            of_blob(Fate::Vanished, blob, &name)
        }
        Error::Store(StoreError::BlobDamaged { path, reason }) => match blob_of(&path) {
            Some(blob) => {
                let file =
                    VanishedFile { blob: Some(blob), ..VanishedFile::at(Fate::Changed, &path) };
                Ok(Vanished::file(file, IN_THE_STORE))
            }
            None => Err(StoreError::BlobDamaged { path, reason }.into()),
        },
        Error::Runtime(RuntimeError::Binary(BinaryError::Read { path, source })) => {
            let gone = source.kind() == std::io::ErrorKind::NotFound;
            match Fate::told_by_reading(&source) {
                _ if gone => {
                    let blob = blob_of(&path);
                    let file = VanishedFile { blob, ..VanishedFile::at(Fate::Vanished, &path) };
                    Ok(Vanished::file(file, IN_THE_STORE))
                }
                Some(fate) => Ok(Vanished::answered(fate, "read", &path, source)),
                None => Err(RuntimeError::Binary(BinaryError::Read { path, source }).into()),
            }
        }
        error => Err(error),
    }
}

impl Error {
    /// The files that vanished, where this error is about such.
    pub fn vanished(&self) -> Vec<&VanishedFile> {
        match self {
            Self::Vanished(vanished)
            | Self::Store(StoreError::Vanished(vanished))
            | Self::Runtime(RuntimeError::Vanished(vanished))
            | Self::Fetch(crate::fetch::FetchError::Vanished(vanished)) => {
                vanished.files.iter().collect()
            }
            Self::Unpack(UnpackError { problem, .. }) => match &**problem {
                Problem::Vanished(vanished) => vanished.files.iter().collect(),
                _ => Vec::new(),
            },
            Self::Several { errors } => errors.iter().flat_map(Self::vanished).collect(),
            _ => Vec::new(),
        }
    }

    /// Says which archive it is about, where an archive itself vanished.
    pub(super) fn of_archive(self, origin: &Origin) -> Self {
        let told = |mut found: Box<Vanished>| {
            for file in &mut found.files {
                // A content that was being unpacked has a path in the package.
                let path_in_package = file.path.clone();
                let origin = Origin { path_in_package, ..origin.clone() };
                file.origin.get_or_insert(origin);
            }
            Self::Vanished(found)
        };
        match self {
            Self::Fetch(crate::fetch::FetchError::Vanished(found)) => told(found),
            error => match vanished(error) {
                Ok(found) => told(found),
                Err(error) => error,
            },
        }
    }
}
