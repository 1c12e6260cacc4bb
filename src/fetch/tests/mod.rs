//! Tests of this room against real servers on loopback.

mod environment;
mod local;
mod mirrors;
mod network;
mod parallel;
mod resume;
mod secrets;
mod tls;

#[path = "../../../tests/support/http_server.rs"]
mod http_server;

use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::*;
use crate::manifest::SourceUrl;
use crate::model::{NoProgress, Progress, Sha256Digest, Task};
use http_server::{Answer, Server};

fn sha256(bytes: impl AsRef<[u8]>) -> Sha256Digest {
    Sha256Digest::from_bytes(Sha256::digest(bytes.as_ref()).into())
}

fn web(url: &str) -> SourceUrl {
    SourceUrl::Web(url.parse().unwrap())
}

/// Without proxy, netrc and waiting.
fn quick() -> FetchOptions {
    FetchOptions {
        first_delay: Duration::ZERO,
        proxy: ProxyChoice::Direct,
        credentials: Credentials::Nowhere,
        ..FetchOptions::default()
    }
}

/// A body that no compression or repetition makes look like another part of itself.
fn body(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new().update(b"body").finalize_xof().fill(&mut bytes);
    bytes
}

/// One download with a place of its own.
struct Case {
    directory: TempDir,
    place: Place,
    urls: Vec<SourceUrl>,
    sha256: Option<Sha256Digest>,
    size: Option<u64>,
    options: FetchOptions,
}

impl Case {
    /// The body, to be fetched from these.
    fn new(body: &[u8], urls: &[String]) -> Self {
        let directory = TempDir::new().unwrap();
        let at = |name: &str| directory.path().join(name);
        let place =
            Place { partial: at("partial"), validator: at("validator"), aside: at("aside") };
        Self {
            urls: urls.iter().map(|url| web(url)).collect(),
            sha256: Some(sha256(body)),
            size: Some(body.len() as u64),
            options: quick(),
            place,
            directory,
        }
    }

    fn request(&self) -> Request<'_> {
        Request {
            label: "zluda 6",
            urls: &self.urls,
            sha256: self.sha256,
            size: self.size,
            directory: self.directory.path(),
        }
    }

    fn fetch(&self) -> Result<Fetched, FetchError> {
        self.fetch_with(&NoProgress)
    }

    fn fetch_with(&self, progress: &dyn Progress) -> Result<Fetched, FetchError> {
        Fetcher::new(self.options.clone()).fetch(&self.request(), &self.place, &|_| {}, progress)
    }

    /// The last trouble at each mirror.
    fn troubles(&self) -> Vec<Trouble> {
        match self.fetch() {
            Err(FetchError::Unavailable { attempts, .. }) => {
                attempts.into_iter().map(|attempt| attempt.trouble).collect()
            }
            other => panic!("expected Unavailable, got {other:?}"),
        }
    }

    fn trouble(&self) -> Trouble {
        self.troubles().remove(0)
    }

    fn partial(&self) -> Vec<u8> {
        std::fs::read(&self.place.partial).unwrap_or_default()
    }

    /// As an interrupted try leaves it.
    fn leave(&self, partial: &[u8], validator: Option<&str>) {
        std::fs::write(&self.place.partial, partial).unwrap();
        if let Some(line) = validator {
            let text = format!("url {}\n{line}\nend\n", self.urls[0].text());
            std::fs::write(&self.place.validator, text).unwrap();
        }
    }
}

/// Remembers what it was told.
#[derive(Default)]
struct Notes {
    lines: Mutex<Vec<String>>,
    advanced: std::sync::Arc<std::sync::atomic::AtomicU64>,
}

struct Count(std::sync::Arc<std::sync::atomic::AtomicU64>);

impl Progress for Notes {
    fn start(&self, _label: &str, _length: Option<u64>) -> Box<dyn Task> {
        Box::new(Count(self.advanced.clone()))
    }

    fn note(&self, line: &str) {
        self.lines.lock().unwrap().push(line.to_owned());
    }
}

impl Task for Count {
    fn advance(&self, bytes: u64) {
        self.0.fetch_add(bytes, std::sync::atomic::Ordering::Relaxed);
    }

    fn set_length(&self, _length: u64) {}
}

/// The error with its help, as a person or a log might get it in any way.
fn everything_said(error: &FetchError) -> String {
    let help = miette::Diagnostic::help(error).map(|help| help.to_string()).unwrap_or_default();
    format!("{error}\n{help}\n{error:?}")
}

fn write(path: &Path, bytes: impl AsRef<[u8]>) {
    std::fs::write(path, bytes).unwrap();
}

/// Set in the process that `in_child` starts.
const CHILD: &str = "DRYSTONE_TEST_CHILD";

fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Runs a test of this room in a process of its own with these variables; an empty one is removed.
fn in_child(test: &str, variables: &[(&str, &str)]) {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("fetch::tests::{test}"), "--nocapture"]).env(CHILD, "1");
    for (name, value) in variables {
        match value.is_empty() {
            true => command.env_remove(name),
            false => command.env(name, value),
        };
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}{complained}");
}
