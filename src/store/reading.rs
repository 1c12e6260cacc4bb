//! Reading what lies in the store: whether it is there, and the digest of its content.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;

use blake3::hazmat::{
    ChainingValue, HasherExt, Mode, left_subtree_len, merge_subtrees_non_root, merge_subtrees_root,
};

use crate::disk;
use crate::model::{BlobId, Task};

use super::error::{At, Result};

/// How much of a content is read at once: what stays in a processor's own cache until it is hashed.
pub(super) const READ: usize = 128 * 1024;

/// What one processor hashes of a large content; a power of two, as the tree of BLAKE3 has it.
const PIECE: u64 = 4 << 20;

/// The digest of a file's content: of a large one by all processors.
pub(super) fn hash_file(path: &Path, buffer: &mut Vec<u8>, task: &dyn Task) -> io::Result<BlobId> {
    let file = disk::open(path)?;
    let length = file.metadata()?.len();
    if length > PIECE {
        return hash_large(&file, length, task);
    }
    buffer.resize(READ, 0);
    let mut hasher = blake3::Hasher::new();
    hash_until_end(&file, buffer, &mut hasher, task)?;
    Ok(BlobId::from_bytes(*hasher.finalize().as_bytes()))
}

fn hash_until_end(
    mut file: impl Read,
    buffer: &mut [u8],
    hasher: &mut blake3::Hasher,
    task: &dyn Task,
) -> io::Result<()> {
    loop {
        match file.read(buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => {
                hasher.update(&buffer[..read]);
                task.advance(read as u64);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// BLAKE3 is a tree whose left half is the largest power of two of chunks that leaves something on
/// the right: its specification, section 2.1. Halves are hashed by whoever is free.
fn hash_large(file: &File, length: u64, task: &dyn Task) -> io::Result<BlobId> {
    let (left, right) = halves(file, 0, length, task)?;
    // What was hashed is all of it only if the file still ends there.
    if file.metadata()?.len() != length {
        return Err(io::Error::other("its length changed while it was read"));
    }
    Ok(BlobId::from_bytes(*merge_subtrees_root(&left, &right, Mode::Hash).as_bytes()))
}

/// The chaining values of both halves of a part of a file.
fn halves(
    file: &File,
    start: u64,
    length: u64,
    task: &dyn Task,
) -> io::Result<(ChainingValue, ChainingValue)> {
    let left = left_subtree_len(length);
    let (left, right) = rayon::join(
        || chaining_value(file, start, left, task),
        || chaining_value(file, start + left, length - left, task),
    );
    Ok((left?, right?))
}

fn chaining_value(
    file: &File,
    start: u64,
    length: u64,
    task: &dyn Task,
) -> io::Result<ChainingValue> {
    if length > PIECE {
        let (left, right) = halves(file, start, length, task)?;
        return Ok(merge_subtrees_non_root(&left, &right, Mode::Hash));
    }
    let mut hasher = blake3::Hasher::new();
    hasher.set_input_offset(start);
    let part = disk::Part::new(file, start, length);
    hash_until_end(part, &mut vec![0; READ], &mut hasher, task)?;
    if hasher.count() != length {
        return Err(io::Error::other("it became shorter while it was read"));
    }
    Ok(hasher.finalize_non_root())
}

/// The metadata of a path, or none when it is gone.
pub(super) fn metadata(path: &Path) -> Result<Option<Metadata>> {
    match path.symlink_metadata() {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(None)
        }
        Err(error) => Err(error).at("look at", path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::NoProgress;

    /// The digest is plain BLAKE3 whatever the length, on both sides of every border of the pieces.
    #[test]
    fn large_contents_have_the_digest_that_blake3_gives_them() {
        let content: Vec<u8> = (0..5 * PIECE + 1).map(|at| ((at * 31) >> 7) as u8).collect();
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("content");
        for pieces in 1..=5 {
            for length in [pieces * PIECE - 1, pieces * PIECE, pieces * PIECE + 1] {
                let content = &content[..length as usize];
                std::fs::write(&path, content).expect("written");
                let found = hash_file(&path, &mut Vec::new(), &NoProgress).expect("read");
                assert_eq!(found.as_bytes(), blake3::hash(content).as_bytes(), "{length} bytes");
            }
        }
    }

    #[test]
    fn what_became_shorter_or_longer_while_it_was_read_has_no_digest() {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(2 * PIECE).expect("set");
        for length in [2 * PIECE - 1, 2 * PIECE + 1] {
            assert!(hash_large(&file, length, &NoProgress).is_err(), "{length}");
        }
        assert!(hash_large(&file, 2 * PIECE, &NoProgress).is_ok());
    }
}
