//! What the pages say of formats is what the program writes, and their links lead somewhere.

mod support;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;
use support::Sandbox;
use walkdir::WalkDir;

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    let text = std::fs::read_to_string(path);
    text.unwrap_or_else(|error| panic!("{}: {error}", path.display())).replace("\r\n", "\n")
}

fn files(below: &str, extension: &str) -> Vec<PathBuf> {
    let walk = WalkDir::new(repository().join(below)).sort_by_file_name();
    let paths = walk.into_iter().map(|entry| entry.expect("a file").into_path());
    paths.filter(|path| path.extension().is_some_and(|found| found == extension)).collect()
}

/// The texts in quotes of a source file, without escapes.
fn quoted(source: &str) -> impl Iterator<Item = &str> {
    let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| line.split('"').skip(1).step_by(2))
}

#[test]
fn every_context_of_a_digest_is_in_the_format_document() {
    let format = read(&repository().join("docs/format.md"));
    let mut found = BTreeSet::new();
    for path in files("src", "rs") {
        let source = read(&path);
        for context in quoted(&source).filter(|text| text.starts_with("drystone 20")) {
            assert!(
                format.contains(&format!("`{context}`")),
                "docs/format.md does not say what {context:?} of {} is",
                path.display()
            );
            found.insert(context.to_owned());
        }
        let made =
            source.matches("FieldHasher::new(").count() + source.matches("derive_key(").count();
        let literal = source.matches("FieldHasher::new(\"drystone ").count();
        let is_definition = path.ends_with("model/digest.rs");
        assert!(
            is_definition || made == literal,
            "{}: a context that no test sees",
            path.display()
        );
    }
    assert!(found.len() >= 9, "{found:?}");
    for context in format.split('`').filter(|text| text.starts_with("drystone 20")) {
        assert!(
            found.contains(context),
            "docs/format.md describes {context:?}, which nothing uses"
        );
    }
}

#[test]
fn every_variable_of_the_base_is_in_the_format_document() {
    let format = read(&repository().join("docs/format.md"));
    let (_, section) = format.split_once("## Process environment").expect("the section");
    let documented: BTreeSet<String> =
        section.split('`').skip(1).step_by(2).map(str::to_uppercase).collect();
    let source = read(&repository().join("src/runtime/base_variables.rs"));
    let lists = source.split("/// Whether a variable").next().expect("the lists");
    let variables: Vec<&str> = quoted(lists).collect();
    assert!(variables.len() > 40, "{variables:?}");
    for variable in variables {
        assert!(
            documented.contains(&variable.to_uppercase()),
            "docs/format.md does not have {variable}"
        );
    }
}

/// The one file of this name below a directory.
fn find(below: &Path, name: &str) -> PathBuf {
    let walk = WalkDir::new(below).into_iter().filter_map(Result::ok);
    let mut found =
        walk.filter(|entry| entry.file_name() == name).map(walkdir::DirEntry::into_path);
    found.next().unwrap_or_else(|| panic!("there is no {name}"))
}

#[test]
fn documents_of_the_store_have_the_fields_that_the_format_document_says() {
    let format = read(&repository().join("docs/format.md"));
    let sandbox = Sandbox::greeting();
    sandbox.succeed(&["lock"]);
    sandbox.succeed(&["run", "hello"]);
    let store = sandbox.store();
    let unpacked = WalkDir::new(store.join("unpacked")).into_iter().filter_map(Result::ok);
    let record = unpacked.filter(|entry| entry.file_type().is_file()).last().expect("a record");
    let documents = [
        ("### `generation.json`", find(&store, "generation.json")),
        ("### `history`", find(&store, "history")),
        ("### Plan", find(&store, "hello.json")),
        ("## Runtime directories", find(&store, "record.json")),
        ("## Runtime directories", find(&store, "end.json")),
        ("### Environment text", find(&store.join("realised"), "environment.json")),
        ("### Records of what was unpacked", record.into_path()),
        ("### Projects and stores of a user", sandbox.path(".drystone/project")),
    ];
    for (heading, path) in documents {
        let (_, rest) = format.split_once(heading).unwrap_or_else(|| panic!("no {heading}"));
        let section = rest.split("\n#").next().expect("a section");
        let fields: BTreeSet<&str> = section.split('`').skip(1).step_by(2).collect();
        let text = read(&path);
        let first =
            if heading.contains("history") { text.lines().next().expect("a line") } else { &text };
        let document: Value = serde_json::from_str(first)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for field in document.as_object().expect("an object").keys() {
            assert!(fields.contains(field.as_str()), "{heading} does not say what {field} is");
        }
    }
}

/// How a heading is linked to.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept.chars().filter(|&c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn anchors(page: &str) -> BTreeSet<String> {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#').trim())).collect()
}

#[test]
fn links_between_pages_lead_somewhere() {
    let mut pages = files("docs", "md");
    pages.extend(["README.md", "CHANGELOG.md"].map(|name| repository().join(name)));
    let mut broken = Vec::new();
    for page in &pages {
        let text = read(page);
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") {
                continue;
            }
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => page.clone(),
                path => page.parent().expect("a directory").join(path),
            };
            let leads = target.exists()
                && (heading.is_empty() || anchors(&read(&target)).contains(heading));
            if !leads {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
