//! Making a lock out of resolved graphs, recorded hashes and the old lock.

use std::collections::BTreeMap;

use petgraph::algo::kosaraju_scc;

use super::error::LockError;
use super::keys;
use super::model::{Lock, LockedApplication, LockedHost, LockedPackage, LockedPlatform};
use crate::manifest::{Application, Environment, Placement, Provided, Requirement, Source};
use crate::model::{
    InputsDigest, Name, NodeId, Platform, Sha256Digest, TreeId, TreePath, UNPACK_RULES, UnpackKey,
    Version,
};
use crate::resolve::{Graph, Node, PackageNode};

/// Hashes and sizes of archives that nobody publishes a hash of, recorded by fetching them.
pub type RecordedHashes = BTreeMap<(Name, Platform), (Sha256Digest, u64)>;

/// What a lock is made of.
#[derive(Debug, Clone, Copy)]
pub struct Ingredients<'a> {
    /// The environment.
    pub environment: &'a Environment,
    /// All applications of the manifest; those of other environments are passed over.
    pub applications: &'a [&'a Application],
    /// What the environment resolved to on each of its platforms.
    pub graphs: &'a [Graph<'a>],
    /// The digest of the manifest, its includes and local catalogues.
    pub inputs: InputsDigest,
    /// Whether contents are asked for; once in a lock, they stay.
    pub contents: bool,
    /// The lock that this one takes the place of.
    pub old: Option<&'a Lock>,
    /// The hashes that [`missing_hashes`] asked for.
    pub recorded: &'a RecordedHashes,
}

/// A source whose hash is neither published nor recorded in the old lock.
#[derive(Debug, Clone)]
pub struct MissingHash<'a> {
    /// The package.
    pub name: &'a Name,
    /// Its version.
    pub version: &'a Version,
    /// The platform.
    pub platform: Platform,
    /// What to fetch.
    pub source: &'a Source,
}

/// The sources of a graph that have to be fetched before a lock can be made, sorted by name.
pub fn missing_hashes<'a>(graph: &Graph<'a>, old: Option<&Lock>) -> Vec<MissingHash<'a>> {
    let lacks = |package: &&PackageNode<'a>| {
        package.source.sha256.is_none() && old_hash(old, package).is_none()
    };
    let missing = graph.packages().filter(lacks).map(|package| MissingHash {
        name: package.name,
        version: &package.version.version,
        platform: graph.platform(),
        source: package.source,
    });
    missing.collect()
}

/// The hash that the old lock recorded for the same version and URLs, on any platform.
fn old_hash(old: Option<&Lock>, package: &PackageNode<'_>) -> Option<(Sha256Digest, Option<u64>)> {
    let sections = old.into_iter().flat_map(|lock| lock.platforms.values());
    sections
        .filter_map(|section| section.packages.get(package.name))
        .find(|locked| {
            locked.version == package.version.version && locked.urls == package.source.urls
        })
        .map(|locked| (locked.sha256, locked.size))
}

impl Lock {
    /// Makes a lock. The same ingredients give the same lock, in whatever order they are written.
    /// Trees that the old lock recorded are kept where the unpack key is the same; others are for
    /// [`Lock::record_trees`] to add. Fails where a hash is missing.
    pub fn make(ingredients: &Ingredients<'_>) -> Result<Self, LockError> {
        let contents = ingredients.contents || ingredients.old.is_some_and(|old| old.contents);
        let mut lock = Self {
            environment: ingredients.environment.name.clone(),
            unpack_rules: UNPACK_RULES,
            inputs: ingredients.inputs,
            contents,
            platforms: BTreeMap::new(),
        };
        for graph in ingredients.graphs {
            lock.platforms.insert(graph.platform(), platform(ingredients, graph)?);
        }
        if let Some(old) = ingredients.old {
            lock.record_trees(&old.trees());
        }
        Ok(lock)
    }

    /// The versions it has on a platform: what resolving again favours.
    pub fn versions(&self, platform: Platform) -> BTreeMap<Name, Version> {
        let packages = self.platforms.get(&platform).map(|section| &section.packages);
        packages
            .into_iter()
            .flatten()
            .map(|(name, package)| (name.clone(), package.version.clone()))
            .collect()
    }

    /// The trees it records, by unpack key.
    pub fn trees(&self) -> BTreeMap<UnpackKey, TreeId> {
        let packages = self.platforms.values().flat_map(|section| section.packages.values());
        packages.filter_map(|package| Some((package.unpack_key, package.tree?))).collect()
    }

    /// The packages whose tree is still to be recorded; none in a lock without contents.
    pub fn missing_trees(&self) -> Vec<(Platform, &LockedPackage)> {
        let sections = self.platforms.iter().filter(|_| self.contents);
        sections
            .flat_map(|(&platform, section)| {
                section.packages.values().map(move |package| (platform, package))
            })
            .filter(|(_, package)| package.tree.is_none())
            .collect()
    }

    /// Records trees by unpack key; does nothing in a lock without contents.
    pub fn record_trees(&mut self, trees: &BTreeMap<UnpackKey, TreeId>) {
        let sections = self.platforms.values_mut().filter(|_| self.contents);
        for package in sections.flat_map(|section| section.packages.values_mut()) {
            if let Some(tree) = trees.get(&package.unpack_key) {
                package.tree = Some(*tree);
            }
        }
    }
}

fn platform(ingredients: &Ingredients<'_>, graph: &Graph<'_>) -> Result<LockedPlatform, LockError> {
    let platform = graph.platform();
    let applications = ingredients
        .applications
        .iter()
        .filter(|application| application.environment == ingredients.environment.name)
        .filter_map(|application| {
            let id = keys::application_id(application, platform)?;
            Some((application.name.clone(), LockedApplication { id }))
        })
        .collect();
    let mut section = LockedPlatform {
        settings: keys::settings_id(ingredients.environment, platform),
        applications,
        packages: BTreeMap::new(),
        hosts: BTreeMap::new(),
        root: crate::model::RootId::from_bytes([0; 32]),
    };
    let mut ids: BTreeMap<Name, NodeId> = BTreeMap::new();
    // What a node depends on stands before it in this order.
    for index in kosaraju_scc(graph.petgraph()).into_iter().flatten() {
        match &graph.petgraph()[index] {
            Node::Host(node) => {
                let mut host = LockedHost {
                    name: node.name.clone(),
                    direct: true,
                    id: NodeId::from_bytes([0; 32]),
                    range: node.range.clone(),
                    provides: sorted_provides(node.provides),
                };
                host.id = keys::host_id(platform, &host);
                ids.insert(host.name.clone(), host.id);
                section.hosts.insert(host.name.clone(), host);
            }
            Node::Package(node) => {
                let mut package = package(ingredients, platform, node)?;
                let depends: Vec<NodeId> =
                    package.depends.iter().filter_map(|name| ids.get(name).copied()).collect();
                package.id = keys::package_id(platform, &package, &depends);
                ids.insert(package.name.clone(), package.id);
                section.packages.insert(package.name.clone(), package);
            }
        }
    }
    section.root = keys::root_id(&section);
    Ok(section)
}

fn package(
    ingredients: &Ingredients<'_>,
    platform: Platform,
    node: &PackageNode<'_>,
) -> Result<LockedPackage, LockError> {
    let (sha256, size) = hash(ingredients, platform, node)?;
    let options = node.source.options.clone();
    let own_name = || Placement::Under(own_directory(node.name));
    Ok(LockedPackage {
        name: node.name.clone(),
        version: node.version.version.clone(),
        optional: node.optional,
        direct: node.direct,
        id: NodeId::from_bytes([0; 32]),
        unpack_key: options.unpack_key(&sha256, UNPACK_RULES, platform.family()),
        urls: node.source.urls.clone(),
        sha256,
        size,
        options,
        placement: node.source.into.clone().unwrap_or_else(own_name),
        requires: sorted_requires(&node.version.requires),
        provides: sorted_provides(&node.version.provides),
        overlay: sorted(node.source.overlay.as_ref().unwrap_or(&node.version.overlay)),
        depends: node.depends.clone(),
        tree: None,
    })
}

/// Every name can stand as one part of a path.
fn own_directory(name: &Name) -> TreePath {
    name.as_str().parse().expect("a name is a path of one part") // a Name holds only a-z, 0-9 and -
}

fn hash(
    ingredients: &Ingredients<'_>,
    platform: Platform,
    node: &PackageNode<'_>,
) -> Result<(Sha256Digest, Option<u64>), LockError> {
    if let Some(sha256) = node.source.sha256 {
        let recorded = old_hash(ingredients.old, node);
        let same = recorded.filter(|(old, _)| *old == sha256).and_then(|(_, size)| size);
        return Ok((sha256, node.source.size.or(same)));
    }
    let recorded = ingredients.recorded.get(&(node.name.clone(), platform));
    recorded
        .map(|&(sha256, size)| (sha256, Some(size)))
        .or_else(|| old_hash(ingredients.old, node))
        .ok_or_else(|| LockError::NoHash {
            name: node.name.clone(),
            version: Box::new(node.version.version.clone()),
            platform,
        })
}

fn sorted<T: Clone + Ord>(items: &[T]) -> Vec<T> {
    let mut items = items.to_vec();
    items.sort();
    items.dedup();
    items
}

fn sorted_requires(requires: &[Requirement]) -> Vec<Requirement> {
    let mut requires = requires.to_vec();
    requires.sort_by(|a, b| (&a.name, &a.range).cmp(&(&b.name, &b.range)));
    requires.dedup();
    requires
}

fn sorted_provides(provides: &[Provided]) -> Vec<Provided> {
    let mut provides = provides.to_vec();
    provides.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    provides.dedup();
    provides
}
