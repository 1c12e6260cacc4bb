//! Files that vanish between placing and the end of a run.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use super::super::presence::not_started;
use super::super::*;
use super::{World, application, name};
use crate::model::{Fate, Kind, Vanished};

/// A program that ends as it is told to, with a library beside it.
fn with_library(text_unix: &str, text_windows: &str) -> (World, Plan) {
    let mut world = World::new();
    let (at, text) = if cfg!(windows) {
        ("tool/tool.bat", format!("@echo off\r\n{text_windows}\r\n"))
    } else {
        ("tool/tool", format!("#!/bin/sh\n{text_unix}\n"))
    };
    world.add(Kind::Executable, at, text);
    world.add(Kind::File, "tool/library.dll", "a library");
    world.add(Kind::File, "tool/notes", "notes");
    let (plan, _) = world.plan(&application(at), &[]).expect("a plan");
    (world, plan)
}

/// Runs while something happens between placing and the start: that is when variables are asked for.
fn run_after(
    world: &World,
    plan: &Plan,
    keep: Keep,
    happens: impl Fn(PathBuf),
) -> Result<RunOutcome> {
    let app = || {
        let ids = world.ids();
        world.runtimes().join(ids.last().expect("a directory")).join("app")
    };
    run(
        &RunRequest {
            plan,
            environment: &world.environment(),
            runtimes: &world.runtimes(),
            roots: "",
            hosts: &Default::default(),
            arguments: &[] as &[OsString],
            keep,
            caller: &|| {
                happens(app());
                std::env::vars_os().collect()
            },
        },
        &world.blobs(),
    )
}

fn remove(path: PathBuf) {
    std::fs::remove_file(&path).expect("removed");
}

#[track_caller]
fn told(result: Result<RunOutcome>) -> Box<Vanished> {
    match result.expect_err("nothing to start") {
        RuntimeError::Vanished(vanished) => vanished,
        other => panic!("{other}"),
    }
}

#[test]
fn what_vanishes_or_changes_between_placing_and_starting_is_not_started() {
    let (world, plan) = with_library("exit 0", "exit /b 0");
    let gone = told(run_after(&world, &plan, Keep::Newest, |app| remove(app.join("library.dll"))));
    assert_eq!(gone.files[0].what, Fate::Vanished);
    assert_eq!(gone.files[0].path.as_ref().map(|path| path.as_str()), Some("library.dll"));
    assert!(gone.files[0].blob.is_some());
    let program = plan.program.clone();
    let gone = told(run_after(&world, &plan, Keep::Newest, |app| remove(program.at(&app))));
    assert_eq!(gone.files[0].path.as_ref(), Some(&plan.program));
    let changed = told(run_after(&world, &plan, Keep::Newest, |app| {
        remove(app.join("library.dll"));
        std::fs::write(app.join("library.dll"), "cleaned").expect("cleaned");
    }));
    assert_eq!(changed.files[0].what, Fate::Changed);
    assert!(world.ids().is_empty(), "a directory was left");
    assert_eq!(world.run(&plan, &[], Keep::Newest).expect("a run").status, 0);
}

#[test]
fn a_library_that_vanishes_while_a_program_fails_is_told_and_what_else_it_removed_is_not() {
    let (world, plan) = with_library(
        "cd \"$(dirname \"$0\")\"; rm -f library.dll notes; exit 127",
        "del \"%~dp0library.dll\" \"%~dp0notes\"\r\nexit /b -1073741515",
    );
    let outcome = world.run(&plan, &[], Keep::Newest).expect("a run");
    let loader = if cfg!(windows) { 0xC000_0135_u32 as i32 } else { 127 };
    assert_eq!(outcome.status, loader, "the status stays the program's own");
    let paths: Vec<_> = outcome.vanished.iter().filter_map(|file| file.path.as_ref()).collect();
    assert_eq!(paths.iter().map(|path| path.as_str()).collect::<Vec<_>>(), ["library.dll"]);
    let (world, plan) = with_library(
        "rm -f \"$(dirname \"$0\")/library.dll\"",
        "del \"%~dp0library.dll\"\r\nexit /b 0",
    );
    let outcome = world.run(&plan, &[], Keep::Newest).expect("a run");
    assert_eq!((outcome.status, outcome.vanished), (0, Vec::new()));
}

#[test]
fn a_kept_directory_gets_back_what_was_taken_from_it() {
    let (world, plan) = with_library("exit 0", "exit /b 0");
    let keep = || Keep::Named(name("mine"));
    let first = world.run(&plan, &[], keep()).expect("a run");
    let app = first.directory.expect("kept").join("app");
    remove(app.join("library.dll"));
    world.run(&plan, &[], keep()).expect("a run");
    assert!(app.join("library.dll").is_file());
    let gone = told(run_after(&world, &plan, keep(), |app| remove(app.join("library.dll"))));
    assert_eq!(gone.files.len(), 1);
}

#[test]
fn a_launcher_that_vanished_from_the_environment_is_not_started() {
    let mut world = World::new();
    let (at, launcher) =
        if cfg!(windows) { ("tool/tool.bat", "z/run.bat") } else { ("tool/tool", "z/run") };
    world.add(Kind::Executable, at, "x");
    world.add(Kind::Executable, launcher, "y");
    let mut with = application(at);
    with.launch =
        Some(crate::manifest::Launch { program: super::path(launcher), arguments: Vec::new() });
    let (plan, _) = world.plan(&with, &[]).expect("a plan");
    assert_eq!(plan.environment_files[0].path.as_str(), launcher);
    remove(super::path(launcher).at(&world.environment()));
    let gone = told(world.run(&plan, &[], Keep::Newest));
    assert_eq!(gone.files[0].path.as_ref().map(|path| path.as_str()), Some(launcher));
}

#[test]
fn a_start_that_a_scanner_refuses_is_told_in_the_same_words() {
    let directory = tempfile::tempdir().expect("a directory");
    let program = directory.path().join("tool.exe");
    std::fs::write(&program, "x").expect("written");
    let fate = |raw| match not_started(&program, io::Error::from_raw_os_error(raw)) {
        RuntimeError::Vanished(vanished) => Some(vanished.files[0].what),
        _ => None,
    };
    let on_windows = |fate| cfg!(windows).then_some(fate);
    assert_eq!(fate(225), on_windows(Fate::Blocked));
    assert_eq!(fate(226), on_windows(Fate::Blocked));
    assert_eq!(fate(if cfg!(windows) { 5 } else { 1 }), Some(Fate::Denied));
    assert_eq!(fate(2), None, "the program is there: something else was not found");
    std::fs::remove_file(&program).expect("removed");
    assert_eq!(fate(2), Some(Fate::Vanished));
}
