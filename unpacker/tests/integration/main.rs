//! Runs the real program `unlade-unpacker`: [`serve`] and [`tls`] with a test API server,
//! [`response`] with a compromised one, [`interrupt`] with signals, [`volume`] with volumes inside
//! the bundle, [`install`], [`applet`] under its other names, [`hostile`] in a file system that
//! tries to run its own code, [`mount`] where mounts are hard to detect, and [`environment`] with
//! unusual variables and limits.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking, in its helpers too"
)]

mod applet;
mod authority;
mod environment;
mod fixture;
mod hostile;
mod install;
mod interrupt;
mod mount;
mod response;
mod serve;
mod server;
mod tls;
mod volume;
