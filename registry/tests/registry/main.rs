//! Tests the whole client against registries in this process, both honest and hostile ones.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test harness: what fails here fails the test"
)]

/// Tokens, passwords and where they are sent.
mod access;
/// Copies of images.
mod copy;
/// Requests that happen at the same time.
mod crowd;
/// A bundle image, as a registry serves it.
mod fixture;
/// Responses that no honest registry sends.
mod hostile;
/// The rules of `registries.conf`.
mod mirror;
/// Transfers of several blobs at the same time.
mod parallel;
/// Comparisons with skopeo.
mod peer;
/// Reading images.
mod pull;
/// Pushing images.
mod push;
/// A registry in this process.
mod server;
/// Certificates.
mod tls;
