//! Whether the content is there already.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use unlade_format::record::IMAGE_DIGEST;
use unlade_format::{Encoding, Limits, decode};

use super::Launch;
use crate::config_map::of_format;
use crate::{ImageReference, Request, Reuse};

impl Launch<'_> {
    /// The digest of the image whose content the ConfigMap holds, if it may be taken.
    pub(super) fn reusable(&self, config_map: &ConfigMap) -> Option<String> {
        reusable(config_map, self.request, self.plan.image(), self.options.reuse)
    }
}

fn reusable(
    config_map: &ConfigMap,
    request: &Request,
    image: &ImageReference,
    reuse: Reuse,
) -> Option<String> {
    let recorded = config_map.annotations().get(IMAGE_DIGEST);
    let digest = match (image.digest(), reuse) {
        (_, Reuse::Never) | (None, Reuse::Digest) => return None,
        (Some(digest), Reuse::Digest | Reuse::Tag) => digest,
        (None, Reuse::Tag) => recorded?,
    };
    let decoded = decode(&[of_format(config_map)], &Limits::default()).ok()?;
    let is_encoded = request.encoding == Encoding::Auto || request.encoding == decoded.encoding;
    let is_of_image = decoded.source_image.as_ref() == Some(&request.image);
    // Only what unlade wrote has a digest, which was verified.
    (decoded.digest.is_some() && is_of_image && is_encoded).then(|| digest.to_owned())
}

#[cfg(test)]
mod tests {
    use unlade_format::{Content, Directory, File, encode};

    use super::*;

    const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn filled(image: &str) -> ConfigMap {
        let file = File {
            directory: Directory::Manifests,
            name: "csv.yaml".into(),
            bytes: b"kind: ClusterServiceVersion\n".to_vec(),
        };
        let reading = Content::assemble(vec![file], &Limits::default()).unwrap();
        let options = encode::Options {
            source_image: Some(image.to_owned()),
            attempt: Some("earlier".to_owned()),
            ..encode::Options::default()
        };
        let encoded = encode(&reading.content, &options).unwrap();
        serde_json::from_value(serde_json::to_value(&encoded[0]).unwrap()).unwrap()
    }

    fn check(config_map: &ConfigMap, image: &str, reuse: Reuse) -> Option<String> {
        let request = Request::new(image, "default");
        reusable(config_map, &request, &ImageReference::parse(image).unwrap(), reuse)
    }

    #[test]
    fn content_is_reused_where_its_image_is_known_for_sure() {
        let by_digest = format!("registry.example/etcd@{DIGEST}");
        let by_tag = "registry.example/etcd:1.0";
        let mut recorded = filled(by_tag);
        recorded.annotations_mut().insert(IMAGE_DIGEST.into(), DIGEST.into());
        let mut altered = filled(&by_digest);
        let data = altered.data.as_mut().unwrap();
        data.insert("csv.yaml".into(), "kind: Secret\n".into());
        let digest = Some(DIGEST.to_owned());
        let cases = [
            ("a digest", filled(&by_digest), by_digest.as_str(), Reuse::Digest, &digest),
            ("a digest", filled(&by_digest), &by_digest, Reuse::Tag, &digest),
            ("a digest", filled(&by_digest), &by_digest, Reuse::Never, &None),
            ("another image", filled(by_tag), &by_digest, Reuse::Digest, &None),
            ("altered content", altered, &by_digest, Reuse::Digest, &None),
            ("an empty one", ConfigMap::default(), &by_digest, Reuse::Digest, &None),
            ("a tag", filled(by_tag), by_tag, Reuse::Tag, &None),
            ("a tag of a known digest", recorded.clone(), by_tag, Reuse::Tag, &digest),
            ("a tag of a known digest", recorded, by_tag, Reuse::Digest, &None),
        ];
        for (name, config_map, image, reuse, expected) in cases {
            assert_eq!(&check(&config_map, image, reuse), expected, "{name} under {reuse:?}");
        }
    }
}
