//! Classification of failed pulls by the messages of containerd, CRI-O and the kubelet.
//!
//! A message is a chain of errors that contains the image's name, addresses and the registry's own
//! message. Names are removed first, because the image `team/not-found` may well exist. Then the
//! first of [`RULES`] that applies decides. The rules with the most specific phrases come first.

use super::bound::quoted;
use super::rule::{self, Rule};
use super::{Failure, Reason, Remedy};

const UNCERTAIN_REFUSAL: &str =
    "check the name: many registries respond like this for an image that does not exist";
const TLS: &str = "make sure that the node's container runtime trusts the registry's certificate \
                   authority, and reaches the registry by a name in its certificate";

/// The meaning of the messages. [`normalize`] writes HTTP statuses as `status=NUMBER`.
pub(super) const RULES: &[Rule] = &[
    // The kubelet's own limit (`registryPullQPS`), before it sends a request.
    Rule::new(Reason::RateLimited, &["pull qps exceeded"]).hint(
        "wait until the kubelet tries again: it limits its pulls per second (registryPullQPS)",
    ),
    Rule::new(
        Reason::SignatureRefused,
        &[
            // The kubelet's state since 1.28, CRI-O's policy, and containerd's image verifiers.
            "signaturevalidationfailed",
            "signature validation failed",
            "source image rejected",
            "signature was required",
            "blocked pull of",
        ],
    ),
    Rule::new(
        Reason::NoMatchingPlatform,
        &[
            "no match for platform in manifest",
            "no image found in manifest list for",
            "no image found in image index for",
            "no matching manifest for",
            "image architecture mismatch",
        ],
    ),
    Rule::new(Reason::RateLimited, &["toomanyrequests", "too many requests", "status=429"]),
    Rule::new(
        Reason::InvalidReference,
        &[
            "invalid reference format",
            "failed to parse image reference",
            "couldn't parse image",
            "failed to apply default image tag",
            // CRI-O, for a name without a registry.
            "short-name",
        ],
    ),
    Rule::new(
        Reason::RegistryUnreachable,
        &["x509:", "failed to verify certificate", "server gave http response to https client"],
    )
    .permanent()
    .hint(TLS),
    Rule::new(
        Reason::RegistryUnreachable,
        &["tls handshake timeout", "i/o timeout", "proxyconnect", "dial tcp"],
    ),
    Rule::new(
        Reason::RegistryFailing,
        &[
            "status=5",
            "internal server error",
            "bad gateway",
            "service unavailable",
            "gateway timeout",
            "registryunavailable",
            "registry is unavailable",
        ],
    ),
    Rule::new(Reason::Unauthorized, &["status=401", "status=403"])
        .hint(UNCERTAIN_REFUSAL)
        .remedies(&[Remedy::PullSecret]),
    Rule::new(Reason::ImageNotFound, &["status=404", "status=410"]),
    Rule::new(
        Reason::Unauthorized,
        &[
            "unauthorized",
            "access denied",
            "is denied",
            "denied:",
            "authentication required",
            "authorization failed",
            "insufficient_scope",
            "no basic auth credentials",
            "invalid username/password",
            "forbidden",
        ],
    )
    .hint(UNCERTAIN_REFUSAL)
    .remedies(&[Remedy::PullSecret]),
    Rule::new(
        Reason::ImageNotFound,
        &[
            "manifest unknown",
            "manifest_unknown",
            "name unknown",
            "name_unknown",
            "repository name not known",
            "not found",
        ],
    ),
    Rule::new(Reason::PullFailed, &["no space left on device", "disk quota exceeded"])
        .hint("free disk space on the node"),
    Rule::new(Reason::PullFailed, &["no longer supported", "schema 1"]).permanent().hint(
        "rebuild the image as an OCI image: the node's container runtime does not support this \
         image format",
    ),
    Rule::new(
        Reason::PullFailed,
        &[
            "unexpected commit digest",
            "unexpected commit size",
            "digest did not match",
            "wrong diff id",
            "failed size validation",
        ],
    )
    .hint(
        "push the image again: the registry, or a proxy in front of it, serves content that does \
         not match the manifest",
    ),
    Rule::new(
        Reason::RegistryFailing,
        &[
            "context deadline exceeded",
            "context canceled",
            "client.timeout exceeded",
            "timeout awaiting response headers",
            "transport connection broken",
            "unexpected eof",
            ": eof",
            "connection reset",
            "broken pipe",
            "stream error",
            "short read",
            "timed out",
        ],
    ),
];

/// Classifies `message`, which is about a failed pull of `image`, if it matches a rule. `state` is
/// the reason in the container's state.
pub(super) fn classify(state: &str, message: &str, image: &str) -> Option<Failure> {
    let normalized = normalize(&format!("{state}: {message}"), image);
    let rule = rule::find_first(RULES, &normalized)?;
    Some(rule.apply(Failure::new(rule.reason, sentence(rule.reason, image, message))))
}

/// Returns the failure of a pull whose cause is unknown.
pub(super) fn unknown(message: &str, image: &str) -> Failure {
    Failure::new(Reason::PullFailed, sentence(Reason::PullFailed, image, message))
}

fn sentence(reason: Reason, image: &str, message: &str) -> String {
    let cause = quoted(cause(message));
    match reason {
        Reason::ImageNotFound => format!("the image {image} does not exist in the registry"),
        Reason::Unauthorized => format!("the registry denied access to the image {image}: {cause}"),
        Reason::RateLimited => {
            format!("the pull of the image {image} is rate limited: {cause}")
        }
        Reason::RegistryUnreachable => {
            format!("the node failed to reach the registry of the image {image}: {cause}")
        }
        Reason::RegistryFailing => {
            format!("the registry failed to serve the image {image}: {cause}")
        }
        Reason::NoMatchingPlatform => {
            format!("the image {image} does not exist for the platform of the node")
        }
        Reason::SignatureRefused => {
            format!("the node's signature policy rejects the image {image}: {cause}")
        }
        Reason::InvalidReference => format!("{image:?} is not a valid image reference: {cause}"),
        _ => format!("failed to pull the image {image}: {cause}"),
    }
}

/// Removes prefixes that only repeat that a pull failed, of which image and in which component.
fn cause(message: &str) -> &str {
    const PREFIXES: [&str; 15] = [
        "Error:",
        "Back-off pulling image",
        "Failed to pull image",
        "ErrImagePull:",
        "RegistryUnavailable:",
        "SignatureValidationFailed:",
        "failed to pull and unpack image",
        "failed to resolve image:",
        "failed to resolve reference",
        "image pull failed for",
        "unable to pull image or OCI artifact: pull image err:",
        "rpc error: code =",
        "pulling image",
        "initializing source",
        "Error initializing source",
    ];
    let mut rest = message.trim();
    loop {
        let Some(prefix) = PREFIXES.into_iter().find(|prefix| rest.starts_with(prefix)) else {
            return rest;
        };
        let after = rest.get(prefix.len()..).unwrap_or_default();
        let following = |end| after.split_once(end).map(|(_, rest)| rest);
        // `rpc error: code = Unknown desc = ...`, `pull image "NAME": ...`.
        let after = match prefix.as_bytes() {
            [.., b':'] => Some(after),
            [.., b'='] => following("desc = ").or_else(|| following(": ")),
            _ => following(": "),
        };
        match after.map(str::trim) {
            Some(after) if !after.is_empty() => rest = after,
            _ => return rest,
        }
    }
}

/// Returns the part of a message that rules are matched against: without image names, addresses and
/// quoted names, and with an HTTP status as `status=NUMBER`.
pub(super) fn normalize(message: &str, image: &str) -> String {
    // CRI-O's message begins with the errors of the mirrors. The registry's own error decides.
    let message = match message
        .rsplit_once("(Mirrors also failed: ")
        .and_then(|(_, tail)| tail.rsplit_once("]): "))
    {
        Some((_, primary)) => primary,
        None => message,
    };
    let message = if image.is_empty() { message.to_owned() } else { message.replace(image, " ") };
    let is_status = message.to_lowercase().contains("status");
    let mut words = String::with_capacity(message.len());
    let mut is_name = false;
    for word in message.split_whitespace() {
        let bare = word.trim_matches(|c: char| c.is_ascii_punctuation());
        let was_name =
            std::mem::replace(&mut is_name, matches!(bare, "image" | "reference" | "lookup"));
        let is_code = is_status
            && bare.len() == 3
            && bare.parse().is_ok_and(|code: u16| (400..600).contains(&code));
        let is_slashed = word.contains('/') && !matches!(bare, "i/o" | "username/password");
        if is_code {
            words.push_str("status=");
            words.push_str(bare);
        } else if is_slashed || (was_name && word.starts_with(['"', '\'', '\\'])) {
            // Keeps phrases that begin with a colon, such as `: eof`, matching after a name.
            words.push(':');
        } else {
            words.push_str(word);
        }
        words.push(' ');
    }
    words
}
