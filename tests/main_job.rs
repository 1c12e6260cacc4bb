//! The main job, end to end: lock, build, run, change, build, roll back.

mod support;

use support::Sandbox;

#[test]
fn a_stack_is_locked_built_run_changed_and_rolled_back() {
    let sandbox = Sandbox::greeting();
    assert!(sandbox.succeed(&["lock"]).contains("wrote lockfiles/greetings.lock.kdl"));
    sandbox.succeed(&["lock", "--check"]);
    let built = sandbox.json(&["build"]);
    assert_eq!(built["generation"], 1);
    assert_eq!(sandbox.succeed(&["run", "hello"]), "good morning, world\n");

    sandbox.manifest("2.0");
    let disagreement = sandbox.fail(&["lock", "--check"]);
    assert!(disagreement.contains("greeting"), "{disagreement}");
    sandbox.succeed(&["lock"]);
    let still = sandbox.output(["run", "hello"]);
    assert_eq!(support::text(&still.stdout), "good morning, world\n");
    let note = support::text(&still.stderr);
    assert!(note.contains("drystone build"), "{note}");
    sandbox.fail(&["--locked", "run", "hello"]);

    assert_eq!(sandbox.json(&["build"])["generation"], 2);
    assert_eq!(sandbox.succeed(&["run", "hello"]), "good evening, world\n");
    let difference = sandbox.succeed(&["diff"]);
    assert!(difference.contains("greeting") && difference.contains("1.0"), "{difference}");

    let back = sandbox.json(&["rollback"]);
    assert_eq!((back["from"].as_u64(), back["to"].as_u64()), (Some(2), Some(1)));
    let again = sandbox.output(["run", "hello"]);
    assert_eq!(support::text(&again.stdout), "good morning, world\n");
    assert!(support::text(&again.stderr).contains("rolled back to 1"));
    let history = sandbox.json(&["history"]);
    assert_eq!(history["generations"].as_array().map(Vec::len), Some(2));

    sandbox.succeed(&["rollback", "--to", "2"]);
    assert_eq!(sandbox.succeed(&["run", "hello"]), "good evening, world\n");
    let report = sandbox.json(&["store", "verify"]);
    assert_eq!(report["damages"].as_array().map(Vec::len), Some(0));
}

#[test]
fn run_builds_from_the_lock_when_there_is_no_generation() {
    let sandbox = Sandbox::greeting();
    sandbox.succeed(&["lock"]);
    assert_eq!(sandbox.succeed(&["run", "hello"]), "good morning, world\n");
    assert_eq!(sandbox.json(&["history"])["generations"].as_array().map(Vec::len), Some(1));
}

#[test]
fn arguments_and_the_exit_status_arrive_intact() {
    let sandbox = Sandbox::greeting();
    sandbox.succeed(&["lock"]);
    let arguments = ["a b", "é中", "--flag", "x=\"y\""];
    let mut call = vec!["run", "hello", "--"];
    call.extend(arguments);
    let said = sandbox.succeed(&call);
    if cfg!(unix) {
        assert_eq!(said, "good morning, world\n[a b]\n[é中]\n[--flag]\n[x=\"y\"]\n");
    }
    let output = sandbox.output(["run", "hello", "--", "status", "42"]);
    assert_eq!(output.status.code(), Some(42));
}

#[test]
fn building_twice_makes_no_second_generation() {
    let sandbox = Sandbox::greeting();
    sandbox.succeed(&["lock"]);
    assert_eq!(sandbox.json(&["build"])["new"], true);
    let again = sandbox.json(&["build"]);
    assert_eq!((again["new"].as_bool(), again["generation"].as_u64()), (Some(false), Some(1)));
}

#[test]
fn rollback_restore_writes_back_the_manifest_and_the_lock() {
    let sandbox = Sandbox::greeting();
    sandbox.succeed(&["lock"]);
    sandbox.succeed(&["build"]);
    let (manifest, lock) = (sandbox.read("env.kdl"), sandbox.read("lockfiles/greetings.lock.kdl"));
    sandbox.manifest("2.0");
    sandbox.succeed(&["lock"]);
    sandbox.succeed(&["build"]);
    sandbox.succeed(&["rollback", "--restore"]);
    assert_eq!(sandbox.read("env.kdl"), manifest);
    assert_eq!(sandbox.read("lockfiles/greetings.lock.kdl"), lock);
    let run = sandbox.output(["--locked", "run", "hello"]);
    assert!(run.status.success());
}

#[test]
fn a_restore_that_is_refused_switches_nothing() {
    let sandbox = Sandbox::greeting();
    sandbox.succeed(&["build"]);
    sandbox.manifest("2.0");
    sandbox.succeed(&["build"]);
    let mine = sandbox.read("env.kdl") + "// not built yet\n";
    sandbox.write("env.kdl", &mine);
    assert!(sandbox.fail(&["rollback", "--restore"]).contains("env.kdl"));
    assert_eq!(sandbox.read("env.kdl"), mine);
    assert_eq!(sandbox.succeed(&["run", "hello"]), "good evening, world\n");
    let back = sandbox.succeed(&["rollback", "--restore", "--force"]);
    assert!(back.contains("from generation 2 to 1") && back.contains("before-rollback"), "{back}");
    assert_eq!(sandbox.read("env.kdl.before-rollback"), mine);
    let again = sandbox.succeed(&["rollback", "--to", "1"]);
    assert!(again.contains("at generation 1 already"), "{again}");
}

#[test]
fn exec_sees_the_variables_of_the_environment() {
    let sandbox = Sandbox::greeting();
    sandbox.succeed(&["lock"]);
    sandbox.succeed(&["build"]);
    let said = if cfg!(windows) {
        sandbox.succeed(&["exec", "--", "cmd", "/c", "echo %GREETED%"])
    } else {
        sandbox.succeed(&["exec", "--", "sh", "-c", "echo $GREETED; exit 0"])
    };
    assert_eq!(said.trim(), "world");
}
