//! Launches the Job that unpacks an Operator bundle on a cluster, and tells why when it fails.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use unlade_launcher::{Launcher, Options, Request};
//!
//! let mut config = kube::Config::infer().await?;
//! // The launcher has its own way of trying again.
//! config.default_retry = false;
//! let server = config.cluster_url.to_string();
//! let client = unlade_launcher::client::observe(kube::Client::try_from(config)?, &server);
//! let launcher = Launcher::new(client, Options::new("registry.example/unlade/unlade-unpacker:0.1.0"));
//! let launched = launcher.launch(&Request::new("registry.example/bundles/etcd:0.9.4", "default")).await?;
//! let manifest = launched.load(&unlade_loader::Options::default())?;
//! println!("{}", manifest.bundle.csv_name);
//! # Ok(())
//! # }
//! ```

pub mod batch;
pub mod check;
pub mod client;
mod condition;
mod config_map;
mod dry_run;
pub mod failure;
pub mod image_reference;
pub mod inventory;
mod launch;
mod launched;
mod launcher;
mod name;
mod object;
mod observed;
pub mod options;
pub mod owner;
mod plain;
pub mod progress;
mod quantity;
pub mod request;
mod sha256;
mod strategy;

pub use batch::{Batch, BatchEvent, Outcome};
pub use failure::{Evidence, Failure, Reason, Remedy};
pub use image_reference::ImageReference;
pub use inventory::{Inventory, Scope};
pub use launch::record::Record;
pub use launched::{Launched, Timings};
pub use launcher::Launcher;
pub use object::objects;
pub use observed::{DigestSource, ObservedImage};
pub use options::{Deadlines, Options, PodOptions, PullPolicy, Retention, Reuse, Strategy, User};
pub use plain::launch_bundle_image;
pub use progress::{Event, Step};
pub use request::{Name, Request};
