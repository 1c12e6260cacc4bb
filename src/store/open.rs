//! Opening a store: what kind of directory it is, whose, and what this process may do with it.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::disk::{self, machine_path};

use super::barrier::Barrier;
use super::error::{At, Result, StoreError};
use super::filesystem;
use super::format::Format;
use super::layout::{DIRECTORIES, KEPT_OUT_OF_GIT, Layout, random_id};
use super::link::{Degradations, LinkLimit};
use super::lock_file::{self, Mode};
use super::owner;
use super::session::Session;
use super::trusted::Trusted;

/// How a store is opened.
#[derive(Debug, Clone, Default)]
pub struct StoreOptions {
    /// Take network file systems and exFAT all the same.
    pub unsafe_filesystem: bool,
}

/// An open store. Opening starts a session: a locked roots file that protects from gc whatever
/// this process asks for. Shared between threads by reference (`Sync`).
pub struct Store {
    layout: Layout,
    format: Format,
    access: Access,
    degradations: Degradations,
    link_limit: LinkLimit,
    trusted: Trusted,
}

/// What this process may do with the store.
enum Access {
    /// Everything.
    Write { session: Arc<Session>, barrier: Arc<Barrier> },
    /// Reading; the message says why no more.
    Read(Box<dyn Fn() -> StoreError + Send + Sync>),
}

impl Store {
    /// Opens the store at this directory, making it if there is none. Another user's store, and one
    /// on a read-only file system, are opened for reading: what would write says why it can't.
    pub fn open(root: &Path, options: &StoreOptions) -> Result<Self> {
        // Absolute, because the program may change its directory, and without links, so that
        // expanded plans name it in one way.
        let root = machine_path(root).at("find", root)?;
        if let Some(store) = Self::open_existing(&root, options)? {
            return Ok(store);
        }
        create(&root, options)?;
        match Self::open_existing(&root, options)? {
            Some(store) => Ok(store),
            None => Err(StoreError::FormatMissing { path: root }),
        }
    }

    /// Opens the store at this directory if there is one.
    pub fn open_existing(root: &Path, options: &StoreOptions) -> Result<Option<Self>> {
        let layout = Layout::new(machine_path(root).at("find", root)?);
        let Some(format) = Format::read(&layout)? else { return Ok(None) };
        Self::assemble(layout, format, options).map(Some)
    }

    /// Opens a store whose `format` is known.
    pub(super) fn assemble(layout: Layout, format: Format, options: &StoreOptions) -> Result<Self> {
        if !options.unsafe_filesystem {
            filesystem::check(layout.root())?;
        }
        let access = access(&layout, &format)?;
        Ok(Self {
            layout,
            format,
            access,
            degradations: Degradations::default(),
            link_limit: LinkLimit::default(),
            trusted: Trusted::default(),
        })
    }

    /// Writes `format` as it was when the store was opened.
    pub(super) fn rewrite_format(&self) -> Result<()> {
        let staging = self.session()?.staging_path()?;
        disk::make_directory(&staging)?;
        self.format.write(&self.layout, &staging)?;
        disk::retried(&staging, || fs::remove_dir(&staging)).at("remove", &staging)
    }

    /// The store's directory.
    pub fn root(&self) -> &Path {
        self.layout.root()
    }

    /// The store's random id.
    pub fn id(&self) -> &str {
        &self.format.id
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(super) fn degradations(&self) -> &Degradations {
        &self.degradations
    }

    pub(super) fn trusted(&self) -> &Trusted {
        &self.trusted
    }

    pub(super) fn link_limit(&self) -> LinkLimit {
        self.link_limit
    }

    #[cfg(test)]
    pub(super) fn set_link_limit(&mut self, limit: LinkLimit) {
        self.link_limit = limit;
    }

    /// The session, or why there is none.
    pub(super) fn session(&self) -> Result<&Session> {
        match &self.access {
            Access::Write { session, .. } => Ok(session),
            Access::Read(why) => Err(why()),
        }
    }

    pub(super) fn shared_session(&self) -> Result<Arc<Session>> {
        match &self.access {
            Access::Write { session, .. } => Ok(Arc::clone(session)),
            Access::Read(why) => Err(why()),
        }
    }

    pub(super) fn barrier(&self) -> Result<&Arc<Barrier>> {
        match &self.access {
            Access::Write { barrier, .. } => Ok(barrier),
            Access::Read(why) => Err(why()),
        }
    }
}

fn access(layout: &Layout, format: &Format) -> Result<Access> {
    let root = layout.root().to_path_buf();
    if format.check_writable(&root).is_err() {
        let format = format.clone();
        return Ok(Access::Read(Box::new(move || {
            format
                .check_writable(&root)
                .err()
                .unwrap_or(StoreError::FormatMissing { path: root.clone() })
        })));
    }
    let user = owner::current()?;
    if format.owner != user {
        let owner = format.owner.clone();
        return Ok(Access::Read(Box::new(move || StoreError::OtherOwner {
            path: root.clone(),
            owner: owner.clone(),
            user: user.clone(),
        })));
    }
    let barrier = Arc::new(Barrier::new(&root)?);
    match Session::start(layout) {
        Ok(session) => Ok(Access::Write { session: Arc::new(session), barrier }),
        Err(error @ (StoreError::ReadOnly { .. } | StoreError::Permission { .. })) => {
            let reason = error.to_string();
            Ok(Access::Read(Box::new(move || StoreError::ReadingOnly {
                path: root.clone(),
                reason: reason.clone(),
            })))
        }
        Err(error) => Err(error),
    }
}

/// Makes a store in a directory that is empty, does not exist, or was left half made.
fn create(root: &Path, options: &StoreOptions) -> Result<()> {
    check_unused(root)?;
    disk::make_directories(root)?;
    if !options.unsafe_filesystem {
        filesystem::check(root)?;
    }
    let layout = Layout::new(root.to_path_buf());
    disk::make_directory(&layout.directory("locks"))?;
    // Two processes may make it at the same time; the second finds it made.
    let lock = layout.lock("gc");
    let _lock = lock_file::acquire(&lock, Mode::Exclusive, "the new store", &lock_file::Told)?;
    if Format::read(&layout)?.is_some() {
        return Ok(());
    }
    set_private(root)?;
    for directory in DIRECTORIES {
        disk::make_directory(&layout.directory(directory))?;
    }
    disk::make_directory(&layout.sessions())?;
    let staging = layout.staging(&random_id()?);
    disk::make_directory(&staging)?;
    Format::new(random_id()?, owner::current()?).write(&layout, &staging)?;
    disk::retried(&staging, || fs::remove_dir(&staging)).at("remove", &staging)
}

fn set_private(root: &Path) -> Result<()> {
    #[cfg(unix)]
    fs::set_permissions(root, std::os::unix::fs::PermissionsExt::from_mode(0o700))
        .at("set the mode of", root)?;
    #[cfg(windows)]
    let _ = root;
    Ok(())
}

/// Refuses a directory that holds anything that does not look like a store being made.
fn check_unused(root: &Path) -> Result<()> {
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(StoreError::io("list", root, error)),
    };
    for entry in entries {
        let name = entry.at("list", root)?.file_name();
        if name == "format" || name == KEPT_OUT_OF_GIT {
            continue; // Another process made the store just now.
        }
        let Some(name) = name.to_str().filter(|name| DIRECTORIES.contains(name)) else {
            let found = name.to_string_lossy().into_owned();
            return Err(StoreError::NotAStore { path: root.to_path_buf(), found });
        };
        let used = !matches!(name, "locks" | "tmp")
            && fs::read_dir(root.join(name)).is_ok_and(|mut below| below.next().is_some());
        // Without `format`, nobody knows by which rules these contents came here.
        if used && !root.join("format").exists() {
            return Err(StoreError::FormatMissing { path: root.to_path_buf() });
        }
    }
    Ok(())
}
