//! Who keeps what: generations, registered locks, runtime directories and running processes, each
//! with a name that people understand.

use std::path::Path;

use super::error::{Result, StoreError};
use super::layout::Layout;
use super::listing::directories;
use super::lock_file;
use super::places::read_directory;
use super::roots::{Root, read_roots};
use super::session::{lock_path, roots_path, session_ids};

/// One that keeps something, and what.
pub(super) struct Holder {
    /// `generation 3 of cuda-on-amd (project …)`.
    pub(super) name: String,
    /// The file that says so.
    pub(super) path: std::path::PathBuf,
    pub(super) roots: Vec<Root>,
    /// Whether what it names must be there. A running process also names what it is about to make.
    pub(super) strict: bool,
}

/// Generations and registered locks, then runtime directories.
pub(super) fn lasting(layout: &Layout) -> Vec<Result<Holder>> {
    let mut found = Vec::new();
    for (project, path) in or_error(directories(&layout.directory("environments")), &mut found) {
        for (environment, path) in or_error(directories(&path), &mut found) {
            let of = format!("{environment} ({})", whose(&project, &path));
            add(&mut found, &path, format!("the registered lock of {of}"));
            for (generation, path) in or_error(directories(&path), &mut found) {
                // One that is being written or removed has another name, and needs nothing: what it
                // will need is kept by the process that writes it.
                if !generation.is_empty() && generation.bytes().all(|byte| byte.is_ascii_digit()) {
                    add(&mut found, &path, format!("generation {generation} of {of}"));
                }
            }
        }
    }
    for (project, path) in or_error(directories(&layout.directory("runtimes")), &mut found) {
        for (application, path) in or_error(directories(&path), &mut found) {
            for (runtime, path) in or_error(directories(&path), &mut found) {
                let live = lock_file::is_held(&path.join("lease")).unwrap_or(true);
                let state = if live { "running" } else { "kept" };
                let name = format!(
                    "the {state} runtime directory {runtime} of {application} (project {project})"
                );
                let before = found.len();
                add(&mut found, &path, name);
                // Nothing of it was ever synced, so a crash may have left any bytes; and what it
                // holds are links of its own, which need no name in the store.
                if !live && found.get(before).is_some_and(Result::is_err) {
                    found.truncate(before);
                }
                if let Some(Ok(holder)) = found.get_mut(before) {
                    holder.strict = live;
                }
            }
        }
    }
    found
}

/// Whose an environment is, in words: the directory of its project, where that is written down.
fn whose(project: &str, environment: &Path) -> String {
    match read_directory(environment) {
        Some(directory) if directory.is_dir() => format!("project in {}", directory.display()),
        Some(directory) => format!("project in {}, which is gone", directory.display()),
        None => format!("project {project}"),
    }
}

/// The processes that use the store now. To be called under the exclusive gc lock, which keeps
/// them from adding roots, and before [`lasting`]: a process that ends meanwhile has written its
/// generation or runtime directory by then.
pub(super) fn running(layout: &Layout) -> Result<Vec<Holder>> {
    let mut found = Vec::new();
    for id in session_ids(layout)? {
        let path = roots_path(layout, &id);
        if lock_file::is_held(&lock_path(layout, &id))?
            && let Some(roots) = read_if_there(&path)?
        {
            let name = "a drystone that is running now".to_owned();
            found.push(Holder { name, roots, path, strict: false });
        }
    }
    Ok(found)
}

fn add(found: &mut Vec<Result<Holder>>, directory: &Path, name: String) {
    let path = directory.join("roots");
    match read_if_there(&path) {
        Ok(None) => {}
        Ok(Some(roots)) => found.push(Ok(Holder { name, path, roots, strict: true })),
        Err(error) => found.push(Err(error)),
    }
}

/// The roots in a file; none where it is gone, perhaps since a moment ago.
fn read_if_there(path: &Path) -> Result<Option<Vec<Root>>> {
    let is_gone = || -> Result<bool> { Ok(super::reading::metadata(path)?.is_none()) };
    if is_gone()? {
        return Ok(None);
    }
    match read_roots(path) {
        Ok(roots) => Ok(Some(roots)),
        Err(StoreError::Roots { .. }) if is_gone()? => Ok(None),
        Err(error) => Err(error),
    }
}

fn or_error<T>(listed: Result<Vec<T>>, found: &mut Vec<Result<Holder>>) -> Vec<T> {
    listed.unwrap_or_else(|error| {
        found.push(Err(error));
        Vec::new()
    })
}
