//! Which runtime directories stay after a run, and what listing and removing them does.

use std::os::unix::fs::PermissionsExt;

use super::super::*;
use super::{World, application, name};
use crate::model::Kind;

#[test]
fn the_newest_three_finished_directories_stay() {
    let (world, plan) = World::script("exit 0");
    let ids: Vec<String> =
        (0..5).map(|_| world.run(&plan, &[], Keep::Newest).expect("a run").id).collect();
    let mut newest = ids[2..].to_vec();
    newest.sort();
    assert_eq!(world.ids(), newest);
    let infos = list(&world.project()).expect("a list");
    let listed: Vec<&str> = infos.iter().map(|info| info.id.as_str()).collect();
    assert_eq!(listed, [&ids[4], &ids[3], &ids[2]]);
    assert!(infos.iter().all(|info| info.state == State::Finished && info.status == Some(0)));
}

#[test]
fn an_interrupted_run_is_told_apart_and_counts_as_finished() {
    let (world, mut plan) = World::script("exit 0");
    let id = world.run(&plan, &[], Keep::Newest).expect("a run").id;
    std::fs::remove_file(world.runtimes().join(&id).join("end.json")).expect("removed");
    assert_eq!(list(&world.project()).expect("a list")[0].state, State::Interrupted);
    plan.keep_runs = 1;
    let next = world.run(&plan, &[], Keep::Newest).expect("a run").id;
    assert_eq!(world.ids(), [next]);
}

#[test]
fn a_directory_without_record_is_swept_as_the_oldest() {
    let (world, plan) = World::script("exit 0");
    std::fs::create_dir(world.runtimes().join("aaaaaaaa")).expect("a remainder");
    for _ in 0..3 {
        world.run(&plan, &[], Keep::Newest).expect("a run");
    }
    assert!(!world.ids().contains(&"aaaaaaaa".to_owned()));
}

#[test]
fn a_named_directory_stays_and_keeps_its_home() {
    let (mut world, plan) = World::script("echo again >> $HOME/log; touch $TMPDIR/$$");
    let kept = Keep::Named(name("mine"));
    let first = world.run(&plan, &[], kept.clone()).expect("a run");
    for _ in 0..4 {
        world.run(&plan, &[], Keep::Newest).expect("a run");
    }
    // Another plan: app/ is made anew, home/ stays.
    world.add(Kind::File, "tool/new.txt", "new");
    let (changed, _) = world.plan(&application("tool/tool"), &[]).expect("a plan");
    let second = world.run(&changed, &[], kept).expect("a run");
    assert_eq!(second.id, first.id);
    let directory = second.directory.expect("a directory");
    let log = std::fs::read_to_string(directory.join("home/log")).expect("a log");
    assert_eq!(log, "again\nagain\n");
    assert!(directory.join("app/new.txt").exists());
    assert_eq!(std::fs::read_dir(directory.join("tmp")).expect("tmp").count(), 1);
    let infos = list(&world.project()).expect("a list");
    assert_eq!(infos.iter().filter(|info| info.name == Some(name("mine"))).count(), 1);
    assert_eq!(infos.len(), 4);
    assert!(matches!(remove(&world.project(), "mien"), Err(RuntimeError::Unknown { .. })));
    let gone = remove(&world.project(), "mine").expect("removed");
    assert_eq!((gone.path, gone.remaining.len()), (directory.clone(), 0));
    assert!(!directory.exists());
}

#[test]
fn writable_files_are_copies_and_the_rest_is_linked() {
    let mut world = World::new();
    world.add(Kind::Executable, "tool/tool", "#!/bin/sh\necho more >> \"${0%/*}/data/log.txt\"\n");
    world.add(Kind::File, "tool/data/log.txt", "first\n");
    let mut tool = application("tool/tool");
    tool.writable = vec!["data/**".parse().expect("a pattern")];
    let (plan, _) = world.plan(&tool, &[]).expect("a plan");
    let outcome = world.run(&plan, &[], Keep::Newest).expect("a run");
    assert_eq!((outcome.status, outcome.changed.as_slice()), (0, &[][..]));
    let app = outcome.directory.expect("a directory").join("app");
    assert_eq!(std::fs::read_to_string(app.join("data/log.txt")).expect("a log"), "first\nmore\n");
    let original = world.environment().join("tool/data/log.txt");
    assert_eq!(std::fs::read_to_string(original).expect("the original"), "first\n");
}

#[test]
fn a_linked_file_changed_in_place_is_reported_and_a_replaced_one_is_not() {
    let mut world = World::new();
    world.add(
        Kind::Executable,
        "tool/tool",
        "#!/bin/sh\ncd \"${0%/*}\"\nchmod u+w same && echo bad > same\nrm other; echo own > other\n",
    );
    world.add(Kind::File, "tool/same", "same content\n");
    world.add(Kind::File, "tool/other", "other content\n");
    let (plan, _) = world.plan(&application("tool/tool"), &[]).expect("a plan");
    let outcome = world.run(&plan, &[], Keep::Newest).expect("a run");
    let changed: Vec<&str> = outcome.changed.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(changed, ["same"]);
    let planned = plan.files.iter().find(|file| file.path.as_str() == "same");
    assert_eq!(planned.and_then(|file| file.blob), Some(outcome.changed[0].blob));
}

#[test]
fn what_a_program_made_read_only_is_removed_all_the_same() {
    let (world, plan) =
        World::script("mkdir -p $HOME/a/b && touch $HOME/a/b/c && chmod -R a-w $HOME/a");
    let outcome = world.run(&plan, &[], Keep::Discard).expect("a run");
    assert_eq!((outcome.directory, outcome.problems), (None, Vec::new()));
    let blob = plan.files[0].blob.expect("a blob");
    let mode = std::fs::metadata(world.blobs().file(&blob)).expect("a blob").permissions().mode();
    assert_eq!(mode & 0o777, 0o555, "removing changed the content's mode");
}

#[test]
fn the_exit_status_comes_through_even_when_the_end_cannot_be_recorded() {
    let (world, plan) = World::script("mkdir \"${0%/app/*}/end.json\" && exit 5");
    let outcome = world.run(&plan, &[], Keep::Newest).expect("a run");
    assert_eq!(outcome.status, 5);
    assert!(outcome.problems[0].contains("end.json"), "{:?}", outcome.problems);
}

#[test]
fn runs_at_the_same_time_have_directories_of_their_own() {
    let (world, mut plan) = World::script("echo $$ > $HOME/own");
    plan.keep_runs = 50;
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..3 {
                    world.run(&plan, &[], Keep::Newest).expect("a run");
                }
            });
        }
    });
    assert_eq!(world.ids().len(), 24);
}
