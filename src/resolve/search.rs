//! The search: meets one demand after another, and goes back where a choice leads nowhere.
//!
//! Demands are met in sorted order (those of the environment first) and candidates stand in a
//! fixed order, so that equal inputs always end in the same choice.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::candidates::{Candidate, Finder};
use super::error::{Asked, Asker, ResolveError};
use super::{Available, applies};
use crate::manifest::{Environment, HostDescription, PackageVersion, Source};
use crate::model::{Name, Platform, Range, Version};

/// Enough for any stack written by hand; a search that needs more would take too long to wait for.
const MOST_STEPS: u32 = 20_000;

/// Something that has to be met.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Demand {
    pub(super) by: Asker,
    pub(super) name: Name,
    pub(super) range: Range,
}

impl Demand {
    pub(super) fn asked(&self) -> Asked {
        Asked { by: self.by.clone(), name: self.name.clone(), range: self.range.clone() }
    }
}

/// A package's version that was chosen.
#[derive(Debug, Clone)]
pub(super) struct Chosen<'a> {
    pub(super) version: &'a PackageVersion,
    pub(super) source: &'a Source,
    pub(super) asked: Vec<Asked>,
}

/// A host component that the environment declares.
#[derive(Debug, Clone)]
pub(super) struct Declared<'a> {
    pub(super) description: &'a HostDescription,
    pub(super) range: Range,
    pub(super) asked: Vec<Asked>,
}

/// What has been decided so far.
#[derive(Debug, Clone, Default)]
pub(super) struct State<'a> {
    pub(super) packages: BTreeMap<&'a Name, Chosen<'a>>,
    pub(super) hosts: BTreeMap<&'a Name, Declared<'a>>,
    edges: BTreeMap<Name, BTreeSet<Name>>,
    open: BTreeSet<Demand>,
}

impl<'a> State<'a> {
    /// What a package's requirements came to, sorted.
    pub(super) fn depends(&self, name: &Name) -> impl Iterator<Item = &Name> {
        self.edges.get(name).into_iter().flatten()
    }

    /// Everything that these names lead to, themselves among it.
    pub(super) fn reachable<'n>(&self, from: impl Iterator<Item = &'n Name>) -> BTreeSet<Name> {
        let mut waiting: Vec<Name> = from.cloned().collect();
        let mut found = BTreeSet::new();
        while let Some(name) = waiting.pop() {
            if found.insert(name.clone()) {
                waiting.extend(self.depends(&name).cloned());
            }
        }
        found
    }

    fn take(&mut self, demand: &Demand, candidate: Candidate<'a>) {
        let target = match candidate {
            Candidate::Chosen(name) => {
                if let Some(chosen) = self.packages.get_mut(name).filter(|_| *name == demand.name) {
                    chosen.asked.push(demand.asked());
                }
                name
            }
            Candidate::Package { name, version, source } => {
                let asked = vec![demand.asked()];
                self.packages.insert(name, Chosen { version, source, asked });
                let by = Asker::Package(name.clone(), version.version.clone());
                self.open.extend(version.requires.iter().map(|requirement| Demand {
                    by: by.clone(),
                    name: requirement.name.clone(),
                    range: requirement.range.clone(),
                }));
                name
            }
            Candidate::Host { name, range } => {
                if let Some(host) = self.hosts.get_mut(name) {
                    host.range = range;
                    host.asked.push(demand.asked());
                }
                name
            }
        };
        if let Asker::Package(by, _) = &demand.by {
            self.edges.entry(by.clone()).or_default().insert(target.clone());
        }
    }
}

/// A choice that can be made differently.
struct Choice<'a> {
    before: State<'a>,
    demand: Demand,
    rest: VecDeque<Candidate<'a>>,
}

/// Finds a version for everything that the environment leads to, or the complaint that the search
/// came furthest with.
pub(super) fn run<'a>(
    environment: &Environment,
    platform: Platform,
    available: Available<'a>,
    favoured: &BTreeMap<Name, Version>,
) -> Result<State<'a>, ResolveError> {
    let finder = Finder::new(platform, available, favoured);
    let mut state = begin(environment, &finder)?;
    let mut choices: Vec<Choice<'a>> = Vec::new();
    let mut furthest: Option<(usize, ResolveError)> = None;
    for _ in 0..MOST_STEPS {
        let Some(demand) = state.open.pop_first() else {
            return Ok(state);
        };
        match finder.candidates(&state, &demand) {
            Ok(mut rest) => {
                let first = rest.pop_front();
                if !rest.is_empty() {
                    let before = state.clone();
                    choices.push(Choice { before, demand: demand.clone(), rest });
                }
                if let Some(first) = first {
                    state.take(&demand, first);
                }
            }
            Err(error) => {
                let depth = state.packages.len();
                if furthest.as_ref().is_none_or(|(other, _)| depth > *other) {
                    furthest = Some((depth, error));
                }
                match go_back(&mut choices) {
                    Some(other) => state = other,
                    None => break,
                }
            }
        }
    }
    let furthest = furthest.map(|(_, error)| error);
    Err(match furthest {
        Some(error) if choices.is_empty() => error,
        furthest => ResolveError::GaveUp {
            environment: environment.name.clone(),
            steps: MOST_STEPS,
            furthest: furthest.map(Box::new),
        },
    })
}

fn go_back<'a>(choices: &mut Vec<Choice<'a>>) -> Option<State<'a>> {
    let mut choice = choices.pop()?;
    let next = choice.rest.pop_front()?;
    let mut state = choice.before.clone();
    state.take(&choice.demand, next);
    if !choice.rest.is_empty() {
        choices.push(choice);
    }
    Some(state)
}

fn begin<'a>(
    environment: &Environment,
    finder: &Finder<'a, '_>,
) -> Result<State<'a>, ResolveError> {
    let by = Asker::Environment(environment.name.clone());
    let mut state = State::default();
    let mut hosts: Vec<_> =
        environment.hosts.iter().filter(|host| applies(host.platform, finder.platform)).collect();
    hosts.sort_by(|a, b| (&a.component, &a.range).cmp(&(&b.component, &b.range)));
    for host in hosts {
        let Some((name, description)) = finder.available.hosts.get_key_value(&host.component)
        else {
            return Err(finder.unknown_host(&environment.name, &host.component));
        };
        let declared = state.hosts.entry(name).or_insert_with(|| Declared {
            description,
            range: Range::any(),
            asked: Vec::new(),
        });
        declared.range = declared.range.and(&host.range);
        declared.asked.push(Asked {
            by: by.clone(),
            name: name.clone(),
            range: host.range.clone(),
        });
        if declared.range.is_empty() {
            return Err(ResolveError::HostConflict {
                name: name.clone(),
                asked: declared.asked.clone(),
            });
        }
    }
    for each in environment.uses.iter().filter(|each| applies(each.platform, finder.platform)) {
        if state.hosts.contains_key(&each.package) {
            let (name, environment) = (each.package.clone(), environment.name.clone());
            return Err(ResolveError::TwoKinds { name, environment });
        }
        let (name, range) = (each.package.clone(), each.range.clone());
        state.open.insert(Demand { by: by.clone(), name, range });
    }
    Ok(state)
}
