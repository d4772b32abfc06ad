//! [`Weight`]: the size of the JSON of a tree, which is not written for it.

use super::{Builder, NodeId};
use crate::json::{Node, float_text, write};

/// The size of the JSON of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Weight {
    /// The number of nested containers.
    pub(crate) depth: u64,
    /// The size of the JSON in bytes. Saturates at `u64::MAX`.
    pub(crate) bytes: u64,
}

impl Builder {
    /// Returns the size of the JSON of `root`. Visits each value once, even if it is shared.
    pub(crate) fn weight(&self, root: NodeId) -> Weight {
        let mut weights: Vec<Weight> = Vec::with_capacity(self.tree.nodes.len());
        for node in self.tree.nodes.iter().take(root.index() + 1) {
            let weight = match *node {
                Node::Array(run) => {
                    let items = self.tree.run_items(run);
                    let children = items.iter().map(|&id| (0, weight_of(&weights, id)));
                    container(children, items.len())
                }
                Node::Object(run) => {
                    let fields = self.tree.run_fields(run);
                    let children = fields.iter().map(|field| {
                        let key = write::key_len(&self.tree, field);
                        (key + 1, weight_of(&weights, field.value))
                    });
                    container(children, fields.len())
                }
                Node::String(span) => leaf(write::string_len(self.tree.str(span))),
                Node::Mended(span) => leaf(write::mended(self.tree.str(span)).len() as u64),
                Node::Null | Node::Bool(true) => leaf(4),
                Node::Bool(false) => leaf(5),
                Node::Int(value) => leaf(value.to_string().len() as u64),
                Node::Uint(value) => leaf(value.to_string().len() as u64),
                Node::Float(value) => leaf(float_text(value).len() as u64),
            };
            weights.push(weight);
        }
        weight_of(&weights, root)
    }
}

fn leaf(bytes: u64) -> Weight {
    Weight { depth: 0, bytes }
}

fn weight_of(weights: &[Weight], id: NodeId) -> Weight {
    weights.get(id.index()).copied().unwrap_or(leaf(0))
}

/// Returns the size of a container. Each child comes with the number of bytes before it.
fn container(children: impl Iterator<Item = (u64, Weight)>, n_children: usize) -> Weight {
    let mut weight = leaf(2 + (n_children as u64).saturating_sub(1));
    for (own, child) in children {
        weight.bytes = weight.bytes.saturating_add(own).saturating_add(child.bytes);
        weight.depth = weight.depth.max(child.depth);
    }
    weight.depth += 1;
    weight
}
