//! Locks: their text, what they refuse, how they agree with their inputs.

use std::collections::BTreeMap;
use std::fs;

use miette::Diagnostic;
use proptest::prelude::*;

use super::{
    Ingredients, Lock, LockError, RecordedHashes, Saved, changes, check, load, lock_path,
    missing_hashes, read, save, write,
};
use crate::manifest::{
    Application, Check, Environment, Launch, Overlay, Program, SourceUrl, Variable, VariableAction,
    WorkingDirectory,
};
use crate::model::{InputsDigest, Rename, Sha256Digest, TreeId, UnpackOptions};
use crate::resolve::sample::{LINUX, Shelf, WINDOWS, name, package_version, range, stack, version};
use crate::resolve::{Graph, resolve};

fn inputs(text: &str) -> InputsDigest {
    InputsDigest::from_bytes(*blake3::hash(text.as_bytes()).as_bytes())
}

fn variable(name: &str, action: VariableAction) -> Variable {
    Variable { name: name.to_owned(), action, platform: None }
}

fn application() -> Application {
    Application {
        name: name("cuda-check"),
        about: Some("tells whether the driver loads".to_owned()),
        environment: name("team"),
        programs: vec![Program {
            path: "zluda/cuda_check.exe".parse().expect("a path"),
            arguments: vec!["--all".to_owned()],
            platform: Some(WINDOWS),
        }],
        files: None,
        overlays: vec![Overlay { package: name("zluda"), into: None }],
        launch: Some(Launch {
            program: "zluda/zluda.exe".parse().expect("a path"),
            arguments: vec!["--".to_owned()],
        }),
        variables: vec![variable("A", VariableAction::Set("1".to_owned()))],
        writable: vec!["*.ini".parse().expect("a pattern")],
        working_directory: WorkingDirectory::App,
        keep_runs: Some(2),
        checks: vec![Check {
            name: name("loads"),
            expect_output: Some("OK".to_owned()),
            expect_status: Some(0),
            timeout: Some(std::time::Duration::from_secs(60)),
        }],
    }
}

/// The stack for two platforms, with options of every kind.
fn sample() -> (Shelf, Environment) {
    let (mut shelf, mut environment) = stack();
    environment.platforms = [LINUX, WINDOWS].into();
    environment.gpus = ["gfx1200".to_owned()].into();
    environment.variables = vec![
        variable("HIP_PATH", VariableAction::Set("{host.hip-sdk}".to_owned())),
        variable("PATH", VariableAction::Prepend("{host.hip-sdk}/bin".to_owned())),
    ];
    let zluda = &mut shelf.packages.get_mut(&name("zluda")).expect("zluda").versions[0];
    zluda.overlay =
        vec!["nvml.dll".parse().expect("a path"), "nvcuda.dll".parse().expect("a path")];
    zluda.sources[0].urls = vec![
        SourceUrl::Web("https://example.org/zluda.zip".parse().expect("a URL")),
        SourceUrl::File("archives/\"zluda\" ü.zip".to_owned()),
    ];
    zluda.sources[0].options = UnpackOptions {
        format: Some(crate::model::ArchiveFormat::Zip),
        strip: 1,
        include: vec!["**/*.dll".parse().expect("a pattern")],
        exclude: vec!["doc/*".parse().expect("a pattern")],
        rename: vec![Rename {
            from: "a b".parse().expect("a path"),
            to: "c".parse().expect("a path"),
        }],
        executable: vec!["bin/*".parse().expect("a pattern")],
        encoding: Some("shift_jis".to_owned()),
        file_name: Some("x".parse().expect("a path")),
        max_unpacked: Some(1 << 40),
    };
    (shelf, environment)
}

fn graphs<'a>(shelf: &'a Shelf, environment: &Environment) -> Vec<Graph<'a>> {
    let of = |&platform| {
        resolve(environment, platform, shelf.available(), &BTreeMap::new()).expect("a graph")
    };
    environment.platforms.iter().map(of).collect()
}

fn make(shelf: &Shelf, environment: &Environment, old: Option<&Lock>) -> Lock {
    Lock::make(&Ingredients {
        environment,
        applications: &[&application()],
        graphs: &graphs(shelf, environment),
        inputs: inputs("env.kdl"),
        contents: false,
        old,
        recorded: &RecordedHashes::new(),
    })
    .expect("a lock")
}

fn golden() -> Lock {
    let (shelf, environment) = sample();
    make(&shelf, &environment, None)
}

/// One platform and one package of every kind of line: short enough to change it everywhere.
fn short() -> String {
    let (shelf, mut environment) = sample();
    environment.platforms = [WINDOWS].into();
    environment.uses.truncate(1);
    write(&make(&shelf, &environment, None))
}

fn refused(text: &str) -> String {
    match read(text, "team.lock.kdl") {
        Err(error) => error.to_string(),
        Ok(_) => panic!("accepted"),
    }
}

#[test]
fn the_text_of_a_lock_is_this() {
    insta::assert_snapshot!("golden", write(&golden()));
}

#[test]
fn a_lock_survives_its_text() {
    let mut lock = golden();
    assert_eq!(read(&write(&lock), "a").expect("a lock"), lock);
    lock.contents = true;
    let trees = lock.missing_trees().into_iter().map(|(_, package)| {
        (package.unpack_key, TreeId::from_bytes(*package.unpack_key.as_bytes()))
    });
    let trees = trees.collect();
    lock.record_trees(&trees);
    assert_eq!(lock.missing_trees(), []);
    assert_eq!(read(&write(&lock), "a").expect("a lock"), lock);
}

#[test]
fn crlf_and_a_byte_order_mark_change_nothing() {
    let text = write(&golden());
    let crlf = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    assert_eq!(read(&crlf, "a").expect("a lock"), golden());
}

#[test]
fn a_change_of_any_line_is_refused() {
    let text = short();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for at in 0..lines.len() {
        let without: String = lines
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != at)
            .map(|(_, line)| *line)
            .collect();
        assert!(read(&without, "a").is_err(), "without {}", lines[at]);
        let twice: String = lines[..=at].iter().chain(&lines[at..]).copied().collect();
        assert!(read(&twice, "a").is_err(), "twice {}", lines[at]);
        if at + 1 < lines.len() && lines[at] != lines[at + 1] {
            let mut swapped = lines.clone();
            swapped.swap(at, at + 1);
            assert!(read(&swapped.concat(), "a").is_err(), "swapped {}", lines[at]);
        }
        assert!(read(&lines[..at].concat(), "a").is_err(), "cut before {}", lines[at]);
    }
}

#[test]
fn a_change_of_any_character_is_refused() {
    let text = short();
    let positions: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    for (number, &at) in positions.iter().enumerate() {
        let next = text[at..].chars().next().map_or(at, |c| at + c.len_utf8());
        // One of these for each place keeps the test short; all of them come everywhere in turn.
        let other = ["", "0", "a", "\"", "{", "}", "\n", " ", "\\", "/", "\r", "é"][number % 12];
        if other != &text[at..next] {
            let changed = format!("{}{other}{}", &text[..at], &text[next..]);
            assert!(
                read(&changed, "a").is_err(),
                "{other:?} at {at}: {}",
                &text[at.saturating_sub(20)..next]
            );
        }
    }
}

#[test]
fn an_edit_is_refused_with_the_node_named() {
    let text = write(&golden());
    for (from, to) in [
        ("https://example.org/zluda.zip", "https://example.com/zluda.zip"),
        ("strip 1", "strip 2"),
        ("\"nvml.dll\"", "\"nvmm.dll\""),
        ("version \"6-preview.69\"", "version \"6-preview.70\""),
    ] {
        let message = refused(&text.replacen(from, to, 1));
        assert!(message.contains("package \"zluda\" of platform \"x86_64-linux\""), "{message}");
    }
    let message = refused(&text.replacen("6.4.*, >=6", "6.5.*, >=6", 1));
    assert!(message.contains("host \"hip-sdk\" of platform"), "{message}");
    let message = refused(&text.replacen("settings \"blake3:", "settings \"sha256:", 1));
    assert!(message.contains("platform \"x86_64-linux\""), "{message}");
    let message = refused(&text.replacen("contents #false", "contents #true", 1));
    assert!(message.contains("the header or the end"), "{message}");
}

#[test]
fn an_edit_that_is_sealed_again_is_still_refused_by_its_ids() {
    let mut lock = golden();
    let section = lock.platforms.get_mut(&WINDOWS).expect("windows");
    section.packages.get_mut(&name("zluda")).expect("zluda").overlay.clear();
    let message = refused(&write(&lock));
    assert!(message.contains("package \"zluda\" of platform \"x86_64-windows\""), "{message}");
    let mut lock = golden();
    let section = lock.platforms.get_mut(&WINDOWS).expect("windows");
    section.packages.remove(&name("cudnn"));
    let message = refused(&write(&lock));
    assert!(message.contains("depends on \"cudnn\""), "{message}");
    let mut lock = golden();
    lock.platforms.get_mut(&WINDOWS).expect("windows").applications.clear();
    let message = refused(&write(&lock));
    assert!(message.contains("its root"), "{message}");
}

#[test]
fn merges_newer_formats_and_hostile_text_are_told_apart() {
    let text = write(&golden());
    let merged = text.replacen("contents", "<<<<<<< HEAD\ncontents", 1);
    assert!(matches!(read(&merged, "a"), Err(LockError::BadlyMerged { line: 6, .. })));
    let newer = text.replacen("format 1", "format 2", 1);
    assert!(matches!(read(&newer, "a"), Err(LockError::Newer { found: 2, known: 1, .. })));
    let deep = format!("{}\nformat 1\n{}", super::write::FIRST_LINE, "a {".repeat(100_000));
    assert!(refused(&deep).contains("nested too deep"));
    let comments = format!("{}\nformat 1\n{}", super::write::FIRST_LINE, "/*".repeat(100_000));
    assert!(refused(&comments).contains("where no lock has it"));
    for text in ["", "\n", "\u{feff}", "format", "format 1", "\"", "format 99999999999999999999"] {
        refused(text);
    }
}

#[test]
fn every_complaint_says_what_to_do() {
    let error = read("", "a").expect_err("nothing");
    assert!(error.help().is_some_and(|help| help.to_string().contains("drystone lock")));
}

#[test]
fn ids_change_with_what_they_cover_and_with_nothing_else() {
    let base = golden();
    let root = |lock: &Lock| lock.platforms[&WINDOWS].root;
    let changed = |change: &dyn Fn(&mut Shelf, &mut Environment)| {
        let (mut shelf, mut environment) = sample();
        change(&mut shelf, &mut environment);
        root(&make(&shelf, &environment, None)) != root(&base)
    };
    fn zluda(shelf: &mut Shelf) -> &mut crate::manifest::PackageVersion {
        &mut shelf.packages.get_mut(&name("zluda")).expect("zluda").versions[0]
    }
    assert!(!changed(&|shelf, _| zluda(shelf).sources[0].urls.truncate(1)));
    assert!(!changed(&|shelf, _| zluda(shelf).overlay.reverse()));
    assert!(!changed(&|_, environment| environment.about = Some("x".to_owned())));
    assert!(!changed(&|_, environment| environment.uses.reverse()));
    assert!(changed(&|shelf, _| {
        zluda(shelf).overlay.pop();
    }));
    assert!(changed(&|shelf, _| zluda(shelf).sources[0].options.strip = 2));
    assert!(changed(&|shelf, _| zluda(shelf).provides[0].version = Some(version("13.1"))));
    assert!(changed(
        &|shelf, _| zluda(shelf).sources[0].into = Some(crate::manifest::Placement::Top)
    ));
    assert!(changed(&|_, environment| environment.variables.reverse()));
    assert!(changed(&|_, environment| environment.gpus.clear()));
    assert!(changed(&|_, environment| environment.hosts[0].range = range("6.*")));
}

#[test]
fn what_an_application_is_about_is_not_in_its_id() {
    let id = |change: &dyn Fn(&mut Application)| {
        let mut application = application();
        change(&mut application);
        super::application_id(&application, WINDOWS)
    };
    let base = id(&|_| {});
    assert_eq!(id(&|one| one.about = None), base);
    let changes: [&dyn Fn(&mut Application); 8] = [
        &|one| one.programs[0].arguments.clear(),
        &|one| one.launch = None,
        &|one| one.overlays[0].into = Some("lib".parse().expect("a path")),
        &|one| one.variables.clear(),
        &|one| one.writable.clear(),
        &|one| one.keep_runs = None,
        &|one| one.checks[0].timeout = None,
        &|one| one.working_directory = WorkingDirectory::Caller,
    ];
    for (at, change) in changes.iter().enumerate() {
        assert_ne!(id(*change), base, "change {at}");
    }
    assert_eq!(super::application_id(&application(), LINUX), None);
}

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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn order_of_writing_makes_no_difference(seed in any::<u64>()) {
        let (mut shelf, mut environment) = sample();
        let base = write(&make(&shelf, &environment, None));
        let turn = |length: usize| if length == 0 { 0 } else { (seed as usize) % length };
        let uses = environment.uses.len();
        environment.uses.rotate_left(turn(uses));
        if seed % 2 == 0 {
            environment.uses.reverse();
        }
        for version in shelf.packages.values_mut().flat_map(|package| &mut package.versions) {
            let (requires, overlay) = (version.requires.len(), version.overlay.len());
            version.requires.rotate_left(turn(requires));
            version.overlay.rotate_left(turn(overlay));
        }
        let mut graphs = graphs(&shelf, &environment);
        if seed % 3 == 0 {
            graphs.reverse();
        }
        let lock = Lock::make(&Ingredients {
            environment: &environment,
            applications: &[&application()],
            graphs: &graphs,
            inputs: inputs("env.kdl"),
            contents: false,
            old: None,
            recorded: &RecordedHashes::new(),
        });
        prop_assert_eq!(write(&lock.expect("a lock")), base);
    }

    #[test]
    fn no_text_of_the_words_of_locks_makes_the_reader_panic(body in "([a-z0-9#{}\" \n-]|platform \"|package \"){0,100}") {
        let text = format!("{}\nformat 1\n{body}", super::write::FIRST_LINE);
        prop_assert!(read(&text, "a").is_err());
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "(format 1\n)?[ -~\u{a0}-\u{ff}\n]{0,200}") {
        prop_assert!(read(&text, "a").is_err());
    }
}
