//! Packages and host components as catalogues and manifests describe them.

use crate::model::{Name, Platform, Range, Sha256Digest, TreePath, UnpackOptions, Version};

/// Something fetched and unpacked; has versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// Its name.
    pub name: Name,
    /// One line that says what it is.
    pub about: Option<String>,
    /// Its page.
    pub homepage: Option<String>,
    /// Its licence, as an SPDX expression or in words.
    pub license: Option<String>,
    /// Its versions, sorted, each once.
    pub versions: Vec<PackageVersion>,
}

/// One version of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageVersion {
    /// The version.
    pub version: Version,
    /// Where its files come from: at most one for each platform, or one for all.
    pub sources: Vec<Source>,
    /// What it needs.
    pub requires: Vec<Requirement>,
    /// What it can stand for.
    pub provides: Vec<Provided>,
    /// The files it places among an application's, relative to the package.
    pub overlay: Vec<TreePath>,
}

impl PackageVersion {
    /// The source for a platform: its own, else the one for all.
    pub fn source(&self, platform: Platform) -> Option<&Source> {
        let own = self.sources.iter().find(|source| source.platform == Some(platform));
        own.or_else(|| self.sources.iter().find(|source| source.platform.is_none()))
    }

    /// The files it places among an application's on a platform: those its source names, else
    /// those named for all.
    pub fn overlay_for(&self, platform: Platform) -> &[TreePath] {
        let own = self.source(platform).and_then(|source| source.overlay.as_deref());
        own.unwrap_or(&self.overlay)
    }
}

/// Where a version's files come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The platform it is for; any without one.
    pub platform: Option<Platform>,
    /// Where the archive is: several are mirrors, tried in order.
    pub urls: Vec<SourceUrl>,
    /// What the archive must hash to; without it the hash is recorded when the lock is made.
    pub sha256: Option<Sha256Digest>,
    /// The archive's size in bytes, where published.
    pub size: Option<u64>,
    /// How it becomes a tree.
    pub options: UnpackOptions,
    /// Where it lies in an environment; below its own name without it.
    pub into: Option<Placement>,
    /// The files it places among an application's, where they differ from those of the version.
    pub overlay: Option<Vec<TreePath>>,
}

/// Where an archive is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourceUrl {
    /// `https://…` or `http://…`, without user information or token-like queries.
    Web(url::Url),
    /// `file:…`: a path relative to the manifest, `/`-separated and without `..` at its start only
    /// where it stays beside the manifest; kept as written.
    File(String),
}

impl SourceUrl {
    /// The text, as written in manifests and locks.
    pub fn text(&self) -> String {
        match self {
            Self::Web(url) => url.as_str().to_owned(),
            Self::File(path) => format!("file:{path}"),
        }
    }
}

/// Where a package lies in an environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placement {
    /// `into "."`: at the top.
    Top,
    /// Below a directory.
    Under(TreePath),
}

impl Placement {
    /// The directory, none for the top.
    pub const fn directory(&self) -> Option<&TreePath> {
        match self {
            Self::Top => None,
            Self::Under(directory) => Some(directory),
        }
    }

    /// The text, as written in manifests and locks.
    pub fn as_str(&self) -> &str {
        self.directory().map_or(".", TreePath::as_str)
    }
}

/// `requires "hip-runtime" ">=6, <8"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// A package, a host component, or something that one provides.
    pub name: Name,
    /// The versions that will do.
    pub range: Range,
}

/// `provides "cuda-driver" "13.0"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provided {
    /// What it can stand for.
    pub name: Name,
    /// At which version; for a host component without one: the host component's own.
    pub version: Option<Version>,
}

/// A top-level `host "hip-sdk" { … }`: what drystone knows of something only the machine supplies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostDescription {
    /// Its name.
    pub name: Name,
    /// One line that says what it is.
    pub about: Option<String>,
    /// Where a person gets it.
    pub homepage: Option<String>,
    /// What it can stand for.
    pub provides: Vec<Provided>,
    /// Where it may be, in the order to look.
    pub roots: Vec<HostRoot>,
    /// Files, relative to the root, that show it is there.
    pub evidence: Vec<TreePath>,
}

/// Where a host component may be on a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostRoot {
    /// `root variable="HIP_PATH"`: where an environment variable says.
    Variable(String),
    /// `root "C:/Program Files/AMD/ROCm/6.4"`: a fixed directory.
    Directory(String),
}
