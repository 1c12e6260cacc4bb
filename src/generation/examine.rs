//! Examining all that an environment has recorded: every file against its record, every record against
//! its seal, and what is no file of it.

use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use super::error::GenerationError;
use super::history::{Action, Operation};
use super::reading::{CURRENT, Generations, HISTORY, RECORD};
use super::writing::STAGED;
use crate::disk;

/// What the store keeps beside the generations.
const OF_THE_STORE: [&str; 2] = ["directory", "roots"];

/// Something of an environment, and what is to be said of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Where.
    pub path: PathBuf,
    /// In words.
    pub what: String,
}

/// What an examination found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Examined {
    /// What is wrong.
    pub wrong: Vec<Finding>,
    /// What another program holds open, so that nothing is known of it.
    pub skipped: Vec<Finding>,
}

impl Generations {
    /// Reads everything again. Takes no lock: a generation that is removed meanwhile is no finding.
    pub fn examine(&self) -> Examined {
        let mut found = Examined::default();
        let current = self.current_number();
        let numbers = found.take(self.numbers(), &self.directory).unwrap_or_default();
        let is_there = |number: &u64| numbers.contains(number);
        match found.take(current, &self.directory.join(CURRENT)) {
            Some(Some(number)) if !is_there(&number) && self.is_still_current(number) => {
                let what = format!("it names generation {number}, which is not there");
                found.say(self.directory.join(CURRENT), what);
            }
            Some(None) if self.had_a_current() => {
                found.say(self.directory.join(CURRENT), "it is missing".to_owned());
            }
            _ => {}
        }
        found.take(self.history(), &self.directory.join(HISTORY));
        for number in numbers {
            let before = found.clone();
            self.examine_one(number, &mut found);
            if !self.path(number).is_dir() {
                found = before;
            }
        }
        self.examine_names(&mut found);
        found.wrong.sort();
        found.skipped.sort();
        found
    }

    fn is_still_current(&self, number: u64) -> bool {
        matches!(self.current_number(), Ok(Some(now)) if now == number)
            && !self.path(number).is_dir()
    }

    /// Whether one was current once. Before the first build ended none was, though there may be
    /// generations of builds that were killed at that moment.
    fn had_a_current(&self) -> bool {
        let was = |operation: &Operation| match operation.action {
            Action::Build { from, .. } => from.is_some(),
            Action::Rollback { .. } | Action::Remove { .. } => true,
        };
        self.history().is_ok_and(|history| history.iter().any(was))
            && self.current_number().is_ok_and(|number| number.is_none())
    }

    fn examine_one(&self, number: u64, found: &mut Examined) {
        let directory = self.path(number);
        let Some(generation) = found.take(self.get(number), &directory.join(RECORD)) else {
            return;
        };
        for path in generation.files.keys() {
            found.take(self.file(&generation, path.as_str()), &path.at(&directory));
        }
        for entry in WalkDir::new(&directory).into_iter().filter_map(Result::ok) {
            let Ok(below) = entry.path().strip_prefix(&directory) else { continue };
            let name = below.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
            if !entry.file_type().is_dir()
                && name != RECORD
                && !generation.files.contains_key(name.as_str())
            {
                found.stray(entry.path());
            }
        }
    }

    /// What lies beside the generations and is not known there.
    fn examine_names(&self, found: &mut Examined) {
        let entries = std::fs::read_dir(&self.directory).into_iter().flatten();
        for entry in entries.filter_map(Result::ok) {
            let name = entry.file_name();
            let known = name.to_str().is_some_and(|name| {
                [CURRENT, HISTORY].contains(&name)
                    || OF_THE_STORE.contains(&name)
                    || super::reading::parse_number(name).is_some()
                    || name.contains(STAGED)
            });
            if !known {
                found.stray(&entry.path());
            }
        }
    }
}

impl Examined {
    /// The value, or a finding of why there is none.
    fn take<T>(&mut self, read: Result<T, GenerationError>, path: &Path) -> Option<T> {
        match read {
            Ok(value) => Some(value),
            Err(GenerationError::Io { source, .. }) if disk::is_held_open(&source) => {
                self.skipped.push(Finding { path: path.to_path_buf(), what: source.to_string() });
                None
            }
            Err(error) => {
                self.say(path.to_path_buf(), error.to_string());
                None
            }
        }
    }

    fn say(&mut self, path: PathBuf, what: String) {
        self.wrong.push(Finding { path, what });
    }

    fn stray(&mut self, path: &Path) {
        self.say(path.to_path_buf(), "it is not a file of the store".to_owned());
    }
}
