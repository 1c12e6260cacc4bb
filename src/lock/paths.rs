//! Who needs what in a lock: for `why`, `graph` and what a build selects.

use std::collections::BTreeSet;

use super::model::LockedPlatform;
use crate::model::Name;

/// Enough to understand a graph; the number of paths can grow without bound.
const MOST_PATHS: usize = 1000;

impl LockedPlatform {
    /// The packages that depend on a node directly, sorted.
    pub fn dependents(&self, name: &Name) -> Vec<&Name> {
        let needs = self.packages.values().filter(|package| package.depends.contains(name));
        needs.map(|package| &package.name).collect()
    }

    /// What a node depends on directly, sorted; nothing for a host component.
    pub fn depends(&self, name: &Name) -> &[Name] {
        self.packages.get(name).map_or(&[], |package| &package.depends)
    }

    /// Whether the environment itself asks for a node.
    pub fn is_direct(&self, name: &Name) -> bool {
        self.packages.get(name).is_some_and(|package| package.direct)
            || self.hosts.get(name).is_some_and(|host| host.direct)
    }

    /// The packages that a build takes: those that are not optional, those named in `with`, and what
    /// they depend on. Names in `with` that are no packages of the lock select nothing.
    pub fn selected<'a>(&'a self, with: &BTreeSet<Name>) -> BTreeSet<&'a Name> {
        let mut waiting: Vec<&Name> = self
            .packages
            .values()
            .filter(|package| !package.optional || with.contains(&package.name))
            .map(|package| &package.name)
            .collect();
        let mut selected = BTreeSet::new();
        while let Some(name) = waiting.pop() {
            if self.packages.contains_key(name) && selected.insert(name) {
                waiting.extend(self.depends(name));
            }
        }
        selected
    }

    /// Every path from what the environment asks for to a node, sorted, the node itself at the end
    /// of each; the first thousand where there are more. None for a name that is not in the lock.
    pub fn paths_to(&self, name: &Name) -> Vec<Vec<Name>> {
        let mut found = Vec::new();
        let mut waiting = vec![vec![name.clone()]];
        while let Some(path) = waiting.pop() {
            let Some(top) = path.last() else { continue };
            if self.is_direct(top) {
                found.push(path.iter().rev().cloned().collect());
                if found.len() == MOST_PATHS {
                    break;
                }
            }
            for dependent in self.dependents(top).into_iter().rev() {
                if !path.contains(dependent) {
                    waiting.push(path.iter().chain([dependent]).cloned().collect());
                }
            }
        }
        found.sort();
        found
    }
}
