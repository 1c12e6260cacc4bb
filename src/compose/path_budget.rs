//! How long a path may be at the place where it will lie on Windows.
//!
//! Windows starts and loads nothing whose full path has more than 259 UTF-16 units (`CreateProcess`
//! has no escape); what programs only open may have some 32,000.

use std::fmt;

use crate::model::{Family, Name, Platform, Tree, TreePath};

use super::error::ComposeError;

/// Units that the path of a store is taken to have where it is not known: at lock time.
pub const NOMINAL_ROOT_UNITS: usize = 60;

const STARTED: usize = 259;
const OPENED: usize = 32_000;
/// What Windows starts or loads, by the end of its name.
const STARTED_ENDS: [&str; 7] = [".bat", ".cmd", ".com", ".dll", ".exe", ".pyd", ".sys"];

/// A path that is too long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooLong {
    /// The path inside the environment.
    pub path: TreePath,
    /// UTF-16 units of its full path.
    pub units: usize,
    /// How many there may be.
    pub limit: usize,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, units, limit } = self;
        let end: String = {
            let all = path.as_str().chars();
            let skipped = all.clone().count().saturating_sub(60);
            let dots = if skipped > 0 { "…" } else { "" };
            format!("{dots}{}", all.skip(skipped).collect::<String>())
        };
        write!(f, "\"{end}\": {units} UTF-16 units with the store's path, {limit} are allowed")
    }
}

/// The UTF-16 units of a realised directory's path, `<store>\realised\<32 characters>-<label>`, for
/// a store whose path has this many.
pub fn realised_root_units(store_units: usize, label: &Name) -> usize {
    store_units + r"\realised\".len() + 32 + "-".len() + label.as_str().len()
}

/// Finds the files that would be too long to use. `root_units` are the UTF-16 units of the
/// directory that the tree will lie in, without a separator at its end. Nothing on other platforms
/// than Windows.
pub fn check_path_budget(tree: &Tree, platform: Platform, root_units: usize) -> Vec<TooLong> {
    if platform.family() != Family::Windows {
        return Vec::new();
    }
    let files = tree.entries().iter();
    files
        .filter_map(|entry| {
            let limit = if is_started(entry.path.file_name()) { STARTED } else { OPENED };
            // A text never has more units than bytes.
            if root_units + 1 + entry.path.as_str().len() <= limit {
                return None;
            }
            let units = root_units + 1 + entry.path.as_str().encode_utf16().count();
            (units > limit).then(|| TooLong { path: entry.path.clone(), units, limit })
        })
        .collect()
}

/// The same as an error.
pub fn require_path_budget(
    tree: &Tree,
    platform: Platform,
    root_units: usize,
) -> Result<(), ComposeError> {
    match check_path_budget(tree, platform, root_units) {
        too_long if too_long.is_empty() => Ok(()),
        too_long => Err(ComposeError::PathBudget { too_long }),
    }
}

fn is_started(name: &str) -> bool {
    let Some(end) = name.len().checked_sub(4).and_then(|at| name.get(at..)) else { return false };
    STARTED_ENDS.iter().any(|known| end.eq_ignore_ascii_case(known))
}
