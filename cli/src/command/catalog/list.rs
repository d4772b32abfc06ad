//! `unlade catalog list`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Write as _;

use serde::{Serialize, Serializer};
use unlade_catalog::{Catalog, Names, graph};
use unlade_text::excerpt::shorten;

use crate::{
    args::{List, Listed, Rows},
    error::Error,
    output::{self, Documents, Form, Limited},
    screen::Screen,
    table,
};

/// Lists a part of a valid catalog, sorted by its names.
pub(super) fn run(args: List, screen: &Screen) -> Result<(), Error> {
    let List { what, catalog: path, package, output, no_headers, images: access } = args;
    let reading = super::read(&path, &access.resolve()?)?;
    // The warnings name what the list does not contain.
    super::accept(&reading.problems, &path, screen)?;
    let catalog = select(reading.catalog, package.as_deref())?;
    let printer = Printer { output, no_headers, screen };
    match what {
        Listed::Packages => {
            printer.print(&packages(&catalog), ["NAME", "DEFAULT CHANNEL"], |row| {
                [row.name, row.default_channel].map(Cow::Borrowed)
            })
        }
        Listed::Channels => {
            printer.print(&channels(&catalog), ["PACKAGE", "CHANNEL", "HEAD"], |row| {
                [row.package, row.channel, row.head].map(Cow::Borrowed)
            })
        }
        Listed::Bundles => {
            let names =
                ["PACKAGE", "CHANNEL", "BUNDLE", "REPLACES", "SKIPS", "SKIP RANGE", "IMAGE"];
            printer.print(&bundles(&shorten_channels(catalog)), names, |row| {
                let BundleRow { package, channel, bundle, replaces, skips, skip_range, image } =
                    row;
                let skips = Cow::Owned(skips.join(","));
                let [package, channel, bundle, replaces, skip_range, image] =
                    [package, channel, bundle, replaces, skip_range, image]
                        .map(|it| Cow::Borrowed(*it));
                [package, channel, bundle, replaces, skips, skip_range, image]
            })
        }
        Listed::Deprecations => {
            let names = ["PACKAGE", "SCHEMA", "NAME", "MESSAGE"];
            printer.print(&deprecations(&catalog), names, |row| {
                [row.package, row.schema, row.name, row.message].map(Cow::Borrowed)
            })
        }
        Listed::Images => {
            printer.print(&images(&list_uses(&catalog)), ["IMAGE", "BUNDLES"], |row| {
                let bundles: Vec<_> = shorten_bundles(row.bundles).collect();
                [row.image.into(), bundles.join(",").into()]
            })
        }
    }
}

/// Removes all other packages.
fn select(mut catalog: Catalog, package: Option<&str>) -> Result<Catalog, Error> {
    let Some(name) = package else { return Ok(catalog) };
    catalog.packages.retain(|package| package.name == name);
    if catalog.packages.is_empty() {
        return Err(Error::NotFound(vec![format!("the package {name}")]));
    }
    catalog.channels.retain(|channel| channel.package == name);
    catalog.bundles.retain(|bundle| bundle.package == name);
    catalog.deprecations.retain(|deprecations| deprecations.package == name);
    Ok(catalog)
}

/// Shortens the names of the channels. Each row repeats one, which can be megabytes long.
fn shorten_channels(mut catalog: Catalog) -> Catalog {
    for channel in &mut catalog.channels {
        channel.name = shorten(&channel.name);
    }
    catalog
}

struct Printer<'s> {
    output: Rows,
    no_headers: bool,
    screen: &'s Screen,
}

impl Printer<'_> {
    /// Writes the rows as a table, or as one list of objects.
    fn print<'r, R: Serialize + 'r, const COLUMNS: usize>(
        &self,
        rows: &'r [R],
        names: [&str; COLUMNS],
        cells: impl Fn(&'r R) -> [Cow<'r, str>; COLUMNS],
    ) -> Result<(), Error> {
        let form = match self.output {
            Rows::Json => Form::Json,
            Rows::Yaml => Form::Yaml,
            Rows::Text => {
                let names = Some(names).filter(|_| !self.no_headers);
                let mut stdout = output::stdout();
                // As in kubectl, nothing is cut, so that users can copy names.
                return table::write_rows(names, rows, cells, &self.screen.out, &mut stdout)
                    .and_then(|()| stdout.flush())
                    .map_err(Error::Output);
            }
        };
        let to = Limited::new(output::stdout(), table::MAX_LIST);
        let mut documents = Documents::new(form, to);
        documents.write_list(rows).and_then(|()| documents.finish()).map_err(Error::Output)
    }
}

#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "camelCase")]
struct PackageRow<'c> {
    name: &'c str,
    default_channel: &'c str,
}

fn packages(catalog: &Catalog) -> Vec<PackageRow<'_>> {
    sorted(catalog.packages.iter().map(|package| PackageRow {
        name: &package.name,
        default_channel: &package.default_channel,
    }))
}

#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
struct ChannelRow<'c> {
    package: &'c str,
    channel: &'c str,
    head: &'c str,
}

fn channels(catalog: &Catalog) -> Vec<ChannelRow<'_>> {
    sorted(catalog.channels.iter().map(|channel| ChannelRow {
        package: &channel.package,
        channel: &channel.name,
        // The channel of a valid catalog has one head.
        head: graph::heads(&channel.entries).first().copied().unwrap_or_default(),
    }))
}

#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "camelCase")]
struct BundleRow<'c> {
    package: &'c str,
    channel: &'c str,
    bundle: &'c str,
    replaces: &'c str,
    skips: &'c Names,
    skip_range: &'c str,
    image: &'c str,
}

/// Returns each entry of each channel, with the image of its bundle.
fn bundles(catalog: &Catalog) -> Vec<BundleRow<'_>> {
    let images: HashMap<_, _> =
        catalog.bundles.iter().map(|it| ((&*it.package, &*it.name), &*it.image)).collect();
    let entries = catalog
        .channels
        .iter()
        .flat_map(|channel| channel.entries.iter().map(move |entry| (channel, entry)));
    sorted(entries.map(|(channel, entry)| BundleRow {
        package: &channel.package,
        channel: &channel.name,
        bundle: &entry.name,
        replaces: &entry.replaces,
        skips: &entry.skips,
        skip_range: &entry.skip_range,
        image: images.get(&(&*channel.package, &*entry.name)).copied().unwrap_or_default(),
    }))
}

#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
struct DeprecationRow<'c> {
    package: &'c str,
    schema: &'c str,
    name: &'c str,
    message: &'c str,
}

fn deprecations(catalog: &Catalog) -> Vec<DeprecationRow<'_>> {
    let entries =
        catalog.deprecations.iter().flat_map(|all| all.entries.iter().map(move |it| (all, it)));
    sorted(entries.map(|(all, entry)| DeprecationRow {
        package: &all.package,
        schema: &entry.schema,
        name: &entry.name,
        message: &entry.message,
    }))
}

/// An image that a bundle uses: the names of both. A catalog can have hundreds of thousands.
type Use<'c> = (&'c str, &'c str);

#[derive(Serialize)]
struct ImageRow<'c> {
    image: &'c str,
    #[serde(serialize_with = "serialize_bundles")]
    bundles: &'c [Use<'c>],
}

/// Returns the names of the bundles. They are shortened, because each image repeats one, which can
/// be megabytes long.
fn shorten_bundles(uses: &[Use<'_>]) -> impl Iterator<Item = String> {
    uses.iter().map(|(_, bundle)| shorten(bundle))
}

fn serialize_bundles<S: Serializer>(uses: &[Use<'_>], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(shorten_bundles(uses))
}

/// Returns the images of all bundles, and those that the bundles use, sorted.
fn list_uses(catalog: &Catalog) -> Vec<Use<'_>> {
    let mut uses = Vec::new();
    for bundle in &catalog.bundles {
        let own = std::iter::once(&bundle.image).chain(&bundle.related_images);
        let own = own.filter(|image| !image.is_empty());
        uses.extend(own.map(|image| (image.as_str(), bundle.name.as_str())));
    }
    uses.sort_unstable();
    uses.dedup();
    uses
}

/// Returns each image once.
fn images<'c>(uses: &'c [Use<'c>]) -> Vec<ImageRow<'c>> {
    let same = uses.chunk_by(|(one, _), (other, _)| one == other);
    same.filter_map(|bundles| Some(ImageRow { image: bundles.first()?.0, bundles })).collect()
}

fn sorted<T: Ord>(rows: impl Iterator<Item = T>) -> Vec<T> {
    let mut rows: Vec<_> = rows.collect();
    rows.sort();
    rows
}

#[cfg(test)]
mod tests {
    use unlade_catalog::{File, Limits};

    use super::*;

    /// A catalog of 10 MiB can have 700,000 images, which took 277 MiB with a list for each.
    #[test]
    fn an_image_takes_a_few_words_and_names_each_bundle_once() {
        let bundle = |name: &str| {
            let images = "{image: i}, {image: j}, {image: i}";
            format!("{{schema: olm.bundle, name: {name}, image: i, relatedImages: [{images}]}}\n")
        };
        let text = format!("{}---\n{}", bundle("b"), bundle("a"));
        let mut catalog = Catalog::default();
        catalog.add(File::read("c.yaml", text.as_bytes(), &Limits::default()));
        let uses = list_uses(&catalog);
        assert_eq!(uses, [("i", "a"), ("i", "b"), ("j", "a"), ("j", "b")]);
        let json = serde_json::to_string(&images(&uses)).unwrap();
        assert_eq!(
            json,
            r#"[{"image":"i","bundles":["a","b"]},{"image":"j","bundles":["a","b"]}]"#
        );
        assert_eq!(size_of::<(Use<'_>, ImageRow<'_>)>(), size_of::<[&str; 4]>());
    }
}
