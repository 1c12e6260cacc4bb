//! Many processes and one store, for a bounded time: sixteen builders of overlapping environments, and
//! beside them runs, rollbacks, verifications and gc in loops. No error, no missing file, and what is
//! shared is made once.
//!
//! `DRYSTONE_RACES` says for how many seconds, 8 without it.

mod support;

use std::collections::BTreeMap;
use std::process::Output;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use support::{Sandbox, text};

const BUILDERS: usize = 16;

/// Projects that share a store, and all but one variable of what they build.
struct Place {
    projects: Vec<Sandbox>,
}

impl Place {
    fn new() -> Self {
        let projects: Vec<Sandbox> = (0..BUILDERS).map(|_| Sandbox::greeting()).collect();
        let place = Self { projects };
        for number in 0..BUILDERS {
            place.edit(number, "1.0");
        }
        place
    }

    fn edit(&self, project: usize, greeting: &str) {
        let sandbox = &self.projects[project];
        let manifest = sandbox.manifest_text(greeting);
        // Four of the sixteen have the same environment.
        let whom = format!("\"GREETED\" \"world {}\"", project / 4);
        sandbox.write("env.kdl", manifest.replace("\"GREETED\" \"world\"", &whom));
    }

    fn run(&self, project: usize, arguments: &[&str]) -> Output {
        let mut command = self.projects[project].command();
        command.env("DRYSTONE_STORE", self.projects[0].store()).args(arguments);
        command.output().expect("it starts")
    }

    fn succeed(&self, project: usize, arguments: &[&str]) -> String {
        let output = self.run(project, arguments);
        assert!(
            output.status.success(),
            "project {project}, drystone {arguments:?}: {}\n{}{}",
            output.status,
            text(&output.stdout),
            text(&output.stderr)
        );
        text(&output.stdout)
    }

    fn json(&self, project: usize, arguments: &[&str]) -> Value {
        let answer = self.succeed(project, &[&["--json"], arguments].concat());
        serde_json::from_str(&answer).expect("a document")
    }
}

/// Does it in a thread for each of `threads`.
fn at_once(threads: usize, work: impl Fn(usize) + Sync) {
    std::thread::scope(|scope| {
        for number in 0..threads {
            let work = &work;
            scope.spawn(move || work(number));
        }
    });
}

#[test]
fn sixteen_first_builds_at_once_make_what_they_share_once() {
    let place = Place::new();
    let reports = Mutex::new(Vec::new());
    at_once(BUILDERS, |project| {
        place.succeed(project, &["lock"]);
        let report = place.json(project, &["build"]);
        reports.lock().expect("no panic").push(report);
    });
    let reports = reports.into_inner().expect("no panic");
    let written: u64 = reports.iter().filter_map(|report| report["new_bytes"].as_u64()).sum();
    let stat = place.json(0, &["store", "stat"]);
    assert_eq!(Some(written), stat["blob_bytes"].as_u64(), "each content was written once");
    assert_eq!(stat["realised"], 4, "each environment was realised once: {stat}");
    assert_eq!(stat["generations"], 16);
}

#[test]
fn builds_runs_rollbacks_and_gc_at_a_time_meet_no_error_and_no_half_state() {
    let place = Place::new();
    at_once(BUILDERS, |project| {
        place.succeed(project, &["lock"]);
        place.succeed(project, &["build"]);
    });
    let seconds = std::env::var("DRYSTONE_RACES").map_or(8, |text| text.parse().expect("a number"));
    let end = Instant::now() + Duration::from_secs(seconds);
    let failed = AtomicBool::new(false);
    let done: Mutex<BTreeMap<&str, u64>> = Mutex::default();
    let count = |what| *done.lock().expect("no panic").entry(what).or_default() += 1;
    let until_the_end = |what: &'static str, step: &dyn Fn(usize)| {
        // Another's failure is told; there is no use in going on.
        for turn in 0.. {
            if Instant::now() >= end || failed.load(Ordering::Relaxed) {
                return;
            }
            let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| step(turn)));
            if let Err(panic) = told {
                failed.store(true, Ordering::Relaxed);
                std::panic::resume_unwind(panic);
            }
            count(what);
        }
    };
    std::thread::scope(|scope| {
        for project in 0..BUILDERS {
            let (place, until_the_end) = (&place, &until_the_end);
            scope.spawn(move || {
                until_the_end("builds", &|turn| {
                    place.edit(project, if turn % 2 == 0 { "2.0" } else { "1.0" });
                    place.succeed(project, &["lock"]);
                    place.succeed(project, &["build"]);
                });
            });
        }
        for first in [0, 5, 10] {
            let (place, until_the_end) = (&place, &until_the_end);
            scope.spawn(move || {
                until_the_end("runs", &|turn| {
                    let said =
                        place.succeed((first + turn) % BUILDERS, &["run", "--discard", "hello"]);
                    assert!(said.starts_with("good ") && said.contains(", world "), "{said}");
                });
            });
        }
        let (place, until_the_end) = (&place, &until_the_end);
        scope.spawn(move || until_the_end("rollbacks", &|turn| roll_back(place, turn % BUILDERS)));
        scope.spawn(move || {
            until_the_end("histories", &|turn| {
                let history = place.json(turn % BUILDERS, &["history"]);
                let generations = history["generations"].as_array().expect("a list");
                let current = generations.iter().filter(|one| one["current"] == true).count();
                assert_eq!(current, 1, "{history}");
            });
        });
        for options in [&["gc"][..], &["gc", "--older-than", "0s"]] {
            scope.spawn(move || {
                until_the_end("collections", &|turn| {
                    let report = place.json(turn % BUILDERS, options);
                    assert_eq!(report["skipped"].as_array().map(Vec::len), Some(0), "{report}");
                })
            });
        }
        scope.spawn(move || {
            until_the_end("verifications", &|_| {
                let report = place.json(3, &["store", "verify"]);
                assert_eq!(report["damages"].as_array().map(Vec::len), Some(0), "{report}");
            });
        });
    });
    println!("in {seconds} s: {:?}", done.into_inner().expect("no panic"));
    for project in 0..BUILDERS {
        assert!(place.succeed(project, &["run", "--discard", "hello"]).starts_with("good "));
    }
    assert_eq!(place.json(0, &["store", "verify"])["damages"].as_array().map(Vec::len), Some(0));
    place.succeed(0, &["gc", "--older-than", "0s"]);
    assert_eq!(place.json(0, &["gc", "--older-than", "0s"])["removed"], 0);
}

/// To the generation before, where gc has left one.
fn roll_back(place: &Place, project: usize) {
    let output = place.run(project, &["--json", "rollback"]);
    if output.status.success() {
        return;
    }
    let error: Value = serde_json::from_slice(&output.stdout).expect("a document");
    let code = error["error"]["code"].as_str().unwrap_or_default();
    assert!(code.starts_with("drystone::generation::"), "project {project}: {error}");
}
