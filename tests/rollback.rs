//! Going back, where something is in the way.

mod support;

use support::Sandbox;

fn two_generations() -> Sandbox {
    let sandbox = Sandbox::greeting();
    for version in ["1.0", "2.0"] {
        sandbox.manifest(version);
        sandbox.succeed(&["lock"]);
        sandbox.succeed(&["build"]);
    }
    sandbox
}

fn current(sandbox: &Sandbox) -> Option<u64> {
    let history = sandbox.json(&["history"]);
    let generations = history["generations"].as_array().expect("a list").clone();
    let current = generations.into_iter().find(|generation| generation["current"] == true);
    current.and_then(|generation| generation["number"].as_u64())
}

#[test]
fn restore_that_is_refused_does_not_go_back_either() {
    let sandbox = two_generations();
    sandbox.write("env.kdl", sandbox.read("env.kdl") + "// mine\n");
    for arguments in [&["rollback", "--restore"][..], &["rollback", "--to", "1", "--restore"]] {
        let said = sandbox.fail(arguments);
        assert!(said.contains("drystone::generation::unsaved"), "{said}");
        assert_eq!(current(&sandbox), Some(2));
    }
    let said = sandbox.succeed(&["rollback", "--restore", "--force"]);
    assert!(said.contains("kept your changes in"), "{said}");
    assert_eq!(current(&sandbox), Some(1));
    assert!(sandbox.read("env.kdl.before-rollback").ends_with("// mine\n"));
}

#[test]
fn the_direction_is_said() {
    let sandbox = two_generations();
    assert!(sandbox.succeed(&["rollback"]).contains("rolled back from generation 2 to 1"));
    assert!(sandbox.succeed(&["rollback", "--to", "1"]).contains("at generation 1 already"));
    assert!(
        sandbox.succeed(&["rollback", "--to", "2"]).contains("moved on from generation 1 to 2")
    );
}

#[test]
fn a_damaged_current_is_repaired_by_what_its_help_says() {
    let sandbox = two_generations();
    let environments = sandbox.store().join("environments");
    let project = std::fs::read_dir(environments).expect("a list").next();
    let project = project.expect("one project").expect("an entry").path();
    std::fs::write(project.join("greetings/current"), "junk").expect("damaged");
    assert!(sandbox.fail(&["run", "hello"]).contains("drystone history"));
    let listed = sandbox.succeed(&["history"]);
    assert!(listed.contains("greeting 2.0") && listed.contains("damaged"), "{listed}");
    sandbox.succeed(&["rollback", "--to", "2"]);
    assert_eq!(sandbox.succeed(&["run", "hello"]), "good evening, world\n");
}
