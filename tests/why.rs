//! `why`: which package a file comes from.

mod support;

use support::Sandbox;

#[test]
fn the_overridden_package_is_told_from_the_one_that_wins() {
    let sandbox = Sandbox::new();
    let one = sandbox.zip("one.zip", &[("same.txt", b"one", 0o644)]);
    let two = sandbox.zip("two.zip", &[("same.txt", b"two", 0o644)]);
    let package = |name: &str, sha256: &str| {
        format!(
            "package \"{name}\" {{ version \"1.0\" {{ source {{ url \"file:archives/{name}.zip\"; sha256 \"{sha256}\"; into \"shared\" }} }} }}\n"
        )
    };
    let environment = "environment \"e\" { platform \"x86_64-linux\" \"aarch64-linux\" \"x86_64-windows\"; use \"one\" \"1.0\"; use \"two\" \"1.0\"; override \"shared/same.txt\" \"two\" }\n";
    sandbox
        .write("env.kdl", environment.to_owned() + &package("one", &one) + &package("two", &two));
    sandbox.succeed(&["build"]);
    let said = sandbox.succeed(&["why", "shared/same.txt"]);
    let line = |name: &str| said.lines().find(|line| line.trim_start().starts_with(name));
    assert!(line("one 1.0").is_some_and(|line| line.contains("overridden")), "{said}");
    assert!(line("two 1.0").is_some_and(|line| !line.contains("overridden")), "{said}");
}

#[test]
fn the_path_that_was_meant_is_offered() {
    let sandbox = Sandbox::greeting();
    sandbox.succeed(&["build"]);
    for wrong in ["hello/notes.txt", "hello/dta/notes.txt", "notes.txt"] {
        let said = sandbox.fail(&["why", wrong]);
        assert!(said.contains("did you mean \"hello/data/notes.txt\"?"), "{said}");
    }
}

#[test]
fn asking_for_what_is_built_anyway_makes_no_other_generation() {
    let sandbox = Sandbox::greeting();
    assert_eq!(sandbox.json(&["build"])["new"], true);
    assert_eq!(sandbox.json(&["build", "--with", "hello"])["new"], false);
}
