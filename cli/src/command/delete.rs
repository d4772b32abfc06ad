//! `unlade delete`.

use std::fmt::Write as _;

use unlade_launcher::{Inventory, Scope};

use super::get::{describe_missing, require_found};
use crate::{
    args::{Delete, DryRun},
    connection,
    error::Error,
    output, stderr,
};

pub(super) fn run(args: Delete) -> Result<(), Error> {
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
            let scope = Scope { namespace: (!all_namespaces).then_some(namespace), selector };
            let items = inventory.list(&scope).await?;
            items.into_iter().map(|item| (item.namespace, item.name)).collect()
        };
        if selected.is_empty() {
            stderr::note("No resources found");
        }
        let mut missing = Vec::new();
        for (namespace, name) in selected {
            let mut owned = inventory.owned(&namespace, &name).await?;
            if owned.is_some()
                && dry_run != DryRun::Client
                && !inventory.remove(&namespace, &name, dry_run == DryRun::Server).await?
            {
                // Someone else has deleted it meanwhile.
                owned = None;
            }
            let Some(owned) = owned else {
                // A listed ConfigMap that no longer exists needs no deletion.
                if is_by_name && !ignore_not_found {
                    missing.push(describe_missing(&namespace, &name));
                }
                continue;
            };
            let line = match output {
                Some(_) => format!("configmap/{name}\n"),
                None => format_line(&name, all_namespaces.then_some(&namespace), &owned, dry_run),
            };
            output::print(line.as_bytes()).map_err(Error::Output)?;
        }
        require_found(&missing)
    })
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
    line.push('\n');
    line
}
