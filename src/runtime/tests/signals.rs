//! Signals go to a process of its own: this test program once more, running one helper test.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command as Process, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::super::*;
use super::World;

/// Says to the helper below where it works.
const WHERE: &str = "DRYSTONE_TEST_RUN_IN";

/// Writes its number when it is ready, ends with 5 on SIGTERM, with 6 on SIGINT.
const SCRIPT: &str = r#"
trap 'exit 5' TERM
trap 'exit 6' INT
echo $$ > "$1.new" && mv "$1.new" "$1"
while :; do sleep 0.01; done
"#;

#[test]
fn helper() {
    let Some(place) = std::env::var_os(WHERE) else { return };
    let (world, plan) = World::script(SCRIPT);
    let place = Path::new(&place);
    std::fs::write(place.join("project"), world.project().to_str().expect("text")).expect("told");
    let ready = place.join("ready");
    let outcome = world.run(&plan, &[ready.to_str().expect("text")], Keep::Newest).expect("a run");
    assert_eq!(list(&world.project()).expect("a list")[0].state, State::Finished);
    drop(world);
    std::process::exit(outcome.status);
}

/// Signals end the programs started from here, also where whoever started the tests ignores them,
/// as shells do in the background: a caught signal has its default way again after exec.
fn heed_signals() {
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        let always = std::sync::Arc::new(true.into());
        signal_hook::flag::register_conditional_default(signal, always).expect("registered");
    }
}

fn start(place: &Path) -> (Child, Pid) {
    heed_signals();
    let mut helper = Process::new(std::env::current_exe().expect("this program"));
    helper.args(["--exact", "runtime::tests::signals::helper"]).env(WHERE, place);
    helper.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Not in the foreground of a terminal, wherever the tests are started.
    helper.process_group(0);
    let child = helper.spawn().expect("a helper");
    let program = loop {
        if let Ok(text) = std::fs::read_to_string(place.join("ready")) {
            break text.trim().parse().ok().and_then(Pid::from_raw).expect("a number");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    (child, program)
}

fn pid(child: &Child) -> Pid {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a number")
}

#[test]
fn signals_reach_the_program_and_the_run_is_finished() {
    for (signal, status) in [(Signal::TERM, 5), (Signal::INT, 6)] {
        let place = tempfile::tempdir().expect("a directory");
        let (mut helper, _) = start(place.path());
        kill_process(pid(&helper), signal).expect("sent");
        assert_eq!(helper.wait().expect("ended").code(), Some(status), "{signal:?}");
    }
}

#[test]
fn a_killed_drystone_is_told_from_one_that_lives() {
    let place = tempfile::tempdir().expect("a directory");
    let (mut helper, program) = start(place.path());
    let project = std::fs::read_to_string(place.path().join("project")).expect("a place");
    let project = Path::new(&project);
    helper.kill().expect("killed");
    helper.wait().expect("ended");
    // The program lives on, and so does the lease.
    let info = &list(project).expect("a list")[0];
    assert_eq!(info.state, State::Running);
    assert!(matches!(remove(project, &info.id), Err(RuntimeError::InUse { .. })));
    kill_process(program, Signal::KILL).expect("sent");
    while list(project).expect("a list")[0].state == State::Running {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(list(project).expect("a list")[0].state, State::Interrupted);
    remove(project, &info.id).expect("removed");
    // The killed helper could not remove its own temporary directory.
    std::fs::remove_dir_all(project.parent().expect("its directory")).expect("removed");
}
