//! A folder synchroniser that merges the stores of two machines behind our back: what it mixed up is
//! named, nothing wrong is ever run, and a repair brings a whole store back.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use support::{Sandbox, text};
use walkdir::WalkDir;

/// What synchronisers call the other side of a conflict.
const CONFLICT: &str = " (conflicted copy)";

/// Two machines that had the same store once; each built on in its own copy.
struct Machines {
    sandbox: Sandbox,
    here: PathBuf,
    there: PathBuf,
}

impl Machines {
    fn new() -> Self {
        let sandbox = Sandbox::greeting();
        let (here, there) = (sandbox.store(), sandbox.root().join("store-there"));
        sandbox.succeed(&["lock"]);
        sandbox.succeed(&["build"]);
        merge(&here, &there);
        let machines = Self { sandbox, here, there };
        // A store that was copied is put right first: it has the times of copying.
        machines.at(&machines.there, &["store", "verify", "--repair"]);
        let manifest = machines.sandbox.manifest_text("1.0").replace("\"world\"", "\"moon\"");
        machines.sandbox.write("env.kdl", manifest);
        machines.build(&machines.there);
        machines.sandbox.manifest("2.0");
        machines.build(&machines.here);
        machines
    }

    fn build(&self, store: &Path) {
        self.sandbox.succeed(&["lock"]);
        self.at(store, &["build"]);
    }

    fn at(&self, store: &Path, arguments: &[&str]) -> String {
        let store = store.to_str().expect("text");
        let output = self.sandbox.output([&["--store", store], arguments].concat());
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// What verify finds, each with the path below the store.
    fn damages(&self) -> Vec<(String, String)> {
        let output = self.sandbox.output(["--json", "store", "verify"]);
        let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
        let damages = report["damages"].as_array().expect("damages");
        let found = damages.iter().map(|damage| {
            let path = Path::new(damage["path"].as_str().expect("a path"));
            let below = path.strip_prefix(&self.here).unwrap_or(path).display().to_string();
            let below = below.replace(std::path::MAIN_SEPARATOR, "/");
            (below, damage["what"].as_str().expect("words").to_owned())
        });
        found.collect()
    }
}

/// Merges a directory into another as a synchroniser does: what is missing is copied, with a time and
/// an inode of its own; of two that differ both stay, one under another name.
fn merge(from: &Path, to: &Path) {
    for entry in WalkDir::new(from).sort_by_file_name() {
        let entry = entry.expect("an entry");
        let target = to.join(entry.path().strip_prefix(from).expect("below"));
        if entry.file_type().is_dir() {
            fs::create_dir_all(&target).expect("a directory");
            continue;
        }
        let content = fs::read(entry.path()).expect("a file");
        let target = match fs::read(&target) {
            Ok(there) if there == content => continue,
            Ok(_) => PathBuf::from(format!("{}{CONFLICT}", target.display())),
            Err(_) => target,
        };
        fs::write(&target, content).expect("a copy");
    }
}

#[test]
fn a_merged_store_names_what_was_mixed_up_and_runs_nothing_wrong() {
    let machines = Machines::new();
    let sandbox = &machines.sandbox;
    merge(&machines.there, &machines.here);
    let found = machines.damages();
    let wrong = |path: &str, what: &str| {
        found.iter().any(|(below, words)| below.ends_with(path) && words.contains(what))
    };
    for conflict in ["2/generation.json", "2/manifest.kdl", "2/lock.kdl", "2/roots", "history"] {
        assert!(wrong(&format!("{conflict}{CONFLICT}"), "not a file of the store"), "{found:#?}");
    }
    assert!(wrong("greetings/hello/data/notes.txt", "mode") || cfg!(windows), "{found:#?}");
    assert_eq!(sandbox.succeed(&["run", "hello"]), "good evening, world\n", "as it was built here");
    let repaired = sandbox.output(["store", "verify", "--repair"]);
    assert_eq!(repaired.status.code(), Some(1), "what others wrote is for a person to remove");
    let left = machines.damages();
    assert!(left.iter().all(|(path, _)| path.ends_with(CONFLICT)), "{left:#?}");
    for (path, _) in left {
        fs::remove_file(machines.here.join(path)).expect("removed");
    }
    assert_eq!(machines.damages(), []);
    assert_eq!(sandbox.succeed(&["run", "hello"]), "good evening, world\n");
}

/// The other side won: whole generations of this machine with single files of the other.
#[test]
fn a_generation_with_a_file_of_another_is_never_run() {
    let machines = Machines::new();
    let sandbox = &machines.sandbox;
    let below = |store: &Path, name: &str| {
        let files = WalkDir::new(store.join("environments")).into_iter();
        let mut paths = files.map(|entry| entry.expect("an entry").into_path());
        paths.find(|path| path.ends_with(name)).expect("a file of the generation")
    };
    for name in ["2/generation.json", "2/plans/hello.json", "2/lock.kdl", "2/roots"] {
        let here = below(&machines.here, name);
        let before = fs::read(&here).expect("a file");
        fs::write(&here, fs::read(below(&machines.there, name)).expect("a file")).expect("mixed");
        let found = machines.damages();
        assert!(found.iter().any(|(_, what)| what.contains("generation 2")), "{found:#?}");
        let run = sandbox.output(["run", "hello"]);
        let said = text(&run.stdout);
        assert!(!run.status.success() || said == "good evening, world\n", "{name}: {said}");
        fs::write(&here, before).expect("as it was");
        assert_eq!(machines.damages(), [], "{name}");
    }
}

#[test]
fn what_another_program_put_into_a_store_is_named() {
    let sandbox = Sandbox::greeting();
    sandbox.succeed(&["lock"]);
    sandbox.succeed(&["build"]);
    let places = ["desktop.ini", "environments/.stfolder", "runtimes/notes.txt", "blobs/notes.txt"];
    for place in places {
        fs::write(sandbox.store().join(place), "notes").expect("put there");
    }
    let machines = Machines { here: sandbox.store(), there: sandbox.store(), sandbox };
    let found: Vec<String> = machines.damages().into_iter().map(|(path, _)| path).collect();
    assert_eq!(
        found,
        ["blobs/notes.txt", "desktop.ini", "environments/.stfolder", "runtimes/notes.txt"]
    );
    for place in places {
        fs::remove_file(machines.here.join(place)).expect("removed");
    }
    // Each bit of what is recorded of a build.
    let current = machines.sandbox.json(&["history"])["generations"][0]["number"].clone();
    assert_eq!(current, 1);
    let environments = WalkDir::new(machines.here.join("environments")).into_iter();
    let record = environments
        .map(|entry| entry.expect("an entry").into_path())
        .find(|path| path.ends_with("1/generation.json"))
        .expect("a record");
    let good = fs::read(&record).expect("a file");
    for at in (0..good.len()).step_by(good.len() / 40) {
        let mut bad = good.clone();
        bad[at] ^= 1;
        fs::write(&record, bad).expect("flipped");
        assert_eq!(machines.damages().len(), 1, "a bit of byte {at}");
    }
}
