//! The text of locks: what it is, and that nothing else is taken for it.

use miette::Diagnostic;
use proptest::prelude::*;

use super::*;
use crate::model::TreeId;

#[test]
fn the_text_of_a_lock_is_this() {
    insta::assert_snapshot!("golden", write(&golden()));
}

#[test]
fn a_lock_survives_its_text() {
    let mut lock = golden();
    assert_eq!(read(&write(&lock), "a").expect("a lock"), lock);
    lock.contents = true;
    let trees = lock.missing_trees().into_iter().map(|(_, package)| {
        (package.unpack_key, TreeId::from_bytes(*package.unpack_key.as_bytes()))
    });
    let trees = trees.collect();
    lock.record_trees(&trees);
    assert_eq!(lock.missing_trees(), []);
    assert_eq!(read(&write(&lock), "a").expect("a lock"), lock);
}

#[test]
fn a_bound_on_entries_is_a_line_of_its_own_and_in_no_key() {
    let mut lock = golden();
    let plain = write(&lock);
    assert!(!plain.contains("max-entries"), "absent unless the source says it");
    let packages = lock.platforms.values_mut().flat_map(|section| section.packages.values_mut());
    for package in packages {
        package.options.max_entries = Some(12);
    }
    let text = write(&lock);
    assert_eq!(read(&text, "a").expect("a lock"), lock);
    let is_other =
        |line: &&str| !["max-entries 12", "seal "].iter().any(|it| line.trim().starts_with(it));
    assert!(text.lines().filter(is_other).eq(plain.lines().filter(is_other)), "{text}");
    assert!(text.contains("\n        max-entries 12\n"), "{text}");
}

#[test]
fn crlf_and_a_byte_order_mark_change_nothing() {
    let text = write(&golden());
    let crlf = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    assert_eq!(read(&crlf, "a").expect("a lock"), golden());
}

#[test]
fn a_change_of_any_line_is_refused() {
    let text = short();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for at in 0..lines.len() {
        let without: String = lines
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != at)
            .map(|(_, line)| *line)
            .collect();
        assert!(read(&without, "a").is_err(), "without {}", lines[at]);
        let twice: String = lines[..=at].iter().chain(&lines[at..]).copied().collect();
        assert!(read(&twice, "a").is_err(), "twice {}", lines[at]);
        if at + 1 < lines.len() && lines[at] != lines[at + 1] {
            let mut swapped = lines.clone();
            swapped.swap(at, at + 1);
            assert!(read(&swapped.concat(), "a").is_err(), "swapped {}", lines[at]);
        }
        assert!(read(&lines[..at].concat(), "a").is_err(), "cut before {}", lines[at]);
    }
}

#[test]
fn a_change_of_any_character_is_refused() {
    let text = short();
    let positions: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    for (number, &at) in positions.iter().enumerate() {
        let next = text[at..].chars().next().map_or(at, |c| at + c.len_utf8());
        // One of these for each place keeps the test short; all of them come everywhere in turn.
        let other = ["", "0", "a", "\"", "{", "}", "\n", " ", "\\", "/", "\r", "é"][number % 12];
        if other != &text[at..next] {
            let changed = format!("{}{other}{}", &text[..at], &text[next..]);
            assert!(
                read(&changed, "a").is_err(),
                "{other:?} at {at}: {}",
                &text[at.saturating_sub(20)..next]
            );
        }
    }
}

#[test]
fn an_edit_is_refused_with_the_node_named() {
    let text = write(&golden());
    for (from, to) in [
        ("https://example.org/zluda.zip", "https://example.com/zluda.zip"),
        ("strip 1", "strip 2"),
        ("\"nvml.dll\"", "\"nvmm.dll\""),
        ("version \"6-preview.69\"", "version \"6-preview.70\""),
    ] {
        let message = refused(&text.replacen(from, to, 1));
        assert!(message.contains("package \"zluda\" of platform \"x86_64-linux\""), "{message}");
    }
    let message = refused(&text.replacen("6.4.*, >=6", "6.5.*, >=6", 1));
    assert!(message.contains("host \"hip-sdk\" of platform"), "{message}");
    let message = refused(&text.replacen("settings \"blake3:", "settings \"sha256:", 1));
    assert!(message.contains("platform \"x86_64-linux\""), "{message}");
    let message = refused(&text.replacen("contents #false", "contents #true", 1));
    assert!(message.contains("the header or the end"), "{message}");
}

#[test]
fn an_edit_that_is_sealed_again_is_still_refused_by_its_ids() {
    let mut lock = golden();
    let section = lock.platforms.get_mut(&WINDOWS).expect("windows");
    section.packages.get_mut(&name("zluda")).expect("zluda").overlay.clear();
    let message = refused(&write(&lock));
    assert!(message.contains("package \"zluda\" of platform \"x86_64-windows\""), "{message}");
    let mut lock = golden();
    let section = lock.platforms.get_mut(&WINDOWS).expect("windows");
    section.packages.remove(&name("cudnn"));
    let message = refused(&write(&lock));
    assert!(message.contains("depends on \"cudnn\""), "{message}");
    let mut lock = golden();
    lock.platforms.get_mut(&WINDOWS).expect("windows").applications.clear();
    let message = refused(&write(&lock));
    assert!(message.contains("its root"), "{message}");
}

#[test]
fn merges_newer_formats_and_hostile_text_are_told_apart() {
    let text = write(&golden());
    let merged = text.replacen("contents", "<<<<<<< HEAD\ncontents", 1);
    assert!(matches!(read(&merged, "a"), Err(LockError::BadlyMerged { line: 6, .. })));
    let newer = text.replacen("format 1", "format 2", 1);
    assert!(matches!(
        read(&newer, "a"),
        Err(LockError::Newer { what: "format", found: 2, known: 1, .. })
    ));
    let mut lock = golden();
    lock.unpack_rules = 2;
    assert!(matches!(
        read(&write(&lock), "a"),
        Err(LockError::Newer { what: "unpack rules", found: 2, known: 1, .. })
    ));
    let deep = format!("{}\nformat 1\n{}", crate::lock::write::FIRST_LINE, "a {".repeat(100_000));
    assert!(refused(&deep).contains("nested too deep"));
    let comments =
        format!("{}\nformat 1\n{}", crate::lock::write::FIRST_LINE, "/*".repeat(100_000));
    assert!(refused(&comments).contains("where no lock has it"));
    for text in ["", "\n", "\u{feff}", "format", "format 1", "\"", "format 99999999999999999999"] {
        refused(text);
    }
}

#[test]
fn nothing_deep_on_the_first_line_reaches_the_parser() {
    for first in ["{a ".repeat(100_000), "a {".repeat(100_000), "/-".repeat(100_000)] {
        let message = refused(&format!("{first}\nformat 1\n"));
        assert!(message.contains("its first line"), "{message}");
    }
}

#[test]
fn a_lock_names_no_place_that_a_manifest_may_not_name() {
    for url in [
        "file:../outside.zip",
        "file:/etc/passwd",
        "file://server/share/x.zip",
        "file:C:/x.zip",
        "ftp://example.org/x.zip",
        "https://me:hunter2@example.org/x.zip",
        "https://example.org/x.zip?token=hunter2",
    ] {
        let mut lock = golden();
        let section = lock.platforms.get_mut(&WINDOWS).expect("windows");
        section.packages.get_mut(&name("zluda")).expect("zluda").urls =
            vec![match url.strip_prefix("file:") {
                Some(path) => SourceUrl::File(path.to_owned()),
                None => SourceUrl::Web(url.parse().expect("a URL")),
            }];
        let error = read(&write(&lock), "a").expect_err(url);
        let shown = format!("{:?}", miette::Report::new(error));
        assert!(shown.contains("zluda") && !shown.contains("hunter2"), "{url}: {shown}");
    }
}

#[test]
fn a_refusal_shows_the_node_and_the_way_out() {
    let text = short().replacen("strip 1", "strip 2", 1);
    let error = read(&text, "lockfiles/team.lock.kdl").expect_err("edited");
    let mut shown = String::new();
    miette::GraphicalReportHandler::new_themed(miette::GraphicalTheme::unicode_nocolor())
        .with_width(100)
        .render_report(&mut shown, &error)
        .expect("rendered");
    insta::assert_snapshot!(shown, @r#"
    drystone::lock::damaged

      × lockfiles/team.lock.kdl is damaged or was edited by hand, at package "zluda" of platform
      │ "x86_64-windows" (line 20): its seal does not match its lines
        ╭─[lockfiles/team.lock.kdl:20:5]
     19 │     }
     20 │     package "zluda" {
        ·     ────────┬────────
        ·             ╰── here
     21 │         version "6-preview.69"
        ╰────
      help: restore the file from version control, change env.kdl instead, then run `drystone lock`;
            with the file deleted, `drystone lock` makes a new one
    "#);
}

#[test]
fn every_complaint_says_what_to_do() {
    let error = read("", "a").expect_err("nothing");
    assert!(error.help().is_some_and(|help| help.to_string().contains("drystone lock")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_text_of_the_words_of_locks_makes_the_reader_panic(body in "([a-z0-9#{}\" \n-]|platform \"|package \"){0,100}") {
        let text = format!("{}\nformat 1\n{body}", crate::lock::write::FIRST_LINE);
        prop_assert!(read(&text, "a").is_err());
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "(format 1\n)?[ -~\u{a0}-\u{ff}\n]{0,200}") {
        prop_assert!(read(&text, "a").is_err());
    }
}
