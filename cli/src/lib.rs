//! Unpacks operator bundles into ConfigMaps, loads them back, and launches the Job that unpacks a
//! bundle on a cluster.
//!
//! This package contains the programs `unlade` and `kubectl-unlade`. Its library re-exports the
//! crates that do the work:
//!
//! | module | purpose |
//! |---|---|
//! | [`bundle`] | represents a bundle: its files, what they mean to OLM, and findings |
//! | [`directory`] | reads a bundle directory |
//! | [`oci`] | reads a bundle image on disk, and builds images |
//! | [`config_map`] | encodes and decodes the ConfigMap of a bundle |
//! | [`catalog`] | checks a file-based catalog: its packages, channels, bundles and their graphs |
//! | [`catalog_directory`] | reads the directory of a catalog |
//! | [`loader`] | loads a bundle as OLM sees it, and its package manifest |
//! | [`name`] | checks names of Kubernetes objects and image references |
//! | [`yaml`] | reads YAML and JSON as Kubernetes does |
//! | `launcher` | launches the Job that unpacks a bundle on a cluster |
//! | `diagnose` | classifies why a launch failed |
//! | `registry` | reads a bundle image from a registry, and copies images |
//!
//! `launcher` and `diagnose` need the feature `launcher`, which also re-exports `kube` and
//! `k8s_openapi`, and `registry` needs the feature `registry`. The feature `command` adds the
//! programs, and is on by default; it turns both on. Without the default features, the library
//! needs neither clap nor an async runtime:
//!
//! ```toml
//! [dependencies]
//! unlade = { git = "https://github.com/unlade/unlade", default-features = false }
//! ```
//!
//! # Directory to ConfigMap, and ConfigMap to bundle
//!
//! ```
//! use unlade::{config_map, directory, loader};
//!
//! # std::env::set_current_dir("..")?;
//! let reading = directory::read("examples/hello-operator".as_ref(), &Default::default())?;
//! let config_maps = config_map::encode(&reading.content, &Default::default())?;
//! assert_eq!(config_maps[0].data.len(), 7);
//!
//! let loaded = loader::load_config_maps(&config_maps, &Default::default())?;
//! assert_eq!(loaded.bundle.csv_name, "hello-operator.v0.2.0");
//! assert!(loaded.report.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Launch
//!
#![cfg_attr(feature = "launcher", doc = "```no_run")]
#![cfg_attr(not(feature = "launcher"), doc = "```ignore")]
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use unlade::kube::Config;
//! use unlade::launcher::{Launcher, Options, Request, client};
//!
//! let client = client::from_config(Config::infer().await?)?;
//! let launcher =
//!     Launcher::new(client, Options::new("registry.example/unlade/unlade-unpacker:0.1.0"));
//!
//! let request = Request::new("registry.example/bundles/etcd:0.9.4", "default");
//! let launched = launcher.launch(&request).await?;
//! println!("{}", launched.load(&Default::default())?.bundle.csv_name);
//! # Ok(())
//! # }
//! ```

pub use unlade_bundle as bundle;
pub use unlade_catalog as catalog;
pub use unlade_catalog_directory as catalog_directory;
pub use unlade_config_map as config_map;
pub use unlade_directory as directory;
pub use unlade_loader as loader;
pub use unlade_name as name;
pub use unlade_oci as oci;
pub use unlade_yaml as yaml;

#[cfg(feature = "registry")]
pub use unlade_registry as registry;
#[cfg(feature = "launcher")]
pub use {k8s_openapi, kube, unlade_diagnose as diagnose, unlade_launcher as launcher};

#[cfg(feature = "command")]
mod age;
#[cfg(feature = "command")]
mod args;
#[cfg(feature = "command")]
pub mod command;
#[cfg(feature = "command")]
mod connection;
#[cfg(feature = "command")]
mod error;
#[cfg(feature = "command")]
mod exit;
#[cfg(feature = "command")]
mod input;
#[cfg(feature = "command")]
mod log;
#[cfg(feature = "command")]
mod object_name;
#[cfg(feature = "command")]
mod output;
#[cfg(feature = "command")]
mod progress;
#[cfg(feature = "command")]
mod remedy;
#[cfg(feature = "command")]
mod screen;
#[cfg(feature = "command")]
mod source;
#[cfg(feature = "command")]
mod stderr;
#[cfg(feature = "command")]
mod summary;
#[cfg(feature = "command")]
mod table;

/// The Rust code of the README, which a documentation test compiles.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
