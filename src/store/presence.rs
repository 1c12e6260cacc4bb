//! Whether what was put into a realised directory is still there: a look that every build can afford.
//!
//! A virus scanner takes files away seconds after they were written, or days, one name at a time. So
//! the names of everything are looked for before a build calls itself done, by listing each directory
//! once: of 10,800 files in 1,258 directories that takes 12 ms, asking for each 19 ms, and Windows
//! opens a file to answer for it, whereas its listings have the sizes too. All files are looked for
//! and not programs and libraries alone, because scanners take scripts and archives as well and the
//! listing costs the same. What was placed a moment ago is asked for one by one, with its blob, its
//! size and its time: beside making the links that is little, where paths are not walked for each.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::Path;

use rayon::prelude::*;

use crate::model::{Entry, Fate, Tree, VanishedFile};

use super::error::{At, Result};
use super::reading::metadata;
use super::{Checked, Store, blob};

#[cfg(unix)]
mod glance;

impl Store {
    /// What of a tree is not in its realised directory any more, by path. Looks at names, on Windows
    /// at sizes as well.
    pub fn absent(&self, tree: &Tree, realised: &Path) -> Result<Vec<VanishedFile>> {
        let found: Vec<Vec<VanishedFile>> = by_directory(tree)
            .into_par_iter()
            .map(|(directory, entries)| absent_in(&realised.join(directory), &entries, realised))
            .collect::<Result<_>>()?;
        Ok(by_path(found))
    }

    /// The same of a directory that was just made, with each file's size, time and blob.
    pub fn absent_of_new(&self, tree: &Tree, realised: &Path) -> Result<Vec<VanishedFile>> {
        let directories: Vec<(&str, Vec<&Entry>)> = by_directory(tree).into_iter().collect();
        let found: Vec<Vec<VanishedFile>> = directories
            .par_iter()
            .with_max_len(1)
            .map(|(directory, entries)| self.absent_of_new_in(directory, entries, realised))
            .collect::<Result<_>>()?;
        Ok(by_path(found))
    }

    fn absent_of_new_in(
        &self,
        directory: &str,
        entries: &[&Entry],
        realised: &Path,
    ) -> Result<Vec<VanishedFile>> {
        #[cfg(unix)]
        let glance = glance::Glance::new(self, &realised.join(directory));
        #[cfg(windows)]
        let _ = directory;
        let look = |entry: &&Entry| {
            #[cfg(unix)]
            if glance.as_ref().is_some_and(|glance| glance.finds_whole(entry)) {
                return None;
            }
            self.look(entry, realised).transpose()
        };
        entries.iter().filter_map(look).collect()
    }

    fn look(&self, entry: &Entry, realised: &Path) -> Result<Option<VanishedFile>> {
        let path = entry.path.at(realised);
        let told = |what| Ok(Some(absent(what, entry, &path)));
        let Some(blob) = entry.blob else {
            return if path.is_dir() { Ok(None) } else { told(Fate::Vanished) };
        };
        if !entry.kind.is_file() {
            return if metadata(&path)?.is_some() { Ok(None) } else { told(Fate::Vanished) };
        }
        match self.check_placed(&blob, entry.size, &path)? {
            Checked::Missing => return told(Fate::Vanished),
            Checked::Changed => return told(Fate::Changed),
            Checked::Whole => {}
        }
        // The next build and run take it from there.
        if blob::is_here(self.layout(), &blob, entry.kind) {
            return Ok(None);
        }
        let file = self.layout().blob(&blob, false);
        Ok(Some(absent(Fate::Vanished, entry, &file)))
    }
}

/// The entries of a tree by the directory that they lie in.
fn by_directory(tree: &Tree) -> BTreeMap<&str, Vec<&Entry>> {
    let mut directories: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for entry in tree.entries() {
        let parent = entry.path.as_str().rsplit_once('/').map_or("", |(parent, _)| parent);
        directories.entry(parent).or_default().push(entry);
    }
    directories
}

fn by_path(found: Vec<Vec<VanishedFile>>) -> Vec<VanishedFile> {
    let mut found: Vec<VanishedFile> = found.into_iter().flatten().collect();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn absent(what: Fate, entry: &Entry, file: &Path) -> VanishedFile {
    VanishedFile {
        file: Some(file.to_path_buf()),
        ..VanishedFile::of(what, &entry.path, entry.blob)
    }
}

fn absent_in(directory: &Path, entries: &[&Entry], realised: &Path) -> Result<Vec<VanishedFile>> {
    let there = list(directory)?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.path.at(realised);
        let what = match there.get(OsStr::new(entry.path.file_name())) {
            None => Fate::Vanished,
            // NTFS brings the size in a listing up to date only for the name that was written to.
            Some(Some(size)) if entry.kind.is_file() && *size != entry.size => {
                match metadata(&path)? {
                    Some(there) if there.len() == entry.size => continue,
                    Some(_) => Fate::Changed,
                    None => Fate::Vanished,
                }
            }
            Some(_) => continue,
        };
        found.push(absent(what, entry, &path));
    }
    Ok(found)
}

/// The names in a directory, with the sizes where they come for nothing. None if it is gone.
fn list(directory: &Path) -> Result<BTreeMap<OsString, Option<u64>>> {
    let listed = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        listed => listed.at("list", directory)?,
    };
    let mut there = BTreeMap::new();
    for entry in listed {
        let entry = entry.at("list", directory)?;
        let size =
            if cfg!(windows) { entry.metadata().ok().map(|there| there.len()) } else { None };
        there.insert(entry.file_name(), size);
    }
    Ok(there)
}
