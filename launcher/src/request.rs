//! [`Request`]: one bundle to launch.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use unlade_config_map::Encoding;

/// One bundle image, and where its content goes.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Request {
    /// The image, as the nodes' runtime takes it.
    pub image: String,
    /// The namespace of everything that is made.
    pub namespace: String,
    /// The name of the ConfigMap.
    pub name: Name,
    /// How the ConfigMap's values are encoded.
    pub encoding: Encoding,
    /// Who owns the ConfigMap; it goes with its owner.
    pub owner: Option<OwnerReference>,
}

/// The name of the ConfigMap, which the others derive from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Name {
    /// A function of the image and of the options of the content: who asks for the same content
    /// meets in one ConfigMap.
    #[default]
    Derived,
    /// This one, at most 52 characters.
    Given(String),
    /// A new random one each time, as the design of 2019 has it (004).
    Generated,
}

impl Request {
    /// This image in this namespace, everything else by default.
    pub fn new(image: impl Into<String>, namespace: impl Into<String>) -> Self {
        Self {
            image: image.into(),
            namespace: namespace.into(),
            name: Name::default(),
            encoding: Encoding::default(),
            owner: None,
        }
    }
}
