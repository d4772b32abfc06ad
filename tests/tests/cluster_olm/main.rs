//! OLM's own operators on a testbed: beside us, and with our image in place of both of its own.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not count as such"
)]

/// Launches that OLM's operators observe.
mod beside;
/// Bundles that the tests make.
mod bundle;
mod catalog;
/// Bundles that cannot be installed.
mod failing;
/// The example bundle, installed and upgraded.
mod install;
mod operator;
mod policy;
mod serving;
mod stage;
mod unpacking;
mod unusual;

use std::time::Duration;

use serde_json::Value;

use stage::Stage;

/// For whatever a test waits for.
const PATIENCE: Duration = Duration::from_mins(5);

/// Whether an object's condition is true.
fn is(object: &Value, condition: &str) -> bool {
    conditions(object).any(|found| found["type"] == condition && found["status"] == "True")
}

fn conditions(object: &Value) -> impl Iterator<Item = &Value> {
    object["status"]["conditions"].as_array().into_iter().flatten()
}
