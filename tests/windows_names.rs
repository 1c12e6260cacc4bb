//! Names that Windows cannot hold, or takes for one, are refused on every system: when a manifest is
//! loaded, when contents are locked, and at the latest by a build. The package and the path are named.

mod support;

use serde_json::Value;
use support::Sandbox;

/// The path in a package, and a word of the reason.
const REFUSED: [(&str, &str); 19] = [
    ("d/CON", "device name \"CON\""),
    ("d/nul", "device name \"nul\""),
    ("d/NUL.txt", "device name \"NUL.txt\""),
    ("d/aux .c", "device name \"aux .c\""),
    ("d/Prn.tar.gz", "device name \"Prn.tar.gz\""),
    ("d/COM1", "device name \"COM1\""),
    ("d/com¹.log", "device name \"com¹.log\""),
    ("d/LPT9", "device name \"LPT9\""),
    ("d/CONIN$", "device name \"CONIN$\""),
    ("aux/file.h", "device name \"aux\""),
    ("d/ends.", "last dot or space"),
    ("d/ends ", "last dot or space"),
    ("ends./file", "last dot or space"),
    ("d/file:stream", "alternate stream"),
    ("d/a<b", "'<'"),
    ("d/a|b", "'|'"),
    ("d/a\"b", "'\"'"),
    ("d/what?", "'?'"),
    ("d/a*", "'*'"),
];

/// Two paths of a package that are one on Windows, or look like one.
const ONE_ON_WINDOWS: [(&str, &str); 5] = [
    ("d/Read.txt", "d/READ.TXT"),
    ("d/\u{e9}", "d/\u{c9}"),
    ("d/name", "D/NAME/file"),
    ("d/\u{e9}t\u{e9}", "d/e\u{301}te\u{301}"),
    ("d/K", "d/\u{212a}"),
];

/// All of them, or every fourth where starting a program takes long: the rules are the same text.
fn refused() -> impl Iterator<Item = (&'static str, &'static str)> {
    REFUSED.into_iter().step_by(if cfg!(windows) { 4 } else { 1 })
}

const ALLOWED: [&str; 8] = [
    "d/console.txt",
    "d/auxiliary.c",
    "d/com10",
    "d/COM",
    "d/.con",
    "d/nul-and-void",
    "d/été 日本語 'quoted' & (1) ~$x%y.txt",
    "d/ begins with a space",
];

/// A project whose environment, for this platform, has a package `odd` with these files.
fn with_files(platform: &str, files: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    let entries: Vec<support::File<'_>> =
        files.iter().map(|path| (*path, path.as_bytes(), 0o644)).collect();
    let sha256 = sandbox.zip("odd.zip", &entries);
    sandbox.write(
        "env.kdl",
        format!(
            "environment \"odd\" {{ platform \"{platform}\"; use \"odd\" \"1\" }}\npackage \"odd\" {{ version \"1\" {{ source {{ url \"file:archives/odd.zip\"; sha256 \"{sha256}\" }} }} }}\n"
        ),
    );
    sandbox
}

/// All that an error says, as it was before lines were broken.
fn refusal(sandbox: &Sandbox, arguments: &[&str]) -> String {
    fn texts(value: &Value, into: &mut String) {
        match value {
            Value::String(text) => {
                into.push_str(text);
                into.push('\n');
            }
            Value::Array(values) => values.iter().for_each(|value| texts(value, into)),
            Value::Object(fields) => fields.values().for_each(|value| texts(value, into)),
            _ => {}
        }
    }
    let output = sandbox.output([&["--json"], arguments].concat());
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
    let mut all = String::new();
    texts(&document, &mut all);
    all
}

fn assert_says(said: &str, words: &[&str]) {
    for word in words {
        assert!(said.contains(word), "no {word} in:\n{said}");
    }
}

const WINDOWS: [&str; 3] = ["build", "--platform", "x86_64-windows"];

#[test]
fn a_name_that_windows_cannot_hold_is_refused_by_lock_and_by_build() {
    for (path, why) in refused() {
        let sandbox = with_files("x86_64-windows", &[path, "fine.txt"]);
        let said = refusal(&sandbox, &["lock", "--contents"]);
        assert_says(&said, &["odd", path, why, "exclude", "rename"]);
        assert!(!sandbox.path("lockfiles/odd.lock.kdl").exists(), "{path}");
        sandbox.succeed(&["lock"]);
        assert_says(&refusal(&sandbox, &WINDOWS), &["odd", path, why]);
    }
}

#[test]
fn two_names_that_are_one_on_windows_are_refused_by_lock_and_by_build() {
    for (first, second) in ONE_ON_WINDOWS {
        let sandbox = with_files("x86_64-windows", &[first, second]);
        let said = refusal(&sandbox, &["lock", "--contents"]);
        assert_says(&said, &["odd", first.rsplit('/').next().unwrap_or(first)]);
        sandbox.succeed(&["lock"]);
        let said = refusal(&sandbox, &WINDOWS);
        assert_says(&said, &["odd 1", second.split('/').nth(1).unwrap_or(second)]);
    }
}

#[test]
fn what_only_looks_odd_is_locked_and_built() {
    let sandbox = with_files("x86_64-windows", &ALLOWED);
    sandbox.succeed(&["lock", "--contents"]);
    let built = sandbox.json(&WINDOWS);
    assert_eq!(built["files"], ALLOWED.len() + 1);
}

#[test]
fn a_linux_environment_may_hold_what_windows_cannot() {
    let paths: Vec<&str> = REFUSED.iter().map(|(path, _)| *path).collect();
    with_files("x86_64-linux", &paths).succeed(&["lock", "--contents"]);
}

#[test]
fn an_odd_name_can_be_left_out_or_renamed() {
    for cure in ["exclude \"d/NUL.txt\"", "rename \"d/NUL.txt\" \"d/null.txt\""] {
        let sandbox = with_files("x86_64-windows", &["d/NUL.txt", "fine.txt"]);
        let manifest = sandbox.read("env.kdl").replace("; sha256", &format!("; {cure}; sha256"));
        sandbox.write("env.kdl", manifest);
        sandbox.succeed(&["lock", "--contents"]);
        sandbox.succeed(&WINDOWS);
    }
}

#[test]
fn paths_that_a_manifest_gives_are_refused_when_it_is_loaded() {
    for (path, why) in refused() {
        let quoted = format!("{path:?}");
        for line in [
            format!("rename \"fine.txt\" {quoted}"),
            format!("into {quoted}"),
            format!("format \"file\"; name {quoted}"),
        ] {
            for (platform, refused) in [
                ("source {", true),
                ("source \"x86_64-windows\" {", true),
                ("source \"x86_64-linux\" {", false),
            ] {
                let sandbox = with_files("x86_64-linux", &["fine.txt"]);
                let manifest = sandbox.read("env.kdl");
                let manifest = manifest.replace("; sha256", &format!("; {line}; sha256"));
                sandbox.write("env.kdl", manifest.replace("source {", platform));
                let output = sandbox.output(["lock"]);
                assert_eq!(output.status.success(), !refused, "{platform} {line}: {output:?}");
                if refused {
                    let said = refusal(&sandbox, &["lock"]);
                    assert_says(&said, &[path, why, "drystone::manifest::windows_name"]);
                }
            }
        }
    }
}

#[test]
fn a_place_for_an_overlay_is_refused_when_the_environment_is_for_windows() {
    for (platform, refused) in [("x86_64-windows", true), ("x86_64-linux", false)] {
        let sandbox = with_files(platform, &["fine.exe"]);
        let application = "application \"a\" { in \"odd\"; program \"odd/fine.exe\"; overlay \"odd\" into=\"lib/aux\" }\n";
        sandbox.write("env.kdl", sandbox.read("env.kdl") + application);
        let output = sandbox.output(["lock"]);
        assert_eq!(output.status.success(), !refused, "{output:?}");
        if refused {
            assert_says(&refusal(&sandbox, &["lock"]), &["lib/aux", "device name \"aux\""]);
        }
    }
}

#[test]
fn names_of_environments_and_applications_are_never_device_names() {
    for name in ["con", "nul", "aux", "prn", "com1", "lpt9"] {
        let sandbox = with_files("x86_64-windows", &["fine.exe"]);
        let manifest = sandbox.read("env.kdl");
        let environment =
            manifest.replace("environment \"odd\"", &format!("environment \"{name}\""));
        let application = format!(
            "{manifest}application \"{name}\" {{ in \"odd\"; program \"odd/fine.exe\" }}\n"
        );
        for text in [environment, application] {
            sandbox.write("env.kdl", text);
            assert_says(&refusal(&sandbox, &["lock"]), &[name, "device name on Windows"]);
        }
        let kept = sandbox.output(["run", "hello", "--keep", name]);
        assert_eq!(kept.status.code(), Some(2), "{kept:?}");
    }
}

/// Windows itself makes no such files.
#[cfg(unix)]
#[test]
fn an_applications_own_files_are_refused_where_windows_cannot_hold_them() {
    let unusable = REFUSED.iter().filter(|(path, _)| !path.contains('/') || path.starts_with("d/"));
    let pairs = ONE_ON_WINDOWS.iter().map(|(first, second)| (vec![*first, *second], "same name"));
    let single = unusable.map(|(path, why)| (vec![*path], *why));
    for (paths, why) in single.chain(pairs) {
        let sandbox = with_files("x86_64-windows", &["fine.txt"]);
        sandbox.write("app/program.exe", "x");
        for path in &paths {
            sandbox.write(&format!("app/{path}"), "x");
        }
        let application =
            "application \"a\" { in \"odd\"; files \"app\"; program \"program.exe\" }\n";
        sandbox.write("env.kdl", sandbox.read("env.kdl") + application);
        let said = refusal(&sandbox, &WINDOWS);
        assert_says(&said, &["application \"a\"", why]);
    }
}

/// A project for Windows whose package `odd` has one file, which application `a`, or one of a longer
/// name, starts.
fn with_program(directory: &str, application: &str) -> Sandbox {
    let program = format!("bin/{directory}/start.exe");
    let sandbox = with_files("x86_64-windows", &["bin/start.cmd", &program]);
    let text =
        format!("application \"{application}\" {{ in \"odd\"; program \"odd/bin/start.cmd\" }}\n");
    sandbox.write("env.kdl", sandbox.read("env.kdl") + &text);
    sandbox
}

#[test]
fn a_path_that_is_too_long_to_be_started_is_refused_when_contents_are_locked() {
    // With the store's 60 units: `\realised\<32>-odd\odd\bin\` and `\start.exe` have 65 more.
    let sandbox = with_program(&"d".repeat(135), "a");
    let said = refusal(&sandbox, &["lock", "--contents"]);
    let program = format!("odd/bin/{}/start.exe", "d".repeat(135));
    assert_says(
        &said,
        &[&program, "environment \"odd\"", "260 UTF-16 units", "259 are allowed", "--store"],
    );
    with_program(&"d".repeat(134), "a").succeed(&["lock", "--contents"]);
}

#[test]
fn a_runtime_directory_has_a_longer_path_and_is_looked_at_as_well() {
    // `\runtimes\<16>\<32>\<8>\app\` and `\start.exe` have 83 units, more than the environment's.
    let long_name = "a".repeat(32);
    let sandbox = with_program(&"d".repeat(117), &long_name);
    let said = refusal(&sandbox, &["lock", "--contents"]);
    let program = format!("{}/start.exe", "d".repeat(117));
    assert_says(
        &said,
        &[&program, "runtime directory of application \"aaaa", "260 UTF-16 units", "shorter name"],
    );
    with_program(&"d".repeat(116), &long_name).succeed(&["lock", "--contents"]);
    with_program(&"d".repeat(117), "a").succeed(&["lock", "--contents"]);
    if cfg!(unix) {
        // Windows builds with the path of its own store.
        let sandbox = with_program(&"d".repeat(117), &long_name);
        sandbox.succeed(&["lock"]);
        assert_says(&refusal(&sandbox, &WINDOWS), &[&program, "260 UTF-16 units"]);
    }
}
