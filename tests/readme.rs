//! The walks of the README and of the task pages, run as they are written.
//!
//! Every `console` block between `<!-- walk: start -->` and `<!-- walk: end -->` runs, line by line,
//! each page's in an empty directory of its own; a `kdl` block there is written to the file its
//! first comment names. Output that the page shows must come, in that order, `…` standing for
//! anything. A `console` block that does not run is an error: what cannot be tried is marked `sh`.
#![cfg(unix)]

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use support::Sandbox;

/// One step of a page.
#[derive(Debug, PartialEq)]
enum Step {
    /// Writes a file.
    Write { path: String, content: String },
    /// Runs a line and expects this output.
    Run { line: String, expected: Vec<String> },
}

const START: &str = "<!-- walk: start -->";
const END: &str = "<!-- walk: end -->";

/// The steps of all walks of a page, in their order.
fn steps(page: &str) -> Vec<Step> {
    let mut found = Vec::new();
    let mut parts = page.split(START);
    let before = parts.next().unwrap_or_default();
    assert!(!before.contains("```console"), "a console block before the walk");
    for part in parts {
        let (walk, after) = part.split_once(END).expect("the walk ends");
        assert!(!after.contains("```console"), "a console block outside of the walk");
        found.extend(steps_of(walk));
    }
    found
}

fn steps_of(walk: &str) -> Vec<Step> {
    let mut found = Vec::new();
    let mut lines = walk.lines();
    while let Some(line) = lines.next() {
        let Some(language) = line.strip_prefix("```").filter(|language| !language.is_empty())
        else {
            continue;
        };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        match language {
            "console" => {
                for line in block {
                    if let Some(command) = line.strip_prefix("$ ") {
                        found.push(Step::Run { line: command.to_owned(), expected: Vec::new() });
                    } else if let Some(Step::Run { expected, .. }) = found.last_mut() {
                        expected.push(line.to_owned());
                    }
                }
            }
            "kdl" => {
                let path = block.first().and_then(|line| line.strip_prefix("// "));
                let path = path.expect("a file's block begins with its name").to_owned();
                found.push(Step::Write { path, content: block.join("\n") + "\n" });
            }
            // What cannot be tried here.
            "sh" => {}
            other => panic!("a block of {other} in the walk"),
        }
    }
    found
}

/// Whether a line is what was expected, `…` standing for anything.
fn matches(expected: &str, line: &str) -> bool {
    let mut parts = expected.split('…');
    let Some(mut rest) = parts.next().and_then(|first| line.strip_prefix(first)) else {
        return false;
    };
    let mut open = false;
    for part in parts {
        open = true;
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.is_empty() || (open && expected.ends_with('…'))
}

fn walk(page: &Path) {
    let sandbox = Sandbox::new();
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    let directory = sandbox.root().join("walk");
    std::fs::create_dir(&directory).expect("a directory");
    let program = PathBuf::from(env!("CARGO_BIN_EXE_drystone"));
    let path = std::env::join_paths(
        std::iter::once(program.parent().expect("a directory").to_path_buf())
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    )
    .expect("a PATH");
    let text = std::fs::read_to_string(page).expect("the page").replace("\r\n", "\n");
    let steps = steps(&text);
    assert!(steps.len() > 3, "the page has a walk");
    let mut here = directory.clone();
    for step in steps {
        let (line, expected) = match step {
            Step::Write { path, content } => {
                std::fs::write(here.join(path), content).expect("a file");
                continue;
            }
            Step::Run { line, expected } => (line, expected),
        };
        let output = Command::new("sh")
            .args(["-c", &format!("{line}\npwd > \"$WALK_HERE\"")])
            .current_dir(&here)
            .env("PATH", &path)
            .env("HOME", sandbox.root().join("home"))
            .env("DRYSTONE_STORE", sandbox.store())
            .env("DRYSTONE_SOURCE", repository)
            .env("WALK_HERE", sandbox.root().join("here"))
            .output()
            .expect("sh starts");
        let said = support::text(&output.stdout) + &support::text(&output.stderr);
        assert!(output.status.success(), "{}: $ {line}\n{said}", page.display());
        let mut lines = said.lines();
        for wanted in &expected {
            assert!(
                lines.by_ref().any(|line| matches(wanted, line)),
                "{}: $ {line}\nexpected, in order: {wanted}\nin:\n{said}",
                page.display()
            );
        }
        let now = std::fs::read_to_string(sandbox.root().join("here")).expect("where it is");
        here = PathBuf::from(now.trim_end());
    }
}

#[test]
fn the_walk_of_the_readme_runs_as_written() {
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md"));
}

#[test]
fn the_walks_of_the_task_pages_run_as_written() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let mut walked = Vec::new();
    for entry in std::fs::read_dir(docs).expect("the pages") {
        let path = entry.expect("a page").path();
        let is_page = path.extension().is_some_and(|extension| extension == "md");
        if !is_page {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a page");
        if text.contains(START) {
            walk(&path);
            walked.push(path.file_stem().expect("a name").to_string_lossy().into_owned());
        } else {
            assert!(!text.contains("```console"), "{}: nothing runs it", path.display());
        }
    }
    walked.sort();
    assert_eq!(walked, ["building", "locking", "maintenance", "rollback", "running"]);
}

#[test]
fn steps_and_wildcards_are_read_as_they_should() {
    let page = "x\n<!-- walk: start -->\n```kdl\n// a.kdl\nnode\n```\n```console\n$ one\nout\n$ two\n```\n<!-- walk: end -->\n";
    assert_eq!(
        steps(page),
        [
            Step::Write { path: "a.kdl".into(), content: "// a.kdl\nnode\n".into() },
            Step::Run { line: "one".into(), expected: vec!["out".into()] },
            Step::Run { line: "two".into(), expected: vec![] },
        ]
    );
    assert!(matches("built …, generation 1", "built quickstart, generation 1"));
    assert!(matches("in …", "in /x/y"));
    assert!(!matches("built …, generation 1", "built quickstart, generation 2"));
    assert!(!matches("abc", "abcd"));
}
