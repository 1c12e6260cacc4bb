//! Files that another program takes away or changes while drystone works: at each instant they are
//! found, told with their package and archive, and never called a success.
//!
//! The progress that every verb reports to is the scanner here: it acts when a piece of work begins or
//! ends, on real files.

mod support;
#[cfg(not(unix))]
#[path = "support/unprotect.rs"]
mod unprotect;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use drystone::model::{Fate, Progress, Task};
use drystone::pipeline::{self, BuildRequest, Error, Settings};
use serde_json::Value;
use support::Sandbox;

/// What is done at which instant.
struct Step<'a> {
    /// The label of the work, or of two words what it begins with.
    work: &'static str,
    /// Which such piece of work, from 0.
    number: usize,
    at_its_end: bool,
    action: Box<dyn Fn() + Send + Sync + 'a>,
}

/// A virus scanner that acts on the instant.
struct Scanner<'a> {
    step: &'a Step<'a>,
    seen: AtomicUsize,
    acted: &'a AtomicUsize,
    notes: &'a Mutex<Vec<String>>,
}

struct Ending(Option<Box<dyn Fn() + Send + Sync>>);

impl Task for Ending {
    fn advance(&self, _bytes: u64) {}
    fn set_length(&self, _length: u64) {}
}

impl Drop for Ending {
    fn drop(&mut self) {
        if let Some(action) = self.0.take() {
            action();
        }
    }
}

impl Progress for Scanner<'static> {
    fn start(&self, label: &str, _length: Option<u64>) -> Box<dyn Task> {
        let step = self.step;
        let is_it = label == step.work || (step.work.contains(' ') && label.starts_with(step.work));
        if !is_it || self.seen.fetch_add(1, Ordering::SeqCst) != step.number {
            return Box::new(Ending(None));
        }
        let acted = self.acted;
        let act = move || {
            (step.action)();
            acted.fetch_add(1, Ordering::SeqCst);
        };
        if step.at_its_end {
            return Box::new(Ending(Some(Box::new(act))));
        }
        act();
        Box::new(Ending(None))
    }

    fn note(&self, line: &str) {
        self.notes.lock().expect("notes").push(line.to_owned());
    }
}

/// Runs a verb while the scanner acts once, and gives what it said and its notes.
fn meddled<T>(
    work: &'static str,
    number: usize,
    at_its_end: bool,
    action: impl Fn() + Send + Sync + 'static,
    verb: impl FnOnce(&dyn Progress) -> T,
) -> (T, String) {
    // Tasks own what they do at their end, so all of it lives as long as the test.
    let step: &'static Step<'static> =
        Box::leak(Box::new(Step { work, number, at_its_end, action: Box::new(action) }));
    let acted: &'static AtomicUsize = Box::leak(Box::default());
    let notes: &'static Mutex<Vec<String>> = Box::leak(Box::default());
    let scanner = Scanner { step, seen: AtomicUsize::new(0), acted, notes };
    let result = verb(&scanner);
    assert_eq!(acted.load(Ordering::SeqCst), 1, "{work} {number} never came");
    let notes = notes.lock().expect("notes").join("\n");
    (result, notes)
}

fn settings(sandbox: &Sandbox) -> Settings {
    Settings {
        project: Some(sandbox.path("")),
        store: Some(sandbox.store()),
        ..Settings::default()
    }
}

fn build(sandbox: &Sandbox, progress: &dyn Progress) -> Result<u64, Error> {
    let report = pipeline::build(&settings(sandbox), &BuildRequest::default(), progress)?;
    Ok(report.generation)
}

fn locked() -> Sandbox {
    let sandbox = Sandbox::greeting();
    sandbox.succeed(&["lock"]);
    sandbox
}

/// The text of package `greeting` 1.0, and the name of its file in the package and the environment.
const GREETING: &str = "good morning\n";
const INSIDE: &str = "greeting.txt";
const PLACE: &str = "greeting/greeting.txt";

/// The files below a directory that hold a text.
fn holding(below: &Path, text: &str) -> Vec<PathBuf> {
    let walk = walkdir::WalkDir::new(below).into_iter().filter_map(Result::ok);
    let files = walk.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path);
    files.filter(|path| std::fs::read(path).is_ok_and(|found| found == text.as_bytes())).collect()
}

/// Does something to a file as a scanner can, which modes do not stop, and leaves the mode of its
/// directory as it was.
fn meddle(path: &Path, action: impl FnOnce(&Path) -> std::io::Result<()>) {
    #[cfg(unix)]
    {
        use std::fs::{Permissions, set_permissions};
        use std::os::unix::fs::PermissionsExt;
        let parent = path.parent().expect("a parent");
        let before = parent.metadata().expect("a directory").permissions();
        set_permissions(parent, Permissions::from_mode(0o755)).expect("a mode");
        set_permissions(path, Permissions::from_mode(0o644)).expect("a mode");
        action(path).expect("meddled with");
        set_permissions(parent, before).expect("a mode");
    }
    #[cfg(not(unix))]
    {
        unprotect::unprotect(path);
        action(path).expect("meddled with");
    }
}

fn take_away(path: &Path) {
    meddle(path, |path| std::fs::remove_file(path));
}

/// Takes away every file below that holds the greeting; at least one.
fn take_greeting(below: PathBuf) -> impl Fn() + Send + Sync + 'static {
    move || {
        let files = holding(&below, GREETING);
        assert!(!files.is_empty(), "nothing to take in {}", below.display());
        files.iter().for_each(|file| take_away(file));
    }
}

fn clean_greeting(below: PathBuf, into: &'static str) -> impl Fn() + Send + Sync + 'static {
    move || {
        let files = holding(&below, GREETING);
        assert!(!files.is_empty(), "nothing to clean in {}", below.display());
        for file in files {
            meddle(&file, |file| std::fs::write(file, into));
        }
    }
}

/// What an error says of one file: of which package, from which archive; and that it is one.
#[track_caller]
fn assert_told(error: &Error, what: Fate, words: &str) {
    let said = error.to_string();
    let files = error.vanished();
    assert_eq!(files.len(), 1, "{said}");
    assert_eq!(files[0].what, what, "{said}");
    let origin = files[0].origin.as_ref().unwrap_or_else(|| panic!("no origin: {said}"));
    assert_eq!((origin.package.as_str(), &*origin.version.to_string()), ("greeting", "1.0"));
    assert_eq!(origin.archive.name, "greeting-1.0.zip");
    assert!(origin.archive.sha256.is_some());
    assert!(said.contains(words), "no {words} in {said}");
    let help = miette::Diagnostic::help(error).expect("a help").to_string();
    for part in ["file:archives/greeting-1.0.zip", "sha256:", "drystone build", "false positive"] {
        assert!(help.contains(part), "no {part} in {help}");
    }
    assert_eq!(help.contains("Windows Security"), cfg!(windows), "{help}");
}

#[track_caller]
fn assert_nothing_built(sandbox: &Sandbox) {
    let history = sandbox.json(&["history"]);
    assert_eq!(history["generations"].as_array().map(Vec::len), Some(0), "{history}");
    sandbox.succeed(&["build"]);
    assert_eq!(sandbox.succeed(&["run", "hello"]), "good morning, world\n");
    assert_eq!(sandbox.json(&["store", "verify"])["damages"].as_array().map(Vec::len), Some(0));
}

#[test]
fn a_file_taken_while_it_is_staged_makes_no_generation() {
    let sandbox = locked();
    let take = take_greeting(sandbox.store().join("tmp"));
    let (built, _) =
        meddled("unpack greeting", 0, true, take, |progress| build(&sandbox, progress));
    let error = built.expect_err("it vanished");
    assert_told(&error, Fate::Vanished, "vanished before it was put into the store");
    assert_eq!(error.vanished()[0].path.as_ref().map(|path| path.as_str()), Some(PLACE));
    assert_nothing_built(&sandbox);
}

#[test]
fn a_file_cleaned_while_it_is_staged_is_told_as_changed_and_never_named() {
    for into in ["cleaned", "GOOD MORNING\n"] {
        let sandbox = locked();
        let clean = clean_greeting(sandbox.store().join("tmp"), into);
        let (built, _) =
            meddled("unpack greeting", 0, true, clean, |progress| build(&sandbox, progress));
        let error = built.expect_err("it was changed");
        assert_told(&error, Fate::Changed, "was changed before it was put into the store");
        assert!(holding(&sandbox.store().join("blobs"), into).is_empty());
        assert_nothing_built(&sandbox);
    }
}

#[test]
fn a_file_taken_from_the_directory_that_is_being_made_makes_no_generation() {
    let sandbox = locked();
    let take = take_greeting(sandbox.store().join("tmp"));
    let (built, _) = meddled("realise", 0, true, take, |progress| build(&sandbox, progress));
    let error = built.expect_err("it vanished");
    assert_told(&error, Fate::Vanished, "vanished right after it was built");
    let origin = error.vanished()[0].origin.as_ref().expect("its origin");
    assert_eq!(origin.path_in_package.as_ref().map(|path| path.as_str()), Some(INSIDE));
    assert_nothing_built(&sandbox);
}

#[test]
fn a_blob_taken_right_after_it_was_linked_makes_no_generation() {
    let sandbox = locked();
    let take = take_greeting(sandbox.store().join("blobs"));
    let (built, _) = meddled("realise", 0, true, take, |progress| build(&sandbox, progress));
    let error = built.expect_err("it vanished");
    assert_told(&error, Fate::Vanished, "vanished right after it was built");
    assert_nothing_built(&sandbox);
}

#[test]
fn a_file_cleaned_right_after_it_was_linked_is_told_and_replaced() {
    let sandbox = locked();
    let clean = clean_greeting(sandbox.store().join("tmp"), "cleaned");
    let (built, notes) = meddled("realise", 0, true, clean, |progress| build(&sandbox, progress));
    built.expect("built");
    let told =
        "\"greeting/greeting.txt\" of greeting 1.0 was changed since it was put into the store";
    assert!(notes.contains(told) && notes.contains("bringing it back"), "{notes}");
    assert_eq!(sandbox.succeed(&["run", "hello"]), "good morning, world\n");
    assert_eq!(sandbox.json(&["store", "verify"])["damages"].as_array().map(Vec::len), Some(0));
}

#[test]
fn an_archive_taken_right_after_it_came_is_told_as_that() {
    let sandbox = locked();
    let archives = sandbox.store().join("archives");
    let take = move || take_away(&download(&archives));
    let (built, _) = meddled("copy greeting", 0, true, take, |progress| build(&sandbox, progress));
    let error = built.expect_err("it vanished");
    assert_told(&error, Fate::Vanished, "vanished right after it was downloaded");
    assert!(error.to_string().contains("the archive \"greeting-1.0.zip\" of greeting 1.0"));
    assert_nothing_built(&sandbox);
}

/// The download of `greeting`, finished or not.
fn download(archives: &Path) -> PathBuf {
    let holds =
        |bytes: &[u8], name: &str| bytes.windows(name.len()).any(|part| part == name.as_bytes());
    let is_it = |path: &PathBuf| {
        let bytes = std::fs::read(path).expect("an archive");
        holds(&bytes, INSIDE) && !holds(&bytes, "hello.sh")
    };
    let entries = std::fs::read_dir(archives).expect("archives");
    let mut found = entries.map(|entry| entry.expect("an archive").path()).filter(is_it);
    found.next().expect("the archive")
}

#[test]
fn an_archive_taken_after_unpacking_began_takes_nothing_away() {
    let sandbox = locked();
    sandbox.succeed(&["fetch"]);
    let archives = sandbox.store().join("archives");
    let take = {
        let archives = archives.clone();
        move || take_away(&download(&archives))
    };
    let label: &'static str =
        Box::leak(format!("check {}", download(&archives).display()).into_boxed_str());
    let (built, _) = meddled(label, 0, true, take, |progress| build(&sandbox, progress));
    built.expect("what is open stays whole");
    assert_eq!(sandbox.succeed(&["run", "hello"]), "good morning, world\n");
    assert_eq!(sandbox.json(&["store", "verify"])["damages"].as_array().map(Vec::len), Some(0));
}

#[test]
fn a_build_brings_back_what_vanished_since_the_last_one_and_says_why() {
    let sandbox = locked();
    let directory = directory_of(&sandbox.json(&["build"]));
    take_away(&directory.join(PLACE));
    let output = sandbox.output(["build"]);
    let said = support::text(&output.stderr);
    assert!(output.status.success(), "{said}");
    for part in [PLACE, "of greeting 1.0", "antivirus quarantine", "bringing it back"] {
        assert!(said.contains(part), "no {part} in {said}");
    }
    assert_eq!(std::fs::read_to_string(directory.join(PLACE)).expect("it is back"), GREETING);
}

#[test]
fn what_vanishes_again_right_after_it_was_brought_back_is_no_success() {
    let sandbox = locked();
    let directory = directory_of(&sandbox.json(&["build"]));
    take_away(&directory.join(PLACE));
    // The second verification is the one after the repair.
    let take = take_greeting(directory.clone());
    let (built, notes) = meddled("verify", 1, true, take, |progress| build(&sandbox, progress));
    let error = built.expect_err("it vanished again");
    assert_told(&error, Fate::Vanished, "vanished again right after it was brought back");
    assert!(notes.contains("bringing it back"), "{notes}");
}

fn directory_of(built: &Value) -> PathBuf {
    PathBuf::from(built["directory"].as_str().expect("a directory"))
}

fn document(output: &std::process::Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("a document")
}

#[test]
fn a_run_without_what_it_needs_names_file_package_and_archive_also_in_json() {
    let sandbox = locked();
    sandbox.succeed(&["build"]);
    for blob in holding(&sandbox.store().join("blobs"), GREETING) {
        take_away(&blob);
    }
    let said = sandbox.fail(&["run", "hello"]);
    for part in ["drystone::file::vanished", PLACE, "greeting 1.0", "greeting-1.0.zip"] {
        assert!(said.contains(part), "no {part} in {said}");
    }
    assert!(said.lines().count() <= 24, "more than one screen:\n{said}");
    let error = &document(&sandbox.output(["--json", "run", "hello"]))["error"];
    assert_eq!(error["code"], "drystone::file::vanished");
    let file = &error["files"][0];
    assert_eq!(file["path"], PLACE);
    assert_eq!(file["package"], "greeting");
    assert_eq!(file["version"], "1.0");
    assert_eq!(file["path_in_package"], INSIDE);
    assert_eq!(file["archive"]["name"], "greeting-1.0.zip");
    assert!(file["archive"]["sha256"].as_str().expect("a hash").starts_with("sha256:"));
    sandbox.succeed(&["build"]);
    assert_eq!(sandbox.succeed(&["run", "hello"]), "good morning, world\n");
}

#[test]
fn a_command_that_vanished_from_the_environment_is_told_as_that() {
    let sandbox = locked();
    let manifest = sandbox.read("env.kdl").replacen(
        "    set \"GREETED\"",
        "    prepend \"PATH\" \"{environment}/hello\"\n    set \"GREETED\"",
        1,
    );
    sandbox.write("env.kdl", manifest);
    sandbox.succeed(&["lock"]);
    let directory = directory_of(&sandbox.json(&["build"]));
    let name = if cfg!(windows) { "hello.cmd" } else { "hello.sh" };
    sandbox.succeed(&["exec", "--", name]);
    take_away(&directory.join("hello").join(name));
    let absolute = directory.join("hello").join(name);
    for command in [name, absolute.to_str().expect("text")] {
        let said = sandbox.fail(&["exec", "--", command]);
        for part in ["drystone::file::vanished", "hello 1.0", "since it was built", name] {
            assert!(said.contains(part), "no {part} in {said}");
        }
    }
    let said = sandbox.fail(&["exec", "--", "never-there"]);
    assert!(said.contains("drystone::runtime::command_not_found"), "{said}");
    let typed = sandbox.root().join("never-there");
    let said = sandbox.fail(&["exec", "--", typed.to_str().expect("text")]);
    assert!(said.contains("drystone::runtime::start"), "{said}");
    sandbox.succeed(&["build"]);
    sandbox.succeed(&["exec", "--", name]);
}

#[test]
fn a_command_that_fails_in_an_environment_without_some_of_its_files_says_so() {
    let sandbox = locked();
    let directory = directory_of(&sandbox.json(&["build"]));
    take_away(&directory.join(PLACE));
    let name = if cfg!(windows) { "hello.cmd" } else { "hello.sh" };
    let program = directory.join("hello").join(name);
    let output = sandbox.output(["exec", "--", program.to_str().expect("text"), "status", "3"]);
    assert_eq!(output.status.code(), Some(3));
    let said = support::text(&output.stderr);
    assert!(said.contains(PLACE) && said.contains("antivirus quarantine"), "{said}");
}

#[test]
fn verify_says_what_vanished_and_from_which_archive_and_repair_brings_it_back() {
    let sandbox = locked();
    let directory = directory_of(&sandbox.json(&["build"]));
    take_away(&directory.join(PLACE));
    for blob in holding(&sandbox.store().join("blobs"), GREETING) {
        take_away(&blob);
    }
    let output = sandbox.output(["store", "verify"]);
    assert_eq!(output.status.code(), Some(1));
    let said = support::text(&output.stdout);
    for part in ["greeting 1.0", "antivirus quarantine", "greeting-1.0.zip", "false positive"] {
        assert!(said.contains(part), "no {part} in {said}");
    }
    let found = document(&sandbox.output(["--json", "store", "verify"]));
    for damage in found["damages"].as_array().expect("damages") {
        assert_eq!(damage["code"], "drystone::file::vanished", "{damage}");
        assert_eq!(damage["vanished"]["package"], "greeting");
        assert_eq!(damage["vanished"]["path_in_package"], INSIDE);
    }
    let repaired = sandbox.json(&["store", "verify", "--repair"]);
    let damages = repaired["damages"].as_array().expect("damages");
    assert!(damages.iter().all(|damage| damage["repaired"] == true), "{repaired}");
    assert_eq!(std::fs::read_to_string(directory.join(PLACE)).expect("it is back"), GREETING);
    assert_eq!(sandbox.json(&["store", "verify"])["damages"].as_array().map(Vec::len), Some(0));
}

#[test]
fn a_repair_whose_file_vanishes_again_says_so_and_fails() {
    let sandbox = locked();
    let directory = directory_of(&sandbox.json(&["build"]));
    for lost in ["realised", "blob and realised", "something else"] {
        if lost != "something else" {
            take_away(&directory.join(PLACE));
        }
        if lost != "realised" {
            for blob in holding(&sandbox.store().join("blobs"), GREETING) {
                take_away(&blob);
            }
        }
        let take = take_greeting(directory.clone());
        let (report, _) = meddled("verify", 1, true, take, |progress| {
            pipeline::store_verify(&settings(&sandbox), true, progress)
        });
        let report = report.expect("a report");
        let still: Vec<_> = report.damages.iter().filter(|damage| !damage.repaired).collect();
        assert_eq!(still.len(), 1, "{lost}: {:#?}", report.damages);
        assert_eq!(still[0].path, directory.join(PLACE));
        let again = still[0].what.contains("brought back and went wrong again");
        assert!(again, "{lost}: {}", still[0].what);
        sandbox.succeed(&["store", "verify", "--repair"]);
    }
}

#[test]
fn a_content_that_was_cleaned_in_the_store_is_told_as_changed_and_a_build_brings_it_back() {
    for into in ["cleaned", "GOOD MORNING\n"] {
        let sandbox = locked();
        sandbox.succeed(&["build"]);
        clean_greeting(sandbox.store().join("blobs"), into)();
        let said = sandbox.fail(&["run", "hello"]);
        assert!(said.contains("drystone::file::changed") && said.contains("cleaned it"), "{said}");
        let found = document(&sandbox.output(["--json", "store", "verify"]));
        let codes = found["damages"].as_array().expect("damages").iter();
        let codes: Vec<_> = codes.filter_map(|damage| damage["code"].as_str()).collect();
        assert!(!codes.is_empty() && codes.iter().all(|code| *code == "drystone::file::changed"));
        sandbox.succeed(&["build"]);
        assert_eq!(sandbox.succeed(&["run", "hello"]), "good morning, world\n");
        let sound = sandbox.json(&["store", "verify"]);
        assert_eq!(sound["damages"].as_array().map(Vec::len), Some(0), "{sound}");
    }
}

#[test]
fn repair_makes_the_texts_of_trees_again_from_directories_and_archives() {
    let sandbox = locked();
    let directory = directory_of(&sandbox.json(&["build"]));
    let trees = sandbox.store().join("trees");
    let walk = walkdir::WalkDir::new(&trees).into_iter().filter_map(Result::ok);
    let files: Vec<_> = walk.filter(|entry| entry.file_type().is_file()).collect();
    assert_eq!(files.len(), 3, "two packages and the environment");
    let mut before: Vec<PathBuf> = files.iter().map(|file| file.path().to_path_buf()).collect();
    before.sort();
    before.iter().for_each(|file| take_away(file));
    assert_eq!(sandbox.output(["store", "verify"]).status.code(), Some(1));
    let repaired = sandbox.json(&["store", "verify", "--repair"]);
    let damages = repaired["damages"].as_array().expect("damages");
    assert!(damages.iter().all(|damage| damage["repaired"] == true), "{repaired:#}");
    assert!(before.iter().all(|file| file.is_file()), "{repaired:#}");
    assert!(directory.join(PLACE).is_file(), "the directory was kept");
    assert_eq!(sandbox.json(&["store", "verify"])["damages"].as_array().map(Vec::len), Some(0));
}

#[test]
fn an_archive_that_unpacks_otherwise_keeps_nobody_from_the_others() {
    let sandbox = locked();
    sandbox.succeed(&["build"]);
    let records = sandbox.store().join("unpacked");
    let walk = walkdir::WalkDir::new(&records).into_iter().filter_map(Result::ok);
    let files: Vec<_> = walk.filter(|entry| entry.file_type().is_file()).collect();
    let read = |at: usize| -> Value {
        serde_json::from_slice(&std::fs::read(files[at].path()).expect("a record")).expect("JSON")
    };
    // Both records name the tree of `hello`, so its contents are wanted from both archives.
    let hash = support::sha256(&std::fs::read(sandbox.path("archives/hello-1.0.zip")).expect("it"));
    let of_hello = usize::from(read(1)["source"].as_str().expect("a hash").contains(&hash));
    let (hello, greeting) = (read(of_hello), read(1 - of_hello));
    let text = std::fs::read_to_string(files[1 - of_hello].path()).expect("a record");
    let (old, new) = (greeting["tree"].as_str().expect("it"), hello["tree"].as_str().expect("it"));
    std::fs::write(files[1 - of_hello].path(), text.replace(old, new)).expect("another tree");
    for below in ["blobs", "realised"] {
        for file in holding(&sandbox.store().join(below), "notes\n") {
            take_away(&file);
        }
    }
    let output = sandbox.output(["store", "verify", "--repair"]);
    let said = support::text(&output.stderr);
    assert!(said.contains("brings nothing back: archive"), "{said}");
    assert!(output.status.success(), "{said}{}", support::text(&output.stdout));
    assert_eq!(sandbox.json(&["store", "verify"])["damages"].as_array().map(Vec::len), Some(0));
}
