//! Each way an archive can lie or do harm, by name. Nothing is ever finished with an error unseen.

use super::bytes::{
    ZipEntry, pax_record, tar, tar_entry, tar_entry_sized, tar_file, tar_link, zip, zip_with_count,
};
use super::{Problem, Unpacking};

#[test]
fn names_that_leave_the_tree_are_refused_by_name_in_zip_and_tar() {
    for name in [
        "../up",
        "a/../../up",
        "/etc/passwd",
        "C:/x",
        "c:x",
        "a\\b",
        "\\\\host\\share",
        "\\\\?\\C:",
        "a/./b",
        "a//b",
        "a\nb",
        "a\u{1}b",
    ] {
        for bytes in [zip(&[ZipEntry::new(name, "")]), tar(&[tar_file(name, "")])] {
            match Unpacking::new(&bytes).problem() {
                Problem::Name { entry, .. } => assert_eq!(entry, name.escape_debug().to_string()),
                other => panic!("{name:?}: {other}"),
            }
        }
    }
}

#[test]
fn excluding_a_hostile_name_does_not_make_the_archive_good() {
    let bytes = zip(&[ZipEntry::new("../up", ""), ZipEntry::new("a", "")]);
    let unpacking = Unpacking::new(&bytes)
        .with(|options| options.exclude = vec!["**".parse().expect("a pattern")]);
    assert!(matches!(unpacking.problem(), Problem::Name { .. }));
}

#[test]
fn names_that_windows_cannot_hold_are_refused_for_windows_only() {
    for name in ["NUL.txt", "ab:stream", "dir./x", "what?"] {
        let bytes = zip(&[ZipEntry::new(name, "")]);
        assert!(matches!(Unpacking::windows(&bytes).problem(), Problem::WindowsName { .. }));
        assert_eq!(Unpacking::new(&bytes).listing(), [format!("f {name} = ")]);
    }
}

#[test]
fn names_that_fold_to_one_collide_on_windows_naming_both() {
    let bytes = zip(&[ZipEntry::new("a/Readme", "1"), ZipEntry::new("A/README", "2")]);
    let message = Unpacking::windows(&bytes).message();
    assert_eq!(message, r#""A/README" and "a/Readme" are one name on Windows"#);
    assert_eq!(Unpacking::new(&bytes).listing().len(), 2);
    let file_and_directory = zip(&[ZipEntry::new("LIB", "1"), ZipEntry::new("lib/x", "2")]);
    assert!(matches!(Unpacking::windows(&file_and_directory).problem(), Problem::Collision { .. }));
}

#[test]
fn names_that_collide_are_told_as_the_archive_spells_them() {
    let message = |names: &[&str]| {
        let entries: Vec<ZipEntry> = names.iter().map(|name| ZipEntry::new(name, "1")).collect();
        Unpacking::windows(&zip(&entries)).message()
    };
    let files = message(&["A/b/C", "a/B/c"]);
    assert_eq!(files, r#""A/b/C" and "a/B/c" are one name on Windows"#);
    let above = message(&["A/b/C", "a/B/d", "a/b/c/e"]);
    assert_eq!(above, r#""A/b/C" and "a/b/c" are one name on Windows"#);
    let below = message(&["A/b/C/e", "a/B/d", "a/b/c"]);
    assert_eq!(below, r#""A/b/C" and "a/b/c" are one name on Windows"#);
    let forms = message(&["A/b/\u{e9}", "a/B/e\u{301}"]);
    let told = "\"A/b/\u{e9}\" and \"a/B/e\u{301}\" differ only in their Unicode normal form";
    assert_eq!(forms, told);
}

#[test]
fn directories_that_fold_to_one_merge_under_the_byte_smallest_spelling() {
    let bytes = zip(&[
        ZipEntry::new("lib/Sub/one", "1"),
        ZipEntry::new("Lib/sub/two", "2"),
        ZipEntry { mode: 0o040_755, ..ZipEntry::new("LIB/", "") },
    ]);
    let listing = ["f LIB/Sub/one = 1", "f LIB/Sub/two = 2"];
    assert_eq!(Unpacking::windows(&bytes).listing(), listing);
}

#[test]
fn normal_forms_are_an_error_for_windows_and_a_note_for_unix() {
    let kelvin = zip(&[ZipEntry::new("K", "1"), ZipEntry::new("\u{212a}", "2")]);
    assert!(matches!(Unpacking::windows(&kelvin).problem(), Problem::NormalForm { .. }));
    let unpacking = Unpacking::new(&kelvin);
    assert_eq!(unpacking.listing().len(), 2);
    assert_eq!(unpacking.notes.0.lock().expect("unpoisoned").len(), 1);
    let bytes = zip(&[ZipEntry::new("é", "1"), ZipEntry::new("e\u{301}", "2")]);
    assert!(matches!(Unpacking::windows(&bytes).problem(), Problem::NormalForm { .. }));
    let unpacking = Unpacking::new(&bytes);
    assert_eq!(unpacking.listing().len(), 2);
    assert_eq!(unpacking.notes.0.lock().expect("unpoisoned").len(), 1);
}

#[test]
fn duplicates_and_paths_below_files_and_links_are_refused() {
    let twice = zip(&[ZipEntry::new("a", "1"), ZipEntry::new("a", "2")]);
    assert!(matches!(Unpacking::new(&twice).problem(), Problem::Duplicate { .. }));
    let below_file = zip(&[ZipEntry::new("a", "1"), ZipEntry::new("a/b", "2")]);
    assert!(matches!(Unpacking::new(&below_file).problem(), Problem::Below { what: "a file", .. }));
    let through =
        tar(&[tar_file("real/x", ""), tar_link("link", "real"), tar_file("link/evil", "")]);
    assert!(matches!(Unpacking::new(&through).problem(), Problem::Below { what: "a link", .. }));
    let over = tar(&[
        tar_file("real/x", ""),
        tar_link("d", "real"),
        tar_entry(b'5', "d/", "", 0o755, b""),
    ]);
    assert!(matches!(Unpacking::new(&over).problem(), Problem::Duplicate { .. }));
}

#[test]
fn wrong_checksums_and_sizes_are_told_with_the_numbers() {
    let crc = zip(&[ZipEntry { crc: Some(1), ..ZipEntry::new("a", "abc") }]);
    assert!(matches!(Unpacking::new(&crc).problem(), Problem::Checksum { declared: 1, .. }));
    for size in [2, 4] {
        let bytes = zip(&[ZipEntry { size: Some(size), ..ZipEntry::new("a", "abc") }]);
        assert!(matches!(Unpacking::new(&bytes).problem(), Problem::Size { found: 3, .. }));
    }
}

#[test]
fn an_entry_that_fails_is_never_finished() {
    let bytes = zip(&[ZipEntry { crc: Some(1), ..ZipEntry::new("a", "abc") }]);
    let unpacking = Unpacking::new(&bytes);
    unpacking.problem();
    assert!(unpacking.sink.finished.lock().expect("unpoisoned").is_empty());
}

#[test]
fn local_headers_that_disagree_with_the_directory_are_refused() {
    let name = ZipEntry { local_name: Some(b"b".to_vec()), ..ZipEntry::new("a", "abc") };
    let size = ZipEntry { local_size: Some(9), ..ZipEntry::new("a", "abc") };
    for entry in [name, size] {
        let bytes = zip(&[entry]);
        assert!(matches!(Unpacking::new(&bytes).problem(), Problem::Disagreement { .. }));
    }
}

#[test]
fn overlapping_entries_are_refused() {
    let first = ZipEntry::new("a", "abcdefgh");
    let second = ZipEntry { offset: Some(0), ..ZipEntry::new("b", "abcdefgh") };
    let bytes = zip(&[first, second]);
    assert!(matches!(Unpacking::new(&bytes).problem(), Problem::Overlap { .. }));
}

#[test]
fn counts_that_do_not_fit_are_refused() {
    let bytes = zip_with_count(&[ZipEntry::new("a", "")], 2);
    assert!(matches!(Unpacking::new(&bytes).problem(), Problem::Count { declared: 2, found: 1 }));
}

#[test]
fn encrypted_and_special_zip_entries_are_refused_by_name() {
    let encrypted = ZipEntry { flags: 1, ..ZipEntry::new("secret", "abc") };
    assert_eq!(Unpacking::new(&zip(&[encrypted])).message(), "\"secret\" is encrypted");
    for mode in [0o010_644, 0o020_644, 0o060_644, 0o140_644, 0o104_755, 0o102_755] {
        let bytes = zip(&[ZipEntry { mode, ..ZipEntry::new("odd", "") }]);
        match Unpacking::new(&bytes).problem() {
            Problem::Refused { entry, .. } => assert_eq!(entry, "odd"),
            other => panic!("{mode:o}: {other}"),
        }
    }
}

#[test]
fn unknown_methods_are_told() {
    let bytes = zip(&[ZipEntry { method: 98, ..ZipEntry::new("a", "abc") }]);
    assert!(matches!(Unpacking::new(&bytes).problem(), Problem::Method { method: 98, .. }));
}

#[test]
fn truncated_and_extended_zips_are_told_apart() {
    let whole = zip(&[ZipEntry::new("a", "abc")]);
    let cut = Unpacking::new(&whole[..whole.len() - 5]).problem();
    assert!(matches!(cut, Problem::Truncated { .. }));
    let longer = [&whole[..], b"more"].concat();
    assert!(matches!(Unpacking::new(&longer).problem(), Problem::TrailingData { .. }));
    let mut volume = whole;
    let end = volume.len() - 22;
    volume[end + 4] = 1;
    assert!(matches!(Unpacking::new(&volume).problem(), Problem::RefusedArchive(_)));
}

#[test]
fn special_tar_entries_are_refused_by_name() {
    for kind in [b'3', b'4', b'6', b'S', b'M', b'V', b'D', b'!'] {
        let bytes = tar(&[tar_entry(kind, "odd", "", 0o644, b"")]);
        match Unpacking::new(&bytes).problem() {
            Problem::Refused { entry, .. } => assert_eq!(entry, "odd"),
            other => panic!("{kind}: {other}"),
        }
    }
    for mode in [0o4755, 0o2755] {
        let bytes = tar(&[tar_entry(b'0', "odd", "", mode, b"")]);
        assert!(matches!(Unpacking::new(&bytes).problem(), Problem::Refused { .. }));
    }
}

#[test]
fn pax_sparse_files_are_refused_by_name() {
    let records = pax_record("GNU.sparse.major", "1");
    let bytes = tar(&[tar_entry(b'x', "pax", "", 0o644, &records), tar_file("sparse", "x")]);
    let message = Unpacking::new(&bytes).message();
    assert!(message.starts_with("\"sparse\" is a sparse file"), "{message}");
}

#[test]
fn a_pax_size_that_contradicts_the_header_is_refused() {
    let records = pax_record("size", "512");
    let header = tar_entry_sized(b'0', "a", "", 0o644, b"", 3);
    let bytes = tar(&[tar_entry(b'x', "pax", "", 0o644, &records), header, vec![b'x'; 512]]);
    assert!(matches!(Unpacking::new(&bytes).problem(), Problem::Disagreement { .. }));
}

#[test]
fn global_pax_headers_may_not_name_or_size_files() {
    let comment = pax_record("comment", "0123456789abcdef");
    let bytes = tar(&[tar_entry(b'g', "pax", "", 0o644, &comment), tar_file("a", "1")]);
    assert_eq!(Unpacking::new(&bytes).listing(), ["f a = 1"]);
    let size = pax_record("size", "0");
    let bytes = tar(&[tar_entry(b'g', "pax", "", 0o644, &size), tar_file("a", "1")]);
    assert!(matches!(Unpacking::new(&bytes).problem(), Problem::Refused { .. }));
}

#[test]
fn truncated_tars_are_told_and_a_missing_end_alone_is_taken() {
    let entry = tar_file("a", "abc");
    assert_eq!(Unpacking::new(&entry).listing(), ["f a = abc"]);
    for length in [513, 700] {
        match Unpacking::new(&entry[..length]).problem() {
            Problem::Truncated { entry, .. } => assert_eq!(entry.as_deref(), Some("a")),
            other => panic!("{length}: {other}"),
        }
    }
    let half_header = [&entry[..], &entry[..100]].concat();
    assert!(matches!(Unpacking::new(&half_header).problem(), Problem::Truncated { .. }));
}

#[test]
fn data_behind_the_end_of_a_tar_is_refused() {
    let bytes = [tar(&[tar_file("a", "")]), tar(&[tar_file("b", "")])].concat();
    assert!(matches!(Unpacking::new(&bytes).problem(), Problem::TrailingData { .. }));
}

#[test]
fn bounds_are_told_with_the_numbers() {
    let bytes = zip(&[ZipEntry::new("a", "abc")]);
    let limited =
        |limit| Unpacking::new(&bytes).with(|options| options.max_unpacked = Some(limit)).run();
    assert!(limited(3).is_ok());
    let problem = limited(2).expect_err("a bound");
    assert!(matches!(*problem.problem, Problem::TooLarge { limit: 2 }));
    let bytes = tar(&[tar_file("a", "abc")]);
    let problem = Unpacking::new(&bytes).with(|options| options.max_unpacked = Some(2)).problem();
    assert!(matches!(problem, Problem::TooLarge { limit: 2 }));
}

#[test]
fn a_bomb_is_told_by_its_ratio_unless_its_size_is_allowed() {
    let size = 300u64 << 20;
    let header = tar_entry_sized(b'0', "zeros", "", 0o644, b"", size);
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("an encoder");
    std::io::copy(
        &mut std::io::Read::chain(
            &header[..],
            std::io::Read::take(std::io::repeat(0), size + 1024),
        ),
        &mut encoder,
    )
    .expect("compressed");
    let bytes = encoder.finish().expect("compressed");
    assert!(matches!(Unpacking::new(&bytes).problem(), Problem::Ratio { limit: 200, .. }));
}

/// Parts one after another, compressed, with this many zeros at the end.
fn zstd_of(head: &[u8], zeros: u64) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("an encoder");
    let zeros = std::io::Read::take(std::io::repeat(0), zeros);
    std::io::copy(&mut std::io::Read::chain(head, zeros), &mut encoder).expect("compressed");
    encoder.finish().expect("compressed")
}

#[test]
fn a_bomb_in_what_is_left_out_or_behind_the_end_is_one_as_well() {
    let size = 300u64 << 20;
    let behind = zstd_of(&tar(&[tar_file("a", "1")]), size);
    assert!(matches!(Unpacking::new(&behind).problem(), Problem::Ratio { limit: 200, .. }));
    let left_out =
        [tar_file("a", "1"), tar_entry_sized(b'0', "zeros", "", 0o644, b"", size)].concat();
    let unpacking = zstd_of(&left_out, size + 1024);
    let unpacking = Unpacking::new(&unpacking)
        .with(|options| options.exclude = vec!["zeros".parse().expect("a pattern")]);
    assert!(matches!(unpacking.problem(), Problem::Ratio { limit: 200, .. }));
}

#[test]
fn hard_links_count_towards_the_bytes_of_the_tree() {
    let link = |name| tar_entry(b'1', name, "a", 0o644, b"");
    let bytes = tar(&[tar_file("a", "123456789"), link("b"), link("c")]);
    let bounded = |most| Unpacking::new(&bytes).with(|options| options.max_unpacked = Some(most));
    assert!(matches!(bounded(26).problem(), Problem::TooLarge { limit: 26 }));
    assert!(bounded(27).run().is_ok());
}

#[test]
fn a_name_that_strip_or_rename_makes_wrong_is_told_and_not_left_out() {
    let bytes = zip(&[ZipEntry::new("top/a:b", "1"), ZipEntry::new("top/c", "2")]);
    let unpacking = Unpacking::new(&bytes).with(|options| options.strip = 1);
    assert!(matches!(unpacking.problem(), Problem::Name { entry, .. } if entry == "top/a:b"));
    let deep = format!("a/{}b", "0123456789/".repeat(370));
    let bytes = zip(&[ZipEntry::new(&deep, "1")]);
    let unpacking = Unpacking::new(&bytes).with(|options| {
        let from = "a".parse().expect("a path");
        let to = "x".repeat(200).parse().expect("a path");
        options.rename = vec![crate::model::Rename { from, to }];
    });
    assert!(matches!(unpacking.problem(), Problem::Name { entry, .. } if entry == deep));
}

#[test]
fn sizes_that_add_up_to_more_than_a_number_holds_are_refused() {
    let mut extra = vec![1, 0, 8, 0];
    extra.extend_from_slice(&(u64::MAX / 2 + 2).to_le_bytes());
    let huge = |name: &str| ZipEntry {
        size: Some(u32::MAX),
        extra: extra.clone(),
        ..ZipEntry::new(name, "1")
    };
    let bytes = zip(&[huge("a"), huge("b")]);
    assert!(matches!(Unpacking::new(&bytes).problem(), Problem::TooLarge { .. }));
}

#[test]
fn a_full_disk_is_no_fault_of_the_archive() {
    for bytes in [zip(&[ZipEntry::new("a", "abc")]), tar(&[tar_file("a", "abc")])] {
        let unpacking = Unpacking::new(&bytes);
        unpacking.sink.full.store(true, std::sync::atomic::Ordering::Relaxed);
        let message = unpacking.message();
        assert_eq!(message, "writing the content of \"a\" failed; the archive is not at fault");
    }
}

#[test]
fn what_is_no_archive_is_described() {
    for (bytes, looks_like) in [
        (&b"<!DOCTYPE html><html>"[..], "a web page (HTML)"),
        (b"", "an empty file"),
        (b"{\"error\":1}", "JSON"),
        (b"Not Found\n", "text that begins with \"Not Found\""),
        (b"MZ\x90\x00", "a Windows program"),
        (b"7z\xbc\xaf\x27\x1c\x00", "a 7z archive"),
        (b"\x00\x01\x02\xff\xfe", "binary data that begins with 00 01 02 ff fe"),
    ] {
        match Unpacking::new(bytes).problem() {
            Problem::UnknownFormat { looks_like: found } => {
                assert!(found.starts_with(looks_like), "{found}");
            }
            other => panic!("{looks_like}: {other}"),
        }
    }
}
