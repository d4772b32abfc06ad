//! The objects of OLM's own unpack Job.

use serde_json::{Value, json};

use super::Olm;

/// The objects that OLM 0.46 creates to unpack a bundle, as its `bundle_unpacker.go` does, with
/// `--set-workload-user-id`, as in its chart.
///
/// There are two differences: the names are not the digest of the image, so that an image can be
/// unpacked many times, and no CatalogSource owns the ConfigMap.
#[derive(Debug, Clone)]
pub struct Unpack<'a> {
    /// The name of all five objects.
    pub name: &'a str,
    /// Their namespace.
    pub namespace: &'a str,
    /// The image of the bundle.
    pub bundle: &'a str,
}

impl Unpack<'_> {
    /// Returns the ConfigMap, which is empty at first.
    pub fn config_map(&self) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": self.name,
                "namespace": self.namespace,
                "labels": {"olm.managed": "true"},
            },
        })
    }

    /// Returns the permissions of the pod, in the order in which OLM creates them: Role,
    /// ServiceAccount and RoleBinding.
    pub fn access(&self, config_map_uid: &str) -> [Value; 3] {
        let metadata = self.owned(config_map_uid, &json!({"olm.managed": "true"}));
        [
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "Role",
                "metadata": metadata,
                "rules": [{
                    "apiGroups": [""],
                    "resources": ["configmaps"],
                    "resourceNames": [self.name],
                    "verbs": ["create", "get", "update"],
                }],
            }),
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}),
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "RoleBinding",
                "metadata": metadata,
                "subjects": [
                    {"kind": "ServiceAccount", "name": self.name, "namespace": self.namespace},
                ],
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "Role",
                    "name": self.name,
                },
            }),
        ]
    }

    /// Returns the Job with its three containers.
    pub fn job(&self, olm: &Olm, config_map_uid: &str) -> Value {
        let labels =
            json!({"olm.managed": "true", "operatorframework.io/bundle-unpack-ref": self.name});
        let pull = if self.bundle.contains('@') { "IfNotPresent" } else { "Always" };
        json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": self.owned(config_map_uid, &labels),
            "spec": {
                "ttlSecondsAfterFinished": 300,
                "backoffLimit": 3,
                "activeDeadlineSeconds": 600,
                "template": {
                    "metadata": {"name": self.name, "labels": labels},
                    "spec": {
                        "restartPolicy": "Never",
                        "serviceAccountName": self.name,
                        "nodeSelector": {"kubernetes.io/os": "linux"},
                        "securityContext": {
                            "seccompProfile": {"type": "RuntimeDefault"},
                            "runAsNonRoot": true,
                            "runAsUser": 1001,
                        },
                        "tolerations": tolerations(),
                        "volumes": [
                            {"name": "bundle", "emptyDir": {}},
                            {"name": "util", "emptyDir": {}},
                        ],
                        "initContainers": [
                            container(&json!({
                                "name": "util",
                                "image": olm.util,
                                "command": ["/bin/cp", "-Rv", "/bin/cpb", "/util/cpb"],
                                "volumeMounts": [{"name": "util", "mountPath": "/util"}],
                            })),
                            container(&json!({
                                "name": "pull",
                                "image": self.bundle,
                                "imagePullPolicy": pull,
                                "command": ["/util/cpb", "/bundle"],
                                "volumeMounts": [
                                    {"name": "bundle", "mountPath": "/bundle"},
                                    {"name": "util", "mountPath": "/util"},
                                ],
                            })),
                        ],
                        "containers": [container(&json!({
                            "name": "extract",
                            "image": olm.opm,
                            "command": [
                                "opm", "alpha", "bundle", "extract",
                                "-m", "/bundle/", "-n", self.namespace, "-c", self.name, "-z",
                            ],
                            "env": [{"name": "CONTAINER_IMAGE", "value": self.bundle}],
                            "volumeMounts": [{"name": "bundle", "mountPath": "/bundle"}],
                        }))],
                    },
                },
            },
        })
    }

    fn owned(&self, config_map_uid: &str, labels: &Value) -> Value {
        json!({
            "name": self.name,
            "namespace": self.namespace,
            "labels": labels,
            "ownerReferences": [{
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "name": self.name,
                "uid": config_map_uid,
                "controller": false,
                "blockOwnerDeletion": false,
            }],
        })
    }
}

/// Adds the fields that all three containers have.
fn container(own: &Value) -> Value {
    let mut all = json!({
        "resources": {"requests": {"cpu": "10m", "memory": "50Mi"}},
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            "capabilities": {"drop": ["ALL"]},
        },
    });
    if let (Some(all), Some(own)) = (all.as_object_mut(), own.as_object()) {
        all.extend(own.clone());
    }
    all
}

fn tolerations() -> Vec<Value> {
    let architectures = ["amd64", "arm64", "ppc64le", "s390x"];
    let architectures = architectures
        .into_iter()
        .map(|name| json!({"key": "kubernetes.io/arch", "operator": "Equal", "value": name}));
    let master = json!({
        "key": "node-role.kubernetes.io/master",
        "operator": "Exists",
        "effect": "NoSchedule",
    });
    let conditions = ["unreachable", "not-ready"].map(|condition| {
        json!({
            "key": format!("node.kubernetes.io/{condition}"),
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": 120,
        })
    });
    architectures.chain([master]).chain(conditions).collect()
}
