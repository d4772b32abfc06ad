//! Pull secrets: they are there, of the right type, and have credentials for the image.
//!
//! Nothing of what is in a secret is told but the registries that it is for.

use futures::{StreamExt as _, stream};
use k8s_openapi::api::core::v1::Secret;

use super::cluster::Cluster;
use super::{Category, Check, Outcome, Topic};
use crate::failure::Entries;
use crate::launch::ask_for;
use crate::{Failure, ImageReference, Reason, Remedy};

const GIVEN: Topic = Topic(Category::PullSecrets, "given");
const USABLE: Topic = Topic(Category::PullSecrets, "usable");
const COVERS: Topic = Topic(Category::PullSecrets, "covers-image");

/// Most secrets that are read at once.
const CONCURRENCY: usize = 4;

/// Looks at all of them; `bundle` is the image that is to be launched, if it is known.
pub(super) async fn checks(
    cluster: &Cluster<'_>,
    names: &[String],
    bundle: Option<&ImageReference>,
    tool: &ImageReference,
) -> Vec<Check> {
    if names.is_empty() {
        return vec![GIVEN.ok("no pull secret is given: images are pulled as the nodes can")];
    }
    let api = cluster.api::<Secret>();
    let read = stream::iter(names).map(async |name| {
        let found = ask_for(&format!("read Secret {name}"), || api.get_opt(name)).await;
        judge(name, found)
    });
    let (mut checks, entries): (Vec<_>, Vec<_>) = read.buffered(CONCURRENCY).unzip().await;
    checks.extend(bundle.map(|bundle| covered(&entries, bundle, tool)));
    checks
}

/// What is to be said of a secret, and what it is for if it can be used and read.
fn judge(name: &str, found: Result<Option<Secret>, Failure>) -> (Check, Option<Entries>) {
    match found.map(|secret| Entries::read(name, secret.as_ref())) {
        Ok(Ok(entries)) => {
            let check = USABLE.ok(format!("pull secret {name} is there, of a type for pulling"));
            (check, Some(entries))
        }
        Ok(Err(failure)) => (USABLE.of(Outcome::Failed, failure), None),
        Err(failure) if failure.reason == Reason::Forbidden => {
            let message = format!("pull secret {name} isn't looked at: reading it is forbidden");
            (USABLE.left_out(message), None)
        }
        Err(failure) => (USABLE.of(Outcome::Warning, failure), None),
    }
}

/// Whether the secrets together have credentials for the image. The kubelet asks a registry that
/// they have none for without any.
fn covered(secrets: &[Option<Entries>], bundle: &ImageReference, tool: &ImageReference) -> Check {
    let cover = |image: &ImageReference| secrets.iter().flatten().any(|it| it.cover(image));
    let image = format!("{}/{}", bundle.registry(), bundle.repository());
    if cover(bundle) {
        COVERS.ok(format!("the pull secrets have an entry for {image}"))
    } else if secrets.contains(&None) {
        COVERS.left_out(format!("can't tell whether the pull secrets have an entry for {image}"))
    } else {
        // If they are of no use at all, that wasn't meant.
        let outcome = if cover(tool) { Outcome::Warning } else { Outcome::Failed };
        COVERS
            .check(outcome, format!("the pull secrets have no entry for {image}"))
            .hinted("without one, the image is pulled with the credentials of the nodes")
            .with_remedies(&[Remedy::PullSecret])
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::ByteString;

    use super::*;

    fn secret(registry: &str) -> Secret {
        let json = format!(r#"{{"auths": {{"{registry}": {{"auth": "YTpi"}}}}}}"#);
        Secret {
            type_: Some("kubernetes.io/dockerconfigjson".to_owned()),
            data: Some([(".dockerconfigjson".to_owned(), ByteString(json.into()))].into()),
            ..Secret::default()
        }
    }

    #[test]
    fn a_secret_is_there_and_of_the_right_type() {
        let forbidden = Err(Failure::new(Reason::Forbidden, "no"));
        for (found, outcome) in [
            (Ok(Some(secret("registry.example"))), Outcome::Ok),
            (Ok(Some(Secret::default())), Outcome::Failed),
            (Ok(None), Outcome::Failed),
            (forbidden, Outcome::LeftOut),
        ] {
            assert_eq!(judge("mine", found).0.outcome, outcome);
        }
    }

    #[test]
    fn secrets_cover_the_image_together() {
        let known = |registry| judge("mine", Ok(Some(secret(registry)))).1;
        let unread = || judge("mine", Err(Failure::new(Reason::Forbidden, "no"))).1;
        let missing = || judge("mine", Ok(None)).1;
        let (ours, theirs) = ("registry.example/a", "registry.test/a");
        let of = |text: &str| ImageReference::parse(text).unwrap();
        for (secrets, tool, outcome) in [
            (vec![known("registry.example")], theirs, Outcome::Ok),
            (vec![known("registry.test"), known("registry.example")], theirs, Outcome::Ok),
            (vec![known("registry.test")], theirs, Outcome::Warning),
            (vec![known("registry.test")], ours, Outcome::Failed),
            (vec![known("registry.test"), missing()], ours, Outcome::LeftOut),
            (vec![known("registry.test"), unread()], ours, Outcome::LeftOut),
            (vec![known("registry.example"), unread()], ours, Outcome::Ok),
        ] {
            let check = covered(&secrets, &of(ours), &of(tool));
            assert_eq!(check.outcome, outcome, "{secrets:?}, {tool}");
        }
    }
}
