//! `unlade get`.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::ConfigMap;
use unlade_launcher::{Inventory, Scope, inventory::Item};

use super::failure::Failures;
use crate::{
    args::{Get, Listing},
    connection,
    error::Error,
    output::{self, Documents, Form},
    screen::Screen,
    stderr, summary,
};

pub(super) fn run(args: Get, screen: &Screen) -> Result<(), Error> {
    let Get { names, all_namespaces, selector, output, no_headers, connection } = args;
    connection::block_on(async {
        let cluster = connection::connect(&connection).await?;
        let inventory = Inventory::new(cluster.client);
        let namespace = cluster.namespace;
        let scope = Scope::default()
            .with_namespace((!all_namespaces).then(|| namespace.clone()))
            .with_selector(selector);
        let names: BTreeSet<_> = names.into_iter().collect();
        let mut failures = Failures::new("get", names.len(), screen);
        match output {
            Some(form @ (Listing::Yaml | Listing::Json)) => {
                let form = if form == Listing::Yaml { Form::Yaml } else { Form::Json };
                write(form, &inventory, &scope, &namespace, &names, &mut failures).await?;
            }
            Some(Listing::Name) => {
                let items =
                    list_items(&inventory, &scope, &namespace, &names, &mut failures).await?;
                let names = items.iter().map(|item| format!("configmap/{}", item.name));
                output::print_lines(names).map_err(Error::Output)?;
            }
            Some(Listing::Wide) | None => {
                let items =
                    list_items(&inventory, &scope, &namespace, &names, &mut failures).await?;
                if items.is_empty() && names.is_empty() {
                    stderr::note(&match &scope.namespace {
                        Some(namespace) => format!("No resources found in {namespace} namespace."),
                        None => "No resources found".to_owned(),
                    });
                    return Ok(());
                }
                let is_wide = output.is_some();
                let text =
                    summary::format_inventory(&items, all_namespaces, is_wide, no_headers, screen);
                output::print(text.as_bytes()).map_err(Error::Output)?;
            }
        }
        failures.into_result()
    })
}

/// Returns the items of a table.
async fn list_items(
    inventory: &Inventory,
    scope: &Scope,
    namespace: &str,
    names: &BTreeSet<String>,
    failures: &mut Failures<'_>,
) -> Result<Vec<Item>, Error> {
    let mut items = inventory.list(scope).await?;
    if names.is_empty() {
        return Ok(items);
    }
    items.retain(|item| names.contains(&item.name));
    for name in names.iter().filter(|name| !items.iter().any(|item| item.name == **name)) {
        // This fails for a ConfigMap that unlade did not create.
        match inventory.config_map(namespace, name).await {
            Ok(Some(_)) => {}
            Ok(None) => failures.add_missing(namespace, name),
            Err(failure) => failures.add_or_end(failure.into())?,
        }
    }
    Ok(items)
}

/// Writes the complete objects as kubectl does: one requested object alone, several in a List.
async fn write(
    form: Form,
    inventory: &Inventory,
    scope: &Scope,
    namespace: &str,
    names: &BTreeSet<String>,
    failures: &mut Failures<'_>,
) -> Result<(), Error> {
    let mut config_maps = Vec::new();
    if names.is_empty() {
        config_maps = inventory.config_maps(scope).await?;
    }
    for name in names {
        match inventory.config_map(namespace, name).await {
            Ok(Some(config_map)) => config_maps.push(config_map),
            Ok(None) => failures.add_missing(namespace, name),
            Err(failure) => failures.add_or_end(failure.into())?,
        }
    }
    for config_map in &mut config_maps {
        hide_fields(config_map);
    }
    let mut documents = Documents::new(form, output::stdout());
    match config_maps.as_slice() {
        [one] if names.len() == 1 => documents.write(one),
        [] if !names.is_empty() => Ok(()),
        many => documents.write_objects(many),
    }
    .and_then(|()| documents.finish())
    .map_err(Error::Output)
}

/// Removes the managed fields, which kubectl does not show either.
pub(super) fn hide_fields(config_map: &mut ConfigMap) {
    config_map.metadata.managed_fields = None;
}
