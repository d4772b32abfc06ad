//! What the launcher notes on a ConfigMap, beside the [marks](crate::mark) of who fills it.
//!
//! These annotations tell of a launch and not of the content: with them alone a ConfigMap is an
//! empty one, not a broken bundle. A filling drops those that were true of the content before:
//! [`IMAGE_DIGEST`] and [`FAILURE`].

/// The image as it was asked for, exactly.
pub const IMAGE: &str = "unlade.dev/image";
/// The digest that a tag stood for when the content was taken: `sha256:` and 64 hex digits.
pub const IMAGE_DIGEST: &str = "unlade.dev/image-digest";
/// Why the last attempt failed, as JSON; gone when one succeeds.
pub const FAILURE: &str = "unlade.dev/failure";
/// On a Job: the digest of what was asked of the API server, by which launches are compared.
pub const SPEC_HASH: &str = "unlade.dev/spec-hash";
/// On a Job, and on a ConfigMap with a random name: the random id of the launch that created it. By
/// this id a launch recognises an object whose creation was answered late or not at all.
pub const LAUNCH: &str = "unlade.dev/launch";
/// On the Role of a ConfigMap: the image that its content was verified to come from, as JSON.
pub const VERIFIED: &str = "unlade.dev/verified";

/// Those that a filling drops.
pub const OF_CONTENT: [&str; 2] = [IMAGE_DIGEST, FAILURE];
