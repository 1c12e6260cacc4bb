//! What a lock holds, whatever the version of its text.

use std::collections::BTreeMap;

use crate::manifest::{Placement, Provided, Requirement, SourceUrl};
use crate::model::{
    ApplicationId, InputsDigest, Name, NodeId, Platform, Range, RootId, SettingsId, Sha256Digest,
    TreeId, TreePath, UnpackKey, UnpackOptions, Version,
};

/// The resolved graph of one environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    /// The environment it is of.
    pub environment: Name,
    /// The number of the rules that archives are unpacked by.
    pub unpack_rules: u32,
    /// The digest of the manifest, its includes and local catalogues.
    pub inputs: InputsDigest,
    /// Whether each package's tree is recorded (`lock --contents`); stays on once set.
    pub contents: bool,
    /// A section for each declared platform.
    pub platforms: BTreeMap<Platform, LockedPlatform>,
}

/// The graph for one platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedPlatform {
    /// The digest of the environment's settings for this platform.
    pub settings: SettingsId,
    /// The applications of the environment that have a program for this platform.
    pub applications: BTreeMap<Name, LockedApplication>,
    /// The packages, optional ones among them.
    pub packages: BTreeMap<Name, LockedPackage>,
    /// The host components.
    pub hosts: BTreeMap<Name, LockedHost>,
    /// The digest of all of the above.
    pub root: RootId,
}

/// An application in a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedApplication {
    /// The digest of its description for this platform.
    pub id: ApplicationId,
}

/// A package in a lock: all that building needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedPackage {
    /// Its name.
    pub name: Name,
    /// Its version.
    pub version: Version,
    /// Whether it is built only on `--with`: it, or each path to it, is marked optional.
    pub optional: bool,
    /// Whether the environment itself asks for it.
    pub direct: bool,
    /// Its digest; `docs/format.md` says over what. URLs, `optional`, `direct` and `tree` are not in it.
    pub id: NodeId,
    /// What the store keeps its tree under.
    pub unpack_key: UnpackKey,
    /// Where its archive is; in no digest.
    pub urls: Vec<SourceUrl>,
    /// What its archive hashes to.
    pub sha256: Sha256Digest,
    /// The size of its archive in bytes, where known.
    pub size: Option<u64>,
    /// How its archive becomes a tree.
    pub options: UnpackOptions,
    /// Where it lies in the environment.
    pub placement: Placement,
    /// What it needs, as the catalogue said.
    pub requires: Vec<Requirement>,
    /// What it can stand for.
    pub provides: Vec<Provided>,
    /// The files it places among an application's.
    pub overlay: Vec<TreePath>,
    /// The packages and host components that its requirements came to, sorted.
    pub depends: Vec<Name>,
    /// What unpacking must produce, in a lock with contents.
    pub tree: Option<TreeId>,
}

/// A host component in a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedHost {
    /// Its name.
    pub name: Name,
    /// Whether the environment itself asks for it.
    pub direct: bool,
    /// Its digest; `docs/format.md` says over what.
    pub id: NodeId,
    /// The versions that will do: what the manifest says and what packages require.
    pub range: Range,
    /// What it can stand for.
    pub provides: Vec<Provided>,
}
