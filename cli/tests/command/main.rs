//! Runs the real binaries as users and scripts do.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test harness: what fails here fails the test"
)]

/// A cluster with an in-memory API server behind HTTP, so that kube's whole client stack is tested
/// too.
mod api_server;
/// Launches of several images.
mod batch;
/// A bundle directory for one test.
mod bundle;
/// `unlade catalog`.
mod catalog;
/// `unlade catalog render` of bundles.
mod catalog_bundle;
/// `unlade catalog render` of several images in a registry.
mod catalog_images;
/// `unlade catalog render` and `migrate`.
mod catalog_render;
/// The commands that talk to clusters, without a cluster.
mod cluster;
/// `unlade copy`.
mod copy;
/// Every bundle of the corpus, through pipes.
mod corpus;
/// Requests that happen at the same time.
#[path = "../../../registry/tests/registry/crowd.rs"]
mod crowd;
/// Failures, and how they are reported.
mod failure;
#[path = "../finished/mod.rs"]
mod finished;
/// ConfigMaps of an attacker who may write to the namespace.
mod hostile;
/// Images as sources.
mod image;
/// Ctrl-C at any time during a launch.
mod interrupt;
/// `unlade load`.
mod load;
/// `--verbose`.
mod log;
/// Images in a registry.
mod registry;
/// Runs the binaries.
mod run;
/// A registry in this process.
#[path = "../../../registry/tests/registry/server.rs"]
#[expect(dead_code, reason = "the tests of unlade-registry use the rest")]
mod server;
/// The output on a terminal, with a pseudo-terminal.
mod terminal;
/// Help, completions, man pages and versions.
mod text;
/// `unlade unpack`.
mod unpack;
