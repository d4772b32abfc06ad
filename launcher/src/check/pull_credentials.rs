//! Checks of the pull secrets: whether they exist, have the right type, and have credentials for
//! the image.
//!
//! The checks report nothing of the content of a secret except its registries.

use futures::{StreamExt as _, stream};
use k8s_openapi::api::core::v1::Secret;
use unlade_diagnose::PullSecretEntries;

use super::cluster::Cluster;
use super::{Category, Check, Outcome, Topic};
use crate::call::send_for_value;
use crate::{Failure, Reason, Remedy};
use unlade_name::ImageReference;

const GIVEN: Topic = Topic(Category::PullSecrets, "given");
const USABLE: Topic = Topic(Category::PullSecrets, "usable");
const COVERS: Topic = Topic(Category::PullSecrets, "covers-image");

/// Returns the check of a launch that creates its pull secret.
pub(super) fn lent() -> Check {
    GIVEN.ok("the launch gives the nodes the credentials of this machine for the image")
}

/// The maximum number of secrets that are read concurrently.
const CONCURRENCY: usize = 4;

/// Checks the secrets. `bundle` is the image for which they need credentials, if it is known.
pub(super) async fn checks(
    cluster: &Cluster<'_>,
    names: &[String],
    bundle: Option<&ImageReference>,
    tool: &ImageReference,
) -> Vec<Check> {
    if names.is_empty() {
        return vec![
            GIVEN.ok("no pull secret is given: the nodes pull images with their own credentials"),
        ];
    }
    let api = cluster.api::<Secret>();
    let read = stream::iter(names).map(async |name| {
        let found = send_for_value(&format!("read the Secret {name}"), || api.get_opt(name)).await;
        judge(name, found)
    });
    let (mut checks, entries): (Vec<_>, Vec<_>) = read.buffered(CONCURRENCY).unzip().await;
    checks.extend(bundle.map(|bundle| judge_coverage(&entries, bundle, tool)));
    checks
}

/// Judges a secret. Also returns its registries if the secret can be read and used.
fn judge(name: &str, found: Result<Option<Secret>, Failure>) -> (Check, Option<PullSecretEntries>) {
    match found.map(|secret| PullSecretEntries::read(name, secret.as_ref())) {
        Ok(Ok(entries)) => {
            let check =
                USABLE.ok(format!("the pull secret {name} exists and has a type for pull secrets"));
            (check, Some(entries))
        }
        Ok(Err(failure)) => (USABLE.report(Outcome::Failed, failure), None),
        Err(failure) if failure.reason == Reason::Forbidden => {
            let message =
                format!("the pull secret {name} was not checked: reading it is forbidden");
            (USABLE.skipped(message), None)
        }
        Err(failure) => (USABLE.report(Outcome::Warning, failure), None),
    }
}

/// Judges whether the secrets together have credentials for the image. Without credentials the
/// kubelet pulls anonymously.
fn judge_coverage(
    secrets: &[Option<PullSecretEntries>],
    bundle: &ImageReference,
    tool: &ImageReference,
) -> Check {
    let cover = |image: &ImageReference| secrets.iter().flatten().any(|it| it.cover(image));
    let image = format!("{}/{}", bundle.registry(), bundle.repository());
    if cover(bundle) {
        COVERS.ok(format!("the pull secrets have an entry for {image}"))
    } else if secrets.contains(&None) {
        COVERS.skipped(format!("cannot check whether the pull secrets have an entry for {image}"))
    } else {
        // Secrets that cover neither image are useless, which is certainly a mistake.
        let outcome = if cover(tool) { Outcome::Warning } else { Outcome::Failed };
        COVERS
            .check(outcome, format!("the pull secrets have no entry for {image}"))
            .with_hint("add an entry, or make sure that the nodes have credentials of their own")
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
    fn a_secret_must_exist_and_have_the_right_type() {
        let forbidden = Err(Failure::new(Reason::Forbidden, "no"));
        for (found, outcome) in [
            (Ok(Some(secret("registry.example"))), Outcome::Ok),
            (Ok(Some(Secret::default())), Outcome::Failed),
            (Ok(None), Outcome::Failed),
            (forbidden, Outcome::Skipped),
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
        let parse = |text: &str| ImageReference::parse(text).unwrap();
        for (secrets, tool, outcome) in [
            (vec![known("registry.example")], theirs, Outcome::Ok),
            (vec![known("registry.test"), known("registry.example")], theirs, Outcome::Ok),
            (vec![known("registry.test")], theirs, Outcome::Warning),
            (vec![known("registry.test")], ours, Outcome::Failed),
            (vec![known("registry.test"), missing()], ours, Outcome::Skipped),
            (vec![known("registry.test"), unread()], ours, Outcome::Skipped),
            (vec![known("registry.example"), unread()], ours, Outcome::Ok),
        ] {
            let check = judge_coverage(&secrets, &parse(ours), &parse(tool));
            assert_eq!(check.outcome, outcome, "{secrets:?}, {tool}");
        }
    }
}
