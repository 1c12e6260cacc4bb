//! What must hold after a crash.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::stack::files;
use crate::support::{Sandbox, text};

/// Right after it: everything with a name is what it should be.
pub fn look(sandbox: &Sandbox, was_damaged: bool, moment: &str) {
    if !sandbox.store().join("format").exists() {
        return; // It was killed before there was a store.
    }
    let output = sandbox.output(["--json", "store", "verify"]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    let damages = report["damages"].as_array().expect("a list");
    assert!(damages.is_empty() || was_damaged, "{moment}: {report}");
    let history = sandbox.output(["--json", "history"]);
    let history: Value = serde_json::from_slice(&history.stdout).unwrap_or_default();
    if history["generations"].as_array().is_some_and(|generations| !generations.is_empty()) {
        let output = sandbox.output(["--offline", "run", "hello"]);
        let said = text(&output.stdout);
        assert!(
            said.starts_with("good ") || was_damaged,
            "{moment}: the current generation does not run: {said}{}",
            text(&output.stderr)
        );
    }
}

/// After the next run: nothing of the killed one is left, and a store like any other.
pub fn finish(sandbox: &Sandbox, moment: &str) {
    sandbox.succeed(&["lock"]);
    sandbox.succeed(&["build"]);
    assert!(sandbox.succeed(&["run", "--discard", "hello"]).starts_with("good "), "{moment}");
    let report = sandbox.json(&["store", "verify"]);
    assert_eq!(report["damages"].as_array().map(Vec::len), Some(0), "{moment}: {report}");
    sandbox.succeed(&["gc", "--older-than", "0s"]);
    let left: Vec<PathBuf> = ["tmp", "locks/sessions"]
        .iter()
        .flat_map(|directory| files(&sandbox.store().join(directory)))
        .collect();
    assert!(left.is_empty(), "{moment}: {left:?}");
    let again = sandbox.json(&["gc", "--older-than", "0s"]);
    assert_eq!(again["removed"], 0, "{moment}: gc leaves what nobody needs: {again}");
    let strange = strange_names(&sandbox.store());
    assert!(strange.is_empty(), "{moment}: {strange:?}");
    assert_eq!(sandbox.succeed(&["run", "--discard", "hello"]).lines().count(), 1, "{moment}");
}

/// Files of a store that are none of its kinds: half-written ones.
fn strange_names(store: &Path) -> Vec<PathBuf> {
    let is_half = |path: &PathBuf| {
        let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
        let runtime = path.starts_with(store.join("runtimes"));
        ["new", "tmp", "partial", "aside", "replaced"].contains(&ending)
            && (!runtime || !path.components().any(|part| part.as_os_str() == "app"))
    };
    files(store).into_iter().filter(is_half).collect()
}
