//! Real programs in runtime directories: what they are given, and what they leave.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use super::super::*;
use super::{World, application, name, overlay};
use crate::manifest::Launch;
use crate::model::Kind;

fn output(outcome: &RunOutcome, file: &str) -> String {
    let directory = outcome.directory.as_ref().expect("a directory that stayed");
    std::fs::read_to_string(directory.join("home").join(file)).expect(file)
}

#[test]
fn arguments_arrive_intact() {
    let (world, plan) =
        World::script(r#"for a in "$@"; do printf '%s\n' "[$a]"; done > "$HOME/out""#);
    let hard = ["two words", "", "\"quoted\" 'too'", "$HOME *", "日本語 é", "back\\slash", "-n"];
    let outcome = world.run(&plan, &hard, Keep::Newest).expect("a run");
    let wanted: Vec<String> = hard.iter().map(|argument| format!("[{argument}]\n")).collect();
    assert_eq!(output(&outcome, "out"), wanted.concat());
}

#[test]
fn exit_status_and_signal_pass_through() {
    let (world, plan) = World::script(r#"if [ "$1" = kill ]; then kill -9 $$; fi; exit "$1""#);
    for (argument, status) in [("0", 0), ("1", 1), ("77", 77), ("255", 255), ("kill", 137)] {
        assert_eq!(world.run(&plan, &[argument], Keep::Discard).expect("a run").status, status);
    }
    assert!(world.ids().is_empty(), "discarded directories stayed");
}

#[test]
fn the_program_sees_its_own_directories_and_only_declared_variables() {
    let (world, plan) =
        World::script(r#"env > "$HOME/env"; touch "$TMPDIR/x"; dirname "$0" > "$HOME/at""#);
    let outcome = world.run(&plan, &[], Keep::Newest).expect("a run");
    let directory = outcome.directory.clone().expect("a directory");
    let text = |part: &str| directory.join(part).to_str().expect("text").to_owned();
    let variables = output(&outcome, "env");
    assert!(variables.lines().any(|line| line == format!("HOME={}", text("home"))), "{variables}");
    assert!(!variables.contains("CARGO"), "{variables}");
    assert!(directory.join("tmp/x").exists());
    assert_eq!(output(&outcome, "at").trim(), text("app"));
    let mode = std::fs::metadata(&directory).expect("a directory").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn it_starts_where_the_person_is_or_in_app() {
    let (world, mut plan) = World::script(r#"pwd > "$HOME/pwd""#);
    let here = std::env::current_dir().expect("a directory");
    let outcome = world.run(&plan, &[], Keep::Newest).expect("a run");
    assert_eq!(output(&outcome, "pwd").trim(), here.to_str().expect("text"));
    plan.starts_in_app = true;
    let outcome = world.run(&plan, &[], Keep::Newest).expect("a run");
    assert!(output(&outcome, "pwd").trim().ends_with("/app"));
}

#[test]
fn a_launcher_gets_the_program_and_all_arguments_behind_its_own() {
    let mut world = World::new();
    world.add(Kind::Executable, "tool/tool", "#!/bin/sh\nexit 9\n");
    world.add(
        Kind::Executable,
        "wrap/start",
        "#!/bin/sh\nfor a in \"$@\"; do echo \"${a##*/}\"; done > \"$HOME/out\"\n",
    );
    let mut wrapped = application("tool/tool");
    wrapped.programs[0].arguments = vec!["declared".to_owned()];
    wrapped.launch =
        Some(Launch { program: super::path("wrap/start"), arguments: vec!["--".to_owned()] });
    let (plan, _) = world.plan(&wrapped, &[]).expect("a plan");
    let outcome = world.run(&plan, &["given"], Keep::Newest).expect("a run");
    assert_eq!(
        (outcome.status, output(&outcome, "out").as_str()),
        (0, "--\ntool\ndeclared\ngiven\n")
    );
}

#[test]
fn what_a_program_leaves_running_ends_with_the_run_and_is_told() {
    let left_behind = [
        ("sleep 600", "sleep"),
        ("(trap '' TERM; while :; do sleep 0.05; done)", "tool"),
        // It answers by starting another one, which nobody saw before.
        (r#"(trap 'tail -f /dev/null & trap "" TERM' TERM; while :; do sleep 0.05; done)"#, "tail"),
    ];
    for (left, name) in left_behind {
        let (world, plan) = World::script(&format!("{left} </dev/null >/dev/null 2>&1 & exit 3"));
        let outcome = world.run(&plan, &[], Keep::Newest).expect("a run");
        assert_eq!(outcome.status, 3, "the program's own status counts");
        let told = outcome.problems.concat();
        assert!(told.contains("ended with the run") && told.contains(name), "{told}");
        assert!(told.contains("--detach") && !told.contains("still running"), "{told}");
        assert!(!lease_is_held(&outcome.directory.expect("it stayed")).expect("a lease"));
        assert_eq!(list(&world.project()).expect("a list")[0].state, State::Finished);
    }
}

#[test]
fn a_program_that_leaves_nobody_is_not_waited_for() {
    let (world, plan) = World::script("(sleep 0.01) & wait; exit 0");
    let outcome = world.run(&plan, &[], Keep::Newest).expect("a run");
    assert_eq!((outcome.status, outcome.problems), (0, Vec::new()));
}

#[test]
fn the_lease_of_a_detached_run_lives_as_long_as_something_of_it() {
    // It waits for a file, so that the test decides when it ends.
    let (world, plan) = World::script(r#"echo said; while [ ! -e "$1" ]; do sleep 0.02; done"#);
    let end = world.directory.path().join("end");
    let argument = end.to_str().expect("text");
    let detached = world.detach(&plan, &[argument], Keep::Discard).expect("a run");
    let state = || list(&world.project()).expect("a list")[0].clone();
    assert_eq!((state().state, state().status), (State::Running, None));
    assert!(matches!(remove(&world.project(), &detached.id), Err(RuntimeError::InUse { .. })));
    let other = world.detach(&plan, &[argument], Keep::Newest).expect("another run");
    assert!(detached.directory.is_dir(), "a later run removes nobody's directory");
    std::fs::write(&end, b"").expect("the end");
    for directory in [&detached.directory, &other.directory] {
        while lease_is_held(directory).expect("a lease") {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    assert_eq!((state().state, state().status), (State::Finished, None), "nobody knows how");
    assert_eq!(std::fs::read_to_string(&other.output).expect("what it said"), "said\n");
    world.run(&plan, &[argument], Keep::Newest).expect("a third run");
    assert!(!detached.directory.exists(), "it was to be discarded");
    assert!(other.directory.is_dir());
}

#[test]
fn a_detached_run_has_no_terminal_and_no_input_and_a_named_one_says_its_own_anew() {
    let (world, plan) = World::script(r#"cat; ps -o sid= -p $$ | tr -d ' '; echo $$"#);
    let mut said = Vec::new();
    for _ in 0..2 {
        let run = world.detach(&plan, &[], Keep::Named(name("mine"))).expect("a run");
        while lease_is_held(&run.directory).expect("a lease") {
            std::thread::sleep(Duration::from_millis(5));
        }
        said.push(std::fs::read_to_string(&run.output).expect("what it said"));
    }
    for said in &said {
        let lines: Vec<&str> = said.lines().collect();
        assert!(lines.len() == 2 && lines[0] == lines[1], "a session of its own: {said}");
    }
    assert_ne!(said[0], said[1]);
}

#[test]
fn an_argument_that_cannot_be_passed_is_named_and_nothing_is_started() {
    let (world, plan) = World::script("exit 0");
    let error = world.run(&plan, &["ok", "a\0b"], Keep::Newest).expect_err("not to be passed");
    assert!(matches!(error, RuntimeError::ArgumentWithNul { .. }), "{error}");
    assert!(error.to_string().contains("a\\0b"), "{error}");
    assert!(world.ids().is_empty(), "a directory was left");
}

#[test]
fn the_overlay_comes_before_the_applications_libraries() {
    let mut world = World::new();
    world.add(Kind::Executable, "tool/bin/tool", "#!/bin/sh\necho $LD_LIBRARY_PATH > $HOME/out\n");
    world.add(Kind::File, "zluda/lib/libcuda.so", "overlay");
    let mut with = application("tool/bin/tool");
    with.overlays = vec![overlay("zluda", None), overlay("zluda", Some("cuda/lib"))];
    let (plan, _) = world.plan(&with, &[("zluda", "zluda", &["lib/libcuda.so"])]).expect("a plan");
    let outcome = world.run(&plan, &[], Keep::Newest).expect("a run");
    let app = outcome.directory.clone().expect("a directory").join("app");
    let app = app.to_str().expect("text");
    assert_eq!(output(&outcome, "out").trim(), format!("{app}:{app}/cuda/lib"));
}

#[test]
fn a_program_that_vanished_is_said_to_have_vanished() {
    let (world, plan) = World::script("exit 0");
    let blob = plan.files[0].blob.expect("a blob");
    std::fs::remove_file(world.blobs().file(&blob)).expect("removed");
    let error = world.run(&plan, &[], Keep::Newest).expect_err("nothing to start");
    assert!(matches!(error, RuntimeError::Vanished(_)), "{error}");
    assert!(error.to_string().contains("antivirus quarantine"), "{error}");
    assert!(world.ids().is_empty(), "a directory was left");
}

#[test]
fn a_missing_interpreter_is_no_vanished_program() {
    let mut world = World::new();
    world.add(Kind::Executable, "tool/tool", "#!/nonexistent/interpreter\n");
    let (plan, _) = world.plan(&application("tool/tool"), &[]).expect("a plan");
    let error = world.run(&plan, &[], Keep::Newest).expect_err("cannot start");
    assert!(matches!(error, RuntimeError::Start { .. }), "{error}");
    assert!(world.ids().is_empty(), "a directory was left");
}

#[test]
fn commands_are_found_on_the_path_of_the_environment() {
    let mut world = World::new();
    world.add(Kind::Executable, "tool/bin/hello", "#!/bin/sh\nexit 42\n");
    let (packages, hosts) = (Default::default(), Default::default());
    let directories = Directories {
        environment: &world.environment(),
        packages: &packages,
        hosts: &hosts,
        app: None,
        home: None,
        tmp: None,
    };
    let variables = [PlannedVariable {
        name: "PATH".to_owned(),
        action: PlannedAction::Prepend("{environment}/tool/bin".to_owned()),
    }];
    let family = world.platform.family();
    let environment =
        process_environment(family, &Vec::new, &directories, &variables, &[]).expect("variables");
    let command = |program: &str| Command {
        program: program.into(),
        arguments: Vec::new(),
        environment: environment.clone(),
        directory: None,
    };
    assert_eq!(execute(&command("hello")).expect("found"), 42);
    let error = execute(&command("hullo")).expect_err("not there");
    assert!(matches!(error, RuntimeError::CommandNotFound { .. }), "{error}");
}
