//! `drystone gc`: removes what nothing needs, keeps what something needs, and says for whom.

mod support;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use support::Sandbox;

/// Three generations; the third is current, the second its parent.
fn three_generations() -> Sandbox {
    let sandbox = Sandbox::greeting();
    for (greeting, whom) in [("1.0", "world"), ("2.0", "world"), ("2.0", "moon")] {
        sandbox.manifest(greeting);
        let manifest = sandbox.read("env.kdl").replace("\"world\"", &format!("\"{whom}\""));
        sandbox.write("env.kdl", manifest);
        sandbox.succeed(&["lock"]);
        sandbox.succeed(&["build"]);
    }
    sandbox
}

fn generations(sandbox: &Sandbox) -> Vec<u64> {
    let history = sandbox.json(&["history"]);
    let lines = history["generations"].as_array().expect("generations");
    lines.iter().filter_map(|generation| generation["number"].as_u64()).collect()
}

/// The lock that gc holds, held by this process under another name, as a long collection does.
#[test]
fn a_command_that_waits_for_a_collection_says_for_whose_and_goes_on_after_it() {
    let sandbox = three_generations();
    let lock = sandbox.store().join("locks/gc");
    std::fs::write(lock.with_extension("holder"), "drystone gc (process 1234)\n").expect("a note");
    for arguments in [["build", "--locked"], ["run", "hello"]] {
        let collecting = File::options().read(true).write(true).open(&lock).expect("a lock");
        collecting.lock().expect("locked");
        let mut waiting = sandbox.command();
        waiting.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut waiting = waiting.spawn().expect("started");
        let mut said = BufReader::new(waiting.stderr.take().expect("its messages")).lines();
        let line = said.next().expect("a line").expect("text");
        assert!(line.contains("waiting for the end of a collection"), "{line}");
        assert!(line.contains("drystone gc (process 1234)"), "{line}");
        assert!(waiting.try_wait().expect("asked").is_none(), "it waits");
        drop(collecting);
        assert!(waiting.wait().expect("it ended").success());
    }
}

#[test]
fn every_generation_can_be_gone_back_to_after_gc() {
    let sandbox = three_generations();
    sandbox.succeed(&["gc"]);
    for (number, said) in [("1", "good morning, world\n"), ("3", "good evening, moon\n")] {
        sandbox.succeed(&["rollback", "--to", number]);
        assert_eq!(sandbox.succeed(&["--offline", "run", "hello"]), said);
    }
    assert_eq!(sandbox.json(&["store", "verify"])["damages"].as_array().map(Vec::len), Some(0));
}

#[test]
fn age_drops_generations_but_never_the_current_one_or_its_parent() {
    let sandbox = three_generations();
    let before = sandbox.json(&["store", "stat"]);
    let dry = sandbox.succeed(&["gc", "--older-than", "0s", "--dry-run"]);
    assert!(dry.contains("generation 1 of greetings") && dry.contains("would free"), "{dry}");
    assert!(!dry.contains("kept for generation 1 "), "{dry}");
    assert_eq!(sandbox.json(&["store", "stat"]), before, "a dry run changes nothing");
    let report = sandbox.json(&["gc", "--older-than", "0s"]);
    assert!(report["removed"].as_u64() > Some(0), "{report}");
    assert!(report.to_string().contains("generation 3 of greetings"), "{report}");
    assert_eq!(generations(&sandbox), [2, 3]);
    sandbox.succeed(&["rollback"]);
    assert_eq!(sandbox.succeed(&["run", "hello"]), "good evening, world\n");
    sandbox.fail(&["rollback", "--to", "1"]);
}

#[test]
fn numbers_are_never_used_again() {
    let sandbox = three_generations();
    sandbox.succeed(&["rollback", "--to", "1"]);
    sandbox.succeed(&["gc", "--older-than", "0s"]);
    assert_eq!(generations(&sandbox), [1]);
    sandbox.succeed(&["build"]);
    assert_eq!(generations(&sandbox), [1, 4]);
}

#[test]
fn files_appear_once_whatever_number_of_packages_hold_them() {
    let sandbox = Sandbox::greeting();
    sandbox.hello("hello-1.0.zip", "good morning");
    sandbox.manifest("1.0");
    sandbox.succeed(&["lock"]);
    let built = sandbox.json(&["build"]);
    let stat = sandbox.json(&["store", "stat"]);
    let files = built["files"].as_u64().expect("files");
    assert_eq!(stat["blobs"].as_u64(), Some(files - 1), "{stat}");
}

#[test]
fn a_project_that_is_gone_is_named_and_forgotten_when_asked_for() {
    let sandbox = Sandbox::greeting();
    sandbox.succeed(&["lock"]);
    sandbox.succeed(&["run", "hello"]);
    std::fs::remove_dir_all(sandbox.path("")).expect("the project is gone");
    let elsewhere = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_drystone"));
        command.args(arguments).current_dir(sandbox.root());
        command.env("DRYSTONE_STORE", sandbox.store()).env("HOME", sandbox.root());
        let output = command.output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        support::text(&output.stdout)
    };
    let kept = elsewhere(&["gc"]);
    assert!(kept.contains("which is gone"), "{kept}");
    let dry = elsewhere(&["gc", "--forget-missing", "--dry-run"]);
    assert!(dry.contains("greetings") && !dry.contains("kept for generation"), "{dry}");
    elsewhere(&["gc", "--forget-missing"]);
    let stat: serde_json::Value =
        serde_json::from_str(&elsewhere(&["--json", "store", "stat"])).expect("JSON");
    for counted in ["blobs", "trees", "realised", "generations", "runtimes"] {
        assert_eq!(stat[counted], 0, "{counted}: {stat}");
    }
}
