//! Damage in the store: found by name, and brought back from the archives.

mod support;
#[path = "support/unprotect.rs"]
mod unprotect;

use std::path::PathBuf;

use support::Sandbox;
use unprotect::unprotect;

/// The blob that holds a file of the built environment.
fn blob_of(sandbox: &Sandbox, path: &str) -> PathBuf {
    let built = sandbox.json(&["build"]);
    let file = PathBuf::from(built["directory"].as_str().expect("a directory")).join(path);
    let content = std::fs::read(&file).expect("the file");
    let hex = blake3::hash(&content).to_hex().to_string();
    sandbox.store().join("blobs").join(&hex[..2]).join(&hex)
}

fn flip(path: &PathBuf) {
    let mut content = std::fs::read(path).expect("the blob");
    content[0] ^= 1;
    unprotect(path);
    std::fs::write(path, content).expect("damaged");
}

#[test]
fn a_changed_blob_is_named_with_whom_it_touches_and_repaired_under_every_name() {
    let sandbox = Sandbox::greeting();
    sandbox.succeed(&["lock"]);
    let blob = blob_of(&sandbox, "greeting/greeting.txt");
    flip(&blob);
    let output = sandbox.output(["store", "verify"]);
    assert_eq!(output.status.code(), Some(1));
    let said = support::text(&output.stdout);
    assert!(said.contains(&*blob.file_name().expect("a name").to_string_lossy()), "{said}");
    assert!(said.contains("generation 1 of greetings"), "{said}");
    let refused = sandbox.fail(&["run", "hello"]);
    assert!(refused.contains("drystone::file::changed"), "{refused}");
    let repaired = sandbox.json(&["store", "verify", "--repair"]);
    let damages = repaired["damages"].as_array().expect("damages");
    assert!(!damages.is_empty() && damages.iter().all(|damage| damage["repaired"] == true));
    assert_eq!(sandbox.json(&["store", "verify"])["damages"].as_array().map(Vec::len), Some(0));
    assert_eq!(sandbox.succeed(&["run", "hello"]), "good morning, world\n");
}

#[test]
fn a_build_brings_back_what_the_store_has_lost_even_without_its_archive() {
    let sandbox = Sandbox::greeting();
    sandbox.succeed(&["lock"]);
    let blob = blob_of(&sandbox, "greeting/greeting.txt");
    std::fs::remove_file(&blob).expect("the blob is gone");
    std::fs::remove_dir_all(sandbox.store().join("archives")).expect("the archives are gone");
    std::fs::create_dir(sandbox.store().join("archives")).expect("an empty directory");
    sandbox.manifest("2.0");
    sandbox.succeed(&["lock"]);
    sandbox.succeed(&["build"]);
    sandbox.manifest("1.0");
    let manifest = sandbox.read("env.kdl").replace("\"world\"", "\"moon\"");
    sandbox.write("env.kdl", manifest);
    sandbox.succeed(&["lock"]);
    sandbox.succeed(&["build"]);
    assert_eq!(sandbox.succeed(&["run", "hello"]), "good morning, moon\n");
}

#[test]
fn a_spoiled_archive_is_named_and_never_unpacked() {
    let sandbox = Sandbox::greeting();
    sandbox.succeed(&["lock"]);
    sandbox.succeed(&["fetch"]);
    let hash = support::sha256(&std::fs::read(sandbox.path("archives/hello-1.0.zip")).expect("it"));
    let archive = sandbox.store().join("archives").join(&hash);
    flip(&archive);
    let found = sandbox.output(["store", "verify"]);
    assert_eq!(found.status.code(), Some(1));
    assert!(support::text(&found.stdout).contains(&hash));
    let built = sandbox.output(["build"]);
    assert!(built.status.success(), "{}", support::text(&built.stderr));
    assert!(support::text(&built.stderr).contains("fetching it again"));
    assert_eq!(sandbox.json(&["store", "verify"])["damages"].as_array().map(Vec::len), Some(0));
}
