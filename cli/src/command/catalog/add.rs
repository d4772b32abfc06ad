//! `unlade catalog add`.

use std::collections::BTreeMap;
use std::sync::Mutex;

use serde_json::{Map, Value, json};
use unlade_bundle::Channels;
use unlade_catalog::{
    BUNDLE, CHANNEL, Catalog, Entry, Limits, Meta, PACKAGE,
    edit::{Edit, Target},
    render::{Migration, Rendered},
};
use unlade_loader as loader;

use super::{bundle, change::Changing, into_inner, lock};
use crate::{args::Add, error::Error, screen::Screen, source, stderr};

/// The maximum size of the entries and the new channels that a bundle is added with, in bytes of
/// JSON. A bundle with 100 skips has 4 kB for each channel, and published bundles are in a few
/// dozen channels. Without a limit, a bundle that names many channels and skips many bundles would
/// make any number of bytes.
const MAX_ADDED: usize = 1 << 20;

/// Adds a bundle to channels.
pub(super) fn run(args: Add, screen: &Screen) -> Result<(), Error> {
    let migration = Migration::from(args.migrations);
    let images = args.images.resolve()?;
    let options = bundle::Options { migration, image_template: args.image.clone(), images };
    let opened = source::open(args.bundle)?;
    let image = opened.image(&options.images)?;
    let (rendered, loaded) = bundle::render_with(&image, &options, screen)?;
    stderr::warn_findings(&loaded.report, screen);
    let bundle = loaded.bundle;
    let meta = Meta::from_json(&rendered.json, &Limits::default().document)
        .map_err(|source| Error::Meta { place: image.source().to_string(), source })?;
    let (package, name) = (meta.package.clone(), meta.name.clone());
    let existing = Mutex::new(None);
    let mut changing = Changing::open(&args.change, screen, |found, _| {
        if (&*found.schema, &found.package, &found.name) == (BUNDLE, &package, &name) {
            *lock(&existing) = Some(found.to_json());
        }
    })?;
    let addition = Addition {
        entry: Entry {
            name: name.clone(),
            replaces: args.replaces.unwrap_or_else(|| bundle.replaces.clone()),
            skips: args.skips.map_or_else(
                || bundle.skips.iter().collect(),
                |skips| skips.iter().filter(|name| !name.is_empty()).collect(),
            ),
            skip_range: args.skip_range.unwrap_or_else(|| bundle.skip_range.clone()),
        },
        channels: choose_channels(args.channels, &bundle)?,
        default_channel: args.default_channel,
        create: args.create,
        package,
    };
    let entry = addition.entry.to_json();
    let mut edits = Edits::new();
    addition.add_package(&changing, &rendered, &bundle, &mut edits)?;
    addition.add_to_channels(&changing, &entry, &mut edits)?;
    match into_inner(existing) {
        None => {
            let bundles = changing.reading.catalog.bundles.iter();
            let places = bundles.map(|it| (it.package.as_str(), &it.place));
            let file = changing.file(&addition.package, places);
            let json = rendered.json.as_str().into();
            edits.entry(file).or_default().push(Edit::Append { json });
        }
        Some(json) if json == meta.to_json() => {}
        Some(_) => {
            let message =
                format!("the catalog already contains another bundle with the name {name}");
            return Err(Error::Conflict(message));
        }
    }
    for (file, edits) in &edits {
        changing.changes.apply(file, edits)?;
    }
    changing.finish(screen)
}

/// Returns the channels that the user or the bundle names. A second document for a new channel
/// would make the catalog invalid, so each is named once.
fn choose_channels(chosen: Vec<String>, bundle: &loader::Bundle) -> Result<Vec<String>, Error> {
    let mut channels = Channels::default();
    channels.list = if chosen.is_empty() { bundle.channels.clone() } else { chosen };
    let names: Vec<_> = channels.names().map(str::to_owned).collect();
    if names.is_empty() {
        let message = "the bundle does not name a channel: set one with --channel";
        return Err(Error::Usage(message.to_owned()));
    }
    Ok(names)
}

/// The edits of each file. They are applied together, because each time the file is read twice.
type Edits<'e> = BTreeMap<String, Vec<Edit<'e>>>;

/// What is added to a catalog.
struct Addition {
    package: String,
    entry: Entry,
    channels: Vec<String>,
    default_channel: Option<String>,
    create: bool,
}

impl Addition {
    /// Creates the package, if it does not exist.
    fn add_package(
        &self,
        changing: &Changing<'_>,
        rendered: &Rendered,
        bundle: &loader::Bundle,
        edits: &mut Edits<'_>,
    ) -> Result<(), Error> {
        let package = &self.package;
        if changing.reading.catalog.packages.iter().any(|it| it.name == *package) {
            return if self.default_channel.is_some() {
                let message =
                    format!("the package {package} exists, so --default-channel has no effect");
                Err(Error::Usage(message))
            } else {
                Ok(())
            };
        }
        if !self.create {
            return Err(Error::Uncreated(format!("the package {package}")));
        }
        // It becomes the name of a directory.
        unlade_name::check_label(package, unlade_name::MAX_LABEL).map_err(|error| {
            Error::Usage(format!("the package name {package} is invalid: {error}"))
        })?;
        let first = self.channels.first().cloned().unwrap_or_default();
        let default = bundle.default_channel.trim();
        let named = self.channels.iter().find(|it| *it == default);
        let default_channel =
            self.default_channel.clone().or_else(|| named.cloned()).unwrap_or(first);
        let mut fields = Map::new();
        let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
        set("schema", json!(PACKAGE));
        set("name", json!(package));
        set("defaultChannel", json!(default_channel));
        let summary = &rendered.summary;
        if let Some((data, media_type)) = &summary.icon {
            set("icon", json!({"base64data": data, "mediatype": media_type}));
        }
        if !summary.description.is_empty() {
            set("description", json!(summary.description));
        }
        let file = changing.file(package, std::iter::empty());
        let json = in_order(&Value::Object(fields))?.into();
        edits.entry(file).or_default().push(Edit::Append { json });
        Ok(())
    }

    /// Adds the entry, which is `entry` as JSON, to the channels.
    fn add_to_channels<'e>(
        &'e self,
        changing: &Changing<'_>,
        entry: &'e str,
        edits: &mut Edits<'e>,
    ) -> Result<(), Error> {
        let package = &self.package;
        let catalog = &changing.reading.catalog;
        let places = catalog.channels.iter().map(|it| (it.package.as_str(), &it.place));
        let new_file = changing.file(package, places);
        // If a catalog has a channel twice, the first one counts.
        let of_package = catalog.channels.iter().rev().filter(|it| it.package == *package);
        let existing: BTreeMap<_, _> = of_package.map(|it| (it.name.as_str(), it)).collect();
        let mut size = 0;
        for name in &self.channels {
            let (file, edit) = if let Some(channel) = existing.get(name.as_str()) {
                let same = channel.entries.iter().find(|it| it.name == self.entry.name);
                match same {
                    None => {}
                    Some(same) if *same == self.entry => continue,
                    Some(_) => {
                        let entry = &self.entry.name;
                        let message = format!(
                            "the channel {name} already has an entry {entry} with other edges"
                        );
                        return Err(Error::Conflict(message));
                    }
                }
                size += entry.len();
                let target = Target { schema: CHANNEL, package, name };
                let index = channel.entries.len();
                let edit = Edit::SetEntry { target, index, entry };
                (channel.place.file.to_string(), edit)
            } else if self.create {
                let text = |text: &str| json!(text).to_string();
                let json = format!(
                    r#"{{"schema":"{CHANNEL}","name":{},"package":{},"entries":[{entry}]}}"#,
                    text(name),
                    text(package)
                );
                size += json.len();
                (new_file.clone(), Edit::Append { json: json.into() })
            } else {
                return Err(Error::Uncreated(missing_channel(catalog, package, name)));
            };
            if size > MAX_ADDED {
                let message = format!(
                    "the entries for {} channels would have more than {MAX_ADDED} bytes: choose \
                     fewer channels with --channel",
                    self.channels.len()
                );
                return Err(Error::Usage(message));
            }
            edits.entry(file).or_default().push(edit);
        }
        Ok(())
    }
}

fn missing_channel(catalog: &Catalog, package: &str, name: &str) -> String {
    let channels = catalog.channels.iter().filter(|it| it.package == package);
    let names = unlade_text::excerpt::list(channels.map(|it| it.name.clone()), ", ");
    match names.as_str() {
        "" => format!("the channel {name} of the package {package}"),
        _ => format!("the channel {name} of the package {package}, which has {names},"),
    }
}

/// Returns the JSON of a meta with the fields in the order of upstream's type.
fn in_order(value: &Value) -> Result<String, Error> {
    let limits = Limits::default().document;
    let meta = Meta::from_json(&value.to_string(), &limits).map_err(Error::Package)?;
    Ok(meta.to_json())
}
