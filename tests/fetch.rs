//! `drystone fetch` and what builds fetch: mirrors, resuming, files brought by hand, no network.

#[path = "support/http_server.rs"]
mod http_server;
mod support;

use http_server::{Answer, Server};
use support::Sandbox;

/// The greeting stack with package `hello` behind two mirrors.
fn with_mirrors(sandbox: &Sandbox, first: &str, second: &str) -> Vec<u8> {
    let manifest = sandbox.read("env.kdl").replace(
        "url \"file:archives/hello-1.0.zip\"",
        &format!("url \"{first}\"\n            url \"{second}\""),
    );
    sandbox.write("env.kdl", manifest);
    sandbox.succeed(&["lock"]);
    std::fs::read(sandbox.path("archives/hello-1.0.zip")).expect("the archive")
}

#[test]
fn the_second_mirror_serves_where_the_first_sends_a_page() {
    let sandbox = Sandbox::greeting();
    let server = Server::start();
    let archive =
        with_mirrors(&sandbox, &server.url("/broken/hello.zip"), &server.url("/good/hello.zip"));
    server.on("/broken/hello.zip", Answer::page("Please log in"));
    server.on("/good/hello.zip", Answer::file(archive));
    let report = sandbox.json(&["fetch"]);
    let fetched = report["fetched"].as_array().expect("archives");
    assert_eq!(fetched.len(), 2, "{report}");
    assert!(report.to_string().contains("/good/hello.zip"), "{report}");
    assert_eq!(sandbox.succeed(&["--offline", "run", "hello"]), "good morning, world\n");
}

#[test]
fn every_mirror_and_what_happened_at_it_is_named() {
    let sandbox = Sandbox::greeting();
    let server = Server::start();
    with_mirrors(&sandbox, &server.url("/page.zip"), &server.url("/gone.zip"));
    server.on("/page.zip", Answer::page("Please log in"));
    server.on("/gone.zip", Answer::status(404));
    let said = sandbox.fail(&["build"]);
    for expected in ["/page.zip", "Please log in", "/gone.zip", "404", "--from"] {
        assert!(said.contains(expected), "no {expected} in:\n{said}");
    }
}

#[test]
fn a_cut_download_is_continued_where_it_stopped() {
    let sandbox = Sandbox::greeting();
    let server = Server::start();
    let archive = with_mirrors(&sandbox, &server.url("/hello.zip"), &server.url("/none.zip"));
    let whole = || Answer::file(archive.clone()).ranges().etag("\"1\"");
    server.on_each("/hello.zip", [whole().cut(100), whole()]);
    sandbox.succeed(&["fetch"]);
    let ranges: Vec<Option<String>> = server
        .log()
        .iter()
        .filter(|asked| asked.header("range").is_some())
        .map(|asked| asked.header("range").map(str::to_owned))
        .collect();
    assert_eq!(ranges, [Some("bytes=100-".to_owned())]);
}

#[test]
fn a_file_brought_by_hand_is_taken_only_when_its_hash_is_right() {
    let sandbox = Sandbox::greeting();
    let nowhere = "http://127.0.0.1:9/hello.zip";
    with_mirrors(&sandbox, nowhere, nowhere);
    let wrong = sandbox.path("env.kdl").display().to_string();
    let said = sandbox.fail(&["fetch", "--from", &wrong]);
    assert!(said.contains("drystone::fetch::unknown_file"), "{said}");
    let right = sandbox.path("archives/hello-1.0.zip").display().to_string();
    let report = sandbox.json(&["fetch", "--from", &right]);
    assert_eq!(report["fetched"][0]["package"], "hello");
    assert_eq!(sandbox.succeed(&["--offline", "run", "hello"]), "good morning, world\n");
}

#[test]
fn gc_keeps_what_was_fetched_for_a_lock_and_not_yet_built() {
    let sandbox = Sandbox::greeting();
    sandbox.succeed(&["lock"]);
    sandbox.succeed(&["fetch"]);
    sandbox.succeed(&["gc"]);
    assert_eq!(sandbox.json(&["fetch"])["present"], 2);
}

#[test]
fn what_came_out_of_a_wrong_archive_is_neither_built_nor_kept() {
    let sandbox = Sandbox::greeting();
    sandbox.hello("other-1.0.zip", "wrong");
    let (other, right) = ("file:archives/other-1.0.zip", "file:archives/hello-1.0.zip");
    let archive = with_mirrors(&sandbox, other, right);
    let other = sandbox.path("archives/other-1.0.zip");
    assert_eq!(std::fs::read(&other).expect("the archive").len(), archive.len());
    let wrong = blake3::hash(b"wrong\n").to_hex().to_string();
    for (store, garbage) in [("first", false), ("second", true)] {
        if garbage {
            std::fs::write(&other, vec![b'x'; archive.len()]).expect("written");
        }
        let store = sandbox.path(store);
        let built = sandbox.json(&["--store", &store.display().to_string(), "build"]);
        let directory = std::path::PathBuf::from(built["directory"].as_str().expect("realised"));
        let text = std::fs::read_to_string(directory.join("hello/greeting.txt")).expect("a file");
        assert_eq!(text, "plain\n");
        assert!(!store.join("blobs").join(&wrong[..2]).join(&wrong).exists());
    }
}
