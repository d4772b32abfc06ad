//! [`Catalog`]: what all files of a catalog contain.

use std::collections::{BTreeMap, BTreeSet};

use unlade_text::excerpt;

use crate::{
    check::{channel, deprecation, package, upgrade},
    file::File,
    problem::{Place, Problem, Problems},
    record::{Bundle, Channel, Deprecations, Package},
    rule::Rule,
};

/// What all files of a catalog contain.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Catalog {
    /// The packages, in the order of the files and of their documents.
    pub packages: Vec<Package>,
    /// The channels, in the same order.
    pub channels: Vec<Channel>,
    /// The bundles, in the same order.
    pub bundles: Vec<Bundle>,
    /// The deprecations, in the same order.
    pub deprecations: Vec<Deprecations>,
    /// The number of documents, including those of other schemas and those that were not read.
    pub n_metas: usize,
    problems: Problems,
    is_incomplete: bool,
}

/// The parts of one package.
#[derive(Default)]
struct Parts<'c> {
    package: Option<&'c Package>,
    channels: Vec<&'c Channel>,
    bundles: Vec<&'c Bundle>,
    deprecations: Vec<&'c Deprecations>,
}

impl Catalog {
    /// Adds the content of a file. Add the files in the order of their paths, so that the same
    /// catalog has the same problems each time, or [sort](Self::sort_by_file) the catalog
    /// afterwards.
    pub fn add(&mut self, file: File) {
        self.packages.extend(file.packages);
        self.channels.extend(file.channels);
        self.bundles.extend(file.bundles);
        self.deprecations.extend(file.deprecations);
        self.n_metas += file.n_metas;
        self.problems.append(file.problems);
        self.is_incomplete |= file.is_incomplete;
    }

    /// Sorts the lists by the paths of the files. Metas of the same file keep their order.
    pub fn sort_by_file(&mut self) {
        let Self { packages, channels, bundles, deprecations, .. } = self;
        packages.sort_by(|left, right| left.place.file.cmp(&right.place.file));
        channels.sort_by(|left, right| left.place.file.cmp(&right.place.file));
        bundles.sort_by(|left, right| left.place.file.cmp(&right.place.file));
        deprecations.sort_by(|left, right| left.place.file.cmp(&right.place.file));
    }

    /// Returns the problems of the files that are errors of rules that
    /// [prevent loading](Rule::prevents_loading), or warnings, sorted by their places.
    pub fn loading_problems(&self) -> Vec<Problem> {
        let mut problems = self.problems.clone();
        problems.remove_other_errors();
        problems.into_sorted()
    }

    /// Checks the catalog. Returns all problems of its files and of the whole, sorted by their
    /// places. An empty catalog is valid.
    ///
    /// If a document could not be read, the rules that would need it are not checked: a package
    /// that seems to be missing may be in that document.
    pub fn validate(&self) -> Vec<Problem> {
        let mut problems = self.problems.clone();
        let mut by_package: BTreeMap<&str, Parts<'_>> = BTreeMap::new();
        for package in &self.packages {
            let parts = by_package.entry(&package.name).or_default();
            if let Some(first) = parts.package
                && !package.name.is_empty()
            {
                let shown = excerpt::shorten(&package.name);
                let message =
                    format!("the package {shown} is also {}", describe_place(&first.place));
                let problem = Problem::new(Rule::DuplicatePackage, package.place.clone(), message);
                problems.push(problem.package(&package.name));
                continue;
            }
            parts.package = Some(package);
        }
        for channel in &self.channels {
            by_package.entry(&channel.package).or_default().channels.push(channel);
        }
        for bundle in &self.bundles {
            by_package.entry(&bundle.package).or_default().bundles.push(bundle);
        }
        for deprecations in &self.deprecations {
            by_package.entry(&deprecations.package).or_default().deprecations.push(deprecations);
        }
        for (name, parts) in &by_package {
            match parts.package {
                Some(package) => self.validate_package(package, parts, &mut problems),
                None if self.is_incomplete && !name.is_empty() => {}
                None => report_unknown(name, parts, &mut problems),
            }
        }
        problems.into_sorted()
    }

    /// Returns whether a document could not be read, so that parts of the catalog may be missing.
    pub fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }

    fn validate_package(&self, package: &Package, parts: &Parts<'_>, problems: &mut Problems) {
        let channels: BTreeSet<_> = parts.channels.iter().map(|it| it.name.as_str()).collect();
        let bundles: BTreeSet<_> = parts.bundles.iter().map(|it| it.name.as_str()).collect();
        let is_complete = !self.is_incomplete;
        package::check(package, is_complete.then_some(&channels), problems);
        let has_bundle = |name: &str| bundles.contains(name);
        let has_bundle: &dyn Fn(&str) -> bool = &has_bundle;
        // A name can be megabytes long, and each part can have a message.
        let shown_package = excerpt::shorten(&package.name);
        let mut seen = BTreeSet::new();
        for channel in &parts.channels {
            if !seen.insert(&channel.name) {
                let shown = excerpt::shorten(&channel.name);
                let message =
                    format!("the package {shown_package} has two channels with the name {shown:?}");
                let problem = Problem::new(Rule::DuplicateChannel, channel.place.clone(), message);
                problems.push(problem.package(&package.name).channel(&channel.name));
            }
            channel::check(channel, is_complete.then_some(has_bundle), problems);
        }
        let entries: BTreeSet<_> =
            parts.channels.iter().flat_map(|it| &it.entries).map(|it| it.name.as_str()).collect();
        let mut seen = BTreeSet::new();
        for bundle in &parts.bundles {
            let Bundle { package, name, place, .. } = bundle;
            let mut add = |rule, message: String| {
                let problem = Problem::new(rule, place.clone(), message);
                problems.push(problem.package(package).bundle(name));
            };
            let shown = excerpt::shorten(name);
            if !seen.insert(name) {
                add(
                    Rule::DuplicateBundle,
                    format!("the package {shown_package} has two bundles with the name {shown:?}"),
                );
            }
            if name.is_empty() {
                let message = format!("a bundle of the package {shown_package} has no name");
                add(Rule::BundleName, message);
            } else if is_complete && !entries.contains(name.as_str()) {
                let message =
                    format!("no channel of the package {shown_package} has the entry {shown}");
                add(Rule::BundleWithoutEntry, message);
            }
        }
        package::check_versions(parts.bundles.iter().copied(), problems);
        upgrade::check(parts.channels.iter().copied(), parts.bundles.iter().copied(), problems);
        for (index, deprecations) in parts.deprecations.iter().enumerate() {
            if index > 0 {
                let message = format!("the package {shown_package} has two olm.deprecations");
                let place = deprecations.place.clone();
                let problem = Problem::new(Rule::DeprecationPackage, place, message);
                problems.push(problem.package(&package.name));
            }
            deprecation::check(
                deprecations,
                is_complete.then_some((&channels, &bundles)),
                problems,
            );
        }
    }
}

/// Reports the parts of a package that does not exist.
fn report_unknown(name: &str, parts: &Parts<'_>, problems: &mut Problems) {
    let shown = excerpt::shorten(name);
    let mut add = |place: &Place, what: String, own: &dyn Fn(Problem) -> Problem| {
        let message = match name {
            "" => format!("{what} does not name a package"),
            _ => format!("{what} names the package {shown}, which does not exist"),
        };
        problems
            .push(own(Problem::new(Rule::UnknownPackage, place.clone(), message)).package(name));
    };
    for channel in &parts.channels {
        let what = format!("the channel {}", excerpt::shorten(&channel.name));
        add(&channel.place, what, &|problem| problem.channel(&channel.name));
    }
    for bundle in &parts.bundles {
        let what = format!("the bundle {}", excerpt::shorten(&bundle.name));
        add(&bundle.place, what, &|problem| problem.bundle(&bundle.name));
    }
    for deprecations in &parts.deprecations {
        add(&deprecations.place, "the olm.deprecations".to_owned(), &|problem| problem);
    }
}

fn describe_place(place: &Place) -> String {
    format!("in {} at line {}", place.file, place.line)
}

#[cfg(test)]
mod tests;
