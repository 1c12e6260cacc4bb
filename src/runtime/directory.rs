//! Making a runtime directory: its lease first, then its record and roots, then what it holds.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::environment_variables::below_home;
use super::error::{Context, Result, RuntimeError};
use super::lease::Lease;
use super::placer::{PlaceError, Placer};
use super::plan::{Plan, PlannedFile};
use super::presence::absent_from_app;
use super::record::Record;
use crate::disk;
use crate::model::{Family, Fate, Kind, Name, TreePath, Vanished, VanishedFile};

/// With more files than this, several threads place them: starting threads costs more before.
pub(super) const FILES_FOR_THREADS: usize = 256;

/// A runtime directory whose lease this process holds.
pub(super) struct RuntimeDirectory {
    pub(super) path: PathBuf,
    pub(super) id: String,
    pub(super) lease: Lease,
    pub(super) record: Record,
    /// Whether a program may have changed `app/` already.
    pub(super) used: bool,
}

impl RuntimeDirectory {
    pub(super) fn app(&self) -> PathBuf {
        self.path.join("app")
    }

    pub(super) fn home(&self) -> PathBuf {
        self.path.join("home")
    }

    pub(super) fn tmp(&self) -> PathBuf {
        self.path.join("tmp")
    }

    /// Makes a fresh directory for a plan below `runtimes`, the directory of its application.
    /// `roots` is the text of what gc must keep for it. A failure leaves nothing.
    pub(super) fn create(
        runtimes: &Path,
        plan: &Plan,
        discard: bool,
        roots: &str,
        placer: &dyn Placer,
    ) -> Result<Self> {
        let record = Record::new(plan, None, discard);
        Self::create_under(lock(runtimes)?, runtimes, plan, record, roots, placer)
    }

    fn create_under(
        guard: File,
        runtimes: &Path,
        plan: &Plan,
        record: Record,
        roots: &str,
        placer: &dyn Placer,
    ) -> Result<Self> {
        let (id, path) = fresh(runtimes)?;
        let taken = Lease::take(&path).context("take the lease of", &path)?;
        let lease = taken.ok_or_else(|| RuntimeError::InUse {
            name: id.clone(),
            application: plan.application.clone(),
        })?;
        let mut made = Self { path, id, lease, record, used: false };
        if made.record.name.is_some() {
            // Under the lock, so that nobody else makes one of this name.
            made.record.write(&made.path)?;
        }
        drop(guard);
        match made.fill(plan, roots, placer) {
            Ok(()) => Ok(made),
            Err(error) => {
                let path = made.path.clone();
                drop(made);
                // The failure that led here is the one to tell; a later run sweeps what stays.
                let _ = disk::remove_tree(&path);
                Err(error)
            }
        }
    }

    /// Takes the directory kept under a name, or makes it. `app/` is made anew when the plan is
    /// another one, `tmp/` always, `home/` stays.
    pub(super) fn create_named(
        runtimes: &Path,
        plan: &Plan,
        name: &Name,
        roots: &str,
        placer: &dyn Placer,
    ) -> Result<Self> {
        let guard = lock(runtimes)?;
        let existing = entries(runtimes)?.into_iter().find(|(_, path)| {
            Record::read(path).is_some_and(|record| record.name.as_ref() == Some(name))
        });
        let Some((id, path)) = existing else {
            let record = Record::new(plan, Some(name), false);
            return Self::create_under(guard, runtimes, plan, record, roots, placer);
        };
        let taken = Lease::take(&path).context("take the lease of", &path)?;
        let lease = taken.ok_or_else(|| RuntimeError::InUse {
            name: name.to_string(),
            application: plan.application.clone(),
        })?;
        drop(guard);
        let before = Record::read(&path).and_then(|record| record.plan);
        let mut record = Record::new(plan, Some(name), false);
        record.plan = before;
        let mut found = Self { path, id, lease, record, used: false };
        let tmp = found.tmp();
        disk::remove_tree(&found.output())?;
        disk::remove_tree(&tmp)?;
        if found.record.plan == Some(plan.digest()?) && found.app().is_dir() {
            make_directory(&tmp)?;
            // What a run needs may have been taken away since the last one.
            let gone = absent_from_app(plan, &found.app(), true);
            let gone: Vec<PlannedFile> = gone.into_iter().map(|(file, _)| file.clone()).collect();
            place_all(&found.app(), &gone, placer)?;
            found.record.write(&found.path)?;
            found.used = true;
            return Ok(found);
        }
        found.record.plan = None;
        found.record.write(&found.path)?;
        let app = found.app();
        disk::remove_tree(&app)?;
        found.fill(plan, roots, placer)?;
        Ok(found)
    }

    /// Notes that nobody will wait for the program.
    pub(super) fn detach(&mut self) -> Result<()> {
        self.record.detached = true;
        self.record.write(&self.path)
    }

    /// What a detached program says.
    pub(super) fn output(&self) -> PathBuf {
        self.path.join("output.txt")
    }

    fn fill(&mut self, plan: &Plan, roots: &str, placer: &dyn Placer) -> Result<()> {
        let roots_path = self.path.join("roots");
        // Under another name first: gc never sees half of it.
        let staged = self.path.join("roots.new");
        std::fs::write(&staged, roots).context("write", &staged)?;
        disk::rename(&staged, &roots_path).context("rename to", &roots_path)?;
        for directory in [self.app(), self.home(), self.tmp()] {
            make_directory(&directory)?;
        }
        if plan.platform.family() == Family::Windows {
            // Windows programs take these for granted; those of Linux make theirs.
            for (_, parts) in below_home(Family::Windows) {
                let mut directory = self.home();
                for part in *parts {
                    directory.push(part);
                    make_directory(&directory)?;
                }
            }
        }
        place_all(&self.app(), &plan.files, placer)?;
        self.record.plan = Some(plan.digest()?);
        self.record.write(&self.path)
    }
}

/// Holds `.lock` of an application's runtimes while directories appear or go. Held for moments only.
pub(super) fn lock(runtimes: &Path) -> Result<File> {
    let path = runtimes.join(".lock");
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(&path).context("open", &path)?;
    file.lock().context("lock", &path)?;
    Ok(file)
}

/// The runtime directories of an application by id, sorted.
pub(super) fn entries(runtimes: &Path) -> Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(runtimes).context("list", runtimes)? {
        let entry = entry.context("list", runtimes)?;
        let is_directory = entry.file_type().context("look at", &entry.path())?.is_dir();
        let Ok(id) = entry.file_name().into_string() else { continue };
        if is_directory && !id.starts_with('.') {
            found.push((id, entry.path()));
        }
    }
    found.sort();
    Ok(found)
}

/// Makes a directory with a random id that no other has.
fn fresh(runtimes: &Path) -> Result<(String, PathBuf)> {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    loop {
        let mut random = [0u8; 8];
        getrandom::fill(&mut random).map_err(std::io::Error::other).context("name", runtimes)?;
        let letter = |byte: &u8| char::from(LETTERS[usize::from(byte % 32)]);
        let id: String = random.iter().map(letter).collect();
        let path = runtimes.join(&id);
        match builder().create(&path) {
            Ok(()) => return Ok((id, path)),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).context("make", &path),
        }
    }
}

/// Makes directories that only their owner may enter.
fn builder() -> std::fs::DirBuilder {
    #[allow(unused_mut, reason = "only Unix has modes to set")]
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

fn make_directory(path: &Path) -> Result<()> {
    match builder().create(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        other => other.context("make", path),
    }
}

fn place_all(app: &Path, files: &[PlannedFile], placer: &dyn Placer) -> Result<()> {
    let mut directories: BTreeSet<&str> = BTreeSet::new();
    for file in files {
        directories.extend(file.path.ancestors());
        if Kind::from(file.kind) == Kind::Directory {
            directories.insert(file.path.as_str());
        }
    }
    // Sorted, a directory comes before what it holds.
    for directory in directories {
        make_directory(&app.join(directory))?;
    }
    let place = |file: &PlannedFile| place_one(app, file, placer);
    if files.len() > FILES_FOR_THREADS {
        files.par_iter().try_for_each(place)
    } else {
        files.iter().try_for_each(place)
    }
}

fn place_one(app: &Path, file: &PlannedFile, placer: &dyn Placer) -> Result<()> {
    let Some(blob) = &file.blob else { return Ok(()) };
    let path: &TreePath = &file.path;
    let file_of = |what| VanishedFile::of(what, path, Some(*blob));
    placer.place(file.kind.into(), blob, file.size, &path.at(app), file.writable).map_err(|error| {
        match error {
            PlaceError::Missing => RuntimeError::Vanished(Vanished::file(
                file_of(Fate::Vanished),
                "from the store since it was built",
            )),
            PlaceError::Changed => RuntimeError::Vanished(Vanished::file(
                file_of(Fate::Changed),
                "in the store since it was built",
            )),
            PlaceError::Vanished(mut vanished) => {
                for there in &mut vanished.files {
                    there.path.get_or_insert_with(|| path.clone());
                    there.blob.get_or_insert(*blob);
                }
                RuntimeError::Vanished(vanished)
            }
            PlaceError::Failed(source) => RuntimeError::Place { path: path.clone(), source },
        }
    })
}
