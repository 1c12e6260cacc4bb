//! docs/reference/: a page for each command, its help as the program prints it, and the fields of
//! what `--json` answers as it answers them.
//!
//! With `DRYSTONE_WRITE_REFERENCE=1` the parts between `<!-- help: … -->` or `<!-- json: … -->` and
//! `<!-- end -->` are written anew; everything else on the pages is written by hand.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use support::Sandbox;

/// The heading of the options that every command has: told once, on the first page.
const EVERYWHERE: &str = "Options of every command:";
const END: &str = "<!-- end -->";

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference")
}

/// The page of a command such as `store verify`; of the program itself for the empty one.
fn page_of(command: &str) -> PathBuf {
    let first = command.split(' ').next().filter(|first| !first.is_empty()).unwrap_or("README");
    directory().join(format!("{first}.md"))
}

fn writes() -> bool {
    std::env::var_os("DRYSTONE_WRITE_REFERENCE").is_some()
}

/// What `drystone <command> --help` prints, 100 columns wide.
fn help(command: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_drystone"))
        .args(command.split_whitespace())
        .arg("--help")
        .env("COLUMNS", "100")
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "drystone {command} --help");
    let text = support::text(&output.stdout).replace("drystone.exe", "drystone");
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim_end().to_owned()
}

/// The help of a command without the options that every command has.
fn own_part(help: &str) -> &str {
    let own = help.split(EVERYWHERE).next().unwrap_or(help);
    let own = own.split("\n  -h, --help\n").next().unwrap_or(own).trim_end();
    own.strip_suffix("Options:").unwrap_or(own).trim_end()
}

/// The names of the commands that a help text lists.
fn subcommands(help: &str) -> Vec<String> {
    let Some((_, list)) = help.split_once("\nCommands:\n") else { return Vec::new() };
    let lines = list.lines().take_while(|line| !line.is_empty());
    let names =
        lines.filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    names
        .filter_map(|line| line.split(' ').next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

/// Every command, the empty one first; `store` as well as `store verify`.
fn commands() -> Vec<String> {
    let mut found = vec![String::new()];
    for first in subcommands(&help("")) {
        let below = subcommands(&help(&first));
        found.push(first.clone());
        found.extend(below.iter().map(|second| format!("{first} {second}")));
    }
    found
}

/// What stands between a marker and the end of its part; none where there is no such marker.
fn part<'p>(page: &'p str, marker: &str) -> Option<&'p str> {
    let start = page.find(marker)? + marker.len();
    let length = page[start..].find(END).expect("a part ends");
    Some(&page[start..start + length])
}

/// The page, with LF line ends.
fn read(path: &Path) -> String {
    let page = std::fs::read_to_string(path);
    page.unwrap_or_else(|error| panic!("{}: {error}", path.display())).replace("\r\n", "\n")
}

/// Tests run at the same time, and two of them write the same pages.
static WRITING: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// Compares a part of a page, or writes it.
fn check(path: &Path, marker: &str, expected: &str) {
    let _writing = WRITING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let page = read(path);
    let found = part(&page, marker).unwrap_or_else(|| panic!("{} has no {marker}", path.display()));
    if found == expected {
        return;
    }
    assert!(
        writes(),
        "{} is not what the program says at {marker}; run this test with DRYSTONE_WRITE_REFERENCE=1\n{expected}",
        path.display()
    );
    let page = page.replacen(&format!("{marker}{found}"), &format!("{marker}{expected}"), 1);
    std::fs::write(path, page).expect("a page");
}

#[test]
fn every_command_has_a_page_with_the_help_it_prints() {
    let commands = commands();
    assert!(commands.len() > 10, "{commands:?}");
    for command in &commands {
        let text = help(command);
        let own = if command.is_empty() { &text } else { own_part(&text) };
        let marker = format!("<!-- help: {} -->", format!("drystone {command}").trim_end());
        check(&page_of(command), &marker, &format!("\n```text\n{own}\n```\n"));
    }
    let pages: BTreeSet<PathBuf> = commands.iter().map(|command| page_of(command)).collect();
    for entry in std::fs::read_dir(directory()).expect("the pages") {
        let path = entry.expect("a page").path();
        assert!(pages.contains(&path), "{} is of no command", path.display());
    }
    let first = read(&page_of(""));
    for page in pages.iter().filter_map(|page| page.file_name()?.to_str()) {
        assert!(page == "README.md" || first.contains(&format!("({page})")), "no link to {page}");
    }
}

/// The fields that a page documents for a command: `| field | what |` rows behind its example.
fn documented(page: &str, marker: &str) -> BTreeMap<String, String> {
    let start = page.find(marker).unwrap_or_else(|| panic!("no {marker}"));
    let rest = &page[start + marker.len()..];
    let end = ["<!-- json: ", "\n## "].iter().filter_map(|next| rest.find(next)).min();
    let rows = rest[..end.unwrap_or(rest.len())].lines();
    rows.filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(field, what)| (field.to_owned(), what.to_owned()))
        .collect()
}

/// Every field of a document: `locks`, `locks[].path`. Objects whose keys are data have no fields.
fn fields(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                let path = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
                fields(value, &path, found);
                found.insert(path);
            }
        }
        Value::Array(values) => {
            values.iter().for_each(|value| fields(value, &format!("{at}[]"), found));
        }
        _ => {}
    }
}

/// Makes an example out of an answer: nothing in it is of the machine or moment it was made on.
fn example(sandbox: &Sandbox, answer: &Value) -> Value {
    let root = std::fs::canonicalize(sandbox.root()).expect("a directory");
    let root = root.to_str().expect("a path of text");
    match answer {
        Value::String(text) if text.parse::<jiff::Timestamp>().is_ok() => {
            "2026-12-01T09:30:00Z".into()
        }
        Value::String(text) => text.replace(root, "/home/ada").into(),
        Value::Array(values) => {
            values.iter().take(2).map(|value| example(sandbox, value)).collect()
        }
        Value::Object(object) => object
            .iter()
            .map(|(key, value)| {
                let value = match key.as_str() {
                    "barrier_seconds" => 0.012.into(),
                    _ => example(sandbox, value),
                };
                (key.clone(), value)
            })
            .collect(),
        other => other.clone(),
    }
}

/// One answer of a command, which may also be an error or a status that is not 0.
fn answer(sandbox: &Sandbox, arguments: &[&str]) -> Value {
    let mut with_json = vec!["--json"];
    with_json.extend(arguments);
    let output = sandbox.output(with_json);
    let text = support::text(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!("drystone {arguments:?}: {error} in {text}{}", support::text(&output.stderr))
    })
}

/// A detached run, which has ended.
fn detached(sandbox: &Sandbox) -> Value {
    let answer = answer(sandbox, &["run", "hello", "--detach", "--discard"]);
    while answer_of_list(sandbox).contains("running") {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    answer
}

fn answer_of_list(sandbox: &Sandbox) -> String {
    answer(sandbox, &["runtime", "list"]).to_string()
}

/// Puts another content under a blob's name.
fn damage_a_blob(blobs: &Path) {
    let directory = std::fs::read_dir(blobs).expect("blobs").next().expect("one").expect("one");
    let mut files = std::fs::read_dir(directory.path()).expect("blobs");
    let blob = files.next().expect("one").expect("one").path();
    std::fs::remove_file(&blob).expect("it is gone");
    std::fs::write(&blob, "not what it was").expect("another content");
}

/// An answer of every command that reports, each with as much in it as there can be.
fn answers(sandbox: &Sandbox) -> Vec<(&'static str, Value)> {
    std::fs::remove_file(sandbox.path("env.kdl")).expect("no manifest yet");
    let mut found = vec![("init", answer(sandbox, &["init"]))];
    sandbox.manifest("1.0");
    // Nobody publishes a hash of one package, so that one is recorded.
    let manifest = sandbox.read("env.kdl");
    let at = manifest.find("sha256").expect("a hash");
    let line = &manifest[at..at + manifest[at..].find('\n').expect("a line")];
    sandbox.write("env.kdl", manifest.replace(line, ""));
    found.push(("lock", answer(sandbox, &["lock"])));
    sandbox.manifest("1.0");
    sandbox.succeed(&["lock"]);
    let other = sandbox.root().join("other");
    let other = other.to_str().expect("a path of text");
    found.push(("fetch", answer(sandbox, &["--store", other, "fetch"])));
    found.push(("build", answer(sandbox, &["build"])));
    sandbox.manifest("2.0");
    sandbox.succeed(&["build"]);
    sandbox.succeed(&["run", "hello"]);
    found.push(("run --detach", detached(sandbox)));
    found.push(("graph", answer(sandbox, &["graph"])));
    found.push(("why", answer(sandbox, &["why", "greeting"])));
    found.push(("diff", answer(sandbox, &["diff"])));
    found.push(("rollback", answer(sandbox, &["rollback"])));
    found.push(("history", answer(sandbox, &["history"])));
    let list = answer(sandbox, &["runtime", "list"]);
    let id = list["runtimes"][0]["id"].as_str().expect("an id").to_owned();
    found.push(("runtime list", list));
    found.push(("runtime remove", answer(sandbox, &["runtime", "remove", &id])));
    found.push(("gc", answer(sandbox, &["gc", "--dry-run"])));
    found.push(("store stat", answer(sandbox, &["store", "stat"])));
    damage_a_blob(&sandbox.store().join("blobs"));
    found.push(("store verify", answer(sandbox, &["store", "verify"])));
    found.push(("store init", answer(sandbox, &["store", "init"])));
    // One that lies elsewhere than where it was made counts as one that came along.
    let moved = sandbox.root().join("moved");
    std::fs::rename(sandbox.path("store"), &moved).expect("it moves");
    let moved = moved.to_str().expect("a path of text");
    found.push(("store adopt", answer(sandbox, &["--store", moved, "store", "adopt"])));
    found.push(("", answer(sandbox, &["why", "greting"])));
    found
}

/// Every field of a document.
fn all_fields(document: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    fields(document, "", &mut found);
    found
}

/// The fields of a page's example.
fn shown(page: &str, marker: &str) -> BTreeSet<String> {
    let text = part(page, marker).expect("an example").trim();
    let text = text.trim_start_matches("```json").trim_end_matches("```");
    all_fields(&serde_json::from_str(text).unwrap_or_else(|error| panic!("{marker}: {error}")))
}

#[test]
fn json_answers_have_the_fields_that_the_pages_say() {
    let sandbox = Sandbox::greeting();
    for (command, answer) in answers(&sandbox) {
        let path = page_of(command);
        let name = if command.is_empty() { "an error" } else { command };
        let marker = format!("<!-- json: {name} -->");
        let there = all_fields(&answer);
        if writes() && shown(&read(&path), &marker) != there {
            let text = serde_json::to_string_pretty(&example(&sandbox, &answer)).expect("JSON");
            check(&path, &marker, &format!("\n```json\n{text}\n```\n"));
        }
        let page = read(&path);
        assert_eq!(shown(&page, &marker), there, "{}: the example of {name}", path.display());
        let documented = documented(&page, &marker);
        let unknown: Vec<_> =
            there.iter().filter(|field| !documented.contains_key(*field)).collect();
        assert!(unknown.is_empty(), "{} does not document {unknown:?}", path.display());
        for (field, what) in &documented {
            // A field of what is not there, such as of a list that is empty, cannot be seen.
            let parent = field.rsplit_once('.').map(|(parent, _)| format!("{parent}."));
            let is_due =
                parent.is_none_or(|parent| there.iter().any(|field| field.starts_with(&parent)));
            let is_there = there.contains(field) || !is_due || what.contains("left out");
            assert!(is_there, "{} documents {field}, which is not in {answer:#}", path.display());
        }
    }
}

/// The command that a text names behind `drystone `; none for the program itself.
fn named(rest: &str) -> Option<(&str, &str)> {
    let mut words = rest.split(|c: char| !c.is_ascii_lowercase() && c != ' ').next()?.split(' ');
    let first = words.next().filter(|word| !word.is_empty())?;
    Some((first, words.next().unwrap_or_default()))
}

#[test]
fn commands_that_messages_and_pages_name_exist() {
    let commands: BTreeSet<String> = commands().into_iter().collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut wrong = Vec::new();
    for below in ["src", "docs", "README.md", "env.kdl", "catalogue"] {
        for entry in walkdir::WalkDir::new(root.join(below)) {
            let path = entry.expect("a file").into_path();
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            for opening in ["\"drystone ", "`drystone ", "$ drystone "] {
                for rest in text.split(opening).skip(1) {
                    // "drystone test" is the context of a digest in unit tests.
                    let named = named(rest).filter(|(first, _)| *first != "test");
                    let Some((first, second)) = named else { continue };
                    let has_more =
                        commands.iter().any(|command| command.starts_with(&format!("{first} ")));
                    let whole = format!("{first} {second}");
                    let whole = if has_more && !second.is_empty() { whole.as_str() } else { first };
                    if !commands.contains(whole) {
                        wrong.push(format!("{}: drystone {whole}", path.display()));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
