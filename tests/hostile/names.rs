//! Names that leave the tree, or that some system takes for something else.

use super::bytes::{ZipEntry, crc32, pax_record, tar, tar_entry, tar_file, zip};
use super::case::{Case, Systems, file};
use super::ground::Ground;
use super::parts::{Part, a_directory, a_file, both, with_checksum};

const CODE: &str = "drystone::unpack::name";
const ENCODING: &str = "drystone::unpack::name_encoding";
const WINDOWS: &str = "drystone::unpack::windows_name";

/// An honest file and another, in a zip and in a tar archive.
fn beside_good(part: Part) -> [(&'static str, Vec<u8>); 2] {
    both(&[a_file("good", "1"), part])
}

/// Every way to say a name: a zip and a tar archive have several.
fn carriers(name: &str) -> Vec<(&'static str, Vec<u8>)> {
    let mut unicode = vec![1];
    unicode.extend_from_slice(&crc32(b"fine").to_le_bytes());
    unicode.extend_from_slice(name.as_bytes());
    let mut field = vec![0x75, 0x70];
    field.extend_from_slice(&(unicode.len() as u16).to_le_bytes());
    field.extend_from_slice(&unicode);
    let good = || ZipEntry::new("good", "1");
    let pax = pax_record("path", name);
    let long = [name.as_bytes(), b"\0"].concat();
    let before = |kind, data: &[u8]| {
        let extension = tar_entry(kind, "extension", "", 0o644, data);
        tar(&[tar_file("good", "1"), extension, tar_file("fine", "x")])
    };
    let mut carriers = vec![
        ("a zip's name", zip(&[good(), ZipEntry::new(name, "x")])),
        (
            "a zip's UTF-8 name",
            zip(&[good(), ZipEntry { flags: 1 << 11, ..ZipEntry::new(name, "x") }]),
        ),
        (
            "a zip's Unicode Path",
            zip(&[good(), ZipEntry { extra: field, ..ZipEntry::new("fine", "x") }]),
        ),
        ("a tar's header", tar(&[tar_file("good", "1"), tar_file(name, "x")])),
        ("a tar's PAX path", before(b'x', &pax)),
        ("a tar's GNU long name", before(b'L', &long)),
    ];
    if let Some((prefix, rest)) = name.rsplit_once('/') {
        let mut entry = tar_file(rest, "x");
        entry[345..345 + prefix.len()].copy_from_slice(prefix.as_bytes());
        carriers.push(("a tar's prefix", tar(&[tar_file("good", "1"), with_checksum(entry)])));
    }
    carriers
}

#[test]
fn traversal_in_every_place_that_has_a_name() {
    let mut cases = Vec::new();
    for name in ["../evil", "a/../../evil", "/etc/evil", "C:\\evil", "\\\\host\\share\\evil"] {
        for (place, archive) in carriers(name) {
            let shown = name.escape_debug().to_string();
            cases.push(Case::refused(format!("{name:?} as {place}"), archive, CODE, &[&shown]));
        }
    }
    Ground::new().judge("traversal in every place that has a name", &cases);
}

#[test]
fn names_that_are_refused_on_every_system() {
    let mut ground = Ground::new();
    let canary = ground.outside("canary");
    let up_to_canary = format!("{}{canary}", "../".repeat(40).trim_end_matches('/'));
    let device = format!("\\\\?\\{canary}");
    let long_part = "n".repeat(256);
    let long_path = "0123456789/".repeat(400) + "x";
    let mut names = vec![
        "..",
        "../evil",
        "./../evil",
        "a/..",
        "a/../b",
        "a/b/../../../evil",
        "a/../../work/evil",
        "..\\evil",
        "a\\..\\..\\evil",
        "a/..\\..\\evil",
        "\\evil",
        "a\\b",
        "/evil",
        "//evil",
        "//host/share/evil",
        "/dev/null",
        "C:\\evil",
        "C:/evil",
        "C:evil",
        "c:..\\evil",
        "c:",
        "a:b",
        "z:stream",
        "\\\\host\\share\\evil",
        "\\\\?\\C:\\evil",
        "\\\\.\\PhysicalDrive0",
        "\\??\\C:\\evil",
        "a//b",
        "a/./b",
        "a/.",
        "",
        "a\nb",
        "a\rb",
        "a\tb",
        "a\u{1}b",
        "a\u{1b}[2Jb",
        "a\u{1f}b",
        "a\u{7f}b",
        "a\0b",
        "\0",
    ];
    names.extend([&canary, &up_to_canary, &device, &long_part, &long_path].map(String::as_str));
    let mut cases = Vec::new();
    for name in names {
        for (kind, archive) in beside_good(a_file(name, "x")) {
            let shown = name.strip_prefix("./").unwrap_or(name).escape_debug().to_string();
            let shown: String = shown.chars().take(60).collect();
            cases.push(Case::refused(format!("{name:?} in a {kind}"), archive, CODE, &[&shown]));
        }
    }
    for name in ["../", "a/../../evil/", "/", "///", "/evil/", "C:\\evil/", "..\\evil/"] {
        for (kind, archive) in beside_good(a_directory(name)) {
            let shown = name.escape_debug().to_string();
            let what = format!("the directory {name:?} in a {kind}");
            cases.push(Case::refused(what, archive, CODE, &[&shown]));
        }
    }
    for name in [".", "./."] {
        for (kind, archive) in beside_good(a_file(name, "x")) {
            let what = format!("a file {name:?} in a {kind}");
            cases.push(Case::refused(what, archive, "drystone::unpack::refused", &[name]));
        }
    }
    // What drystone itself writes into an environment cannot come out of a package.
    for name in [".drystone/environment.json", ".drystone/evil", ".Drystone/evil"] {
        for (kind, archive) in beside_good(a_file(name, "{}")) {
            let what = format!("{name:?} at the top of the environment in a {kind}");
            let systems = if name.starts_with(".D") { Systems::Windows } else { Systems::All };
            let case = Case::refused(what, archive, "drystone::compose::path", &[name]);
            cases.push(case.with("into \".\"").on(systems));
        }
    }
    ground.judge("names refused on every system", &cases);
}

#[test]
fn names_that_only_look_like_traversal_are_ordinary() {
    let mut names = vec![
        "%2e%2e/%2e%2e/evil",
        "..%2fevil",
        "%2e%2e%5cevil",
        "%00",
        "a%3ab",
        "\u{ff0e}\u{ff0e}/evil",
        "\u{2025}/evil",
        "..\u{2215}evil",
        "..\u{2044}evil",
        "\u{2024}\u{2024}/evil",
        "..evil",
        "...a",
        ".hidden/..b",
        "~/evil",
        "$HOME/evil",
        "-rf",
        "--help",
        "`x`",
        "$(x)",
        "a\u{202e}b",
        "a\u{200b}b",
        "\u{feff}a",
        "c%3a/x",
        "PROGRA~1",
    ];
    let mut cases = Vec::new();
    for systems in [Systems::Windows, Systems::Linux] {
        if systems == Systems::Linux {
            // Windows drops a dot at the end of a part.
            names.extend(["a../b", ".../c", ".. /evil"]);
        }
        let parts: Vec<Part> = names.iter().map(|name| a_file(name, name)).collect();
        let lines: Vec<String> = names.iter().map(|name| file(name, name)).collect();
        for (kind, archive) in both(&parts) {
            let what = format!("{} odd names in a {kind}", names.len());
            cases.push(Case::gives(what, archive, lines.clone()).on(systems));
        }
    }
    Ground::new().judge("names that only look like traversal", &cases);
}

#[test]
fn bytes_that_are_no_utf_8() {
    let mut cases = Vec::new();
    let overlong: [(&[u8], &str); 4] = [
        (b"\xc0\xae\xc0\xae/evil", "└«└«/evil"),
        (b"..\xc0\xafevil", "..└»evil"),
        (b"\xe0\x80\xae\xe0\x80\xae/evil", "αÇ«αÇ«/evil"),
        (b"a\xffb\xfe-evil", "a\u{a0}b■-evil"),
    ];
    for (name, as_437) in overlong {
        let lines = vec![file("good", "1"), file(as_437, "x")];
        let plain = zip(&[ZipEntry::new("good", "1"), ZipEntry::new(name, "x")]);
        cases.push(Case::gives(format!("{as_437:?} in a zip that says no encoding"), plain, lines));
        let utf8 = ZipEntry { flags: 1 << 11, ..ZipEntry::new(name, "x") };
        let what = format!("{as_437:?} in a zip that says UTF-8");
        cases.push(Case::refused(what, zip(&[utf8]), ENCODING, &["evil"]));
        let tape = tar(&[tar_file("good", "1"), tar_file(name, "x")]);
        cases.push(Case::refused(format!("{as_437:?} in a tar"), tape, ENCODING, &["evil"]));
        let pax = tar_entry(b'x', "pax", "", 0o644, &pax_record("path", name));
        let tape = tar(&[tar_file("good", "1"), pax, tar_file("fine", "x")]);
        cases.push(Case::refused(format!("{as_437:?} in PAX"), tape, ENCODING, &["evil"]));
    }
    Ground::new().judge("bytes that are no UTF-8", &cases);
}

#[test]
fn names_that_windows_cannot_hold() {
    let names = [
        "CON",
        "nul.txt",
        "dir/PRN/x",
        "COM1",
        "LPT9.tar.gz",
        "aux .h",
        "CONIN$",
        "com\u{b9}",
        "file:stream",
        "file.txt::$DATA",
        "dir:$INDEX_ALLOCATION/x",
        "a?",
        "a*",
        "a<b",
        "a>b",
        "a|b",
        "\"q\"",
        "dot.",
        "space ",
        "dir./x",
        "dir /x",
        ".../evil",
        ".. /evil",
        ". /evil",
        "a. . .",
    ];
    let mut cases = Vec::new();
    for name in names {
        for (kind, archive) in beside_good(a_file(name, "x")) {
            let refused = Case::refused(format!("{name:?} in a {kind}"), archive, WINDOWS, &[name]);
            cases.push(refused.on(Systems::Windows));
        }
    }
    let parts: Vec<Part> = names.iter().map(|name| a_file(name, name)).collect();
    for (kind, archive) in both(&parts) {
        let lines = names.iter().map(|name| file(name, name)).collect();
        let what = format!("all of them in a {kind}");
        cases.push(Case::gives(what, archive, lines).on(Systems::Linux));
    }
    Ground::new().judge("names that Windows cannot hold", &cases);
}

#[test]
fn one_path_twice() {
    let code = "drystone::unpack::duplicate";
    let mut cases = Vec::new();
    let pairs = [
        ("other contents", a_file("same", "1"), a_file("same", "2")),
        ("equal contents", a_file("same", "1"), a_file("same", "1")),
        ("another spelling", a_file("same", "1"), a_file("./same", "2")),
        ("a directory over a file", a_file("same", "1"), a_directory("same/")),
        ("a file over a directory", a_directory("same/"), a_file("same", "1")),
    ];
    for (what, first, second) in pairs {
        for (kind, archive) in both(&[a_file("good", "1"), first.clone(), second.clone()]) {
            cases.push(Case::refused(format!("{what} in a {kind}"), archive, code, &["same"]));
        }
    }
    for (what, parts) in [
        ("a file, then one below it", [a_file("same", "1"), a_file("same/x", "2")]),
        ("a file, then itself above it", [a_file("same/x", "2"), a_file("same", "1")]),
    ] {
        for (kind, archive) in both(&parts) {
            let code = "drystone::unpack::below";
            let what = format!("{what} in a {kind}");
            cases.push(Case::refused(what, archive, code, &["\"same/x\"", "\"same\""]));
        }
    }
    for (kind, archive) in both(&[a_directory("d/"), a_directory("./d/"), a_directory("d/")]) {
        let lines = vec![super::case::directory("d")];
        cases.push(Case::gives(format!("a directory three times in a {kind}"), archive, lines));
    }
    Ground::new().judge("one path twice", &cases);
}

#[test]
fn names_that_windows_or_the_eye_takes_for_one() {
    let collision = "drystone::unpack::collision";
    let normal = "drystone::unpack::normal_form";
    let pairs = [
        (collision, "README", "Readme"),
        (collision, "lib/\u{c9}t\u{e9}", "lib/\u{e9}t\u{c9}"),
        (collision, "LIB", "lib/x"),
        (collision, "A/b/C", "a/B/c"),
        (normal, "\u{e9}", "e\u{301}"),
        (normal, "K", "\u{212a}"),
        (normal, "d\u{e9}/x", "de\u{301}/y"),
        (normal, "\u{1e9b}\u{323}", "\u{17f}\u{323}\u{307}"),
    ];
    let mut cases = Vec::new();
    let mut notes = Vec::new();
    for (code, first, second) in pairs {
        let top = |name: &'static str| name.split('/').next().expect("a part");
        // Of two directories, or a file and a directory, these are named.
        let (one, other) = match code == normal || first == "LIB" {
            true => (top(first), top(second)),
            false => (first, second),
        };
        for (kind, archive) in both(&[a_file(first, "1"), a_file(second, "2")]) {
            let what = format!("{first:?} and {second:?} in a {kind}");
            let refused = Case::refused(what, archive, code, &[one, other]);
            cases.push(refused.on(Systems::Windows));
        }
        if code == normal {
            let (one, other) = (one.min(other), one.max(other));
            notes.push(format!("\"{one}\" and \"{other}\" differ only in their Unicode"));
        }
    }
    let names: Vec<&str> = pairs.iter().flat_map(|(_, first, second)| [*first, *second]).collect();
    let parts: Vec<Part> = names.iter().map(|name| a_file(name, name)).collect();
    for (kind, archive) in both(&parts) {
        let lines = names.iter().map(|name| file(name, name)).collect();
        let taken = Case::gives(format!("all of them in a {kind}"), archive, lines);
        cases.push(taken.on(Systems::Linux).saying(&notes));
    }
    for (kind, archive) in both(&[a_file("Lib/a", "1"), a_file("lib/b", "2")]) {
        let what = format!("directories that fold to one in a {kind}");
        let merged = vec![file("Lib/a", "1"), file("Lib/b", "2")];
        cases.push(Case::gives(&what, archive.clone(), merged).on(Systems::Windows));
        let apart = vec![file("Lib/a", "1"), file("lib/b", "2")];
        cases.push(Case::gives(&what, archive, apart).on(Systems::Linux));
    }
    for (kind, archive) in both(&[a_file("stra\u{df}e", "1"), a_file("STRASSE", "2")]) {
        let lines = vec![file("stra\u{df}e", "1"), file("STRASSE", "2")];
        cases.push(Case::gives(format!("\u{df} and SS in a {kind}"), archive, lines));
    }
    Ground::new().judge("names that Windows or the eye takes for one", &cases);
}
