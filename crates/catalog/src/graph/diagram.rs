//! [`Diagram`]: the graphs of a catalog with marks, for programs that draw them.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet, btree_map},
};

use unlade_text::escape;

use super::{
    budget::Budget,
    draw::DrawError,
    heads,
    selection::{Selection, select, versions},
    skipped, stranded,
};
use crate::{
    BUNDLE, CHANNEL,
    catalog::Catalog,
    record::{Channel, Entry},
    version::Versions,
};

/// The graphs of the selected channels.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagram {
    /// The graphs, sorted by package and channel.
    pub graphs: Vec<Graph>,
}

/// The graph of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Graph {
    /// The package.
    pub package: String,
    /// The channel.
    pub channel: String,
    /// Whether the channel is deprecated.
    pub is_deprecated: bool,
    /// The entries, and the names that they replace or skip. Entries with higher versions come
    /// first.
    pub nodes: Vec<Node>,
    /// The edges, sorted, with at most one for each pair of nodes.
    pub edges: Vec<Edge>,
}

/// A bundle in the graph of a channel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each mark is independent of the others")]
#[non_exhaustive]
pub struct Node {
    /// The name of the bundle.
    pub name: String,
    /// Whether it is the head of the channel.
    pub is_head: bool,
    /// Whether another entry skips it.
    pub is_skipped: bool,
    /// Whether no chain of replacements from the head leads to it, and no entry skips it.
    pub is_stranded: bool,
    /// Whether it is deprecated.
    pub is_deprecated: bool,
    /// Whether it is not an entry of the channel.
    pub is_outside: bool,
}

/// An upgrade from one bundle to another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Edge {
    /// The index of the bundle to upgrade.
    pub from: usize,
    /// The index of the bundle that replaces or skips it.
    pub to: usize,
    /// Whether the bundle is replaced.
    pub replaces: bool,
    /// Whether the bundle is skipped by its name.
    pub skips: bool,
    /// The range that contains the version of the bundle. Empty if the edge comes from no range.
    pub skip_range: String,
}

impl Diagram {
    /// Creates the diagram of the selected channels.
    ///
    /// Unlike `opm`, it leaves out the edges by which a range would lead from a bundle to itself.
    ///
    /// # Errors
    ///
    /// Returns an error if the selection is unknown, or if a limit is exceeded: [`MAX_EDGES`],
    /// [`MAX_TEXT`] for the names and the ranges of the edges, or [`MAX_WORK`].
    ///
    /// [`MAX_EDGES`]: super::MAX_EDGES
    /// [`MAX_TEXT`]: super::MAX_TEXT
    /// [`MAX_WORK`]: super::MAX_WORK
    pub fn new(catalog: &Catalog, selection: &Selection<'_>) -> Result<Self, DrawError> {
        Self::with_budget(catalog, selection, Budget::default())
    }

    fn with_budget(
        catalog: &Catalog,
        selection: &Selection<'_>,
        mut budget: Budget,
    ) -> Result<Self, DrawError> {
        let versions = versions(catalog);
        let mut channels = select(catalog, selection, &versions)?;
        channels.sort_by(|a, b| (&a.package, &a.name).cmp(&(&b.package, &b.name)));
        let mut deprecated: HashMap<_, BTreeSet<_>> = HashMap::new();
        for all in &catalog.deprecations {
            for entry in &all.entries {
                let key = (all.package.as_str(), entry.schema.as_str());
                deprecated.entry(key).or_default().insert(entry.name.as_str());
            }
        }
        let none = BTreeSet::new();
        let mut graphs = Vec::new();
        for channel in &channels {
            let deprecated =
                |schema| deprecated.get(&(channel.package.as_str(), schema)).unwrap_or(&none);
            // Each target is an edge. A channel can have millions of targets, and counting them is
            // many times faster than creating the nodes.
            let mut targets = HashSet::new();
            for target in channel.entries.iter().flat_map(Entry::targets) {
                targets.insert(target);
                budget.check_edges(targets.len())?;
            }
            let nodes = nodes(channel, &versions, deprecated(BUNDLE));
            let names = nodes.iter().map(|node| &node.name);
            for name in names.chain([&channel.package, &channel.name]) {
                budget.add_text(escape(name).len())?;
            }
            let edges = edges(channel, &nodes, &versions, &mut budget)?;
            let is_deprecated = deprecated(CHANNEL).contains(channel.name.as_str());
            let Channel { package, name, .. } = &**channel;
            let (package, channel) = (package.clone(), name.clone());
            graphs.push(Graph { package, channel, is_deprecated, nodes, edges });
        }
        Ok(Self { graphs })
    }
}

impl Edge {
    /// Returns why the upgrade is possible, such as `replaces, skips`.
    pub fn describe(&self) -> String {
        let range = format!("skipRange {}", self.skip_range);
        let parts = [
            (self.replaces, "replaces"),
            (self.skips, "skips"),
            (!self.skip_range.is_empty(), range.as_str()),
        ];
        let parts: Vec<_> =
            parts.into_iter().filter(|(is_part, _)| *is_part).map(|(_, part)| part).collect();
        parts.join(", ")
    }
}

fn nodes(channel: &Channel, versions: &Versions<&str>, deprecated: &BTreeSet<&str>) -> Vec<Node> {
    let entries = &channel.entries;
    let (skipped, heads) = (skipped(entries), BTreeSet::from_iter(heads(entries)));
    let stranded = BTreeSet::from_iter(stranded(entries));
    let own: BTreeSet<_> = entries.iter().map(|entry| entry.name.as_str()).collect();
    let targets = entries.iter().flat_map(Entry::targets);
    let names: BTreeSet<_> = own.iter().copied().chain(targets).collect();
    // Finding the version of a name takes longer than the comparison of two.
    let ranked = |name| (versions.get(name).exact_rank, name);
    let mut names: Vec<_> = names.into_iter().map(ranked).collect();
    names.sort_by_key(|(rank, _)| Reverse(*rank));
    let node = |(_, name): (_, &str)| Node {
        name: name.to_owned(),
        is_head: heads.contains(name),
        is_skipped: skipped.contains(name),
        is_stranded: stranded.contains(name),
        is_deprecated: deprecated.contains(name),
        is_outside: !own.contains(name),
    };
    names.into_iter().map(node).collect()
}

/// Returns the edges, within the budget.
fn edges(
    channel: &Channel,
    nodes: &[Node],
    versions: &Versions<&str>,
    budget: &mut Budget,
) -> Result<Vec<Edge>, DrawError> {
    let own_versions: Vec<_> =
        nodes.iter().map(|node| &versions.get(node.name.as_str()).version).collect();
    let indices: HashMap<_, _> =
        nodes.iter().enumerate().map(|(index, node)| (node.name.as_str(), index)).collect();
    let mut edges: BTreeMap<(usize, usize), Edge> = BTreeMap::new();
    for entry in &channel.entries {
        let Some(&to) = indices.get(entry.name.as_str()) else { continue };
        let mut add = |budget: &mut Budget,
                       from: Option<&usize>,
                       set: &dyn Fn(&mut Edge)|
         -> Result<(), DrawError> {
            let Some(&from) = from else { return Ok(()) };
            let edge = match edges.entry((from, to)) {
                btree_map::Entry::Occupied(edge) => edge.into_mut(),
                btree_map::Entry::Vacant(place) => {
                    budget.add_edge()?;
                    let (replaces, skips, skip_range) = (false, false, String::new());
                    place.insert(Edge { from, to, replaces, skips, skip_range })
                }
            };
            set(edge);
            Ok(())
        };
        add(budget, indices.get(entry.replaces.as_str()), &|edge| edge.replaces = true)?;
        for name in entry.skips.iter() {
            add(budget, indices.get(name), &|edge| edge.skips = true)?;
        }
        let is_in_range = budget.compare(&entry.skip_range, own_versions.iter().copied())?;
        for (from, (node, is_in_range)) in nodes.iter().zip(is_in_range).enumerate() {
            if from != to && !node.is_outside && is_in_range {
                budget.add_text(entry.skip_range.len())?;
                add(budget, Some(&from), &|edge| edge.skip_range.clone_from(&entry.skip_range))?;
            }
        }
    }
    Ok(edges.into_values().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        File, Limits,
        graph::{MAX_EDGES, mermaid},
    };

    pub(super) fn diagram(text: &str) -> Diagram {
        let mut catalog = Catalog::default();
        catalog.add(File::read("c.yaml", text.as_bytes(), &Limits::default()));
        Diagram::new(&catalog, &Selection::default()).unwrap()
    }

    fn bundle(name: &str, version: &str) -> String {
        format!(
            "---\n{{schema: olm.bundle, package: p, name: {name}, properties: [{{type: olm.package, \
             value: {{packageName: p, version: {version}}}}}]}}\n"
        )
    }

    #[test]
    fn entries_are_marked_and_edges_of_a_pair_are_one() {
        let channel = "{schema: olm.channel, package: p, name: s, entries: [
            {name: d, replaces: b, skips: [b, c, x], skipRange: <3.0.0}, {name: c}, {name: b},
            {name: a, replaces: a}]}\n---\n{schema: olm.deprecations, package: p, entries: [
            {reference: {schema: olm.bundle, name: c}, message: m}]}\n";
        let bundles = [("a", "1.0.0"), ("b", "2.0.0"), ("c", "3.0.0"), ("d", "2.5.0")];
        let text: String = bundles.iter().map(|(name, version)| bundle(name, version)).collect();
        let diagram = diagram(&format!("{channel}{text}"));
        let marks = |node: &Node| {
            let marks = [
                (node.is_head, 'H'),
                (node.is_skipped, 'K'),
                (node.is_stranded, 'S'),
                (node.is_deprecated, 'D'),
                (node.is_outside, 'O'),
            ];
            let marks = marks.into_iter().filter(|(is, _)| *is).map(|(_, mark)| mark);
            format!("{}:{}", node.name, marks.collect::<String>())
        };
        let graph = &diagram.graphs[0];
        assert_eq!(
            graph.nodes.iter().map(marks).collect::<Vec<_>>(),
            ["c:KD", "d:H", "b:K", "a:S", "x:KO"]
        );
        let edges = graph.edges.iter().map(|edge| {
            let Edge { from, to, replaces, skips, skip_range } = edge;
            (graph.nodes[*from].name.as_str(), *to, *replaces, *skips, skip_range.as_str())
        });
        assert_eq!(
            edges.collect::<Vec<_>>(),
            [
                ("c", 1, false, true, ""),
                ("b", 1, true, true, "<3.0.0"),
                ("a", 1, false, false, "<3.0.0"),
                ("a", 3, true, false, ""),
                ("x", 1, false, true, "")
            ]
        );
    }

    #[test]
    fn versions_that_differ_in_their_release_or_build_are_in_their_order() {
        let channel = "{schema: olm.channel, package: p, name: s, entries: [{name: a}, {name: b},
            {name: c}, {name: d}]}\n";
        let bundles =
            [("a", "1.0.0+1"), ("b", "1.0.0+2"), ("c", "1.0.1"), ("d", "1.0.1, release: '1'")];
        let text: String = bundles.iter().map(|(name, version)| bundle(name, version)).collect();
        let diagram = diagram(&format!("{channel}{text}"));
        let names: Vec<_> = diagram.graphs[0].nodes.iter().map(|node| &node.name).collect();
        assert_eq!(names, ["d", "c", "b", "a"]);
    }

    #[test]
    fn ranges_that_stand_for_too_many_edges_are_refused() {
        let entries: Vec<_> =
            (0..1100).map(|n| format!("{{name: e{n}, skipRange: <1.0.0}}")).collect();
        let entries = entries.join(",");
        let text = format!("{{schema: olm.channel, package: p, name: s, entries: [{entries}]}}");
        let mut catalog = Catalog::default();
        catalog.add(File::read("c.yaml", text.as_bytes(), &Limits::default()));
        let all = Selection::default();
        let error = DrawError::Edges { limit: MAX_EDGES };
        assert_eq!(Diagram::new(&catalog, &all), Err(error.clone()));
        assert_eq!(mermaid::write(&catalog, &all, &mermaid::Style::default()), Err(error));
    }

    fn catalog(entries: &[String]) -> Catalog {
        let entries = entries.join(",");
        let text = format!("{{schema: olm.channel, package: p, name: s, entries: [{entries}]}}");
        let mut catalog = Catalog::default();
        catalog.add(File::read("c.yaml", text.as_bytes(), &Limits::default()));
        catalog
    }

    /// Returns the results for a diagram and for Mermaid text with this budget.
    fn draw(catalog: &Catalog, budget: [usize; 3]) -> [Result<(), DrawError>; 2] {
        let all = Selection::default();
        let budget = || Budget::new(budget[0], budget[1], budget[2]);
        [
            Diagram::with_budget(catalog, &all, budget()).map(drop),
            mermaid::write_with_budget(catalog, &all, mermaid::Style::default(), budget())
                .map(drop),
        ]
    }

    #[test]
    fn long_ranges_on_many_edges_are_refused() {
        let range = "<1.0.0 ".repeat(100);
        let mut entries: Vec<_> = (0..100).map(|n| format!("{{name: e{n}}}")).collect();
        entries.push(format!("{{name: last, skipRange: {range}}}"));
        let catalog = catalog(&entries);
        let many = usize::MAX;
        assert_eq!(draw(&catalog, [many, 100_000, many]), [Ok(()), Ok(())]);
        let error = Err(DrawError::Text { limit: 60_000 });
        assert_eq!(draw(&catalog, [many, 60_000, many]), [error.clone(), error]);
    }

    #[test]
    fn comparisons_with_ranges_are_limited() {
        // No version is in a range, so there is no edge.
        let entries: Vec<_> =
            (0..100).map(|n| format!("{{name: e{n}, skipRange: '>1.0.0'}}")).collect();
        let catalog = catalog(&entries);
        assert_eq!(draw(&catalog, [0, usize::MAX, 860_000]), [Ok(()), Ok(())]);
        let error = Err(DrawError::Work { limit: 859_999 });
        assert_eq!(draw(&catalog, [0, usize::MAX, 859_999]), [error.clone(), error]);
    }

    #[test]
    fn long_names_of_packages_and_channels_are_refused() {
        for hidden in ["package", "name"] {
            let text = format!("{{schema: olm.channel, {hidden}: \"{}\"}}", "\\x7f".repeat(1000));
            let mut catalog = Catalog::default();
            catalog.add(File::read("c.yaml", text.as_bytes(), &Limits::default()));
            assert_eq!(draw(&catalog, [0, 22_000, 0]), [Ok(()), Ok(())], "{hidden}");
            let [diagram, mermaid] = draw(&catalog, [0, 5_000, 0]);
            let error = Err(DrawError::Text { limit: 5_000 });
            assert_eq!([diagram, mermaid], [error.clone(), error], "{hidden}");
        }
    }

    #[test]
    fn long_names_on_many_lines_of_mermaid_are_refused() {
        let name = "n".repeat(1000);
        let skips = vec![name.as_str(); 1000].join(",");
        let skipping =
            catalog(&[format!("{{name: {name}}}"), format!("{{name: b, skips: [{skips}]}}")]);
        let channel = format!("{{schema: olm.channel, package: p, name: {name}, entries: [");
        let mut entries = Catalog::default();
        let text = (0..1000).fold(channel, |text, n| format!("{text}{{name: e{n}}},")) + "]}";
        entries.add(File::read("c.yaml", text.as_bytes(), &Limits::default()));
        for catalog in [skipping, entries] {
            let [_, result] = draw(&catalog, [usize::MAX, 100_000, usize::MAX]);
            assert_eq!(result, Err(DrawError::Text { limit: 100_000 }));
        }
    }
}
