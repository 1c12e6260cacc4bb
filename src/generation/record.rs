//! The record of one generation: `generation.json`.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::compose::PackageIdentity;
use crate::model::{BlobId, InputsDigest, Name, Platform, RootId, TreeId, TreePath};
use crate::store::Root;

use super::seal::sealed;

/// The format of records. Those of format 1 have no seal.
pub(super) const FORMAT: u64 = 2;
pub(super) const MANIFEST: &str = "manifest.kdl";
pub(super) const LOCK: &str = "lock.kdl";
pub(super) const INPUTS: &str = "inputs";
pub(super) const PLANS: &str = "plans";
pub(super) const ROOTS: &str = "roots";

/// One recorded build of an environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generation {
    /// The format of this record.
    pub(super) format: u64,
    /// Its number.
    pub number: u64,
    /// The generation that was current when it was made.
    pub parent: Option<u64>,
    /// When it was made, in UTC.
    #[serde(with = "time_text")]
    pub created: Timestamp,
    /// The version of drystone that made it.
    pub drystone: String,
    /// The platform it is for.
    pub platform: Platform,
    /// Whether it was built for another way of files than this machine's, and is not realised.
    pub foreign: bool,
    /// The environment's tree: its hash.
    pub tree: TreeId,
    /// The lock's root that it was built from.
    pub root: RootId,
    /// The digest of the manifest, its includes and local catalogues.
    pub inputs: InputsDigest,
    /// Which built-in catalogue the lock was made with.
    pub catalogue: String,
    /// The optional packages that were asked for (`--with`).
    pub selection: BTreeSet<Name>,
    /// Its packages.
    pub packages: BTreeMap<Name, PackageIdentity>,
    /// The name of its directory under the store's `realised/`.
    pub realised: Option<String>,
    /// Where each host component was on the machine.
    pub hosts: BTreeMap<Name, String>,
    /// What was seen of the machine.
    pub machine: BTreeMap<String, String>,
    /// The digest of every file beside this record, by its path.
    pub files: BTreeMap<TreePath, BlobId>,
}

/// What a build hands in to be recorded.
#[derive(Debug, Clone)]
pub struct NewGeneration<'a> {
    /// When it was made.
    pub created: Timestamp,
    /// The platform it is for.
    pub platform: Platform,
    /// Whether it cannot be realised on this machine.
    pub foreign: bool,
    /// The environment's tree.
    pub tree: TreeId,
    /// The lock's root for the platform and selection.
    pub root: RootId,
    /// The digest of the manifest, its includes and local catalogues.
    pub inputs_digest: InputsDigest,
    /// Which built-in catalogue the lock was made with.
    pub catalogue: String,
    /// The optional packages that were asked for.
    pub selection: BTreeSet<Name>,
    /// Its packages.
    pub packages: BTreeMap<Name, PackageIdentity>,
    /// The name of its directory under the store's `realised/`.
    pub realised: Option<String>,
    /// Where each host component is.
    pub hosts: BTreeMap<Name, String>,
    /// What is known of the machine: `os`, `arch`, …
    pub machine: BTreeMap<String, String>,
    /// The bytes of `env.kdl`.
    pub manifest: &'a [u8],
    /// The bytes of the lock.
    pub lock: &'a [u8],
    /// Includes and local catalogues: their bytes by their path beside the manifest.
    pub inputs: BTreeMap<TreePath, Vec<u8>>,
    /// What each application's start needs, as the runtime wrote it.
    pub plans: BTreeMap<Name, Vec<u8>>,
    /// What gc must keep.
    pub roots: Vec<Root>,
}

impl NewGeneration<'_> {
    /// The record, under a number.
    pub(super) fn record(
        &self,
        number: u64,
        parent: Option<u64>,
        files: BTreeMap<TreePath, BlobId>,
    ) -> Generation {
        Generation {
            format: FORMAT,
            number,
            parent,
            created: self.created,
            drystone: env!("CARGO_PKG_VERSION").to_owned(),
            platform: self.platform,
            foreign: self.foreign,
            tree: self.tree,
            root: self.root,
            inputs: self.inputs_digest,
            catalogue: self.catalogue.clone(),
            selection: self.selection.clone(),
            packages: self.packages.clone(),
            realised: self.realised.clone(),
            hosts: self.hosts.clone(),
            machine: self.machine.clone(),
            files,
        }
    }
}

impl Generation {
    /// Whether another record says the same of what a person can use: the environment, what it was
    /// made from, and how its applications start. Neither the time nor facts of the machine count.
    pub(super) fn is_same_build(&self, other: &Self) -> bool {
        self.tree == other.tree
            && self.root == other.root
            && self.platform == other.platform
            && self.foreign == other.foreign
            && self.selection == other.selection
            && self.hosts == other.hosts
            && self.realised == other.realised
            && self.files == other.files
    }

    /// The plain BLAKE3 digest of the lock's bytes as they were handed in.
    pub fn lock_digest(&self) -> Option<BlobId> {
        self.files.get(LOCK).copied()
    }

    /// The text of `generation.json`, sealed.
    pub(super) fn text(&self) -> io::Result<Vec<u8>> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        let sealed = sealed(&text).ok_or_else(|| io::Error::other("it is no object"))?;
        Ok(sealed.into_bytes())
    }
}

/// The digest of a file of a generation.
pub(super) fn digest(content: &[u8]) -> BlobId {
    BlobId::from_bytes(*blake3::hash(content).as_bytes())
}

/// Times as RFC 3339 in UTC.
pub(super) mod time_text {
    use jiff::Timestamp;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in crate::generation) fn serialize<S: Serializer>(
        time: &Timestamp,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_str(time)
    }

    pub(in crate::generation) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Timestamp, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}
