//! What the options of a source do, and what is said when they do nothing.

use super::bytes::{ZipEntry, tar, tar_file, zip};
use super::{Problem, Unpacking};
use crate::model::{ArchiveFormat, Glob, Rename};

fn globs(patterns: &[&str]) -> Vec<Glob> {
    patterns.iter().map(|pattern| pattern.parse().expect("a pattern")).collect()
}

fn rename(from: &str, to: &str) -> Rename {
    Rename { from: from.parse().expect("a path"), to: to.parse().expect("a path") }
}

fn sample() -> Vec<u8> {
    zip(&[
        ZipEntry::new("LICENSE", "0"),
        ZipEntry::new("top/bin/tool", "1"),
        ZipEntry::new("top/lib/a.dll", "2"),
        ZipEntry::new("top/lib/deep/b.dll", "3"),
        ZipEntry::new("top/readme", "4"),
    ])
}

#[test]
fn options_apply_in_their_order() {
    let bytes = sample();
    let unpacking = Unpacking::new(&bytes).with(|options| {
        options.strip = 1;
        options.include = globs(&["bin/*", "lib/**"]);
        options.exclude = globs(&["lib/deep/*"]);
        options.rename = vec![rename("bin", "programs"), rename("lib/a.dll", "a.dll")];
        options.executable = globs(&["programs/*"]);
    });
    assert_eq!(unpacking.listing(), ["f a.dll = 2", "x programs/tool = 1"]);
}

#[test]
fn strip_leaves_out_what_has_no_more_parts_and_complains_when_nothing_is_left() {
    let bytes = sample();
    let strip = |parts| Unpacking::new(&bytes).with(|options| options.strip = parts);
    assert_eq!(strip(3).listing(), ["f b.dll = 3"]);
    assert_eq!(
        strip(4).message(),
        "`strip 4` leaves nothing of it; it begins with \"LICENSE\", \"top/bin/tool\", \
         \"top/lib/a.dll\""
    );
}

#[test]
fn an_include_or_rename_that_matches_nothing_is_an_error() {
    let bytes = sample();
    let unpacking = Unpacking::new(&bytes).with(|options| options.include = globs(&["*", "bin/*"]));
    assert!(matches!(unpacking.problem(), Problem::Include { pattern, .. } if pattern == "bin/*"));
    let unpacking = Unpacking::new(&bytes).with(|options| options.rename = vec![rename("x", "y")]);
    assert!(matches!(unpacking.problem(), Problem::Rename { from, .. } if from == "x"));
}

#[test]
fn renaming_two_files_to_one_path_is_told_with_both_names() {
    let bytes = sample();
    let unpacking = Unpacking::new(&bytes)
        .with(|options| options.rename = vec![rename("LICENSE", "top/readme")]);
    assert_eq!(
        unpacking.message(),
        "\"top/readme\" lands on \"top/readme\", where \"LICENSE\" already is"
    );
}

#[test]
fn a_leading_dot_and_a_trailing_slash_are_no_part_of_a_name() {
    let directory = super::bytes::tar_entry(b'5', "./", "", 0o755, b"");
    let bytes = tar(&[directory, tar_file("./a/b", "1")]);
    let unpacking = Unpacking::new(&bytes).with(|options| options.strip = 1);
    assert_eq!(unpacking.listing(), ["f b = 1"]);
}

#[test]
fn the_declared_format_must_be_that_of_the_bytes() {
    let bytes = sample();
    let unpacking =
        Unpacking::new(&bytes).with(|options| options.format = Some(ArchiveFormat::TarGz));
    assert_eq!(unpacking.message(), "it is declared as tar.gz, but its bytes are zip");
}

#[test]
fn a_single_file_needs_a_name_and_looks_executable_or_not() {
    let file = |name: Option<&str>| {
        Unpacking::new(b"#!/bin/sh\n").with(|options| {
            options.format = Some(ArchiveFormat::File);
            options.file_name = name.map(|name| name.parse().expect("a path"));
        })
    };
    assert_eq!(file(Some("run")).listing(), ["x run = #!/bin/sh\n"]);
    assert!(matches!(file(None).problem(), Problem::NoFileName));
}
