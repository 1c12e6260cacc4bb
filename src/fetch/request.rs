//! What is asked of this room, where it goes, and what comes back.

use std::path::{Path, PathBuf};

use super::arriving::Arriving;
use crate::manifest::SourceUrl;
use crate::model::Sha256Digest;

/// One archive to fetch.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// What people call it, such as `zluda 6-preview.69`.
    pub label: &'a str,
    /// Mirrors, tried in order.
    pub urls: &'a [SourceUrl],
    /// What it must hash to; without it whatever comes is accepted and its hash returned.
    pub sha256: Option<Sha256Digest>,
    /// Its size in bytes, where known.
    pub size: Option<u64>,
    /// The directory that `file:` sources are relative to.
    pub directory: &'a Path,
}

/// The files of one download. Whoever makes it keeps other processes away from it, and keeps all
/// three on one file system.
#[derive(Debug, Clone)]
pub struct Place {
    /// The file downloaded into; may exist from an interrupted try, and is then continued.
    pub partial: PathBuf,
    /// What a server said of the partial file's version, so that it can be continued.
    pub validator: PathBuf,
    /// Where a file that came with the wrong hash is kept.
    pub aside: PathBuf,
}

/// What a finished download turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// The hash of the whole file; the asked one where one was asked.
    pub sha256: Sha256Digest,
    /// Its size in bytes.
    pub size: u64,
    /// The mirror that gave it; none where the whole file was here already, from an earlier run
    /// or from a path on this machine.
    pub url: Option<SourceUrl>,
}

/// Is given an archive before it is proven, so that work with it can begin: a file of this machine
/// when copying it begins, another when all of it is here. Whatever came of that work must be
/// dropped unless fetching ends well and no other archive was given meanwhile, as happens when the
/// next mirror is tried.
pub type Ahead<'a> = &'a (dyn Fn(Arriving) + Sync);
