//! The annotations that the launcher sets on its objects. The writer of the content sets the
//! [marks](crate::mark).
//!
//! These annotations describe a launch and not the content. A ConfigMap that has only these
//! annotations is empty, and not a broken bundle. A fill removes those that describe the earlier
//! content: [`IMAGE_DIGEST`] and [`FAILURE`].

/// The image reference, exactly as requested.
pub const IMAGE: &str = "unlade.dev/image";
/// The digest that the tag referred to when the content was read: `sha256:` and 64 hex digits.
pub const IMAGE_DIGEST: &str = "unlade.dev/image-digest";
/// The failure of the last attempt, as JSON. Removed when an attempt succeeds.
pub const FAILURE: &str = "unlade.dev/failure";
/// On a Job, a Role and a RoleBinding: the digest of the requested specification, by which a launch
/// recognises an object that differs from what it would create.
pub const SPEC_HASH: &str = "unlade.dev/spec-hash";
/// On a Job, on the Secret with the credentials of a launch, and on the ConfigMap of
/// `launch_bundle_image`: the random ID of the launch that created it. By this ID, a launch
/// recognises its own object if the response to the request was lost.
pub const LAUNCH: &str = "unlade.dev/launch";
/// On the Role of a ConfigMap: the image that the content was verified to come from, as JSON.
pub const VERIFIED: &str = "unlade.dev/verified";

/// The annotations that a fill removes.
pub const CONTENT_ANNOTATIONS: [&str; 2] = [IMAGE_DIGEST, FAILURE];
