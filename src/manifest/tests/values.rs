//! What right manifests become.

use std::path::Path;
use std::time::Duration;

use super::super::*;
use super::{complaints, load_text, project};
use crate::model::{ArchiveFormat, Name, Platform, Range};

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

#[test]
fn the_real_manifest_says_what_it_says() {
    let manifest = load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("env.kdl")).unwrap();
    let environment = &manifest.environments[&name("cuda-on-amd")];
    assert_eq!(environment.uses.len(), 2);
    assert!(environment.uses[1].optional);
    assert_eq!(environment.hosts[0].range, Range::parse_host("6.4").unwrap());
    assert_eq!(environment.variables.len(), 3);
    let application = &manifest.applications[&name("cuda-check")];
    assert_eq!(application.environment, name("cuda-on-amd"));
    assert_eq!(application.checks[0].timeout, Some(Duration::from_secs(60)));
    assert_eq!(application.checks[0].expect_output.as_deref(), Some(r"nvcuda\s*: OK"));
    assert_eq!(manifest.files.len(), 1);
    assert!(manifest.directory.is_absolute());
}

/// The `kdl` blocks of the reference, by what they are a part of.
fn blocks() -> Vec<(String, String)> {
    let reference = include_str!("../../../docs/manifest.md").replace("\r\n", "\n");
    let blocks = reference.split("```kdl").skip(1);
    let block = |text: &str| {
        let (kind, rest) = text.split_once('\n').unwrap();
        (kind.trim().to_owned(), rest.split("```").next().unwrap().to_owned())
    };
    blocks.map(block).collect()
}

#[test]
fn every_example_of_the_reference_loads() {
    let blocks = blocks();
    assert!(blocks.len() > 15);
    for (kind, text) in blocks {
        let platform = if text.contains("\nplatform") { "" } else { "platform \"x86_64-windows\"" };
        let whole = match kind.as_str() {
            "" => text.clone(),
            "environment" => format!("environment \"e\" {{\n{platform}\n{text}}}\n"),
            "application" => format!(
                "environment \"e\" {{ platform \"x86_64-linux\" }}\napplication \"a\" {{\nin \"e\"\n{text}}}\n"
            ),
            "version" => format!("package \"p\" {{ version \"1\" {{\n{text}}} }}\n"),
            "source" => format!("package \"p\" {{ version \"1\" {{ source {{\n{text}}} }} }}\n"),
            other => panic!("a block is part of \"{other}\""),
        };
        if let Err(error) = load_text(&whole) {
            panic!("{text}\n{}", super::drawn(&error, Path::new("none")));
        }
    }
}

#[test]
fn the_reference_names_every_node() {
    let reference = include_str!("../../../docs/manifest.md");
    // Each block lists what it may hold when it holds something unknown.
    let text = "x\nenvironment \"e\" { x }\napplication \"a\" { x }\npackage \"p\" { x; version \"1\" { x; source { x } } }\nhost \"h\" { x }\n";
    let shown = complaints(text);
    let lists: Vec<&str> =
        shown.lines().filter_map(|line| line.split_once("It may hold ").map(|it| it.1)).collect();
    assert_eq!(lists.len(), 7);
    for node in lists.iter().flat_map(|list| list.trim_end_matches('.').split([',', ' '])) {
        if !node.is_empty() && node != "and" {
            assert!(
                reference.contains(&format!("`{node}"))
                    || reference.contains(&format!("\n{node} \""))
                    || reference.contains(&format!("    {node} ")),
                "{node}"
            );
        }
    }
}

fn only_source(children: &str) -> Source {
    let text = format!("package \"p\" {{ version \"1\" {{ source {{ {children} }} }} }}");
    load_text(&text).unwrap().packages[&name("p")].versions[0].sources[0].clone()
}

#[test]
fn a_source_without_a_format_leaves_it_to_the_bytes() {
    let source = only_source("url \"https://example.org/a/b.zip\"");
    assert_eq!(source.options.format, None);
    assert_eq!(source.options.file_name, None);
    assert_eq!(source.platform, None);
}

#[test]
fn a_source_moves_the_bounds_of_unpacking() {
    let url = "url \"https://example.org/a/b.zip\"";
    let source = only_source(&format!("{url}; max-unpacked 9000000000; max-entries 12"));
    assert_eq!(source.options.max_unpacked, Some(9_000_000_000));
    assert_eq!(source.options.max_entries, Some(12));
    assert_eq!(only_source(url).options.max_entries, None);
}

#[test]
fn one_file_is_called_as_in_its_url_or_as_said() {
    let source = only_source("url \"https://example.org/a/b%20c.exe?x=1\"; format \"file\"");
    assert_eq!(source.options.format, Some(ArchiveFormat::File));
    assert_eq!(source.options.file_name, Some("b c.exe".parse().unwrap()));
    let source = only_source("url \"file:d/e.exe\"; format \"file\"; name \"f.exe\"");
    assert_eq!(source.options.file_name, Some("f.exe".parse().unwrap()));
    assert_eq!(source.urls, [SourceUrl::File("d/e.exe".into())]);
}

#[test]
fn a_hash_is_read_in_both_cases() {
    let upper = format!("url \"http://example.org/a\"; sha256 \"{}\"", "AB".repeat(32));
    assert_eq!(only_source(&upper).sha256.unwrap().hex(), "ab".repeat(32));
}

#[test]
fn an_overlay_of_a_source_replaces_that_of_its_version() {
    let text = r#"package "p" { version "1" {
        overlay "all.dll"
        source { url "https://example.org/a" }
        source "x86_64-linux" { url "https://example.org/b"; overlay "only.so" "two.so" }
    } }"#;
    let manifest = load_text(text).unwrap();
    let version = &manifest.packages[&name("p")].versions[0];
    assert_eq!(version.overlay_for(Platform::X86_64Windows), ["all.dll".parse().unwrap()]);
    assert_eq!(version.overlay_for(Platform::X86_64Linux).len(), 2);
}

#[test]
fn what_is_slashed_out_is_not_there() {
    let text = "environment \"e\" { platform \"x86_64-linux\"\n/- use \"a\" \"1\"\nuse \"b\" \"1\" /- \"x\" }\n/- environment \"e\" { nonsense }\n";
    let manifest = load_text(text).unwrap();
    assert_eq!(manifest.environments[&name("e")].uses.len(), 1);
}

#[test]
fn included_files_are_part_of_the_manifest_and_its_inputs() {
    let files: [(&str, &[u8]); 3] = [
        ("env.kdl", b"include \"parts/a.kdl\"\n"),
        ("parts/a.kdl", b"include \"b.kdl\"\r\ncatalogue \"more.kdl\"\r\n"),
        ("parts/b.kdl", b"\xef\xbb\xbfenvironment \"e\" { platform \"x86_64-linux\" }\n"),
    ];
    let directory = project(&files);
    let manifest = load(&directory.path().join("env.kdl")).unwrap();
    assert!(manifest.environments.contains_key(&name("e")));
    assert_eq!(manifest.catalogues[0].path, "parts/more.kdl");
    let paths: Vec<&str> = manifest.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["env.kdl", "parts/a.kdl", "parts/b.kdl"]);
    assert_eq!(manifest.files[1].text, "include \"b.kdl\"\ncatalogue \"more.kdl\"\n");
}

#[test]
fn line_ends_change_nothing() {
    let text = "environment \"e\" {\n    platform \"x86_64-linux\"\n    set \"A\" \"\"\"\n        one\n        two\n        \"\"\"\n}\n";
    let windows = load_text(&text.replace('\n', "\r\n")).unwrap();
    assert_eq!(windows.environments, load_text(text).unwrap().environments);
}

#[cfg(unix)]
#[test]
fn an_included_link_that_leaves_the_directory_is_refused() {
    let outside = project(&[("x.kdl", b"" as &[u8])]);
    let inside = project(&[("env.kdl", b"include \"x.kdl\"\n" as &[u8])]);
    std::os::unix::fs::symlink(outside.path().join("x.kdl"), inside.path().join("x.kdl")).unwrap();
    let error = load(&inside.path().join("env.kdl")).unwrap_err();
    assert!(super::drawn(&error, inside.path()).contains("leaves the manifest's directory"));
}

#[test]
fn secrets_are_not_drawn() {
    let text = "package \"p\" { version \"1\" { source { url \"https://me:hunter2@example.org/p?token=abcdef\" } } }\n";
    let shown = complaints(text);
    assert!(shown.contains("user name or password"));
    assert!(!shown.contains("hunter2") && !shown.contains("abcdef"), "{shown}");
}
