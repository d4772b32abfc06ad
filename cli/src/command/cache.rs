//! `unlade cache`.

use std::time::SystemTime;

use serde_json::json;
use unlade_registry::cache;

use crate::{
    age,
    args::{Cache, CacheCommand, CacheDirectory, CacheList, CachePrune},
    error::Error,
    output,
    screen::Screen,
    stderr,
    summary::{count, size_of},
    table::{Align, Table},
};

pub(super) fn run(args: Cache, screen: &Screen) -> Result<(), Error> {
    match args.command {
        CacheCommand::List(args) => list(args, screen),
        CacheCommand::Prune(args) => prune(args),
    }
}

/// Opens the cache, even if other commands do not use it. Nothing is stored in it here.
fn open(directory: CacheDirectory) -> Result<cache::Cache, Error> {
    let directory = directory.directory().ok_or(Error::NoCacheDirectory)?;
    Ok(cache::Cache::new(directory, u64::MAX, |_| {}))
}

fn list(args: CacheList, screen: &Screen) -> Result<(), Error> {
    let CacheList { output, directory } = args;
    let entries = open(directory)?.list()?;
    if output.is_some() {
        let seconds = |time: SystemTime| {
            time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
        };
        let blobs: Vec<_> = entries
            .iter()
            .map(|entry| {
                json!({
                    "repository": entry.repository,
                    "digest": entry.digest,
                    "size": entry.size,
                    "usedSeconds": seconds(entry.used),
                })
            })
            .collect();
        return output::print_json(&json!({"blobs": blobs})).map_err(Error::Output);
    }
    if entries.is_empty() {
        stderr::note("No blobs found");
        return Ok(());
    }
    let mut table = Table::new([
        ("REPOSITORY", Align::Left),
        ("DIGEST", Align::Left),
        ("SIZE", Align::Right),
        ("USED", Align::Left),
    ]);
    let now = SystemTime::now();
    for entry in &entries {
        let age = now.duration_since(entry.used).unwrap_or_default();
        let age = age::format_seconds(i64::try_from(age.as_secs()).unwrap_or(i64::MAX));
        table.push([&entry.repository, &entry.digest, &size_of(entry.size), &age]);
    }
    let mut text = String::new();
    table.write(&mut text, None, &screen.out);
    output::print(text.as_bytes()).map_err(Error::Output)
}

fn prune(args: CachePrune) -> Result<(), Error> {
    let CachePrune { keep, directory } = args;
    let keep = u64::try_from(keep.0).unwrap_or(u64::MAX);
    let pruned = open(directory)?.prune(keep)?;
    let line = format!("deleted {}, {}", count(pruned.blobs, "blob"), size_of(pruned.size));
    output::print_lines([line]).map_err(Error::Output)
}
