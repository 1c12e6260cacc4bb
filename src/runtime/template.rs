//! Templates: values of variables with placeholders for directories, expanded once at the start of
//! a process. What a placeholder stands for is never read as a template again.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::error::{Result, RuntimeError};
use crate::model::{Family, Name, TreePath};

/// The directories that placeholders stand for.
#[derive(Debug, Clone, Copy)]
pub struct Directories<'a> {
    /// `{environment}`: the realised environment.
    pub environment: &'a Path,
    /// `{package.NAME}`: where each package lies in it; none for its top.
    pub packages: &'a BTreeMap<Name, Option<TreePath>>,
    /// `{host.NAME}`: the roots of the host components found on this machine.
    pub hosts: &'a BTreeMap<Name, PathBuf>,
    /// `{app}`: only while an application runs.
    pub app: Option<&'a Path>,
    /// `{home}`: the home directory of a run; without it the person's own.
    pub home: Option<&'a Path>,
    /// `{tmp}`: the temporary directory of a run; without it the person's own.
    pub tmp: Option<&'a Path>,
}

/// Expands the template of a variable. On Windows `/` in the text behind a placeholder becomes `\`,
/// up to the next `;` or quote.
pub(super) fn expand(
    variable: &str,
    template: &str,
    directories: &Directories<'_>,
    family: Family,
) -> Result<OsString> {
    let wrong = |reason: String| RuntimeError::Template {
        variable: variable.to_owned(),
        value: template.to_owned(),
        reason,
    };
    let mut expanded = OsString::new();
    let mut behind_placeholder = false;
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        push(&mut expanded, &rest[..at], &mut behind_placeholder, family);
        let from = &rest[at..];
        if from.starts_with("{{") || from.starts_with("}}") {
            expanded.push(&from[..1]);
            rest = &from[2..];
            continue;
        }
        let inner = from
            .strip_prefix('{')
            .ok_or_else(|| wrong("a } stands alone; write }} for a brace".to_owned()))?;
        let (name, after) = inner
            .split_once('}')
            .ok_or_else(|| wrong("a { is not closed; write {{ for a brace".to_owned()))?;
        expanded.push(directory(name, directories).map_err(wrong)?);
        behind_placeholder = true;
        rest = after;
    }
    push(&mut expanded, rest, &mut behind_placeholder, family);
    Ok(expanded)
}

fn push(expanded: &mut OsString, text: &str, behind_placeholder: &mut bool, family: Family) {
    if family == Family::Unix {
        expanded.push(text);
        return;
    }
    let mut written = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, ';' | '"') {
            *behind_placeholder = false;
        }
        written.push(if c == '/' && *behind_placeholder { '\\' } else { c });
    }
    expanded.push(written);
}

/// The directory that a placeholder stands for, or what is wrong with it.
fn directory(name: &str, directories: &Directories<'_>) -> Result<OsString, String> {
    let of_run = |directory: Option<&Path>| {
        directory.map(|path| path.as_os_str().to_owned()).ok_or_else(|| {
            format!("{{{name}}} is a directory of a run, and no application is run here")
        })
    };
    if let Some(package) = name.strip_prefix("package.") {
        let place = find(package, directories.packages, "package")?;
        let root = directories.environment;
        let path = place.as_ref().map_or_else(|| root.to_path_buf(), |place| place.at(root));
        return Ok(path.into_os_string());
    }
    if let Some(host) = name.strip_prefix("host.") {
        let root = find(host, directories.hosts, "host component")?;
        return Ok(root.as_os_str().to_owned());
    }
    match name {
        "environment" => Ok(OsStr::to_owned(directories.environment.as_os_str())),
        "app" => of_run(directories.app),
        "home" => of_run(directories.home),
        "tmp" => of_run(directories.tmp),
        _ => Err(format!("{{{name}}} stands for nothing")),
    }
}

fn find<'a, T>(name: &str, known: &'a BTreeMap<Name, T>, what: &str) -> Result<&'a T, String> {
    known.iter().find(|(key, _)| key.as_str() == name).map(|(_, value)| value).ok_or_else(|| {
        let names: Vec<&str> = known.keys().map(Name::as_str).collect();
        let list = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        format!("no {what} \"{name}\" is in the environment; there is {list}")
    })
}
