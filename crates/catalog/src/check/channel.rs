//! The rules of a channel.

use std::collections::HashSet;

use unlade_text::excerpt;

use super::bundle::range_problem;
use crate::{
    graph,
    problem::{Place, Problem, Problems},
    record::Channel,
    rule::Rule,
};

/// Checks a channel. `has_bundle` returns whether the package has a bundle with this name. It is
/// `None` if the catalog is incomplete.
pub(crate) fn check(
    channel: &Channel,
    has_bundle: Option<&dyn Fn(&str) -> bool>,
    problems: &mut Problems,
) {
    let Channel { package, name, entries, place } = channel;
    // A name can be megabytes long, and each entry can have a message.
    let [shown_package, shown_name] = [package, name].map(|it| excerpt::shorten(it));
    let problem = |rule, place: Place, message: String| {
        Problem::new(rule, place, message).package(package).channel(name)
    };
    if name.is_empty() {
        let message = format!("a channel of the package {shown_package} has no name");
        problems.push(problem(Rule::ChannelName, place.clone(), message));
    }
    let mut names = HashSet::new();
    let n_before = problems.as_slice().len();
    for (index, entry) in entries.iter().enumerate() {
        let place = place.item("entries", index);
        let mut add = |rule, place, message| {
            problems.push(problem(rule, place, message).bundle(&entry.name));
        };
        let shown = excerpt::shorten(&entry.name);
        if entry.name.is_empty() {
            let message = format!("an entry of the channel {shown_name} has no name");
            add(Rule::BundleName, place.clone(), message);
        } else if !names.insert(&entry.name) {
            let message =
                format!("the channel {shown_name} has two entries with the name {shown:?}");
            add(Rule::DuplicateEntry, place.clone(), message);
        } else if has_bundle.is_some_and(|has_bundle| !has_bundle(&entry.name)) {
            let message =
                format!("the package {shown_package} does not contain the bundle {shown}");
            add(Rule::EntryWithoutBundle, place.clone(), message);
        }
        if let Some(at) = entry.skips.iter().position(str::is_empty) {
            let place = place.item("skips", at);
            add(Rule::EmptySkip, place, format!("the entry {shown} skips an empty name"));
        }
        if !entry.skip_range.is_empty()
            && let Some(error) = range_problem(&entry.skip_range)
        {
            let message = format!("the skipRange of the entry {shown} is invalid: {error}");
            add(Rule::SkipRange, place.field("skipRange"), message);
        }
    }
    if entries.is_empty() {
        let message = format!("the channel {shown_name} has no entries");
        problems.push(problem(Rule::NoEntries, place.clone(), message));
        return;
    }
    // If names are missing or not unique, the graph is not the one that the author intended.
    let is_ambiguous =
        |problem: &Problem| matches!(problem.rule, Rule::BundleName | Rule::DuplicateEntry);
    if problems.as_slice().iter().skip(n_before).any(is_ambiguous) {
        return;
    }
    problems.extend(graph_problem(channel));
}

/// Returns the problem of the graph of a channel whose entries have unique names.
fn graph_problem(channel: &Channel) -> Option<Problem> {
    let Channel { package, name, entries, place } = channel;
    let error = graph::check(entries).err()?;
    let (rule, names): (_, &[String]) = match &error {
        graph::Error::NoHead => (Rule::NoHead, &[]),
        graph::Error::SeveralHeads(names) => (Rule::SeveralHeads, names),
        graph::Error::Cycle(names) => (Rule::Cycle, names),
        graph::Error::Stranded(names) => (Rule::Stranded, names),
    };
    let bundle = names.first().map_or("", String::as_str);
    let place = match entries.iter().position(|entry| names.first() == Some(&entry.name)) {
        Some(index) => place.item("entries", index),
        None => place.field("entries"),
    };
    let message =
        format!("the graph of the channel {} is invalid: {error}", excerpt::shorten(name));
    Some(Problem::new(rule, place, message).package(package).channel(name).bundle(bundle))
}
