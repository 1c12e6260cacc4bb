//! Where everything lies in a store, and the random and short names that are used there.
//!
//! ```text
//! <store>/format              layout number, minimum reader and writer, store id, owner
//! <store>/blobs/ab/<hex>      content; executables have a second inode (suffix .x) on Unix
//! <store>/trees/ab/<hex>      canonical tree text
//! <store>/unpacked/ab/<hex>   unpack key → tree, and how it was unpacked
//! <store>/realised/<32 base32>-<label>/
//! <store>/archives/<sha256>   downloads; <key>.partial while they come, <key>.wrong if they were
//! <store>/environments/<project>/<name>/
//! <store>/runtimes/<project>/<application>/<id>/
//! <store>/tmp/<owner>/        staging
//! <store>/locks/              OS locks; locks/sessions/ the processes that use the store
//! ```

use std::io;
use std::path::{Path, PathBuf};

use crate::model::{BlobId, Name, Sha256Digest, TreeId, UnpackKey};

use super::error::{Result, StoreError};
use super::project::ProjectId;

/// The file that keeps a store inside a project out of the project's repository.
pub(super) const KEPT_OUT_OF_GIT: &str = ".gitignore";

/// The directories at the top of a store.
pub(super) const DIRECTORIES: [&str; 9] = [
    "archives",
    "blobs",
    "environments",
    "locks",
    "realised",
    "runtimes",
    "tmp",
    "trees",
    "unpacked",
];

/// The paths of one store.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    root: PathBuf,
}

impl Layout {
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn directory(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(super) fn format(&self) -> PathBuf {
        self.root.join("format")
    }

    /// One of the two forms of a blob. Windows has only the plain one.
    pub(super) fn blob(&self, blob: &BlobId, executable: bool) -> PathBuf {
        Self::fanned(&self.root.join("blobs"), &Self::blob_name(blob, executable))
    }

    /// The last part of a blob's path.
    pub(super) fn blob_name(blob: &BlobId, executable: bool) -> String {
        let mut name = blob.hex();
        if executable && cfg!(unix) {
            name.push_str(".x");
        }
        name
    }

    pub(super) fn tree(&self, tree: &TreeId) -> PathBuf {
        Self::fanned(&self.root.join("trees"), &tree.hex())
    }

    pub(super) fn unpacked(&self, key: &UnpackKey) -> PathBuf {
        Self::fanned(&self.root.join("unpacked"), &key.hex())
    }

    /// Two levels, because directories of millions of files are slow or impossible.
    pub(super) fn fanned(directory: &Path, name: &str) -> PathBuf {
        let mut path = PathBuf::with_capacity(directory.as_os_str().len() + name.len() + 4);
        path.push(directory);
        path.push(&name[..2]);
        path.push(name);
        path
    }

    pub(super) fn realised(&self, name: &str) -> PathBuf {
        self.root.join("realised").join(name)
    }

    pub(super) fn archive(&self, sha256: &Sha256Digest) -> PathBuf {
        self.root.join("archives").join(sha256.hex())
    }

    pub(super) fn environment(&self, project: &ProjectId, name: &Name) -> PathBuf {
        self.root.join("environments").join(project.as_str()).join(name.as_str())
    }

    pub(super) fn runtimes(&self, project: &ProjectId, application: &Name) -> PathBuf {
        self.root.join("runtimes").join(project.as_str()).join(application.as_str())
    }

    pub(super) fn lock(&self, name: &str) -> PathBuf {
        self.root.join("locks").join(name)
    }

    pub(super) fn sessions(&self) -> PathBuf {
        self.root.join("locks").join("sessions")
    }

    pub(super) fn staging(&self, owner: &str) -> PathBuf {
        self.root.join("tmp").join(owner)
    }
}

/// The name that a tree is realised under: 160 bits of its id, and a label for people.
pub(super) fn realised_name(tree: &TreeId, label: &Name) -> String {
    format!("{}-{label}", base32(&tree.as_bytes()[..20]))
}

const BASE32: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// Lower-case base32 (RFC 4648, no padding), for byte counts that are a multiple of five.
pub(super) fn base32(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() / 5 * 8);
    for group in bytes.chunks(5) {
        let mut bits = group.iter().fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
        bits <<= 64 - 8 * group.len();
        for _ in 0..(8 * group.len()).div_ceil(5) {
            text.push(char::from(BASE32[(bits >> 59) as usize]));
            bits <<= 5;
        }
    }
    text
}

/// Whether a text is lower-case base32 of this length.
pub(super) fn is_base32(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| BASE32.contains(&byte))
}

/// A random name of 16 characters of base32: 80 bits, so that no two processes, in whatever
/// container, ever choose the same.
pub(super) fn random_id() -> Result<String> {
    let mut bytes = [0u8; 10];
    getrandom::fill(&mut bytes).map_err(|error| {
        StoreError::io(
            "take random bytes for a name in",
            Path::new("the store"),
            io::Error::other(error),
        )
    })?;
    Ok(base32(&bytes))
}

/// Refuses a link where drystone is about to write: it may have come with a clone.
pub(super) fn refuse_link(path: &Path) -> Result<()> {
    match path.symlink_metadata() {
        Ok(there) if there.is_symlink() => Err(StoreError::Linked { path: path.to_path_buf() }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base32_is_the_one_of_rfc_4648_in_lower_case() {
        assert_eq!(base32(b"fooba"), "mzxw6ytb");
        assert_eq!(base32(&[0xff; 20]), "7".repeat(32));
        assert!(is_base32(&random_id().expect("random bytes"), 16));
        assert!(!is_base32("abc1", 4));
    }

    #[test]
    fn blobs_have_two_forms_on_unix_and_one_on_windows() {
        let layout = Layout::new(PathBuf::from("s"));
        let blob = BlobId::from_bytes([0xab; 32]);
        let plain = layout.blob(&blob, false);
        assert!(plain.ends_with(Path::new("blobs").join("ab").join("ab".repeat(32))));
        assert_eq!(layout.blob(&blob, true) == plain, cfg!(windows));
    }
}
