//! A store of the project's own: made, used, adopted.

mod support;

use std::process::Output;

use support::Sandbox;

/// Without DRYSTONE_STORE: the store is the user's, or the project's own.
fn output(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    let mut command = sandbox.command();
    command.env_remove("DRYSTONE_STORE").env("XDG_DATA_HOME", sandbox.root().join("data"));
    command.env("LOCALAPPDATA", sandbox.root().join("data"));
    command.args(arguments).output().expect("the program starts")
}

#[test]
fn a_new_store_says_where_the_generations_are() {
    let sandbox = Sandbox::greeting();
    assert!(output(&sandbox, &["build"]).status.success());
    let made = output(&sandbox, &["store", "init"]);
    let said = support::text(&made.stderr);
    assert!(made.status.success() && said.contains("what was built so far stays in"), "{said}");
    assert!(sandbox.path("store/format").exists());
    assert_eq!(sandbox.read("store/.gitignore"), "*\n", "it is not committed by accident");
    let again = output(&sandbox, &["store", "init"]);
    assert!(again.stderr.is_empty(), "{}", support::text(&again.stderr));
}

#[test]
fn a_store_that_is_the_projects_already_is_not_adopted() {
    let sandbox = Sandbox::greeting();
    assert!(output(&sandbox, &["store", "init"]).status.success());
    assert!(output(&sandbox, &["build"]).status.success());
    let said = support::text(&output(&sandbox, &["store", "adopt"]).stderr);
    assert!(said.contains("drystone::store::adopted_already"), "{said}");
    let history = support::text(&output(&sandbox, &["history"]).stdout);
    assert!(history.contains("hello 1.0"), "its generations are there: {history}");
}

#[test]
fn a_store_that_came_along_is_adopted() {
    let sandbox = Sandbox::greeting();
    assert!(output(&sandbox, &["store", "init"]).status.success());
    assert!(output(&sandbox, &["build"]).status.success());
    let registered = sandbox.root().join("data/drystone/stores");
    std::fs::remove_file(registered).expect("another machine");
    let ignored = output(&sandbox, &["store", "stat"]);
    assert!(support::text(&ignored.stderr).contains("store adopt"));
    let adopted = output(&sandbox, &["store", "adopt"]);
    assert!(adopted.status.success(), "{}", support::text(&adopted.stderr));
    assert!(output(&sandbox, &["build"]).status.success());
    assert!(output(&sandbox, &["store", "verify"]).status.success());
}

#[cfg(unix)]
#[test]
fn a_link_that_came_along_has_no_other_store_adopted() {
    let sandbox = Sandbox::greeting();
    assert!(output(&sandbox, &["build"]).status.success());
    let users = sandbox.root().join("data/drystone/store");
    std::os::unix::fs::symlink(&users, sandbox.path("store")).expect("linked");
    for verb in ["adopt", "init"] {
        let said = support::text(&output(&sandbox, &["store", verb]).stderr);
        assert!(said.contains("drystone::store::linked"), "{said}");
    }
    let history = support::text(&output(&sandbox, &["history"]).stdout);
    assert!(history.contains("hello 1.0"), "its generations are there: {history}");
}
