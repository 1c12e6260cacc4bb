//! Collects what an archive holds, in any order, and makes the tree of it.

use std::collections::{BTreeMap, HashMap};

use super::bounds::{Bounds, MostEntries};
use super::collisions;
use super::content::{self, Content};
use super::error::Problem;
use super::links::{self, Layout};
use super::placing::{Placing, archive_path};
use super::sink::Sink;
use crate::model::{Entry, Family, Kind, Progress, Tree, TreeError, TreePath, UnpackOptions};

/// What lies at one path of the tree to be.
#[derive(Debug, Clone)]
pub(super) enum What {
    Directory,
    /// Empty until its content was written.
    File(Option<Content>),
    /// Its target as the archive has it; empty until read.
    Link(String),
}

/// One entry that the options keep.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// Its path in the archive, for messages and for links.
    pub(super) archive: TreePath,
    pub(super) what: What,
}

/// Everything kept so far, and the names of what was left out.
pub(super) struct Assembly<'a> {
    pub(super) placing: Placing<'a>,
    family: Family,
    most_entries: MostEntries,
    entries: u64,
    items: BTreeMap<TreePath, Item>,
    /// Files by their path in the archive, for hard links; `None` when left out.
    placed: HashMap<TreePath, Option<TreePath>>,
}

impl<'a> Assembly<'a> {
    pub(super) fn new(options: &'a UnpackOptions, family: Family) -> Self {
        Self {
            placing: Placing::new(options),
            family,
            most_entries: MostEntries::of(options),
            entries: 0,
            items: BTreeMap::new(),
            placed: HashMap::new(),
        }
    }

    /// Checks a name and says where its entry lands, if the options keep it.
    pub(super) fn place(&mut self, name: &str, what: What) -> Result<Option<TreePath>, Problem> {
        self.entries += 1;
        self.most_entries.check(self.entries)?;
        let Some(archive) = archive_path(name)? else {
            return match what {
                What::Directory => Ok(None),
                _ => Err(Problem::Refused {
                    entry: name.to_owned(),
                    what: "a file or link in the place of the whole tree".to_owned(),
                }),
            };
        };
        let path = self
            .placing
            .place(&archive)
            .map_err(|reason| Problem::Name { entry: name.escape_debug().to_string(), reason })?;
        let directory = matches!(what, What::Directory);
        if let Some(path) = &path {
            self.insert(path.clone(), Item { archive: archive.clone(), what })?;
        }
        if !directory {
            self.placed.insert(archive, path.clone());
        }
        Ok(path)
    }

    fn insert(&mut self, path: TreePath, item: Item) -> Result<(), Problem> {
        if let Some(there) = self.items.get(&path) {
            if matches!((&there.what, &item.what), (What::Directory, What::Directory)) {
                return Ok(());
            }
            return Err(Problem::Duplicate {
                path: path.to_string(),
                first: there.archive.to_string(),
                second: item.archive.to_string(),
            });
        }
        self.items.insert(path, item);
        Ok(())
    }

    /// Gives a placed file its content, or a placed link its target.
    pub(super) fn fill(&mut self, path: &TreePath, what: What) {
        if let Some(item) = self.items.get_mut(path) {
            item.what = what;
        }
    }

    /// Places a hard link: the same content, or the same link, under another name. Gives the bytes
    /// that the tree grows by.
    pub(super) fn place_hard_link(&mut self, name: &str, target: &str) -> Result<u64, Problem> {
        let refused = |reason| Problem::HardLink {
            entry: name.to_owned(),
            target: target.to_owned(),
            reason,
        };
        let original = archive_path(target)
            .map_err(|_| refused("which is no path inside the archive"))?
            .ok_or_else(|| refused("which is no file"))?;
        let content = match self.placed.get(&original) {
            None => return Err(refused("which is no earlier file of the archive")),
            Some(None) => None,
            Some(Some(at)) => self.items.get(at).map(|item| item.what.clone()),
        };
        let kept = self.place(name, content.clone().unwrap_or(What::File(None)))?;
        match (content, kept) {
            (None, Some(_)) => Err(refused("which the options leave out")),
            (Some(What::File(Some(content))), Some(_)) => Ok(content.size),
            _ => Ok(0),
        }
    }

    /// Checks everything that names alone decide: to be called before contents are written, where
    /// all names are known by then.
    pub(super) fn check(&self) -> Result<(), Problem> {
        self.placing.check()?;
        let mut checked = None;
        for path in self.items.keys() {
            // Neighbours mostly lie in one directory: what is above them is looked at once.
            let parent = path.ancestors().next();
            if std::mem::replace(&mut checked, parent) == parent {
                continue;
            }
            for ancestor in path.ancestors() {
                let what = match self.items.get(ancestor).map(|item| &item.what) {
                    Some(What::File(_)) => "a file",
                    Some(What::Link(_)) => "a link",
                    _ => continue,
                };
                return Err(Problem::Below {
                    below: path.to_string(),
                    above: ancestor.to_owned(),
                    what,
                });
            }
        }
        if self.family == Family::Windows {
            collisions::check_windows(self.items.keys())?;
        }
        Ok(())
    }

    /// The tree. Links become blobs of their target, or what they point to.
    pub(super) fn finish(
        self,
        sink: &dyn Sink,
        bounds: &Bounds,
        progress: &dyn Progress,
    ) -> Result<Tree, Problem> {
        self.check()?;
        let layout = Layout::new(&self.items, &self.placing, &self.placed);
        let entries = match self.family {
            Family::Unix => {
                collisions::note_normal_forms(self.items.keys(), progress);
                self.unix_entries(&layout, sink)?
            }
            Family::Windows => {
                let expanded = links::expand(&layout, bounds)?;
                collisions::merge_directories(expanded)?
            }
        };
        drop(self);
        Tree::of(entries).map_err(structure)
    }

    fn unix_entries(&self, layout: &Layout<'_>, sink: &dyn Sink) -> Result<Vec<Entry>, Problem> {
        let mut entries = Vec::with_capacity(self.items.len());
        for (path, item) in &self.items {
            entries.push(match &item.what {
                What::Directory => Entry::directory(path.clone()),
                What::File(content) => file_entry(path.clone(), content.as_ref())?,
                What::Link(_) => {
                    let text = layout.link_text(path)?;
                    let content = content::write_link(sink, path, &text)?;
                    Entry::content(Kind::Link, content.size, content.blob, path.clone())
                }
            });
        }
        Ok(entries)
    }
}

/// The line of a file whose content was written.
pub(super) fn file_entry(path: TreePath, content: Option<&Content>) -> Result<Entry, Problem> {
    let content = content.ok_or_else(|| Problem::Damaged {
        entry: Some(path.to_string()),
        reason: "its content never came".to_owned(),
    })?;
    let kind = if content.executable { Kind::Executable } else { Kind::File };
    Ok(Entry::content(kind, content.size, content.blob, path))
}

fn structure(error: TreeError) -> Problem {
    Problem::damaged(error.to_string())
}
