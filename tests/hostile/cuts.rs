//! Archives cut at every KiB.

use super::bytes::{ZipEntry, tar, tar_file, zip};
use super::case::{Case, Systems, file};
use super::ground::Ground;
use super::lies::{gzip, xz, zst};

const KIB: usize = 1 << 10;
const TRUNCATED: &str = "drystone::unpack::truncated";

/// Bytes that no compression makes smaller.
fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..length).map(|_| next()).collect()
}

#[test]
fn archives_cut_at_every_kib() {
    // In the tar every entry but the first begins 512 bytes behind a KiB: no cut falls between two.
    let files = [
        ("one", noise(4 * KIB, 1)),
        ("two", noise(3 * KIB + 512, 2)),
        ("three", noise(3 * KIB + 100, 3)),
    ];
    let lines: Vec<String> = files.iter().map(|(name, content)| file(name, content)).collect();
    let entries: Vec<Vec<u8>> =
        files.iter().map(|(name, content)| tar_file(name, content)).collect();
    let tape = tar(&entries);
    let zipped: Vec<ZipEntry> =
        files.iter().map(|(name, content)| ZipEntry::new(name, content)).collect();
    let mut cases = Vec::new();
    for (kind, whole) in [
        ("zip", zip(&zipped)),
        ("tar", tape.clone()),
        ("tar.gz", gzip(&tape)),
        ("tar.xz", xz(&tape)),
        ("tar.zst", zst(&tape)),
    ] {
        for length in (KIB..whole.len()).step_by(KIB) {
            let what = format!("{kind} of {} bytes cut to {length}", whole.len());
            let cut = whole[..length].to_vec();
            let case = match kind == "tar" && length >= tape.len() - KIB {
                // All entries are there: only zeros are missing.
                true => Case::gives(what, cut, lines.clone()),
                false => Case::refused(what, cut, TRUNCATED, &[]),
            };
            cases.push(case.on(Systems::Linux));
        }
        cases.push(Case::gives(format!("the whole {kind}"), whole, lines.clone()));
    }
    let between = entries[..2].concat();
    cases.push(Case::gives("a tar cut between two entries", between, lines[..2].to_vec()));
    Ground::new().judge("archives cut at every KiB", &cases);
}
