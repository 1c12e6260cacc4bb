//! The borders of zip, 65,535 entries and 4 GiB, with zip64 and without; and those that a source sets.

use std::io::Write;

use super::bombs::{deflated_zeros, sums_of_zeros};
use super::bytes::{ZipEntry, tar, tar_entry_sized, tar_file, zip, zip_with_count};
use super::case::{Case, Systems, digested, file, link};
use super::ground::Ground;
use super::parts::{Part, a_file, a_link, both};

const DAMAGED: &str = "drystone::unpack::damaged";
/// Lifts the bound on bytes, and that on the ratio.
const ALLOWED: &str = "max-unpacked 17179869184";

/// Puts a zip64 end record and its locator before the end record, and leaves the number of entries and
/// the place of the directory to it.
fn with_zip64_end(archive: &[u8], entries: u64) -> Vec<u8> {
    let end = archive.len() - 22;
    let number = |at: usize| u32::from_le_bytes(archive[at..at + 4].try_into().expect("four"));
    let (length, start) = (u64::from(number(end + 12)), u64::from(number(end + 16)));
    let mut out = archive[..end].to_vec();
    out.extend_from_slice(b"PK\x06\x06");
    out.extend_from_slice(&44u64.to_le_bytes());
    out.extend_from_slice(&[45, 3, 45, 0]);
    out.extend_from_slice(&[0; 8]);
    for value in [entries, entries, length, start] {
        out.extend_from_slice(&value.to_le_bytes());
    }
    out.extend_from_slice(b"PK\x06\x07\0\0\0\0");
    out.extend_from_slice(&(end as u64).to_le_bytes());
    out.extend_from_slice(&1u32.to_le_bytes());
    out.extend_from_slice(&archive[end..]);
    out
}

#[test]
fn counts_of_entries() {
    let path = |at: usize| format!("{}/{at}", at % 256);
    let entries = |count: usize| -> Vec<ZipEntry> {
        (0..count).map(|at| ZipEntry::new(path(at), "")).collect()
    };
    let lines = |count: usize, step: usize| -> Vec<String> {
        (0..count).step_by(step).map(|at| file(&path(at), "")).collect()
    };
    // All entries are read and counted, and few of them written, but for one archive where it may take
    // long.
    let few = |what: String, archive: Vec<u8>, count: usize| {
        Case::gives(what, archive, lines(count, 256)).with("include \"0/*\"")
    };
    let mut cases = Vec::new();
    for count in [65_535_usize, 65_536, 65_537] {
        let wrapped = zip_with_count(&entries(count), count as u16);
        let what = format!("{count} entries without zip64");
        cases.push(match count {
            65_535 => few(what, wrapped.clone(), count),
            _ => {
                let declared = format!("{} entries", count - 65_536);
                Case::refused(what, wrapped.clone(), "drystone::unpack::count", &[&declared])
            }
        });
        let full = zip_with_count(&entries(count), u16::MAX);
        let right = with_zip64_end(&full, count as u64);
        let what = format!("{count} entries with zip64");
        cases.push(match count {
            65_537 if is_full() => Case::gives(what, right, lines(count, 1)),
            _ => few(what, right, count),
        });
        let lie = with_zip64_end(&full, count as u64 + 1);
        let what = format!("{count} entries with zip64 that declares one more");
        cases.push(Case::refused(what, lie, "drystone::unpack::count", &["entries"]));
        if count > 65_535 {
            let two = with_zip64_end(&wrapped, count as u64);
            let what = format!("{count} entries in zip64 and the remainder in the end record");
            cases.push(Case::refused(what, two, DAMAGED, &["two end records disagree"]));
        }
    }
    let cases: Vec<Case> = cases.into_iter().map(|case| case.on(Systems::Linux)).collect();
    Ground::new().judge("borders of the number of entries", &cases);
}

#[test]
fn bounds_on_entries_that_the_source_sets() {
    let code = "drystone::unpack::too_many";
    let names: Vec<String> = (0..12).map(|at| format!("d/{at}")).collect();
    let parts: Vec<Part> = names.iter().map(|name| a_file(name, name)).collect();
    let lines: Vec<String> = names.iter().map(|name| file(name, name)).collect();
    let mut cases = Vec::new();
    for (kind, archive) in both(&parts) {
        for (bound, options) in
            [("10", "max-entries 10"), ("11", "max-entries 11\nexclude \"d/?\"")]
        {
            let what = format!("12 entries of which {bound} are allowed in a {kind}");
            let told = [&format!("more than {bound} entries"), "`max-entries`"];
            cases.push(Case::refused(what, archive.clone(), code, &told).with(options));
        }
        let what = format!("12 entries of which 12 are allowed in a {kind}");
        let taken = Case::gives(what, archive.clone(), lines.clone());
        cases.push(taken.with("max-entries 12").on(Systems::Linux));
        cases.push(Case::gives(format!("12 entries in a {kind}"), archive, lines.clone()));
    }
    // Six entries, and for Windows three copies of a directory with three files.
    let links = ["l", "m", "n"].map(|name| a_link(name, "d"));
    for (kind, archive) in both(&[&parts[..3], &links].concat()) {
        let what = format!("links to a directory in a {kind}");
        let lines = [&lines[..3], &["l", "m", "n"].map(|name| link(name, "d"))].concat();
        let bound = "max-entries 10";
        let taken = Case::gives(&what, archive.clone(), lines);
        cases.push(taken.with(bound).on(Systems::Linux));
        let refused = Case::refused(&what, archive, code, &["more than 10 entries"]);
        cases.push(refused.with(bound).on(Systems::Windows));
    }
    Ground::new().judge("bounds on entries that the source sets", &cases);
}

#[test]
fn more_than_two_million_entries() {
    if !is_full() {
        println!("more than two million entries: only with DRYSTONE_HOSTILE=full");
        return;
    }
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("an encoder");
    for at in 0..2_000_001 {
        encoder.write_all(&tar_file(at.to_string(), "")).expect("compressed");
    }
    let archive = encoder.finish().expect("compressed");
    let few = "include \"2000000\"";
    let told = ["more than 2000000 entries", "`max-entries`"];
    let cases = [
        Case::refused("as many as usual", archive.clone(), "drystone::unpack::too_many", &told)
            .with(few),
        Case::gives("as many as there are", archive, vec![file("2000000", "")])
            .with(format!("{few}\nmax-entries 2000001"))
            .on(Systems::Linux),
    ];
    Ground::new().judge("more than two million entries", &cases);
}

/// Whether to try what takes long.
fn is_full() -> bool {
    std::env::var("DRYSTONE_HOSTILE").as_deref() == Ok("full")
}

/// A zip64 field with these numbers.
fn zip64(values: &[u64]) -> Vec<u8> {
    let mut field = vec![1, 0];
    field.extend_from_slice(&(8 * values.len() as u16).to_le_bytes());
    field.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    field
}

#[test]
fn sizes_around_4_gib_that_are_lies() {
    let mut cases = Vec::new();
    let plain = || ZipEntry::new("liar", "abc");
    let mut lie = |what: String, archive: Vec<u8>, code: &'static str| {
        let ratio = Case::refused(what.clone(), archive.clone(), "drystone::unpack::ratio", &[]);
        cases.push(ratio);
        let what = format!("{what}, allowed");
        cases.push(Case::refused(what, archive, code, &["\"liar\""]).with(ALLOWED));
    };
    let size = "drystone::unpack::size";
    let below = ZipEntry { size: Some(u32::MAX - 1), ..plain() };
    lie("a size of 0xFFFFFFFE".into(), zip(&[below]), size);
    for declared in [0xffff_fffe, 0xffff_ffff, 0x1_0000_0000, 0x1_0000_0003_u64] {
        let wide = ZipEntry { size: Some(u32::MAX), extra: zip64(&[declared]), ..plain() };
        lie(format!("a zip64 size of {declared:#x}"), zip(&[wide]), size);
    }
    for declared in [0xffff_fffe, 0xffff_ffff, 0x1_0000_0000, 0x1_ffff_ffff] {
        let header = tar_entry_sized(b'0', "liar", "", 0o644, b"abc", declared);
        let what = format!("a size of {declared:#x} in a tar");
        lie(what, tar(&[header]), "drystone::unpack::truncated");
    }
    let missing = zip(&[ZipEntry { size: Some(u32::MAX), ..plain() }]);
    cases.push(Case::refused(
        "a size of 0xFFFFFFFF without zip64",
        missing,
        DAMAGED,
        &["\"liar\"", "zip64"],
    ));
    let short =
        zip(&[ZipEntry { size: Some(u32::MAX), extra: vec![1, 0, 4, 0, 1, 2, 3, 4], ..plain() }]);
    cases.push(Case::refused(
        "a zip64 field of four bytes",
        short,
        DAMAGED,
        &["\"liar\"", "zip64"],
    ));
    let away = zip(&[ZipEntry { offset: Some(u32::MAX), ..plain() }]);
    cases.push(Case::refused(
        "an offset of 0xFFFFFFFF without zip64",
        away,
        DAMAGED,
        &["\"liar\"", "zip64"],
    ));
    for offset in [0xffff_fffe_u64, 0xffff_ffff, 0x1_0000_0000, u64::MAX] {
        let away = ZipEntry { offset: Some(u32::MAX), extra: zip64(&[offset]), ..plain() };
        let what = format!("a zip64 offset of {offset:#x}");
        cases.push(Case::refused(what, zip(&[away]), "drystone::unpack::overlap", &["\"liar\""]));
    }
    let honest = zip(&[ZipEntry { size: Some(u32::MAX), extra: zip64(&[3]), ..plain() }]);
    cases.push(Case::gives("a small size in a zip64 field", honest, vec![file("liar", "abc")]));
    Ground::new().judge("sizes around 4 GiB that are lies", &cases);
}

#[test]
fn an_honest_entry_of_more_than_4_gib() {
    if !is_full() {
        println!("an honest entry of more than 4 GiB: only with DRYSTONE_HOSTILE=full");
        return;
    }
    let size = (4 << 30) + 1;
    let (crc, digest) = sums_of_zeros(size);
    let entry = ZipEntry {
        method: 8,
        packed: Some(deflated_zeros(size)),
        size: Some(u32::MAX),
        crc: Some(crc),
        extra: zip64(&[size]),
        ..ZipEntry::new("zeros", "")
    };
    let archive = zip(&[entry]);
    let lines = vec![digested('f', "zeros", size, &digest)];
    let cases = [
        Case::refused("more than the ratio", archive.clone(), "drystone::unpack::ratio", &[]),
        Case::refused(
            "one byte less allowed",
            archive.clone(),
            "drystone::unpack::too_large",
            &["4294967296"],
        )
        .with("max-unpacked 4294967296"),
        Case::gives("allowed", archive, lines).with("max-unpacked 4294967297").on(Systems::Linux),
    ];
    Ground::new().judge("an honest entry of more than 4 GiB", &cases);
}
