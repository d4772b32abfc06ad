//! The volumes of the pod.

use k8s_openapi::api::core::v1::{
    ConfigMapProjection, DownwardAPIProjection, DownwardAPIVolumeFile, EmptyDirVolumeSource,
    ImageVolumeSource, KeyToPath, ObjectFieldSelector, ProjectedVolumeSource,
    ServiceAccountTokenProjection, Volume, VolumeMount, VolumeProjection,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::{Mount, Plan};

/// The volume of the bundle image. In a pack, a dash and the name of the ConfigMap follow.
pub(crate) const BUNDLE: &str = "bundle";
/// The volume that the unpacker is copied to.
pub(super) const INJECTED: &str = "injected";
/// The volume with the token of the service account, the certificate authority and the namespace.
pub(super) const ACCOUNT: &str = "service-account";
/// The standard path of these files in a pod.
pub(super) const ACCOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The validity of the token in seconds, which is the minimum. The kubelet renews the token.
const EXPIRATION: i64 = 600;

pub(super) fn bundle(plan: &Plan<'_>, mount: Mount<'_>) -> Volume {
    Volume {
        name: mount.volume,
        image: Some(ImageVolumeSource {
            reference: Some(mount.image.to_string()),
            pull_policy: Some(super::bundle_policy(plan, mount.image).into()),
        }),
        ..Volume::default()
    }
}

pub(super) fn injected() -> Volume {
    Volume {
        name: INJECTED.into(),
        empty_dir: Some(EmptyDirVolumeSource {
            // The unpacker is about 3 MiB large.
            size_limit: Some(Quantity("16Mi".into())),
            ..EmptyDirVolumeSource::default()
        }),
        ..Volume::default()
    }
}

/// Returns the volume that the kubelet would mount into every container, so that only one container
/// gets it.
pub(super) fn account() -> Volume {
    let token = ServiceAccountTokenProjection {
        path: "token".into(),
        expiration_seconds: Some(EXPIRATION),
        audience: None,
    };
    let authority = ConfigMapProjection {
        name: "kube-root-ca.crt".into(),
        items: Some(vec![KeyToPath { key: "ca.crt".into(), path: "ca.crt".into(), mode: None }]),
        optional: None,
    };
    let namespace = DownwardAPIVolumeFile {
        path: "namespace".into(),
        field_ref: Some(ObjectFieldSelector {
            field_path: "metadata.namespace".into(),
            api_version: Some("v1".into()),
        }),
        ..DownwardAPIVolumeFile::default()
    };
    let sources = vec![
        VolumeProjection { service_account_token: Some(token), ..VolumeProjection::default() },
        VolumeProjection { config_map: Some(authority), ..VolumeProjection::default() },
        VolumeProjection {
            downward_api: Some(DownwardAPIProjection { items: Some(vec![namespace]) }),
            ..VolumeProjection::default()
        },
    ];
    Volume {
        name: ACCOUNT.into(),
        projected: Some(ProjectedVolumeSource { sources: Some(sources), default_mode: None }),
        ..Volume::default()
    }
}

pub(super) fn read_only(volume: &str, path: &str) -> VolumeMount {
    VolumeMount {
        name: volume.into(),
        mount_path: path.into(),
        read_only: Some(true),
        ..VolumeMount::default()
    }
}
