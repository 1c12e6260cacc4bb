//! Finds a cycle of needs and names all of it in order.

use std::collections::{BTreeMap, VecDeque};

use petgraph::Direction;
use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use super::graph::Graph;
use crate::model::Name;

/// A shortest cycle through the first name that lies on one; the first name again at its end.
pub(super) fn find(graph: &Graph<'_>) -> Option<Vec<Name>> {
    let nodes = graph.petgraph();
    // Kosaraju's search keeps its own stack; Tarjan's overflows the thread's on a deep graph.
    let on_cycle = kosaraju_scc(nodes).into_iter().filter(|component| {
        component.len() > 1 || component.iter().any(|&node| nodes.contains_edge(node, node))
    });
    // Node indices follow the names.
    let start = on_cycle.flatten().min()?;
    let name = |node: &NodeIndex| nodes[*node].name().clone();
    Some(walk(nodes, start)?.iter().map(name).collect())
}

fn walk<T>(nodes: &DiGraph<T, ()>, start: NodeIndex) -> Option<Vec<NodeIndex>> {
    let mut came_from = BTreeMap::new();
    let mut waiting = VecDeque::from([start]);
    while let Some(node) = waiting.pop_front() {
        let mut next: Vec<_> = nodes.neighbors_directed(node, Direction::Outgoing).collect();
        next.sort();
        for to in next {
            if to == start {
                return Some(trace(&came_from, node, start));
            }
            came_from.entry(to).or_insert_with(|| {
                waiting.push_back(to);
                node
            });
        }
    }
    None
}

fn trace(
    came_from: &BTreeMap<NodeIndex, NodeIndex>,
    last: NodeIndex,
    start: NodeIndex,
) -> Vec<NodeIndex> {
    let mut path = vec![start, last];
    let mut node = last;
    while node != start
        && let Some(&before) = came_from.get(&node)
    {
        path.push(before);
        node = before;
    }
    if last == start {
        path.truncate(2);
    }
    path.reverse();
    path
}
