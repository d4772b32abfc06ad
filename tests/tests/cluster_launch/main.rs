//! The launcher on a real cluster: bundles with both strategies, the number of requests, and
//! launchers that run at the same time, are killed, or start again.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests, which clippy does not count as such"
)]

mod batch;
mod failure;
mod image;
mod killed;
mod left;
mod meddling;
mod network_policy;
mod outage;
mod pack;
mod plain;
mod stage;

use futures::{StreamExt, stream};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use unlade_bundle::{Content, Limits};
use unlade_config_map::{mark, protocol::record};
use unlade_launcher::{Reason, Reuse, Step, Strategy};
use unlade_oci::Platform;
use unlade_oci::build::Image;
use unlade_tests::corpus;

use stage::{Stage, finished, given};

/// The step between the real bundles that are launched.
const STEP: usize = 24;

/// The number of launches that run at the same time.
const AT_ONCE: usize = 4;

const BOTH: [Strategy; 2] = [Strategy::Inject, Strategy::ImageVolume];

#[test]
#[ignore = "needs a testbed, the published bundles"]
fn cluster_real_bundles_are_launched_in_both_strategies() {
    Stage::open("launch-real", async |stage| {
        let samples = corpus::published().into_iter();
        let launches = samples.step_by(STEP).enumerate().map(async |(at, sample)| {
            let image = stage.push(&format!("real-{at}"), &sample.path);
            let content = Content::assemble(sample.files(), &Limits::default()).unwrap().content;
            for strategy in BOTH {
                let mut options = stage.options();
                options.strategy = strategy;
                let mut request = stage.request(&image.by_tag);
                request.name = given(&format!("real-{at}-{strategy:?}"));
                let (launched, steps) = stage.launch(&options, &request).await;
                let launched =
                    launched.unwrap_or_else(|error| panic!("{}: {error:?}", sample.name));
                assert_eq!(launched.strategy, Some(strategy));
                assert_eq!(launched.config_map.annotations()[mark::DIGEST], content.digest());
                assert!(matches!(steps.last(), Some(Step::Written)), "{steps:?}");
            }
        });
        stream::iter(launches).buffer_unordered(AT_ONCE).collect::<()>().await;
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_the_bundle_is_there_before_the_job_is_complete() {
    Stage::open("launch-early", async |stage| {
        let image = stage.push_example("early");
        let (launched, _) = stage.launch(&stage.options(), &stage.request(&image.by_tag)).await;
        let launched = launched.unwrap();
        let job = stage.api::<Job>().get(launched.job.as_ref().unwrap()).await.unwrap();
        assert_eq!(launched.config_map.annotations()[mark::ATTEMPT], job.uid().unwrap());
        assert!(!finished(&job), "{:?}", job.status);
        let loaded = launched.load(&unlade_loader::Options::default()).unwrap();
        assert_eq!(loaded.bundle.csv_name, "hello-operator.v0.2.0");
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_a_launch_makes_no_more_than_its_writes() {
    Stage::open("launch-writes", async |stage| {
        let image = stage.push_example("writes");
        let own = [
            "PATCH roles",
            "POST configmaps",
            "POST jobs",
            "POST rolebindings",
            "POST roles",
            "POST serviceaccounts",
        ];
        let request = stage.request(&image.by_digest);
        let launched = stage.launch(&stage.options(), &request).await.0.unwrap();
        assert_eq!(stage.writes(), own, "and the pod's");
        // The pod makes one of the writes: the ConfigMap was created and filled, and nothing else.
        assert_eq!(stage.versions(&launched.config_map).await, 2);

        // The digest of a tag is recorded on the ConfigMap too.
        let mut options = stage.options();
        options.resolve_digest = true;
        let launched = stage.launch(&options, &stage.request(&image.by_tag)).await.0.unwrap();
        assert_eq!(stage.writes(), [&["PATCH configmaps"], &own[..]].concat(), "and the pod's");
        assert_eq!(launched.image.digest.as_ref(), Some(&image.digest));
        assert_eq!(launched.config_map.annotations()[record::IMAGE_DIGEST], image.digest);

        // With an existing account.
        stage.account("unpacker");
        let mut options = stage.options();
        options.pod.service_account = Some("unpacker".into());
        let mut request = stage.request(&image.by_digest);
        request.name = given("given");
        let launched = stage.launch(&options, &request).await.0.unwrap();
        assert_eq!(stage.writes(), ["POST configmaps", "POST jobs"], "and the pod's");
        assert_eq!(stage.versions(&launched.config_map).await, 2);
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_existing_content_needs_no_job() {
    Stage::open("launch-again", async |stage| {
        let image = stage.push_example("again");
        let request = stage.request(&image.by_digest);
        let first = stage.launch(&stage.options(), &request).await.0.unwrap();
        assert_eq!(first.image.digest.as_ref(), Some(&image.digest));
        let (again, steps) = stage.launch(&stage.options(), &request).await;
        let again = again.unwrap();
        assert!(matches!(steps.last(), Some(Step::Reused)), "{steps:?}");
        assert_eq!((again.job, again.image.digest), (None, Some(image.digest.clone())));
        assert_eq!(again.config_map.resource_version(), first.config_map.resource_version());

        let mut options = stage.options();
        options.reuse = Reuse::Never;
        let again = stage.launch(&options, &request).await.0.unwrap();
        assert!(again.job.is_some_and(|job| Some(job) != first.job));

        // A tag without a recorded digest needs a Job each time; a tag with one does not.
        let request = stage.request(&image.by_tag);
        let mut by_tag = stage.options();
        by_tag.reuse = Reuse::Tag;
        let expected = [
            (stage.options(), true),
            (by_tag.clone(), true),
            (by_tag, false),
            (stage.options(), true),
        ];
        for (at, (options, has_job)) in expected.into_iter().enumerate() {
            let launched = stage.launch(&options, &request).await.0.unwrap();
            assert_eq!(launched.job.is_some(), has_job, "the launch {at}");
        }

        // Content that someone has changed is not reused.
        let patch = r#"--patch={"data":{"altered.yaml":"kind: Secret"}}"#;
        stage.kubectl(&["patch", "configmap", &first.config_map.name_any(), "--type=merge", patch]);
        let request = stage.request(&image.by_digest);
        let launched = stage.launch(&stage.options(), &request).await.0.unwrap();
        assert!(launched.job.is_some());
        assert!(!launched.config_map.data.unwrap().contains_key("altered.yaml"));
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_two_launchers_make_one_job() {
    Stage::open("launch-two", async |stage| {
        let image = stage.push_example("two");
        let request = stage.request(&image.by_tag);
        let options = stage.options();
        let (one, other) =
            futures::join!(stage.launch(&options, &request), stage.launch(&options, &request));
        let (one, other) = (one.0.unwrap(), other.0.unwrap());
        assert_eq!(one.job, other.job);
        assert_eq!(one.config_map, other.config_map);
        assert_eq!(stage.list::<Job>().await.len(), 1);
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_a_bad_bundle_ends_at_once_with_the_reason_and_its_log() {
    Stage::open("launch-bad", async |stage| {
        let image = stage.push_image("bad", &Image::from_scratch(Platform::host()));
        for strategy in BOTH {
            let mut options = stage.options();
            options.strategy = strategy;
            let mut request = stage.request(&image.by_tag);
            request.name = given(&format!("bad-{strategy:?}"));
            let failure = stage.launch(&options, &request).await.0.unwrap_err();
            assert_eq!(failure.reason, Reason::BadBundle, "{failure:?}");
            assert!(!failure.evidence.log.is_empty(), "{failure:?}");
            let name = format!("bad-{strategy:?}").to_lowercase();
            let config_map = stage.api::<ConfigMap>().get(&name).await.unwrap();
            let text = &config_map.annotations()[record::FAILURE];
            assert!(text.contains("badBundle"), "{text}");
        }
        // The Jobs have ended, and stay for the retention time of a failure.
        for job in stage.list::<Job>().await {
            let job: Job = stage.wait(&job.name_any(), finished).await;
            assert_eq!(job.spec.unwrap().ttl_seconds_after_finished, Some(3600));
        }
    });
}
