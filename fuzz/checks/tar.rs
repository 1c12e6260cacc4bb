//! A tar archive, sniffed or declared, compressed or not, and with right checksums or as it is.

use drystone::model::ArchiveFormat;

use super::archive::{self, How};

/// Unpacks the bytes as the first of them says.
pub fn check(bytes: &[u8]) {
    let Some((how, archive)) = How::of(bytes) else { return };
    let mut options = how.options();
    options.format = how.declares_format().then(|| declared(archive));
    if how.own() {
        archive::check(&with_right_checksums(archive), how, &options);
    } else {
        archive::check(archive, how, &options);
    }
}

const fn declared(archive: &[u8]) -> ArchiveFormat {
    match archive {
        [0x1f, 0x8b, ..] => ArchiveFormat::TarGz,
        [b'B', b'Z', b'h', ..] => ArchiveFormat::TarBz2,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => ArchiveFormat::TarZst,
        [0xfd, b'7', b'z', ..] => ArchiveFormat::TarXz,
        _ => ArchiveFormat::Tar,
    }
}

/// The archive with the checksum of each header as it should be: few changes would be looked at
/// without.
fn with_right_checksums(archive: &[u8]) -> Vec<u8> {
    let mut archive = archive.to_vec();
    for header in archive.chunks_exact_mut(512).filter(|header| header[257..262] == *b"ustar") {
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
    archive
}
