//! Links: kept on Unix, replaced by what they point to on Windows, never out of the tree.

use super::bytes::{tar, tar_entry, tar_file, tar_link};
use super::{Problem, Unpacking};
use crate::model::Glob;

fn reason(bytes: &[u8]) -> String {
    match Unpacking::new(bytes).problem() {
        Problem::Link { reason, .. } => reason,
        other => panic!("{other}"),
    }
}

fn exclude(pattern: &str) -> Vec<Glob> {
    vec![pattern.parse().expect("a pattern")]
}

#[test]
fn targets_are_kept_relative_and_normal() {
    let bytes = tar(&[
        tar_link("lib/libx.so", "./libx.so.1"),
        tar_link("lib/libx.so.1", "../lib//libx.so.1.2"),
        tar_file("lib/libx.so.1.2", "x"),
        tar_link("lib64", "lib/"),
        tar_link("bin/here", "../lib64/libx.so"),
    ]);
    let listing = [
        "l bin/here = ../lib64/libx.so",
        "l lib/libx.so = libx.so.1",
        "l lib/libx.so.1 = libx.so.1.2",
        "f lib/libx.so.1.2 = x",
        "l lib64 = lib",
    ];
    assert_eq!(Unpacking::new(&bytes).listing(), listing);
}

#[test]
fn targets_out_of_the_tree_dangling_or_in_a_circle_are_refused() {
    let link = |target: &str| reason(&tar(&[tar_file("a/x", ""), tar_link("a/link", target)]));
    assert_eq!(link("/etc/passwd"), "which is absolute");
    assert_eq!(link("../../x"), "which lies outside the archive");
    assert_eq!(link("C:x"), "which names a drive, a server or a device");
    assert_eq!(
        link("..\\x"),
        "which holds a backslash, which is a separator on Windows; write / between the parts"
    );
    assert_eq!(link("missing"), "and there is no \"a/missing\"");
    assert_eq!(link(""), "which is empty");
    assert_eq!(link("link"), "which leads in a circle");
    let two = tar(&[tar_link("a", "b"), tar_link("b", "a")]);
    assert_eq!(reason(&two), "which leads in a circle");
}

#[test]
fn dot_dot_behind_a_link_is_taken_as_the_system_would() {
    let bytes = tar(&[
        tar_file("deep/er/x", ""),
        tar_file("deep/found", "1"),
        tar_link("short", "deep/er"),
        tar_link("link", "short/../found"),
    ]);
    assert!(Unpacking::new(&bytes).listing().contains(&"l link = deep/found".to_owned()));
    let out = tar(&[tar_file("x/y", ""), tar_link("a", "x"), tar_link("b", "a/../../up")]);
    assert_eq!(reason(&out), "which lies outside the archive");
}

#[test]
fn links_follow_their_targets_through_strip_and_rename() {
    let bytes = tar(&[tar_file("top/lib/x", "1"), tar_link("top/bin/x", "../lib/x")]);
    let unpacking = Unpacking::new(&bytes).with(|options| {
        options.strip = 1;
        options.rename = vec![crate::model::Rename {
            from: "lib".parse().expect("a path"),
            to: "share/lib".parse().expect("a path"),
        }];
    });
    assert_eq!(unpacking.listing(), ["l bin/x = ../share/lib/x", "f share/lib/x = 1"]);
}

#[test]
fn a_link_whose_target_is_left_out_is_told_with_both() {
    let bytes = tar(&[tar_file("lib/x", "1"), tar_link("y", "lib/x")]);
    let unpacking = Unpacking::new(&bytes).with(|options| options.exclude = exclude("lib/*"));
    let message = unpacking.message();
    assert!(message.contains("\"y\"") && message.contains("\"lib/x\""), "{message}");
}

#[test]
fn windows_gets_files_and_expanded_directories_instead_of_links() {
    let bytes = tar(&[
        tar_file("v1/lib/x", "1"),
        tar_link("v1/lib/y", "x"),
        tar_link("current", "v1"),
        tar_link("lib", "current/lib"),
    ]);
    let listing = [
        "f current/lib/x = 1",
        "f current/lib/y = 1",
        "f lib/x = 1",
        "f lib/y = 1",
        "f v1/lib/x = 1",
        "f v1/lib/y = 1",
    ];
    assert_eq!(Unpacking::windows(&bytes).listing(), listing);
}

#[test]
fn a_directory_link_to_its_own_directory_is_an_error_on_windows() {
    let bytes = tar(&[tar_file("a/x", "1"), tar_link("a/again", "../a")]);
    assert!(matches!(Unpacking::windows(&bytes).problem(), Problem::Link { .. }));
    let crossed = tar(&[
        tar_file("a/x", ""),
        tar_file("b/x", ""),
        tar_link("a/b", "../b"),
        tar_link("b/a", "../a"),
    ]);
    assert!(matches!(Unpacking::windows(&crossed).problem(), Problem::Link { .. }));
}

#[test]
fn nested_directory_links_stop_at_the_bounds() {
    let mut entries = vec![tar_file("d0/x", "0123456789")];
    for level in 1..30 {
        for copy in 0..2 {
            entries.push(tar_link(format!("d{level}/{copy}"), format!("../d{}", level - 1)));
        }
    }
    let bytes = tar(&entries);
    let unpacking = Unpacking::windows(&bytes).with(|options| options.max_unpacked = Some(100_000));
    assert!(matches!(unpacking.problem(), Problem::TooLarge { .. }));
}

#[test]
fn hard_links_become_the_same_file() {
    let bytes = tar(&[
        tar_entry(b'0', "a/tool", "", 0o755, b"1"),
        tar_entry(b'1', "b/tool", "./a/tool", 0o644, b""),
    ]);
    let unpacking = Unpacking::new(&bytes);
    assert_eq!(unpacking.listing(), ["x a/tool = 1", "x b/tool = 1"]);
    assert_eq!(unpacking.sink.finished.lock().expect("unpoisoned").len(), 1);
}

#[test]
fn hard_links_to_what_is_no_earlier_or_no_kept_file_are_refused() {
    let later = tar(&[tar_entry(b'1', "b", "a", 0o644, b""), tar_file("a", "1")]);
    assert!(matches!(Unpacking::new(&later).problem(), Problem::HardLink { .. }));
    let outside = tar(&[tar_entry(b'1', "b", "/etc/passwd", 0o644, b"")]);
    assert!(matches!(Unpacking::new(&outside).problem(), Problem::HardLink { .. }));
    let left_out = tar(&[tar_file("a", "1"), tar_entry(b'1', "b", "a", 0o644, b"")]);
    let unpacking = Unpacking::new(&left_out).with(|options| options.exclude = exclude("a"));
    let message = unpacking.message();
    assert_eq!(message, "the hard link \"b\" is to \"a\", which the options leave out");
}

#[test]
fn directory_links_in_a_row_are_followed_so_far_and_no_further() {
    let chain = |length: usize| {
        let entries: Vec<_> =
            (0..length).map(|at| tar_link(format!("d{at}/l"), format!("../d{}", at + 1))).collect();
        tar(&[entries, vec![tar_file(format!("d{length}/x"), "1")]].concat())
    };
    assert!(Unpacking::windows(&chain(30)).run().is_ok());
    match Unpacking::windows(&chain(20_000)).problem() {
        Problem::Link { reason, .. } => {
            assert_eq!(reason, "a directory behind too many other links");
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_target_that_no_system_could_follow_is_refused() {
    let long = |length: usize| {
        let target = "a/../".repeat(length / 5) + "x";
        let name = tar_entry(b'K', "././@LongLink", "", 0o644, target.as_bytes());
        tar(&[tar_file("x", "1"), tar_file("a/y", "1"), name, tar_link("link", "")])
    };
    assert!(Unpacking::new(&long(4000)).run().is_ok());
    assert!(matches!(Unpacking::new(&long(100_000)).problem(), Problem::Refused { .. }));
}
