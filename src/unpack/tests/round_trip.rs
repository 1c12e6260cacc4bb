//! Whatever we can write comes out byte-equal, from every format, with the same tree.

use std::collections::BTreeMap;
use std::io::{Cursor, Write};

use proptest::prelude::*;
use zip::{CompressionMethod, ZipWriter};

use super::Unpacking;
use super::tars::{bz2, gz, xz, zst};
use super::zips::on_unix;
use crate::model::{Kind, Tree};

type Files = BTreeMap<String, (Vec<u8>, bool)>;

fn files() -> impl Strategy<Value = Files> {
    let path = "[a-c]{1,2}/[d-fé]{1,2}/[g-i]{1,3}\\.[a-z]{3}";
    let size = prop_oneof![0..200usize, 60_000..70_000usize, 260_000..530_000usize];
    let content = (size, any::<u8>(), any::<bool>()).prop_map(|(size, seed, noisy)| {
        let mut state = u32::from(seed) + 1;
        let next = |at: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if noisy { (state >> 24) as u8 } else { (at / 300) as u8 ^ seed }
        };
        (0..size).map(next).collect::<Vec<u8>>()
    });
    proptest::collection::btree_map(path, (content, any::<bool>()), 1..12)
}

fn zip_of(files: &Files, method: CompressionMethod) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, (content, executable)) in files {
        let mode = if *executable { 0o755 } else { 0o644 };
        let options = on_unix().compression_method(method).unix_permissions(mode);
        writer.start_file(path.as_str(), options).expect("an entry");
        writer.write_all(content).expect("written");
    }
    writer.finish().expect("an archive").into_inner()
}

fn tar_of(files: &Files) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, (content, executable)) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(if *executable { 0o755 } else { 0o644 });
        builder.append_data(&mut header, path, &content[..]).expect("written");
    }
    builder.into_inner().expect("an archive")
}

fn check(files: &Files, bytes: &[u8]) -> Tree {
    let unpacking = Unpacking::new(bytes);
    let tree = unpacking.run().unwrap_or_else(|error| panic!("{error}"));
    let blobs = unpacking.sink.blobs.lock().expect("unpoisoned");
    assert_eq!(tree.entries().len(), files.len());
    for entry in tree.entries() {
        let (content, executable) = &files[entry.path.as_str()];
        assert_eq!(entry.kind == Kind::Executable, *executable);
        assert!(blobs[&entry.blob.expect("a content")] == *content, "{}", entry.path);
    }
    assert_eq!(unpacking.sink.finished.lock().expect("unpoisoned").len(), files.len());
    drop(blobs);
    tree
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]
    #[test]
    fn any_archive_we_can_write_comes_out_byte_equal(files in files()) {
        let tar = tar_of(&files);
        let tree = check(&files, &tar);
        for bytes in [gz(&tar), xz(&tar), zst(&tar), bz2(&tar)] {
            prop_assert_eq!(&check(&files, &bytes), &tree);
        }
        for method in [
            CompressionMethod::Stored,
            CompressionMethod::Deflated,
            CompressionMethod::Bzip2,
            CompressionMethod::Zstd,
            CompressionMethod::Xz,
        ] {
            prop_assert_eq!(&check(&files, &zip_of(&files, method)), &tree);
        }
    }
}

#[test]
fn large_entries_go_through_two_threads_unchanged() {
    let content: Vec<u8> = (0..12u32 << 20).map(|n| (n ^ (n >> 9)) as u8).collect();
    let files = Files::from([("a/b/big.bin".to_owned(), (content, false))]);
    let tree = check(&files, &zip_of(&files, CompressionMethod::Deflated));
    assert_eq!(check(&files, &zip_of(&files, CompressionMethod::Stored)), tree);
    assert_eq!(check(&files, &gz(&tar_of(&files))), tree);
}
