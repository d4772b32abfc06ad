//! Reuse of existing content.

use k8s_openapi::api::core::v1::ConfigMap;
use unlade_config_map::Encoding;

use super::Launch;
use super::content::decode_written;
use crate::seal::Seal;
use crate::{DigestSource, ObservedImage, Request, Reuse};
use unlade_name::ImageReference;

impl Launch<'_> {
    /// Returns the image whose content the ConfigMap holds, if the content may be reused.
    pub(super) async fn reusable(&self, config_map: &ConfigMap) -> Option<ObservedImage> {
        let (image, reuse) = (self.plan.image(), self.launcher.options.reuse);
        let content = matching_content(config_map, self.request, image, reuse)?;
        let seal = self.read_seal(config_map).await?;
        verified_image(&seal, image, &content)
    }
}

/// Returns the digest of the content, if the annotations of the ConfigMap match the request. Anyone
/// who may write the ConfigMap can forge these annotations, so the content must also have a seal.
fn matching_content(
    config_map: &ConfigMap,
    request: &Request,
    image: &ImageReference,
    reuse: Reuse,
) -> Option<String> {
    match (image.digest(), reuse) {
        (_, Reuse::Never) | (None, Reuse::Digest) => return None,
        (Some(_), Reuse::Digest | Reuse::Tag) | (None, Reuse::Tag) => {}
    }
    let decoded = decode_written(config_map).ok()?;
    let is_encoded = request.encoding == Encoding::Auto || request.encoding == decoded.encoding;
    let is_of_image = decoded.source_image.as_ref() == Some(&request.image);
    decoded.digest.filter(|_| is_of_image && is_encoded)
}

/// Returns the image that a launch has verified, if the seal covers this content.
pub(super) fn verified_image(
    seal: &Seal,
    image: &ImageReference,
    content: &str,
) -> Option<ObservedImage> {
    let is_of_digest = image.digest().is_none_or(|digest| digest == seal.image_digest);
    (is_of_digest && seal.covers(image.as_str(), content)).then(|| ObservedImage {
        digest: Some(seal.image_digest.clone()),
        digest_source: Some(DigestSource::EarlierLaunch),
        ..ObservedImage::default()
    })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::rbac::v1::Role;
    use kube::ResourceExt;
    use serde_json::json;
    use unlade_bundle::{Content, Directory, File, Limits};
    use unlade_config_map::{encode, mark, protocol::record::VERIFIED};

    use super::*;

    const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    const OTHER: &str = "sha256:fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210";
    const UID: &str = "22222222-2222-2222-2222-222222222222";

    fn filled(image: &str) -> ConfigMap {
        let file = File {
            directory: Directory::Manifests,
            name: "csv.yaml".into(),
            bytes: b"kind: ClusterServiceVersion\n".to_vec(),
        };
        let reading = Content::assemble(vec![file], &Limits::default()).unwrap();
        let options = encode::Options::default()
            .with_source_image(Some(image.to_owned()))
            .with_attempt(Some("earlier".to_owned()));
        let encoded = encode(&reading.content, &options).unwrap();
        let mut filled: ConfigMap =
            serde_json::from_value(serde_json::to_value(&encoded[0]).unwrap()).unwrap();
        filled.metadata.uid = Some(UID.to_owned());
        filled
    }

    /// Returns the Role of the ConfigMap with `uid`, sealed for `image` and the content of
    /// `config_map`.
    fn role(uid: &str, config_map: &ConfigMap, image: &str, digest: &str) -> Role {
        let seal = json!({
            "configMap": UID,
            "content": config_map.annotations().get(mark::DIGEST),
            "image": image,
            "imageDigest": digest,
            "digestSource": "containerStatus",
        });
        let role = json!({"metadata": {
            "name": "etcd",
            "labels": {"app.kubernetes.io/managed-by": "unlade"},
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "ConfigMap", "name": "etcd", "uid": uid},
            ],
            "annotations": {VERIFIED: seal.to_string()},
        }});
        serde_json::from_value(role).unwrap()
    }

    /// Returns the digest of the image, if the content is reused.
    fn reused(config_map: &ConfigMap, role: &Role, image: &str, reuse: Reuse) -> Option<String> {
        let request = Request::new(image, "default");
        let image = ImageReference::parse(image).unwrap();
        let content = matching_content(config_map, &request, &image, reuse)?;
        let seal = Seal::from_role(role, config_map)?;
        verified_image(&seal, &image, &content).and_then(|observed| observed.digest)
    }

    #[test]
    fn content_is_reused_where_a_launch_has_verified_its_image() {
        let by_digest = &format!("registry.example/etcd@{DIGEST}");
        let by_tag = "registry.example/etcd:1.0";
        let (of_digest, of_tag) = (filled(by_digest), filled(by_tag));
        let mut altered = of_digest.clone();
        altered.data.as_mut().unwrap().insert("csv.yaml".into(), "kind: Secret\n".into());
        let mut foreign = role(UID, &of_digest, by_digest, DIGEST);
        foreign.metadata.labels = None;
        let mut unsealed = role(UID, &of_digest, by_digest, DIGEST);
        unsealed.metadata.annotations = None;
        let of = |config_map, image: &str| role(UID, config_map, image, DIGEST);
        let digest = Some(DIGEST.to_owned());
        let cases = [
            (
                "a digest",
                &of_digest,
                of(&of_digest, by_digest),
                by_digest.as_str(),
                Reuse::Digest,
                &digest,
            ),
            ("a digest", &of_digest, of(&of_digest, by_digest), by_digest, Reuse::Tag, &digest),
            ("a digest", &of_digest, of(&of_digest, by_digest), by_digest, Reuse::Never, &None),
            ("a tag", &of_tag, of(&of_tag, by_tag), by_tag, Reuse::Tag, &digest),
            ("a tag", &of_tag, of(&of_tag, by_tag), by_tag, Reuse::Digest, &None),
            ("another image", &of_tag, of(&of_tag, by_tag), by_digest, Reuse::Digest, &None),
            (
                "altered content",
                &altered,
                of(&of_digest, by_digest),
                by_digest,
                Reuse::Digest,
                &None,
            ),
            (
                "no content",
                &ConfigMap::default(),
                of(&of_digest, by_digest),
                by_digest,
                Reuse::Digest,
                &None,
            ),
            ("no seal", &of_digest, unsealed, by_digest, Reuse::Digest, &None),
            ("a Role of others", &of_digest, foreign, by_digest, Reuse::Digest, &None),
            (
                "a Role of another ConfigMap",
                &of_digest,
                role("gone", &of_digest, by_digest, DIGEST),
                by_digest,
                Reuse::Digest,
                &None,
            ),
            (
                "a seal of other content",
                &of_digest,
                of(&ConfigMap::default(), by_digest),
                by_digest,
                Reuse::Digest,
                &None,
            ),
            (
                "a seal of another digest",
                &of_digest,
                role(UID, &of_digest, by_digest, OTHER),
                by_digest,
                Reuse::Digest,
                &None,
            ),
            (
                "a seal of another image",
                &of_digest,
                of(&of_digest, by_tag),
                by_digest,
                Reuse::Digest,
                &None,
            ),
        ];
        for (name, config_map, role, image, reuse, expected) in cases {
            assert_eq!(
                &reused(config_map, &role, image, reuse),
                expected,
                "{name} under {reuse:?}"
            );
        }
    }
}
