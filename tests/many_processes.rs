//! Several processes and one store: builds at once, builds that are killed.

mod support;

use std::process::Stdio;
use std::time::Duration;

use support::Sandbox;

/// A stack whose archive is large enough that a build can be killed in the middle of it.
fn large(sandbox: &Sandbox) {
    let contents: Vec<(String, Vec<u8>)> = (0..400u32)
        .map(|number| {
            let content = blake3::hash(&number.to_le_bytes()).as_bytes().repeat(3_000);
            (format!("data/{number}.bin"), content)
        })
        .collect();
    let files: Vec<support::File<'_>> =
        contents.iter().map(|(path, content)| (path.as_str(), content.as_slice(), 0o644)).collect();
    let sha256 = sandbox.zip("large.zip", &files);
    sandbox.write(
        "env.kdl",
        format!(
            r#"environment "large" {{
    platform "x86_64-linux"
    platform "aarch64-linux"
    platform "x86_64-windows"
    use "large" "1.0"
}}

package "large" {{
    version "1.0" {{
        source {{
            url "file:archives/large.zip"
            sha256 "{sha256}"
        }}
    }}
}}
"#
        ),
    );
    sandbox.succeed(&["lock"]);
}

fn damages(sandbox: &Sandbox) -> usize {
    let output = sandbox.output(["--json", "store", "verify"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    report["damages"].as_array().map(Vec::len).expect("a list of damages")
}

#[test]
fn ten_builds_at_once_make_one_environment() {
    let sandbox = Sandbox::new();
    large(&sandbox);
    let builds: Vec<_> = (0..10)
        .map(|_| {
            sandbox
                .command()
                .args(["--json", "build"])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("a build starts")
        })
        .collect();
    let mut trees = std::collections::BTreeSet::new();
    let mut new = 0;
    for build in builds {
        let output = build.wait_with_output().expect("a build ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        trees.insert(report["tree"].as_str().expect("a tree").to_owned());
        new += usize::from(report["new"] == true);
    }
    assert_eq!((trees.len(), new), (1, 1));
    assert_eq!(damages(&sandbox), 0);
    let stat = sandbox.json(&["store", "stat"]);
    assert_eq!(stat["realised"], 1);
}

#[test]
fn a_build_killed_at_any_moment_leaves_a_store_that_goes_on() {
    let sandbox = Sandbox::new();
    large(&sandbox);
    for milliseconds in [5, 15, 30, 50, 80, 120, 170] {
        let mut build = sandbox
            .command()
            .arg("build")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a build starts");
        std::thread::sleep(Duration::from_millis(milliseconds));
        // It may have ended by itself already; then there was nothing to kill.
        let _ended = build.kill();
        build.wait().expect("a build ends");
        assert_eq!(damages(&sandbox), 0, "killed after {milliseconds} ms");
    }
    sandbox.succeed(&["build"]);
    assert_eq!(damages(&sandbox), 0);
    sandbox.succeed(&["gc"]);
    let staged: Vec<_> = std::fs::read_dir(sandbox.store().join("tmp")).expect("tmp").collect();
    assert!(staged.is_empty(), "what killed builds staged is swept: {staged:?}");
}

#[test]
fn gc_beside_builds_takes_nothing_that_they_need() {
    let sandbox = Sandbox::new();
    large(&sandbox);
    let builds: Vec<_> = (0..3)
        .map(|_| sandbox.command().arg("build").stdout(Stdio::null()).spawn().expect("a build"))
        .collect();
    for _ in 0..5 {
        sandbox.succeed(&["gc"]);
    }
    for mut build in builds {
        assert!(build.wait().expect("a build ends").success());
    }
    assert_eq!(damages(&sandbox), 0);
    sandbox.succeed(&["exec", "--", if cfg!(windows) { "whoami" } else { "true" }]);
}

#[test]
fn several_collectors_do_not_stumble_over_each_other() {
    let sandbox = Sandbox::greeting();
    for version in ["1.0", "2.0", "1.0", "2.0", "1.0"] {
        sandbox.manifest(version);
        sandbox.succeed(&["lock"]);
        sandbox.succeed(&["build"]);
        sandbox.succeed(&["run", "hello"]);
    }
    let collectors: Vec<_> = (0..6)
        .map(|_| {
            let mut command = sandbox.command();
            command.args(["gc", "--older-than", "0s"]).stderr(Stdio::piped());
            command.stdout(Stdio::null()).spawn().expect("it starts")
        })
        .collect();
    for collector in collectors {
        let output = collector.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{}", support::text(&output.stderr));
    }
    sandbox.succeed(&["run", "hello"]);
}
