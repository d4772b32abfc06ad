//! `unlade delete`.

use std::fmt::Write as _;

use unlade_launcher::{Failure, Inventory, Scope};

use super::failure::Failures;
use crate::{
    args::{Delete, DryRun},
    connection,
    error::Error,
    output,
    screen::Screen,
    stderr,
};

pub(super) fn run(args: Delete, screen: &Screen) -> Result<(), Error> {
    let Delete {
        names,
        all: _,
        selector,
        all_namespaces,
        ignore_not_found,
        dry_run,
        output,
        connection,
    } = args;
    connection::block_on(async {
        let cluster = connection::connect(&connection).await?;
        let inventory = Inventory::new(cluster.client);
        let namespace = cluster.namespace;
        let is_by_name = !names.is_empty();
        let selected: Vec<(String, String)> = if is_by_name {
            names.into_iter().map(|name| (namespace.clone(), name)).collect()
        } else {
            let scope = Scope::default()
                .with_namespace((!all_namespaces).then_some(namespace))
                .with_selector(selector);
            let items = inventory.list(&scope).await?;
            items.into_iter().map(|item| (item.namespace, item.name)).collect()
        };
        if selected.is_empty() {
            stderr::note("No resources found");
        }
        let mut failures = Failures::new("delete", selected.len(), screen);
        for (namespace, name) in selected {
            let owned = match delete(&inventory, &namespace, &name, dry_run).await {
                Ok(Some(owned)) => owned,
                Ok(None) => {
                    // A listed ConfigMap that no longer exists needs no deletion.
                    if is_by_name && !ignore_not_found {
                        failures.add_missing(&namespace, &name);
                    }
                    continue;
                }
                Err(failure) => {
                    failures.add_or_end(failure.into())?;
                    continue;
                }
            };
            let line = match output {
                Some(_) => format!("configmap/{name}"),
                None => format_line(&name, all_namespaces.then_some(&namespace), &owned, dry_run),
            };
            output::print_lines([line]).map_err(Error::Output)?;
        }
        failures.into_result()
    })
}

/// Deletes a ConfigMap, and returns the objects that it owned. Returns `None` if it does not exist.
async fn delete(
    inventory: &Inventory,
    namespace: &str,
    name: &str,
    dry_run: DryRun,
) -> Result<Option<Vec<String>>, Failure> {
    let owned = inventory.owned(namespace, name).await?;
    if owned.is_none() || dry_run == DryRun::Client {
        return Ok(owned);
    }
    // Someone else may have deleted it meanwhile.
    let is_deleted = inventory.remove(namespace, name, dry_run == DryRun::Server).await?;
    Ok(owned.filter(|_| is_deleted))
}

/// Formats the line that kubectl would print, followed by the objects that the ConfigMap owned.
fn format_line(
    name: &str,
    namespace: Option<&String>,
    owned: &[String],
    dry_run: DryRun,
) -> String {
    let mut line = format!("configmap {name:?} deleted");
    if let Some(namespace) = namespace {
        _ = write!(line, " from {namespace} namespace");
    }
    line.push_str(match dry_run {
        DryRun::None => "",
        DryRun::Client => " (dry run)",
        DryRun::Server => " (server dry run)",
    });
    if !owned.is_empty() {
        _ = write!(line, ", and with it {}", owned.join(", "));
    }
    line
}
