//! How an archive becomes a tree: the options of a source, as hashed into its unpack key.

use std::fmt;
use std::str::FromStr;

use super::digest::{FieldHasher, Sha256Digest, UnpackKey};
use super::platform::Family;
use super::tree_path::TreePath;

/// The number of the rules that turn an archive into a tree. What unpacking produces never changes
/// under one number; older numbers stay implemented.
pub const UNPACK_RULES: u32 = 1;

/// What kind of archive a source is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ArchiveFormat {
    /// A zip archive, a wheel among them.
    Zip,
    /// A tar archive without compression.
    Tar,
    /// A tar archive in gzip.
    TarGz,
    /// A tar archive in xz.
    TarXz,
    /// A tar archive in Zstandard.
    TarZst,
    /// A tar archive in bzip2.
    TarBz2,
    /// One file, taken as it is.
    File,
}

impl ArchiveFormat {
    /// Every format.
    pub const ALL: [Self; 7] =
        [Self::Zip, Self::Tar, Self::TarGz, Self::TarXz, Self::TarZst, Self::TarBz2, Self::File];

    /// The text, as written in manifests and locks.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Zip => "zip",
            Self::Tar => "tar",
            Self::TarGz => "tar.gz",
            Self::TarXz => "tar.xz",
            Self::TarZst => "tar.zst",
            Self::TarBz2 => "tar.bz2",
            Self::File => "file",
        }
    }

    /// The format of this text.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == text)
    }
}

impl fmt::Display for ArchiveFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A pattern over paths inside an archive: `*` and `?` stay within a part, `**` does not.
#[derive(Debug, Clone)]
pub struct Glob(globset::Glob);

impl Glob {
    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        self.0.glob()
    }

    /// Compiles it for matching.
    pub fn matcher(&self) -> globset::GlobMatcher {
        self.0.compile_matcher()
    }
}

impl FromStr for Glob {
    type Err = globset::Error;

    fn from_str(text: &str) -> Result<Self, globset::Error> {
        globset::GlobBuilder::new(text)
            .literal_separator(true)
            .backslash_escape(false)
            .build()
            .map(Self)
    }
}

impl PartialEq for Glob {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Glob {}

/// Gives a file or directory of an archive another path; applied after `strip`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rename {
    /// The path in the archive, after `strip`.
    pub from: TreePath,
    /// The path in the tree.
    pub to: TreePath,
}

/// How an archive becomes a tree. Applied in this order: `encoding`, `strip`, `include`,
/// `exclude`, `rename`, `executable`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnpackOptions {
    /// The declared format; without one it is taken from the bytes.
    pub format: Option<ArchiveFormat>,
    /// How many leading parts each path loses; entries with no more parts than that are left out.
    pub strip: u32,
    /// Only paths that match one of these; all when empty. Matched after `strip`.
    pub include: Vec<Glob>,
    /// No path that matches one of these.
    pub exclude: Vec<Glob>,
    /// Paths that change.
    pub rename: Vec<Rename>,
    /// Files that get the execute bit on Unix although the archive does not say so.
    pub executable: Vec<Glob>,
    /// The encoding of names in a zip archive that says none, as the WHATWG labels it.
    pub encoding: Option<String>,
    /// The name of the file where the source is one file.
    pub file_name: Option<TreePath>,
    /// How large the tree may become, in bytes, where the default bound is too low. Not hashed.
    pub max_unpacked: Option<u64>,
    /// How many entries the archive and the tree may hold, instead of the usual bound. Not hashed.
    pub max_entries: Option<u64>,
}

impl UnpackOptions {
    /// The key that the store keeps the unpacked tree under.
    pub fn unpack_key(&self, source: &Sha256Digest, rules: u32, family: Family) -> UnpackKey {
        let mut hasher = FieldHasher::new("drystone 2026-12 unpack key v1");
        hasher
            .field(source.as_bytes())
            .number(u64::from(rules))
            .field(family.as_str())
            .optional(self.format.map(ArchiveFormat::as_str))
            .number(u64::from(self.strip))
            .list(self.include.iter().map(Glob::as_str))
            .list(self.exclude.iter().map(Glob::as_str))
            .list(self.rename.iter().map(|rename| rename.from.as_str()))
            .list(self.rename.iter().map(|rename| rename.to.as_str()))
            .list(self.executable.iter().map(Glob::as_str))
            .optional(self.encoding.as_ref())
            .optional(self.file_name.as_ref());
        UnpackKey::from_bytes(hasher.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_option_and_nothing_else_changes_the_key() {
        let source = Sha256Digest::from_bytes([7; 32]);
        let key = |options: &UnpackOptions| options.unpack_key(&source, 1, Family::Unix);
        let plain = UnpackOptions::default();
        let glob = |text: &str| vec![text.parse::<Glob>().expect("a pattern")];
        let changed = [
            UnpackOptions { format: Some(ArchiveFormat::Zip), ..plain.clone() },
            UnpackOptions { strip: 1, ..plain.clone() },
            UnpackOptions { include: glob("*.dll"), ..plain.clone() },
            UnpackOptions { exclude: glob("*.dll"), ..plain.clone() },
            UnpackOptions { executable: glob("*.dll"), ..plain.clone() },
            UnpackOptions { encoding: Some("shift_jis".into()), ..plain.clone() },
            UnpackOptions { file_name: Some("a".parse().expect("a path")), ..plain.clone() },
        ];
        for (at, options) in changed.iter().enumerate() {
            assert_ne!(key(options), key(&plain), "option {at}");
            assert!(changed[..at].iter().all(|other| key(other) != key(options)), "option {at}");
        }
        assert_eq!(key(&UnpackOptions { max_unpacked: Some(1), ..plain.clone() }), key(&plain));
        assert_eq!(key(&UnpackOptions { max_entries: Some(1), ..plain.clone() }), key(&plain));
        assert_ne!(plain.unpack_key(&source, 1, Family::Windows), key(&plain));
        assert_ne!(plain.unpack_key(&source, 2, Family::Unix), key(&plain));
    }
}
