//! How long a path may be at the place where it will lie on Windows.
//!
//! Windows starts and loads nothing whose full path has more than 259 UTF-16 units, and starts
//! nothing in a directory of more than 258 (`CreateProcess` has no escape); what programs only open
//! may have some 32,000. A file is looked at twice: where its environment is realised, and in the
//! runtime directory of each application that has it.

use std::fmt;

use crate::model::{Family, Name, Platform, TreePath};

use super::error::ComposeError;

/// Units that the path of a store is taken to have where it is not known: at lock time, and on
/// machines where Windows will not read it.
pub const NOMINAL_ROOT_UNITS: usize = 60;

/// Units of a path that Windows starts or loads, at most.
const STARTED: usize = 259;
/// Units of a directory that a program can be started in, at most: a separator follows.
const STARTED_IN: usize = 258;
const OPENED: usize = 32_000;
/// What Windows starts or loads, by the end of its name.
const STARTED_ENDS: [&str; 12] =
    ["bat", "cmd", "com", "cpl", "dll", "drv", "exe", "node", "ocx", "pyd", "scr", "sys"];

/// A path that is too long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooLong {
    /// Where it lies, in words.
    pub place: String,
    /// The path inside of that.
    pub path: TreePath,
    /// UTF-16 units of its full path.
    pub units: usize,
    /// How many there may be.
    pub limit: usize,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, path, units, limit } = self;
        write!(f, "\"{path}\" in {place}: {units} UTF-16 units with the store's path; ")?;
        match *limit {
            STARTED => write!(f, "{STARTED} are allowed for what Windows starts or loads"),
            limit => write!(f, "{limit} are allowed for what programs open"),
        }
    }
}

/// A directory of the store that files will lie in on Windows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedDirectory {
    /// What it is, in words.
    words: String,
    /// UTF-16 units of its path, without a separator at its end.
    units: usize,
}

impl PlacedDirectory {
    /// The directory that an environment is realised in, `<store>\realised\<32 characters>-<label>`,
    /// for a store whose path has this many units.
    pub fn realised(store_units: usize, label: &Name) -> Self {
        let own = r"\realised\".len() + 32 + "-".len() + label.as_str().len();
        Self { words: format!("environment \"{label}\""), units: store_units + own }
    }

    /// `app` of a runtime directory, `<store>\runtimes\<project>\<application>\<id>\app`.
    pub fn runtime(store_units: usize, application: &Name) -> Self {
        let own = r"\runtimes\".len() + 16 + r"\".len() + application.as_str().len();
        let id = r"\".len() + 8 + r"\app".len();
        Self {
            words: format!("a runtime directory of application \"{application}\""),
            units: store_units + own + id,
        }
    }

    /// Finds the files that would be too long to use in it; `program` is one that is started
    /// whatever its name ends with. Nothing on other platforms than Windows.
    pub fn too_long<'a>(
        &self,
        paths: impl IntoIterator<Item = &'a TreePath>,
        program: Option<&TreePath>,
        platform: Platform,
    ) -> Vec<TooLong> {
        if platform.family() != Family::Windows {
            return Vec::new();
        }
        let find = |path: &TreePath| {
            let started = program == Some(path) || is_started(path.file_name());
            let limit = if started { STARTED } else { OPENED };
            // A text never has more units than bytes.
            if self.units + 1 + path.as_str().len() <= limit {
                return None;
            }
            let units = self.units + 1 + path.as_str().encode_utf16().count();
            let place = self.words.clone();
            (units > limit).then(|| TooLong { place, path: path.clone(), units, limit })
        };
        paths.into_iter().filter_map(find).collect()
    }
}

/// An error that names every path that is too long, if any is.
pub fn require_path_budget(too_long: Vec<TooLong>) -> Result<(), ComposeError> {
    if too_long.is_empty() { Ok(()) } else { Err(ComposeError::PathBudget { too_long }) }
}

/// The UTF-16 units of a machine's path, as Windows counts them.
pub fn path_units(path: &std::path::Path) -> usize {
    path.as_os_str().to_string_lossy().encode_utf16().count()
}

/// The units of a path and how many it may have, where Windows starts nothing with so many.
pub fn too_long_to_start(path: &std::path::Path, used: Started) -> Option<(usize, usize)> {
    let limit = match used {
        Started::Program => STARTED,
        Started::Directory => STARTED_IN,
    };
    let units = path_units(path);
    (units > limit).then_some((units, limit))
}

/// What a path is to a program that is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Started {
    /// The program itself.
    Program,
    /// The directory it starts in.
    Directory,
}

fn is_started(name: &str) -> bool {
    let Some((_, end)) = name.rsplit_once('.') else { return false };
    STARTED_ENDS.iter().any(|known| end.eq_ignore_ascii_case(known))
}
