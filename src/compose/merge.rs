//! The merge: entries of all packages by path, each path decided once.

use std::collections::BTreeSet;

use crate::manifest::{Override, Placement};
use crate::model::{
    BlobId, ComparedName, Entry, Family, Kind, Name, Platform, Tree, TreeBuilder, TreePath,
    check_windows_path,
};

use super::decisions::Decisions;
use super::error::{Collision, ComposeError, Holder, IdleOverride, RefusedPath, windows_reason};
use super::folding::{Directories, Respelling};
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

/// What else the environment is composed for: an override may be needed there only.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Elsewhere {
    /// The packages that are not among these parts: not selected, or only on other platforms.
    pub packages: BTreeSet<Name>,
    /// Whether the environment has other platforms.
    pub platforms: bool,
}

/// Something that a person should know and that stops nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Warning {
    /// Names that a person cannot tell apart, and other systems may not either.
    #[error("two names are the same after Unicode normalisation: {0}")]
    Alike(Collision),
    /// An override that decides nothing here, and may elsewhere.
    #[error("{0}, in this build")]
    IdleOverride(IdleOverride),
}

/// A file or link that one package holds at a path.
pub(super) struct Claim<'a> {
    /// The path as the platform compares it.
    pub(super) key: ComparedName,
    pub(super) part: usize,
    pub(super) entry: &'a Entry,
    /// With the directories above it in their decided spelling.
    pub(super) path: TreePath,
    /// As the package spells it, where that differs.
    pub(super) spelled: Option<TreePath>,
}

/// Everything that packages hold, by path.
pub(super) struct Claims<'a> {
    pub(super) family: Family,
    pub(super) parts: &'a [Part<'a>],
    pub(super) directories: Directories,
    /// Files and links, sorted by key, then part.
    pub(super) contents: Vec<Claim<'a>>,
}

/// Makes an environment's tree out of its packages and texts. The order of the parts does not
/// matter; a package is named once. Every path that cannot be placed or decided is reported, not
/// only the first. An override that decides nothing is an error where there is no elsewhere, and
/// is passed over in silence where its package is not here.
pub fn compose(
    parts: &[Part<'_>],
    platform: Platform,
    overrides: &[Override],
    texts: Vec<Text>,
    elsewhere: &Elsewhere,
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
    let mut idle = decided.idle();
    idle.retain(|idle| !elsewhere.packages.contains(&idle.package));
    if !collisions.is_empty() {
        collisions.sort_by(|a, b| a.path.cmp(&b.path));
        return Err(ComposeError::Collisions { collisions, idle });
    }
    if elsewhere.platforms || !elsewhere.packages.is_empty() {
        warnings.extend(idle.into_iter().map(Warning::IdleOverride));
    } else if !idle.is_empty() {
        return Err(ComposeError::IdleOverrides { idle });
    }
    let tree = build(decided.entries, &texts)?;
    Ok(Composed { tree, texts, warnings })
}

impl<'a> Claims<'a> {
    /// Places every entry, refusing what may not lie where it would.
    fn gather(parts: &'a [Part<'a>], platform: Platform) -> Result<Self, ComposeError> {
        let family = platform.family();
        let reserved = ComparedName::new(family, RESERVED);
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
                let key = ComparedName::new(family, spelled.as_str());
                match respelling.respell(&spelled) {
                    Some(path) => Claim { key, part, entry, path, spelled: Some(spelled) },
                    None => Claim { key, part, entry, path: spelled, spelled: None },
                }
            })
            .collect();
        contents.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(Self { family, parts, directories, contents })
    }

    pub(super) fn holder(&self, claim: &Claim<'_>) -> Holder {
        Holder {
            package: self.parts[claim.part].name.clone(),
            path: claim.spelled.as_ref().unwrap_or(&claim.path).clone(),
            kind: claim.entry.kind,
            size: claim.entry.size,
        }
    }

    /// Those that hold a path as a directory.
    pub(super) fn directory_holders(&self, key: &ComparedName) -> Vec<(usize, Holder)> {
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
            let key = ComparedName::new(self.family, &form);
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

/// Whether NTFS may give `.drystone` this name of eight characters besides its own.
fn is_short_name(top: &str) -> bool {
    let number =
        top.get(..7).filter(|start| start.eq_ignore_ascii_case("DRYSTO~")).map(|_| &top[7..]);
    number.is_some_and(|rest| rest.len() == 1 && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Why a path may not be held at its place, if so.
fn refusal(
    path: &TreePath,
    kind: Kind,
    platform: Platform,
    top: &str,
    reserved: &ComparedName,
) -> Option<String> {
    let family = platform.family();
    if top.len() == RESERVED.len() && ComparedName::new(family, top) == *reserved {
        return Some(format!("lies in \"{RESERVED}/\", which is drystone's own"));
    }
    if family == Family::Windows && is_short_name(top) {
        return Some(format!("may be the short name of \"{RESERVED}/\", which is drystone's own"));
    }
    // Placing may have made it longer than file systems, and the text of a tree, take.
    if path.as_str().len() > 4096 {
        return Some("has more than 4,096 bytes".to_owned());
    }
    if family == Family::Unix {
        return None;
    }
    if kind == Kind::Link || kind == Kind::Executable {
        return Some("is of a kind that trees for Windows do not have".to_owned());
    }
    check_windows_path(path).err().map(|error| windows_reason(&error, platform))
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
