//! The house keeps its shape: which room may import which, how files open, how long they get,
//! where a program may not give up, and what stands in no file of the repository.
//!
//! Reads the sources as text. Code below `#[cfg(test)]` may import what it likes.

mod rust_text;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rust_text::RustText;

/// The line: a room may import those before it, never a later one.
const LINE: [&str; 10] = [
    "manifest",
    "catalogue",
    "resolve",
    "lock",
    "fetch",
    "unpack",
    "store",
    "compose",
    "generation",
    "runtime",
];

/// The rooms outside the line, and all that each may import. `pipeline` joins: see [`allowed`].
const BESIDE_THE_LINE: [(&str, &[&str]); 9] = [
    ("model", &[]),
    ("disk", &["model"]),
    ("host", &["disk", "model"]),
    ("binary", &["disk", "model"]),
    ("remote", &["model", "store"]),
    ("evidence", &["model", "runtime"]),
    ("ui", &["model"]),
    ("pipeline", &[]),
    ("cli", &["model", "pipeline", "ui"]),
];

/// A room of the line whose work is made of a wing's output: the files of an application's directory
/// are the closure of what its binaries import. Wings import `model` and
/// `disk` alone, so nothing goes round.
const TAKES_FROM_A_WING: [(&str, &str); 1] = [("runtime", "binary")];

const LONGEST_FILE: usize = 900;

/// What a room may import beside itself; none if there is no such room.
fn allowed(room: &str) -> Option<BTreeSet<&'static str>> {
    if let Some(place) = LINE.iter().position(|name| *name == room) {
        let wings = TAKES_FROM_A_WING.iter().filter(|(taker, _)| *taker == room);
        let before = LINE[..place].iter().copied().chain(["model", "disk"]);
        return Some(before.chain(wings.map(|(_, wing)| *wing)).collect());
    }
    let (_, rooms) = BESIDE_THE_LINE.iter().find(|(name, _)| *name == room)?;
    if room == "pipeline" {
        let beside = BESIDE_THE_LINE.iter().map(|(name, _)| *name);
        return Some(
            LINE.into_iter()
                .chain(beside)
                .filter(|name| !["cli", "ui", "pipeline"].contains(name))
                .collect(),
        );
    }
    Some(rooms.iter().copied().collect())
}

fn is_room(name: &str) -> bool {
    allowed(name).is_some()
}

/// The modules that a file below `src/` stands for: `["lock", "model"]` for `lock/model.rs`.
fn module_of(file: &str) -> Vec<&str> {
    let stem = file.strip_suffix(".rs").unwrap_or(file);
    let stem = stem.strip_suffix("/mod").unwrap_or(stem);
    if ["lib", "main"].contains(&stem) { Vec::new() } else { stem.split('/').collect() }
}

/// Every import of one file (a path below `src/`) that the table forbids, as `file:line: rule`.
fn forbidden_imports(file: &str, text: &RustText) -> Vec<String> {
    let module = module_of(file);
    let Some(room) = module.first() else { return Vec::new() };
    let Some(allowed) = allowed(room) else {
        return vec![format!("src/{file}:1: the house has no room \"{room}\"")];
    };
    let mut complaints = Vec::new();
    for (line, path) in text.paths_from_the_root(module.len()) {
        let target = path.as_str();
        if is_room(target) && target != *room && !allowed.contains(target) {
            let may = allowed.iter().copied().collect::<Vec<_>>().join(", ");
            complaints.push(format!(
                "src/{file}:{line}: {room} may not import {target} (it may import: {may})"
            ));
        }
    }
    complaints
}

/// How code gives up.
fn ways_to_give_up() -> Vec<String> {
    let macros = ["panic", "todo", "unimplemented"].map(|name| format!("{name}!("));
    [".unwrap()", ".expect("].map(str::to_owned).into_iter().chain(macros).collect()
}

/// Every place where a file gives up without a comment on that line saying why it cannot happen.
fn unexplained_panics(file: &str, text: &RustText) -> Vec<String> {
    let ways = ways_to_give_up();
    let mut complaints = Vec::new();
    for (number, code) in text.code().lines().enumerate() {
        if let Some(way) = ways.iter().find(|way| code.contains(*way))
            && !text.has_comment(number + 1)
        {
            complaints.push(format!(
                "src/{file}:{}: {way} outside tests needs a comment on its line that proves it cannot happen",
                number + 1
            ));
        }
    }
    complaints
}

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// All files below a directory of the repository with their text, as `/`-separated paths relative
/// to it. What is not text is left out.
fn text_files(below: &Path) -> Vec<(String, String)> {
    let made_by_use = |entry: &walkdir::DirEntry| {
        let name = entry.file_name().to_string_lossy();
        let top = entry.depth() == 1 && entry.path().starts_with(repository());
        [".git", ".drystone", "target"].contains(&&*name)
            || (top && name == "store" && entry.path().parent() == Some(&repository()))
    };
    let mut files = Vec::new();
    for entry in walkdir::WalkDir::new(below).into_iter().filter_entry(|entry| !made_by_use(entry))
    {
        let entry = entry.unwrap();
        if entry.file_type().is_file()
            && let Ok(text) = String::from_utf8(std::fs::read(entry.path()).unwrap())
        {
            let path = entry.path().strip_prefix(below).unwrap();
            let parts: Vec<_> = path.iter().map(|part| part.to_str().unwrap()).collect();
            files.push((parts.join("/"), text));
        }
    }
    files.sort();
    files
}

fn rust_files(below: &str) -> Vec<(String, String)> {
    let mut files = text_files(&repository().join(below));
    files.retain(|(path, _)| path.ends_with(".rs"));
    assert!(!files.is_empty());
    files
}

/// The sources that are part of the program: without those that only `#[cfg(test)]` declares.
fn program_files() -> Vec<(String, RustText)> {
    let files: Vec<_> =
        rust_files("src").into_iter().map(|(path, text)| (path, RustText::new(&text))).collect();
    let mut only_for_tests = BTreeSet::new();
    for (path, text) in &files {
        let module = module_of(path);
        for name in text.test_modules() {
            only_for_tests.insert([&module[..], &[name.as_str()]].concat().join("/"));
        }
    }
    let of_tests = |path: &String| {
        let module = module_of(path);
        (1..=module.len()).any(|depth| only_for_tests.contains(&module[..depth].join("/")))
    };
    files.iter().filter(|(path, _)| !of_tests(path)).cloned().collect()
}

fn assert_none(complaints: Vec<String>) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn rooms_import_only_what_the_table_allows() {
    let files = program_files();
    assert_none(files.iter().flat_map(|(path, text)| forbidden_imports(path, text)).collect());
}

#[test]
fn the_program_itself_calls_only_the_command_line() {
    let main = std::fs::read_to_string(repository().join("src/main.rs")).unwrap();
    let rooms = RustText::new(&main).paths_below("drystone");
    let others: Vec<_> = rooms.iter().filter(|(_, room)| is_room(room) && room != "cli").collect();
    assert!(others.is_empty(), "src/main.rs calls {others:?}");
}

#[test]
fn nothing_gives_up_without_a_reason() {
    let files = program_files();
    assert_none(files.iter().flat_map(|(path, text)| unexplained_panics(path, text)).collect());
}

#[test]
fn every_file_opens_with_what_it_is_for() {
    let silent = rust_files("src").into_iter().filter(|(_, text)| !text.starts_with("//! "));
    assert_none(
        silent.map(|(path, _)| format!("src/{path}: opens without a `//!` line")).collect(),
    );
}

#[test]
fn no_file_is_too_long_to_read() {
    let mut complaints = Vec::new();
    for folder in ["src", "tests"] {
        for (path, text) in rust_files(folder) {
            let lines = text.lines().count();
            if lines > LONGEST_FILE {
                complaints.push(format!("{folder}/{path}: {lines} lines, at most {LONGEST_FILE}"));
            }
        }
    }
    assert_none(complaints);
}

/// Hosts of package registries (they are the business of each machine's settings) and paths that
/// exist on one machine only. Put together here so that this file does not hold them either.
fn forbidden_words() -> Vec<String> {
    let halves = [
        ("py", "pi.org"),
        ("python", "hosted.org"),
        ("registry.npm", "js.org"),
        ("deb.deb", "ian.org"),
        ("static.cra", "tes.io"),
        ("index.cra", "tes.io"),
        ("/work", "/wt/"),
        ("/work", "/main"),
        ("/work", "/shared"),
        (".libr", "ary/"),
    ];
    halves.iter().map(|(start, end)| format!("{start}{end}")).collect()
}

fn words_that_belong_elsewhere(path: &str, text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for word in forbidden_words().iter().filter(|word| line.contains(*word)) {
            complaints.push(format!("{path}:{}: \"{word}\" stands in no file", number + 1));
        }
    }
    complaints
}

#[test]
fn no_file_names_a_registry_host_or_somebodys_machine() {
    let mut files = text_files(&repository());
    files.retain(|(path, _)| path != "Cargo.lock");
    assert_none(
        files.iter().flat_map(|(path, text)| words_that_belong_elsewhere(path, text)).collect(),
    );
}

// ── The tests above can fail ────────────────────────────────────────────────────────────────────

fn imports(file: &str, source: &str) -> Vec<String> {
    forbidden_imports(file, &RustText::new(source))
}

#[test]
fn a_planted_import_is_found() {
    let found =
        imports("lock/model.rs", "//! x\nuse crate::model::Name;\nuse crate::store::Store;\n");
    assert_eq!(
        found,
        ["src/lock/model.rs:3: lock may not import store \
          (it may import: catalogue, disk, manifest, model, resolve)"]
    );
}

#[test]
fn an_import_is_found_in_every_way_of_writing_it() {
    let ways = [
        "fn f() { crate::runtime::start() }",
        "use crate::{model::Name, runtime::{self, Run}};",
        "pub use crate :: runtime;",
        "use {std::io, crate::runtime};",
        "use super::super::runtime::Run;",
        "macro_rules! m { () => { $crate::runtime::start() } }",
        "#[cfg(not(test))] use crate::runtime::Run;",
    ];
    for way in ways {
        assert_eq!(imports("store/blobs.rs", way).len(), 1, "{way}");
    }
    assert_eq!(imports("store/mod.rs", "use super::runtime::Run;").len(), 1);
}

#[test]
fn what_is_allowed_is_let_through() {
    let allowed = [
        "use crate::{model::Name, unpack::Sink};",
        "use crate::store::Blob;",
        "use super::runtime::Own;",
        "// use crate::runtime;",
        "/* /* crate::runtime:: */ crate::runtime::x */",
        r##"const TEXT: &str = "\" crate::runtime::"; const RAW: &str = r#"" crate::runtime::"#;"##,
        "fn f<'a>(x: &'a str) -> char { let _ = b'\\''; '\"' } // crate::runtime::",
        "#[cfg(test)]\nmod tests { use crate::runtime::Run; fn f() { {} } }",
        "#[cfg(all(test, unix))]\n#[allow(unused)]\nuse crate::runtime::Run;",
        "pub(crate) fn runtime() {}",
        "use mycrate::runtime;",
    ];
    for way in allowed {
        assert_eq!(imports("store/blobs.rs", way), [""; 0], "{way}");
    }
}

#[test]
fn wings_and_ends_of_the_house_have_their_own_rules() {
    assert_eq!(imports("model/name.rs", "use crate::store::Store;").len(), 1);
    assert_eq!(imports("host/gpu.rs", "use crate::manifest::Package;").len(), 1);
    assert_eq!(imports("runtime/closure.rs", "use crate::{binary, store};").len(), 0);
    assert_eq!(imports("store/blobs.rs", "use crate::binary::Imports;").len(), 1);
    assert_eq!(imports("pipeline/build.rs", "use crate::ui::Table;").len(), 1);
    assert_eq!(imports("pipeline/build.rs", "use crate::{host, store, runtime};").len(), 0);
    assert_eq!(imports("cli/build.rs", "use crate::{pipeline, store};").len(), 1);
    assert_eq!(imports("attic/old.rs", "").len(), 1);
}

#[test]
fn a_planted_panic_is_found() {
    let panics = |source: &str| unexplained_panics("x.rs", &RustText::new(source)).len();
    for way in ways_to_give_up() {
        assert_eq!(panics(&format!("fn f() {{\n    x{way}\n}}")), 1, "{way}");
    }
    assert_eq!(panics("fn f() { panic!(\"// no comment\") }"), 1);
    assert_eq!(panics("fn f() { g().unwrap(); } // a hash has 32 bytes"), 0);
    assert_eq!(panics("/// `x.unwrap()`\nfn f() { g().unwrap_or(1); }"), 0);
    assert_eq!(panics("#[test]\nfn f() { g().unwrap(); }"), 0);
}

#[test]
fn modules_declared_for_tests_only_are_known() {
    let text =
        RustText::new("#[cfg(test)]\nmod tests;\nmod real;\n#[cfg(test)] pub(crate) mod support;");
    assert_eq!(text.test_modules(), ["tests", "support"]);
}

#[test]
fn a_planted_word_is_found() {
    for word in forbidden_words() {
        assert_eq!(words_that_belong_elsewhere("x", &format!("a\nsee {word}/x\n")).len(), 1);
    }
}
