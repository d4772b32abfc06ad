//! OLM's own operators on a testbed: beside launches, and with our image in place of both of its
//! own.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not count as such"
)]

/// Launches that OLM's operators observe.
mod beside;
/// Bundles that the tests create.
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

/// The deadline for everything that a test waits for.
const PATIENCE: Duration = Duration::from_mins(5);

/// Checks whether a condition of an object is true.
fn is(object: &Value, condition: &str) -> bool {
    conditions(object).any(|found| found["type"] == condition && found["status"] == "True")
}

fn conditions(object: &Value) -> impl Iterator<Item = &Value> {
    object["status"]["conditions"].as_array().into_iter().flatten()
}
