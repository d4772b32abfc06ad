//! Launches Jobs that unpack operator bundles on a cluster, and reports why a launch failed.
//!
//! A launch creates a ConfigMap and, unless the options name a service account, an account that may
//! only get and update this ConfigMap. It then creates a Job, watches the Job and its pod, and
//! returns the filled ConfigMap. If the launch fails, it returns a [`Failure`] with a [`Reason`],
//! the evidence and, where known, a hint and [remedies](Remedy).
//!
//! - [`Launcher`] launches one bundle, and [`Launcher::launch_all`] several.
//! - [`Launcher::check`] and [`Launcher::dry_run`] find problems before a launch.
//! - [`Inventory`] lists, describes and deletes what launches created.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use unlade_launcher::{Launcher, Options, Request, client};
//!
//! let client = client::from_config(kube::Config::infer().await?)?;
//! let launcher = Launcher::new(client, Options::new("registry.example/unlade/unlade-unpacker:0.1.0"));
//! let launched = launcher.launch(&Request::new("registry.example/bundles/etcd:0.9.4", "default")).await?;
//! let loaded = launched.load(&unlade_loader::Options::default())?;
//! println!("{}", loaded.bundle.csv_name);
//! # Ok(())
//! # }
//! ```

pub mod batch;
mod call;
pub mod check;
pub mod client;
mod credential;
mod dry_run;
pub mod inventory;
mod launch;
mod launched;
mod launcher;
mod load;
mod name;
mod object;
mod observed;
pub mod options;
pub mod owner;
pub mod progress;
mod pull_secret;
mod quantity;
mod record;
pub mod request;
mod seal;
mod strategy;
mod uid;

pub use batch::{Batch, BatchUpdate, LaunchOutcome};
pub use credential::Credentials;
pub use inventory::{Inventory, Scope};
pub use launch::launch_bundle_image;
pub use launched::{Launched, Timings};
pub use launcher::Launcher;
pub use name::MAX_LENGTH as MAX_NAME_LENGTH;
pub use object::plan_objects;
pub use observed::{DigestSource, ObservedImage};
pub use options::{Deadlines, Options, PodOptions, PullPolicy, Retention, Reuse, Strategy, User};
pub use progress::{Event, LaunchUpdate, Step};
pub use pull_secret::read_pull_secret;
pub use quantity::is_quantity;
pub use record::FailureRecord;
pub use request::{Name, Request};
pub use unlade_diagnose::{Evidence, Failure, ObjectRef, Reason, Remedy};
