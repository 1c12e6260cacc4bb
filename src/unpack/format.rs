//! Which format a file is, told from its bytes.

use std::io::{self, Read};

use super::error::Problem;
use super::tar::{Compression, decoder, is_tar_start};
use super::zip::read_at;
use crate::fetch::Arriving;
use crate::model::{ArchiveFormat, UnpackOptions};

const HEAD: usize = 1024;

/// The format of a file. A declared one must agree with the bytes; `file` takes any bytes.
pub(super) fn decide(
    archive: &Arriving,
    options: &UnpackOptions,
) -> Result<ArchiveFormat, Problem> {
    if options.format == Some(ArchiveFormat::File) {
        return Ok(ArchiveFormat::File);
    }
    let mut head = vec![0; HEAD.min(usize::try_from(archive.length()).unwrap_or(HEAD))];
    read_at(archive, &mut head, 0)?;
    let found = recognise(archive, &head)?;
    match (options.format, found) {
        (None, Ok(found)) => Ok(found),
        (Some(declared), Ok(found)) if declared == found => Ok(found),
        (Some(declared), Ok(found)) => {
            Err(Problem::OtherFormat { declared, found: found.to_string() })
        }
        (None, Err(_)) if options.file_name.is_some() && !looks_like_page(&head) => {
            Ok(ArchiveFormat::File)
        }
        (_, Err(looks_like)) => Err(Problem::UnknownFormat { looks_like }),
    }
}

fn recognise(archive: &Arriving, head: &[u8]) -> Result<Result<ArchiveFormat, String>, Problem> {
    if head.starts_with(b"PK\x07\x08") {
        return Err(Problem::RefusedArchive("one volume of a zip archive in several".to_owned()));
    }
    if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
        return Ok(Ok(ArchiveFormat::Zip));
    }
    if is_tar_start(head) {
        return Ok(Ok(ArchiveFormat::Tar));
    }
    let Some(compression) = Compression::of(head) else {
        return Ok(Err(describe(head)));
    };
    let mut inner = Vec::with_capacity(HEAD);
    let decoded = decoder(compression, Box::new(At { archive, at: 0 }))
        .and_then(|decoder| decoder.take(HEAD as u64).read_to_end(&mut inner));
    if let Err(error) = decoded
        && inner.is_empty()
    {
        return Err(super::tar::decoding(error));
    }
    if inner.is_empty() || is_tar_start(&inner) {
        return Ok(Ok(compression.format()));
    }
    Ok(Err(format!("one file compressed with {}, not a tar archive", compression.name())))
}

/// Reads from a place of its own in a file.
struct At<'a> {
    archive: &'a Arriving,
    at: u64,
}

impl Read for At<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.archive.read_some_at(buffer, self.at)?;
        self.at += length as u64;
        Ok(length)
    }
}

fn looks_like_page(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head).trim_start().to_ascii_lowercase();
    text.starts_with("<!doctype html") || text.starts_with("<html")
}

fn describe(head: &[u8]) -> String {
    const KNOWN: [(&[u8], &str); 13] = [
        (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
        (b"Rar!", "a RAR archive"),
        (b"MZ", "a Windows program, perhaps an installer or a self-extracting archive"),
        (b"\x7fELF", "a Linux program or library"),
        (b"%PDF", "a PDF document"),
        (b"\xd0\xcf\x11\xe0", "a Windows installer package (MSI)"),
        (b"MSCF", "a Windows cabinet"),
        (b"!<arch>", "a Debian package or a static library"),
        (b"\xed\xab\xee\xdb", "an RPM package"),
        (b"\x04\x22\x4d\x18", "data compressed with LZ4"),
        (b"\x1f\x9d", "data compressed with compress"),
        (b"LZIP", "data compressed with lzip"),
        (b"version https://git-lfs", "a Git LFS pointer, not the file it stands for"),
    ];
    if head.is_empty() {
        return "an empty file".to_owned();
    }
    if looks_like_page(head) {
        return "a web page (HTML): the URL leads to a page, not to the file".to_owned();
    }
    if let Some((_, name)) = KNOWN.iter().find(|(start, _)| head.starts_with(start)) {
        return (*name).to_owned();
    }
    let text = String::from_utf8_lossy(head);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let plain = !head.contains(&0) && text.chars().filter(|c| *c == '\u{fffd}').count() < 2;
    match text.chars().next() {
        Some('<') if plain => "XML".to_owned(),
        Some('{' | '[') if plain => "JSON".to_owned(),
        Some(_) if plain => {
            let first: String = text.lines().next().unwrap_or("").chars().take(60).collect();
            format!("text that begins with \"{}\"", first.escape_debug())
        }
        _ => {
            let bytes: Vec<String> = head.iter().take(8).map(|b| format!("{b:02x}")).collect();
            format!("binary data that begins with {}", bytes.join(" "))
        }
    }
}
