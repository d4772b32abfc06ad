//! Images that cannot be pulled.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ObjectMeta, PostParams};
use unlade_launcher::{Reason, Strategy};
use unlade_oci::Platform;
use unlade_oci::build::bundle;
use unlade_testbed::UNREACHABLE;
use unlade_testbed::registry::{Answer, Fault, FaultyRepository};
use unlade_tests::example;

use super::observer::Knows;
use super::{Case, run};
use crate::stage::Stage;

/// Responses of a registry, and the reasons that they mean.
const ANSWERS: [(&str, Answer, Reason); 6] = [
    ("pull-401", Answer::Status(401), Reason::Unauthorized),
    ("pull-403", Answer::Status(403), Reason::Unauthorized),
    ("pull-404", Answer::Status(404), Reason::ImageNotFound),
    ("pull-429", Answer::Status(429), Reason::RateLimited),
    ("pull-500", Answer::Status(500), Reason::RegistryFailing),
    ("pull-cut", Answer::Cut(50), Reason::RegistryFailing),
];

/// Sets a fault for the image with this name.
fn fault<'c>(stage: &Stage<'c>, name: &str, answer: Answer) -> FaultyRepository<'c> {
    let testbed = stage.cluster.testbed();
    testbed.fault_registry(&format!("launch/{name}"), Fault::always(answer)).unwrap()
}

fn is_passing(reason: Reason) -> bool {
    matches!(reason, Reason::RateLimited | Reason::RegistryFailing)
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_the_response_of_a_registry_is_reported_before_any_deadline() {
    Stage::open("failure-pull", async |stage| {
        let mut faults = Vec::new();
        let mut cases = Vec::new();
        for strategy in [Strategy::ImageVolume, Strategy::Inject] {
            for (name, answer, reason) in ANSWERS {
                let volume = strategy == Strategy::ImageVolume;
                // Names are kept for the table.
                let name = if volume { name } else { injected(name) };
                let image = stage.push_example(name).by_tag;
                faults.push(fault(stage, name, answer));
                let case = Case::new(stage, name, &image, reason);
                let case = case.with(|options| options.strategy = strategy);
                cases.push(if is_passing(reason) { case.passing() } else { case });
            }
        }
        run(cases).await;
    });
}

fn injected(name: &str) -> &'static str {
    ["pull-401i", "pull-403i", "pull-404i", "pull-429i", "pull-500i", "pull-cuti"]
        .into_iter()
        .find(|injected| injected.trim_end_matches('i') == name)
        .unwrap()
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_an_image_that_cannot_be_found_or_reached_is_reported_before_any_deadline() {
    Stage::open("failure-image", async |stage| {
        let image = stage.push_example("other-platform").by_tag;
        let arm: Platform = "linux/arm64".parse().unwrap();
        let foreign = bundle::image(&example(), arm, &unlade_bundle::Limits::default()).unwrap();
        let index = stage.cluster.push_index(&[foreign], "launch/foreign:1");
        let registry = stage.cluster.registry();
        let missing = format!("{registry}/launch/other-platform:none");
        let nowhere = format!("{registry}/launch/nowhere:1");
        let [refusing, named] = UNREACHABLE.map(|host| format!("{host}/none:1"));
        let tool = format!("{registry}/launch/no-tool:1");
        run([
            Case::new(stage, "no-tag", &missing, Reason::ImageNotFound),
            Case::new(stage, "no-repository", &nowhere, Reason::ImageNotFound),
            Case::new(stage, "no-tool", &image, Reason::ImageNotFound)
                .saying("launch/no-tool:1")
                .with(|options| options.tool_image = tool),
            Case::new(stage, "no-registry", &refusing, Reason::RegistryUnreachable).passing(),
            Case::new(stage, "no-host", &named, Reason::RegistryUnreachable).passing(),
            Case::new(stage, "platform", &index, Reason::NoMatchingPlatform),
            Case::new(stage, "no-name", "registry.example/UPPER:1", Reason::InvalidReference)
                .known_by(Knows::Asked),
        ])
        .await;
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_a_pull_secret_that_is_of_no_use_is_named() {
    Stage::open("failure-secret", async |stage| {
        let private = stage.push_example("private").by_tag;
        let _fault = fault(stage, "private", Answer::Status(401));
        let (json, key) = ("kubernetes.io/dockerconfigjson", ".dockerconfigjson");
        let auths = |entry: &str, auth: &str| {
            format!(r#"{{"auths": {{"{entry}": {{"auth": "{auth}"}}}}}}"#)
        };
        let other = auths("registry.example", "YTpi");
        let broken = auths(stage.cluster.registry(), "!");
        let unknown = auths(stage.cluster.registry(), "YTpi");
        for (name, kind, text) in [
            ("opaque", "Opaque", &other),
            ("other", json, &other),
            ("broken", json, &broken),
            ("unknown", json, &unknown),
        ] {
            let secret = Secret {
                metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
                type_: Some(kind.to_owned()),
                data: Some([(key.to_owned(), ByteString(text.as_bytes().to_vec()))].into()),
                ..Secret::default()
            };
            stage.api::<Secret>().create(&PostParams::default(), &secret).await.unwrap();
        }
        let case = |name, secret: &str, reason, says| {
            let secret = secret.to_owned();
            let case = Case::new(stage, name, &private, reason).saying(says);
            case.with(|options| options.pod.pull_secrets = vec![secret])
        };
        run([
            case("secret-missing", "none", Reason::NoPullSecret, "none does not exist"),
            case("secret-type", "opaque", Reason::BadPullSecret, "is of type Opaque"),
            case("secret-entry", "other", Reason::BadPullSecret, "has no entry for the image"),
            case("secret-broken", "broken", Reason::BadPullSecret, ""),
            // Only the registry can tell whether the credentials are valid.
            case("secret-unknown", "unknown", Reason::Unauthorized, ""),
        ])
        .await;
    });
}
