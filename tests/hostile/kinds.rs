//! Entries that are no file, directory or link, or must not be one, and compressions unknown here.

use super::bytes::{ZipEntry, pax_record, tar, tar_entry, tar_file, zip};
use super::case::{Case, Systems, directory, executable, file};
use super::ground::Ground;
use super::parts::with_checksum;

const REFUSED: &str = "drystone::unpack::refused";

#[test]
fn special_files() {
    let mut cases = Vec::new();
    for (kind, is) in [
        (b'3', "a device"),
        (b'4', "a device"),
        (b'6', "a FIFO"),
        (b'S', "a sparse file"),
        (b'M', "another volume"),
        (b'V', "unknown type"),
        (b'D', "unknown type"),
        (b'N', "unknown type"),
        (b'A', "unknown type"),
        (b'I', "unknown type"),
        (b'Z', "unknown type"),
        (b'8', "unknown type"),
        (b's', "unknown type"),
        (b'!', "unknown type"),
        (0x80, "unknown type"),
        (0xff, "unknown type"),
    ] {
        let archive = tar(&[tar_file("good", "1"), tar_entry(kind, "odd", "", 0o644, b"")]);
        let what = format!("type {:?} in a tar", char::from(kind));
        cases.push(Case::refused(what, archive, REFUSED, &["\"odd\"", is]));
    }
    for (mode, is) in [
        (0o010_644, "a FIFO"),
        (0o020_644, "a device"),
        (0o060_644, "a device"),
        (0o140_644, "a socket"),
        (0o160_644, "type 160000"),
        (0o030_644, "type 30000"),
        (0o170_644, "type 170000"),
    ] {
        let odd = ZipEntry { mode, ..ZipEntry::new("odd", "") };
        let archive = zip(&[ZipEntry::new("good", "1"), odd]);
        cases.push(Case::refused(
            format!("mode {mode:o} in a zip"),
            archive,
            REFUSED,
            &["\"odd\"", is],
        ));
    }
    for (mode, what) in [(0o100_644, "a file"), (0o120_777, "a link")] {
        let archive = zip(&[ZipEntry { mode, ..ZipEntry::new("odd/", "x") }]);
        let what = format!("{what} with the name of a directory in a zip");
        cases.push(Case::refused(what, archive, REFUSED, &["\"odd/\""]));
    }
    let archive = zip(&[ZipEntry { mode: 0o040_755, ..ZipEntry::new("odd", "data") }]);
    let size = "drystone::unpack::size";
    cases.push(Case::refused("a directory with data in a zip", archive, size, &["\"odd\""]));
    let archive = tar(&[tar_entry(b'5', "odd/", "", 0o755, b"data")]);
    cases.push(Case::refused("a directory with data in a tar", archive, size, &["\"odd/\""]));
    let archive = tar(&[
        tar_entry(b'7', "contiguous", "", 0o644, b"1"),
        tar_entry(0, "old", "", 0o644, b"2"),
    ]);
    let lines = vec![file("contiguous", "1"), file("old", "2")];
    cases.push(Case::gives("contiguous and old files in a tar", archive, lines));
    Ground::new().judge("special files", &cases);
}

#[test]
fn modes() {
    let mut cases = Vec::new();
    for bits in [0o4755, 0o2755, 0o6755, 0o4644, 0o7777] {
        let archive = zip(&[ZipEntry { mode: 0o100_000 | bits, ..ZipEntry::new("odd", "x") }]);
        cases.push(Case::refused(
            format!("{bits:o} in a zip"),
            archive,
            REFUSED,
            &["\"odd\"", "setuid"],
        ));
        let archive = tar(&[tar_entry(b'0', "odd", "", bits, b"x")]);
        cases.push(Case::refused(
            format!("{bits:o} in a tar"),
            archive,
            REFUSED,
            &["\"odd\"", "setuid"],
        ));
    }
    let plain = [0o1644, 0o000, 0o200, 0o666, 0o077];
    let owners = [0o1755, 0o777, 0o100];
    let name = |bits: u32| format!("{bits:o}");
    let all = || plain.into_iter().chain(owners);
    let mut zipped: Vec<ZipEntry> = all()
        .map(|bits| ZipEntry { mode: 0o100_000 | bits, ..ZipEntry::new(name(bits), name(bits)) })
        .collect();
    // On a directory these bits mean nothing here.
    zipped.push(ZipEntry { mode: 0o046_777, ..ZipEntry::new("d/", "") });
    let mut taped: Vec<Vec<u8>> =
        all().map(|bits| tar_entry(b'0', name(bits), "", bits, name(bits).as_bytes())).collect();
    taped.push(tar_entry(b'5', "d/", "", 0o6777, b""));
    for (kind, archive) in [("zip", zip(&zipped)), ("tar", tar(&taped))] {
        let what = format!("every other mode in a {kind}");
        let files = |bits: u32| file(&name(bits), name(bits));
        let common: Vec<String> = plain.map(files).into_iter().chain([directory("d")]).collect();
        let linux = owners.map(|bits| executable(&name(bits), name(bits)));
        let lines = [&common[..], &linux].concat();
        cases.push(Case::gives(&what, archive.clone(), lines).on(Systems::Linux));
        let lines = [&common[..], &owners.map(files)].concat();
        cases.push(Case::gives(&what, archive, lines).on(Systems::Windows));
    }
    Ground::new().judge("modes", &cases);
}

/// The header of a sparse file as GNU tar had it first: a map of one stretch.
fn old_gnu_sparse() -> Vec<u8> {
    let mut entry = tar_entry(b'S', "odd", "", 0o644, b"data");
    entry[257..265].copy_from_slice(b"ustar  \0");
    entry[386..397].copy_from_slice(b"00000010000");
    entry[398..409].copy_from_slice(b"00000000004");
    entry[483..494].copy_from_slice(b"00000010004");
    with_checksum(entry)
}

#[test]
fn sparse_files_and_volumes() {
    let mut cases = vec![Case::refused(
        "old GNU sparse",
        tar(&[old_gnu_sparse()]),
        REFUSED,
        &["\"odd\"", "sparse"],
    )];
    let pax = |records: &[(&str, &str)], name: &str, data: &[u8]| {
        let records: Vec<u8> =
            records.iter().flat_map(|(key, value)| pax_record(key, value)).collect();
        tar(&[
            tar_file("good", "1"),
            tar_entry(b'x', "pax", "", 0o644, &records),
            tar_entry(b'0', name, "", 0o644, data),
        ])
    };
    let (size, blocks) = ("GNU.sparse.size", "GNU.sparse.numblocks");
    let archive = pax(
        &[
            (size, "4100"),
            (blocks, "1"),
            ("GNU.sparse.offset", "4096"),
            ("GNU.sparse.numbytes", "4"),
        ],
        "odd",
        b"data",
    );
    cases.push(Case::refused("PAX sparse 0.0", archive, REFUSED, &["\"odd\"", "sparse"]));
    let archive = pax(
        &[
            (size, "4100"),
            (blocks, "1"),
            ("GNU.sparse.map", "4096,4"),
            ("GNU.sparse.name", "../evil"),
        ],
        "odd",
        b"data",
    );
    cases.push(Case::refused("PAX sparse 0.1", archive, REFUSED, &["\"odd\"", "sparse"]));
    let map = [&b"1\n4096\n4\n"[..], &[0; 503], b"data"].concat();
    let archive = pax(
        &[
            ("GNU.sparse.major", "1"),
            ("GNU.sparse.minor", "0"),
            ("GNU.sparse.name", "../evil"),
            ("GNU.sparse.realsize", "4100"),
        ],
        "GNUSparseFile.0/odd",
        &map,
    );
    cases.push(Case::refused(
        "PAX sparse 1.0",
        archive,
        REFUSED,
        &["GNUSparseFile.0/odd", "sparse"],
    ));

    let end = zip(&[ZipEntry::new("a", "1")]);
    for (at, what) in [(4, "the number of its volume"), (6, "the volume of its directory")] {
        let mut volume = end.clone();
        let place = volume.len() - 22 + at;
        volume[place] = 1;
        let code = "drystone::unpack::refused_archive";
        cases.push(Case::refused(format!("a zip with {what}"), volume, code, &["one volume"]));
    }
    let code = "drystone::unpack::refused_archive";
    let spanned = [b"PK\x07\x08", &end[..]].concat();
    cases.push(Case::refused("a zip that says it is split", spanned, code, &["one volume"]));
    Ground::new().judge("sparse files and volumes", &cases);
}

#[test]
fn encryption_and_compressions() {
    let encrypted = "drystone::unpack::encrypted";
    let mut cases = Vec::new();
    for (what, flags, method) in [
        ("bit 0", 1, 0),
        ("strong encryption", 1 | 1 << 6, 8),
        ("strong encryption alone", 1 << 6, 8),
        ("an encrypted directory", 1 << 13, 0),
        ("AES", 1, 99),
        ("AES without bit 0", 0, 99),
    ] {
        let secret = ZipEntry { flags, method, ..ZipEntry::new("secret", "abc") };
        let archive = zip(&[ZipEntry::new("good", "1"), secret]);
        cases.push(Case::refused(what, archive, encrypted, &["\"secret\""]));
    }
    for method in [1, 2, 6, 10, 18, 19, 92, 94, 96, 97, 98, 0xffff] {
        let odd = ZipEntry { method, ..ZipEntry::new("odd", "abc") };
        let archive = zip(&[ZipEntry::new("good", "1"), odd]);
        let number = method.to_string();
        let code = "drystone::unpack::method";
        cases.push(Case::refused(format!("method {method}"), archive, code, &["\"odd\"", &number]));
    }
    let noise: Vec<u8> =
        (0..2000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for method in [8, 9, 12, 14, 93, 95] {
        let odd = ZipEntry { method, ..ZipEntry::new("odd", &noise) };
        let archive = zip(&[ZipEntry::new("good", "1"), odd]);
        let what = format!("noise that says it is method {method}");
        // What lzma takes for the size of its window.
        let window = method == 14;
        let code = if window { "drystone::unpack::window" } else { "drystone::unpack::damaged" };
        cases.push(Case::refused(what, archive, code, &["\"odd\""]));
    }
    let patch = ZipEntry { flags: 1 << 5, ..ZipEntry::new("odd", "abc") };
    cases.push(Case::refused("a patch", zip(&[patch]), REFUSED, &["\"odd\"", "a patch"]));
    Ground::new().judge("encryption and compressions", &cases);
}
