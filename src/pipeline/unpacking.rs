//! Packages' archives become trees: those the store has are taken, the others unpacked.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::archives::Archives;
use super::{Error, Result};
use crate::lock::{Lock, LockedPackage};
use crate::model::{Family, Name, Platform, Progress, Tree};
use crate::store::{Staging, Store, UnpackRecord};
use crate::unpack::unpack;

/// The trees of a selection, and what was unpacked for them: staged, not yet committed.
pub(super) struct Unpacked {
    pub trees: BTreeMap<Name, Tree>,
    pub records: Vec<UnpackRecord>,
}
