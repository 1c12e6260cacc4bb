//! Finding a host component: the directories it may be in, and the files that show it is there.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::disk::{plain_form, real_path};
use crate::model::TreePath;

/// Where to look for a host component, and what shows that it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComponentSearch {
    /// Places, in the order to look.
    pub roots: Vec<SearchRoot>,
    /// Files and directories below the root that must all exist.
    pub evidence: Vec<TreePath>,
}

/// One place a host component may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchRoot {
    /// Where an environment variable says.
    Variable(String),
    /// A fixed directory.
    Directory(String),
}

/// A host component that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// Its root, absolute, links followed, without a trailing separator.
    pub root: PathBuf,
    /// What led there, in words, with what had to be corrected.
    pub how: String,
}

/// A host component that was not found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotFound {
    /// Each place that was looked at and why it was not it, in order.
    pub tried: Vec<String>,
}

/// Finds a host component. `variable` looks up environment variables of the person's process.
pub fn locate(
    search: &ComponentSearch,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Located, NotFound> {
    let mut tried = Vec::new();
    for root in &search.roots {
        let (name, value) = match root {
            SearchRoot::Directory(directory) => {
                (format!("directory {directory}"), OsString::from(directory))
            }
            SearchRoot::Variable(name) => match variable(name) {
                Some(value) if !value.is_empty() => (format!("variable {name}"), value),
                Some(_) => {
                    tried.push(format!("variable {name}: is empty"));
                    continue;
                }
                None => {
                    tried.push(format!("variable {name}: is not set"));
                    continue;
                }
            },
        };
        match look(&value, &search.evidence) {
            Ok((root, correction)) => {
                return Ok(Located { root, how: format!("{name}{correction}") });
            }
            Err(reason) => tried.push(format!("{name}: {reason}")),
        }
    }
    Err(NotFound { tried })
}

/// The root that a value leads to, and what was corrected in it.
fn look(value: &OsString, evidence: &[TreePath]) -> Result<(PathBuf, String), String> {
    let (plain, mut corrections) = clean(value);
    let given = PathBuf::from(&plain);
    if !given.is_absolute() {
        return Err(format!("\"{}\" is not an absolute path", given.display()));
    }
    let missing = match inspect(&given, evidence) {
        Ok(root) => return Ok((root, words(&corrections))),
        Err(missing) => missing,
    };
    let is_bin = given.file_name().is_some_and(|last| last.eq_ignore_ascii_case("bin"));
    if let Some(parent) = given.parent().filter(|_| is_bin && !evidence.is_empty())
        && let Ok(root) = inspect(parent, evidence)
    {
        corrections.push("it names bin, the root is the directory above");
        return Ok((root, words(&corrections)));
    }
    Err(missing)
}

fn words(corrections: &[&str]) -> String {
    if corrections.is_empty() { String::new() } else { format!(" ({})", corrections.join("; ")) }
}

/// Takes away what people and installers leave around a path: quotes, spaces, trailing separators.
fn clean(value: &OsString) -> (OsString, Vec<&'static str>) {
    let Some(text) = value.to_str() else { return (value.clone(), Vec::new()) };
    let mut corrections = Vec::new();
    let mut plain = text.trim();
    if let Some(inner) = plain.strip_prefix('"').map(|rest| rest.strip_suffix('"').unwrap_or(rest))
    {
        plain = inner.trim();
        corrections.push("without the quotes around it");
    }
    let separators: &[char] = if cfg!(windows) { &['/', '\\'] } else { &['/'] };
    let shorter = plain.trim_end_matches(separators);
    // The separator of "C:\" and "/" is the root itself.
    if !shorter.is_empty() && !shorter.ends_with(':') {
        plain = shorter;
    }
    (OsString::from(plain), corrections)
}

/// The canonical directory, if it is one and all evidence lies in it; else what is missing.
fn inspect(directory: &Path, evidence: &[TreePath]) -> Result<PathBuf, String> {
    let shown = directory.display();
    match std::fs::metadata(directory) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return Err(format!("\"{shown}\" is not a directory")),
        Err(error) => return Err(format!("\"{shown}\": {error}")),
    }
    if let Some(missing) = evidence.iter().find(|path| !path.at(directory).exists()) {
        return Err(format!("\"{shown}\" does not hold {missing}"));
    }
    real_path(directory).map(plain_form).map_err(|error| format!("\"{shown}\": {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(roots: Vec<SearchRoot>) -> ComponentSearch {
        ComponentSearch { roots, evidence: vec!["bin/amdhip64_7.dll".parse().expect("a path")] }
    }

    fn sdk() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path().join("ROCm 6.4");
        std::fs::create_dir_all(root.join("bin")).expect("bin");
        std::fs::write(root.join("bin/amdhip64_7.dll"), b"").expect("evidence");
        (directory, root)
    }

    fn variable(value: OsString) -> impl Fn(&str) -> Option<OsString> {
        move |name| (name == "HIP_PATH").then(|| value.clone())
    }

    #[test]
    fn quotes_trailing_separators_and_bin_are_corrected_with_a_word() {
        let (_directory, root) = sdk();
        let wanted = search(vec![SearchRoot::Variable("HIP_PATH".into())]);
        let canonical = plain_form(root.canonicalize().expect("canonical"));
        let end = std::path::MAIN_SEPARATOR;
        let text = root.to_str().expect("text");
        for (value, word) in [
            (text.to_owned(), "variable HIP_PATH"),
            (format!("{text}{end}"), "variable HIP_PATH"),
            (format!("\"{text}{end}\""), "variable HIP_PATH (without the quotes around it)"),
            (
                format!("{text}{end}bin{end}"),
                "variable HIP_PATH (it names bin, the root is the directory above)",
            ),
        ] {
            let found = locate(&wanted, &variable(value.clone().into())).expect("found");
            assert_eq!(found.root, canonical, "{value}");
            assert_eq!(found.how, word, "{value}");
        }
    }

    #[test]
    fn the_next_place_is_tried_and_each_failure_is_said() {
        let (directory, root) = sdk();
        let empty = directory.path().join("empty");
        std::fs::create_dir(&empty).expect("a directory");
        let text = |path: &Path| path.to_str().expect("text").to_owned();
        let wanted = search(vec![
            SearchRoot::Variable("ABSENT".into()),
            SearchRoot::Directory(text(&empty)),
            SearchRoot::Directory(text(&root)),
        ]);
        let found = locate(&wanted, &|_| None).expect("found");
        assert!(found.how.starts_with("directory "), "{}", found.how);
        std::fs::remove_file(root.join("bin/amdhip64_7.dll")).expect("removed");
        let tried = locate(&wanted, &|_| None).expect_err("gone").tried;
        assert_eq!(tried.len(), 3);
        assert_eq!(tried[0], "variable ABSENT: is not set");
        assert!(tried[2].contains("does not hold bin/amdhip64_7.dll"), "{tried:?}");
    }

    #[test]
    fn relative_values_are_refused() {
        let wanted = search(vec![SearchRoot::Variable("HIP_PATH".into())]);
        let tried = locate(&wanted, &variable("rocm".into())).expect_err("relative").tried;
        assert!(tried[0].contains("is not an absolute path"), "{tried:?}");
    }
}
