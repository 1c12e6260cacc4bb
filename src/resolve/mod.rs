//! Resolving: which version of each package, and who needs whom, on one platform.
//!
//! All of it is behind [`resolve`], so that a stronger search can take its place. Resolution reads
//! the manifest's and catalogue's descriptions and never the machine.

mod candidates;
mod cycle;
mod error;
mod graph;
#[cfg(test)]
pub(crate) mod sample;
mod search;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

pub use error::{Asked, Asker, ResolveError};
pub use graph::{Graph, HostNode, Node, PackageNode};

use crate::manifest::{Environment, HostDescription, Package};
use crate::model::{Name, Platform, Version};

/// What can be chosen from.
#[derive(Debug, Clone, Copy)]
pub struct Available<'a> {
    /// The packages, by name.
    pub packages: &'a BTreeMap<Name, Package>,
    /// The host components that are described, by name.
    pub hosts: &'a BTreeMap<Name, HostDescription>,
}

/// Resolves an environment for one platform. A version in `favoured` (those of the old lock) is
/// kept where it is still allowed, else the newest that fits is taken. The order in which things
/// are written makes no difference.
pub fn resolve<'a>(
    environment: &Environment,
    platform: Platform,
    available: Available<'a>,
    favoured: &BTreeMap<Name, Version>,
) -> Result<Graph<'a>, ResolveError> {
    let found = search::run(environment, platform, available, favoured)?;
    let uses = || environment.uses.iter().filter(|each| applies(each.platform, platform));
    let direct: BTreeSet<&Name> = uses().map(|each| &each.package).collect();
    let firm = uses().filter(|each| !each.optional).map(|each| &each.package);
    let required = found.reachable(firm);

    let mut nodes = BTreeMap::new();
    for (&name, chosen) in &found.packages {
        let package = PackageNode {
            name,
            version: chosen.version,
            source: chosen.source,
            optional: !required.contains(name),
            direct: direct.contains(name),
            depends: found.depends(name).cloned().collect(),
        };
        nodes.insert(name.clone(), Node::Package(package));
    }
    for host in found.hosts.values() {
        let provides = host.description.provides.as_slice();
        let node = HostNode { name: &host.description.name, range: host.range.clone(), provides };
        nodes.insert(host.description.name.clone(), Node::Host(node));
    }
    let graph = Graph::new(platform, nodes);
    match cycle::find(&graph) {
        Some(cycle) => Err(ResolveError::Cycle { cycle }),
        None => Ok(graph),
    }
}

fn applies(only: Option<Platform>, platform: Platform) -> bool {
    only.is_none_or(|only| only == platform)
}
