//! `drystone run`, `exec`, `shell` and `runtime`: directories that are kept, discarded, named;
//! signals; what is left behind.

mod support;

use std::time::{Duration, Instant};

use support::Sandbox;

fn built() -> Sandbox {
    let sandbox = Sandbox::greeting();
    sandbox.succeed(&["lock"]);
    sandbox.succeed(&["build"]);
    sandbox
}

fn runtimes(sandbox: &Sandbox) -> Vec<serde_json::Value> {
    let report = sandbox.json(&["runtime", "list"]);
    report["runtimes"].as_array().cloned().expect("a list")
}

#[test]
fn the_newest_three_directories_stay_and_discard_leaves_none() {
    let sandbox = built();
    sandbox.succeed(&["run", "hello", "--discard"]);
    assert_eq!(runtimes(&sandbox).len(), 0);
    for _ in 0..5 {
        sandbox.succeed(&["run", "hello"]);
    }
    let kept = runtimes(&sandbox);
    assert_eq!(kept.len(), 3);
    assert!(kept.iter().all(|runtime| runtime["state"] == "finished"));
    let id = kept[0]["id"].as_str().expect("an id");
    sandbox.succeed(&["runtime", "remove", id]);
    assert_eq!(runtimes(&sandbox).len(), 2);
    let said = sandbox.fail(&["runtime", "remove", id]);
    assert!(said.contains(id), "{said}");
}

#[test]
fn a_directory_kept_by_name_stays_and_is_used_again() {
    let sandbox = built();
    sandbox.succeed(&["run", "hello", "--keep", "mine"]);
    for _ in 0..4 {
        sandbox.succeed(&["run", "hello"]);
    }
    sandbox.succeed(&["run", "hello", "--keep", "mine"]);
    let named: Vec<_> =
        runtimes(&sandbox).into_iter().filter(|runtime| runtime["name"] == "mine").collect();
    assert_eq!(named.len(), 1);
    sandbox.succeed(&["gc", "--older-than", "0s"]);
    assert_eq!(runtimes(&sandbox).len(), 1, "only the named one outlives its age");
    sandbox.succeed(&["runtime", "remove", "mine"]);
    assert_eq!(runtimes(&sandbox).len(), 0);
}

#[test]
fn the_application_never_sees_the_callers_own_variables() {
    let sandbox = built();
    let mut command = sandbox.command();
    command.env("CUDA_PATH", "leftover").args(["exec", "--"]);
    if cfg!(windows) {
        command.args(["cmd", "/c", "echo [%CUDA_PATH%]"]);
    } else {
        command.args(["sh", "-c", "echo [$CUDA_PATH]"]);
    }
    let output = command.output().expect("it runs");
    let said = support::text(&output.stdout);
    assert!(!said.contains("leftover"), "{said}");
}

#[test]
fn the_store_and_the_environment_cannot_be_written_through_a_run() {
    let sandbox = built();
    let report = sandbox.json(&["build"]);
    let directory = report["directory"].as_str().expect("a directory").to_owned();
    let greeting = std::path::Path::new(&directory).join("greeting").join("greeting.txt");
    let metadata = std::fs::metadata(greeting).expect("the file");
    if cfg!(unix) {
        assert!(metadata.permissions().readonly());
    }
    sandbox.succeed(&["run", "hello"]);
    assert_eq!(sandbox.json(&["store", "verify"])["damages"].as_array().map(Vec::len), Some(0));
}

#[test]
fn a_command_that_is_not_there_is_one_clear_message() {
    let sandbox = built();
    let said = sandbox.fail(&["exec", "--", "no-such-command"]);
    assert!(said.contains("no-such-command") && said.contains("help:"), "{said}");
}

/// An application that says it is there and then waits: for ever, or until a file is there, or in a
/// process of its own, which it leaves behind.
fn waiting() -> Sandbox {
    const UNIX: &[u8] = br#"#!/bin/sh
case "$1" in
    "") echo there; exec sleep 600 ;;
    leave) sleep 600 & exit 3 ;;
esac
echo there
while [ ! -e "$1" ]; do sleep 0.02; done
"#;
    const WINDOWS: &str = "@echo off
if \"%~1\"==\"leave\" (start \"\" /b cmd /c \"%~f0\" & exit /b 3)
echo there
:wait
if not exist \"%~1\" (ping -n 1 127.0.0.1 >nul & goto wait)
";
    let sandbox = Sandbox::new();
    let windows = WINDOWS.replace('\n', "\r\n");
    let files = [("wait.sh", UNIX, 0o755), ("wait.cmd", windows.as_bytes(), 0o644)];
    let sha256 = sandbox.zip("wait.zip", &files);
    sandbox.write(
        "env.kdl",
        format!(
            r#"environment "waiting" {{
    platform "x86_64-linux"
    platform "aarch64-linux"
    platform "x86_64-windows"
    use "wait" "1"
}}

application "wait" {{
    in "waiting"
    program "wait/wait.sh" platform="x86_64-linux"
    program "wait/wait.sh" platform="aarch64-linux"
    program "wait/wait.cmd" platform="x86_64-windows"
}}

package "wait" {{
    version "1" {{
        source {{
            url "file:archives/wait.zip"
            sha256 "{sha256}"
        }}
    }}
}}
"#
        ),
    );
    sandbox.succeed(&["lock"]);
    sandbox.succeed(&["build"]);
    sandbox
}

/// Waits for something that must come, and does not wait for ever.
fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_detached_run_goes_on_is_listed_and_is_nobodys_to_remove() {
    let sandbox = waiting();
    let end = sandbox.path("end");
    let argument = end.to_str().expect("text");
    let detached = sandbox.json(&["run", "wait", "--detach", "--", argument]);
    let id = detached["id"].as_str().expect("an id");
    let output = std::path::PathBuf::from(detached["output"].as_str().expect("a file"));
    let said = || support::text(&std::fs::read(&output).expect("what it says"));
    eventually("it says that it is there", || said() == "there\n");
    assert_eq!(runtimes(&sandbox)[0]["state"], "running");
    let refused = sandbox.fail(&["runtime", "remove", id]);
    assert!(refused.contains("running") || refused.contains("in use"), "{refused}");
    sandbox.succeed(&["gc", "--older-than", "0s"]);
    assert_eq!(runtimes(&sandbox).len(), 1);
    std::fs::write(&end, "").expect("the end");
    eventually("it ends", || runtimes(&sandbox)[0]["state"] == "finished");
    assert!(runtimes(&sandbox)[0]["status"].is_null(), "nobody knows how it ended");
    sandbox.succeed(&["runtime", "remove", id]);
    assert_eq!(runtimes(&sandbox).len(), 0);
}

#[test]
fn what_a_program_leaves_running_ends_with_the_run() {
    let sandbox = waiting();
    // Its streams are read to their end: what it leaves has them, and would keep this test.
    let output = sandbox.output(["run", "wait", "--", "leave"]);
    assert_eq!(output.status.code(), Some(3));
    let said = support::text(&output.stderr);
    assert!(said.contains("ended with the run") && said.contains("--detach"), "{said}");
    assert_eq!(runtimes(&sandbox)[0]["state"], "finished");
}

#[cfg(unix)]
mod unix {
    use std::os::unix::process::CommandExt;
    use std::process::Stdio;

    use super::*;

    #[test]
    fn ctrl_c_ends_the_program_and_leaves_no_directory_in_use() {
        // Heeded also where whoever started the tests ignores it, as shells do in the background.
        let always = std::sync::Arc::new(true.into());
        signal_hook::flag::register_conditional_default(signal_hook::consts::SIGINT, always)
            .expect("registered");
        let sandbox = waiting();
        let mut run = sandbox
            .command()
            .args(["run", "wait", "--discard"])
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .expect("a run");
        let mut first = [0; 6];
        std::io::Read::read_exact(run.stdout.as_mut().expect("stdout"), &mut first).expect("there");
        let group = run.id();
        let killed = std::process::Command::new("sh")
            .args(["-c", &format!("kill -INT -{group}")])
            .status()
            .expect("kill");
        assert!(killed.success());
        let asked = Instant::now();
        let status = loop {
            if let Some(status) = run.try_wait().expect("its status") {
                break status;
            }
            assert!(asked.elapsed() < Duration::from_secs(20), "the run outlives Ctrl-C");
            std::thread::sleep(Duration::from_millis(10));
        };
        assert_eq!(status.code(), Some(130));
        assert_eq!(runtimes(&sandbox).len(), 0, "nothing is left after Ctrl-C");
    }

    #[test]
    fn a_directory_somebody_lives_in_is_not_removed_and_outlives_drystone() {
        let sandbox = waiting();
        let mut run =
            sandbox.command().args(["run", "wait"]).stdout(Stdio::piped()).spawn().expect("a run");
        let mut first = [0; 6];
        std::io::Read::read_exact(run.stdout.as_mut().expect("stdout"), &mut first).expect("there");
        run.kill().expect("drystone is killed");
        run.wait().expect("it ended");
        let living = runtimes(&sandbox);
        assert_eq!(living.len(), 1);
        assert_eq!(living[0]["state"], "running", "the lease outlives drystone");
        let id = living[0]["id"].as_str().expect("an id").to_owned();
        sandbox.fail(&["runtime", "remove", &id]);
        sandbox.succeed(&["gc", "--older-than", "0s"]);
        assert_eq!(runtimes(&sandbox).len(), 1);
        let lease = std::path::Path::new(living[0]["path"].as_str().expect("a path")).join("lease");
        let script = format!(
            "for p in /proc/[0-9]*; do if ls -l $p/fd 2>/dev/null | grep -q '{}'; then kill ${{p#/proc/}}; fi; done",
            lease.display()
        );
        std::process::Command::new("sh").args(["-c", &script]).status().expect("killed");
        eventually("it ends", || runtimes(&sandbox)[0]["state"] != "running");
        assert_eq!(runtimes(&sandbox)[0]["state"], "interrupted");
        sandbox.succeed(&["runtime", "remove", &id]);
    }

    #[test]
    fn a_shell_has_the_environments_variables() {
        let sandbox = built();
        let mut shell = sandbox.command();
        shell.env("SHELL", "/bin/sh").arg("shell").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = shell.spawn().expect("a shell");
        std::io::Write::write_all(
            &mut child.stdin.take().expect("stdin"),
            b"echo $GREETED $DRYSTONE_ENVIRONMENT; exit 7\n",
        )
        .expect("typed");
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(support::text(&output.stdout), "world greetings\n");
        assert_eq!(output.status.code(), Some(7));
    }
}

#[cfg(unix)]
#[test]
fn what_a_process_runs_in_is_kept_for_it_and_made_again_where_it_is_gone() {
    let sandbox = built();
    let show = format!("cat '{}'/locks/sessions/*.roots", sandbox.store().display());
    let mut command = sandbox.command();
    let said = command.args(["exec", "--", "sh", "-c", &show]).output().expect("started");
    let roots = support::text(&said.stdout);
    let line = roots.lines().find_map(|line| line.strip_prefix("realised ")).expect("a root");
    let directory = sandbox.store().join("realised").join(line);
    assert!(directory.is_dir());
    let opened = std::process::Command::new("chmod").args(["-R", "u+w"]).arg(&directory).status();
    assert!(opened.expect("started").success());
    std::fs::remove_dir_all(&directory).expect("removed");
    let mut command = sandbox.command();
    let said = command.args(["run", "hello"]).output().expect("started");
    let why = support::text(&said.stderr);
    assert!(said.status.success() && why.contains("made again from the store"), "{why}");
    assert!(directory.is_dir());
    sandbox.succeed(&["store", "verify"]);
}

#[cfg(windows)]
mod windows {
    use std::os::windows::process::CommandExt;
    use std::process::Stdio;

    use windows_sys::Win32::System::Console::{CTRL_BREAK_EVENT, GenerateConsoleCtrlEvent};
    use windows_sys::Win32::System::Threading::CREATE_NEW_PROCESS_GROUP;

    use super::*;

    #[test]
    fn ctrl_break_ends_the_program_and_leaves_no_directory_in_use() {
        let sandbox = waiting();
        let mut run = sandbox
            .command()
            .args(["run", "wait", "--discard"])
            .stdout(Stdio::piped())
            .creation_flags(CREATE_NEW_PROCESS_GROUP)
            .spawn()
            .expect("a run");
        let mut first = [0; 5];
        std::io::Read::read_exact(run.stdout.as_mut().expect("stdout"), &mut first).expect("there");
        // SAFETY: two numbers; the group is that of the process started above.
        let sent = unsafe { GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, run.id()) };
        assert_ne!(sent, 0, "{}", std::io::Error::last_os_error());
        eventually("the run ends with Ctrl-Break", || {
            run.try_wait().expect("its status").is_some()
        });
        assert_eq!(runtimes(&sandbox).len(), 0, "nothing is left after Ctrl-Break");
    }

    #[test]
    fn a_killed_run_takes_its_program_along() {
        let sandbox = waiting();
        let mut run =
            sandbox.command().args(["run", "wait"]).stdout(Stdio::piped()).spawn().expect("a run");
        let mut first = [0; 5];
        std::io::Read::read_exact(run.stdout.as_mut().expect("stdout"), &mut first).expect("there");
        run.kill().expect("drystone is killed");
        run.wait().expect("it ended");
        eventually("nobody lives in it", || runtimes(&sandbox)[0]["state"] == "interrupted");
    }
}
