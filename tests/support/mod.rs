//! A sandbox for tests of the whole program: a project, a store and a home of its own, archives
//! made on the spot, and the real executable.
#![allow(dead_code)]

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use sha2::{Digest, Sha256};

/// One file of a test archive: path, content, Unix mode.
pub type File<'a> = (&'a str, &'a [u8], u32);

/// A project, a store and a home in a temporary directory.
pub struct Sandbox {
    root: tempfile::TempDir,
}

impl Sandbox {
    /// Empty, but for its directories.
    pub fn new() -> Self {
        Self::within(&std::env::temp_dir())
    }

    /// The same in a directory of the caller's.
    pub fn within(directory: &Path) -> Self {
        let root = tempfile::tempdir_in(directory).expect("a temporary directory");
        for directory in ["project/archives", "home"] {
            std::fs::create_dir_all(root.path().join(directory)).expect("a directory");
        }
        Self { root }
    }

    /// With the greeting stack: package `hello` says what the overlay of `greeting` holds.
    pub fn greeting() -> Self {
        let sandbox = Self::new();
        sandbox.hello("hello-1.0.zip", "plain");
        for (version, text) in [("1.0", "good morning"), ("2.0", "good evening")] {
            let content = format!("{text}\n");
            let name = format!("greeting-{version}.zip");
            sandbox.zip(&name, &[("greeting.txt", content.as_bytes(), 0o644)]);
        }
        sandbox.manifest("1.0");
        sandbox
    }

    /// Makes the archive of package `hello`: scripts for both ways of files, and its own text.
    pub fn hello(&self, archive: &str, text: &str) -> String {
        let own = format!("{text}\n");
        self.zip(
            archive,
            &[
                ("hello/hello.sh", HELLO_SH.as_bytes(), 0o755),
                ("hello/hello.cmd", HELLO_CMD.as_bytes(), 0o644),
                ("hello/greeting.txt", own.as_bytes(), 0o644),
                ("hello/data/notes.txt", b"notes\n", 0o644),
            ],
        )
    }

    /// Writes the greeting stack's manifest, with this version of the greeting.
    pub fn manifest(&self, greeting: &str) {
        self.write("env.kdl", self.manifest_text(greeting));
    }

    /// The greeting stack's manifest.
    pub fn manifest_text(&self, greeting: &str) -> String {
        let version = |package: &str, version: &str, more: &str| {
            let archive = format!("archives/{package}-{version}.zip");
            let content = std::fs::read(self.path(&archive)).expect("an archive");
            format!(
                "    version \"{version}\" {{\n        source {{\n            url \"file:{archive}\"\n            sha256 \"{}\"\n            size {}\n{more}        }}\n        {}\n    }}\n",
                sha256(&content),
                content.len(),
                if package == "greeting" { "overlay \"greeting.txt\"" } else { "" },
            )
        };
        format!(
            r#"environment "greetings" {{
    platform "x86_64-linux"
    platform "aarch64-linux"
    platform "x86_64-windows"
    use "hello" "1.0"
    use "greeting" "{greeting}"
    set "GREETED" "world"
}}

application "hello" {{
    in "greetings"
    program "hello/hello.sh" platform="x86_64-linux"
    program "hello/hello.sh" platform="aarch64-linux"
    program "hello/hello.cmd" platform="x86_64-windows"
    overlay "greeting"
}}

package "hello" {{
{}}}

package "greeting" {{
{}{}}}
"#,
            version("hello", "1.0", "            strip 1\n"),
            version("greeting", "1.0", ""),
            version("greeting", "2.0", ""),
        )
    }

    /// A path of the project.
    pub fn path(&self, relative: &str) -> PathBuf {
        self.root.path().join("project").join(relative)
    }

    /// The store.
    pub fn store(&self) -> PathBuf {
        self.root.path().join("store")
    }

    /// The temporary directory that holds it all.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Writes a file of the project.
    pub fn write(&self, relative: &str, content: impl AsRef<[u8]>) {
        let path = self.path(relative);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::fs::write(path, content).expect("a file");
    }

    /// Reads a file of the project.
    pub fn read(&self, relative: &str) -> String {
        std::fs::read_to_string(self.path(relative)).expect("a file of the project")
    }

    /// Makes a zip archive below `archives/` and gives its SHA-256.
    pub fn zip(&self, name: &str, files: &[File<'_>]) -> String {
        let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for (path, content, mode) in files {
            let options = zip::write::SimpleFileOptions::default()
                .system(zip::System::Unix)
                .unix_permissions(*mode);
            writer.start_file(*path, options).expect("an entry");
            writer.write_all(content).expect("a content");
        }
        let bytes = writer.finish().expect("an archive").into_inner();
        self.write(&format!("archives/{name}"), &bytes);
        sha256(&bytes)
    }

    /// The program, with this sandbox's project, store and home, and nothing of the machine's.
    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_drystone"));
        command
            .arg("--project")
            .arg(self.path(""))
            .env("DRYSTONE_STORE", self.store())
            .env("HOME", self.root.path().join("home"))
            .env("NO_COLOR", "1")
            .env_remove("XDG_DATA_HOME")
            .env_remove("NETRC");
        for proxy in
            ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
        {
            command.env_remove(proxy);
        }
        command
    }

    /// Runs it and gives everything that came back.
    pub fn output<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Output {
        self.command().args(arguments).output().expect("the program starts")
    }

    /// Runs it, expects success, and gives stdout.
    #[track_caller]
    pub fn succeed(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        assert!(
            output.status.success(),
            "drystone {arguments:?}: {}\n{}{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        text(&output.stdout)
    }

    /// Runs it, expects exit status 1, and gives stderr.
    #[track_caller]
    pub fn fail(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        assert_eq!(
            output.status.code(),
            Some(1),
            "drystone {arguments:?}\n{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        text(&output.stderr)
    }

    /// Runs it with `--json`, expects success, and gives the document.
    #[track_caller]
    pub fn json(&self, arguments: &[&str]) -> Value {
        let mut with_json = vec!["--json"];
        with_json.extend(arguments);
        let answer = self.succeed(&with_json);
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error} in {answer}"))
    }
}

/// Output with LF line ends on every system.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace("\r\n", "\n")
}

/// 64 hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Prints the greeting beside it, a variable, and each argument on a line.
const HELLO_SH: &str = r#"#!/bin/sh
directory=$(dirname "$0")
read -r greeting < "$directory/greeting.txt"
echo "$greeting, $GREETED"
for argument in "$@"; do echo "[$argument]"; done
if [ "$1" = status ]; then exit "$2"; fi
"#;

const HELLO_CMD: &str = "@echo off\r\nset /p greeting=<\"%~dp0greeting.txt\"\r\necho %greeting%, %GREETED%\r\nfor %%a in (%*) do echo [%%~a]\r\nif \"%~1\"==\"status\" exit /b %~2\r\n";
