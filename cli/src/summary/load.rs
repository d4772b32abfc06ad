//! The summary of a bundle, for `unlade load` and `unlade launch`.

use unlade_launcher::{DigestSource, Launched, ObservedImage};
use unlade_loader::{Bundle, Loaded};

use super::{Summary, channels, count, size};
use crate::{
    screen::Screen,
    table::{Align, Table},
};

/// Formats a bundle, with `heading` if it is one of several.
pub(crate) fn format_loaded(loaded: &Loaded, heading: Option<&str>, screen: &Screen) -> String {
    let mut summary = Summary::new(screen);
    if let Some(heading) = heading {
        summary.heading(heading);
    }
    contents(summary, loaded)
}

/// Formats a bundle that was launched from `image`, and the image that it came from.
pub(crate) fn format_launched(
    launched: &Launched,
    image: &str,
    loaded: &Loaded,
    heading: &str,
    screen: &Screen,
) -> String {
    let mut summary = Summary::new(screen);
    summary.heading(heading);
    summary.field("Image digest", &digest(&launched.image));
    let admitted = launched.image.reference.as_deref().filter(|admitted| *admitted != image);
    summary.field("Admitted as", admitted.unwrap_or_default());
    contents(summary, loaded)
}

/// Formats the digest of an image and its source.
fn digest(image: &ObservedImage) -> String {
    match (&image.digest, image.digest_source) {
        (Some(digest), Some(source)) => format!("{digest} ({})", digest_source(source)),
        _ => "unknown (use --resolve-digest to record it)".to_owned(),
    }
}

/// Describes the source of a digest.
pub(super) fn digest_source(source: DigestSource) -> &'static str {
    match source {
        DigestSource::ContainerStatus => "reported for the container",
        DigestSource::VolumeStatus => "reported for the volume",
        DigestSource::PodReference => "named by the pod",
        DigestSource::EarlierLaunch => "verified by an earlier launch",
        _ => "verified",
    }
}

fn contents(mut summary: Summary<'_>, loaded: &Loaded) -> String {
    let bundle = &loaded.bundle;
    add_identity(&mut summary, bundle);
    add_upgrade_edges(&mut summary, bundle);
    summary.table(&objects(bundle));
    summary.table(&apis(bundle));
    summary.table(&dependencies(bundle));
    summary.findings(&loaded.report);
    if loaded.report.is_empty() {
        summary.note("Nothing was dropped.");
    }
    summary.text
}

/// Adds what identifies the bundle: package, version, channels and CSV.
pub(super) fn add_identity(summary: &mut Summary<'_>, bundle: &Bundle) {
    summary.field("Package", &bundle.package_name);
    summary.field("Version", &bundle.version);
    summary.field("Release", &bundle.release);
    summary.field("Channels", &channels(&bundle.channels, &bundle.default_channel));
    summary.field("CSV", &bundle.csv_name);
    summary.field("Image", &bundle.bundle_path);
}

fn add_upgrade_edges(summary: &mut Summary<'_>, bundle: &Bundle) {
    summary.field("Replaces", &bundle.replaces);
    summary.field("Skips", &bundle.skips.join(", "));
    summary.field("Skip range", &bundle.skip_range);
    summary.field("Substitutes", &bundle.substitutes_for);
}

fn objects(bundle: &Bundle) -> Table<4> {
    let mut table = Table::new([
        ("KIND", Align::Left),
        ("NAME", Align::Left),
        ("KEY", Align::Left),
        ("SIZE", Align::Right),
    ]);
    for object in &bundle.objects {
        let kind = if object.kind.is_empty() { "<none>" } else { &object.kind };
        let name = if object.name.is_empty() { "<none>" } else { &object.name };
        table.push([kind, name, &object.key, &size(object.size())]);
    }
    table
}

fn apis(bundle: &Bundle) -> Table<4> {
    let mut table = Table::new([
        ("API", Align::Left),
        ("GROUP", Align::Left),
        ("VERSION", Align::Left),
        ("KIND", Align::Left),
    ]);
    for (how, apis) in [("provided", &bundle.provided_apis), ("required", &bundle.required_apis)] {
        for api in apis {
            table.push([how, &api.group, &api.version, &api.kind]);
        }
    }
    table
}

fn dependencies(bundle: &Bundle) -> Table<2> {
    let mut table = Table::new([("DEPENDENCY", Align::Left), ("VALUE", Align::Left)]);
    for dependency in &bundle.dependencies {
        table.push([&dependency.kind, &unescape_html(&dependency.value)]);
    }
    table
}

/// Replaces the escapes of `<`, `>` and `&`, which Go writes for HTML. They are valid JSON but hard
/// to read. The value is not parsed, because it can need a hundred times its size in memory.
fn unescape_html(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    let mut rest = json;
    while let Some((before, escape)) = rest.find('\\').and_then(|at| rest.split_at_checked(at)) {
        text.push_str(before);
        let (character, len) = match escape.get(..6) {
            Some("\\u003c") => ("<", 6),
            Some("\\u003e") => (">", 6),
            Some("\\u0026") => ("&", 6),
            // The character after a backslash may be another one.
            _ => escape.get(..2).map_or((escape, escape.len()), |escape| (escape, 2)),
        };
        text.push_str(character);
        rest = escape.get(len..).unwrap_or_default();
    }
    text.push_str(rest);
    text
}

/// Counts the objects of each kind, in the order in which the kinds occur first.
pub(super) fn count_kinds(bundle: &Bundle) -> String {
    let mut kinds: Vec<(&str, usize)> = Vec::new();
    for object in &bundle.objects {
        let kind = if object.kind.is_empty() { "<none>" } else { object.kind.as_str() };
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, number)) => *number += 1,
            None => kinds.push((kind, 1)),
        }
    }
    kinds.into_iter().map(|(kind, number)| count(number, kind)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_for_html_are_replaced_without_parsing() {
        for (json, text) in [
            (r#"{"a":"\u003e=1 \u0026 \u003c2"}"#, r#"{"a":">=1 & <2"}"#),
            (r#""\\u003e \\\u003e \"""#, r#""\\u003e \\> \"""#),
            (r#""\u000a\n""#, r#""\u000a\n""#),
            ("\\\u{e9}", "\\\u{e9}"),
            ("\\", "\\"),
        ] {
            assert_eq!(unescape_html(json), text);
        }
    }
}
