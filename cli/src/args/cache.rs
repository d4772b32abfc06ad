//! The arguments about the cache for blobs of registries.

use std::env;
use std::path::PathBuf;

use clap::{Args as Group, Subcommand, ValueEnum};
use unlade_registry::cache;

use super::Size;
use crate::{progress, stderr};

/// Where blobs of registries are kept on this machine.
#[derive(Debug, Clone, Group)]
#[command(next_help_heading = "Cache")]
pub(crate) struct CachePlace {
    #[command(flatten)]
    directory: CacheDirectory,

    /// Maximum size of all blobs in this directory; 0 turns the cache off
    #[arg(
        long,
        value_name = "SIZE",
        env = "UNLADE_CACHE_SIZE",
        hide_env_values = true,
        default_value = "1Gi",
        hide_short_help = true
    )]
    blob_cache_size: Size,
}

/// The directory for blobs of registries.
#[derive(Debug, Clone, Group)]
#[command(next_help_heading = "Cache")]
pub(crate) struct CacheDirectory {
    /// Directory for cached blobs; the default is unlade/blobs in XDG_CACHE_HOME or ~/.cache
    #[arg(long, value_name = "DIRECTORY", env = "UNLADE_CACHE_DIR", hide_env_values = true)]
    #[arg(hide_short_help = true)]
    blob_cache_dir: Option<PathBuf>,
}

impl CachePlace {
    /// Returns the cache. Returns `None` if it is turned off, or if the user has no home.
    pub(crate) fn open(self) -> Option<cache::Cache> {
        if self.blob_cache_size.0 == 0 {
            return None;
        }
        let limit = u64::try_from(self.blob_cache_size.0).unwrap_or(u64::MAX);
        Some(cache::Cache::new(self.directory.directory()?, limit, |problem| {
            let warning = format!("{problem}; images are read without the cache");
            progress::note(&stderr::plain_warning(&warning));
        }))
    }
}

impl CacheDirectory {
    /// Returns the directory. Returns `None` if it is not given, and the user has no home.
    pub(crate) fn directory(self) -> Option<PathBuf> {
        let path = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let base = path("XDG_CACHE_HOME").filter(|path| path.is_absolute());
        let base = base.or_else(|| path("HOME").map(|home| home.join(".cache")));
        self.blob_cache_dir.or_else(|| base.map(|base| base.join("unlade/blobs")))
    }
}

/// List and delete the registry blobs that are cached on this machine
///
/// `unpack`, `copy` and `catalog` keep the configurations and layers that they read from
/// registries. A blob is used again only for the same repository, after the registry has returned a
/// manifest that names it, and only if its digest still matches. If the blobs exceed the limit, the
/// least recently used ones are deleted.
#[derive(Debug, Group)]
pub(crate) struct Cache {
    #[command(subcommand)]
    pub(crate) command: CacheCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    List(CacheList),
    Prune(CachePrune),
}

/// List the blobs, the most recently used ones last
#[derive(Debug, Group)]
pub(crate) struct CacheList {
    /// Output format; the default is a table
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub(crate) output: Option<CacheOutput>,

    #[command(flatten)]
    pub(crate) directory: CacheDirectory,
}

/// Delete the blobs
///
/// Commands that are reading a blob are not affected.
#[derive(Debug, Group)]
pub(crate) struct CachePrune {
    /// Keep the most recently used blobs, up to this total size
    #[arg(long, value_name = "SIZE", default_value = "0")]
    pub(crate) keep: Size,

    #[command(flatten)]
    pub(crate) directory: CacheDirectory,
}

/// The output format of `unlade cache list`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CacheOutput {
    /// One JSON document
    Json,
}
