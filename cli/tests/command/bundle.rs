use std::fs;
use std::path::Path;

use tempfile::TempDir;

pub(crate) const CSV: &str = "\
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: tea-operator.v1.2.3
  annotations:
    olm.skipRange: '>=1.0.0 <1.2.3'
spec:
  version: 1.2.3
  replaces: tea-operator.v1.2.2
  skips:
  - tea-operator.v1.2.1
  customresourcedefinitions:
    owned:
    - name: teas.example.com
      version: v1
      kind: Tea
    required:
    - name: kettles.example.com
      version: v1
      kind: Kettle
";

const CRD: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: teas.example.com
spec:
  group: example.com
  names: {kind: Tea, plural: teas}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true}
";

pub(crate) const ANNOTATIONS: &str = "\
annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: tea
  operators.operatorframework.io.bundle.channels.v1: beta,stable
  operators.operatorframework.io.bundle.channel.default.v1: stable
";

const DEPENDENCIES: &str = "\
dependencies:
- type: olm.package
  value: {packageName: kettle, version: '>=1.0.0'}
";

/// A bundle directory that is deleted when this value is dropped.
#[derive(Debug)]
pub(crate) struct Bundle {
    directory: TempDir,
}

impl Bundle {
    /// Creates a complete bundle without findings.
    pub(crate) fn new() -> Self {
        let bundle = Self { directory: tempfile::tempdir().unwrap() };
        bundle
            .with("manifests/tea.clusterserviceversion.yaml", CSV)
            .with("manifests/teas.crd.yaml", CRD)
            .with("metadata/annotations.yaml", ANNOTATIONS)
            .with("metadata/dependencies.yaml", DEPENDENCIES)
    }

    /// Adds or replaces a file.
    pub(crate) fn with(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    /// Removes a file or directory.
    pub(crate) fn without(self, path: &str) -> Self {
        let path = self.directory.path().join(path);
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
        self
    }

    /// Returns the path of the bundle.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the path as an argument.
    pub(crate) fn argument(&self) -> &str {
        self.path().to_str().unwrap()
    }
}
