//! `unlade describe`.

use unlade_launcher::Inventory;

use super::get::{describe_missing, require_found};
use crate::{args::Describe, connection, error::Error, output, screen::Screen, stderr, summary};

pub(super) fn run(args: Describe, screen: &Screen) -> Result<(), Error> {
    let Describe { names, connection } = args;
    connection::block_on(async {
        let cluster = connection::connect(&connection).await?;
        let inventory = Inventory::new(cluster.client);
        let mut missing = Vec::new();
        let mut texts = Vec::new();
        for name in names {
            match inventory.describe(&cluster.namespace, &name).await? {
                Some(description) => {
                    stderr::warn(&description.unreadable, screen);
                    texts.push(summary::format_description(&description, screen));
                }
                None => missing.push(describe_missing(&cluster.namespace, &name)),
            }
        }
        output::print(texts.join("\n\n").as_bytes()).map_err(Error::Output)?;
        require_found(&missing)
    })
}
