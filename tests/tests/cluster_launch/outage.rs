//! Parts of the cluster fail in the middle of a launch, and return.

use futures::StreamExt;
use futures::channel::mpsc::unbounded;
use unlade_launcher::{LaunchUpdate, Launcher, Reason, Step};
use unlade_testbed::{Error, Part, Settings, Testbed};

use crate::stage::{Stage, given};

/// Runs an action on the testbed in another thread, so that the launch continues.
async fn on_testbed(action: impl FnOnce(&Testbed) -> Result<(), Error> + Send + 'static) {
    let act = || action(&Testbed::open(&Settings::from_env()?)?);
    tokio::task::spawn_blocking(act).await.unwrap().unwrap();
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_restarts_of_the_api_server_and_of_etcd_lose_nothing() {
    Stage::open_alone("launch-outage", async |stage| {
        let image = stage.push_example("outage");
        for part in [Part::ApiServer, Part::Etcd] {
            let mut request = stage.request(&image.by_tag);
            request.name = given(&format!("outage-{part:?}"));
            let job = format!("outage-{part:?}-1").to_lowercase();
            // The pod waits until the outage has ended.
            on_testbed(|testbed| testbed.pause(Part::Scheduler).map(drop)).await;
            let outage = async {
                stage.wait_for_pod_of(&job).await;
                on_testbed(move |testbed| {
                    testbed.restart(part)?;
                    testbed.wait_until_ready()?;
                    testbed.resume(Part::Scheduler).map(drop)
                })
                .await;
            };
            let options = stage.options();
            let ((launched, steps), ()) = futures::join!(stage.launch(&options, &request), outage);
            let launched = launched.unwrap_or_else(|failure| panic!("{part:?}: {failure:?}"));
            assert_eq!(launched.job, Some(job), "{steps:?}");
        }
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_an_api_server_that_is_away_is_waited_for() {
    Stage::open_alone("launch-away", async |stage| {
        let image = stage.push_example("away");
        let (options, request) = (stage.options(), stage.request(&image.by_tag));
        // The launch cannot end before the server is back.
        on_testbed(|testbed| testbed.pause(Part::Scheduler).map(drop)).await;
        let ours = Launcher::new(stage.client.clone(), options);
        // The launch continues while the testbed changes.
        let (sender, mut updates) = unbounded();
        let launch = async move {
            let updates = ours.launch_with_updates(request);
            updates.for_each(async |update| sender.unbounded_send(update).unwrap()).await;
        };
        let outage = async {
            let mut is_reported = false;
            loop {
                let event = match updates.next().await.unwrap() {
                    LaunchUpdate::Event(event) => event,
                    LaunchUpdate::Ended(result) => return (result, is_reported),
                };
                match event.step {
                    Step::Created { .. } => {
                        on_testbed(|testbed| testbed.kill(Part::ApiServer).map(drop)).await;
                    }
                    Step::Waiting { failure }
                        if failure.reason == Reason::ApiUnreachable && !is_reported =>
                    {
                        is_reported = true;
                        on_testbed(|testbed| {
                            testbed.start(Part::ApiServer)?;
                            testbed.wait_until_ready()?;
                            testbed.resume(Part::Scheduler).map(drop)
                        })
                        .await;
                    }
                    _ => {}
                }
            }
        };
        let ((), (launched, is_reported)) = futures::join!(launch, outage);
        launched.unwrap();
        assert!(is_reported);
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_the_launch_continues_on_a_node_that_comes_back() {
    Stage::open_alone("launch-node", async |stage| {
        let image = stage.push_example("node");
        let mut request = stage.request(&image.by_tag);
        request.name = given("node");
        on_testbed(|testbed| testbed.lose_node(0)).await;
        let back = async {
            stage.wait_for_pod_of("node-1").await;
            on_testbed(|testbed| testbed.return_node(0)).await;
        };
        let mut options = stage.options();
        options.pod.node_selector.insert("kubernetes.io/hostname".into(), "node0".into());
        let ((launched, steps), ()) = futures::join!(stage.launch(&options, &request), back);
        let launched = launched.unwrap();
        assert_eq!(launched.job.as_deref(), Some("node-1"), "{steps:?}");
    });
}
