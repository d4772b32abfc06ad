//! The graphs as Mermaid text, as `opm alpha render-graph` of operator-registry 1.73 writes them.
//!
//! ```
//! use unlade_catalog::{Catalog, File, Limits, graph::mermaid};
//!
//! let text = "{schema: olm.channel, package: tea, name: stable, entries: [{name: b}]}";
//! let mut catalog = Catalog::default();
//! catalog.add(File::read("catalog.yaml", text.as_bytes(), &Limits::default()));
//! let graph = mermaid::write(&catalog, &Default::default(), &Default::default())?;
//! assert!(graph.contains("tea-stable-b[\"b\"]\n"));
//! # Ok::<(), unlade_catalog::graph::DrawError>(())
//! ```

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashSet},
    fmt::Write as _,
    rc::Rc,
};

use unlade_bundle::version::Version;

use super::{
    budget::Budget,
    draw::DrawError,
    escape::{mermaid_id, mermaid_label, mermaid_range},
    heads,
    selection::{Selection, select, versions},
    skipped, stranded,
};
use crate::{
    BUNDLE, CHANNEL, PACKAGE,
    catalog::Catalog,
    record::{Channel, Entry},
    version::Versions,
};

/// What the text shows besides the edges and the deprecations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Style {
    /// Whether to mark the entries that OLM v0 skips, and the edges that have no effect because of
    /// it, as `--draw-v0-semantics` of `opm` does.
    pub v0_semantics: bool,
    /// Whether to mark the heads, and the skipped and the stranded entries. `opm` has no such
    /// option.
    pub marks: bool,
}

/// Returns the Mermaid text.
///
/// It is that of `opm`, byte for byte, with two exceptions: characters of names that Mermaid would
/// not read as a part of the name are escaped, and of several entries with the same version, those
/// that come first in their file are also first in the text.
///
/// # Errors
///
/// Returns an error if the selection is unknown, or if a limit is exceeded: [`MAX_EDGES`],
/// [`MAX_TEXT`] or [`MAX_WORK`].
///
/// [`MAX_EDGES`]: super::MAX_EDGES
/// [`MAX_TEXT`]: super::MAX_TEXT
/// [`MAX_WORK`]: super::MAX_WORK
pub fn write(
    catalog: &Catalog,
    selection: &Selection<'_>,
    style: &Style,
) -> Result<String, DrawError> {
    write_with_budget(catalog, selection, *style, Budget::default())
}

pub(super) fn write_with_budget(
    catalog: &Catalog,
    selection: &Selection<'_>,
    style: Style,
    budget: Budget,
) -> Result<String, DrawError> {
    let versions = versions(catalog);
    let channels = select(catalog, selection, &versions)?;
    let mut writer = Writer::new(catalog, versions, style, budget);
    for channel in &channels {
        writer.channel(channel)?;
    }
    writer.finish()
}

/// The classes in the order of their lines.
const CLASSES: [&str; 5] = ["deprecated", "deprecatedskipped", "head", "skipped", "stranded"];

struct Writer<'c> {
    versions: Rc<Versions<&'c str>>,
    deprecated: Deprecated<'c>,
    style: Style,
    budget: Budget,
    by_package: BTreeMap<String, String>,
    styled: Vec<String>,
    deprecated_package: Option<String>,
    by_class: BTreeMap<&'static str, BTreeSet<String>>,
    n_links: usize,
    /// The numbers of the links that have no effect.
    idle_links: Vec<String>,
}

/// The names that are deprecated. As in upstream, the package of a channel or bundle is ignored.
struct Deprecated<'c> {
    packages: HashSet<&'c str>,
    channels: HashSet<&'c str>,
    bundles: HashSet<&'c str>,
}

impl<'c> Deprecated<'c> {
    fn new(catalog: &'c Catalog) -> Self {
        let names = |schema: &str, of_package: bool| {
            let all = catalog.deprecations.iter();
            all.flat_map(|all| all.entries.iter().map(move |entry| (all, entry)))
                .filter(|(_, entry)| entry.schema == schema)
                .map(|(all, entry)| if of_package { &*all.package } else { &*entry.name })
                .collect()
        };
        Self {
            packages: names(PACKAGE, true),
            channels: names(CHANNEL, false),
            bundles: names(BUNDLE, false),
        }
    }
}

impl<'c> Writer<'c> {
    fn new(
        catalog: &'c Catalog,
        versions: Versions<&'c str>,
        style: Style,
        budget: Budget,
    ) -> Self {
        Self {
            versions: Rc::new(versions),
            deprecated: Deprecated::new(catalog),
            style,
            budget,
            by_package: BTreeMap::new(),
            styled: Vec::new(),
            deprecated_package: None,
            by_class: BTreeMap::new(),
            n_links: 0,
            idle_links: Vec::new(),
        }
    }

    fn channel(&mut self, channel: &Channel) -> Result<(), DrawError> {
        let Channel { package, name, entries, .. } = channel;
        let id = format!("{}-{}", mermaid_id(package), mermaid_id(name));
        let label = mermaid_label(name);
        // The id is written again at the end if the channel is deprecated.
        self.budget.add_text(2 * (id.len() + label.len()))?;
        let mut text = format!("    %% channel \"{label}\"\n    subgraph {id}[\"{label}\"]\n");
        if self.deprecated.packages.contains(package.as_str()) {
            self.deprecated_package = Some(package.clone());
        }
        if self.deprecated.channels.contains(name.as_str()) {
            self.styled.push(id.clone());
        }
        let catalog_versions = Rc::clone(&self.versions);
        let get = |entry: &Entry| catalog_versions.get(&*entry.name);
        // Most channels have no ranges, and need only the ranks.
        let has_ranges = entries.iter().any(|entry| !entry.skip_range.is_empty());
        let versions: Vec<_> =
            entries.iter().filter(|_| has_ranges).map(|entry| &get(entry).version).collect();
        let mut sorted: Vec<_> = entries.iter().map(|entry| (get(entry).rank, entry)).collect();
        sorted.sort_by_key(|(rank, _)| Reverse(*rank));
        let mut names_skipped = HashSet::new();
        for (_, entry) in sorted {
            self.entry(&id, entry, (entries, &versions), &mut names_skipped, &mut text)?;
        }
        text.push_str("    end\n");
        if self.style.marks {
            self.mark(&id, entries)?;
        }
        self.by_package.entry(package.clone()).or_default().push_str(&text);
        Ok(())
    }

    /// Writes an entry and its edges. `names_skipped` contains the names that higher versions skip.
    fn entry<'e>(
        &mut self,
        channel: &str,
        entry: &'e Entry,
        (all, versions): (&[Entry], &[&Version]),
        names_skipped: &mut HashSet<&'e str>,
        text: &mut String,
    ) -> Result<(), DrawError> {
        let name = &*entry.name;
        let node =
            |name: &str| format!("{channel}-{}[\"{}\"]", mermaid_id(name), mermaid_label(name));
        let own = node(name);
        self.line(&[&own], text)?;
        let class = match (self.deprecated.bundles.contains(name), names_skipped.contains(name)) {
            (true, true) => Some("deprecatedskipped"),
            (true, false) => Some("deprecated"),
            (false, true) => Some("skipped"),
            (false, false) => None,
        };
        if let Some(class) = class {
            self.classify(class, channel, name)?;
        }
        for skip in entry.skips.iter() {
            self.line(&[&node(skip), "-- skip --> ", &own], text)?;
            let is_new = !self.style.v0_semantics || names_skipped.insert(skip);
            self.link(!is_new)?;
        }
        if !entry.skip_range.is_empty() {
            let label = format!("skipRange({})", mermaid_range(&entry.skip_range));
            let is_in_range = self.budget.compare(&entry.skip_range, versions.iter().copied())?;
            for (other, _) in all.iter().zip(is_in_range).filter(|(_, is_in_range)| *is_in_range) {
                let from = node(&other.name);
                self.line(&[&from, "-- \"", &label, "\" --> ", &own], text)?;
                self.link(names_skipped.contains(name))?;
            }
        }
        if !entry.replaces.is_empty() {
            self.line(&[&node(&entry.replaces), "-- replace --> ", &own], text)?;
            self.link(names_skipped.contains(name))?;
        }
        Ok(())
    }

    /// Counts a link.
    fn link(&mut self, is_idle: bool) -> Result<(), DrawError> {
        if is_idle {
            self.idle_links.push(self.n_links.to_string());
        }
        self.n_links += 1;
        self.budget.add_edge()
    }

    /// Writes a line in the graph of a channel, if the budget allows its size.
    fn line(&mut self, parts: &[&str], text: &mut String) -> Result<(), DrawError> {
        const INDENT: &str = "      ";
        let size: usize = parts.iter().map(|part| part.len()).sum();
        self.budget.add_text(INDENT.len() + size + 1)?;
        text.push_str(INDENT);
        text.extend(parts.iter().copied());
        text.push('\n');
        Ok(())
    }

    fn classify(
        &mut self,
        class: &'static str,
        channel: &str,
        name: &str,
    ) -> Result<(), DrawError> {
        let id = format!("{channel}-{}", mermaid_id(name));
        self.budget.add_text(id.len())?;
        self.by_class.entry(class).or_default().insert(id);
        Ok(())
    }

    fn mark(&mut self, channel: &str, entries: &[Entry]) -> Result<(), DrawError> {
        let skipped = skipped(entries);
        for entry in entries.iter().filter(|entry| skipped.contains(&*entry.name)) {
            let is_deprecated = self.deprecated.bundles.contains(&*entry.name);
            let class = if is_deprecated { "deprecatedskipped" } else { "skipped" };
            self.classify(class, channel, &entry.name)?;
        }
        for (class, names) in [("head", heads(entries)), ("stranded", stranded(entries))] {
            for name in names {
                self.classify(class, channel, name)?;
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<String, DrawError> {
        let mut text = String::from(
            "graph LR\n  classDef deprecated fill:#E8960F\n  classDef skipped \
             stroke:#FF0000,stroke-width:4px\n  classDef deprecatedskipped \
             fill:#E8960F,stroke:#FF0000,stroke-width:4px\n",
        );
        if self.style.marks {
            text.push_str(
                "  classDef head stroke-width:4px\n  classDef stranded \
                 stroke-width:4px,stroke-dasharray:5\n",
            );
        }
        for (package, channels) in &self.by_package {
            let label = mermaid_label(package);
            self.budget.add_text(2 * label.len())?;
            _ = write!(text, "  %% package \"{label}\"\n  subgraph \"{label}\"\n{channels}  end\n");
        }
        if let Some(package) = &self.deprecated_package {
            let id = mermaid_id(package);
            self.budget.add_text(id.len())?;
            _ = writeln!(text, "style {id} fill:#989695");
        }
        for channel in &self.styled {
            _ = writeln!(text, "style {channel} fill:#DCD0FF");
        }
        for class in CLASSES {
            if let Some(ids) = self.by_class.get(class) {
                let ids: Vec<_> = ids.iter().map(String::as_str).collect();
                _ = writeln!(text, "class {} {class}", ids.join(","));
            }
        }
        if !self.idle_links.is_empty() {
            _ = writeln!(
                text,
                "linkStyle {} stroke:#FF0000,stroke-width:3px,stroke-dasharray:5;",
                self.idle_links.join(",")
            );
        }
        Ok(text)
    }
}
