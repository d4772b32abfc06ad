//! The plain call of the design of 2019 (004): two objects with random names, and no waiting.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ConfigMap;

use crate::{Failure, Options, Request, launch};

/// Makes a ConfigMap and the Job that fills it from a bundle image, and returns at once.
///
/// `init_image` is the image of `unlade-unpacker`, which an init container copies into the bundle
/// image's container. The names are random: `bundle-image-...` and `deploy-bundle-image-...`. The
/// ConfigMap owns all the rest, also what the Job is allowed: it is enough to delete that.
/// [`Launcher`](crate::Launcher) waits for the bundle, and tells why where there is none.
///
/// # Errors
///
/// If a name isn't legal, or the API server refuses an object or can't be reached for two minutes.
/// Nothing that was made stays then, as far as the API server can be reached.
pub async fn launch_bundle_image(
    client: kube::Client,
    bundle_image: &str,
    init_image: &str,
    namespace: &str,
) -> Result<(ConfigMap, Job), Failure> {
    let options = Options::new(init_image);
    let request = Request::new(bundle_image, namespace);
    Box::pin(launch::plain(&client, &options, &request)).await
}
