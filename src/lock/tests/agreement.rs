//! Locks against their inputs, the lock before them, and their file.

use std::fs;

use super::super::{Saved, changes, check, load, lock_path, missing_hashes, save};
use super::*;
use crate::model::{Sha256Digest, TreeId};
use crate::resolve::sample::{package_version, range};

#[test]
fn hashes_that_nobody_publishes_are_asked_for_once() {
    let mut version = package_version("1", &[]);
    version.sources[0].sha256 = None;
    version.sources[0].size = None;
    let shelf = Shelf::default().package("a", vec![version]);
    let environment = crate::resolve::sample::environment(&["use a 1"]);
    let graphs = graphs(&shelf, &environment);
    let missing = missing_hashes(&graphs[0], None);
    assert_eq!(missing.len(), 1);
    let none = RecordedHashes::new();
    let ingredients = |recorded| Ingredients {
        environment: &environment,
        applications: &[],
        graphs: &graphs,
        inputs: inputs("a"),
        contents: false,
        old: None,
        recorded,
    };
    assert!(matches!(Lock::make(&ingredients(&none)), Err(LockError::NoHash { .. })));
    let hash = (Sha256Digest::from_bytes([3; 32]), 42);
    let recorded = RecordedHashes::from([((name("a"), WINDOWS), hash)]);
    let lock = Lock::make(&ingredients(&recorded)).expect("a lock");
    assert_eq!(missing_hashes(&graphs[0], Some(&lock)).len(), 0);
    let again = Ingredients { old: Some(&lock), ..ingredients(&none) };
    assert_eq!(write(&Lock::make(&again).expect("a lock")), write(&lock));
    assert_eq!(lock.platforms[&WINDOWS].packages[&name("a")].size, Some(42));
}

#[test]
fn contents_stay_and_trees_are_kept_while_the_unpack_key_is_the_same() {
    let (mut shelf, environment) = sample();
    let mut old = make(&shelf, &environment, None);
    old.contents = true;
    let tree = TreeId::from_bytes([5; 32]);
    let trees = old.missing_trees().iter().map(|(_, one)| (one.unpack_key, tree)).collect();
    old.record_trees(&trees);
    let again = make(&shelf, &environment, Some(&old));
    assert_eq!(write(&again), write(&old));
    let zluda = &mut shelf.packages.get_mut(&name("zluda")).expect("zluda").versions[0];
    zluda.sources[0].options.strip = 3;
    let changed = make(&shelf, &environment, Some(&old));
    assert!(changed.contents);
    let missing: Vec<_> =
        changed.missing_trees().iter().map(|(_, one)| one.name.as_str()).collect();
    assert_eq!(missing, ["zluda", "zluda"]);
}

#[test]
fn a_lock_and_its_inputs_agree_or_say_how_they_do_not() {
    let lock = golden();
    let lines = |change: &dyn Fn(&mut Environment, &mut Vec<Application>), digest: &str| {
        let (_, mut environment) = sample();
        let mut applications = vec![application()];
        change(&mut environment, &mut applications);
        let applications: Vec<&Application> = applications.iter().collect();
        match check(&lock, &inputs(digest), &environment, &applications) {
            Ok(()) => String::new(),
            Err(found) => found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        }
    };
    assert_eq!(lines(&|_, _| {}, "env.kdl"), "");
    assert_eq!(
        lines(&|_, _| {}, "other"),
        "the manifest, its includes or local catalogues have changed since the lock was made"
    );
    let all = lines(
        &|environment, applications| {
            environment.platforms = [WINDOWS, crate::model::Platform::Aarch64Linux].into();
            environment.uses[0].range = range(">=7");
            environment.uses[1].optional = false;
            environment.uses.push(crate::manifest::Use {
                package: name("other"),
                range: range("1"),
                optional: false,
                platform: None,
            });
            environment.hosts[0].range = range("7.*");
            environment.gpus.clear();
            let mut added = application();
            added.name = name("added");
            applications[0].keep_runs = None;
            applications.push(added);
        },
        "other",
    );
    insta::assert_snapshot!(all, @r#"
    the environment is for aarch64-linux, which the lock does not have
    x86_64-windows: "libtorch" is not optional in the environment and optional in the lock
    x86_64-windows: the environment uses "other" 1, which the lock does not have
    x86_64-windows: the environment uses "zluda" >=7, the lock has 6-preview.69
    x86_64-windows: the environment declares host "hip-sdk" 7.*, the lock has 6.4.*, >=6, <8
    x86_64-windows: the variables, GPU targets or overrides of the environment have changed
    x86_64-windows: application "added" is not in the lock
    x86_64-windows: application "cuda-check" has changed
    the lock has x86_64-linux, which the environment is not for
    "#);
    let gone = lines(
        &|environment, applications| {
            environment.platforms = [WINDOWS].into();
            environment.uses.clear();
            environment.hosts.clear();
            applications.clear();
        },
        "other",
    );
    insta::assert_snapshot!(gone, @r#"
    x86_64-windows: the lock has "libtorch" as used by the environment, which uses it no more
    x86_64-windows: the lock has "zluda" as used by the environment, which uses it no more
    x86_64-windows: the lock has host "hip-sdk", which the environment does not declare
    x86_64-windows: the lock has application "cuda-check", which the manifest does not have
    the lock has x86_64-linux, which the environment is not for
    "#);
}

#[test]
fn changes_between_two_locks_are_listed() {
    let (mut shelf, mut environment) = sample();
    let old = make(&shelf, &environment, None);
    assert_eq!(changes(&old, &old), []);
    environment.platforms = [WINDOWS].into();
    environment.gpus.clear();
    let zluda = shelf.packages.get_mut(&name("zluda")).expect("zluda");
    zluda.versions[0].sources[0].sha256 = Some(Sha256Digest::from_bytes([0; 32]));
    shelf = shelf.package("new", vec![package_version("1", &[])]);
    let cudnn = shelf.packages.get_mut(&name("cudnn")).expect("cudnn");
    cudnn.versions.insert(1, package_version("8.10", &["requires new *"]));
    let new = make(&shelf, &environment, None);
    let lines: Vec<_> = changes(&old, &new).iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    x86_64-linux: removed
    x86_64-windows: "cudnn" 8.9 → 8.10
    x86_64-windows: "new" 1 added
    x86_64-windows: "zluda" 6-preview.69 has another archive: sha256:74d4dfb0b8ba8123d444da62feb64305238f46cc19f559390c14d7ca0ed207de → sha256:0000000000000000000000000000000000000000000000000000000000000000
    x86_64-windows: variables, GPU targets or overrides changed
    "#);
}

#[test]
fn the_versions_of_a_lock_are_what_resolving_again_favours() {
    let (mut shelf, mut environment) = sample();
    environment.uses[1].range = range("*");
    let old = make(&shelf, &environment, None);
    shelf = shelf.package("cudnn", vec![package_version("8.9", &[]), package_version("8.10", &[])]);
    let version = |favoured| {
        let graph = resolve(&environment, WINDOWS, shelf.available(), &favoured).expect("a graph");
        let cudnn = graph.packages().find(|one| *one.name == name("cudnn")).expect("cudnn");
        cudnn.version.version.to_string()
    };
    assert_eq!(version(old.versions(WINDOWS)), "8.9");
    assert_eq!(version(BTreeMap::new()), "8.10");
}

#[test]
fn a_lock_answers_who_needs_what() {
    let lock = golden();
    let section = &lock.platforms[&WINDOWS];
    assert_eq!(section.dependents(&name("zluda")), [&name("libtorch")]);
    let paths = |of: &str| -> Vec<String> {
        let joined = |path: &Vec<_>| {
            path.iter().map(|one: &crate::model::Name| one.as_str()).collect::<Vec<_>>().join(" → ")
        };
        section.paths_to(&name(of)).iter().map(joined).collect()
    };
    assert_eq!(paths("cudnn"), ["libtorch → cudnn"]);
    assert_eq!(paths("hip-sdk"), ["hip-sdk", "libtorch → zluda → hip-sdk", "zluda → hip-sdk"]);
    assert_eq!(paths("absent"), [""; 0]);
}

#[test]
fn a_build_takes_what_is_not_optional_and_what_is_asked_for_with_its_needs() {
    let lock = golden();
    let selected = |with: &[&str]| -> Vec<String> {
        let with = with.iter().map(|text| name(text)).collect();
        lock.platforms[&WINDOWS].selected(&with).iter().map(ToString::to_string).collect()
    };
    assert_eq!(selected(&[]), ["zluda"]);
    assert_eq!(selected(&["libtorch"]), ["cudnn", "libtorch", "zluda"]);
    assert_eq!(selected(&["absent", "hip-sdk"]), ["zluda"]);
}

#[test]
fn saving_writes_once_and_leaves_equal_files_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = lock_path(directory.path(), &name("team"));
    assert!(path.ends_with("lockfiles/team.lock.kdl"));
    let lock = golden();
    assert!(load(&path).expect("no file").is_none());
    assert_eq!(save(&path, &lock).expect("saved"), Saved::Written);
    assert_eq!(save(&path, &lock).expect("saved"), Saved::Unchanged);
    let crlf = write(&lock).replace('\n', "\r\n");
    fs::write(&path, &crlf).expect("written");
    assert_eq!(save(&path, &lock).expect("saved"), Saved::Unchanged);
    assert_eq!(fs::read_to_string(&path).expect("read"), crlf);
    assert_eq!(load(&path).expect("loads"), Some(lock.clone()));
    fs::write(&path, "old").expect("written");
    assert_eq!(save(&path, &lock).expect("saved"), Saved::Written);
    assert_eq!(fs::read_dir(path.parent().expect("parent")).expect("list").count(), 1);
    fs::write(&path, [0xff, 0xfe]).expect("written");
    assert!(matches!(load(&path), Err(LockError::Encoding { .. })));
}
