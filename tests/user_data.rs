//! Where a person's own store lies when nobody says: in the user's data directory, whatever its path
//! is made of, and never in one that depends on where a command was started.

mod support;

use std::path::{Path, PathBuf};
use std::process::Output;

use support::Sandbox;

const VARIABLE: &str = if cfg!(windows) { "LOCALAPPDATA" } else { "XDG_DATA_HOME" };

/// A project without anything to start: its store may lie at any depth.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    let sha256 = sandbox.zip("one.zip", &[("notes.txt", b"notes", 0o644)]);
    let platform = if cfg!(windows) { "x86_64-windows" } else { "x86_64-linux" };
    sandbox.write(
        "env.kdl",
        format!(
            "environment \"one\" {{ platform \"{platform}\"; use \"one\" \"1\" }}\npackage \"one\" {{ version \"1\" {{ source {{ url \"file:archives/one.zip\"; sha256 \"{sha256}\" }} }} }}\n"
        ),
    );
    sandbox
}

fn build(sandbox: &Sandbox, data: &Path) -> Output {
    let mut command = sandbox.command();
    command.env_remove("DRYSTONE_STORE").env(VARIABLE, data).args(["--json", "build"]);
    command.current_dir(sandbox.root()).output().expect("the program starts")
}

#[test]
fn the_store_lies_in_the_users_data_directory_at_any_path() {
    let mut long = PathBuf::from("dätä of 石垣");
    while long.as_os_str().len() < 400 {
        long.push("a longer path than programs are started at");
    }
    for data in [Path::new("data"), Path::new("with spaces & é"), &long] {
        let sandbox = project();
        let data = sandbox.root().join(data);
        std::fs::create_dir_all(&data).expect("a directory");
        let output = build(&sandbox, &data);
        assert!(output.status.success(), "{output:?}");
        // Into a pipe or a file it is UTF-8, whatever the console's code page is.
        let built: serde_json::Value = serde_json::from_slice(&output.stdout).expect("UTF-8");
        let directory = Path::new(built["directory"].as_str().expect("a directory")).to_owned();
        assert!(directory.starts_with(data.join("drystone").join("store")), "{directory:?}");
        assert!(directory.join("one").join("notes.txt").is_file());
    }
}

#[test]
fn a_data_directory_that_depends_on_where_one_is_gets_no_store() {
    let sandbox = project();
    let output = build(&sandbox, Path::new("data"));
    assert!(!sandbox.root().join("data").exists());
    if cfg!(windows) {
        let said = String::from_utf8(output.stdout).expect("UTF-8");
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("LOCALAPPDATA") && said.contains("not absolute"), "{said}");
    } else {
        // The rule of the XDG base directories: as if it was not set.
        assert!(output.status.success(), "{output:?}");
    }
}
