//! How a planned file comes to its place: what this room asks of whoever keeps contents.

use std::error::Error;
use std::path::Path;

use crate::model::{BlobId, Kind, Vanished};
use crate::store::{Checked, Store, StoreError};

/// Places contents outside the store. Used by several threads at once.
pub trait Placer: Sync {
    /// Places one file or link at a path whose directory exists and where nothing is. A file the
    /// program may write is a copy of its own.
    fn place(
        &self,
        kind: Kind,
        blob: &BlobId,
        size: u64,
        target: &Path,
        writable: bool,
    ) -> Result<(), PlaceError>;
}

/// Why a file could not be placed.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// Its content is gone.
    #[error("its content is missing")]
    Missing,
    /// Its content is not what it was.
    #[error("its content was changed in the store")]
    Changed,
    /// Another program holds it back.
    #[error(transparent)]
    Vanished(Box<Vanished>),
    /// Anything else.
    #[error(transparent)]
    Failed(Box<dyn Error + Send + Sync>),
}

impl Placer for Store {
    fn place(
        &self,
        kind: Kind,
        blob: &BlobId,
        size: u64,
        target: &Path,
        writable: bool,
    ) -> Result<(), PlaceError> {
        // Somebody may have written through a link. A look at size and time tells, so that each run
        // can afford it; an empty file is made anew, not linked.
        if kind.is_file()
            && size > 0
            && self.check_blob(kind, blob, size).map_err(failed)? == Checked::Changed
        {
            return Err(PlaceError::Changed);
        }
        Self::place(self, kind, blob, size, target, writable).map(drop).map_err(failed)
    }
}

fn failed(error: StoreError) -> PlaceError {
    match error {
        StoreError::Vanished(vanished) => PlaceError::Vanished(vanished),
        StoreError::BlobMissing { .. } => PlaceError::Missing,
        error if says_not_found(&error) => PlaceError::Missing,
        error => PlaceError::Failed(error.into()),
    }
}

/// Whether the system's answer at the bottom of an error is that a file is not there. The target's
/// directory was just made, so it is the content that is missing.
fn says_not_found(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let io = error.downcast_ref::<std::io::Error>();
        if io.is_some_and(|io| io.kind() == std::io::ErrorKind::NotFound) {
            return true;
        }
        cause = error.source();
    }
    false
}
