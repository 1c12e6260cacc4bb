//! When two paths are one: by bytes on Linux, by folded case on Windows.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{ComparedName, Family, TreePath};

/// A directory that packages hold, by having it empty or by having something in it.
#[derive(Debug)]
pub(super) struct Directory {
    /// The byte-smallest spelling of its whole path, once [`Directories::settle`] has run.
    pub(super) spelling: String,
    /// Whether anything lies in it.
    pub(super) filled: bool,
    /// Which parts hold it, and how the first entry of each spells it.
    pub(super) holders: BTreeMap<usize, String>,
    /// The spellings of its last part.
    names: BTreeSet<String>,
}

/// All directories of an environment.
#[derive(Debug)]
pub(super) struct Directories {
    family: Family,
    known: BTreeMap<ComparedName, Directory>,
}

impl Directories {
    pub(super) const fn new(family: Family) -> Self {
        Self { family, known: BTreeMap::new() }
    }

    /// Takes in a directory, with or without anything in it, and those above it.
    pub(super) fn add(&mut self, path: &str, part: usize, filled: bool) {
        let mut rest = Some(path);
        let mut filled = filled;
        while let Some(path) = rest {
            let parent = path.rsplit_once('/');
            let name = parent.map_or(path, |(_, name)| name);
            let directory =
                self.known.entry(ComparedName::new(self.family, path)).or_insert_with(|| {
                    Directory {
                        spelling: path.to_owned(),
                        filled,
                        holders: BTreeMap::new(),
                        names: BTreeSet::new(),
                    }
                });
            let seen = directory.filled
                && directory.holders.contains_key(&part)
                && directory.names.contains(name);
            directory.filled |= std::mem::replace(&mut filled, true);
            directory.holders.entry(part).or_insert_with(|| path.to_owned());
            if !directory.names.contains(name) {
                directory.names.insert(name.to_owned());
            }
            // On Windows a parent may be spelled otherwise this time: go on to the top.
            rest = match parent {
                Some((above, _)) if !(seen && self.family == Family::Unix) => Some(above),
                _ => None,
            };
        }
    }

    /// Decides every directory's spelling: each part the byte-smallest there is.
    pub(super) fn settle(&mut self) {
        if self.family == Family::Unix {
            return;
        }
        // A directory's key is greater than those of the directories above it, so parents are ready.
        let mut settled: BTreeMap<ComparedName, String> = BTreeMap::new();
        for (key, directory) in &mut self.known {
            let name = directory.names.first().map_or("", String::as_str);
            let parent = directory.spelling.rsplit_once('/').map(|(above, _)| above);
            let above = parent
                .and_then(|above| settled.get(&ComparedName::new(Family::Windows, above)).cloned());
            let spelling = above.map_or_else(|| name.to_owned(), |above| format!("{above}/{name}"));
            settled.insert(key.clone(), spelling.clone());
            directory.spelling = spelling;
        }
    }

    pub(super) fn get(&self, key: &ComparedName) -> Option<&Directory> {
        self.known.get(key)
    }

    pub(super) fn spellings(&self) -> impl Iterator<Item = (&ComparedName, &Directory)> {
        self.known.iter()
    }
}

/// Spells paths as was decided. Remembers the last directory, since paths come sorted.
pub(super) struct Respelling<'a> {
    directories: &'a Directories,
    above: String,
    spelling: Option<&'a str>,
}

impl<'a> Respelling<'a> {
    pub(super) const fn new(directories: &'a Directories) -> Self {
        Self { directories, above: String::new(), spelling: None }
    }

    /// A path with the directories above it in their decided spelling; none where it is so already.
    pub(super) fn respell(&mut self, path: &TreePath) -> Option<TreePath> {
        let Directories { family: Family::Windows, known } = self.directories else { return None };
        let (above, name) = path.as_str().rsplit_once('/')?;
        if above != self.above {
            let directory = known.get(&ComparedName::new(Family::Windows, above));
            self.spelling = directory.map(|directory| directory.spelling.as_str());
            above.clone_into(&mut self.above);
        }
        let spelling = self.spelling.filter(|spelling| *spelling != above)?;
        // Parts of paths that were right, put together, are a right path.
        format!("{spelling}/{name}").parse().ok()
    }
}
