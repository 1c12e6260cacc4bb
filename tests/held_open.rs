//! Files that another program holds open on Windows: waited for, then left out and told; never taken
//! for damage, and no reason to leave the rest undone.
#![cfg(windows)]

mod support;
#[path = "support/unprotect.rs"]
mod unprotect;

use std::fs::File;
use std::io::Read;
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use support::{Sandbox, text};

fn built() -> Sandbox {
    let sandbox = Sandbox::greeting();
    sandbox.succeed(&["lock"]);
    sandbox.succeed(&["build"]);
    sandbox
}

/// Holds a file as a scanner does that shares it with nobody.
fn hold(path: &Path) -> File {
    File::options().read(true).share_mode(0).open(path).expect("held")
}

/// Runs `drystone` while a file is held, which is let go a while after it began.
fn while_held(sandbox: &Sandbox, path: &Path, arguments: &[&str]) -> String {
    let held = hold(path);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(2500));
            drop(held);
        });
        let output = sandbox.output(arguments);
        let said = text(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {said}");
        said
    })
}

/// The files below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(&directory).expect("a directory") {
            let entry = entry.expect("an entry");
            let into = if entry.path().is_dir() { &mut waiting } else { &mut found };
            into.push(entry.path());
        }
    }
    found.sort();
    found
}

fn holding(directory: &Path, content: &str) -> PathBuf {
    let is_it = |path: &PathBuf| std::fs::read(path).is_ok_and(|there| there == content.as_bytes());
    files(directory).into_iter().find(is_it).expect("a file of this content")
}

#[test]
fn verify_leaves_out_what_it_cannot_read_and_repair_does_not_touch_it() {
    let sandbox = built();
    let blob = holding(&sandbox.store().join("blobs"), "good morning\n");
    let tree = files(&sandbox.store().join("trees")).remove(0);
    let held = [hold(&blob), hold(&tree)];
    let output = sandbox.output(["--json", "store", "verify", "--repair"]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    assert_eq!(output.status.code(), Some(1), "not everything was verified: {report}");
    assert_eq!(report["damages"].as_array().map(Vec::len), Some(0), "{report}");
    let skipped = report["skipped"].as_array().expect("a list");
    let named = |path: &Path| {
        skipped.iter().any(|one| one["path"].as_str().is_some_and(|at| Path::new(at) == path))
    };
    assert!(named(&blob) && named(&tree), "{report}");
    let said = text(&output.stderr);
    assert!(said.contains("waiting for") && said.contains("virus scanner"), "{said}");
    drop(held);
    assert_eq!(sandbox.json(&["store", "verify"])["skipped"].as_array().map(Vec::len), Some(0));
    assert_eq!(sandbox.succeed(&["run", "hello"]), "good morning, world\n");
}

#[test]
fn a_content_is_renewed_while_somebody_reads_the_old_one() {
    let sandbox = built();
    let blob = holding(&sandbox.store().join("blobs"), "good morning\n");
    unprotect::unprotect(&blob);
    std::fs::write(&blob, "bad morning!\n").expect("damaged");
    let share_read_and_delete = 1 | 4;
    let mut reader =
        File::options().read(true).share_mode(share_read_and_delete).open(&blob).expect("open");
    sandbox.succeed(&["store", "verify", "--repair"]);
    assert_eq!(sandbox.succeed(&["run", "hello"]), "good morning, world\n");
    let mut old = String::new();
    reader.read_to_string(&mut old).expect("the old content");
    assert_eq!(old, "bad morning!\n", "whoever has it open keeps it");
    drop(reader);
    sandbox.succeed(&["store", "verify"]);
    sandbox.succeed(&["gc", "--older-than", "0s"]);
    assert_eq!(files(&sandbox.store().join("tmp")), [] as [PathBuf; 0]);
}

#[test]
fn gc_goes_on_past_what_is_held_and_removes_it_the_next_time() {
    let sandbox = built();
    let blob = holding(&sandbox.store().join("blobs"), "good morning\n");
    for _ in 0..2 {
        sandbox.manifest("2.0");
        let manifest = sandbox.read("env.kdl");
        sandbox.write("env.kdl", manifest.replace("\"world\"", "\"moon\""));
        sandbox.succeed(&["lock"]);
        sandbox.succeed(&["build"]);
        sandbox.write("env.kdl", manifest);
        sandbox.succeed(&["lock"]);
        sandbox.succeed(&["build"]);
    }
    let held = hold(&blob);
    let report = sandbox.json(&["gc", "--older-than", "0s"]);
    assert!(report["removed"].as_u64() > Some(0), "{report}");
    assert!(report["skipped"].to_string().contains("another program holds it open"), "{report}");
    drop(held);
    let report = sandbox.json(&["gc", "--older-than", "0s"]);
    assert_eq!(report["skipped"].as_array().map(Vec::len), Some(0), "{report}");
    assert!(!blob.exists());
    assert_eq!(files(&sandbox.store().join("tmp")), [] as [PathBuf; 0]);
}

#[test]
fn a_runtime_directory_goes_but_for_what_is_held() {
    let sandbox = built();
    sandbox.succeed(&["run", "hello"]);
    let listed = sandbox.json(&["runtime", "list"]);
    let runtime = &listed["runtimes"][0];
    let (id, path) = (runtime["id"].as_str().expect("an id"), runtime["path"].as_str());
    let directory = PathBuf::from(path.expect("a path"));
    let held = hold(&holding(&directory.join("app"), "good morning\n"));
    let report = sandbox.json(&["runtime", "remove", id]);
    assert_eq!(report["remaining"].as_array().map(Vec::len), Some(1), "{report}");
    drop(held);
    for _ in 0..5 {
        sandbox.succeed(&["run", "hello"]);
    }
    assert!(!directory.exists(), "a later run removes the rest");
    let rest = sandbox.json(&["runtime", "list"]).to_string();
    assert!(!rest.contains(id), "{rest}");
}

#[test]
fn lock_build_run_and_rollback_wait_until_a_file_is_let_go() {
    let sandbox = built();
    sandbox.manifest("2.0");
    let said = while_held(&sandbox, &sandbox.path("lockfiles/greetings.lock.kdl"), &["lock"]);
    assert!(said.contains("waiting for") && said.contains("greetings.lock.kdl"), "{said}");
    let archive = files(&sandbox.store().join("archives")).remove(0);
    while_held(&sandbox, &archive, &["build"]);
    let current = files(&sandbox.store().join("environments"));
    let current = current.iter().find(|path| path.ends_with("current")).expect("a current one");
    let said = while_held(&sandbox, current, &["rollback"]);
    assert!(said.contains("waiting for") && said.contains("current"), "{said}");
    let blob = holding(&sandbox.store().join("blobs"), "good morning\n");
    while_held(&sandbox, &blob, &["run", "hello"]);
}
