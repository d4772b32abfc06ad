//! The schemas of the documents of an image, which correspond to their Go types.
//!
//! The fields are those of image-spec v1.1 (`specs-go/v1`), and the additional ones of Docker's
//! types, which engines read too.

/// The type that Go expects of a JSON value. Null is always accepted, and leaves a field empty.
#[derive(Debug)]
pub enum Schema {
    /// A value that engines do not read.
    Any,
    /// `string`
    Text,
    /// `string`, a name in the platform of a [`Descriptor`](crate::Descriptor): at most
    /// [`PLATFORM`](crate::limit::PLATFORM) ASCII characters, but not `armbe`, which oci-spec reads
    /// as the architecture `arm64be`.
    Name,
    /// `int` and `int64`
    Integer,
    /// `bool`
    Bool,
    /// `[]byte`, in base64
    Bytes,
    /// `time.Time`
    Time,
    /// A slice of values with this schema.
    List(&'static Schema),
    /// A map from strings to values with this schema. Its keys are compared exactly.
    Map(&'static Schema),
    /// A struct. Its fields match in any letter case.
    Struct(&'static [(&'static str, Schema)]),
}

use Schema::{Any, Bool, Bytes, Integer, List, Map, Name, Struct, Text, Time};

const TEXTS: Schema = List(&Text);
/// `map[string]struct{}`
const SET: Schema = Map(&Struct(&[]));

const PLATFORM: Schema = Struct(&[
    ("architecture", Name),
    ("os", Name),
    ("os.version", Text),
    ("os.features", List(&Name)),
    ("variant", Name),
    ("features", TEXTS),
]);

const DESCRIPTOR: Schema = Struct(&[
    ("mediaType", Text),
    ("digest", Text),
    ("size", Integer),
    ("urls", TEXTS),
    ("annotations", Map(&Text)),
    ("data", Bytes),
    ("platform", PLATFORM),
    ("artifactType", Text),
]);

/// `oci-layout`
pub(super) const LAYOUT: Schema = Struct(&[("imageLayoutVersion", Text)]);

/// A manifest or an index. One schema has the fields of both, so that a document with both is
/// detected.
pub(super) const MANIFEST: Schema = Struct(&[
    ("schemaVersion", Integer),
    ("mediaType", Text),
    ("artifactType", Text),
    ("config", DESCRIPTOR),
    ("layers", List(&DESCRIPTOR)),
    ("manifests", List(&DESCRIPTOR)),
    ("fsLayers", Any),
    ("subject", DESCRIPTOR),
    ("annotations", Map(&Text)),
]);

const EXECUTION: Schema = Struct(&[
    ("User", Text),
    ("ExposedPorts", SET),
    ("Env", TEXTS),
    ("Entrypoint", TEXTS),
    ("Cmd", TEXTS),
    ("Volumes", SET),
    ("WorkingDir", Text),
    ("Labels", Map(&Text)),
    ("StopSignal", Text),
    ("ArgsEscaped", Bool),
]);

const HISTORY: Schema = Struct(&[
    ("created", Time),
    ("created_by", Text),
    ("author", Text),
    ("comment", Text),
    ("empty_layer", Bool),
]);

/// The configuration of an image. `container_config` is Docker's record of the build.
pub(super) const CONFIGURATION: Schema = Struct(&[
    ("created", Time),
    ("author", Text),
    ("architecture", Text),
    ("os", Text),
    ("os.version", Text),
    ("os.features", TEXTS),
    ("variant", Text),
    ("config", EXECUTION),
    ("rootfs", Struct(&[("type", Text), ("diff_ids", TEXTS)])),
    ("history", List(&HISTORY)),
    ("container_config", EXECUTION),
]);

/// `manifest.json` of a docker archive: moby's `manifestItem`.
pub(super) const DOCKER_MANIFEST: Schema = List(&Struct(&[
    ("Config", Text),
    ("RepoTags", TEXTS),
    ("Layers", TEXTS),
    ("Parent", Text),
    ("LayerSources", Map(&DESCRIPTOR)),
]));
