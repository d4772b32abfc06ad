//! The call from OLM's design of 2019: two objects with random names, and no waiting.
//!
//! Requirements 004.3 to 004.6 of the design (`LaunchBundleImage`) are the reason for it. The programs
//! of unlade do not use it: they launch with [`Launcher`], which waits, and finds earlier launches.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ConfigMap;

use crate::{Failure, Launcher, Options, Request, launch};

/// Creates a ConfigMap and the Job that fills it from a bundle image, and returns without waiting
/// for the Job.
///
/// `init_image` is the image of `unlade-unpacker`, which an init container copies into the bundle
/// image's container. The names are random: `bundle-image-...` and `deploy-bundle-image-...`. The
/// ConfigMap owns all other objects, so it is enough to delete the ConfigMap.
/// [`Launcher`] waits for the bundle, and reports why a launch failed.
///
/// # Errors
///
/// Returns an error if a name is invalid, or if the API server rejects an object or cannot be
/// reached for two minutes. The objects that were created are then deleted, if the API server can
/// be reached.
pub async fn launch_bundle_image(
    client: kube::Client,
    bundle_image: &str,
    init_image: &str,
    namespace: &str,
) -> Result<(ConfigMap, Job), Failure> {
    let launcher = Launcher::new(client, Options::new(init_image));
    let request = Request::new(bundle_image, namespace);
    Box::pin(launch::plain(&launcher, &request)).await
}
