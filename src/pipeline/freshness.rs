//! Whether a lock is what the manifest asks for, and what is done where it is not.

use super::lock::relock;
use super::project::Project;
use super::{Error, Result};
use crate::catalogue::{Catalogue, local_inputs};
use crate::lock::{self, Lock};
use crate::manifest::{Application, Environment, Manifest};
use crate::model::Progress;

/// How a lock and the manifest disagree, a line each; nothing where they agree.
pub(super) fn disagreements(
    manifest: &Manifest,
    environment: &Environment,
    lock: &Lock,
) -> Result<Vec<String>> {
    let applications: Vec<_> = applications_of(manifest, environment).collect();
    let found = lock::check(lock, &local_inputs(manifest)?, environment, &applications);
    Ok(found.err().into_iter().flatten().map(|disagreement| disagreement.to_string()).collect())
}

/// The applications that run in an environment, sorted by name.
pub(super) fn applications_of<'m>(
    manifest: &'m Manifest,
    environment: &Environment,
) -> impl Iterator<Item = &'m Application> {
    let name = environment.name.clone();
    manifest.applications.values().filter(move |application| application.environment == name)
}

/// The lock to build from: the existing one where it is what the manifest asks for, else a new one;
/// with `--locked` that is an error.
pub(super) fn fresh_lock(
    project: &Project<'_>,
    manifest: &Manifest,
    catalogue: &Catalogue,
    environment: &Environment,
    progress: &dyn Progress,
) -> Result<Lock> {
    let path = project.lock_name(&environment.name);
    match project.existing_lock(&environment.name)? {
        Some(lock) => {
            let how = disagreements(manifest, environment, &lock)?;
            if how.is_empty() {
                return Ok(lock);
            }
            if project.settings.locked {
                return Err(Error::LockDisagrees { path, how });
            }
            progress.note(&format!("{path} is not what env.kdl asks for; locking again"));
        }
        None if project.settings.locked => {
            return Err(Error::LockMissing { environment: environment.name.clone(), path });
        }
        None => progress.note(&format!("{path} is missing; locking")),
    }
    relock(project, manifest, catalogue, environment, progress)
}
