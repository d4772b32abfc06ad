use super::{assert_every_phrase_decides, assert_names_no_flag};
use crate::Reason;
use crate::pull::{self, RULES, normalize};

const IMAGE: &str = "registry.example/team/etcd:1.0";

/// What containerd 1.7 to 2.3 and the kubelet say, after `failed to pull and unpack image "...": `,
/// and whether it may pass.
const CONTAINERD: &[(&str, Reason, bool)] = &[
    (
        "failed to resolve image: registry.example/team/etcd:1.0: not found",
        Reason::ImageNotFound,
        false,
    ),
    (
        "failed to resolve reference \"registry.example/team/etcd:1.0\": registry.example/team/etcd:1.0: not found",
        Reason::ImageNotFound,
        false,
    ),
    (
        "failed to resolve image: unexpected status from HEAD request to https://registry.example/v2/team/etcd/manifests/1.0: 404 Not Found",
        Reason::ImageNotFound,
        false,
    ),
    (
        "failed to resolve image: unexpected status from HEAD request to https://registry.example/v2/team/etcd/manifests/1.0: 410 Gone",
        Reason::ImageNotFound,
        false,
    ),
    (
        "failed to resolve image: pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed",
        Reason::Unauthorized,
        false,
    ),
    (
        "failed to resolve image: authorization failed: no basic auth credentials",
        Reason::Unauthorized,
        false,
    ),
    (
        "failed to resolve image: failed to authorize: failed to fetch anonymous token: unexpected status from GET request to https://auth.registry.example/token?scope=repository%3Ateam%2Fetcd%3Apull: 401 Unauthorized",
        Reason::Unauthorized,
        false,
    ),
    (
        "failed to resolve image: unexpected status from HEAD request to https://registry.example/v2/team/etcd/manifests/1.0: 403 Forbidden",
        Reason::Unauthorized,
        false,
    ),
    (
        "failed to resolve reference \"registry.example/team/etcd:1.0\": unexpected status code [manifests 1.0]: 403",
        Reason::Unauthorized,
        false,
    ),
    (
        "failed to resolve image: unexpected status from HEAD request to https://registry.example/v2/team/etcd/manifests/1.0: 429 Too Many Requests",
        Reason::RateLimited,
        true,
    ),
    (
        "failed to copy: httpReadSeeker: failed open: unexpected status code https://registry.example/v2/team/etcd/blobs/sha256:0: 429 - Server message: toomanyrequests: You have reached your pull rate limit.",
        Reason::RateLimited,
        true,
    ),
    (
        "failed to resolve image: unexpected status from HEAD request to https://registry.example/v2/team/etcd/manifests/1.0: 503 Service Unavailable",
        Reason::RegistryFailing,
        true,
    ),
    (
        "failed to copy: httpReadSeeker: failed open: unexpected status code https://registry.example/v2/team/etcd/blobs/sha256:0: 500 Internal Server Error",
        Reason::RegistryFailing,
        true,
    ),
    (
        "failed to copy: httpReadSeeker: failed open: failed to do request: Get \"https://registry.example/v2/team/etcd/blobs/sha256:0\": context deadline exceeded",
        Reason::RegistryFailing,
        true,
    ),
    (
        "failed to copy: read tcp 10.0.0.7:41234->203.0.113.9:443: i/o timeout",
        Reason::RegistryUnreachable,
        true,
    ),
    (
        "failed to resolve image: failed to do request: Head \"http://registry.example/v2/team/etcd/manifests/1.0\": net/http: timeout awaiting response headers",
        Reason::RegistryFailing,
        true,
    ),
    (
        "failed to resolve image: failed to do request: Head \"http://registry.example/v2/team/etcd/manifests/1.0\": net/http: HTTP/1.x transport connection broken: malformed MIME header: missing colon: \"Content-Type\"",
        Reason::RegistryFailing,
        true,
    ),
    ("context canceled", Reason::RegistryFailing, true),
    (
        "failed to resolve image: failed to do request: Head \"https://registry.example/v2/team/etcd/manifests/1.0\": net/http: request canceled (Client.Timeout exceeded while awaiting headers)",
        Reason::RegistryFailing,
        true,
    ),
    (
        "failed to copy: read tcp 10.0.0.7:41234->203.0.113.9:443: read: connection reset by peer",
        Reason::RegistryFailing,
        true,
    ),
    (
        "failed to copy: write tcp 10.0.0.7:41234->203.0.113.9:443: write: broken pipe",
        Reason::RegistryFailing,
        true,
    ),
    (
        "failed to copy: read tcp 10.0.0.7:41234->203.0.113.9:443: read: connection timed out",
        Reason::RegistryFailing,
        true,
    ),
    (
        "failed to copy: httpReadSeeker: failed open: failed to do request: Get \"https://registry.example/v2/team/etcd/blobs/sha256:0\": EOF",
        Reason::RegistryFailing,
        true,
    ),
    ("short read: expected 1000 bytes but got 10: unexpected EOF", Reason::RegistryFailing, true),
    ("short read: expected 1000 bytes but got 10", Reason::RegistryFailing, true),
    ("failed to copy: unexpected EOF", Reason::RegistryFailing, true),
    (
        "failed to copy: stream error: stream ID 7; INTERNAL_ERROR; received from peer",
        Reason::RegistryFailing,
        true,
    ),
    (
        "failed to resolve image: failed to do request: Head \"https://registry.example/v2/team/etcd/manifests/1.0\": dial tcp 203.0.113.9:443: connect: connection refused",
        Reason::RegistryUnreachable,
        true,
    ),
    (
        "failed to resolve image: failed to do request: Head \"https://registry.example/v2/team/etcd/manifests/1.0\": dial tcp: lookup registry.example on 10.0.0.2:53: no such host",
        Reason::RegistryUnreachable,
        true,
    ),
    (
        "failed to resolve image: failed to do request: Head \"https://registry.example/v2/team/etcd/manifests/1.0\": dial tcp: lookup registry.example on 10.0.0.2:53: server misbehaving",
        Reason::RegistryUnreachable,
        true,
    ),
    (
        "failed to resolve image: failed to do request: Head \"https://registry.example/v2/team/etcd/manifests/1.0\": dial tcp: lookup registry.example: Temporary failure in name resolution",
        Reason::RegistryUnreachable,
        true,
    ),
    (
        "failed to resolve image: failed to do request: Head \"https://registry.example/v2/team/etcd/manifests/1.0\": dial tcp 203.0.113.9:443: i/o timeout",
        Reason::RegistryUnreachable,
        true,
    ),
    (
        "failed to resolve image: failed to do request: Head \"https://registry.example/v2/team/etcd/manifests/1.0\": dial tcp 203.0.113.9:443: connect: no route to host",
        Reason::RegistryUnreachable,
        true,
    ),
    (
        "failed to resolve image: failed to do request: Head \"https://registry.example/v2/team/etcd/manifests/1.0\": dial tcp 203.0.113.9:443: connect: network is unreachable",
        Reason::RegistryUnreachable,
        true,
    ),
    (
        "failed to resolve image: failed to do request: Head \"https://registry.example/v2/team/etcd/manifests/1.0\": dial tcp 203.0.113.9:443: operation was canceled",
        Reason::RegistryUnreachable,
        true,
    ),
    (
        "failed to resolve image: failed to do request: Head \"https://registry.example/v2/team/etcd/manifests/1.0\": net/http: TLS handshake timeout",
        Reason::RegistryUnreachable,
        true,
    ),
    (
        "failed to resolve image: failed to do request: Head \"https://registry.example/v2/team/etcd/manifests/1.0\": proxyconnect tcp: unexpected proxy answer",
        Reason::RegistryUnreachable,
        true,
    ),
    (
        "failed to resolve image: failed to do request: Head \"https://registry.example/v2/team/etcd/manifests/1.0\": tls: failed to verify certificate: x509: certificate signed by unknown authority",
        Reason::RegistryUnreachable,
        false,
    ),
    (
        "failed to resolve image: failed to do request: Head \"https://registry.example/v2/team/etcd/manifests/1.0\": x509: certificate has expired or is not yet valid",
        Reason::RegistryUnreachable,
        false,
    ),
    (
        "failed to resolve image: failed to do request: Head \"https://registry.example/v2/team/etcd/manifests/1.0\": tls: failed to verify certificate",
        Reason::RegistryUnreachable,
        false,
    ),
    (
        "failed to resolve image: failed to do request: Head \"https://registry.example/v2/team/etcd/manifests/1.0\": http: server gave HTTP response to HTTPS client",
        Reason::RegistryUnreachable,
        false,
    ),
    ("no match for platform in manifest: not found", Reason::NoMatchingPlatform, false),
    ("no match for platform in manifest sha256:0: not found", Reason::NoMatchingPlatform, false),
    (
        "failed to parse image reference \"Etcd:1\": repository name must be lowercase",
        Reason::InvalidReference,
        false,
    ),
    (
        "image verifier policy blocked pull of registry.example/team/etcd:1.0 with digest sha256:0 for reason: no signature",
        Reason::SignatureRefused,
        false,
    ),
    (
        "failed commit on ref \"layer-sha256:0\": unexpected commit digest sha256:1, expected sha256:0: failed precondition",
        Reason::PullFailed,
        true,
    ),
    (
        "failed commit on ref \"layer-sha256:0\": unexpected commit size 10, expected 1000: failed precondition",
        Reason::PullFailed,
        true,
    ),
    (
        "failed commit on ref \"layer-sha256:0\": \"layer-sha256:0\" failed size validation: 10 != 1000: failed precondition",
        Reason::PullFailed,
        true,
    ),
    (
        "wrong diff id \"sha256:1\" calculated on extraction \"sha256:0\", desc \"sha256:2\"",
        Reason::PullFailed,
        true,
    ),
    (
        "failed to extract layer (application/vnd.oci.image.layer.v1.tar+gzip sha256:0) to overlayfs as \"extract-1\": write /var/lib/containerd/x: no space left on device",
        Reason::PullFailed,
        true,
    ),
    (
        "failed to prepare extraction snapshot \"extract-1\": disk quota exceeded",
        Reason::PullFailed,
        true,
    ),
    (
        "not implemented: media type \"application/vnd.docker.distribution.manifest.v1+prettyjws\" is no longer supported since containerd v2.1, please rebuild the image",
        Reason::PullFailed,
        false,
    ),
    ("media-type: schema 1 not supported", Reason::PullFailed, false),
];

/// What CRI-O and its libraries say.
const CRIO: &[(&str, Reason, bool)] = &[
    (
        "rpc error: code = Unknown desc = reading manifest 1.0 in registry.example/team/etcd: manifest unknown",
        Reason::ImageNotFound,
        false,
    ),
    (
        "rpc error: code = Unknown desc = initializing source docker://registry.example/team/etcd:1.0: reading manifest 1.0 in registry.example/team/etcd: name unknown: repository name not known to registry",
        Reason::ImageNotFound,
        false,
    ),
    (
        "initializing source docker://registry.example/team/etcd:1.0: reading manifest 1.0 in registry.example/team/etcd: repository name not known",
        Reason::ImageNotFound,
        false,
    ),
    (
        "initializing source docker://registry.example/team/etcd:1.0: reading manifest 1.0 in registry.example/team/etcd: name unknown: The repository does not exist",
        Reason::ImageNotFound,
        false,
    ),
    (
        "initializing source docker://registry.example/team/etcd:1.0: reading manifest 1.0 in registry.example/team/etcd: StatusCode: 404, \"<html>...\"",
        Reason::ImageNotFound,
        false,
    ),
    (
        "initializing source docker://registry.example/team/etcd:1.0: reading manifest 1.0 in registry.example/team/etcd: MANIFEST_UNKNOWN",
        Reason::ImageNotFound,
        false,
    ),
    (
        "initializing source docker://registry.example/team/etcd:1.0: reading manifest 1.0 in registry.example/team/etcd: NAME_UNKNOWN",
        Reason::ImageNotFound,
        false,
    ),
    (
        "rpc error: code = Unknown desc = initializing source docker://registry.example/team/etcd:1.0: reading manifest 1.0 in registry.example/team/etcd: unauthorized: access to the requested resource is not authorized",
        Reason::Unauthorized,
        false,
    ),
    (
        "initializing source docker://registry.example/team/etcd:1.0: reading manifest 1.0 in registry.example/team/etcd: requested access to the resource is denied",
        Reason::Unauthorized,
        false,
    ),
    (
        "initializing source docker://registry.example/team/etcd:1.0: reading manifest 1.0 in registry.example/team/etcd: denied: not for you",
        Reason::Unauthorized,
        false,
    ),
    (
        "initializing source docker://registry.example/team/etcd:1.0: reading manifest 1.0 in registry.example/team/etcd: authentication required",
        Reason::Unauthorized,
        false,
    ),
    (
        "initializing source docker://registry.example/team/etcd:1.0: unable to retrieve auth token: invalid username/password: wrong",
        Reason::Unauthorized,
        false,
    ),
    (
        "initializing source docker://registry.example/team/etcd:1.0: pull access denied for etcd",
        Reason::Unauthorized,
        false,
    ),
    (
        "initializing source docker://registry.example/team/etcd:1.0: server message: insufficient_scope",
        Reason::Unauthorized,
        false,
    ),
    (
        "initializing source docker://registry.example/team/etcd:1.0: authorization failed",
        Reason::Unauthorized,
        false,
    ),
    (
        "initializing source docker://registry.example/team/etcd:1.0: no basic auth credentials",
        Reason::Unauthorized,
        false,
    ),
    (
        "initializing source docker://registry.example/team/etcd:1.0: Forbidden",
        Reason::Unauthorized,
        false,
    ),
    (
        "initializing source docker://registry.example/team/etcd:1.0: Requesting bearer token: invalid status code from registry 403 (Forbidden)",
        Reason::Unauthorized,
        false,
    ),
    (
        "initializing source docker://registry.example/team/etcd:1.0: reading manifest 1.0 in registry.example/team/etcd: too many requests to registry",
        Reason::RateLimited,
        true,
    ),
    (
        "initializing source docker://registry.example/team/etcd:1.0: reading manifest 1.0 in registry.example/team/etcd: toomanyrequests: You have reached your pull rate limit",
        Reason::RateLimited,
        true,
    ),
    (
        "initializing source docker://registry.example/team/etcd:1.0: Requesting bearer token: invalid status code from registry 429",
        Reason::RateLimited,
        true,
    ),
    (
        "initializing source docker://registry.example/team/etcd:1.0: Requesting bearer token: invalid status code from registry 599",
        Reason::RegistryFailing,
        true,
    ),
    (
        "initializing source docker://registry.example/team/etcd:1.0: received unexpected answer: Bad Gateway",
        Reason::RegistryFailing,
        true,
    ),
    (
        "initializing source docker://registry.example/team/etcd:1.0: received unexpected answer: Gateway Timeout",
        Reason::RegistryFailing,
        true,
    ),
    (
        "initializing source docker://registry.example/team/etcd:1.0: received unexpected answer: Service Unavailable",
        Reason::RegistryFailing,
        true,
    ),
    (
        "initializing source docker://registry.example/team/etcd:1.0: received unexpected answer: Internal Server Error",
        Reason::RegistryFailing,
        true,
    ),
    ("RegistryUnavailable: pinging failed", Reason::RegistryFailing, true),
    (
        "image pull failed for registry.example/team/etcd:1.0 because the registry is unavailable",
        Reason::RegistryFailing,
        true,
    ),
    (
        "initializing source docker://registry.example/team/etcd:1.0: pinging container registry registry.example: Get \"https://registry.example/v2/\": dial tcp 203.0.113.9:443: connect: connection refused",
        Reason::RegistryUnreachable,
        true,
    ),
    (
        "initializing source docker://registry.example/team/etcd:1.0: (Mirrors also failed: [mirror.example/team/etcd:1.0: pinging container registry mirror.example: Get \"https://mirror.example/v2/\": dial tcp 203.0.113.8:443: connect: connection refused]): registry.example/team/etcd:1.0: reading manifest 1.0 in registry.example/team/etcd: manifest unknown",
        Reason::ImageNotFound,
        false,
    ),
    (
        "choosing an image from manifest list docker://registry.example/team/etcd:1.0: no image found in image index for architecture \"arm64\", variant \"v8\", OS \"linux\"",
        Reason::NoMatchingPlatform,
        false,
    ),
    (
        "choosing image instance: no image found in manifest list for architecture arm64, variant \"v8\", OS linux",
        Reason::NoMatchingPlatform,
        false,
    ),
    (
        "Image architecture mismatch: image uses \"amd64\", expecting \"arm64\"",
        Reason::NoMatchingPlatform,
        false,
    ),
    (
        "no matching manifest for linux/arm64 in the manifest list entries",
        Reason::NoMatchingPlatform,
        false,
    ),
    ("SignatureValidationFailed: no signature", Reason::SignatureRefused, false),
    (
        "Source image rejected: Running image docker://registry.example/team/etcd:1.0 is rejected by policy.",
        Reason::SignatureRefused,
        false,
    ),
    ("A signature was required, but no signature exists", Reason::SignatureRefused, false),
    (
        "image pull failed for registry.example/team/etcd:1.0 because the signature validation failed: wrong key",
        Reason::SignatureRefused,
        false,
    ),
    (
        "short-name \"etcd\" did not resolve to an alias and no unqualified-search registries are defined",
        Reason::InvalidReference,
        false,
    ),
    (
        "writing blob: storing blob to file \"/var/tmp/storage1/1\": happened during read: Digest did not match, expected sha256:0, got sha256:1",
        Reason::PullFailed,
        true,
    ),
];

/// Messages of the kubelet itself.
const KUBELET: &[(&str, Reason, bool)] = &[
    ("pull QPS exceeded", Reason::RateLimited, true),
    (
        "Failed to apply default image tag \"Etcd:1\": couldn't parse image name \"Etcd:1\": invalid reference format: repository name (library/Etcd) must be lowercase",
        Reason::InvalidReference,
        false,
    ),
    ("Failed to apply default image tag \"etcd:-\": wrong", Reason::InvalidReference, false),
    ("couldn't parse image name", Reason::InvalidReference, false),
    ("invalid reference format", Reason::InvalidReference, false),
    ("failed to parse image reference", Reason::InvalidReference, false),
];

fn samples() -> impl Iterator<Item = &'static (&'static str, Reason, bool)> {
    CONTAINERD.iter().chain(CRIO).chain(KUBELET)
}

#[test]
fn pull_failures_are_classified_by_their_messages() {
    for (message, reason, is_transient) in samples() {
        let failure = pull::classify("ErrImagePull", message, IMAGE)
            .unwrap_or_else(|| panic!("unknown: {message}"));
        assert_eq!((failure.reason, failure.is_transient), (*reason, *is_transient), "{message}");
        assert_names_no_flag(&failure);
    }
}

#[test]
fn pull_failures_are_classified_whatever_the_kubelet_wraps_them_in() {
    for (message, reason, _) in samples() {
        for wrapped in [
            format!("failed to pull and unpack image {IMAGE:?}: {message}"),
            format!(
                "rpc error: code = Unknown desc = failed to pull and unpack image {IMAGE:?}: {message}"
            ),
            format!("Failed to pull image {IMAGE:?}: {message}"),
            format!("Back-off pulling image {IMAGE:?}: ErrImagePull: {message}"),
        ] {
            let failure = pull::classify("ImagePullBackOff", &wrapped, IMAGE);
            assert_eq!(failure.map(|failure| failure.reason), Some(*reason), "{wrapped}");
        }
    }
}

#[test]
fn every_phrase_about_pulls_is_needed() {
    let samples: Vec<_> =
        samples().map(|(message, ..)| normalize(message, IMAGE).to_lowercase()).collect();
    assert_every_phrase_decides(RULES, &samples);
}

#[test]
fn names_of_images_and_hosts_do_not_match_rules() {
    for image in [
        "registry.example/denied/not-found:503",
        "unauthorized:latest",
        "registry.example/a:toomanyrequests",
        "x509.example:5000/forbidden/manifest_unknown:1",
    ] {
        let back_off = format!("Back-off pulling image {image:?}");
        assert_eq!(pull::classify("ImagePullBackOff", &back_off, image), None, "{image}");
        let message = format!(
            "failed to pull and unpack image {image:?}: failed to resolve image: unexpected status from HEAD request to https://{image}: 502 Bad Gateway"
        );
        let failure = pull::classify("ErrImagePull", &message, image).unwrap();
        assert_eq!(failure.reason, Reason::RegistryFailing, "{image}");
    }
}

#[test]
fn sentence_quotes_the_cause_without_what_wraps_it() {
    let message = format!(
        "Back-off pulling image {IMAGE:?}: ErrImagePull: rpc error: code = Unavailable desc = failed to pull and unpack image {IMAGE:?}: failed to resolve image: unexpected status from HEAD request to https://registry.example/v2/team/etcd/manifests/1.0: 503 Service Unavailable"
    );
    let failure = pull::classify("ImagePullBackOff", &message, IMAGE).unwrap();
    assert_eq!(
        failure.message,
        "the registry failed to serve the image registry.example/team/etcd:1.0: \"unexpected \
         status from HEAD request to https://registry.example/v2/team/etcd/manifests/1.0: 503 \
         Service Unavailable\""
    );
}

#[test]
fn denied_access_has_a_hint_that_the_image_may_not_exist() {
    let message = "failed to resolve image: pull access denied, repository does not exist or may require authorization";
    let failure = pull::classify("ErrImagePull", message, IMAGE).unwrap();
    assert!(failure.hint.unwrap().contains("does not exist"));
}
