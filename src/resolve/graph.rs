//! The resolved graph: packages and host components with an edge for each need.

use std::collections::BTreeMap;

use petgraph::graph::{DiGraph, NodeIndex};

use crate::manifest::{PackageVersion, Provided, Source};
use crate::model::{Name, Platform, Range};

/// What one environment comes to on one platform. Nodes and edges stand in the order of names, so
/// that equal inputs give equal graphs.
#[derive(Debug, Clone)]
pub struct Graph<'a> {
    platform: Platform,
    nodes: DiGraph<Node<'a>, ()>,
}

/// A node of the graph.
#[derive(Debug, Clone)]
pub enum Node<'a> {
    /// Something fetched and unpacked.
    Package(PackageNode<'a>),
    /// Something only the machine can supply.
    Host(HostNode<'a>),
}

/// A package of the graph, at the version chosen.
#[derive(Debug, Clone)]
pub struct PackageNode<'a> {
    /// Its name.
    pub name: &'a Name,
    /// The version chosen.
    pub version: &'a PackageVersion,
    /// That version's source for the platform.
    pub source: &'a Source,
    /// Whether every path to it begins with an optional `use`.
    pub optional: bool,
    /// Whether the environment itself asks for it.
    pub direct: bool,
    /// What its requirements came to, sorted.
    pub depends: Vec<Name>,
}

/// A host component of the graph.
#[derive(Debug, Clone)]
pub struct HostNode<'a> {
    /// Its name.
    pub name: &'a Name,
    /// The versions that will do: what the environment says and what packages require.
    pub range: Range,
    /// What it can stand for.
    pub provides: &'a [Provided],
}

impl Node<'_> {
    /// Its name, which no other node of the graph has.
    pub const fn name(&self) -> &Name {
        match self {
            Node::Package(package) => package.name,
            Node::Host(host) => host.name,
        }
    }

    fn depends(&self) -> &[Name] {
        match self {
            Node::Package(package) => &package.depends,
            Node::Host(_) => &[],
        }
    }
}

impl<'a> Graph<'a> {
    /// Joins nodes by the names they depend on. A name that is no node makes no edge; the search
    /// gives none.
    pub(super) fn new(platform: Platform, nodes: BTreeMap<Name, Node<'a>>) -> Self {
        let mut graph = DiGraph::new();
        let depends: Vec<Vec<Name>> = nodes.values().map(|node| node.depends().to_vec()).collect();
        let index: BTreeMap<Name, NodeIndex> =
            nodes.into_iter().map(|(name, node)| (name, graph.add_node(node))).collect();
        for (from, depends) in index.values().zip(depends) {
            for to in depends.iter().filter_map(|name| index.get(name)) {
                graph.add_edge(*from, *to, ());
            }
        }
        Self { platform, nodes: graph }
    }

    /// The platform it is for.
    pub const fn platform(&self) -> Platform {
        self.platform
    }

    /// The nodes, sorted by name.
    pub fn nodes(&self) -> impl Iterator<Item = &Node<'a>> {
        self.nodes.node_weights()
    }

    /// The packages, sorted by name.
    pub fn packages(&self) -> impl Iterator<Item = &PackageNode<'a>> {
        self.nodes().filter_map(|node| match node {
            Node::Package(package) => Some(package),
            Node::Host(_) => None,
        })
    }

    /// The host components, sorted by name.
    pub fn hosts(&self) -> impl Iterator<Item = &HostNode<'a>> {
        self.nodes().filter_map(|node| match node {
            Node::Host(host) => Some(host),
            Node::Package(_) => None,
        })
    }

    /// The graph itself: an edge goes from who needs to what is needed.
    pub const fn petgraph(&self) -> &DiGraph<Node<'a>, ()> {
        &self.nodes
    }
}
