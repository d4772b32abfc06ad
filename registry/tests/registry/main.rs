//! The whole client against registries in this process, good and hostile.

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
/// Answers that no good registry gives.
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
