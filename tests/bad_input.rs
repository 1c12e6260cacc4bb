//! Bad input: each case is one screen with cause and next step, exit status 1, and nothing lost.

mod support;

use support::Sandbox;

/// Runs a command that must fail with a diagnostic of this code, on one screen and with a next step.
#[track_caller]
fn fails(sandbox: &Sandbox, arguments: &[&str], code: &str) -> String {
    let said = sandbox.fail(arguments);
    assert!(said.contains(code), "no {code} in:\n{said}");
    assert!(said.contains("help:"), "no next step in:\n{said}");
    assert!(said.lines().count() <= 24, "more than one screen:\n{said}");
    let mut with_json = vec!["--json"];
    with_json.extend(arguments);
    let output = sandbox.output(with_json);
    let document: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert!(document["error"]["message"].is_string(), "{document}");
    said
}

#[test]
fn no_manifest() {
    let sandbox = Sandbox::new();
    let said = fails(&sandbox, &["build"], "drystone::project::no_manifest");
    assert!(said.contains("drystone init"), "{said}");
}

#[test]
fn an_empty_manifest() {
    let sandbox = Sandbox::new();
    sandbox.write("env.kdl", "");
    fails(&sandbox, &["lock"], "drystone::");
}

#[test]
fn a_manifest_in_another_encoding() {
    let sandbox = Sandbox::new();
    let utf16: Vec<u8> = "environment \"a\"".encode_utf16().flat_map(u16::to_le_bytes).collect();
    sandbox.write("env.kdl", [&[0xFF, 0xFE][..], &utf16].concat());
    let said = fails(&sandbox, &["lock"], "drystone::manifest");
    assert!(said.contains("UTF-8"), "{said}");
}

#[test]
fn a_line_of_ten_thousand_bytes() {
    let sandbox = Sandbox::new();
    sandbox.write("env.kdl", "environment \"a\" { ".to_owned() + &"colour 1;".repeat(2000) + "}");
    let said = sandbox.fail(&["lock"]);
    assert!(said.lines().all(|line| line.len() < 400), "{said}");
    sandbox.write("env.kdl", "a{".repeat(5000));
    let said = sandbox.fail(&["lock"]);
    assert!(said.lines().all(|line| line.len() < 400), "{said}");
}

#[test]
fn a_huge_number() {
    let sandbox = Sandbox::greeting();
    let manifest = sandbox.read("env.kdl").replacen("size ", "size 9999999999999999999999", 1);
    sandbox.write("env.kdl", manifest);
    fails(&sandbox, &["lock"], "drystone::manifest");
}

#[test]
fn an_unknown_application_and_environment() {
    let sandbox = Sandbox::greeting();
    sandbox.succeed(&["lock"]);
    let said = fails(&sandbox, &["run", "helo"], "drystone::project::unknown_application");
    assert!(said.contains("did you mean \"hello\"?"), "{said}");
    fails(&sandbox, &["-e", "greetinks", "build"], "drystone::project::unknown_environment");
}

#[test]
fn a_program_that_is_not_in_the_environment() {
    let sandbox = Sandbox::greeting();
    let manifest =
        sandbox.read("env.kdl").replace("program \"hello/hello.", "program \"hello/hullo.");
    sandbox.write("env.kdl", manifest);
    sandbox.succeed(&["lock"]);
    let said = fails(&sandbox, &["build"], "drystone::runtime");
    assert!(said.contains("hello/hello."), "the near one is named: {said}");
}

#[test]
fn a_host_component_that_the_environment_does_not_have_or_that_is_not_there() {
    let sandbox = Sandbox::greeting();
    sandbox.succeed(&["lock"]);
    let said = fails(&sandbox, &["build", "--host", "hip-sdk=."], "drystone::build::unknown_host");
    assert!(said.contains("no host components"), "{said}");
    let described = "host \"sdk\" {\n    root variable=\"SDK\"\n}\n";
    let manifest = sandbox.read("env.kdl").replacen(
        "    use \"hello\"",
        "    host \"sdk\" \"1\"\n    use \"hello\"",
        1,
    );
    sandbox.write("env.kdl", manifest + described);
    sandbox.succeed(&["lock"]);
    fails(&sandbox, &["build", "--host", "sdk=nowhere"], "drystone::project::directory");
    sandbox.succeed(&["build", "--host", &format!("sdk={}", sandbox.root().display())]);
}

#[test]
fn a_lock_that_is_missing_or_stale_or_damaged() {
    let sandbox = Sandbox::greeting();
    fails(&sandbox, &["--locked", "build"], "drystone::lock::missing");
    sandbox.succeed(&["lock"]);
    let lock = sandbox.read("lockfiles/greetings.lock.kdl");
    sandbox.manifest("2.0");
    fails(&sandbox, &["--locked", "build"], "drystone::lock::disagrees");
    sandbox.manifest("1.0");
    sandbox.write("lockfiles/greetings.lock.kdl", lock.replacen("strip 1", "strip 2", 1));
    let said = fails(&sandbox, &["build"], "drystone::lock");
    assert!(said.contains("hello"), "the node is named: {said}");
}

#[test]
fn archives_that_are_not_what_the_lock_says() {
    let sandbox = Sandbox::greeting();
    sandbox.succeed(&["lock"]);
    let archive = sandbox.path("archives/hello-1.0.zip");
    let right = std::fs::read(&archive).expect("the archive");
    std::fs::write(&archive, &right[..right.len() / 2]).expect("a truncated archive");
    fails(&sandbox, &["build"], "drystone::fetch");
    let mut wrong = right.clone();
    wrong[40] ^= 1;
    std::fs::write(&archive, &wrong).expect("another archive");
    let said = fails(&sandbox, &["build"], "drystone::fetch");
    assert!(said.contains(&support::sha256(&wrong)), "both hashes are named: {said}");
    assert!(said.contains(&support::sha256(&right)), "both hashes are named: {said}");
    std::fs::remove_file(&archive).expect("no archive");
    fails(&sandbox, &["build"], "drystone::fetch");
    std::fs::write(&archive, &right).expect("the archive");
    sandbox.succeed(&["build"]);
}

#[test]
fn an_archive_that_is_no_archive_and_one_that_would_escape() {
    let sandbox = Sandbox::greeting();
    sandbox.write("archives/greeting-1.0.zip", "<html><title>Not found</title></html>");
    sandbox.manifest("1.0");
    sandbox.succeed(&["lock"]);
    let said = fails(&sandbox, &["build"], "drystone::unpack");
    assert!(said.contains("HTML"), "{said}");
    sandbox.zip("greeting-1.0.zip", &[("../greeting.txt", b"x", 0o644)]);
    sandbox.manifest("1.0");
    sandbox.succeed(&["lock"]);
    let said = fails(&sandbox, &["build"], "drystone::unpack");
    assert!(said.contains("../greeting.txt"), "the entry is named: {said}");
    let stat = sandbox.json(&["store", "stat"]);
    assert_eq!(stat["trees"], 0, "nothing is in the store: {stat}");
}

#[test]
fn the_next_step_is_one_that_works() {
    let sandbox = Sandbox::greeting();
    let manifest = sandbox.read("env.kdl").replace("archives/hello-1.0.zip", "archives/gone.zip");
    sandbox.write("env.kdl", &manifest);
    sandbox.succeed(&["lock"]);
    let said = fails(&sandbox, &["build"], "drystone::fetch::unavailable");
    assert!(said.contains("correct the url") && said.contains("--from FILE"), "{said}");
    let archive = sandbox.path("archives/hello-1.0.zip");
    sandbox.succeed(&["fetch", "--from", archive.to_str().expect("a path")]);

    let unknown = manifest.lines().filter(|line| !line.trim().starts_with("sha256"));
    let unknown = unknown.collect::<Vec<_>>().join("\n");
    sandbox.write("env.kdl", &unknown);
    std::fs::remove_file(sandbox.path("lockfiles/greetings.lock.kdl")).expect("no lock");
    let said = fails(&sandbox, &["lock"], "drystone::fetch::unavailable");
    assert!(said.contains("add the `sha256`"), "no lock knows the file yet: {said}");
    sandbox
        .write("env.kdl", unknown.replace("file:archives/gone.zip", "https://127.0.0.1:9/a.zip"));
    let said = fails(&sandbox, &["--offline", "lock"], "drystone::fetch::offline");
    assert!(said.contains("add its `sha256`"), "{said}");
}

#[test]
fn nothing_listens_and_offline() {
    let sandbox = Sandbox::greeting();
    let manifest = sandbox
        .read("env.kdl")
        .replace("file:archives/hello-1.0.zip", "http://127.0.0.1:9/hello-1.0.zip");
    sandbox.write("env.kdl", manifest);
    sandbox.succeed(&["lock"]);
    let said = fails(&sandbox, &["--offline", "build"], "drystone::fetch");
    assert!(said.contains("hello"), "{said}");
}

#[test]
fn a_store_that_is_none_and_one_from_the_future() {
    let sandbox = Sandbox::greeting();
    sandbox.succeed(&["lock"]);
    std::fs::create_dir_all(sandbox.store()).expect("a directory");
    std::fs::write(sandbox.store().join("diary.txt"), "dear diary").expect("a file");
    fails(&sandbox, &["build"], "drystone::store");
    assert!(sandbox.store().join("diary.txt").exists());
    std::fs::remove_file(sandbox.store().join("diary.txt")).expect("removed");
    sandbox.succeed(&["build"]);
    let format = sandbox.store().join("format");
    let text = std::fs::read_to_string(&format).expect("the format file");
    std::fs::remove_file(&format).expect("removed");
    let newer = text
        .replacen('1', "999", 1)
        .replace("reader 1", "reader 999")
        .replace("\"minimum_reader\": 1", "\"minimum_reader\": 999");
    std::fs::write(&format, newer).expect("a newer format");
    fails(&sandbox, &["build"], "drystone::store");
}

#[test]
fn usage_errors_have_status_2() {
    let sandbox = Sandbox::new();
    for arguments in
        [&["frobnicate"][..], &["run"], &["build", "--host", "x"], &["gc", "--older-than", "soon"]]
    {
        assert_eq!(sandbox.output(arguments).status.code(), Some(2), "{arguments:?}");
    }
}
