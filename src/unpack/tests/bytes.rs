//! Archives made byte by byte, for what no honest writer makes.

/// One entry of a hand-made zip archive. Everything can be set to a lie.
#[derive(Clone)]
pub(super) struct ZipEntry {
    pub(super) name: Vec<u8>,
    pub(super) local_name: Option<Vec<u8>>,
    pub(super) content: Vec<u8>,
    /// What is stored; the content when empty.
    pub(super) packed: Option<Vec<u8>>,
    pub(super) flags: u16,
    pub(super) method: u16,
    pub(super) made_by: u8,
    pub(super) mode: u32,
    pub(super) crc: Option<u32>,
    pub(super) size: Option<u32>,
    pub(super) local_size: Option<u32>,
    pub(super) extra: Vec<u8>,
    pub(super) offset: Option<u32>,
    pub(super) descriptor: Vec<u8>,
}

pub(super) fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

impl ZipEntry {
    pub(super) fn new(name: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> Self {
        Self {
            name: name.as_ref().to_vec(),
            local_name: None,
            content: content.as_ref().to_vec(),
            packed: None,
            flags: 0,
            method: 0,
            made_by: 3,
            mode: 0o100_644,
            crc: None,
            size: None,
            local_size: None,
            extra: Vec::new(),
            offset: None,
            descriptor: Vec::new(),
        }
    }
}

/// A zip archive of these entries.
pub(super) fn zip(entries: &[ZipEntry]) -> Vec<u8> {
    zip_with_count(entries, u16::try_from(entries.len()).expect("a small archive"))
}

/// A zip archive that declares this many entries.
pub(super) fn zip_with_count(entries: &[ZipEntry], count: u16) -> Vec<u8> {
    let mut out = Vec::new();
    let mut directory = Vec::new();
    for entry in entries {
        let offset = u32::try_from(out.len()).expect("a small archive");
        let packed = entry.packed.as_ref().unwrap_or(&entry.content);
        let packed_size = u32::try_from(packed.len()).expect("a small entry");
        let size = entry.size.unwrap_or(u32::try_from(entry.content.len()).expect("small"));
        let crc = entry.crc.unwrap_or_else(|| crc32(&entry.content));
        let name = entry.local_name.as_ref().unwrap_or(&entry.name);
        let stream = entry.flags & 8 != 0;
        out.extend_from_slice(b"PK\x03\x04\x14\x00");
        out.extend_from_slice(&entry.flags.to_le_bytes());
        out.extend_from_slice(&entry.method.to_le_bytes());
        out.extend_from_slice(&[0, 0, 33, 0]);
        for value in [crc, packed_size, entry.local_size.unwrap_or(size)] {
            out.extend_from_slice(&if stream { 0 } else { value }.to_le_bytes());
        }
        out.extend_from_slice(&(name.len() as u16).to_le_bytes());
        out.extend_from_slice(&(entry.extra.len() as u16).to_le_bytes());
        out.extend_from_slice(name);
        out.extend_from_slice(&entry.extra);
        out.extend_from_slice(packed);
        out.extend_from_slice(&entry.descriptor);

        directory.extend_from_slice(&[b'P', b'K', 1, 2, 20, entry.made_by, 20, 0]);
        directory.extend_from_slice(&entry.flags.to_le_bytes());
        directory.extend_from_slice(&entry.method.to_le_bytes());
        directory.extend_from_slice(&[0, 0, 33, 0]);
        for value in [crc, packed_size, size] {
            directory.extend_from_slice(&value.to_le_bytes());
        }
        directory.extend_from_slice(&(entry.name.len() as u16).to_le_bytes());
        directory.extend_from_slice(&(entry.extra.len() as u16).to_le_bytes());
        directory.extend_from_slice(&[0; 6]);
        directory.extend_from_slice(&(entry.mode << 16).to_le_bytes());
        directory.extend_from_slice(&entry.offset.unwrap_or(offset).to_le_bytes());
        directory.extend_from_slice(&entry.name);
        directory.extend_from_slice(&entry.extra);
    }
    let start = u32::try_from(out.len()).expect("a small archive");
    out.extend_from_slice(&directory);
    out.extend_from_slice(b"PK\x05\x06\x00\x00\x00\x00");
    out.extend_from_slice(&count.to_le_bytes());
    out.extend_from_slice(&count.to_le_bytes());
    out.extend_from_slice(&(directory.len() as u32).to_le_bytes());
    out.extend_from_slice(&start.to_le_bytes());
    out.extend_from_slice(&[0, 0]);
    out
}

/// A ustar header with any type, and its padded data.
pub(super) fn tar_entry(
    kind: u8,
    name: impl AsRef<[u8]>,
    target: impl AsRef<[u8]>,
    mode: u32,
    data: &[u8],
) -> Vec<u8> {
    tar_entry_sized(kind, name, target, mode, data, data.len() as u64)
}

/// A ustar header that declares a size of its own.
pub(super) fn tar_entry_sized(
    kind: u8,
    name: impl AsRef<[u8]>,
    target: impl AsRef<[u8]>,
    mode: u32,
    data: &[u8],
    size: u64,
) -> Vec<u8> {
    let (name, target) = (name.as_ref(), target.as_ref());
    let mut header = tar::Header::new_ustar();
    let bytes = header.as_mut_bytes();
    bytes[..name.len()].copy_from_slice(name);
    bytes[157..157 + target.len()].copy_from_slice(target);
    bytes[156] = kind;
    header.set_mode(mode);
    header.set_size(size);
    header.set_cksum();
    let mut out = header.as_bytes().to_vec();
    out.extend_from_slice(data);
    out.resize(out.len().next_multiple_of(512), 0);
    out
}

/// One PAX record.
pub(super) fn pax_record(key: &str, value: impl AsRef<[u8]>) -> Vec<u8> {
    let body = [b" ", key.as_bytes(), b"=", value.as_ref(), b"\n"].concat();
    let mut length = body.len() + 1;
    while length.to_string().len() + body.len() != length {
        length += 1;
    }
    [length.to_string().as_bytes(), &body].concat()
}

/// A tar archive of these entries, with its end.
pub(super) fn tar(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut out = entries.concat();
    out.extend_from_slice(&[0; 1024]);
    out
}

/// A file in a tar archive.
pub(super) fn tar_file(name: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> Vec<u8> {
    tar_entry(b'0', name, "", 0o644, content.as_ref())
}

/// A symbolic link in a tar archive.
pub(super) fn tar_link(name: impl AsRef<[u8]>, target: impl AsRef<[u8]>) -> Vec<u8> {
    tar_entry(b'2', name, target, 0o777, b"")
}
