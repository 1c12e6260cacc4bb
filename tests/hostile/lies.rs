//! Tar archives and compressed streams that lie: sizes, checksums, names said twice, data behind the end.

use std::io::Write;

use super::bytes::{ZipEntry, pax_record, tar, tar_entry, tar_entry_sized, tar_file, zip};
use super::case::{Case, file};
use super::ground::Ground;
use super::parts::with_checksum;

const DAMAGED: &str = "drystone::unpack::damaged";
const DISAGREES: &str = "drystone::unpack::disagreement";
const REFUSED: &str = "drystone::unpack::refused";
const TRAILING: &str = "drystone::unpack::trailing_data";
const TRUNCATED: &str = "drystone::unpack::truncated";

/// A file whose PAX record says one size and its header another.
fn pax_size(pax: &str, header: u64) -> Vec<u8> {
    let records = tar_entry(b'x', "pax", "", 0o644, &pax_record("size", pax));
    tar(&[
        tar_file("good", "1"),
        records,
        tar_entry_sized(b'0', "liar", "", 0o644, b"abc", header),
        tar_file("after", "2"),
    ])
}

/// Sets the size field of a header to any bytes.
fn sized(field: &[u8; 12]) -> Vec<u8> {
    let mut entry = tar_file("liar", "abc");
    entry[124..136].copy_from_slice(field);
    tar(&[tar_file("good", "1"), with_checksum(entry)])
}

#[test]
fn sizes_in_tar_archives() {
    let liar = ["\"liar\""];
    let lines = vec![file("good", "1"), file("liar", "abc"), file("after", "2")];
    let cases = [
        Case::gives("an honest PAX size", pax_size("3", 3), lines),
        Case::refused("a larger PAX size", pax_size("4", 3), DISAGREES, &["\"liar\"", "4", "3"]),
        Case::refused("a smaller PAX size", pax_size("2", 3), DISAGREES, &liar),
        Case::refused("a PAX size of 0", pax_size("0", 3), DISAGREES, &liar),
        Case::refused("a PAX size over a header of 0", pax_size("512", 0), DISAGREES, &liar),
        Case::refused(
            "a PAX size of 9 EB",
            pax_size("9223372036854775807", 0),
            "drystone::unpack::too_large",
            &[],
        ),
        Case::refused(
            "a PAX size of 10 GB",
            pax_size("10000000000", 0),
            "drystone::unpack::ratio",
            &[],
        ),
        Case::refused("a negative PAX size", pax_size("-1", 3), DAMAGED, &["pax"]),
        Case::refused("a PAX size with a sign", pax_size("+3", 3), DAMAGED, &["pax"]),
        Case::refused(
            "a PAX size beyond 64 bits",
            pax_size("99999999999999999999999", 3),
            DAMAGED,
            &["pax"],
        ),
        Case::refused("a PAX size that is none", pax_size("three", 3), DAMAGED, &["pax"]),
        Case::refused("an octal size that is none", sized(b"zzzzzzzzzzz\0"), DAMAGED, &liar),
        Case::refused(
            "a binary size of 1 TB",
            sized(&[0x80, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0]),
            "drystone::unpack::too_large",
            &[],
        ),
        Case::refused(
            "a binary size below 0",
            sized(&[0xff; 12]),
            "drystone::unpack::too_large",
            &[],
        ),
        Case::refused("a size that goes beyond the end", sized(b"00000010000\0"), TRUNCATED, &liar),
    ];
    Ground::new().judge("sizes in tar archives", &cases);
}

#[test]
fn headers_of_tar_archives() {
    let before = |kind, data: &[u8]| tar_entry(kind, "extension", "", 0o644, data);
    let good = || tar_file("good", "1");
    let mut broken = tar(&[good(), tar_file("liar", "abc")]);
    broken[1024] ^= 1;
    let two = [pax_record("path", "one"), pax_record("path", "two")].concat();
    let global = |key: &str, value: &str| tar(&[before(b'g', &pax_record(key, value)), good()]);
    let mut long_record = pax_record("comment", "x");
    long_record[0] = b'9';
    let cases = [
        Case::refused("a wrong checksum", broken, DAMAGED, &["1024", "checksum"]),
        Case::refused(
            "a path said twice",
            tar(&[before(b'x', &two), good()]),
            DAMAGED,
            &["extension", "twice"],
        ),
        Case::refused(
            "two PAX headers",
            tar(&[
                before(b'x', &pax_record("path", "a")),
                before(b'x', &pax_record("path", "b")),
                good(),
            ]),
            REFUSED,
            &["extension"],
        ),
        Case::refused(
            "two long names",
            tar(&[before(b'L', b"a\0"), before(b'L', b"b\0"), good()]),
            REFUSED,
            &["extension"],
        ),
        Case::refused(
            "a long name and a PAX path",
            tar(&[before(b'L', b"a\0"), before(b'x', &pax_record("path", "b")), good()]),
            DISAGREES,
            &["\"b\"", "is b in one place and a"],
        ),
        Case::refused(
            "a long name without an entry",
            tar(&[good(), before(b'L', b"evil\0")]),
            TRUNCATED,
            &["evil"],
        ),
        Case::refused(
            "a PAX header without an entry",
            tar(&[good(), before(b'x', &pax_record("path", "evil"))]),
            TRUNCATED,
            &[],
        ),
        Case::refused(
            "a PAX record that is longer than said",
            tar(&[before(b'x', &long_record), good()]),
            DAMAGED,
            &["extension", "length"],
        ),
        Case::refused("a global path", global("path", "evil"), REFUSED, &["extension", "global"]),
        Case::refused(
            "a global link path",
            global("linkpath", "evil"),
            REFUSED,
            &["extension", "global"],
        ),
        Case::refused("a global size", global("size", "1"), REFUSED, &["extension", "global"]),
        Case::gives("a global comment", global("comment", "evil"), vec![file("good", "1")]),
        Case::refused(
            "a long name of 2 MiB",
            tar(&[good(), before(b'L', &vec![b'x'; 2 << 20]), good()]),
            REFUSED,
            &["extension", "1 MiB"],
        ),
        Case::gives(
            "a tar in a tar is a file",
            tar(&[tar_file("inner.tar", tar(&[tar_file("../evil", "x")]))]),
            vec![file("inner.tar", tar(&[tar_file("../evil", "x")]))],
        ),
        Case::gives("no entries", tar(&[]), vec![]),
    ];
    Ground::new().judge("headers of tar archives", &cases);
}

type Compress = fn(&[u8]) -> Vec<u8>;

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("compressed");
    encoder.finish().expect("compressed")
}

pub fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
    encoder.write_all(bytes).expect("compressed");
    encoder.finish().expect("compressed")
}

/// With a checksum, as the program of that name makes it.
pub fn zst(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("an encoder");
    encoder.include_checksum(true).expect("a checksum");
    encoder.write_all(bytes).expect("compressed");
    encoder.finish().expect("compressed")
}

fn bz2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).expect("compressed");
    encoder.finish().expect("compressed")
}

#[test]
fn data_behind_the_end() {
    let plain = tar(&[tar_file("a", "1")]);
    let lines = || vec![file("a", "1")];
    let mut cases = vec![
        Case::refused(
            "a tar behind a tar",
            [&plain[..], &tar(&[tar_file("evil", "2")])].concat(),
            TRAILING,
            &["2048"],
        ),
        Case::refused("a byte behind a tar", [&plain[..], b"x"].concat(), TRAILING, &["2048"]),
        Case::gives("zeros behind a tar", [&plain[..], &[0; 9000]].concat(), lines()),
        Case::gives("zeros behind gzip", [&gzip(&plain)[..], &[0; 512]].concat(), lines()),
        Case::refused(
            "a tar before a tar's end, compressed",
            gzip(&[&plain[..], b"x"].concat()),
            TRAILING,
            &[],
        ),
        Case::refused(
            "a zip behind a tar",
            [&plain[..], &zip(&[ZipEntry::new("evil", "2")])].concat(),
            TRAILING,
            &["2048"],
        ),
    ];
    let compressions: [(&str, Compress); 4] =
        [("gzip", gzip), ("xz", xz), ("Zstandard", zst), ("bzip2", bz2)];
    for (name, compress) in compressions {
        let code = if name == "gzip" { TRAILING } else { DAMAGED };
        let packed = compress(&plain);
        cases.push(Case::gives(format!("an honest tar in {name}"), packed.clone(), lines()));
        let longer = [&packed[..], b"evil evil evil evil!"].concat();
        cases.push(Case::refused(format!("garbage behind {name}"), longer, code, &[]));
        let two = [packed.clone(), compress(&tar(&[tar_file("evil", "2")]))].concat();
        cases.push(Case::refused(format!("a second tar in more {name}"), two, TRAILING, &[]));
        let mut wrong = packed.clone();
        let at = match name {
            // The checksum at the end; that of xz's data lies before its index and footer.
            "gzip" => wrong.len() - 6,
            "xz" => wrong.len() - 12 - 8 - 2,
            "bzip2" => 12,
            _ => wrong.len() - 2,
        };
        wrong[at] ^= 0x55;
        cases.push(Case::refused(format!("a wrong checksum of {name}"), wrong, DAMAGED, &[]));
        let text = compress(b"no tar archive at all");
        let code = "drystone::unpack::unknown_format";
        cases.push(Case::refused(format!("text in {name}"), text, code, &["not a tar archive"]));
    }
    Ground::new().judge("compressed tars, and data behind the end", &cases);
}
