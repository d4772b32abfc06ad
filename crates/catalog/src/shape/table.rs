//! The structs of operator-registry `alpha/declcfg/declcfg.go` and `alpha/property/property.go`,
//! and of operator-framework/api `v1alpha1`, with their fields in the order in which they are
//! written.

use unlade_bundle::property::{GVK, GVK_REQUIRED, PACKAGE as PACKAGE_PROPERTY, PACKAGE_REQUIRED};

use super::Field;
use super::Shape::{self, Any, Bool, Bytes, Int, List, Map, Struct, Text};
use crate::record::{BUNDLE_OBJECT, CHANNEL_PROPERTY, CSV_METADATA};

/// Returns a field that upstream always writes.
const fn field(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, is_optional: false }
}

/// Returns a field that upstream writes only if it is not empty.
const fn optional(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, is_optional: true }
}

/// An `olm.package`.
const PACKAGE: Shape = Struct(&[
    field("schema", Text),
    field("name", Text),
    field("defaultChannel", Text),
    optional("icon", Struct(&[field("base64data", Bytes), field("mediatype", Text)])),
    optional("description", Text),
    optional("properties", PROPERTIES),
]);

/// An `olm.channel`.
const CHANNEL: Shape = Struct(&[
    field("schema", Text),
    field("name", Text),
    field("package", Text),
    field("entries", ENTRIES),
    optional("properties", PROPERTIES),
]);

/// The entries of a channel.
const ENTRIES: Shape = List(&Struct(&[
    field("name", Text),
    optional("replaces", Text),
    optional("skips", List(&Text)),
    optional("skipRange", Text),
]));

/// An `olm.bundle`.
pub(crate) const BUNDLE: Shape = Struct(&[
    field("schema", Text),
    optional("name", Text),
    optional("package", Text),
    field("image", Text),
    optional("properties", PROPERTIES),
    optional("relatedImages", RELATED_IMAGES),
]);

/// An `olm.deprecations`.
const DEPRECATIONS: Shape = Struct(&[
    field("schema", Text),
    field("package", Text),
    field(
        "entries",
        List(&Struct(&[
            field("reference", Struct(&[field("schema", Text), optional("name", Text)])),
            field("message", Text),
        ])),
    ),
]);

/// Returns the shape of a meta. Returns `None` if upstream does not know the schema.
pub(crate) fn meta(schema: &str) -> Option<&'static Shape> {
    match schema {
        crate::PACKAGE => Some(&PACKAGE),
        crate::CHANNEL => Some(&CHANNEL),
        crate::BUNDLE => Some(&BUNDLE),
        crate::DEPRECATIONS => Some(&DEPRECATIONS),
        _ => None,
    }
}

/// Returns the shape of the value of a property. Any value fits a type that upstream does not know.
pub(crate) fn property(kind: &str) -> &'static Shape {
    const PACKAGE: Shape =
        Struct(&[field("packageName", Text), field("version", Text), optional("release", Text)]);
    const REQUIRED: Shape = Struct(&[field("packageName", Text), field("versionRange", Text)]);
    const CHANNEL: Shape =
        Struct(&[field("channelName", Text), field("priority", Int(i64::MIN, i64::MAX))]);
    const OBJECT: Shape = Struct(&[field("data", Bytes)]);
    match kind {
        PACKAGE_PROPERTY => &PACKAGE,
        PACKAGE_REQUIRED => &REQUIRED,
        GVK | GVK_REQUIRED => &GROUP_VERSION_KIND,
        CHANNEL_PROPERTY => &CHANNEL,
        BUNDLE_OBJECT => &OBJECT,
        CSV_METADATA => &METADATA,
        _ => &Any,
    }
}

const PROPERTIES: Shape = List(&PROPERTY);

/// A property of a meta.
pub(crate) const PROPERTY: Shape = Struct(&[field("type", Text), field("value", Any)]);

/// The related images of a bundle.
pub(crate) const RELATED_IMAGES: Shape = List(&RELATED_IMAGE);

/// A related image of a bundle.
pub(crate) const RELATED_IMAGE: Shape = Struct(&[field("name", Text), field("image", Text)]);

const GROUP_VERSION_KIND: Shape =
    Struct(&[field("group", Text), field("version", Text), field("kind", Text)]);

const LINK: Shape = Struct(&[optional("name", Text), optional("url", Text)]);

/// The value of an `olm.csv.metadata` property.
pub(crate) const METADATA: Shape = Struct(&[
    optional("annotations", Map(&Text)),
    field(
        "apiServiceDefinitions",
        Struct(&[optional("owned", List(&API)), optional("required", List(&API))]),
    ),
    field(
        "crdDescriptions",
        Struct(&[optional("owned", List(&CRD)), optional("required", List(&CRD))]),
    ),
    optional("description", Text),
    optional("displayName", Text),
    optional("installModes", List(&Struct(&[field("type", Text), field("supported", Bool)]))),
    optional("keywords", List(&Text)),
    optional("labels", Map(&Text)),
    optional("links", List(&LINK)),
    optional("maintainers", List(&Struct(&[optional("name", Text), optional("email", Text)]))),
    optional("maturity", Text),
    optional("minKubeVersion", Text),
    optional("nativeAPIs", List(&GROUP_VERSION_KIND)),
    field("provider", LINK),
]);

const API: Shape = Struct(&[
    field("name", Text),
    field("group", Text),
    field("version", Text),
    field("kind", Text),
    optional("deploymentName", Text),
    optional("containerPort", Int(i32::MIN as i64, i32::MAX as i64)),
    optional("displayName", Text),
    optional("description", Text),
    optional("resources", List(&RESOURCE)),
    optional("statusDescriptors", List(&DESCRIPTOR)),
    optional("specDescriptors", List(&DESCRIPTOR)),
    optional("actionDescriptors", List(&DESCRIPTOR)),
]);

const CRD: Shape = Struct(&[
    field("name", Text),
    field("version", Text),
    field("kind", Text),
    optional("displayName", Text),
    optional("description", Text),
    optional("resources", List(&RESOURCE)),
    optional("statusDescriptors", List(&DESCRIPTOR)),
    optional("specDescriptors", List(&DESCRIPTOR)),
    optional("actionDescriptors", List(&DESCRIPTOR)),
]);

const RESOURCE: Shape = Struct(&[field("name", Text), field("kind", Text), field("version", Text)]);

const DESCRIPTOR: Shape = Struct(&[
    field("path", Text),
    optional("displayName", Text),
    optional("description", Text),
    optional("x-descriptors", List(&Text)),
    optional("value", Any),
]);

/// The icons of a ClusterServiceVersion.
pub(crate) const ICONS: Shape =
    List(&Struct(&[field("mediatype", Text), field("base64data", Bytes)]));

/// An `olm.template.basic`.
pub(crate) const BASIC: Shape = Struct(&[field("schema", Text), field("entries", List(&Any))]);

/// An `olm.template.substitutes`.
pub(crate) const SUBSTITUTES: Shape = Struct(&[
    field("schema", Text),
    field("entries", List(&Any)),
    field("substitutions", List(&Struct(&[field("name", Text), field("base", Text)]))),
]);

/// An `olm.semver`.
pub(crate) const SEMVER: Shape = Struct(&[
    field("schema", Text),
    field("generateMajorChannels", Bool),
    field("generateMinorChannels", Bool),
    field("defaultChannelTypePreference", Text),
    field("candidate", IMAGES),
    field("fast", IMAGES),
    field("stable", IMAGES),
]);

const IMAGES: Shape = Struct(&[field("bundles", List(&Struct(&[field("image", Text)])))]);
