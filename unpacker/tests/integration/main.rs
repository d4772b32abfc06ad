//! The program `unlade-unpacker`, run as it is: [`serve`] and [`tls`] against an API server
//! of our own, [`answer`] against one that was taken over, [`interrupt`] in the middle of it,
//! [`volume`] with volumes inside of the bundle, [`install`], [`applet`] by its other names,
//! [`corpus`] over the crafted bundles with links, [`hostile`] in a file system that tries to
//! run its own code, [`mount`] where mounts are hard to notice, and [`environment`] under
//! variables and limits that others set.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking, in its helpers too"
)]

mod answer;
mod applet;
mod authority;
mod corpus;
mod environment;
mod fixture;
mod hostile;
mod install;
mod interrupt;
mod mount;
mod serve;
mod server;
mod tls;
mod volume;
