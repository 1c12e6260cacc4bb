//! Zip archives whose headers, directory and descriptors contradict each other.

use super::bytes::{ZipEntry, crc32, zip, zip_with_count};
use super::case::{Case, file};
use super::ground::Ground;

const DISAGREES: &str = "drystone::unpack::disagreement";
const DAMAGED: &str = "drystone::unpack::damaged";

/// Changes bytes of the first local header, or of anything else at this place.
fn patched(mut archive: Vec<u8>, at: usize, bytes: &[u8]) -> Vec<u8> {
    archive[at..at + bytes.len()].copy_from_slice(bytes);
    archive
}

fn deflated(content: &[u8]) -> Vec<u8> {
    let mut encoder =
        flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut encoder, content).expect("compressed");
    encoder.finish().expect("compressed")
}

/// A descriptor: with its signature or without, with sizes of four or eight bytes.
fn descriptor(signed: bool, wide: bool, crc: u32, packed: u64, size: u64) -> Vec<u8> {
    let mut bytes = if signed { b"PK\x07\x08".to_vec() } else { Vec::new() };
    bytes.extend_from_slice(&crc.to_le_bytes());
    for value in [packed, size] {
        let value = value.to_le_bytes();
        bytes.extend_from_slice(if wide { &value } else { &value[..4] });
    }
    bytes
}

#[test]
fn descriptors() {
    let content = b"what follows is said only behind it ".repeat(9);
    let (crc, size) = (crc32(&content), content.len() as u64);
    let mut cases = Vec::new();
    let mut honest = Vec::new();
    for method in [0, 8] {
        let packed = if method == 8 { deflated(&content) } else { content.clone() };
        let length = packed.len() as u64;
        let entry = |descriptor: Vec<u8>| ZipEntry {
            flags: 8,
            method,
            packed: Some(packed.clone()),
            descriptor,
            ..ZipEntry::new("late", &content)
        };
        let archive = |descriptor| zip(&[entry(descriptor), ZipEntry::new("next", "1")]);
        for (signed, wide) in [(true, false), (false, false), (true, true), (false, true)] {
            let what = format!("method {method}, signature {signed}, eight bytes {wide}");
            let right = descriptor(signed, wide, crc, length, size);
            honest.push(ZipEntry { name: what.clone().into_bytes(), ..entry(right) });
            for (lie, wrong) in [
                ("the checksum", descriptor(signed, wide, crc ^ 1, length, size)),
                ("the packed size", descriptor(signed, wide, crc, length + 1, size)),
                ("the size", descriptor(signed, wide, crc, length, size - 1)),
            ] {
                let what = format!("a descriptor that lies of {lie}: {what}");
                cases.push(Case::refused(what, archive(wrong), DISAGREES, &["\"late\""]));
            }
        }
        let what = format!("no descriptor, method {method}");
        cases.push(Case::refused(what, archive(Vec::new()), DISAGREES, &["\"late\""]));
    }
    let names = honest.iter().map(|entry| String::from_utf8_lossy(&entry.name).into_owned());
    let lines = names.map(|name| file(&name, &content)).collect();
    cases.push(Case::gives("every form of descriptor", zip(&honest), lines));
    Ground::new().judge("descriptors", &cases);
}

#[test]
fn local_headers_that_disagree() {
    let plain = || ZipEntry::new("good", "content");
    let hidden = |name: &str| ZipEntry { local_name: Some(name.into()), ..plain() };
    let archive = zip(&[plain()]);
    let cases = [
        Case::refused("another name", zip(&[hidden("evil")]), DISAGREES, &["\"good\"", "evil"]),
        Case::refused(
            "a name that leaves",
            zip(&[hidden("../evil")]),
            DISAGREES,
            &["\"good\"", "../"],
        ),
        Case::refused("a longer name", zip(&[hidden("good.exe")]), DISAGREES, &["\"good\""]),
        Case::refused(
            "another size",
            zip(&[ZipEntry { local_size: Some(9), ..plain() }]),
            DISAGREES,
            &["\"good\"", "9"],
        ),
        Case::refused(
            "another packed size",
            patched(archive.clone(), 18, &[3]),
            DISAGREES,
            &["\"good\"", "packed size"],
        ),
        Case::refused(
            "another method",
            patched(archive.clone(), 8, &[8]),
            DISAGREES,
            &["\"good\"", "method"],
        ),
        Case::refused(
            "another checksum",
            patched(archive.clone(), 14, &[1, 2, 3, 4]),
            DISAGREES,
            &["\"good\"", "checksum"],
        ),
        Case::refused(
            "no checksum",
            patched(archive.clone(), 14, &[0; 4]),
            DISAGREES,
            &["\"good\"", "checksum"],
        ),
        Case::refused(
            "encrypted there only",
            patched(archive.clone(), 6, &[1]),
            DISAGREES,
            &["\"good\"", "flags"],
        ),
        Case::refused(
            "a descriptor there only",
            patched(archive.clone(), 6, &[8]),
            DISAGREES,
            &["\"good\"", "flags"],
        ),
        Case::refused(
            "UTF-8 there only",
            patched(archive.clone(), 7, &[8]),
            DISAGREES,
            &["\"good\"", "flags"],
        ),
        Case::refused(
            "a zip64 size that is not there",
            patched(archive.clone(), 22, &[0xff; 4]),
            DISAGREES,
            &["\"good\""],
        ),
        Case::refused(
            "an extra field that reaches into the directory",
            patched(archive.clone(), 28, &[1]),
            "drystone::unpack::overlap",
            &["\"good\""],
        ),
        Case::refused(
            "no local header where the directory says",
            zip(&[plain(), ZipEntry { offset: Some(5), ..ZipEntry::new("evil", "") }]),
            "drystone::unpack::overlap",
            &["\"evil\""],
        ),
        Case::refused(
            "a local header that is none",
            replaced(zip(&[plain(), ZipEntry::new("after", "")]), b"PK\x03\x04", 1, b"PK\x09\x09"),
            DAMAGED,
            &["\"after\""],
        ),
    ];
    Ground::new().judge("local headers that disagree", &cases);
}

/// Where these bytes stand.
fn places(archive: &[u8], bytes: &[u8]) -> Vec<usize> {
    (0..archive.len()).filter(|at| archive[*at..].starts_with(bytes)).collect()
}

/// Replaces bytes at one of the places where they stand.
fn replaced(archive: Vec<u8>, bytes: &[u8], which: usize, new: &[u8]) -> Vec<u8> {
    let at = places(&archive, bytes)[which];
    patched(archive, at, new)
}

#[test]
fn sizes_and_checksums() {
    let plain = || ZipEntry::new("liar", "content");
    let content = b"content".repeat(50);
    let packed = deflated(&content);
    let deflate = |size: usize, packed: Vec<u8>| ZipEntry {
        method: 8,
        size: Some(u32::try_from(size).expect("small")),
        packed: Some(packed),
        ..ZipEntry::new("liar", &content)
    };
    let size = "drystone::unpack::size";
    let liar = ["\"liar\""];
    let cut = packed[..packed.len() - 3].to_vec();
    let longer = [&packed[..], b"evil"].concat();
    let cases = [
        Case::refused("a smaller size", zip(&[ZipEntry { size: Some(6), ..plain() }]), size, &liar),
        Case::refused("a larger size", zip(&[ZipEntry { size: Some(8), ..plain() }]), size, &liar),
        Case::refused("no size", zip(&[ZipEntry { size: Some(0), ..plain() }]), size, &liar),
        Case::refused(
            "a smaller size of deflate",
            zip(&[deflate(content.len() - 1, packed.clone())]),
            size,
            &liar,
        ),
        Case::refused(
            "a larger size of deflate",
            zip(&[deflate(content.len() + 1, packed.clone())]),
            size,
            &liar,
        ),
        Case::refused(
            "deflate that ends early",
            zip(&[deflate(content.len(), cut)]),
            "drystone::unpack::truncated",
            &liar,
        ),
        Case::refused(
            "deflate with more behind",
            zip(&[deflate(content.len(), longer)]),
            DAMAGED,
            &liar,
        ),
        Case::refused(
            "a wrong checksum",
            zip(&[ZipEntry { crc: Some(1), ..plain() }]),
            "drystone::unpack::checksum",
            &["\"liar\"", "00000001"],
        ),
        Case::refused(
            "no checksum",
            zip(&[ZipEntry { crc: Some(0), ..plain() }]),
            "drystone::unpack::checksum",
            &liar,
        ),
        Case::gives(
            "honest deflate",
            zip(&[deflate(content.len(), packed.clone())]),
            vec![file("liar", &content)],
        ),
    ];
    Ground::new().judge("sizes and checksums of zip entries", &cases);
}

#[test]
fn ends_and_directories() {
    let entries = [ZipEntry::new("a", "1"), ZipEntry::new("b", "2")];
    let whole = zip(&entries);
    let end = whole.len() - 22;
    let comment = |text: &[u8]| {
        let mut archive = whole.clone();
        archive[end + 20..].copy_from_slice(&(text.len() as u16).to_le_bytes());
        [&archive[..], text].concat()
    };
    let (trailing, count) = ("drystone::unpack::trailing_data", "drystone::unpack::count");
    let good = vec![file("a", "1"), file("b", "2")];
    let records = places(&whole, b"PK\x01\x02");
    let (start, second) = (records[0], records[1]);
    let unlisted = [&whole[..start], &whole[second..]].concat();
    let unlisted_end = unlisted.len() - 22;
    let length = ((end - second) as u32).to_le_bytes();
    let unlisted = patched(unlisted, unlisted_end + 8, &[1, 0, 1, 0]);
    let unlisted = patched(unlisted, unlisted_end + 12, &length);
    let cases = [
        Case::gives("an honest comment", comment(b"made here"), good.clone()),
        Case::refused(
            "an end record in the comment",
            comment(&whole[end..]),
            DAMAGED,
            &["more than one end record"],
        ),
        Case::refused(
            "an archive in the comment",
            comment(&zip(&[ZipEntry::new("evil", "3")])),
            DAMAGED,
            &["more than one end record"],
        ),
        Case::refused("data behind the end", [&whole[..], b"more"].concat(), trailing, &[]),
        Case::refused("one byte behind the end", [&whole[..], b"\0"].concat(), trailing, &[]),
        Case::refused(
            "two archives in one file",
            [&whole[..], &zip(&[ZipEntry::new("evil", "3")])].concat(),
            DAMAGED,
            &["directory"],
        ),
        Case::refused(
            "a script before it",
            [b"#!/bin/sh\nexit\n", &whole[..]].concat(),
            "drystone::unpack::unknown_format",
            &["23 21 2f 62"],
        ),
        Case::refused(
            "a program before it",
            [b"MZ\x90\0", &whole[..]].concat(),
            "drystone::unpack::unknown_format",
            &["self-extracting"],
        ),
        Case::refused(
            "another local header before it",
            [b"PK\x03\x04", &whole[..]].concat(),
            DAMAGED,
            &["directory"],
        ),
        Case::refused(
            "one entry too many declared",
            zip_with_count(&entries, 3),
            count,
            &["3", "2"],
        ),
        Case::refused(
            "one entry too few declared",
            zip_with_count(&entries, 1),
            count,
            &["1", "2"],
        ),
        Case::refused("no entries declared", zip_with_count(&entries, 0), count, &["0", "2"]),
        Case::refused(
            "a directory that begins elsewhere",
            patched(whole.clone(), end + 16, &[1]),
            DAMAGED,
            &["directory"],
        ),
        Case::refused(
            "a directory that is longer",
            patched(whole.clone(), end + 12, &[0xff]),
            DAMAGED,
            &["directory"],
        ),
        Case::refused(
            "a directory with something else in it",
            replaced(whole.clone(), b"PK\x01\x02", 1, b"PK\x01\x03"),
            DAMAGED,
            &["no record"],
        ),
        Case::gives("an entry that the directory does not list", unlisted, vec![file("b", "2")]),
        Case::gives(
            "a zip in a zip is a file",
            zip(&[ZipEntry::new("inner.zip", &whole)]),
            vec![file("inner.zip", &whole)],
        ),
        Case::gives("no entries", zip(&[]), vec![]),
    ];
    Ground::new().judge("ends and directories of zip archives", &cases);
}
