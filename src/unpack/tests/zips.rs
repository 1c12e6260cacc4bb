//! Honest zip archives, in all the ways they are written.

use std::io::{Cursor, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, System, ZipWriter};

use super::bytes::{ZipEntry, crc32, zip};
use super::{Problem, Unpacking};

/// As written on Unix, wherever this runs: elsewhere the writer leaves the modes out.
pub(super) fn on_unix() -> SimpleFileOptions {
    SimpleFileOptions::default().system(System::Unix)
}

fn unicode_path(raw: &[u8], name: &str) -> Vec<u8> {
    let mut body = vec![1];
    body.extend_from_slice(&crc32(raw).to_le_bytes());
    body.extend_from_slice(name.as_bytes());
    let mut field = vec![0x75, 0x70];
    field.extend_from_slice(&(body.len() as u16).to_le_bytes());
    field.extend_from_slice(&body);
    field
}

#[test]
fn every_method_of_the_zip_crate_comes_out_equal() {
    let content: Vec<u8> = (0..300_000u32).flat_map(|n| (n / 7).to_le_bytes()).collect();
    for method in [
        CompressionMethod::Stored,
        CompressionMethod::Deflated,
        CompressionMethod::Bzip2,
        CompressionMethod::Zstd,
        CompressionMethod::Xz,
    ] {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default().compression_method(method);
        writer.start_file("big.bin", options).expect("an entry");
        writer.write_all(&content).expect("written");
        writer.start_file("empty", options).expect("an entry");
        let bytes = writer.finish().expect("an archive").into_inner();
        let unpacking = Unpacking::new(&bytes);
        let tree = unpacking.run().unwrap_or_else(|error| panic!("{method:?}: {error}"));
        assert_eq!(tree.file_count(), 2, "{method:?}");
        let blob = tree.entries()[0].blob.expect("a content");
        assert!(unpacking.sink.blobs.lock().expect("unpoisoned")[&blob] == content, "{method:?}");
    }
}

#[test]
fn streamed_archives_and_zip64_sizes_are_read() {
    let mut writer = ZipWriter::new_stream(Vec::new());
    let options = on_unix().large_file(true).unix_permissions(0o755);
    writer.start_file("a/tool", options).expect("an entry");
    writer.write_all(b"content").expect("written");
    let bytes = writer.finish().expect("an archive").into_inner();
    assert_eq!(Unpacking::new(&bytes).listing(), ["x a/tool = content"]);
}

#[test]
fn more_entries_than_sixteen_bits_count_need_a_zip64_end_record() {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for number in 0..65_540 {
        writer.start_file(number.to_string(), options).expect("an entry");
    }
    let bytes = writer.finish().expect("an archive").into_inner();
    assert_eq!(Unpacking::new(&bytes).run().expect("a tree").file_count(), 65_540);
    let mut lie = bytes;
    let end = lie.len() - 22;
    lie[end + 8..end + 12].copy_from_slice(&[7, 0, 7, 0]);
    assert!(matches!(Unpacking::new(&lie).problem(), Problem::Damaged { .. }));
}

#[test]
fn descriptors_are_read_in_both_lengths_with_and_without_signature() {
    let crc = crc32(b"abc").to_le_bytes();
    let small = [crc, 3u32.to_le_bytes(), 3u32.to_le_bytes()].concat();
    let large = [&crc[..], &3u64.to_le_bytes(), &3u64.to_le_bytes()].concat();
    let signed = |rest: &[u8]| [&b"PK\x07\x08"[..], rest].concat();
    for descriptor in [small.clone(), large.clone(), signed(&small), signed(&large)] {
        let entry = ZipEntry { flags: 8, descriptor, ..ZipEntry::new("a", "abc") };
        let bytes = zip(&[entry, ZipEntry::new("b", "x")]);
        assert_eq!(Unpacking::new(&bytes).listing(), ["f a = abc", "f b = x"]);
    }
    let lie = ZipEntry { flags: 8, descriptor: signed(&[7; 12]), ..ZipEntry::new("a", "abc") };
    assert!(matches!(Unpacking::new(&zip(&[lie])).problem(), Problem::Disagreement { .. }));
}

#[test]
fn names_follow_flag_11_then_the_unicode_path_then_utf8_then_cp437() {
    let flagged = ZipEntry { flags: 1 << 11, ..ZipEntry::new("é", "1") };
    let raw = b"gr\x81n";
    let field = ZipEntry { extra: unicode_path(raw, "grün"), ..ZipEntry::new(raw, "2") };
    let plain = ZipEntry::new("ö", "3");
    let old = ZipEntry::new(b"\x8e\x99", "4");
    let bytes = zip(&[flagged, field, plain, old]);
    assert_eq!(Unpacking::new(&bytes).listing(), ["f grün = 2", "f ÄÖ = 4", "f é = 1", "f ö = 3"]);
}

#[test]
fn a_unicode_path_of_another_name_is_ignored() {
    let stale = ZipEntry { extra: unicode_path(b"old", "old"), ..ZipEntry::new("new", "1") };
    assert_eq!(Unpacking::new(&zip(&[stale])).listing(), ["f new = 1"]);
}

#[test]
fn the_declared_encoding_reads_names_without_flag_11() {
    // "表.txt" in Shift_JIS: its second byte is the backslash of ASCII.
    let bytes = zip(&[ZipEntry::new(b"\x95\x5c.txt", "1")]);
    let unpacking =
        Unpacking::new(&bytes).with(|options| options.encoding = Some("shift_jis".into()));
    assert_eq!(unpacking.listing(), ["f 表.txt = 1"]);
    let wrong = zip(&[ZipEntry::new(b"\x95", "1")]);
    let unpacking =
        Unpacking::new(&wrong).with(|options| options.encoding = Some("shift_jis".into()));
    assert!(matches!(unpacking.problem(), Problem::NameEncoding { .. }));
    let unpacking =
        Unpacking::new(&wrong).with(|options| options.encoding = Some("klingon".into()));
    assert!(matches!(unpacking.problem(), Problem::UnknownEncoding(_)));
}

#[test]
fn a_name_that_says_utf8_and_is_not_is_refused() {
    let bytes = zip(&[ZipEntry { flags: 1 << 11, ..ZipEntry::new(b"\xff", "") }]);
    assert!(matches!(Unpacking::new(&bytes).problem(), Problem::NameEncoding { .. }));
}

#[test]
fn modes_links_and_directories_made_on_unix_are_kept() {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = on_unix();
    writer.add_directory("empty/", options).expect("an entry");
    writer.start_file("bin/tool", options.unix_permissions(0o755)).expect("an entry");
    writer.start_file("bin/text", options.unix_permissions(0o644)).expect("an entry");
    writer.write_all(b"#!").expect("written");
    writer.add_symlink("bin/latest", "./tool", options).expect("an entry");
    let bytes = writer.finish().expect("an archive").into_inner();
    let listing = ["l bin/latest = tool", "f bin/text = #!", "x bin/tool = ", "d empty"];
    assert_eq!(Unpacking::new(&bytes).listing(), listing);
    let listing = ["f bin/latest = ", "f bin/text = #!", "f bin/tool = ", "d empty"];
    assert_eq!(Unpacking::windows(&bytes).listing(), listing);
}

#[test]
fn without_unix_modes_the_first_bytes_decide() {
    let dos = |name: &str, content: &str| ZipEntry {
        made_by: 0,
        mode: 0,
        ..ZipEntry::new(name, content)
    };
    let bytes = zip(&[
        dos("elf", "\x7fELF..."),
        dos("script", "#!/bin/sh"),
        dos("short", "#"),
        dos("text", "text"),
    ]);
    let listing = ["x elf = \x7fELF...", "x script = #!/bin/sh", "f short = #", "f text = text"];
    assert_eq!(Unpacking::new(&bytes).listing(), listing);
}

#[test]
fn an_empty_archive_is_an_empty_tree() {
    assert!(Unpacking::new(&zip(&[])).listing().is_empty());
}

#[test]
fn lzma_entries_come_out_equal_and_their_window_is_bounded() {
    let content: Vec<u8> = (0..90_000u32).flat_map(|n| (n / 5).to_le_bytes()).collect();
    let preset = liblzma::stream::LzmaOptions::new_preset(1).expect("a preset");
    let stream = liblzma::stream::Stream::new_lzma_encoder(&preset).expect("an encoder");
    let mut encoder = liblzma::write::XzEncoder::new_stream(Vec::new(), stream);
    encoder.write_all(&content).expect("compressed");
    let alone = encoder.finish().expect("compressed");
    let packed = [&[9, 20, 5, 0][..], &alone[..5], &alone[13..]].concat();
    let mut entry = ZipEntry { method: 14, packed: Some(packed), ..ZipEntry::new("a", &content) };
    let bytes = zip(&[entry.clone()]);
    let unpacking = Unpacking::new(&bytes);
    unpacking.run().expect("an honest archive");
    assert!(unpacking.sink.blobs.lock().expect("unpoisoned").values().any(|blob| *blob == content));

    entry.packed.as_mut().expect("packed")[5..9].copy_from_slice(&[0xff; 4]);
    assert!(matches!(Unpacking::new(&zip(&[entry])).problem(), Problem::Window { .. }));
}

#[test]
fn deflate64_entries_come_out_equal() {
    // One block of fixed codes: "a", then length code 285, which only deflate64 gives sixteen
    // extra bits, at distance 1, then the end.
    let mut bits: Vec<bool> = vec![true, true, false];
    let mut code = |value: u32, length: u32| {
        bits.extend((0..length).rev().map(|at| value >> at & 1 == 1));
    };
    code(0x30 + u32::from(b'a'), 8);
    code(0xc5, 8);
    code((40_000u32 - 3).reverse_bits() >> 16, 16);
    code(0, 5);
    code(0, 7);
    let packed = bits
        .chunks(8)
        .map(|byte| byte.iter().enumerate().map(|(at, bit)| u8::from(*bit) << at).sum::<u8>())
        .collect();
    let content = vec![b'a'; 40_001];
    let entry = ZipEntry { method: 9, packed: Some(packed), ..ZipEntry::new("a", &content) };
    let bytes = zip(&[entry]);
    let unpacking = Unpacking::new(&bytes);
    unpacking.run().expect("an honest archive");
    assert!(unpacking.sink.blobs.lock().expect("unpoisoned").values().any(|blob| *blob == content));
}
