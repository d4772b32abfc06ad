//! `unlade catalog deprecate`.

use std::collections::BTreeSet;
use std::sync::Mutex;

use serde_json::{Value, json};
use unlade_catalog::{
    BUNDLE, CHANNEL, DEPRECATIONS, PACKAGE,
    edit::{Edit, Target},
};
use unlade_yaml::json::is_folded;

use super::{change::Changing, into_inner, lock};
use crate::{args::Deprecate, error::Error, screen::Screen};

/// Adds deprecations, or replaces their messages.
pub(super) fn run(args: &Deprecate, screen: &Screen) -> Result<(), Error> {
    let Deprecate { change, package, channels, bundles, message } = args;
    let old = Mutex::new(String::new());
    let mut changing = Changing::open(change, screen, |meta, _| {
        if (&*meta.schema, &meta.package) == (DEPRECATIONS, package) {
            *lock(&old) = meta.blob();
        }
    })?;
    let catalog = &changing.reading.catalog;
    if !catalog.packages.iter().any(|it| it.name == *package) {
        return Err(Error::NotFound(vec![format!("the package {package}")]));
    }
    let mut deprecated: Vec<(&str, &str)> = Vec::new();
    deprecated.extend(channels.iter().map(|name| (CHANNEL, name.as_str())));
    deprecated.extend(bundles.iter().map(|name| (BUNDLE, name.as_str())));
    let mut seen = BTreeSet::new();
    deprecated.retain(|it| seen.insert(*it));
    if deprecated.is_empty() {
        deprecated.push((PACKAGE, ""));
    }
    let entry = |(schema, name): (&str, &str)| {
        let message = json!(message);
        match name {
            "" => format!(r#"{{"reference":{{"schema":"{schema}"}},"message":{message}}}"#),
            _ => format!(
                r#"{{"reference":{{"schema":"{schema}","name":{}}},"message":{message}}}"#,
                json!(name)
            ),
        }
    };
    let Some(existing) = catalog.deprecations.iter().find(|it| it.package == *package) else {
        let entries: Vec<_> = deprecated.into_iter().map(entry).collect();
        let json = format!(
            r#"{{"schema":"{DEPRECATIONS}","package":{},"entries":[{}]}}"#,
            json!(package),
            entries.join(",")
        );
        let file = changing.file(package, std::iter::empty());
        changing.changes.append(&file, &json)?;
        return changing.finish(screen);
    };
    let mut names: Vec<_> =
        existing.entries.iter().map(|it| (it.schema.clone(), it.name.clone())).collect();
    let messages: Vec<_> = existing.entries.iter().map(|it| it.message.clone()).collect();
    let old: Value = serde_json::from_str(&into_inner(old)).unwrap_or_default();
    let file = existing.place.file.to_string();
    let target = Target { schema: DEPRECATIONS, package, name: "" };
    let mut changed = Vec::new();
    for (schema, name) in deprecated {
        let found = names.iter().position(|it| (it.0.as_str(), it.1.as_str()) == (schema, name));
        if found.is_some_and(|index| messages.get(index) == Some(message)) {
            continue;
        }
        let replaced = found.and_then(|index| with_message(&old, index, message));
        let new = replaced.unwrap_or_else(|| entry((schema, name)));
        changed.push((found.unwrap_or(names.len()), new));
        if found.is_none() {
            names.push((schema.to_owned(), name.to_owned()));
        }
    }
    if !changed.is_empty() {
        let edits = changed.iter();
        let edits = edits.map(|(index, entry)| Edit::SetEntry { target, index: *index, entry });
        changing.changes.apply(&file, &edits.collect::<Vec<_>>())?;
    }
    changing.finish(screen)
}

/// Returns an entry of deprecations with another message, and with all other fields that it has.
fn with_message(deprecations: &Value, index: usize, message: &str) -> Option<String> {
    let mut fields = deprecations.get("entries")?.get(index)?.as_object()?.clone();
    let (_, value) = fields.iter_mut().find(|(name, _)| is_folded(name, "message"))?;
    *value = json!(message);
    Some(json!(fields).to_string())
}
