//! Names that Windows, or the eye, takes for one.

use std::collections::BTreeMap;

use unicode_normalization::UnicodeNormalization;

use super::error::Problem;
use crate::model::{Entry, FoldedPath, Kind, Progress, TreePath, check_windows_path};

/// Refuses paths that Windows cannot hold.
pub(super) fn check_windows<'a>(paths: impl Iterator<Item = &'a TreePath>) -> Result<(), Problem> {
    for path in paths {
        check_windows_path(path)
            .map_err(|reason| Problem::WindowsName { entry: path.to_string(), reason })?;
    }
    Ok(())
}

/// A path and every directory above it, as text.
fn with_ancestors(path: &TreePath) -> impl Iterator<Item = &str> {
    std::iter::once(path.as_str()).chain(path.ancestors())
}

/// Says which names look the same and are not.
pub(super) fn note_normal_forms<'a>(
    paths: impl Iterator<Item = &'a TreePath> + Clone,
    progress: &dyn Progress,
) {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    let all = paths.clone().any(normalises_to_ascii);
    let looked_at = paths.filter(|path| all || !path.as_str().is_ascii());
    for text in looked_at.flat_map(with_ancestors) {
        let first = *seen.entry(text.nfc().collect()).or_insert(text);
        if first != text && first.rsplit('/').next() != text.rsplit('/').next() {
            progress.note(&format!(
                "\"{first}\" and \"{text}\" differ only in their Unicode normal form"
            ));
        }
    }
}

/// Merges directories whose names fold to one, and refuses every other two names that do.
pub(super) fn merge_directories(entries: Vec<Entry>) -> Result<Vec<Entry>, Problem> {
    check_windows(entries.iter().map(|entry| &entry.path))?;
    let mut spelling: BTreeMap<FoldedPath, String> = BTreeMap::new();
    for entry in &entries {
        let directory = (entry.kind == Kind::Directory).then_some(entry.path.as_str());
        for text in directory.into_iter().chain(entry.path.ancestors()) {
            let part = text.rsplit('/').next().unwrap_or(text);
            spelling
                .entry(FoldedPath::new(text))
                .and_modify(|best| {
                    if part < best.as_str() {
                        part.clone_into(best);
                    }
                })
                .or_insert_with(|| part.to_owned());
        }
    }
    let mut merged: BTreeMap<FoldedPath, Entry> = BTreeMap::new();
    for entry in entries {
        let folded = FoldedPath::new(entry.path.as_str());
        let respelled = respell(&entry, &spelling)?;
        let is_file = entry.kind != Kind::Directory;
        if let Some(there) = merged.get(&folded) {
            if is_file || there.kind != Kind::Directory {
                return Err(collision(&there.path, &entry.path));
            }
            continue;
        }
        if is_file && spelling.contains_key(&folded) {
            let directory = respell(&Entry::directory(entry.path.clone()), &spelling)?.path;
            return Err(collision(&directory, &entry.path));
        }
        merged.insert(folded, respelled);
    }
    refuse_normal_forms(merged.values())?;
    Ok(merged.into_values().collect())
}

/// The entry with each directory of its path spelled the one way.
fn respell(entry: &Entry, spelling: &BTreeMap<FoldedPath, String>) -> Result<Entry, Problem> {
    let mut parts: Vec<&str> = Vec::new();
    let text = entry.path.as_str();
    let mut ends: Vec<usize> = text.match_indices('/').map(|(at, _)| at).collect();
    ends.push(text.len());
    for end in ends {
        let above = &text[..end];
        let own = above.rsplit('/').next().unwrap_or(above);
        let last = end == text.len() && entry.kind != Kind::Directory;
        let known = spelling.get(&FoldedPath::new(above)).filter(|_| !last);
        parts.push(known.map_or(own, String::as_str));
    }
    let path = parts
        .join("/")
        .parse()
        .map_err(|reason| Problem::Name { entry: entry.path.to_string(), reason })?;
    Ok(Entry { path, ..entry.clone() })
}

fn collision(first: &TreePath, second: &TreePath) -> Problem {
    let (first, second) = (first.min(second), first.max(second));
    Problem::Collision { first: first.to_string(), second: second.to_string() }
}

/// Whether a path has characters whose normal form is plain ASCII: K of the Kelvin sign, for one.
fn normalises_to_ascii(path: &TreePath) -> bool {
    path.as_str().chars().any(|c| !c.is_ascii() && c.nfc().all(|normal| normal.is_ascii()))
}

fn refuse_normal_forms<'a>(
    entries: impl Iterator<Item = &'a Entry> + Clone,
) -> Result<(), Problem> {
    let mut seen: BTreeMap<FoldedPath, &str> = BTreeMap::new();
    // Plain ASCII is like nothing but itself, unless something else becomes ASCII.
    let all = entries.clone().any(|entry| normalises_to_ascii(&entry.path));
    for entry in entries.filter(|entry| all || !entry.path.as_str().is_ascii()) {
        for text in with_ancestors(&entry.path) {
            let normal: String = text.nfc().collect();
            let first = *seen.entry(FoldedPath::new(&normal)).or_insert(text);
            if first != text {
                return Err(Problem::NormalForm {
                    first: first.min(text).to_owned(),
                    second: first.max(text).to_owned(),
                });
            }
        }
    }
    Ok(())
}
