//! Several threads and processes on one store, and processes that are killed.
//!
//! A process is this test binary again: it runs one test, which does its part when the variable
//! `STORE_TEST_ROLE` is set.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use drystone::model::{Kind, NoProgress, Tree};
use drystone::store::{GcOptions, ProjectId, Root, Store, roots_text};

use crate::scratch::{Scratch, contents, label, open, stage, verify};

const ROLE: &str = "STORE_TEST_ROLE";
const STORE: &str = "STORE_TEST_STORE";

fn start(role: &str, store: &Path) -> Child {
    Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "processes::the_part_of_a_child", "--nocapture"])
        .env(ROLE, role)
        .env(STORE, store)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started")
}

fn end(child: Child) {
    let output = child.wait_with_output().expect("ended");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_part_of_a_child() {
    let (Some(role), Some(root)) = (std::env::var_os(ROLE), std::env::var_os(STORE)) else {
        return;
    };
    let root = Path::new(&root);
    match role.to_str().expect("a role") {
        "build" => {
            build(&open(root), 400, 0);
        }
        "build-for-ever" => {
            for round in 0.. {
                build(&open(root), 200, round);
            }
        }
        "build-generations" => build_generations(root),
        "gc-for-ever" => loop {
            open(root).gc(&GcOptions::default(), &NoProgress).expect("collected");
            // Who waits tries again and again: where gc is slow, builders would starve beside it.
            std::thread::sleep(Duration::from_millis(if cfg!(windows) { 200 } else { 0 }));
        },
        other => panic!("no role {other}"),
    }
}

/// Many files, half of them the same in every round.
fn build(store: &Store, files: usize, round: usize) -> Tree {
    let contents: Vec<(String, Vec<u8>)> = (0..files)
        .map(|number| {
            let own = if number % 2 == 0 { round } else { 0 };
            let size = if number % 50 == 0 { 70_000 } else { 100 };
            (
                format!("d{}/f{number}", number % 7),
                format!("{number}-{own}.").repeat(size / 8).into_bytes(),
            )
        })
        .collect();
    let files: Vec<(Kind, &str, &[u8])> = contents
        .iter()
        .map(|(path, content)| (Kind::File, path.as_str(), content.as_slice()))
        .collect();
    let staging = store.stage().expect("staging");
    let tree = stage(&staging, &files);
    staging.commit(&[&tree], &[]).expect("committed");
    store.realise(&tree, &label(), &NoProgress).expect("realised");
    tree
}

/// What a real build does: trees become the roots of a generation, old generations go.
fn build_generations(root: &Path) {
    let project = ProjectId::from_text(&"p".repeat(16)).expect("an id");
    // A try under Wine takes ten times as long.
    for round in 0..if cfg!(windows) { 3 } else { 12 } {
        let store = open(root);
        let tree = build(&store, 120, round);
        let held = store.environment(&project, &label(), &NoProgress).expect("locked");
        let name = std::process::id().to_string();
        if held.path().join(&name).exists() {
            held.remove(&name).expect("removed");
        }
        let roots = roots_text(&[Root::Tree(tree.id())]);
        held.write_directory(&name, &[("roots", roots.as_bytes())]).expect("written");
        drop(held);
        drop(store);
        // Only the generation keeps it now.
        let store = open(root);
        let there = store.tree(&tree.id()).expect("asked").expect("kept by the generation");
        for entry in there.entries() {
            let blob = entry.blob.expect("a blob");
            store.read(&blob).expect("kept by the generation");
        }
    }
}

#[test]
fn ten_threads_stage_and_realise_the_same_once() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let made: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..10)
            .map(|_| {
                scope.spawn(|| {
                    let tree = build(&store, 60, 0);
                    let again =
                        store.realise(&tree, &"other".parse().expect("a name"), &NoProgress);
                    usize::from(again.expect("realised").made)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
    });
    assert_eq!(made, 1);
    assert!(verify(&store).is_clean());
    assert_eq!(store.stat().expect("counted").realised, 2);
}

#[test]
fn ten_processes_build_the_same_once() {
    let scratch = Scratch::new();
    let children: Vec<Child> = (0..10).map(|_| start("build", &scratch.root())).collect();
    children.into_iter().for_each(end);
    let store = scratch.store();
    let report = verify(&store);
    assert!(report.is_clean(), "{:?}", report.damages);
    let stat = store.stat().expect("counted");
    assert_eq!((stat.blobs, stat.trees, stat.realised), (400, 1, 1));
    assert_eq!(fs::read_dir(scratch.root().join("tmp")).expect("listed").count(), 0);
}

#[test]
fn a_killed_build_leaves_a_valid_store_and_the_next_one_continues() {
    let scratch = Scratch::new();
    drop(scratch.store());
    for kill in 0..8 {
        let mut child = start("build-for-ever", &scratch.root());
        std::thread::sleep(Duration::from_millis(30 + 25 * kill));
        child.kill().expect("killed");
        child.wait().expect("ended");
        let store = scratch.store();
        let report = verify(&store);
        // Killed between the rename and the modes of a realised directory: its tree sets it right.
        let left: Vec<_> = report
            .damages
            .iter()
            .filter(|damage| !damage.detail.starts_with("its mode is 0700"))
            .collect();
        assert!(left.is_empty(), "{left:?}");
        let staging = fs::read_dir(scratch.root().join("tmp")).expect("listed").count();
        assert!(staging <= 1, "only what is this process's own");
        let tree = build(&store, 200, 0);
        let realised = store.realise(&tree, &label(), &NoProgress).expect("realised");
        assert_eq!(contents(&realised.path).len(), 200);
    }
}

#[test]
fn gc_never_takes_what_a_build_beside_it_has_asked_for() {
    let scratch = Scratch::new();
    drop(scratch.store());
    let mut collector = start("gc-for-ever", &scratch.root());
    let builders: Vec<Child> =
        (0..3).map(|_| start("build-generations", &scratch.root())).collect();
    builders.into_iter().for_each(end);
    assert!(collector.try_wait().expect("asked").is_none(), "gc failed");
    collector.kill().expect("killed");
    collector.wait().expect("ended");
    let store = scratch.store();
    let report = verify(&store);
    assert!(report.is_clean(), "{:?}", report.damages);
    store.gc(&GcOptions::default(), &NoProgress).expect("collected");
    assert_eq!(store.stat().expect("counted").generations, 3);
    assert!(verify(&store).is_clean());
}
