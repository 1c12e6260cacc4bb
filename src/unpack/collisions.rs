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
    let mut parent = None;
    for entry in &entries {
        let directory = (entry.kind == Kind::Directory).then_some(entry.path.as_str());
        // Neighbours mostly lie in one directory: what is above them is looked at once.
        let is_new = std::mem::replace(&mut parent, parent_of(&entry.path)) != parent;
        let above = entry.path.ancestors().filter(|_| is_new);
        for text in directory.into_iter().chain(above) {
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
    // How the archive spells those that are spelled otherwise now, for messages.
    let mut original: BTreeMap<FoldedPath, TreePath> = BTreeMap::new();
    let mut respelling = Respelling { spelling: &spelling, above: String::new(), spelled: None };
    let mut rest = entries.into_iter();
    while let Some(entry) = rest.next() {
        let folded = FoldedPath::new(entry.path.as_str());
        let respelled = respelling.respell(&entry)?;
        let is_file = entry.kind != Kind::Directory;
        if let Some(there) = merged.get(&folded) {
            if is_file || there.kind != Kind::Directory {
                let there = original.get(&folded).unwrap_or(&there.path);
                return Err(collision(there.as_str(), entry.path.as_str()));
            }
            continue;
        }
        if is_file && spelling.contains_key(&folded) {
            let before = merged.iter().map(|(folded, it)| original.get(folded).unwrap_or(&it.path));
            let all = before.chain(rest.as_slice().iter().map(|it| &it.path));
            let spelled = all.flat_map(with_ancestors);
            let directory = spelled.filter(|text| FoldedPath::new(text) == folded).min();
            return Err(collision(directory.unwrap_or_default(), entry.path.as_str()));
        }
        if respelled.path != entry.path {
            original.insert(folded.clone(), entry.path);
        }
        merged.insert(folded, respelled);
    }
    refuse_normal_forms(merged.iter().map(|(folded, entry)| {
        let path = &entry.path;
        (path, original.get(folded).unwrap_or(path))
    }))?;
    Ok(merged.into_values().collect())
}

/// The directory that a path lies in, as text.
fn parent_of(path: &TreePath) -> Option<&str> {
    path.as_str().rsplit_once('/').map(|(parent, _)| parent)
}

/// Spells each directory of a path the one way. Remembers the last directory, since paths come
/// sorted.
struct Respelling<'a> {
    spelling: &'a BTreeMap<FoldedPath, String>,
    above: String,
    /// How that is spelled; none at the top.
    spelled: Option<String>,
}

impl Respelling<'_> {
    fn respell(&mut self, entry: &Entry) -> Result<Entry, Problem> {
        let text = entry.path.as_str();
        let (above, own) = text.rsplit_once('/').unwrap_or(("", text));
        if above != self.above {
            self.spelled = self.directory(above);
            above.clone_into(&mut self.above);
        }
        let known = match entry.kind {
            Kind::Directory => self.spelling.get(&FoldedPath::new(text)).map(String::as_str),
            _ => None,
        };
        let own = known.unwrap_or(own);
        let path = self.spelled.as_ref().map_or_else(|| own.to_owned(), |a| format!("{a}/{own}"));
        let path = path
            .parse()
            .map_err(|reason| Problem::Name { entry: entry.path.to_string(), reason })?;
        Ok(Entry { path, ..entry.clone() })
    }

    /// A directory with each part spelled the one way; none for the top.
    fn directory(&self, text: &str) -> Option<String> {
        let mut parts: Vec<&str> = Vec::new();
        let ends = text.match_indices('/').map(|(at, _)| at).chain([text.len()]);
        for above in ends.map(|end| &text[..end]).filter(|above| !above.is_empty()) {
            let own = above.rsplit('/').next().unwrap_or(above);
            parts.push(self.spelling.get(&FoldedPath::new(above)).map_or(own, String::as_str));
        }
        (!parts.is_empty()).then(|| parts.join("/"))
    }
}

fn collision(first: &str, second: &str) -> Problem {
    let (first, second) = (first.min(second), first.max(second));
    Problem::Collision { first: first.to_owned(), second: second.to_owned() }
}

/// Whether a path has characters whose normal form is plain ASCII: K of the Kelvin sign, for one.
fn normalises_to_ascii(path: &TreePath) -> bool {
    path.as_str().chars().any(|c| !c.is_ascii() && c.nfc().all(|normal| normal.is_ascii()))
}

/// Each path comes as the tree spells it, and as the archive does: they have the same parts.
fn refuse_normal_forms<'a>(
    paths: impl Iterator<Item = (&'a TreePath, &'a TreePath)> + Clone,
) -> Result<(), Problem> {
    let mut seen: BTreeMap<FoldedPath, (&str, &str)> = BTreeMap::new();
    // Plain ASCII is like nothing but itself, unless something else becomes ASCII.
    let all = paths.clone().any(|(path, _)| normalises_to_ascii(path));
    for (path, original) in paths.filter(|(path, _)| all || !path.as_str().is_ascii()) {
        for (text, original) in with_ancestors(path).zip(with_ancestors(original)) {
            let normal: String = text.nfc().collect();
            let first = *seen.entry(FoldedPath::new(&normal)).or_insert((text, original));
            if first.0 != text {
                return Err(Problem::NormalForm {
                    first: first.1.min(original).to_owned(),
                    second: first.1.max(original).to_owned(),
                });
            }
        }
    }
    Ok(())
}
