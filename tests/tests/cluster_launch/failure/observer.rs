//! Observes when the cluster shows a failure, independently of the launcher.

use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::StreamExt;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ContainerState, Event, Pod};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use tokio::task::JoinHandle;
use unlade_launcher::{Name, Request, Step};

use crate::stage::PATIENCE;

/// The observation by which the cluster shows a failure.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Knows {
    /// The API server reports it to the launcher, so the launcher knows it from the beginning.
    Asked,
    /// A container is waiting, and not only for its turn.
    Stuck,
    /// A container has failed.
    Ended,
    /// A container or the pod meets this condition.
    Pod(fn(&Pod) -> bool),
    /// There is an event with this reason about the Job or its pod.
    Event(&'static str),
    /// A container has succeeded.
    Done,
    /// The Job has this condition.
    Job(&'static str),
    /// The test has carried out its action.
    Meddled,
    /// This time has passed since the launch reported the step.
    After(fn(&Step) -> bool, Duration),
}

#[derive(Debug)]
enum Seen {
    Pod(Box<Pod>),
    Event(Box<Event>),
    Job(Box<Job>),
    Step(Step),
    Meddled,
}

/// Everything that was observed, and when.
pub(crate) struct Observer {
    seen: Arc<Mutex<Vec<(Instant, Seen)>>>,
    watches: Vec<JoinHandle<()>>,
}

impl Observer {
    /// Watches the objects that are created for a request with a given name.
    pub(crate) fn start(client: &Client, request: &Request) -> Self {
        let Name::Given(name) = &request.name else { panic!("no name: {request:?}") };
        let seen: Arc<Mutex<Vec<_>>> = Arc::default();
        let mut observer = Self { seen, watches: Vec::new() };
        observer.watch(
            client,
            request,
            name,
            |pod| Seen::Pod(Box::new(pod)),
            |pod: &Pod| pod.name_any(),
        );
        observer.watch(
            client,
            request,
            name,
            |job| Seen::Job(Box::new(job)),
            |job: &Job| job.name_any(),
        );
        observer.watch(
            client,
            request,
            name,
            |event| Seen::Event(Box::new(event)),
            |event: &Event| event.involved_object.name.clone().unwrap_or_default(),
        );
        observer
    }

    fn watch<K>(
        &mut self,
        client: &Client,
        request: &Request,
        name: &str,
        seen: fn(K) -> Seen,
        object: fn(&K) -> String,
    ) where
        K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
            + Clone
            + fmt::Debug
            + serde::de::DeserializeOwned
            + Send
            + 'static,
    {
        let api: Api<K> = Api::namespaced(client.clone(), &request.namespace);
        let all = Arc::clone(&self.seen);
        let prefix = format!("{name}-");
        self.watches.push(tokio::spawn(async move {
            let changes = watcher(api, watcher::Config::default()).default_backoff();
            let mut changes = pin!(changes.applied_objects());
            while let Some(change) = changes.next().await {
                if let Ok(change) = change
                    && object(&change).starts_with(&prefix)
                {
                    all.lock().unwrap().push((Instant::now(), seen(change)));
                }
            }
        }));
    }

    /// Records a step that the launch reports.
    pub(crate) fn step(&self, step: &Step) {
        self.seen.lock().unwrap().push((Instant::now(), Seen::Step(step.clone())));
    }

    /// Records that the test has carried out its action.
    pub(crate) fn meddled(&self) {
        self.seen.lock().unwrap().push((Instant::now(), Seen::Meddled));
    }

    /// Returns when the cluster showed the reason; `None` if it never did. Waits, because the
    /// observer may lag behind the launcher.
    pub(crate) async fn known(&self, by: Knows, begun: Instant) -> Option<Instant> {
        let end = Instant::now() + PATIENCE;
        loop {
            let known = self.first(by, begun);
            if known.is_some() || Instant::now() > end {
                return known;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    fn first(&self, knows: Knows, begun: Instant) -> Option<Instant> {
        if matches!(knows, Knows::Asked) {
            return Some(begun);
        }
        let seen = self.seen.lock().unwrap();
        seen.iter().find_map(|(at, seen)| knows.delay_after(seen).map(|later| *at + later))
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.watches.iter().for_each(JoinHandle::abort);
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seen = self.seen.lock().unwrap();
        let states = seen.iter().filter_map(|(_, seen)| match seen {
            Seen::Pod(pod) => Some(format!("{:?}", states(pod).collect::<Vec<_>>())),
            Seen::Event(event) => Some(format!("{:?}: {:?}", event.reason, event.message)),
            Seen::Job(job) => Some(format!("{:?}", job.status)),
            Seen::Step(_) | Seen::Meddled => None,
        });
        formatter.debug_list().entries(states).finish()
    }
}

impl Knows {
    /// Returns the time after which this observation shows the failure; `None` if it does not.
    fn delay_after(self, seen: &Seen) -> Option<Duration> {
        let is_known = match (self, seen) {
            (Self::Stuck, Seen::Pod(pod)) => states(pod).any(is_stuck),
            (Self::Ended, Seen::Pod(pod)) => states(pod)
                .any(|state| state.terminated.as_ref().is_some_and(|ended| ended.exit_code != 0)),
            (Self::Done, Seen::Pod(pod)) => states(pod)
                .any(|state| state.terminated.as_ref().is_some_and(|ended| ended.exit_code == 0)),
            (Self::Pod(is), Seen::Pod(pod)) => is(pod),
            (Self::Event(reason), Seen::Event(event)) => event.reason.as_deref() == Some(reason),
            (Self::Job(kind), Seen::Job(job)) => {
                let conditions = job.status.iter().flat_map(|it| it.conditions.iter().flatten());
                conditions.into_iter().any(|it| it.type_ == kind && it.status == "True")
            }
            (Self::Meddled, Seen::Meddled) => true,
            (Self::After(is, later), Seen::Step(step)) => return is(step).then_some(later),
            _ => false,
        };
        is_known.then_some(Duration::ZERO)
    }
}

/// Returns the states of all containers.
fn states(pod: &Pod) -> impl Iterator<Item = &ContainerState> {
    let status = pod.status.as_ref();
    let init = status.and_then(|status| status.init_container_statuses.as_ref());
    let main = status.and_then(|status| status.container_statuses.as_ref());
    init.into_iter().chain(main).flatten().filter_map(|status| status.state.as_ref())
}

fn is_stuck(state: &ContainerState) -> bool {
    let reason = state.waiting.as_ref().and_then(|waiting| waiting.reason.as_deref());
    reason.is_some_and(|reason| !["ContainerCreating", "PodInitializing"].contains(&reason))
}
