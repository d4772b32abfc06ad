//! A launcher is killed after each of its requests, and another one takes over.

use std::convert::Infallible;
use std::future::pending;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use futures::future::{Either, select};
use futures::{FutureExt, StreamExt, pin_mut, stream};
use http::Request;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::ResourceExt;
use kube::client::Body;
use tokio::sync::Notify;
use tower::{Layer, Service};
use unlade_config_map::mark;
use unlade_launcher::Launcher;

use crate::stage::{Stage, given};

/// More requests than a launch sends, so that the last launch succeeds.
const MOST: usize = 40;

/// The number of launchers that run at the same time.
const AT_ONCE: usize = 4;

#[test]
#[ignore = "needs a testbed"]
fn cluster_a_launcher_that_is_killed_at_any_step_can_be_run_again() {
    Stage::open("launch-killed", async |stage| {
        let image = stage.push_example("killed").by_digest;
        let killed = stream::iter(1..MOST).map(|n| killed_after(stage, &image, n));
        let mut killed = pin!(killed.buffered(AT_ONCE));
        let mut n_steps = 0;
        while killed.next().await == Some(true) {
            n_steps += 1;
        }
        assert!((10..MOST - 1).contains(&n_steps), "a launch of {n_steps} requests");
    });
}

/// Stops a launcher after `n` requests, and checks that another one completes its launch. Returns
/// `false` if the launch succeeded before that.
async fn killed_after(stage: &Stage<'_>, image: &str, n: usize) -> bool {
    let mut request = stage.request(image);
    request.name = given(&format!("killed-{n}"));
    let death = Death { left: Arc::new(AtomicUsize::new(n)), came: Arc::default() };
    let launcher = Launcher::new(stage.client_with(&death).await, stage.options());
    {
        let run = launcher.launch(&request);
        let died = death.came.notified();
        pin_mut!(run, died);
        if let Either::Left((result, _)) = select(run, died).await {
            result.unwrap();
            return false;
        }
    }
    let (again, steps) = stage.launch(&stage.options(), &request).await;
    let again = again.unwrap_or_else(|failure| panic!("after {n}: {failure:?} {steps:?}"));
    let name = again.config_map.name_any();
    stage.api::<Role>().get(&name).await.unwrap();
    stage.api::<RoleBinding>().get(&name).await.unwrap();
    let jobs = stage.list::<Job>().await;
    let ours = jobs.iter().filter(|job| job.name_any().starts_with(&format!("{name}-")));
    // Content that was written but not yet verified is written again, by another Job.
    let ours: Vec<_> = ours.collect();
    assert!((1..=2).contains(&ours.len()), "after {n}: {jobs:?}");
    let newest = ours.into_iter().max_by_key(|job| job.name_any()).unwrap();
    assert_eq!(again.config_map.annotations().get(mark::ATTEMPT), newest.uid().as_ref());
    true
}

/// Forwards this number of requests, but not the response to the last one, nor anything after it.
#[derive(Debug, Clone)]
pub(crate) struct Death {
    left: Arc<AtomicUsize>,
    came: Arc<Notify>,
}

#[derive(Debug, Clone)]
pub(crate) struct Dying<S> {
    inner: S,
    death: Death,
}

impl<S> Layer<S> for Death {
    type Service = Dying<S>;

    fn layer(&self, inner: S) -> Dying<S> {
        Dying { inner, death: self.clone() }
    }
}

impl<S: Service<Request<Body>>> Service<Request<Body>> for Dying<S>
where
    S::Future: Send + 'static,
    S::Response: Send + 'static,
    S::Error: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let Death { left, came } = self.death.clone();
        match left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)) {
            Ok(1) => {
                let response = self.inner.call(request);
                async move {
                    let _ = response.await;
                    came.notify_one();
                    match pending::<Infallible>().await {}
                }
                .boxed()
            }
            Ok(_) => self.inner.call(request).boxed(),
            Err(_) => pending().boxed(),
        }
    }
}
