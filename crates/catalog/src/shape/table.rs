//! The structs of operator-registry `alpha/declcfg/declcfg.go` and `alpha/property/property.go`, and
//! of operator-framework/api `v1alpha1`.

use unlade_bundle::property::{GVK, GVK_REQUIRED, PACKAGE as PACKAGE_PROPERTY, PACKAGE_REQUIRED};

use super::Shape::{self, Any, Bool, Bytes, Int, List, Map, Struct, Text};
use crate::record::{BUNDLE_OBJECT, CHANNEL_PROPERTY, CSV_METADATA};

/// An `olm.package`.
pub(crate) const PACKAGE: Shape = Struct(&[
    ("schema", Text),
    ("name", Text),
    ("defaultChannel", Text),
    ("icon", Struct(&[("base64data", Bytes), ("mediatype", Text)])),
    ("description", Text),
    ("properties", PROPERTIES),
]);

/// An `olm.channel`.
pub(crate) const CHANNEL: Shape = Struct(&[
    ("schema", Text),
    ("name", Text),
    ("package", Text),
    (
        "entries",
        List(&Struct(&[
            ("name", Text),
            ("replaces", Text),
            ("skips", List(&Text)),
            ("skipRange", Text),
        ])),
    ),
    ("properties", PROPERTIES),
]);

/// An `olm.bundle`.
pub(crate) const BUNDLE: Shape = Struct(&[
    ("schema", Text),
    ("name", Text),
    ("package", Text),
    ("image", Text),
    ("properties", PROPERTIES),
    ("relatedImages", List(&Struct(&[("name", Text), ("image", Text)]))),
]);

/// An `olm.deprecations`.
pub(crate) const DEPRECATIONS: Shape = Struct(&[
    ("schema", Text),
    ("package", Text),
    (
        "entries",
        List(&Struct(&[
            ("reference", Struct(&[("schema", Text), ("name", Text)])),
            ("message", Text),
        ])),
    ),
]);

/// Returns the shape of the value of a property. Any value fits a type that upstream does not know.
pub(crate) fn property(kind: &str) -> &'static Shape {
    match kind {
        PACKAGE_PROPERTY => &Struct(&[("packageName", Text), ("version", Text), ("release", Text)]),
        PACKAGE_REQUIRED => &Struct(&[("packageName", Text), ("versionRange", Text)]),
        GVK | GVK_REQUIRED => &GROUP_VERSION_KIND,
        CHANNEL_PROPERTY => {
            &Struct(&[("channelName", Text), ("priority", Int(i64::MIN, i64::MAX))])
        }
        BUNDLE_OBJECT => &Struct(&[("data", Bytes)]),
        CSV_METADATA => &METADATA,
        _ => &Any,
    }
}

const PROPERTIES: Shape = List(&Struct(&[("type", Text), ("value", Any)]));

const GROUP_VERSION_KIND: Shape = Struct(&[("group", Text), ("kind", Text), ("version", Text)]);

const LINK: Shape = Struct(&[("name", Text), ("url", Text)]);

const METADATA: Shape = Struct(&[
    ("annotations", Map(&Text)),
    ("apiServiceDefinitions", Struct(&[("owned", List(&API)), ("required", List(&API))])),
    ("crdDescriptions", Struct(&[("owned", List(&CRD)), ("required", List(&CRD))])),
    ("description", Text),
    ("displayName", Text),
    ("installModes", List(&Struct(&[("type", Text), ("supported", Bool)]))),
    ("keywords", List(&Text)),
    ("labels", Map(&Text)),
    ("links", List(&LINK)),
    ("maintainers", List(&Struct(&[("name", Text), ("email", Text)]))),
    ("maturity", Text),
    ("minKubeVersion", Text),
    ("nativeAPIs", List(&GROUP_VERSION_KIND)),
    ("provider", LINK),
]);

const API: Shape = Struct(&[
    ("name", Text),
    ("group", Text),
    ("version", Text),
    ("kind", Text),
    ("deploymentName", Text),
    ("containerPort", Int(i32::MIN as i64, i32::MAX as i64)),
    ("displayName", Text),
    ("description", Text),
    ("resources", List(&RESOURCE)),
    ("statusDescriptors", List(&DESCRIPTOR)),
    ("specDescriptors", List(&DESCRIPTOR)),
    ("actionDescriptors", List(&DESCRIPTOR)),
]);

const CRD: Shape = Struct(&[
    ("name", Text),
    ("version", Text),
    ("kind", Text),
    ("displayName", Text),
    ("description", Text),
    ("resources", List(&RESOURCE)),
    ("statusDescriptors", List(&DESCRIPTOR)),
    ("specDescriptors", List(&DESCRIPTOR)),
    ("actionDescriptors", List(&DESCRIPTOR)),
]);

const RESOURCE: Shape = Struct(&[("name", Text), ("kind", Text), ("version", Text)]);

const DESCRIPTOR: Shape = Struct(&[
    ("path", Text),
    ("displayName", Text),
    ("description", Text),
    ("x-descriptors", List(&Text)),
    ("value", Any),
]);
