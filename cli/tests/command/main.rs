//! The real binaries, as people and scripts use them.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test harness: what fails here fails the test"
)]

/// A cluster with an in-memory API server behind HTTP, so that kube's whole client stack is tested
/// too.
mod api_server;
/// A bundle directory made for one test.
mod bundle;
/// What talks to clusters, as far as that goes without one.
mod cluster;
/// Every bundle of the corpus, through pipes.
mod corpus;
/// What goes wrong, and how that is told.
mod failure;
#[path = "../finished/mod.rs"]
mod finished;
/// ConfigMaps of someone who may write to the namespace.
mod hostile;
/// Images as sources.
mod image;
/// Ctrl-C at any time during a launch.
mod interrupt;
/// `unlade load`.
mod load;
/// `--verbose`.
mod log;
/// Runs the binaries.
mod run;
/// What a terminal is shown, on a pseudo-terminal.
mod terminal;
/// Help, completions, man pages and versions.
mod text;
/// `unlade unpack`.
mod unpack;
