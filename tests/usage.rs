//! How the program is called: where it looks for a project, and how it answers wrong usage.

mod support;

use support::Sandbox;

/// Runs the program in a directory, without `--project`.
fn output_in(sandbox: &Sandbox, directory: &str, arguments: &[&str]) -> std::process::Output {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_drystone"));
    command.args(arguments).current_dir(sandbox.path(directory));
    command.env("DRYSTONE_STORE", sandbox.store()).env("HOME", sandbox.root().join("home"));
    command.output().expect("the program starts")
}

#[test]
fn wrong_usage_is_one_document_too() {
    let sandbox = Sandbox::new();
    for arguments in [&["--json", "frobnicate"][..], &["run", "--json"], &["--json", "diff", "x"]] {
        let output = sandbox.output(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let document: serde_json::Value =
            serde_json::from_slice(&output.stdout).expect("one JSON document");
        assert_eq!(document["error"]["code"], "drystone::usage", "{document}");
    }
    let passed_on = sandbox.output(["exec", "--bad", "--", "--json"]);
    assert!(passed_on.stdout.is_empty(), "an argument of the command is not drystone's");
}

#[test]
fn a_number_that_is_none_is_explained() {
    let sandbox = Sandbox::new();
    let output = sandbox.output(["rollback", "--to", "last"]);
    let said = support::text(&output.stderr);
    assert!(said.contains("drystone history"), "{said}");
}

#[test]
fn project_may_name_the_manifest_itself() {
    let sandbox = Sandbox::greeting();
    sandbox.succeed(&["lock"]);
    let manifest = sandbox.path("env.kdl");
    let manifest = manifest.to_str().expect("a path");
    let output = output_in(&sandbox, "archives", &["--project", manifest, "lock", "--check"]);
    assert!(output.status.success(), "{}", support::text(&output.stderr));
}

#[test]
fn a_directory_that_is_no_project_stays_as_it_is() {
    let sandbox = Sandbox::new();
    for (directory, code) in [
        ("archives", "drystone::project::no_manifest"),
        ("nowhere", "drystone::project::no_directory"),
    ] {
        for command in [&["history"][..], &["run", "x"], &["runtime", "list"], &["rollback"]] {
            let path = sandbox.path(directory);
            let mut arguments = vec!["--project", path.to_str().expect("a path")];
            arguments.extend(command);
            let output = output_in(&sandbox, "", &arguments);
            let said = support::text(&output.stderr);
            assert!(said.contains(code), "{arguments:?}: {said}");
        }
        assert!(!sandbox.path(directory).join(".drystone").exists());
    }
    assert!(!sandbox.store().exists(), "and no store is made");
}

#[test]
fn what_was_built_is_reached_without_a_manifest() {
    let sandbox = Sandbox::greeting();
    sandbox.succeed(&["lock"]);
    sandbox.succeed(&["build"]);
    for broken in [None, Some("environment {")] {
        std::fs::remove_file(sandbox.path("env.kdl")).expect("removed");
        if let Some(text) = broken {
            sandbox.write("env.kdl", text);
        }
        for command in [&["history"][..], &["run", "hello"], &["diff", "1", "1"]] {
            let output = output_in(&sandbox, "archives", command);
            assert!(output.status.success(), "{command:?}: {}", support::text(&output.stderr));
        }
        let output =
            output_in(&sandbox, "archives", &["rollback", "--to", "1", "--restore", "--force"]);
        assert!(output.status.success(), "{}", support::text(&output.stderr));
        assert!(sandbox.read("env.kdl").contains("application"));
    }
    assert!(sandbox.read("env.kdl.before-rollback").starts_with("environment {"));
}

#[test]
fn an_application_does_not_run_in_another_environment() {
    let sandbox = Sandbox::greeting();
    let manifest = sandbox.read("env.kdl")
        + "environment \"other\" { platform \"x86_64-linux\" \"aarch64-linux\" \"x86_64-windows\"; use \"greeting\" \"1.0\" }\n";
    sandbox.write("env.kdl", manifest);
    sandbox.succeed(&["lock"]);
    let said = sandbox.fail(&["-e", "other", "run", "hello"]);
    assert!(said.contains("drystone::project::other_environment"), "{said}");
    assert_eq!(sandbox.succeed(&["run", "hello"]), "good morning, world\n");
}

#[test]
fn an_empty_list_says_so() {
    let sandbox = Sandbox::greeting();
    assert!(sandbox.succeed(&["history"]).contains("no generation yet"));
    assert!(sandbox.succeed(&["runtime", "list"]).contains("no runtime directories"));
}
