//! [`Selection`]: which part of the graphs is drawn.

use std::borrow::Cow;

use unlade_bundle::version::Range;

use super::draw::DrawError;
use crate::{
    catalog::Catalog,
    record::{Channel, Entry},
    version::Versions,
};

/// The part of the graphs that is drawn. The fields have the meaning of the options of
/// `opm alpha render-graph`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection<'n> {
    /// The only package to draw. All packages are drawn if it is `None`.
    pub package: Option<&'n str>,
    /// The entry whose version is the lowest one to draw. Only the channels of its package are
    /// drawn.
    pub minimum: Option<&'n str>,
}

/// Returns the versions of all bundles by their names. As in upstream, the first bundle with a name
/// is used, whatever its package is.
pub(super) fn versions(catalog: &Catalog) -> Versions<&str> {
    Versions::new(catalog.bundles.iter().map(|it| (it.name.as_str(), it.version_and_release())))
}

/// Returns the selected channels with their selected entries, sorted by the names of the channels
/// (operator-registry `alpha/declcfg/write.go`, `filterChannel`).
pub(super) fn select<'c>(
    catalog: &'c Catalog,
    selection: &Selection<'_>,
    versions: &Versions<&str>,
) -> Result<Vec<Cow<'c, Channel>>, DrawError> {
    if let Some(name) = selection.minimum.filter(|name| !versions.contains(*name)) {
        return Err(DrawError::UnknownMinimum(name.to_owned()));
    }
    let has_minimum = |channel: &&Channel| {
        channel.entries.iter().any(|entry| Some(entry.name.as_str()) == selection.minimum)
    };
    let mut channels: Vec<_> = catalog.channels.iter().collect();
    channels.sort_by_key(|channel| &channel.name);
    let minimum_package = channels.iter().copied().find(has_minimum).map(|it| &it.package);
    let is_selected = |channel: &&&Channel| {
        selection.package.is_none_or(|package| package == channel.package)
            && minimum_package.is_none_or(|package| *package == channel.package)
    };
    let is_filtered = selection.package.is_some() || selection.minimum.is_some();
    let channels = channels.iter().filter(is_selected).map(|&channel| {
        let mut channel = Cow::Borrowed(channel);
        if let Some(minimum) = selection.minimum {
            channel.to_mut().entries.retain_mut(|entry| cut(entry, minimum, versions));
        }
        channel
    });
    // Upstream shows a channel without entries only if no option is given.
    Ok(channels.filter(|channel| !is_filtered || !channel.entries.is_empty()).collect())
}

/// Removes the edges of an entry to versions below that of `minimum`. Returns whether the entry is
/// to be drawn.
fn cut(entry: &mut Entry, minimum: &str, versions: &Versions<&str>) -> bool {
    let floor = versions.get(minimum);
    let is_above = |name: &str| versions.get(name).rank >= floor.rank;
    let had_edges = has_edges(entry);
    if entry.name == minimum {
        *entry = Entry { name: std::mem::take(&mut entry.name), ..Entry::default() };
        return true;
    }
    if !is_above(&entry.replaces) {
        entry.replaces.clear();
    }
    entry.skips = entry.skips.iter().filter(|name| is_above(name)).collect();
    if !entry.skip_range.parse::<Range>().is_ok_and(|range| range.matches(&floor.version)) {
        entry.skip_range.clear();
    }
    has_edges(entry) || (!had_edges && is_above(&entry.name))
}

fn has_edges(entry: &Entry) -> bool {
    !entry.replaces.is_empty() || !entry.skips.is_empty() || !entry.skip_range.is_empty()
}
