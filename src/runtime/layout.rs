//! What `app/` will hold while it is being planned, and finding things in trees: by folded names
//! where Windows compares, through links where Unix has them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::error::{Context, Result};
use crate::disk;
use crate::model::{BlobId, ComparedName, Entry, Family, Kind, Tree, TreePath};

/// Gives the path of a blob's file; the second argument says which of its two forms.
pub(super) type Reader<'a> = &'a dyn Fn(&BlobId, bool) -> PathBuf;

/// How many links are followed before they count as a cycle.
const MOST_LINKS: usize = 40;

/// The files of `app/`.
pub(super) struct Layout {
    family: Family,
    entries: BTreeMap<ComparedName, Entry>,
}

impl Layout {
    pub(super) const fn new(family: Family) -> Self {
        Self { family, entries: BTreeMap::new() }
    }

    pub(super) fn get(&self, path: &TreePath) -> Option<&Entry> {
        self.entries.get(&ComparedName::new(self.family, path.as_str()))
    }

    /// Puts an entry at its path; one that is there keeps its spelling and is given back.
    pub(super) fn put(&mut self, mut entry: Entry) -> Option<Entry> {
        let key = ComparedName::new(self.family, entry.path.as_str());
        let before = self.entries.remove(&key);
        if let Some(before) = &before {
            entry.path = before.path.clone();
        }
        self.entries.insert(key, entry);
        before
    }

    /// What keeps a file from lying at a path: a file above it, or a directory at it.
    pub(super) fn obstacle(&self, path: &TreePath) -> Option<String> {
        let above = path
            .ancestors()
            .filter_map(|above| self.entries.get(&ComparedName::new(self.family, above)))
            .find(|entry| entry.kind != Kind::Directory);
        if let Some(file) = above {
            return Some(format!("\"{}\" is a file of the application", file.path));
        }
        let key = ComparedName::new(self.family, path.as_str());
        let is_directory = self.entries.values().any(|entry| {
            let mut above = entry.path.ancestors();
            above.any(|above| ComparedName::new(self.family, above) == key)
                || (entry.kind == Kind::Directory
                    && ComparedName::new(self.family, entry.path.as_str()) == key)
        });
        is_directory.then(|| format!("\"{path}\" is a directory of the application"))
    }

    /// A file of this name: in the first of these directories that has one, else anywhere.
    pub(super) fn find(&self, name: &str, directories: &[Option<TreePath>]) -> Option<&Entry> {
        let name: TreePath = name.parse().ok()?;
        let beside = directories
            .iter()
            .find_map(|directory| self.get(&name.under(directory.as_ref())))
            .filter(|entry| entry.kind != Kind::Directory);
        let wanted = ComparedName::new(self.family, name.as_str());
        beside.or_else(|| {
            self.entries.values().find(|entry| {
                entry.kind != Kind::Directory
                    && ComparedName::new(self.family, entry.path.file_name()) == wanted
            })
        })
    }

    /// All entries, sorted by path. Directories that hold something have no entry.
    pub(super) fn into_entries(self) -> Vec<Entry> {
        let mut entries: Vec<Entry> = self.entries.into_values().collect();
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        let filled: std::collections::BTreeSet<String> =
            entries.iter().flat_map(|entry| entry.path.ancestors().map(str::to_owned)).collect();
        entries
            .retain(|entry| entry.kind != Kind::Directory || !filled.contains(entry.path.as_str()));
        entries
    }
}

/// The entry at a path, as the platform compares paths.
pub(super) fn find_entry<'a>(tree: &'a Tree, path: &TreePath, family: Family) -> Option<&'a Entry> {
    tree.get(path).or_else(|| {
        let wanted = ComparedName::new(family, path.as_str());
        let same = |entry: &&Entry| ComparedName::new(family, entry.path.as_str()) == wanted;
        if family == Family::Windows { tree.entries().iter().find(same) } else { None }
    })
}

/// The text of a link.
pub(super) fn link_target(entry: &Entry, reader: Reader<'_>) -> Result<String> {
    let Some(blob) = &entry.blob else { return Ok(String::new()) };
    let path = reader(blob, false);
    let bytes = disk::read(&path).context("read", &path)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Where a link's text leads from the directory it lies in; none if it leaves the tree.
pub(super) fn follow(link: &TreePath, target: &str) -> Option<TreePath> {
    let parent = link.parent();
    let mut parts: Vec<&str> = parent.iter().flat_map(TreePath::parts).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    parts.join("/").parse().ok()
}

/// The file that a path leads to, links in it and above it followed.
pub(super) fn resolve<'a>(
    tree: &'a Tree,
    path: &TreePath,
    family: Family,
    reader: Reader<'_>,
) -> Result<Option<&'a Entry>> {
    let mut path = path.clone();
    for _ in 0..MOST_LINKS {
        let (link, rest) = match find_entry(tree, &path, family) {
            Some(entry) if entry.kind == Kind::Link => (entry, None),
            Some(entry) => return Ok(Some(entry).filter(|entry| entry.kind.is_file())),
            None => {
                let above = path
                    .ancestors()
                    .filter_map(|above| above.parse::<TreePath>().ok())
                    .filter_map(|above| tree.get(&above))
                    .find(|entry| entry.kind == Kind::Link);
                let Some(link) = above else { return Ok(None) };
                (link, path.strip(&link.path))
            }
        };
        let Some(target) = follow(&link.path, &link_target(link, reader)?) else {
            return Ok(None);
        };
        path = match rest {
            Some(rest) => rest.under(Some(&target)),
            None => target,
        };
    }
    Ok(None)
}
