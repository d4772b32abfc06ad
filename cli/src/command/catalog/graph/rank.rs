//! Ranks: the columns of a drawing.
//!
//! The library fills each column that an edge crosses with an invisible box, and its time grows
//! faster than the square of the number of boxes. Entries that skip all earlier ones are common, so
//! the library gets only edges between neighbouring columns, and without cycles.

use unlade_catalog::graph::diagram::Graph;

/// The rank of each node, and the edges between neighbouring ranks.
pub(super) struct Ranks {
    /// The number of edges on the longest path to each node.
    pub(super) by_node: Vec<usize>,
    /// The indices of the edges between neighbouring ranks, such that edges to a node come before
    /// edges from it.
    pub(super) short: Vec<usize>,
    /// The indices of the other edges.
    pub(super) long: Vec<usize>,
}

impl Ranks {
    pub(super) fn new(graph: &Graph) -> Self {
        let n_nodes = graph.nodes.len();
        let (mut n_waiting, mut outgoing) = (vec![0_usize; n_nodes], vec![Vec::new(); n_nodes]);
        for edge in graph.edges.iter().filter(|edge| edge.from != edge.to) {
            if let Some(count) = n_waiting.get_mut(edge.to) {
                *count += 1;
            }
            if let Some(targets) = outgoing.get_mut(edge.from) {
                targets.push(edge.to);
            }
        }
        let mut ranks = vec![0_usize; n_nodes];
        let mut positions = vec![None; n_nodes];
        let (mut n_placed, mut next_forced) = (0, n_nodes);
        let mut ready: Vec<usize> =
            (0..n_nodes).filter(|node| n_waiting.get(*node) == Some(&0)).collect();
        // If none is ready, every remaining node is in a cycle, or comes after one. The oldest is
        // next.
        while let Some(node) = ready.pop().or_else(|| {
            let oldest = (0..next_forced).rev().find(|node| positions.get(*node) == Some(&None));
            next_forced = oldest.unwrap_or_default();
            oldest
        }) {
            let Some(position @ None) = positions.get_mut(node) else { continue };
            *position = Some(n_placed);
            n_placed += 1;
            let rank = ranks.get(node).copied().unwrap_or_default();
            for &target in outgoing.get(node).into_iter().flatten() {
                if positions.get(target) != Some(&None) {
                    continue;
                }
                if let (Some(target_rank), Some(count)) =
                    (ranks.get_mut(target), n_waiting.get_mut(target))
                {
                    *target_rank = (*target_rank).max(rank + 1);
                    *count -= 1;
                    if *count == 0 {
                        ready.push(target);
                    }
                }
            }
        }
        let is_short = |index: &usize| {
            graph.edges.get(*index).is_some_and(|edge| {
                let rank = |node: usize| ranks.get(node).copied().unwrap_or_default();
                positions.get(edge.from) < positions.get(edge.to)
                    && rank(edge.from) + 1 == rank(edge.to)
            })
        };
        let (mut short, long): (Vec<_>, Vec<_>) = (0..graph.edges.len()).partition(is_short);
        short.sort_by_key(|index| {
            graph.edges.get(*index).and_then(|edge| positions.get(edge.to).copied())
        });
        Self { by_node: ranks, short, long }
    }

    /// Returns the number of nodes with each rank.
    fn widths(&self) -> Vec<usize> {
        let mut widths = vec![0_usize; self.by_node.iter().max().map_or(0, |max| max + 1)];
        for rank in &self.by_node {
            if let Some(width) = widths.get_mut(*rank) {
                *width += 1;
            }
        }
        widths
    }

    /// Returns the largest number of nodes with the same rank.
    pub(super) fn widest(&self) -> usize {
        self.widths().into_iter().max().unwrap_or_default()
    }

    /// Returns a bound on the work that the library needs to align boxes with those of the
    /// neighbouring columns.
    pub(super) fn alignment_work(&self) -> usize {
        // In each pass, the library places the boxes that wait for no other box of their columns.
        // To find the column of a box, it compares the box with those of all earlier columns.
        let n_nodes = self.by_node.len();
        let n_passes = (n_nodes + 1).saturating_sub(self.widths().len());
        n_nodes.saturating_mul(n_nodes).saturating_mul(n_passes)
    }

    /// Estimates the work that the library needs to reduce the number of crossing edges.
    pub(super) fn crossing_work(&self, graph: &Graph) -> usize {
        let mut degrees = vec![0_usize; graph.nodes.len()];
        for edge in self.short.iter().filter_map(|index| graph.edges.get(*index)) {
            for node in [edge.from, edge.to] {
                if let Some(degree) = degrees.get_mut(node) {
                    *degree += 1;
                }
            }
        }
        let degree = degrees.into_iter().max().unwrap_or_default();
        let work = self.widths().iter().map(|width| width.saturating_mul(*width)).sum::<usize>();
        work.saturating_mul(self.widest()).saturating_mul(degree)
    }
}
