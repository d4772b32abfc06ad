//! Bundles that share a Job.

use std::num::NonZeroUsize;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use unlade_config_map::{mark, protocol::record};
use unlade_launcher::{Batch, DigestSource, LaunchOutcome, Launcher, Reason};
use unlade_oci::Platform;
use unlade_oci::build::Image;
use unlade_tests::corpus;

use crate::stage::{Stage, finished};

fn packs(size: usize) -> Batch {
    let pack = NonZeroUsize::new(size).unwrap();
    Batch::default().with_pack(pack).with_keep_going(true)
}

fn is_pack(job: Option<&String>) -> bool {
    job.is_some_and(|job| job.starts_with("pack-"))
}

#[test]
#[ignore = "needs a testbed, the published bundles"]
fn cluster_sixteen_bundles_are_filled_by_two_jobs() {
    Stage::open("launch-packs", async |stage| {
        let samples = corpus::published().into_iter().take(16).enumerate();
        let images = samples.map(|(at, sample)| stage.push(&format!("pack-{at}"), &sample.path));
        let images: Vec<_> = images.collect();
        let requests: Vec<_> = images.iter().map(|image| stage.request(&image.by_digest)).collect();
        let launcher = Launcher::new(stage.client.clone(), stage.options());
        stage.writes();
        let outcomes = launcher.launch_all(&requests, &packs(8)).await;
        for (image, outcome) in images.iter().zip(&outcomes) {
            let LaunchOutcome::Launched(filled) = outcome else { panic!("{outcome:?}") };
            assert!(is_pack(filled.job.as_ref()), "{:?}", filled.job);
            assert_eq!(filled.image.digest.as_ref(), Some(&image.digest));
            let source = filled.image.digest_source;
            assert!(matches!(
                source,
                Some(DigestSource::PodReference | DigestSource::VolumeStatus)
            ));
        }
        let jobs = stage.list::<Job>().await;
        assert_eq!(jobs.len(), 2);
        // For each bundle, its ConfigMap and its seal, and for each Job, three objects that grant
        // access and itself.
        assert_eq!(stage.writes().len(), 2 * 16 + 4 * 2, "and the pods'");

        let again = launcher.launch_all(&requests, &packs(8)).await;
        let is_reused = |outcome: &LaunchOutcome| match outcome {
            LaunchOutcome::Launched(found) => found.job.is_none(),
            _ => false,
        };
        assert!(again.iter().all(is_reused), "{again:?}");
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_a_missing_image_and_a_broken_bundle_of_a_pack_fail_alone() {
    Stage::open("launch-pack-bad", async |stage| {
        let good = [stage.push_example("pack-good-0"), stage.push_example("pack-good-1")];
        let broken = stage.push_image("pack-broken", &Image::from_scratch(Platform::host()));
        let (name, _) = good[0].by_digest.rsplit_once('/').unwrap();
        let missing = format!("{name}/pack-missing:1");
        let images = [&good[0].by_digest, &missing, &broken.by_digest, &good[1].by_digest];
        let requests = images.map(|image| stage.request(image));
        let launcher = Launcher::new(stage.client.clone(), stage.options());
        let outcomes = launcher.launch_all(&requests, &packs(8)).await;
        let [first, absent, bad, last] = &outcomes[..] else { panic!("{outcomes:?}") };
        for outcome in [first, last] {
            let LaunchOutcome::Launched(filled) = outcome else { panic!("{outcome:?}") };
            assert!(is_pack(filled.job.as_ref()), "{:?}", filled.job);
            let loaded = filled.load(&unlade_loader::Options::default()).unwrap();
            assert_eq!(loaded.bundle.csv_name, "hello-operator.v0.2.0");
        }
        for (outcome, reason) in [(absent, Reason::ImageNotFound), (bad, Reason::BadBundle)] {
            let LaunchOutcome::Failed(failure) = outcome else { panic!("{outcome:?}") };
            assert_eq!(failure.reason, reason, "{failure:?}");
        }
        let failed = stage.list::<ConfigMap>().await;
        let failed = failed.iter().filter(|it| it.annotations().contains_key(record::FAILURE));
        assert_eq!(failed.clone().count(), 2);
        assert!(failed.clone().all(|it| !it.annotations().contains_key(mark::ATTEMPT)));
        for job in stage.list::<Job>().await {
            let _: Job = stage.wait(&job.name_any(), finished).await;
        }
    });
}
