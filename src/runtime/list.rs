//! `runtime list` and `runtime remove`: the runtime directories of a project.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::directory::{entries, lock};
use super::error::{Context, Result, RuntimeError, nearest};
use super::keep::set_aside;
use super::record::{Record, State, state};
use crate::disk;
use crate::model::Name;

/// One runtime directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuntimeInfo {
    /// Its application.
    pub application: Name,
    /// Its id: eight characters.
    pub id: String,
    /// Its name, where it is kept by one.
    pub name: Option<Name>,
    /// What became of its run.
    pub state: State,
    /// The exit status of a finished run.
    pub status: Option<i32>,
    /// When its last run was started, as RFC 3339 in UTC; none if that is not known.
    pub started: Option<String>,
    /// Bytes it holds beyond what it shares with the store. On Windows: those of `home/` and `tmp/`.
    pub size: u64,
    /// Where it is.
    pub path: PathBuf,
}

/// The runtime directories below `project`, the directory `<store>/runtimes/<project>/`: by
/// application, the newest first. None when there is no such directory.
pub fn list(project: &Path) -> Result<Vec<RuntimeInfo>> {
    let mut found = Vec::new();
    if !project.try_exists().context("look at", project)? {
        return Ok(found);
    }
    for (application, runtimes) in entries(project)? {
        let Ok(application) = application.parse::<Name>() else { continue };
        for (id, path) in entries(&runtimes)? {
            let record = Record::read(&path);
            let (state, end) = state(&path)?;
            found.push(RuntimeInfo {
                application: application.clone(),
                id,
                name: record.as_ref().and_then(|record| record.name.clone()),
                state,
                status: end.map(|end| end.status),
                started: record.map(|record| record.started),
                size: own_size(&path),
                path,
            });
        }
    }
    found.sort_by(|a, b| {
        let applications = a.application.cmp(&b.application);
        applications.then_with(|| b.started.cmp(&a.started)).then_with(|| a.id.cmp(&b.id))
    });
    Ok(found)
}

/// What came of removing a runtime directory.
#[derive(Debug)]
pub struct Gone {
    /// Where it was.
    pub path: PathBuf,
    /// What of it another program holds open, in words. It goes at the end of a later run.
    pub remaining: Vec<String>,
}

/// Removes a runtime directory by its id or name. One in which somebody lives is refused.
pub fn remove(project: &Path, wanted: &str) -> Result<Gone> {
    let all = list(project)?;
    let by_id = all.iter().find(|info| info.id == wanted);
    let named = |info: &&RuntimeInfo| info.name.as_ref().is_some_and(|n| n.as_str() == wanted);
    let matching: Vec<&RuntimeInfo> = match by_id {
        Some(info) => vec![info],
        None => all.iter().filter(named).collect(),
    };
    let info = match matching.as_slice() {
        [] => {
            let names = all.iter().filter_map(|info| info.name.as_ref()).map(Name::as_str);
            let ids = all.iter().map(|info| info.id.as_str());
            let near = nearest(wanted, names.chain(ids));
            return Err(RuntimeError::Unknown { wanted: wanted.to_owned(), near });
        }
        [one] => *one,
        several => {
            let ids = several.iter().map(|info| format!("{} {}", info.application, info.id));
            return Err(RuntimeError::Ambiguous { wanted: wanted.to_owned(), ids: ids.collect() });
        }
    };
    let runtimes = project.join(info.application.as_str());
    let guard = lock(&runtimes)?;
    if state(&info.path)?.0 == State::Running {
        let application = info.application.clone();
        return Err(RuntimeError::InUse { name: wanted.to_owned(), application });
    }
    let remaining = match set_aside(&info.path) {
        Ok(aside) => {
            drop(guard);
            disk::remove_what_goes(&aside)?.held
        }
        // Windows moves no directory in which somebody has a file open.
        Err(error) if disk::may_be_held_open(&error) => disk::remove_what_goes(&info.path)?.held,
        Err(error) => return Err(error).context("remove", &info.path),
    };
    let path = info.path.clone();
    let remaining = remaining.iter().map(|held| format!("{held}: {}", held.source)).collect();
    Ok(Gone { path, remaining })
}

/// Bytes of the files that are this directory's own. What vanishes while counting counts nothing.
fn own_size(path: &Path) -> u64 {
    let files = walkdir::WalkDir::new(path).follow_links(false).into_iter().filter_map(Result::ok);
    files
        .filter(|entry| entry.file_type().is_file())
        .filter_map(|entry| Some((entry.metadata().ok()?, entry)))
        .filter(|(metadata, entry)| is_own(path, entry.path(), metadata))
        .map(|(metadata, _)| metadata.len())
        .sum()
}

#[cfg(unix)]
fn is_own(_directory: &Path, _path: &Path, metadata: &std::fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(metadata) == 1
}

#[cfg(not(unix))]
fn is_own(directory: &Path, path: &Path, _metadata: &std::fs::Metadata) -> bool {
    !path.starts_with(directory.join("app"))
}
