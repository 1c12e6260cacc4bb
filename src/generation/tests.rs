//! What generations promise, on real directories: whole or not there, numbers used once, one switch.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::durable::Place;
use super::error::Step;
use super::writing::{record_with, remove_in, rollback_in};
use super::*;
use crate::compose::PackageIdentity;
use crate::model::{InputsDigest, Name, NodeId, Platform, RootId, TreeId};

/// A directory of this test alone, in the place of the store's locked one.
struct Plain(PathBuf);

impl Place for Plain {
    fn path(&self) -> &Path {
        &self.0
    }

    fn replace(&self, name: &str, content: &[u8]) -> Result<(), GenerationError> {
        let staged = self.0.join(format!("{name}.new"));
        fs::write(&staged, content).expect("written");
        let target = self.0.join(name);
        crate::disk::rename_over(&staged, &target).step("rename to", &target)
    }
}

struct Fixture {
    _temporary: tempfile::TempDir,
    place: Plain,
    generations: Generations,
}

fn fixture() -> Fixture {
    let temporary = tempfile::tempdir().expect("a directory");
    let directory = temporary.path().join("environment");
    fs::create_dir(&directory).expect("a directory");
    let generations = Generations::open(&directory);
    Fixture { _temporary: temporary, place: Plain(directory), generations }
}

fn time(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

fn name(text: &str) -> Name {
    text.parse().expect("a name")
}

fn new_generation(seed: u8, manifest: &'static str) -> NewGeneration<'static> {
    let identity = PackageIdentity {
        version: format!("1.{seed}").parse().expect("a version"),
        node: NodeId::from_bytes([seed; 32]),
        tree: TreeId::from_bytes([seed; 32]),
    };
    NewGeneration {
        created: time(i64::from(seed)),
        platform: Platform::X86_64Linux,
        foreign: false,
        tree: TreeId::from_bytes([seed; 32]),
        root: RootId::from_bytes([seed; 32]),
        inputs_digest: InputsDigest::from_bytes([seed; 32]),
        catalogue: "2026-12".to_owned(),
        selection: BTreeSet::from([name("libtorch")]),
        packages: BTreeMap::from([(name("zluda"), identity)]),
        realised: Some(format!("{seed}-env")),
        hosts: BTreeMap::from([(name("hip-sdk"), "/opt/rocm".to_owned())]),
        machine: BTreeMap::from([("os".to_owned(), "linux".to_owned())]),
        manifest: manifest.as_bytes(),
        lock: b"lock\n",
        inputs: BTreeMap::from([(
            "catalogues/team.kdl".parse().expect("a path"),
            format!("{manifest} team").into_bytes(),
        )]),
        plans: BTreeMap::from([(name("hello"), b"{}".to_vec())]),
        roots: Vec::new(),
    }
}

impl Fixture {
    fn build(&self, seed: u8) -> u64 {
        match record_with(&self.place, &new_generation(seed, "one"), "roots\n").expect("recorded") {
            Recorded::Made(made) => made.number,
            Recorded::AlreadyBuilt(there) => panic!("generation {} was there", there.number),
        }
    }

    fn rollback(&self, target: Option<u64>) -> Result<RolledBack, GenerationError> {
        rollback_in(&self.place, target, time(100))
    }

    fn current(&self) -> Option<u64> {
        self.generations.current_number().expect("readable")
    }

    fn file(&self, path: &str) -> PathBuf {
        self.place.0.join(path)
    }
}

#[test]
fn a_build_is_recorded_with_all_that_it_came_from() {
    let fixture = fixture();
    assert_eq!(fixture.generations.standing().expect("readable"), Standing::Nothing);
    assert_eq!(fixture.build(1), 1);
    let generations = &fixture.generations;
    let made = generations.current().expect("readable").expect("current");
    assert_eq!((made.number, made.parent), (1, None));
    assert_eq!(made.created.to_string(), "1970-01-01T00:00:01Z");
    assert_eq!(made.packages[&name("zluda")].version.as_str(), "1.1");
    assert_eq!(generations.manifest(&made).expect("kept"), b"one");
    assert_eq!(generations.lock(&made).expect("kept"), b"lock\n");
    assert_eq!(made.lock_digest(), Some(super::record::digest(b"lock\n")));
    assert_eq!(generations.plan(&made, &name("hello")).expect("kept"), Some(b"{}".to_vec()));
    assert_eq!(generations.plan(&made, &name("other")).expect("no error"), None);
    let inputs = generations.inputs(&made).expect("kept");
    assert_eq!(inputs["catalogues/team.kdl"], b"one team");
    assert_eq!(fs::read(fixture.file("1/roots")).expect("kept"), b"roots\n");
    assert_eq!(fs::read_to_string(fixture.file("current")).expect("kept"), "1\n");
    assert_eq!(generations.standing().expect("readable"), Standing::Built { to: 1 });
}

#[test]
fn the_same_build_makes_no_second_generation() {
    let fixture = fixture();
    fixture.build(1);
    let mut again = new_generation(1, "one");
    again.created = time(50);
    again.machine.insert("driver".to_owned(), "newer".to_owned());
    let found = record_with(&fixture.place, &again, "roots\n").expect("no error");
    assert!(matches!(found, Recorded::AlreadyBuilt(there) if there.number == 1));
    assert_eq!(fixture.generations.history().expect("readable").len(), 1);
    for change in [
        |new: &mut NewGeneration<'_>| new.tree = TreeId::from_bytes([9; 32]),
        |new: &mut NewGeneration<'_>| new.lock = b"another lock\n",
        |new: &mut NewGeneration<'_>| new.manifest = b"another",
        |new: &mut NewGeneration<'_>| new.selection.clear(),
        |new: &mut NewGeneration<'_>| new.plans.clear(),
        |new: &mut NewGeneration<'_>| new.hosts.clear(),
    ] {
        let mut other = new_generation(1, "one");
        change(&mut other);
        let made = record_with(&fixture.place, &other, "roots\n").expect("no error");
        assert!(matches!(made, Recorded::Made(_)));
        fixture.rollback(Some(1)).expect("there");
    }
}

#[test]
fn going_back_is_to_the_parent_and_says_so_and_stays() {
    let fixture = fixture();
    fixture.build(1);
    fixture.build(2);
    fixture.build(3);
    assert_eq!(fixture.rollback(None).expect("a parent"), RolledBack { from: Some(3), to: 2 });
    let standing = fixture.generations.standing().expect("readable");
    assert_eq!(standing, Standing::RolledBack { from: Some(3), to: 2 });
    // A build from there has it as parent, whatever the numbers say.
    assert_eq!(fixture.build(4), 4);
    assert_eq!(fixture.rollback(None).expect("a parent").to, 2);
    assert_eq!(fixture.rollback(None).expect("a parent").to, 1);
    let error = fixture.rollback(None).expect_err("no parent");
    assert!(matches!(error, GenerationError::NoParent { current: 1, .. }));
    assert!(error.to_string().ends_with("; there are 1, 2, 3 and 4"), "{error}");
    assert_eq!(fixture.rollback(Some(4)).expect("there").to, 4);
    assert!(!fixture.rollback(Some(4)).expect("there").is_change());
    let error = fixture.rollback(Some(9)).expect_err("unknown");
    assert_eq!(error.to_string(), "there is no generation 9; there are 1, 2, 3 and 4");
    assert_eq!(fixture.current(), Some(4));
    let actions: Vec<Action> =
        fixture.generations.history().expect("readable").iter().map(|o| o.action).collect();
    assert_eq!(actions[3], Action::Rollback { from: Some(3), to: 2 });
    assert_eq!(actions[4], Action::Build { from: Some(2), to: 4 });
    assert_eq!(actions.len(), 8);
}

#[test]
fn with_nothing_built_there_is_nothing_to_go_back_to() {
    let fixture = fixture();
    assert!(matches!(fixture.rollback(None), Err(GenerationError::None { .. })));
    assert!(matches!(fixture.rollback(Some(1)), Err(GenerationError::Unknown { .. })));
    let nowhere = Generations::open(&fixture.file("nowhere"));
    assert_eq!(nowhere.numbers().expect("none"), Vec::<u64>::new());
    assert!(nowhere.current().expect("none").is_none());
}

#[test]
fn numbers_are_used_once_even_after_the_last_was_removed() {
    let fixture = fixture();
    fixture.build(1);
    fixture.build(2);
    let remove = |number| remove_in(&fixture.place, number, time(60));
    assert!(matches!(remove(2), Err(GenerationError::RemoveCurrent { number: 2 })));
    fixture.rollback(None).expect("a parent");
    remove(2).expect("removed");
    assert!(matches!(remove(2), Err(GenerationError::Unknown { number: 2, .. })));
    assert_eq!(fixture.generations.numbers().expect("readable"), [1]);
    assert_eq!(fixture.build(3), 3);
    remove(1).expect("removed");
    let error = fixture.rollback(None).expect_err("its parent is gone");
    assert!(matches!(error, GenerationError::ParentRemoved { current: 3, parent: 1, .. }));
}

#[test]
fn a_damaged_generation_is_named_and_the_others_can_be_used() {
    let fixture = fixture();
    for seed in 1..=3 {
        fixture.build(seed);
    }
    let record = fixture.file("2/generation.json");
    let good = fs::read_to_string(&record).expect("there");
    for bad in ["", "{", "[]", "{\"format\": 1}", "\0\0\0\0", &good[..good.len() / 2]] {
        fs::write(&record, bad).expect("written");
        let error = fixture.generations.get(2).expect_err("damaged");
        assert!(matches!(error, GenerationError::Damaged { number: 2, .. }), "{bad:?}: {error}");
    }
    fs::write(&record, good.replace("\"number\": 2", "\"number\": 3")).expect("written");
    assert!(matches!(fixture.generations.get(2), Err(GenerationError::Damaged { .. })));
    assert!(matches!(fixture.rollback(None), Err(GenerationError::Damaged { .. })));
    assert_eq!(fixture.current(), Some(3));
    let list = fixture.generations.list().expect("listed");
    let readable: Vec<bool> = list.iter().map(|listed| listed.generation.is_ok()).collect();
    assert_eq!(readable, [true, false, true]);
    fs::write(&record, good.replace("\"format\": 2", "\"format\": 3")).expect("written");
    let error = fixture.generations.get(2).expect_err("newer");
    assert!(matches!(error, GenerationError::Newer { number: 2, format: 3 }));
    let (open, _) = good.rsplit_once(",\n  \"seal\"").expect("a seal");
    let first = format!("{}\n}}\n", open.replace("\"format\": 2", "\"format\": 1"));
    fs::write(&record, first).expect("written");
    assert_eq!(fixture.generations.get(2).expect("one of the first format").number, 2);
    fs::remove_file(&record).expect("removed");
    assert!(matches!(fixture.generations.get(2), Err(GenerationError::Damaged { .. })));
    fs::write(fixture.file("3/lock.kdl"), "changed").expect("written");
    let third = fixture.generations.get(3).expect("its record is whole");
    let error = fixture.generations.lock(&third).expect_err("damaged");
    assert!(error.to_string().contains("was changed since it was written"), "{error}");
    assert_eq!(fixture.rollback(Some(1)).expect("there").to, 1);
    // A damaged current one does not keep a build from being recorded.
    fs::write(fixture.file("1/generation.json"), "").expect("written");
    assert_eq!(fixture.build(5), 4);
}

#[test]
fn a_damaged_current_is_set_right_by_naming_a_generation() {
    let fixture = fixture();
    fixture.build(1);
    for bad in ["", "1", "x\n", "01\n", "-1\n", "0\n", "99999999999999999999999\n"] {
        fs::write(fixture.file("current"), bad).expect("written");
        let error = fixture.generations.current().expect_err("damaged");
        assert!(matches!(error, GenerationError::DamagedCurrent { .. }), "{bad:?}");
    }
    assert!(fixture.rollback(None).is_err());
    assert_eq!(fixture.rollback(Some(1)).expect("there"), RolledBack { from: None, to: 1 });
    assert_eq!(fixture.current(), Some(1));
}

#[test]
fn a_crash_at_any_step_leaves_whole_generations_only() {
    let fixture = fixture();
    fixture.build(1);
    fixture.build(2);
    // While it was staged: no reader sees it, the next build clears it away and takes its number.
    fs::create_dir_all(fixture.file("3.tmp-new/plans")).expect("made");
    fs::write(fixture.file("3.tmp-new/lock.kdl"), "half").expect("written");
    fs::create_dir_all(fixture.file("1.tmp-removed")).expect("made");
    assert_eq!(fixture.generations.numbers().expect("readable"), [1, 2]);
    assert_eq!(fixture.build(3), 3);
    assert!(!fixture.file("1.tmp-removed").exists());
    // After its name, before its history: it is there, not current, and keeps its number.
    let history = fs::read(fixture.file("history")).expect("there");
    fs::write(fixture.file("current"), "2\n").expect("written");
    let without_last = history[..history.len() - 1].iter().rposition(|&b| b == b'\n').expect("two");
    fs::write(fixture.file("history"), &history[..=without_last]).expect("written");
    assert_eq!(fixture.current(), Some(2));
    assert_eq!(fixture.build(4), 4);
    // In the middle of a line of history: it was not said; the next line does not hang on to it.
    let mut torn = fs::read(fixture.file("history")).expect("there");
    torn.extend_from_slice(b"{\"format\":1,\"time\":\"20");
    fs::write(fixture.file("history"), &torn).expect("written");
    let before = fixture.generations.history().expect("readable").len();
    fixture.rollback(None).expect("a parent");
    assert_eq!(fixture.generations.history().expect("readable").len(), before + 1);
    // After its history, before `current`: what is current is what `current` says.
    fs::write(fixture.file("current"), "4\n").expect("written");
    assert_eq!(fixture.generations.standing().expect("readable"), Standing::Built { to: 4 });
}

#[test]
fn a_damaged_line_of_history_is_named() {
    let fixture = fixture();
    fixture.build(1);
    let good = fs::read_to_string(fixture.file("history")).expect("there");
    fs::write(fixture.file("history"), format!("{good}garbage\n{good}")).expect("written");
    let error = fixture.generations.history().expect_err("damaged");
    assert!(matches!(error, GenerationError::DamagedHistory { line: 2, .. }), "{error}");
    let newer = good.replace("\"format\":1", "\"format\":2");
    fs::write(fixture.file("history"), newer).expect("written");
    let error = fixture.generations.history().expect_err("newer");
    assert!(error.to_string().contains("a newer drystone"), "{error}");
}

#[test]
fn readers_beside_a_writer_always_see_a_whole_current_generation() {
    let fixture = fixture();
    fixture.build(1);
    std::thread::scope(|scope| {
        // The reader ends when this is dropped, also where a build panics.
        let (_reading, stop) = std::sync::mpsc::channel::<()>();
        scope.spawn(|| {
            let stop = stop;
            while stop.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
                let current = fixture.generations.current().expect("readable").expect("one");
                fixture.generations.lock(&current).expect("whole");
                fixture.generations.history().expect("whole lines");
            }
        });
        for seed in 2..20 {
            fixture.build(seed);
        }
    });
}

#[test]
fn restoring_writes_manifest_inputs_and_lock_and_loses_nothing() {
    let fixture = fixture();
    let project = tempfile::tempdir().expect("a directory");
    let at = |path: &str| project.path().join(path);
    fixture.build(1);
    record_with(&fixture.place, &new_generation(2, "two"), "").expect("recorded");
    let first = fixture.generations.get(1).expect("there");
    let second = fixture.generations.get(2).expect("there");
    let restore = |generation: &Generation, force| {
        restore_files(&fixture.generations, generation, project.path(), &name("cuda"), force)
    };
    let restored = restore(&second, false).expect("an empty project");
    let expected = [at("catalogues/team.kdl"), at("env.kdl"), at("lockfiles/cuda.lock.kdl")];
    assert_eq!(restored.written, expected);
    assert_eq!(fs::read(at("env.kdl")).expect("written"), b"two");
    // What a generation holds may go without a word, also as a CRLF checkout.
    fs::write(at("lockfiles/cuda.lock.kdl"), "lock\r\n").expect("written");
    let restored = restore(&first, false).expect("all of it is kept by generation 2");
    assert_eq!(restored.written, [at("catalogues/team.kdl"), at("env.kdl")]);
    assert_eq!(fs::read(at("lockfiles/cuda.lock.kdl")).expect("there"), b"lock\r\n");
    // What none holds stays, unless forced, and is kept aside then.
    fs::write(at("env.kdl"), "new work").expect("written");
    let error = restore(&second, false).expect_err("unsaved");
    assert!(
        matches!(&error, GenerationError::Unsaved { files } if files == &[Path::new("env.kdl")])
    );
    assert_eq!(fs::read(at("catalogues/team.kdl")).expect("there"), b"one team");
    let restored = restore(&second, true).expect("forced");
    assert_eq!(restored.kept, [at("env.kdl.before-rollback")]);
    assert_eq!(fs::read(at("env.kdl.before-rollback")).expect("kept"), b"new work");
    assert_eq!(fs::read(at("env.kdl")).expect("written"), b"two");
    fs::write(at("env.kdl"), "more work").expect("written");
    let restored = restore(&second, true).expect("forced");
    assert_eq!(restored.kept, [at("env.kdl.before-rollback-2")]);
}

#[cfg(unix)]
#[test]
fn restoring_never_writes_through_a_link_out_of_the_project() {
    let fixture = fixture();
    let base = tempfile::tempdir().expect("a directory");
    let (project, outside) = (base.path().join("project"), base.path().join("outside"));
    fs::create_dir(&project).expect("made");
    fs::create_dir(&outside).expect("made");
    fixture.build(1);
    let first = fixture.generations.get(1).expect("there");
    let link = project.join("catalogues");
    std::os::unix::fs::symlink(&outside, &link).expect("linked");
    let restore =
        || restore_files(&fixture.generations, &first, &project, &name("cuda"), true).err();
    assert!(matches!(restore(), Some(GenerationError::Outside { .. })));
    assert_eq!(fs::read_dir(&outside).expect("there").count(), 0);
    assert!(!project.join("env.kdl").exists(), "nothing else was written either");
    fs::remove_file(&link).expect("removed");
    fs::create_dir(project.join("real")).expect("made");
    std::os::unix::fs::symlink("real", &link).expect("linked");
    assert!(restore().is_none(), "a link that stays inside is followed");
    assert!(project.join("real/team.kdl").is_file());
}

/// Replaces nothing: what a crash before the last step leaves.
struct Failing<'a>(&'a Path);

impl Place for Failing<'_> {
    fn path(&self) -> &Path {
        self.0
    }

    fn replace(&self, name: &str, _: &[u8]) -> Result<(), GenerationError> {
        let source = std::io::Error::from(std::io::ErrorKind::StorageFull);
        Err(GenerationError::Io { step: "replace", path: self.0.join(name), source })
    }
}

#[test]
fn where_the_switch_fails_what_was_current_stays_so() {
    let fixture = fixture();
    fixture.build(1);
    fixture.build(2);
    let failing = Failing(&fixture.place.0);
    let new = new_generation(3, "three");
    assert!(record_with(&failing, &new, "").is_err());
    assert_eq!(fixture.current(), Some(2));
    assert!(fixture.generations.get(3).is_ok(), "whole, though not current");
    assert!(rollback_in(&failing, None, time(9)).is_err());
    assert_eq!(fixture.current(), Some(2));
    assert_eq!(fixture.generations.standing().expect("readable"), Standing::Built { to: 2 });
    let again = record_with(&fixture.place, &new, "").expect("recorded");
    assert!(matches!(again, Recorded::Made(made) if made.number == 4 && made.parent == Some(2)));
}

/// Whose disk cannot be waited for.
struct Unsettled<'a>(&'a Path);

impl Place for Unsettled<'_> {
    fn path(&self) -> &Path {
        self.0
    }

    fn replace(&self, name: &str, _: &[u8]) -> Result<(), GenerationError> {
        panic!("{name} is replaced")
    }

    fn settle(&self) -> Result<(), GenerationError> {
        let source = std::io::Error::other("the disk failed");
        Err(GenerationError::Io { step: "write to the disk", path: self.0.to_path_buf(), source })
    }
}

#[test]
fn no_generation_is_written_before_what_it_rests_on_is_on_the_disk() {
    let fixture = fixture();
    let unsettled = Unsettled(&fixture.place.0);
    assert!(record_with(&unsettled, &new_generation(1, "one"), "").is_err());
    assert!(fixture.generations.numbers().expect("readable").is_empty());
}

#[test]
fn the_formats_of_record_and_history_are_these() {
    let fixture = fixture();
    fixture.build(1);
    fixture.build(2);
    fixture.rollback(None).expect("a parent");
    remove_in(&fixture.place, 2, time(101)).expect("removed");
    let history = fs::read_to_string(fixture.file("history")).expect("there");
    insta::assert_snapshot!(history, @r#"
    {"format":1,"time":"1970-01-01T00:00:01Z","operation":"build","from":null,"to":1}
    {"format":1,"time":"1970-01-01T00:00:02Z","operation":"build","from":1,"to":2}
    {"format":1,"time":"1970-01-01T00:01:40Z","operation":"rollback","from":2,"to":1}
    {"format":1,"time":"1970-01-01T00:01:41Z","operation":"remove","generation":2}
    "#);
    let record = fs::read_to_string(fixture.file("1/generation.json")).expect("there");
    let (_, seal) = record.rsplit_once("blake3:").expect("a seal");
    let record = record.replace(&seal[..64], "<of this text>");
    let record = record.replace(env!("CARGO_PKG_VERSION"), "<version>");
    let record = record.replace(&TreeId::from_bytes([1; 32]).to_string(), "<digest>");
    insta::assert_snapshot!(record, @r#"
    {
      "format": 2,
      "number": 1,
      "parent": null,
      "created": "1970-01-01T00:00:01Z",
      "drystone": "<version>",
      "platform": "x86_64-linux",
      "foreign": false,
      "tree": "<digest>",
      "root": "<digest>",
      "inputs": "<digest>",
      "catalogue": "2026-12",
      "selection": [
        "libtorch"
      ],
      "packages": {
        "zluda": {
          "version": "1.1",
          "node": "<digest>",
          "tree": "<digest>"
        }
      },
      "realised": "1-env",
      "hosts": {
        "hip-sdk": "/opt/rocm"
      },
      "machine": {
        "os": "linux"
      },
      "files": {
        "inputs/catalogues/team.kdl": "blake3:3de24ccd8ebcf260d9ecb80cdbc14bf6f72718590f948c7c3e99d9a7549f36b2",
        "lock.kdl": "blake3:df1992e70e1b83abb316f1602e82c031481e1d1bcfe4b38187530b840d37beef",
        "manifest.kdl": "blake3:d33fb48ab5adff269ae172b29a6913ff04f6f266207a7a8e976f2ecd571d4492",
        "plans/hello.json": "blake3:6e46dd10defc9b56c29a6ec56b508c21f54c08192194e4df25bf36f0c9c3c279",
        "roots": "blake3:27fbcf642329f3fe2affdb929e65cd8dde60003b439c2dc43b50893f79098df8"
      },
      "seal": "blake3:<of this text>"
    }
    "#);
}

#[test]
fn an_examination_names_what_is_missing_strange_or_changed() {
    let fixture = fixture();
    fixture.build(1);
    fixture.build(2);
    let wrong = || {
        let found = fixture.generations.examine().wrong;
        found.into_iter().map(|finding| finding.what).collect::<Vec<_>>().join("|")
    };
    assert_eq!(wrong(), "");
    let current = fixture.file("current");
    fs::write(&current, "7\n").expect("written");
    assert_eq!(wrong(), "it names generation 7, which is not there");
    fs::remove_file(&current).expect("removed");
    assert_eq!(wrong(), "it is missing");
    fs::write(&current, "2\n").expect("written");
    fs::write(fixture.file("1/plans/other.json"), "{}").expect("written");
    fs::create_dir(fixture.file("3.tmp-new")).expect("one being written");
    assert_eq!(wrong(), "it is not a file of the store");
    fs::remove_file(fixture.file("1/plans/other.json")).expect("removed");
    fs::write(fixture.file("1/lock.kdl"), "another").expect("written");
    assert!(wrong().contains("generation 1 is damaged"), "{}", wrong());
}
