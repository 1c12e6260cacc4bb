//! Where links point, in an archive whose entries were stripped and renamed.
//!
//! A target is followed in the archive's own names first, because there it was right, then mapped
//! into the tree the way entries are. Links never lead anywhere outside either.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use super::assembly::{Item, What, file_entry};
use super::bounds::Bounds;
use super::error::Problem;
use super::placing::Placing;
use crate::model::{Entry, TreePath};

/// How many links one path may lead through, as on Linux.
const MAX_HOPS: usize = 40;

/// A place in the archive or in the tree; `None` is its top.
type Place = Option<TreePath>;

/// The finished names of one archive, for following links.
pub(super) struct Layout<'a> {
    items: &'a BTreeMap<TreePath, Item>,
    placing: &'a Placing<'a>,
    placed: &'a HashMap<TreePath, Option<TreePath>>,
    /// Links by their path in the archive, with their path in the tree.
    links: HashMap<&'a TreePath, &'a str>,
}

fn join(directory: Option<&TreePath>, part: &str) -> Result<TreePath, String> {
    part.parse::<TreePath>()
        .map(|part| part.under(directory))
        .map_err(|reason| format!("which {reason}"))
}

impl<'a> Layout<'a> {
    pub(super) fn new(
        items: &'a BTreeMap<TreePath, Item>,
        placing: &'a Placing<'a>,
        placed: &'a HashMap<TreePath, Option<TreePath>>,
    ) -> Self {
        let links = items
            .values()
            .filter_map(|item| match &item.what {
                What::Link(target) => Some((&item.archive, target.as_str())),
                _ => None,
            })
            .collect();
        Self { items, placing, placed, links }
    }

    /// What the tree keeps of a link: its target relative to its own directory.
    pub(super) fn link_text(&self, path: &TreePath) -> Result<String, Problem> {
        let target = self.target(path)?;
        self.resolve(path, &target)?;
        let from: Vec<&str> = path.as_str().split('/').collect();
        let from = &from[..from.len() - 1];
        let to: Vec<&str> = target.as_ref().map_or(Vec::new(), |to| to.parts().collect());
        let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
        let mut parts = vec![".."; from.len() - shared];
        parts.extend(&to[shared..]);
        Ok(if parts.is_empty() { ".".to_owned() } else { parts.join("/") })
    }

    fn problem(&self, path: &TreePath, reason: impl Into<String>) -> Problem {
        let (entry, target) = match self.items.get(path) {
            Some(Item { archive, what: What::Link(target) }) => {
                (archive.to_string(), target.escape_debug().to_string())
            }
            _ => (path.to_string(), String::new()),
        };
        Problem::Link { entry, target, reason: reason.into() }
    }

    /// Where the link at a path of the tree points, one step, in the tree.
    fn target(&self, path: &TreePath) -> Result<Place, Problem> {
        let Some(Item { archive, what: What::Link(text) }) = self.items.get(path) else {
            return Ok(Some(path.clone()));
        };
        let mut hops = 0;
        let place = self
            .follow(archive.parent(), text, &mut hops)
            .map_err(|reason| self.problem(path, reason))?;
        self.placing
            .target(place.as_ref())
            .map_err(|()| self.problem(path, "which `strip` takes out of the tree"))
    }

    /// Follows a target in the archive's names. Links are only looked through where `..` follows
    /// them: everywhere else the text already says the right thing.
    fn follow(&self, from: Place, text: &str, hops: &mut usize) -> Result<Place, String> {
        let bytes = text.as_bytes();
        if text.is_empty() {
            return Err("which is empty".to_owned());
        }
        if text.starts_with('/') {
            return Err("which is absolute".to_owned());
        }
        if text.starts_with('\\')
            || (bytes.len() > 1 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':')
        {
            return Err("which names a drive, a server or a device".to_owned());
        }
        let mut place = from;
        for part in text.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    let real = self.real(place, hops)?;
                    place = match real {
                        Some(path) => path.parent(),
                        None => return Err("which lies outside the archive".to_owned()),
                    };
                }
                part => place = Some(join(place.as_ref(), part)?),
            }
        }
        Ok(place)
    }

    /// A place of the archive with every link on the way looked through.
    fn real(&self, place: Place, hops: &mut usize) -> Result<Place, String> {
        let Some(path) = place else {
            return Ok(None);
        };
        if self.links.is_empty() {
            return Ok(Some(path));
        }
        let mut real: Place = None;
        for part in path.parts() {
            let next = join(real.as_ref(), part)?;
            real = match self.links.get(&next) {
                None => Some(next),
                Some(text) => {
                    *hops += 1;
                    if *hops > MAX_HOPS {
                        return Err("which leads in a circle".to_owned());
                    }
                    let through = self.follow(next.parent(), text, hops)?;
                    self.real(through, hops)?
                }
            };
        }
        Ok(real)
    }

    /// What a target is in the end: a place of the tree that is no link and lies below none.
    pub(super) fn resolve(&self, link: &TreePath, target: &Place) -> Result<Place, Problem> {
        let mut hops = 0;
        self.resolve_counted(link, target, &mut hops)
    }

    fn resolve_counted(
        &self,
        link: &TreePath,
        target: &Place,
        hops: &mut usize,
    ) -> Result<Place, Problem> {
        let Some(path) = target else {
            return Ok(None);
        };
        let mut real: Place = None;
        for part in path.parts() {
            let next = join(real.as_ref(), part).map_err(|reason| self.problem(link, reason))?;
            real = match self.items.get(&next).map(|item| &item.what) {
                Some(What::Link(_)) => {
                    *hops += 1;
                    if *hops > MAX_HOPS {
                        return Err(self.problem(link, "which leads in a circle"));
                    }
                    let through = self.target(&next)?;
                    self.resolve_counted(link, &through, hops)?
                }
                Some(_) => Some(next),
                None if self.below(&next).next().is_some() => Some(next),
                None => return Err(self.dangling(link, &next)),
            };
        }
        Ok(real)
    }

    fn dangling(&self, link: &TreePath, missing: &TreePath) -> Problem {
        let left_out = self.placed.iter().any(|(archive, placed)| {
            placed.is_none()
                && self
                    .placing
                    .target(Some(archive))
                    .ok()
                    .flatten()
                    .is_some_and(|would| would == *missing || would.strip(missing).is_some())
        });
        let reason = if left_out {
            format!("and \"{missing}\" is left out by the options")
        } else {
            format!("and there is no \"{missing}\"")
        };
        self.problem(link, reason)
    }

    /// Everything below a directory of the tree.
    fn below<'b>(
        &'b self,
        directory: &'b TreePath,
    ) -> impl Iterator<Item = (&'b TreePath, &'b Item)> + 'b {
        // '0' is the byte after '/': the range is exactly what begins with "directory/".
        let low = format!("{directory}/");
        let high = format!("{directory}0");
        self.items.range::<str, _>((Bound::Excluded(low.as_str()), Bound::Excluded(high.as_str())))
    }
}

/// The lines of a tree without links: file links become the file, directory links are expanded.
pub(super) fn expand(layout: &Layout<'_>, bounds: &Bounds) -> Result<Vec<Entry>, Problem> {
    let mut expansion = Expansion { layout, bounds, entries: Vec::new() };
    for (path, item) in layout.items {
        expansion.add(path.clone(), path, item, &mut Vec::new())?;
    }
    Ok(expansion.entries)
}

struct Expansion<'a> {
    layout: &'a Layout<'a>,
    bounds: &'a Bounds,
    entries: Vec<Entry>,
}

impl Expansion<'_> {
    /// Adds what lies at `real` in the layout under the path `shown`. `open` holds the directories
    /// being expanded.
    fn add(
        &mut self,
        shown: TreePath,
        real: &TreePath,
        item: &Item,
        open: &mut Vec<TreePath>,
    ) -> Result<(), Problem> {
        self.bounds.most_entries.check(self.entries.len() as u64 + 1)?;
        match &item.what {
            What::Directory => self.entries.push(Entry::directory(shown)),
            What::File(content) => {
                if shown != *real {
                    self.bounds.take(content.map_or(0, |content| content.size))?;
                }
                self.entries.push(file_entry(shown, content.as_ref())?);
            }
            What::Link(_) => self.add_link(&shown, real, open)?,
        }
        Ok(())
    }

    fn add_link(
        &mut self,
        shown: &TreePath,
        link: &TreePath,
        open: &mut Vec<TreePath>,
    ) -> Result<(), Problem> {
        let layout = self.layout;
        let circle = || layout.problem(link, "a directory that the link itself lies in");
        let target = layout.target(link)?;
        let Some(target) = layout.resolve(link, &target)? else {
            return Err(circle());
        };
        if let Some(item) = layout.items.get(&target)
            && matches!(item.what, What::File(_))
        {
            return self.add(shown.clone(), &target, item, open);
        }
        let inside = |directory: &TreePath| {
            link.strip(directory).is_some() || open.iter().any(|open| open == directory)
        };
        if inside(&target) {
            return Err(circle());
        }
        if open.len() == MAX_HOPS {
            return Err(layout.problem(link, "a directory behind too many other links"));
        }
        open.push(target.clone());
        self.entries.push(Entry::directory(shown.clone()));
        for (path, item) in layout.below(&target) {
            if let Some(rest) = path.strip(&target) {
                self.add(rest.under(Some(shown)), path, item, open)?;
            }
        }
        open.pop();
        Ok(())
    }
}
