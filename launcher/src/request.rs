//! [`Request`]: a bundle to launch.

use derive_setters::Setters;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use unlade_config_map::Encoding;

use crate::Credentials;

/// A bundle image, and the ConfigMap for its content.
#[derive(Debug, Clone, PartialEq, Setters)]
#[setters(prefix = "with_", into, strip_option)]
#[non_exhaustive]
pub struct Request {
    /// The image reference, as the container runtime of the nodes accepts it.
    pub image: String,
    /// The namespace of all objects.
    pub namespace: String,
    /// The name of the ConfigMap.
    pub name: Name,
    /// How the ConfigMap's values are encoded.
    pub encoding: Encoding,
    /// The owner of the ConfigMap. The ConfigMap is deleted together with its owner.
    pub owner: Option<OwnerReference>,
    /// The credentials with which the nodes pull the images.
    pub credentials: Option<Credentials>,
}

/// The name of the ConfigMap, from which the names of the other objects are derived.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Name {
    /// A name that is derived from the image and from the options that affect the content. Launches
    /// of the same content share one ConfigMap.
    #[default]
    Derived,
    /// This name of at most 52 characters.
    Given(String),
    /// A new random name each time, as in OLM's design of 2019 (004).
    Generated,
}

impl Request {
    /// Returns a request for this image in this namespace, with defaults for everything else.
    pub fn new(image: impl Into<String>, namespace: impl Into<String>) -> Self {
        Self {
            image: image.into(),
            namespace: namespace.into(),
            name: Name::default(),
            encoding: Encoding::default(),
            owner: None,
            credentials: None,
        }
    }
}
