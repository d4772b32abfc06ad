//! A launcher dies after each of its requests, and another takes over.

use std::convert::Infallible;
use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use futures::future::{Either, select};
use futures::{FutureExt, pin_mut};
use http::Request;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::ResourceExt;
use kube::client::Body;
use tokio::sync::Notify;
use tower::{Layer, Service};
use unlade_format::mark;
use unlade_launcher::Launcher;

use crate::stage::{Stage, given};

/// More requests than a launch makes: then it succeeds.
const MOST: usize = 40;

#[test]
fn cluster_a_launcher_that_is_killed_at_any_step_can_be_run_again() {
    Stage::open("launch-killed", async |stage| {
        let image = stage.push_example("killed");
        for n in 1..MOST {
            let mut request = stage.request(&image.by_digest);
            request.name = given(&format!("killed-{n}"));
            let death = Death { left: Arc::new(AtomicUsize::new(n)), came: Arc::default() };
            let client = stage.client_with(&death).await;
            let launcher = Launcher::new(client, stage.options());
            let ended = {
                let run = launcher.launch(&request);
                let died = death.came.notified();
                pin_mut!(run, died);
                match select(run, died).await {
                    Either::Left((result, _)) => Some(result.unwrap()),
                    Either::Right(_) => None,
                }
            };
            if ended.is_some() {
                assert!(n > 10, "a launch of {n} requests");
                return;
            }
            let (again, steps) = stage.launch(&stage.options(), &request).await;
            let again = again.unwrap_or_else(|failure| panic!("after {n}: {failure:?} {steps:?}"));
            let name = again.config_map.name_any();
            stage.api::<Role>().get(&name).await.unwrap();
            stage.api::<RoleBinding>().get(&name).await.unwrap();
            let jobs = stage.list::<Job>().await;
            let ours = jobs.iter().filter(|job| job.name_any().starts_with(&format!("{name}-")));
            let [job] = ours.collect::<Vec<_>>()[..] else { panic!("after {n}: {jobs:?}") };
            assert_eq!(again.config_map.annotations()[mark::ATTEMPT], job.uid().unwrap());
        }
        panic!("a launch makes more than {MOST} requests");
    });
}

/// Lets so many requests through, and none of the answers from the last on.
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
                let answer = self.inner.call(request);
                async move {
                    let _ = answer.await;
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
