//! How contents reach the disk before anything says that they exist.
//!
//! Linux: one `syncfs` for everything that was staged; errors of writing back since the store was
//! opened come out of it, and one error makes all later barriers fail. Windows: each file is
//! flushed when it is finished, and renames are written through.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::error::{At, Result, StoreError};

/// Whether files must be flushed one by one, because there is no barrier for all.
pub(super) const FLUSH_EACH: bool = cfg!(not(target_os = "linux"));

/// The barrier of one store.
pub(super) struct Barrier {
    /// Opened before anything is written, so that it sees every error of writing back since.
    directory: Option<File>,
    failed: Mutex<bool>,
    /// Whether names were given, or found that another process gave, since the last wait.
    unsettled: AtomicBool,
}

impl Barrier {
    /// A barrier for the file system that this directory lies on.
    pub(super) fn new(directory: &Path) -> Result<Self> {
        let directory =
            if FLUSH_EACH { None } else { Some(File::open(directory).at("open", directory)?) };
        Ok(Self { directory, failed: Mutex::new(false), unsettled: AtomicBool::new(false) })
    }

    /// Waits until everything written so far is on the disk; how long that took.
    pub(super) fn wait(&self, store: &Path) -> Result<Duration> {
        let begun = Instant::now();
        let mut failed = self.failed.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        self.unsettled.store(false, Ordering::Release);
        if *failed {
            let source = io::Error::other("an earlier write to this disk failed");
            return Err(StoreError::io("write to the disk", store, source));
        }
        if let Some(directory) = &self.directory
            && let Err(error) = sync_file_system(directory)
        {
            *failed = true;
            return Err(StoreError::io("write to the disk", store, error));
        }
        Ok(begun.elapsed())
    }
}

impl Barrier {
    /// Says that names may not be on the disk that something is about to rest on.
    pub(super) fn unsettle(&self) {
        self.unsettled.store(true, Ordering::Release);
    }

    /// Waits where names may not be on the disk yet. Some file systems (btrfs) write a file that is
    /// synced before names that were given earlier elsewhere.
    pub(super) fn settle(&self, store: &Path) -> Result<()> {
        if self.unsettled.load(Ordering::Acquire) {
            self.wait(store)?;
        }
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn is_settled(&self) -> bool {
        !self.unsettled.load(Ordering::Acquire)
    }
}

#[cfg(target_os = "linux")]
fn sync_file_system(directory: &File) -> io::Result<()> {
    Ok(rustix::fs::syncfs(directory)?)
}

#[cfg(not(target_os = "linux"))]
fn sync_file_system(_directory: &File) -> io::Result<()> {
    Ok(())
}

/// Waits until the names in a directory are on the disk. On Windows renames are written through.
pub(super) fn sync_directory(path: &Path) -> Result<()> {
    #[cfg(unix)]
    File::open(path).and_then(|directory| directory.sync_all()).at("write to the disk", path)?;
    #[cfg(windows)]
    let _ = path;
    Ok(())
}

/// Makes a file that must not be there yet, with this mode on Unix, and waits until it is on disk.
pub(super) fn write_synced(path: &Path, content: &[u8], mode: u32) -> Result<()> {
    let mut file = create_new(path, mode).at("create", path)?;
    file.write_all(content).at("write", path)?;
    file.sync_all().at("write to the disk", path)
}

/// Makes a file for writing that must not be there yet; its mode is this one, whatever the umask.
pub(super) fn create_new(path: &Path, mode: u32) -> io::Result<File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    let file = options.open(path)?;
    // The umask rarely takes a bit of it: looking costs less than setting.
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::mode(&file.metadata()?) & 0o7777 != mode {
        set_mode(&file, mode)?;
    }
    Ok(file)
}

/// Sets the mode of an open file on Unix.
pub(super) fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(mode))?;
    #[cfg(windows)]
    let _ = (file, mode);
    Ok(())
}

/// Gives a staged file its name if nothing has that name yet; whether it did. The directory is made
/// when it is missing.
pub(super) fn rename_new(from: &Path, to: &Path) -> io::Result<bool> {
    with_parent(to, || match super::retry::retried_rename(|| rename_exclusively(from, to)) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    })
}

/// Gives a staged file its name, replacing what has that name. The directory is made when it is
/// missing.
pub(super) fn rename_over(from: &Path, to: &Path) -> io::Result<()> {
    with_parent(to, || super::retry::retried_rename(|| rename_replacing(from, to)))
}

/// Most directories are there: they are made only after the first failure.
pub(super) fn with_parent<T>(
    path: &Path,
    mut work: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    match work() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if let Some(parent) = path.parent() {
                super::layout::make_directory(parent).map_err(super::error::into_io)?;
            }
            work()
        }
        other => other,
    }
}

#[cfg(target_os = "linux")]
fn rename_exclusively(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // A file system without this kind of rename: replacing a blob by its equal harms nothing.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
            if to.symlink_metadata().is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            fs::rename(from, to)
        }
        other => Ok(other?),
    }
}

#[cfg(all(unix, not(target_os = "linux")))]
fn rename_exclusively(from: &Path, to: &Path) -> io::Result<()> {
    if to.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    fs::rename(from, to)
}

#[cfg(unix)]
fn rename_replacing(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

#[cfg(windows)]
fn rename_exclusively(from: &Path, to: &Path) -> io::Result<()> {
    move_file(from, to, windows_sys::Win32::Storage::FileSystem::MOVEFILE_WRITE_THROUGH)
}

/// Written through where nobody has the old file open; else with POSIX semantics, as std does it.
#[cfg(windows)]
fn rename_replacing(from: &Path, to: &Path) -> io::Result<()> {
    use windows_sys::Win32::Storage::FileSystem::{
        MOVEFILE_REPLACE_EXISTING, MOVEFILE_WRITE_THROUGH,
    };
    move_file(from, to, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH)
        .or_else(|_| fs::rename(from, to))
}

#[cfg(windows)]
fn move_file(from: &Path, to: &Path, flags: u32) -> io::Result<()> {
    use std::os::windows::ffi::OsStrExt;
    let wide = |path: &Path| -> io::Result<Vec<u16>> {
        // The verbatim form lifts the limit of 260 characters.
        let absolute = std::path::absolute(path)?;
        let text = absolute.as_os_str();
        let verbatim = text.to_string_lossy().starts_with(r"\\");
        let prefix = if verbatim { "" } else { r"\\?\" };
        Ok(prefix.encode_utf16().chain(text.encode_wide()).chain([0]).collect())
    };
    let (from, to) = (wide(from)?, wide(to)?);
    // SAFETY: both texts end with a zero unit and live until the call returns.
    let moved = unsafe {
        windows_sys::Win32::Storage::FileSystem::MoveFileExW(from.as_ptr(), to.as_ptr(), flags)
    };
    if moved == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
