//! `unlade describe`.

use unlade_launcher::Inventory;

use super::failure::Failures;
use crate::{args::Describe, connection, error::Error, output, screen::Screen, stderr, summary};

pub(super) fn run(args: Describe, screen: &Screen) -> Result<(), Error> {
    let Describe { names, connection } = args;
    connection::block_on(async {
        let cluster = connection::connect(&connection).await?;
        let inventory = Inventory::new(cluster.client);
        let mut failures = Failures::new("describe", names.len(), screen);
        let mut texts = Vec::new();
        for name in names {
            match inventory.describe(&cluster.namespace, &name).await {
                Ok(Some(description)) => {
                    stderr::warn(&description.unreadable, screen);
                    texts.push(summary::format_description(&description, screen));
                }
                Ok(None) => failures.add_missing(&cluster.namespace, &name),
                Err(failure) => failures.add_or_end(failure.into())?,
            }
        }
        output::print(texts.join("\n\n").as_bytes()).map_err(Error::Output)?;
        failures.into_result()
    })
}
