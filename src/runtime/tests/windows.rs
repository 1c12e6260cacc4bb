//! Runs on Windows, with batch files as programs.

use super::super::*;
use super::World;

#[test]
fn exit_status_passes_through_and_the_program_sees_its_own_directories() {
    let (world, plan) = World::script("echo %USERPROFILE%> \"%USERPROFILE%\\out\"\r\nexit /b %1");
    let outcome = world.run(&plan, &["77"], Keep::Newest).expect("a run");
    assert_eq!(outcome.status, 77);
    let directory = outcome.directory.expect("a directory that stayed");
    let text = std::fs::read_to_string(directory.join("home").join("out")).expect("its output");
    assert_eq!(text.trim(), directory.join("home").to_str().expect("text"));
    assert!(directory.join("home").join("AppData").join("Local").is_dir());
}

#[test]
fn the_newest_three_stay_and_discarded_ones_go() {
    let (world, plan) = World::script("exit /b 0");
    for _ in 0..4 {
        world.run(&plan, &[], Keep::Newest).expect("a run");
    }
    assert_eq!(world.ids().len(), 3);
    let outcome = world.run(&plan, &[], Keep::Discard).expect("a run");
    assert_eq!((outcome.directory, outcome.problems), (None, Vec::new()));
    assert!(remove(&world.project(), &world.ids()[0]).is_ok());
    assert_eq!(world.ids().len(), 2);
}

#[test]
fn what_a_detached_program_says_goes_to_its_file_and_its_lease_ends_with_it() {
    let (world, plan) = World::script("echo said");
    let detached = world.detach(&plan, &[], Keep::Newest).expect("a run");
    while lease_is_held(&detached.directory).expect("a lease") {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let said = std::fs::read_to_string(&detached.output).expect("what it said");
    assert_eq!(said.trim(), "said");
    let info = list(&world.project()).expect("a list").remove(0);
    assert_eq!((info.state, info.status), (State::Finished, None), "nobody knows how it ended");
}
