//! The variables of a process: a fixed base, then the environment's, then the application's. Nothing
//! else of the caller gets through, so that a run depends on what is declared.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::base_variables::{is_passed, system_path};
use super::error::{Result, RuntimeError};
use super::plan::{PlannedAction, PlannedVariable};
pub use super::template::Directories;
use super::template::expand;
use crate::model::{ComparedName, Family};

/// All variables of a process. On Windows names are one whatever their case, and keep the spelling
/// they first came with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessEnvironment {
    family: Family,
    variables: BTreeMap<ComparedName, (OsString, OsString)>,
}

impl ProcessEnvironment {
    const fn new(family: Family) -> Self {
        Self { family, variables: BTreeMap::new() }
    }

    /// The value of a variable.
    pub fn get(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        self.variables
            .get(&ComparedName::new(self.family, name))
            .map(|(_, value)| value.as_os_str())
    }

    /// Names and values, sorted.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.values().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    fn set(&mut self, name: impl AsRef<OsStr>, value: impl Into<OsString>) {
        let name = name.as_ref();
        let value = value.into();
        let entry = self.variables.entry(ComparedName::new(self.family, name));
        entry.or_insert_with(|| (name.to_owned(), OsString::new())).1 = value;
    }

    fn unset(&mut self, name: &str) {
        self.variables.remove(&ComparedName::new(self.family, name));
    }

    const fn separator(&self) -> &'static str {
        match self.family {
            Family::Unix => ":",
            Family::Windows => ";",
        }
    }

    /// Puts a value in front of what a variable holds. An empty variable adds no separator: an
    /// empty part of a search path would mean the current directory.
    fn prepend(&mut self, name: &str, value: OsString) {
        let joined = match self.get(name).filter(|before| !before.is_empty()) {
            Some(before) => self.join(&value, before),
            None => value,
        };
        self.set(name, joined);
    }

    fn append(&mut self, name: &str, value: OsString) {
        let joined = match self.get(name).filter(|before| !before.is_empty()) {
            Some(before) => self.join(before, &value),
            None => value,
        };
        self.set(name, joined);
    }

    fn join(&self, first: &OsStr, second: &OsStr) -> OsString {
        let mut joined = first.to_owned();
        joined.push(self.separator());
        joined.push(second);
        joined
    }

    /// Puts directories in front of a search path, the first of them first.
    fn prepend_directories(&mut self, name: &str, directories: &[PathBuf]) {
        for directory in directories.iter().rev() {
            self.prepend(name, directory.clone().into_os_string());
        }
    }
}

/// Makes the variables of a process. `caller` are those of the person's own process; `search` are
/// directories that come first in the search path for libraries: `LD_LIBRARY_PATH` on Unix, `PATH`
/// on Windows. They are put there last, so that no variable gets before them. Serves `run` as well
/// as `exec` and `shell`, which have no directories of a run: there the person's own home stays.
pub fn process_environment(
    family: Family,
    caller: &dyn Fn() -> Vec<(OsString, OsString)>,
    directories: &Directories<'_>,
    variables: &[PlannedVariable],
    search: &[PathBuf],
) -> Result<ProcessEnvironment> {
    let mut made = ProcessEnvironment::new(family);
    for (name, value) in caller() {
        if name.to_str().is_some_and(|name| is_passed(name, family, directories.home.is_some())) {
            made.set(&name, value);
        }
    }
    let system_root = made.get("SystemRoot").unwrap_or(OsStr::new(r"C:\Windows"));
    let path = system_path(family, &system_root.to_string_lossy());
    made.set("PATH", path);
    let mut directories = *directories;
    if let Some(home) = directories.home {
        set_home(&mut made, home);
    }
    if let Some(tmp) = directories.tmp {
        for name in temporary_names(family) {
            made.set(name, tmp);
        }
    }
    let (home_name, tmp_name) = (home_name(family), temporary_names(family)[0]);
    let home = made.get(home_name).map(PathBuf::from);
    let tmp = made.get(tmp_name).map_or_else(std::env::temp_dir, PathBuf::from);
    directories.home = directories.home.or(home.as_deref());
    directories.tmp = directories.tmp.or(Some(&tmp));
    for PlannedVariable { name, action } in variables {
        let value = |template: &str| expand(name, template, &directories, family);
        match action {
            PlannedAction::Set(template) => made.set(name, value(template)?),
            PlannedAction::Prepend(template) => made.prepend(name, value(template)?),
            PlannedAction::Append(template) => made.append(name, value(template)?),
            PlannedAction::Unset => made.unset(name),
        }
    }
    let searched = if family == Family::Windows { "PATH" } else { "LD_LIBRARY_PATH" };
    // The loader on Linux takes `;` for a separator as well.
    let separators: &[char] = if family == Family::Windows { &[';'] } else { &[':', ';'] };
    for path in search {
        let text = path.to_string_lossy();
        if let Some(&separator) = separators.iter().find(|&&separator| text.contains(separator)) {
            let path = path.clone();
            return Err(RuntimeError::Separator { path, separator, variable: searched });
        }
    }
    made.prepend_directories(searched, search);
    Ok(made)
}

const fn home_name(family: Family) -> &'static str {
    match family {
        Family::Unix => "HOME",
        Family::Windows => "USERPROFILE",
    }
}

const fn temporary_names(family: Family) -> &'static [&'static str] {
    match family {
        Family::Unix => &["TMPDIR"],
        Family::Windows => &["TEMP", "TMP"],
    }
}

/// Every place where programs keep things of a person, below the home of the run.
fn set_home(made: &mut ProcessEnvironment, home: &Path) {
    made.set(home_name(made.family), home);
    for (name, parts) in below_home(made.family) {
        let mut path = home.to_path_buf();
        path.extend(*parts);
        made.set(name, path);
    }
}

/// The variables that name directories below the home, with their parts.
pub(super) const fn below_home(
    family: Family,
) -> &'static [(&'static str, &'static [&'static str])] {
    match family {
        Family::Unix => &[
            ("XDG_CACHE_HOME", &[".cache"]),
            ("XDG_CONFIG_HOME", &[".config"]),
            ("XDG_DATA_HOME", &[".local", "share"]),
            ("XDG_STATE_HOME", &[".local", "state"]),
        ],
        Family::Windows => {
            &[("APPDATA", &["AppData", "Roaming"]), ("LOCALAPPDATA", &["AppData", "Local"])]
        }
    }
}
