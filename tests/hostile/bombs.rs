//! Archives that unpack to far more than they hold: by ratio, by overlap, by links, by window.

use std::io::{Read, Write};

use super::bytes::{ZipEntry, crc32, tar, tar_entry, tar_entry_sized, tar_file, zip};
use super::case::{Case, Systems, digested, file};
use super::ground::Ground;
use super::lies::xz;
use super::parts::{Part, a_file, a_link, both};

const RATIO: &str = "drystone::unpack::ratio";
const OVERLAP: &str = "drystone::unpack::overlap";
/// Just more than what the ratio does not look at.
const SIZE: u64 = 257 << 20;

fn zeros(length: u64) -> impl Read {
    std::io::repeat(0).take(length)
}

/// Deflated zeros: stretches of 1 MiB that depend on nothing before them, one like the other.
pub fn deflated_zeros(length: u64) -> Vec<u8> {
    let stretch = |length: usize, flush| {
        let mut packed = Vec::with_capacity(1 << 16);
        let mut deflate = flate2::Compress::new(flate2::Compression::best(), false);
        deflate.compress_vec(&vec![0; length], &mut packed, flush).expect("compressed");
        packed
    };
    let one = stretch(1 << 20, flate2::FlushCompress::Full);
    let last = stretch((length & ((1 << 20) - 1)) as usize, flate2::FlushCompress::Finish);
    let mut packed = one.repeat((length >> 20) as usize);
    packed.extend_from_slice(&last);
    packed
}

/// The CRC-32 and the BLAKE3 of zeros.
pub fn sums_of_zeros(length: u64) -> (u32, blake3::Hash) {
    let mut crc = flate2::Crc::new();
    let mut hasher = blake3::Hasher::new();
    let block = vec![0; 1 << 20];
    let mut left = length;
    while left > 0 {
        let part = &block[..left.min(1 << 20) as usize];
        crc.update(part);
        hasher.update(part);
        left -= part.len() as u64;
    }
    (crc.sum(), hasher.finalize())
}

fn zst_with_zeros(head: &[u8], length: u64) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("an encoder");
    std::io::copy(&mut head.chain(zeros(length)), &mut encoder).expect("compressed");
    encoder.finish().expect("compressed")
}

#[test]
fn ratios() {
    let (crc, digest) = sums_of_zeros(SIZE);
    let packed = deflated_zeros(SIZE);
    let bomb = |size| ZipEntry {
        method: 8,
        packed: Some(packed.clone()),
        size: Some(size),
        crc: Some(crc),
        ..ZipEntry::new("zeros", "")
    };
    let size = u32::try_from(SIZE).expect("small");
    let archive = zip(&[ZipEntry::new("good", "1"), bomb(size)]);
    let behind = zst_with_zeros(&tar(&[tar_file("good", "1")]), SIZE);
    let entry =
        [tar_file("good", "1"), tar_entry_sized(b'0', "zeros", "", 0o644, b"", SIZE)].concat();
    let tape = zst_with_zeros(&entry, SIZE + 1024);
    let allowed = format!("max-unpacked {}", SIZE + 1);
    let lines = || vec![file("good", "1"), digested('f', "zeros", SIZE, &digest)];
    let too_large = "drystone::unpack::too_large";
    let bounded = format!("max-unpacked {SIZE}");
    let linux = Systems::Linux;
    // What is in the store already is not unpacked again: the refusals come first.
    let cases = [
        Case::refused("a zip", archive.clone(), RATIO, &["200 to 1"]),
        Case::refused("a zip allowed a byte less", archive.clone(), too_large, &["269484032"])
            .with(bounded),
        Case::gives("a zip that is allowed", archive, lines()).with(&allowed).on(linux),
        Case::refused(
            "a zip that says it is small",
            zip(&[bomb(10)]),
            "drystone::unpack::size",
            &["\"zeros\"", "10"],
        ),
        Case::refused("a tar in Zstandard", tape.clone(), RATIO, &["200 to 1"]).on(linux),
        Case::refused("what is left out", tape.clone(), RATIO, &["200 to 1"])
            .with("exclude \"zeros\"")
            .on(linux),
        Case::gives("a tar that is allowed", tape, lines()).with(&allowed).on(linux),
        Case::refused("zeros behind the end", behind, RATIO, &["200 to 1"]).on(linux),
    ];
    Ground::new().judge("bombs by ratio", &cases);
}

#[test]
fn overlaps() {
    let kernel = vec![b'x'; 5000];
    let first = || ZipEntry::new("n0", &kernel);
    // Many entries of the directory over one local entry, and each with a local header of its own that
    // the data before it quotes.
    let many: Vec<ZipEntry> = std::iter::once(first())
        .chain(
            (1..200)
                .map(|at| ZipEntry { offset: Some(0), ..ZipEntry::new(format!("n{at}"), &kernel) }),
        )
        .collect();
    let local = |entry: &ZipEntry| {
        let archive = zip(std::slice::from_ref(entry));
        let directory = (0..archive.len()).find(|at| archive[*at..].starts_with(b"PK\x01\x02"));
        archive[..directory.expect("a directory")].to_vec()
    };
    let inner = ZipEntry::new("n1", &kernel);
    let quoted = local(&inner);
    let mut stored = vec![0];
    let header = quoted.len() - kernel.len();
    stored.extend_from_slice(&(header as u16).to_le_bytes());
    stored.extend_from_slice(&(!(header as u16)).to_le_bytes());
    let outer_content = [&quoted[..header], &kernel].concat();
    let outer = ZipEntry {
        method: 8,
        packed: Some([&stored[..], &quoted].concat()),
        crc: Some(crc32(&outer_content)),
        size: Some(outer_content.len() as u32),
        ..ZipEntry::new("n0", "")
    };
    let offset = u32::try_from(30 + 2 + stored.len()).expect("small");
    let cases = [
        Case::refused("200 entries over one", zip(&many), OVERLAP, &["\"n"]),
        Case::refused(
            "an entry that quotes the next",
            zip(&[outer, ZipEntry { offset: Some(offset), ..inner }]),
            OVERLAP,
            &["\"n0\"", "\"n1\""],
        ),
        Case::refused(
            "an entry that begins in another",
            zip(&[first(), ZipEntry { offset: Some(31), ..ZipEntry::new("n1", "") }]),
            OVERLAP,
            &["\"n0\"", "\"n1\""],
        ),
        Case::refused(
            "two entries at one place",
            zip(&[
                ZipEntry::new("n0", ""),
                ZipEntry { offset: Some(0), ..ZipEntry::new("n1", "") },
            ]),
            OVERLAP,
            &["\"n0\"", "\"n1\""],
        ),
        Case::refused(
            "an entry that reaches into the directory",
            zip(&[
                ZipEntry { packed: Some(Vec::new()), ..first() },
                ZipEntry { offset: Some(20), ..ZipEntry::new("n1", "") },
            ]),
            OVERLAP,
            &["\"n0\""],
        ),
    ];
    Ground::new().judge("bombs by overlap", &cases);
}

/// Directories that each hold ten links to the next: ten to the sixth files for Windows.
fn tower() -> Vec<Part> {
    let mut parts = vec![a_file("d7/x", "1")];
    for level in 0..7 {
        for at in 0..10 {
            parts.push(a_link(format!("d{level}/{at}"), format!("../d{}", level + 1)));
        }
    }
    parts
}

#[test]
fn links_and_windows() {
    let mut cases = Vec::new();
    for (kind, archive) in both(&tower()) {
        let what = format!("a tower of links in a {kind}");
        let mut lines = vec![file("d7/x", "1")];
        for level in 0..7 {
            let next = format!("../d{}", level + 1);
            lines.extend((0..10).map(|at| super::case::link(&format!("d{level}/{at}"), &next)));
        }
        cases.push(Case::gives(&what, archive.clone(), lines).on(Systems::Linux));
        let too_many = "drystone::unpack::too_many";
        cases.push(Case::refused(&what, archive, too_many, &["2000000"]).on(Systems::Windows));
    }
    let megabyte = "x".repeat(1 << 20);
    let hard = |at| tar_entry(b'1', format!("h{at}"), "a", 0o644, b"");
    let entries: Vec<Vec<u8>> =
        [tar_file("a", &megabyte)].into_iter().chain((0..70).map(hard)).collect();
    let too_large = "drystone::unpack::too_large";
    let hard_links = Case::refused("70 MiB of hard links", tar(&entries), too_large, &["67108864"]);
    cases.push(hard_links.with("max-unpacked 67108864"));

    let plain = tar(&[tar_file("a", "1")]);
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("an encoder");
    encoder.window_log(28).expect("a window of 256 MiB");
    encoder.write_all(&plain).expect("compressed");
    let zst = encoder.finish().expect("compressed");
    let window = "drystone::unpack::window";
    cases.push(Case::refused("a Zstandard window of 256 MiB", zst, window, &["134217728"]));
    // The header of the first block: its size, flags, the filter, one byte of properties.
    let mut packed = xz(&plain);
    let length = (usize::from(packed[12]) + 1) * 4;
    assert_eq!(packed[14..16], [0x21, 1], "LZMA2 and one byte");
    packed[16] = 36;
    let sum = crc32(&packed[12..12 + length - 4]).to_le_bytes();
    packed[12 + length - 4..12 + length].copy_from_slice(&sum);
    cases.push(Case::refused("an xz window of 1 GiB", packed, window, &["134217728"]));
    Ground::new().judge("bombs by links and windows", &cases);
}
