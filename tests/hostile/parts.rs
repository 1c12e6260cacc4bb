//! The same entries as a zip and as a tar archive.

use super::bytes::{ZipEntry, pax_record, tar, tar_entry, tar_file, tar_link, zip};

/// One entry, in either kind of archive.
#[derive(Debug, Clone)]
pub enum Part {
    File(Vec<u8>, Vec<u8>),
    Link(Vec<u8>, Vec<u8>),
    Directory(Vec<u8>),
}

/// A file.
pub fn a_file(name: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> Part {
    Part::File(name.as_ref().to_vec(), content.as_ref().to_vec())
}

/// A symbolic link.
pub fn a_link(name: impl AsRef<[u8]>, target: impl AsRef<[u8]>) -> Part {
    Part::Link(name.as_ref().to_vec(), target.as_ref().to_vec())
}

/// A directory; its name ends with `/`.
pub fn a_directory(name: impl AsRef<[u8]>) -> Part {
    Part::Directory(name.as_ref().to_vec())
}

/// The zip archive and the tar archive of these entries, each with the name of its kind.
pub fn both(parts: &[Part]) -> [(&'static str, Vec<u8>); 2] {
    [("zip", zip_of(parts)), ("tar", tar_of(parts))]
}

/// A zip archive, made on Unix.
pub fn zip_of(parts: &[Part]) -> Vec<u8> {
    let entries: Vec<ZipEntry> = parts.iter().map(zip_part).collect();
    zip(&entries)
}

fn zip_part(part: &Part) -> ZipEntry {
    match part {
        Part::File(name, content) => ZipEntry::new(name, content),
        Part::Link(name, target) => ZipEntry { mode: 0o120_777, ..ZipEntry::new(name, target) },
        Part::Directory(name) => ZipEntry { mode: 0o040_755, ..ZipEntry::new(name, "") },
    }
}

/// A tar archive; what a header has no room for stands in PAX records.
pub fn tar_of(parts: &[Part]) -> Vec<u8> {
    let entries: Vec<Vec<u8>> = parts.iter().map(tar_part).collect();
    tar(&entries)
}

fn tar_part(part: &Part) -> Vec<u8> {
    let (name, target) = match part {
        Part::File(name, _) | Part::Directory(name) => (name, None),
        Part::Link(name, target) => (name, Some(target)),
    };
    let records = [("path", Some(name)), ("linkpath", target)]
        .into_iter()
        .filter_map(|(key, value)| Some((key, value.filter(|value| !fits(value))?)))
        .map(|(key, value)| pax_record(key, value))
        .collect::<Vec<_>>()
        .concat();
    let short = |text: &[u8]| if fits(text) { text.to_vec() } else { b"long".to_vec() };
    let entry = match part {
        Part::File(name, content) => tar_file(short(name), content),
        Part::Link(name, target) => tar_link(short(name), short(target)),
        Part::Directory(name) => tar_entry(b'5', short(name), "", 0o755, b""),
    };
    match records.is_empty() {
        true => entry,
        false => [tar_entry(b'x', "pax", "", 0o644, &records), entry].concat(),
    }
}

/// Whether a header of a tar archive can hold a text.
fn fits(text: &[u8]) -> bool {
    text.len() <= 100 && !text.contains(&0)
}

/// Makes the checksum right of a header that was changed.
pub fn with_checksum(mut entry: Vec<u8>) -> Vec<u8> {
    let mut header = tar::Header::new_old();
    header.as_mut_bytes().copy_from_slice(&entry[..512]);
    header.set_cksum();
    entry[..512].copy_from_slice(header.as_bytes());
    entry
}
