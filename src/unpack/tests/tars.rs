//! Honest tar archives, in all the ways they are compressed and extended.

use std::io::Write;

use super::bytes::{pax_record, tar, tar_entry, tar_file};
use super::{Problem, Unpacking};

pub(super) fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("compressed");
    encoder.finish().expect("compressed")
}

pub(super) fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
    encoder.write_all(bytes).expect("compressed");
    encoder.finish().expect("compressed")
}

pub(super) fn zst(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).expect("compressed")
}

pub(super) fn bz2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).expect("compressed");
    encoder.finish().expect("compressed")
}

type Compress = fn(&[u8]) -> Vec<u8>;

const COMPRESSIONS: [Compress; 4] = [gz, xz, zst, bz2];

#[test]
fn every_compression_is_told_from_its_bytes_in_one_piece_or_several() {
    let whole = tar(&[tar_file("a/b", "content")]);
    assert_eq!(Unpacking::new(&whole).listing(), ["f a/b = content"]);
    for compress in COMPRESSIONS {
        assert_eq!(Unpacking::new(&compress(&whole)).listing(), ["f a/b = content"]);
        let pieces = [compress(&whole[..700]), compress(&whole[700..])].concat();
        assert_eq!(Unpacking::new(&pieces).listing(), ["f a/b = content"]);
    }
}

#[test]
fn a_compressed_archive_cut_anywhere_is_truncated() {
    let noise: String = (0..40_000u32).map(|n| char::from(b'a' + (n * n % 23) as u8)).collect();
    let whole = tar(&[tar_file("a", &noise)]);
    for compress in COMPRESSIONS {
        let bytes = compress(&whole);
        for cut in [bytes.len() - 1, bytes.len() - 6, bytes.len() / 2] {
            match Unpacking::new(&bytes[..cut]).problem() {
                Problem::Truncated { .. } => {}
                other => panic!("{} of {}: {other:?}", cut, bytes.len()),
            }
        }
    }
}

#[test]
fn zeros_may_follow_a_gzip_stream_and_nothing_else() {
    let mut bytes = gz(&tar(&[tar_file("a", "1")]));
    bytes.extend_from_slice(&[0; 700]);
    assert_eq!(Unpacking::new(&bytes).listing(), ["f a = 1"]);
    bytes.push(1);
    assert!(matches!(Unpacking::new(&bytes).problem(), Problem::TrailingData { .. }));
}

#[test]
fn garbage_behind_any_compression_is_an_error() {
    for compress in COMPRESSIONS {
        let bytes = [&compress(&tar(&[tar_file("a", "1")]))[..], b"garbage!"].concat();
        assert!(Unpacking::new(&bytes).run().is_err(), "{:x?}", &bytes[..4]);
    }
}

#[test]
fn a_compressed_file_that_is_no_tar_is_described() {
    for compress in COMPRESSIONS {
        let message = Unpacking::new(&compress(b"just text")).message();
        assert!(message.contains("not a tar archive"), "{message}");
    }
}

#[test]
fn decoder_windows_are_bounded() {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("an encoder");
    encoder.window_log(28).expect("a window");
    encoder.write_all(&tar(&[tar_file("a", "1")])).expect("compressed");
    let bytes = encoder.finish().expect("compressed");
    assert!(matches!(Unpacking::new(&bytes).problem(), Problem::Window { .. }));
}

#[test]
fn long_names_and_links_of_gnu_and_pax_are_read() {
    let long = format!("{}/{}", "d".repeat(120), "f".repeat(120));
    let mut name = long.clone().into_bytes();
    name.push(0);
    let gnu = tar(&[tar_entry(b'L', "././@LongLink", "", 0o644, &name), tar_file("short", "1")]);
    assert_eq!(Unpacking::new(&gnu).listing(), [format!("f {long} = 1")]);
    let records = [pax_record("path", &long), pax_record("mtime", "1.5")].concat();
    let pax = tar(&[tar_entry(b'x', "pax", "", 0o644, &records), tar_file("short", "1")]);
    assert_eq!(Unpacking::new(&pax).listing(), [format!("f {long} = 1")]);

    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(1);
    header.set_mode(0o644);
    builder.append_data(&mut header, &long, &b"1"[..]).expect("written");
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Symlink);
    header.set_size(0);
    header.set_mode(0o777);
    builder.append_link(&mut header, "link", &long).expect("written");
    let bytes = builder.into_inner().expect("an archive");
    assert_eq!(
        Unpacking::new(&bytes).listing(),
        [format!("f {long} = 1"), format!("l link = {long}")]
    );
}

#[test]
fn two_long_names_that_differ_are_refused() {
    let records = pax_record("path", "one");
    let bytes = tar(&[
        tar_entry(b'L', "././@LongLink", "", 0o644, b"two\0"),
        tar_entry(b'x', "pax", "", 0o644, &records),
        tar_file("short", "1"),
    ]);
    assert!(matches!(Unpacking::new(&bytes).problem(), Problem::Disagreement { .. }));
}

#[test]
fn only_the_owner_may_make_a_file_executable() {
    let bytes = tar(&[
        tar_entry(b'0', "owner", "", 0o744, b""),
        tar_entry(b'0', "others", "", 0o655, b"#!"),
    ]);
    assert_eq!(Unpacking::new(&bytes).listing(), ["f others = #!", "x owner = "]);
}

#[test]
fn an_empty_tar_is_an_empty_tree() {
    assert!(Unpacking::new(&tar(&[])).listing().is_empty());
    assert!(Unpacking::new(&gz(&tar(&[]))).listing().is_empty());
}
