//! Applications with files of their own.

mod support;

use support::Sandbox;

/// An environment with one package, and an application that has its own files.
fn with_files(script: &str, mode: u32) -> Sandbox {
    let sandbox = Sandbox::greeting();
    let manifest = sandbox.read("env.kdl")
        + "application \"own\" { in \"greetings\"; files \"own\"; program \"start.sh\"; cwd \"app\" }\n";
    sandbox.write("env.kdl", manifest);
    sandbox.write("own/start.sh", format!("#!/bin/sh\n{script}\n"));
    sandbox.write("own/data.txt", "data\n");
    set_mode(&sandbox, mode);
    sandbox
}

fn set_mode(sandbox: &Sandbox, mode: u32) {
    #[cfg(unix)]
    std::fs::set_permissions(
        sandbox.path("own/start.sh"),
        std::os::unix::fs::PermissionsExt::from_mode(mode),
    )
    .expect("the mode is set");
    #[cfg(not(unix))]
    let _ = (sandbox, mode);
}

#[cfg(unix)]
#[test]
fn a_program_of_its_own_that_is_not_executable_is_made_so_by_chmod() {
    let sandbox = with_files("cat data.txt", 0o644);
    let said = sandbox.fail(&["build"]);
    assert!(said.contains("chmod +x"), "{said}");
    set_mode(&sandbox, 0o755);
    sandbox.succeed(&["build"]);
    assert_eq!(sandbox.succeed(&["run", "own"]), "data\n");
}

#[cfg(unix)]
#[test]
fn files_of_its_own_that_a_run_changed_come_back_by_the_build_it_names() {
    let sandbox = with_files("chmod u+w data.txt; echo mine > data.txt", 0o755);
    sandbox.succeed(&["build"]);
    let output = sandbox.output(["run", "own"]);
    let said = support::text(&output.stderr);
    assert!(said.contains("changed data.txt") && said.contains("drystone build"), "{said}");
    sandbox.succeed(&["build"]);
    sandbox.succeed(&["store", "verify"]);
    assert!(sandbox.output(["run", "own"]).status.success());
}

#[cfg(unix)]
#[test]
fn links_that_lead_nowhere_out_or_in_a_circle_are_named() {
    let sandbox = with_files("cat data.txt", 0o755);
    let link = sandbox.path("own/link");
    for (target, why) in
        [("gone", "leads to nothing"), ("/etc", "leads out"), (".", "leads in a circle")]
    {
        std::os::unix::fs::symlink(target, &link).expect("a link");
        let said = sandbox.fail(&["build"]).replace("\n  │ ", " ");
        assert!(said.contains(why) && said.contains("own/link"), "{said}");
        std::fs::remove_file(&link).expect("removed");
    }
    std::os::unix::fs::symlink("data.txt", &link).expect("a link");
    sandbox.succeed(&["build"]);
}

#[test]
fn a_store_among_the_files_is_not_imported_into_itself() {
    let sandbox = with_files("true", 0o755);
    let manifest = sandbox.read("env.kdl").replace("files \"own\"", "files \".\"");
    sandbox.write("env.kdl", manifest.replace("\"start.sh\"", "\"own/start.sh\""));
    let store = sandbox.path("store");
    let build = ["--store", store.to_str().expect("a path"), "build"];
    sandbox.succeed(&["lock"]);
    assert_eq!(sandbox.json(&build)["new"], true);
    assert_eq!(sandbox.json(&build)["new"], false, "the first build changed nothing");
}
