//! Whether what a run needs is still where it was put: looked for after placing and before the
//! start, when the start fails, and after a program ended badly.

use std::io::{self, ErrorKind};
use std::path::Path;

use rayon::prelude::*;

use super::directory::FILES_FOR_THREADS;
use super::error::{Result, RuntimeError};
use super::plan::{Plan, PlannedFile, PlannedKind};
use crate::model::{Fate, Vanished, VanishedFile};

/// What the names of programs and libraries end in, beside Linux's `.so.1.2`.
const LOADED: [&str; 7] = [".exe", ".dll", ".sys", ".ocx", ".pyd", ".so", ".com"];

/// Files of `app/` that are not there, or of another size. Where a program may have `used` it
/// before, what that may write or replace is its own affair.
pub(super) fn absent_from_app<'p>(
    plan: &'p Plan,
    app: &Path,
    used: bool,
) -> Vec<(&'p PlannedFile, Fate)> {
    let look = |file: &'p PlannedFile| {
        if file.blob.is_none() || (used && file.writable) {
            return None;
        }
        absent(file, app).filter(|fate| !used || *fate == Fate::Vanished).map(|fate| (file, fate))
    };
    if plan.files.len() > FILES_FOR_THREADS {
        plan.files.par_iter().filter_map(look).collect()
    } else {
        plan.files.iter().filter_map(look).collect()
    }
}

fn absent(file: &PlannedFile, root: &Path) -> Option<Fate> {
    match file.path.at(root).symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => Some(Fate::Vanished),
        Err(_) => None, // Whoever opens it is told why.
        Ok(there) if is_file(file) && there.len() != file.size => Some(Fate::Changed),
        Ok(_) => None,
    }
}

fn is_file(file: &PlannedFile) -> bool {
    matches!(file.kind, PlannedKind::File | PlannedKind::Executable)
}

fn all_absent(plan: &Plan, app: &Path, environment: &Path, used: bool) -> Vec<VanishedFile> {
    let of = |(file, fate): (&PlannedFile, Fate), root: &Path| VanishedFile {
        file: Some(file.path.at(root)),
        ..VanishedFile::of(fate, &file.path, file.blob)
    };
    let there =
        plan.environment_files.iter().filter_map(|file| Some((file, absent(file, environment)?)));
    let there = there.map(|found| of(found, environment));
    let found = absent_from_app(plan, app, used).into_iter().map(|found| of(found, app));
    found.chain(there).collect()
}

/// Refuses to start a program without what it needs.
pub(super) fn check_present(plan: &Plan, app: &Path, environment: &Path, used: bool) -> Result<()> {
    let gone = all_absent(plan, app, environment, used);
    if gone.is_empty() {
        return Ok(());
    }
    Err(RuntimeError::Vanished(Vanished::files(gone, "before it was started")))
}

/// An error of the start, told as what it comes from where files of the run are gone.
pub(super) fn explained(
    error: RuntimeError,
    plan: &Plan,
    app: &Path,
    environment: &Path,
    used: bool,
) -> RuntimeError {
    match error {
        RuntimeError::Start { path, source } => {
            let gone = all_absent(plan, app, environment, used);
            if gone.is_empty() {
                return RuntimeError::Start { path, source };
            }
            let mut vanished = Vanished::files(gone, "before it could be started");
            vanished.source = Some(source);
            RuntimeError::Vanished(vanished)
        }
        RuntimeError::Vanished(mut vanished) => {
            for file in &mut vanished.files {
                let planned = plan.files.iter().find(|planned| {
                    file.file.as_ref().is_some_and(|file| *file == planned.path.at(app))
                });
                if let Some(planned) = planned {
                    file.path.get_or_insert_with(|| planned.path.clone());
                    file.blob = file.blob.or(planned.blob);
                }
            }
            RuntimeError::Vanished(vanished)
        }
        error => error,
    }
}

/// Programs and libraries that are gone after a program ended badly. What else is missing it may
/// have removed itself.
pub(super) fn vanished_meanwhile(plan: &Plan, app: &Path, environment: &Path) -> Vec<VanishedFile> {
    let mut gone = all_absent(plan, app, environment, true);
    gone.retain(|file| file.what == Fate::Vanished && is_loaded(file, plan));
    gone
}

fn is_loaded(file: &VanishedFile, plan: &Plan) -> bool {
    let Some(path) = &file.path else { return false };
    let name = path.file_name().to_ascii_lowercase();
    let executable =
        |planned: &PlannedFile| planned.path == *path && planned.kind == PlannedKind::Executable;
    LOADED.iter().any(|ending| name.ends_with(ending))
        || name.contains(".so.")
        || plan.files.iter().any(executable)
}

/// Why the system did not start a program.
pub(super) fn not_started(path: &Path, source: io::Error) -> RuntimeError {
    if source.kind() == ErrorKind::NotFound && !path.exists() {
        let file = VanishedFile::at(Fate::Vanished, path);
        return RuntimeError::Vanished(Vanished::file(file, "before it could be started"));
    }
    match Fate::told_by_reading(&source).filter(|_| path.is_file()) {
        Some(fate) => RuntimeError::Vanished(Vanished::answered(fate, "start", path, source)),
        None => RuntimeError::Start { path: path.to_owned(), source },
    }
}
