//! The merge: entries of all packages by path, each path decided once.

use std::collections::{BTreeMap, BTreeSet};

use crate::manifest::{Override, Placement};
use crate::model::{
    BlobId, Entry, Family, Kind, Name, Platform, Tree, TreeBuilder, TreePath, check_windows_path,
};

use super::error::{Collision, ComposeError, Holder, IdleOverride, RefusedPath, windows_reason};
use super::folding::{Directories, Key, Respelling};
use super::normal_form;

/// The directory of an environment that packages may not write.
pub(super) const RESERVED: &str = ".drystone";

/// One package of an environment.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// Its name.
    pub name: &'a Name,
    /// Where it lies.
    pub placement: &'a Placement,
    /// What it holds.
    pub tree: &'a Tree,
}

/// A text that drystone puts into an environment itself, below `.drystone/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// Where it lies.
    pub path: TreePath,
    /// Its bytes: the caller stages these same ones.
    pub content: Vec<u8>,
}

/// An environment's tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Composed {
    /// The tree, with the texts' entries in it.
    pub tree: Tree,
    /// The texts, whose contents are in no package: to be staged before the tree is committed.
    pub texts: Vec<Text>,
    /// What is allowed here and would not be elsewhere.
    pub warnings: Vec<Warning>,
}

/// Something that a person should know and that stops nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Warning {
    /// Names that a person cannot tell apart, and other systems may not either.
    #[error("two names are the same after Unicode normalisation: {0}")]
    Alike(Collision),
}

/// A file or link that one package holds at a path.
struct Claim<'a> {
    /// The path as the platform compares it.
    key: Key,
    part: usize,
    entry: &'a Entry,
    /// With the directories above it in their decided spelling.
    path: TreePath,
    /// As the package spells it, where that differs.
    spelled: Option<TreePath>,
}

/// Everything that packages hold, by path.
struct Claims<'a> {
    family: Family,
    parts: &'a [Part<'a>],
    directories: Directories,
    /// Files and links, sorted by key, then part.
    contents: Vec<Claim<'a>>,
}

/// Makes an environment's tree out of its packages and texts. The order of the parts does not
/// matter; a package is named once. Every path that cannot be placed or decided is reported, not
/// only the first.
pub fn compose(
    parts: &[Part<'_>],
    platform: Platform,
    overrides: &[Override],
    texts: Vec<Text>,
) -> Result<Composed, ComposeError> {
    let mut parts = parts.to_vec();
    parts.sort_by(|a, b| a.name.cmp(b.name));
    let claims = Claims::gather(&parts, platform)?;
    let mut decided = Decisions::new(&claims, overrides);
    decided.decide_all();
    let alike = normal_form::find(&claims.names(&decided), claims.family);
    let mut collisions = decided.collisions.clone();
    let mut warnings = Vec::new();
    match claims.family {
        Family::Windows => collisions.extend(alike),
        Family::Unix => warnings.extend(alike.into_iter().map(Warning::Alike)),
    }
    let idle = decided.idle();
    if !collisions.is_empty() {
        collisions.sort_by(|a, b| a.path.cmp(&b.path));
        return Err(ComposeError::Collisions { collisions, idle });
    }
    if !idle.is_empty() {
        return Err(ComposeError::IdleOverrides { idle });
    }
    let tree = build(decided.entries, &texts)?;
    Ok(Composed { tree, texts, warnings })
}

impl<'a> Claims<'a> {
    /// Places every entry, refusing what may not lie where it would.
    fn gather(parts: &'a [Part<'a>], platform: Platform) -> Result<Self, ComposeError> {
        let family = platform.family();
        let reserved = Key::new(family, RESERVED);
        let mut directories = Directories::new(family);
        let mut placed = Vec::with_capacity(parts.iter().map(|p| p.tree.entries().len()).sum());
        let mut refused = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            let mut last_parent = String::new();
            for entry in part.tree.entries() {
                let path = entry.path.under(part.placement.directory());
                let top = path.parts().next().unwrap_or_default();
                if let Some(reason) = refusal(&path, entry.kind, platform, top, &reserved) {
                    refused.push(RefusedPath { package: part.name.clone(), path, reason });
                    continue;
                }
                if entry.kind == Kind::Directory {
                    directories.add(path.as_str(), at, false);
                }
                if let Some((parent, _)) = path.as_str().rsplit_once('/')
                    && parent != last_parent
                {
                    directories.add(parent, at, true);
                    parent.clone_into(&mut last_parent);
                }
                placed.push((at, entry, path));
            }
        }
        if !refused.is_empty() {
            refused.sort_by(|a, b| (&a.path, &a.package).cmp(&(&b.path, &b.package)));
            return Err(ComposeError::Refused { refused });
        }
        directories.settle();
        let mut respelling = Respelling::new(&directories);
        let contents = placed.into_iter().filter(|(_, entry, _)| entry.kind != Kind::Directory);
        let mut contents: Vec<Claim<'a>> = contents
            .map(|(part, entry, spelled)| {
                let key = Key::new(family, spelled.as_str());
                match respelling.respell(&spelled) {
                    Some(path) => Claim { key, part, entry, path, spelled: Some(spelled) },
                    None => Claim { key, part, entry, path: spelled, spelled: None },
                }
            })
            .collect();
        contents.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(Self { family, parts, directories, contents })
    }

    fn holder(&self, claim: &Claim<'_>) -> Holder {
        Holder {
            package: self.parts[claim.part].name.clone(),
            path: claim.spelled.as_ref().unwrap_or(&claim.path).clone(),
            kind: claim.entry.kind,
            size: claim.entry.size,
        }
    }

    /// Those that hold a path as a directory.
    fn directory_holders(&self, key: &Key) -> Vec<(usize, Holder)> {
        let Some(directory) = self.directories.get(key) else { return Vec::new() };
        let holders = directory.holders.iter().filter_map(|(&part, spelled)| {
            let path = spelled.parse().ok()?;
            let package = self.parts[part].name.clone();
            Some((part, Holder { package, path, kind: Kind::Directory, size: 0 }))
        });
        holders.collect()
    }

    /// Every name that is left, file or directory, with one that holds it.
    fn names(&self, decided: &Decisions<'_, '_>) -> Vec<(String, Holder)> {
        let mut names: Vec<(String, Holder)> = Vec::new();
        for (key, directory) in self.directories.spellings() {
            if !directory.spelling.is_ascii()
                && !decided.is_buried(&directory.spelling)
                && !decided.buried.contains(key)
                && let Some((_, holder)) = self.directory_holders(key).into_iter().next()
            {
                names.push((directory.spelling.clone(), holder));
            }
        }
        for claim in &self.contents {
            let left = !claim.path.as_str().is_ascii()
                && !decided.is_buried(claim.path.as_str())
                && !decided.given_up.contains(&claim.key);
            if left {
                names.push((claim.path.as_str().to_owned(), self.holder(claim)));
            }
        }
        // The normal form itself may be ASCII (that of U+212A is K) and is not among them then.
        let mut found = Vec::new();
        for form in names.iter().filter_map(|(name, _)| normal_form::normalised(name)) {
            let key = Key::new(self.family, &form);
            let at = self.contents.partition_point(|claim| claim.key < key);
            if let Some(claim) = self.contents.get(at).filter(|claim| claim.key == key) {
                found.push((claim.path.as_str().to_owned(), self.holder(claim)));
            } else if let Some((_, holder)) = self.directory_holders(&key).into_iter().next() {
                found.push((form, holder));
            }
        }
        names.extend(found);
        names
    }
}

/// Why a path may not be held at its place, if so.
fn refusal(
    path: &TreePath,
    kind: Kind,
    platform: Platform,
    top: &str,
    reserved: &Key,
) -> Option<String> {
    let family = platform.family();
    if top.len() == RESERVED.len() && Key::new(family, top) == *reserved {
        return Some(format!("lies in \"{RESERVED}/\", which is drystone's own"));
    }
    if family == Family::Unix {
        // Placing may have made it longer than file systems take.
        return (path.as_str().len() > 4096).then(|| "has more than 4,096 bytes".to_owned());
    }
    if kind == Kind::Link || kind == Kind::Executable {
        return Some("is of a kind that trees for Windows do not have".to_owned());
    }
    check_windows_path(path).err().map(|error| windows_reason(&error, platform))
}

/// What is decided so far, path by path.
struct Decisions<'c, 'a> {
    claims: &'c Claims<'a>,
    overrides: &'c [Override],
    /// The first override of each path, by index into `overrides`.
    said: BTreeMap<Key, usize>,
    /// By index into `overrides`: why it decided nothing; none for those that did.
    idle: Vec<Option<String>>,
    /// Directories that lost to a file: all below is gone.
    buried: BTreeSet<Key>,
    collisions: Vec<Collision>,
    entries: Vec<Entry>,
    /// Files and links that lost to a directory.
    given_up: BTreeSet<Key>,
}

impl<'c, 'a> Decisions<'c, 'a> {
    fn new(claims: &'c Claims<'a>, overrides: &'c [Override]) -> Self {
        let mut said = BTreeMap::new();
        let mut idle = Vec::with_capacity(overrides.len());
        for (at, o) in overrides.iter().enumerate() {
            let first = said.entry(Key::new(claims.family, o.path.as_str())).or_insert(at);
            let reason = if *first == at {
                "no package holds this path"
            } else {
                "another line decides this path"
            };
            idle.push(Some(reason.to_owned()));
        }
        Self {
            claims,
            overrides,
            said,
            idle,
            buried: BTreeSet::new(),
            collisions: Vec::new(),
            entries: Vec::new(),
            given_up: BTreeSet::new(),
        }
    }

    /// Decides each path. Keys come in their order, so a directory that loses is known before
    /// anything in it is looked at.
    fn decide_all(&mut self) {
        let claims = self.claims;
        for there in claims.contents.chunk_by(|a, b| a.key == b.key) {
            if !self.is_buried(there[0].path.as_str()) {
                self.decide(&there[0].key, there);
            }
        }
        for (key, directory) in claims.directories.spellings() {
            let gone = self.buried.contains(key) || self.is_buried(&directory.spelling);
            if !directory.filled
                && !gone
                && let Ok(path) = directory.spelling.parse()
            {
                self.entries.push(Entry::directory(path));
            }
        }
        for (key, &at) in &self.said {
            if self.idle[at].is_some() && claims.directories.get(key).is_some() {
                self.idle[at] = Some(format!(
                    "\"{}\" is a directory, and directories of several packages are merged",
                    self.overrides[at].path
                ));
            }
        }
    }

    fn is_buried(&self, path: &str) -> bool {
        if self.buried.is_empty() {
            return false;
        }
        let above = path.match_indices('/').map(|(at, _)| &path[..at]);
        above.into_iter().any(|above| self.buried.contains(&Key::new(self.claims.family, above)))
    }

    fn decide(&mut self, key: &Key, there: &'c [Claim<'a>]) {
        let first = &there[0];
        let directory = self.claims.directory_holders(key);
        let agreed = directory.is_empty() && there.iter().all(|claim| same(first, claim));
        let said = self.said.get(key).copied();
        if agreed {
            if let Some(at) = said {
                self.idle[at] = Some(self.why_idle(there, at));
            }
            self.keep(first);
            return;
        }
        let Some(at) = said else {
            self.collide(there, directory);
            return;
        };
        let winner = &self.overrides[at].package;
        let mut held = there.iter().filter(|claim| self.claims.parts[claim.part].name == winner);
        match (held.next(), held.next()) {
            (Some(claim), None) => {
                self.idle[at] = None;
                if !directory.is_empty() {
                    self.buried.insert(key.clone());
                }
                self.keep(claim);
            }
            (None, _) if directory.iter().any(|(_, holder)| holder.package == *winner) => {
                self.idle[at] = None;
                self.given_up.insert(key.clone());
            }
            (None, _) => {
                self.idle[at] = Some(format!("{winner} does not hold this path"));
                self.collide(there, directory);
            }
            (Some(_), Some(_)) => {
                self.idle[at] = Some(format!("{winner} itself holds this path twice"));
                self.collide(there, directory);
            }
        }
    }

    fn why_idle(&self, there: &[Claim<'_>], at: usize) -> String {
        let name = |claim: &Claim<'_>| self.claims.parts[claim.part].name.as_str();
        match there {
            [only] if name(only) == self.overrides[at].package.as_str() => {
                "no other package holds this path".to_owned()
            }
            [only] => format!("only {} holds this path", name(only)),
            _ => "the packages that hold this path hold the same content".to_owned(),
        }
    }

    fn keep(&mut self, claim: &Claim<'_>) {
        let Entry { kind, size, blob, .. } = *claim.entry;
        if let Some(blob) = blob {
            self.entries.push(Entry::content(kind, size, blob, claim.path.clone()));
        }
    }

    fn collide(&mut self, there: &[Claim<'_>], directory: Vec<(usize, Holder)>) {
        let mut holders: Vec<(usize, Holder)> =
            there.iter().map(|claim| (claim.part, self.claims.holder(claim))).collect();
        holders.extend(directory);
        holders.sort_by(|a, b| (a.0, &a.1.path).cmp(&(b.0, &b.1.path)));
        let holders = holders.into_iter().map(|(_, holder)| holder).collect();
        self.collisions.push(Collision { path: there[0].path.clone(), holders, alike: false });
    }

    fn idle(&self) -> Vec<IdleOverride> {
        let mut idle = Vec::new();
        for (said, reason) in self.overrides.iter().zip(&self.idle) {
            if let Some(reason) = reason {
                let (path, package) = (said.path.clone(), said.package.clone());
                idle.push(IdleOverride { path, package, reason: reason.clone() });
            }
        }
        idle
    }
}

/// Whether two claims are one file: path, kind and content.
fn same(a: &Claim<'_>, b: &Claim<'_>) -> bool {
    a.path == b.path && a.entry.kind == b.entry.kind && a.entry.blob == b.entry.blob
}

fn build(entries: Vec<Entry>, texts: &[Text]) -> Result<Tree, ComposeError> {
    let mut builder = TreeBuilder::default();
    for entry in entries {
        builder.add(entry)?;
    }
    for text in texts {
        if text.path.parts().next() != Some(RESERVED) || text.path.as_str() == RESERVED {
            return Err(ComposeError::Text { path: text.path.clone() });
        }
        let blob = BlobId::from_bytes(*blake3::hash(&text.content).as_bytes());
        let size = text.content.len() as u64;
        builder.add(Entry::content(Kind::File, size, blob, text.path.clone()))?;
    }
    Ok(builder.finish()?)
}
