//! Good archives with some bytes changed: never a panic, and no content that was not in them.

use std::collections::BTreeSet;
use std::io::Write as _;

use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

use super::bytes::{tar, tar_entry, tar_file, tar_link};
use super::{Kind, Unpacking};

/// The same numbers each time: a failure comes again.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % most as u64) as usize
    }
}

fn changed(bytes: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=numbers.below(3) {
        let at = numbers.below(bytes.len());
        match numbers.below(6) {
            0 => bytes[at] ^= 1 << numbers.below(8),
            1 => bytes[at] = [0, 0xff, 0x7f, 0x80][numbers.below(4)],
            2 => bytes[at] = numbers.below(256) as u8,
            3 if bytes.len() > 1 => drop(bytes.remove(at)),
            4 => bytes.insert(at, numbers.below(256) as u8),
            _ => {
                let end = (at + 1 + numbers.below(8)).min(bytes.len());
                let from = numbers.below(bytes.len());
                let piece: Vec<u8> = bytes[at..end].to_vec();
                let end = (from + piece.len()).min(bytes.len());
                bytes[from..end].copy_from_slice(&piece[..end - from]);
            }
        }
    }
    bytes
}

fn contents() -> Vec<Vec<u8>> {
    let text = "once upon a time there was a stone wall without mortar\n".repeat(20).into_bytes();
    vec![Vec::new(), b"short".to_vec(), text, (0..=255).collect()]
}

fn zip_with(method: CompressionMethod) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (at, content) in contents().iter().enumerate() {
        let options = SimpleFileOptions::default().compression_method(method);
        writer.start_file(format!("dir/file{at}"), options).expect("an entry");
        writer.write_all(content).expect("written");
    }
    writer.finish().expect("an archive").into_inner()
}

/// Contents that an archive gives when it is taken, links apart.
fn taken(bytes: &[u8], windows: bool) -> Option<BTreeSet<Vec<u8>>> {
    let unpacking = if windows { Unpacking::windows(bytes) } else { Unpacking::new(bytes) };
    let tree = unpacking.run().ok()?;
    let blobs = unpacking.sink.blobs.lock().expect("unpoisoned");
    let files = tree.entries().iter().filter(|entry| entry.kind != Kind::Link);
    Some(files.filter_map(|entry| Some(blobs[&entry.blob?].clone())).collect())
}

/// More of them are asked for with DRYSTONE_MUTATIONS.
fn rounds() -> usize {
    std::env::var("DRYSTONE_MUTATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(60)
}

#[test]
fn a_changed_zip_archive_gives_its_contents_or_an_error() {
    let known: BTreeSet<Vec<u8>> = contents().into_iter().collect();
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for method in [
        CompressionMethod::Stored,
        CompressionMethod::Deflated,
        CompressionMethod::Bzip2,
        CompressionMethod::Zstd,
        CompressionMethod::Xz,
    ] {
        let good = zip_with(method);
        assert_eq!(taken(&good, false).as_ref(), Some(&known), "{method}");
        for round in 0..rounds() {
            let bytes = changed(&good, &mut numbers);
            if let Some(found) = taken(&bytes, round % 2 == 0) {
                assert!(found.is_subset(&known), "{method}, round {round}");
            }
        }
    }
}

#[test]
fn a_changed_compressed_tar_archive_gives_its_contents_or_an_error() {
    let mut entries = vec![tar_entry(b'5', "dir/", "", 0o755, b""), tar_link("dir/link", "file1")];
    for (at, content) in contents().iter().enumerate() {
        entries.push(tar_entry(b'0', format!("dir/file{at}"), "", 0o644, content));
    }
    entries.push(tar_entry(b'1', "hard", "dir/file2", 0o644, b""));
    let plain = tar(&entries);
    let known: BTreeSet<Vec<u8>> = contents().into_iter().collect();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&plain).expect("compressed");
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 6);
    xz.write_all(&plain).expect("compressed");
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
    bzip2.write_all(&plain).expect("compressed");
    let mut zstd = zstd::Encoder::new(Vec::new(), 3).expect("an encoder");
    zstd.include_checksum(true).expect("an option");
    zstd.write_all(&plain).expect("compressed");
    let mut numbers = Numbers(0x2545_f491_4f6c_dd1d);
    for (name, good) in [
        ("gzip", gzip.finish().expect("compressed")),
        ("xz", xz.finish().expect("compressed")),
        ("bzip2", bzip2.finish().expect("compressed")),
        ("zstd", zstd.finish().expect("compressed")),
    ] {
        assert_eq!(taken(&good, true).as_ref(), Some(&known), "{name}");
        for round in 0..rounds() {
            let bytes = changed(&good, &mut numbers);
            if let Some(found) = taken(&bytes, round % 2 == 0) {
                assert!(found.is_subset(&known), "{name}, round {round}");
            }
        }
    }
}

#[test]
fn a_changed_plain_tar_archive_never_panics() {
    let good = tar(&[
        tar_entry(b'x', "pax", "", 0o644, &super::bytes::pax_record("path", "dir/é")),
        tar_file("short", "1"),
        tar_entry(b'L', "././@LongLink", "", 0o644, b"dir/long\0"),
        tar_file("x", "2"),
        tar_link("dir/link", "long"),
        tar_link("link", "dir"),
        tar_entry(b'1', "hard", "dir/long", 0o644, b""),
    ]);
    let mut numbers = Numbers(0xda94_2042_e4dd_58b5);
    for round in 0..rounds() * 10 {
        let mut bytes = changed(&good, &mut numbers);
        // Most changes break a checksum, which would be all that is tested.
        for header in bytes.chunks_exact_mut(512) {
            if header[257..262] == *b"ustar" {
                let mut own = tar::Header::new_old();
                own.as_mut_bytes().copy_from_slice(header);
                own.set_cksum();
                header.copy_from_slice(own.as_bytes());
            }
        }
        let _ = taken(&bytes, round % 2 == 0);
    }
}
