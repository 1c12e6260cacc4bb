//! Projects and stores at paths of more than 260 units, and every way to write a path.
//!
//! Windows opens files at such paths and starts nothing there: what would be started is refused
//! before, in words.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use support::{Sandbox, text};

/// A directory below the sandbox whose path has more than 400 units, some of them outside of ASCII.
fn deep(sandbox: &Sandbox) -> PathBuf {
    let mut directory = sandbox.root().to_path_buf();
    for level in 0..10 {
        directory.push(format!("{level} long nämes, one in another 石垣"));
    }
    assert!(directory.to_string_lossy().encode_utf16().count() > 300);
    directory
}

/// Brings the greeting stack's project into a directory.
fn project_at(sandbox: &Sandbox, directory: &Path, manifest: &str) {
    std::fs::create_dir_all(directory.join("archives")).expect("a directory");
    for entry in std::fs::read_dir(sandbox.path("archives")).expect("archives") {
        let path = entry.expect("an archive").path();
        let name = path.file_name().expect("a name");
        std::fs::copy(&path, directory.join("archives").join(name)).expect("a copy");
    }
    std::fs::write(directory.join("env.kdl"), manifest).expect("a manifest");
}

/// The greeting stack without its application: nothing of it is started.
fn nothing_to_start(sandbox: &Sandbox, greeting: &str) -> String {
    let text = sandbox.manifest_text(greeting);
    let (before, rest) = text.split_once("application ").expect("an application");
    let (_, after) = rest.split_once("\n}\n").expect("its end");
    // Its scripts are named as what Windows starts: they are read only.
    format!("{before}{after}").replace("strip 1\n", "strip 1\nexclude \"*.cmd\"\n")
}

fn drystone(sandbox: &Sandbox, project: &Path, store: &Path) -> Command {
    let mut command = sandbox.command();
    command.arg("--project").arg(project).arg("--store").arg(store);
    // The sandbox names its own project first.
    let mut own = Command::new(command.get_program());
    own.args(command.get_args().skip(2));
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => own.env(name, value),
            None => own.env_remove(name),
        };
    }
    own
}

#[track_caller]
fn ends_with(status: i32, output: &Output) -> String {
    let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(status), "{said}");
    said
}

#[test]
fn a_project_and_a_store_at_long_paths_are_locked_built_verified_and_cleaned() {
    let sandbox = Sandbox::greeting();
    let (project, store) = (deep(&sandbox).join("project"), deep(&sandbox).join("store"));
    project_at(&sandbox, &project, &nothing_to_start(&sandbox, "1.0"));
    let run = |arguments: &[&str]| {
        let output = drystone(&sandbox, &project, &store).args(arguments).output();
        ends_with(0, &output.expect("the program starts"))
    };
    run(&["lock", "--contents"]);
    run(&["lock", "--check"]);
    run(&["build"]);
    std::fs::write(project.join("env.kdl"), nothing_to_start(&sandbox, "2.0")).expect("a manifest");
    run(&["lock"]);
    run(&["build"]);
    assert!(run(&["diff"]).contains("greeting"));
    run(&["rollback", "--to", "1", "--restore"]);
    assert!(run(&["history"]).contains('2'));
    run(&["store", "verify"]);
    run(&["gc", "--older-than", "0d"]);
    run(&["store", "verify"]);
    run(&["store", "stat"]);
    run(&["build"]);
    let command = if cfg!(windows) { ["cmd", "/c", "exit 3"] } else { ["sh", "-c", "exit 3"] };
    let output = drystone(&sandbox, &project, &store).arg("exec").arg("--").args(command).output();
    ends_with(3, &output.expect("the program starts"));
}

#[test]
fn what_is_started_runs_from_a_project_at_a_long_path() {
    let sandbox = Sandbox::greeting();
    let project = deep(&sandbox).join("project");
    project_at(&sandbox, &project, &sandbox.manifest_text("1.0"));
    let output = drystone(&sandbox, &project, &sandbox.store()).args(["run", "hello"]).output();
    let said = ends_with(0, &output.expect("the program starts"));
    assert!(said.contains("good morning, world"), "{said}");
}

#[cfg(windows)]
mod windows {
    use super::*;

    /// What lines were broken at is one space again.
    fn words(text: &str) -> String {
        let drawn = |c: char| c.is_whitespace() || matches!(c, '│' | '×' | '╰' | '─' | '▶' | '|');
        text.split(drawn).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }

    #[track_caller]
    fn assert_says(said: &str, expected: &[&str]) {
        let said = words(said);
        for word in expected {
            assert!(said.contains(word), "no {word} in:\n{said}");
        }
    }

    #[test]
    fn a_build_into_a_store_too_deep_to_start_anything_is_refused() {
        let sandbox = Sandbox::greeting();
        let store = deep(&sandbox).join("store");
        let run = |arguments: &[&str]| {
            let output = drystone(&sandbox, &sandbox.path(""), &store).args(arguments).output();
            output.expect("the program starts")
        };
        // The nominal path of a store is short enough.
        ends_with(0, &run(&["lock", "--contents"]));
        let said = ends_with(1, &run(&["build"]));
        assert_says(&said, &["hello.cmd", "UTF-16 units", "259 are allowed", "--store"]);
        assert_says(&ends_with(1, &run(&["run", "hello"])), &["259 are allowed"]);
    }

    #[test]
    fn a_store_that_was_moved_too_deep_starts_nothing() {
        let sandbox = Sandbox::greeting();
        sandbox.succeed(&["run", "hello"]);
        let store = deep(&sandbox).join("store");
        std::fs::create_dir_all(deep(&sandbox)).expect("a directory");
        std::fs::rename(sandbox.store(), &store).expect("a move");
        let output = drystone(&sandbox, &sandbox.path(""), &store).args(["run", "hello"]).output();
        let said = ends_with(1, &output.expect("the program starts"));
        assert_says(&said, &["hello.cmd", "runtime directory of application", "259 are allowed"]);
    }

    #[test]
    fn a_command_at_a_long_path_is_refused_with_its_length() {
        let sandbox = Sandbox::greeting();
        let program = deep(&sandbox).join("program.exe");
        std::fs::create_dir_all(deep(&sandbox)).expect("a directory");
        std::fs::write(&program, "never started").expect("a file");
        let output = sandbox.command().args(["exec", "--"]).arg(&program).output();
        let said = ends_with(1, &output.expect("the program starts"));
        assert_says(&said, &["starts no program with more than 259", "move the program"]);
    }

    #[test]
    fn every_way_to_write_a_project_and_a_store_means_the_same() {
        let sandbox = Sandbox::greeting();
        let root = sandbox.root().to_str().expect("text").to_owned();
        let (drive, below) = root.split_at(2);
        for (project, store) in [
            (format!(r"\\?\{root}\project"), format!(r"\\?\{root}\store")),
            (root.replace('\\', "/") + "/project/", root.replace('\\', "/") + "/store/"),
            (format!("{drive}project"), format!("{drive}store")),
            (format!(r"{below}\project"), format!(r"{below}\store")),
            (r"project\..\.\project\env.kdl".to_owned(), r".\store".to_owned()),
        ] {
            let run = |arguments: &[&str]| {
                let mut command = drystone(&sandbox, Path::new(&project), Path::new(&store));
                let output = command.current_dir(&root).args(arguments).output();
                let output = output.expect("the program starts");
                ends_with(0, &output);
                text(&output.stdout)
            };
            let built = run(&["--json", "build"]);
            let built: serde_json::Value = serde_json::from_str(&built).expect("a document");
            let directory = built["directory"].as_str().expect("a directory");
            assert!(directory.starts_with(&format!(r"{root}\store\")), "{project}: {directory}");
            assert_eq!(built["generation"], 1, "{project} is the project that was built before");
            assert!(run(&["run", "hello"]).contains("good morning"), "{project}");
        }
    }

    #[test]
    fn what_is_no_directory_of_a_drive_is_refused_in_words() {
        let sandbox = Sandbox::greeting();
        for store in ["NUL", r"\\.\pipe\store", r"\\?\Volume{0}\store"] {
            let output =
                drystone(&sandbox, &sandbox.path(""), Path::new(store)).arg("build").output();
            let said = ends_with(1, &output.expect("the program starts"));
            assert_says(&said, &["names a device or a volume without a letter"]);
        }
    }
}
