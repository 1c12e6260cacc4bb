//! Deciding: what lies at each path, by agreement or by override.

use std::collections::{BTreeMap, BTreeSet};

use crate::manifest::Override;
use crate::model::{ComparedName, Entry};

use super::error::{Collision, Holder, IdleOverride};
use super::merge::{Claim, Claims};

/// What is decided so far, path by path.
pub(super) struct Decisions<'c, 'a> {
    claims: &'c Claims<'a>,
    overrides: &'c [Override],
    /// The first override of each path, by index into `overrides`.
    said: BTreeMap<ComparedName, usize>,
    /// By index into `overrides`: why it decided nothing; none for those that did.
    idle: Vec<Option<String>>,
    /// Directories that lost to a file: all below is gone.
    pub(super) buried: BTreeSet<ComparedName>,
    pub(super) collisions: Vec<Collision>,
    pub(super) entries: Vec<Entry>,
    /// Files and links that lost to a directory.
    pub(super) given_up: BTreeSet<ComparedName>,
}

impl<'c, 'a> Decisions<'c, 'a> {
    pub(super) fn new(claims: &'c Claims<'a>, overrides: &'c [Override]) -> Self {
        let mut said = BTreeMap::new();
        let mut idle = Vec::with_capacity(overrides.len());
        for (at, o) in overrides.iter().enumerate() {
            let first = said.entry(ComparedName::new(claims.family, o.path.as_str())).or_insert(at);
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
    pub(super) fn decide_all(&mut self) {
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

    pub(super) fn is_buried(&self, path: &str) -> bool {
        if self.buried.is_empty() {
            return false;
        }
        let above = path.match_indices('/').map(|(at, _)| &path[..at]);
        above
            .into_iter()
            .any(|above| self.buried.contains(&ComparedName::new(self.claims.family, above)))
    }

    fn decide(&mut self, key: &ComparedName, there: &'c [Claim<'a>]) {
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

    pub(super) fn idle(&self) -> Vec<IdleOverride> {
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
