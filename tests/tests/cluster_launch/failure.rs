//! Provokes each reason for which a launch can fail on a real cluster. The launch must report the
//! reason because the cluster shows it, and not because a deadline has passed.
//!
//! The time that this takes is printed but not asserted, because it depends on what else the
//! machine is doing.

mod admission;
mod bundle;
mod deadline;
mod observer;
mod others;
mod pull;
mod rights;
mod slow;
mod start;
mod webhook;

use std::time::Instant;

use futures::future::LocalBoxFuture;
use futures::{StreamExt, stream};
use kube::Client;
use unlade_launcher::{Failure, LaunchUpdate, Launcher, Options, Reason, Request, Step};

use crate::stage::{PATIENCE, Stage, given};
use observer::{Knows, Observer};
pub(crate) use start::changed;

/// The beginning of the message of a failure that a deadline caused.
const BY_DEADLINE: &str = "timed out after";

/// The number of launches that run at the same time.
const BESIDE: usize = 4;

/// One way to make a launch fail.
pub(crate) struct Case<'s> {
    name: &'static str,
    reason: Reason,
    /// Part of the message.
    says: &'static str,
    /// Whether the failure ends the launch. Otherwise, the launch reports it and waits.
    is_final: bool,
    /// The observation by which the cluster shows the failure.
    knows: Knows,
    client: Client,
    options: Options,
    request: Request,
    /// The action during the launch, until it is done.
    meddle: Option<LocalBoxFuture<'s, ()>>,
}

impl<'s> Case<'s> {
    /// Returns a launch of `image` that ends with `reason` once a container cannot start.
    pub(crate) fn new(stage: &Stage<'_>, name: &'static str, image: &str, reason: Reason) -> Self {
        let mut request = stage.request(image);
        request.name = given(name);
        Self {
            name,
            reason,
            says: "",
            is_final: true,
            knows: Knows::Stuck,
            client: stage.client.clone(),
            options: stage.options(),
            request,
            meddle: None,
        }
    }

    /// Expects that the failure is reported, and that the launch continues because the failure may
    /// be temporary.
    fn passing(self) -> Self {
        Self { is_final: false, ..self }
    }

    fn known_by(self, knows: Knows) -> Self {
        Self { knows, ..self }
    }

    fn saying(self, says: &'static str) -> Self {
        Self { says, ..self }
    }

    fn with(mut self, change: impl FnOnce(&mut Options)) -> Self {
        change(&mut self.options);
        self
    }

    fn within(mut self, namespace: &str) -> Self {
        namespace.clone_into(&mut self.request.namespace);
        self
    }

    fn by(self, client: Client) -> Self {
        Self { client, ..self }
    }

    /// Does something while the launch runs; when it is done, the cluster shows the failure.
    fn meddled(self, meddle: impl Future<Output = ()> + 's) -> Self {
        Self { meddle: Some(Box::pin(meddle)), knows: Knows::Meddled, ..self }
    }

    async fn run(mut self) -> Result<(), String> {
        let observer = Observer::start(&self.client, &self.request);
        let begun = Instant::now();
        let mut steps = Vec::new();
        let reported =
            tokio::time::timeout(PATIENCE, self.wait_for_failure(&mut steps, &observer)).await;
        let now = Instant::now();
        let name = self.name;
        let Ok((failure, is_over)) = reported else {
            return Err(format!("{name}: nothing was reported: {steps:?} {observer:?}"));
        };
        let is_right = failure.reason == self.reason
            && failure.message.contains(self.says)
            && is_over == self.is_final
            && (is_over || failure.is_transient)
            && failure.message.starts_with(BY_DEADLINE) == matches!(self.knows, Knows::After(..));
        if !is_right {
            return Err(format!("{name}: {failure:?}, over: {is_over}, after {steps:?}"));
        }
        let Some(known) = observer.known(self.knows, begun).await else {
            return Err(format!("{name}: the cluster does not report {failure:?}: {observer:?}"));
        };
        let after = now.saturating_duration_since(known);
        println!(
            "| {name} | {:?} | {} | {:.2} | {:.2} |",
            self.reason,
            if is_over { "ends" } else { "waits" },
            after.as_secs_f32(),
            (now - begun).as_secs_f32(),
        );
        if let Knows::After(_, deadline) = self.knows
            && known.saturating_duration_since(now) > deadline / 2
        {
            return Err(format!("{name}: reported long before the deadline: {failure:?}"));
        }
        Ok(())
    }

    /// Waits until the failure is reported, and returns it and whether the launch has ended.
    async fn wait_for_failure(
        &mut self,
        steps: &mut Vec<Step>,
        observer: &Observer,
    ) -> (Failure, bool) {
        let launcher = Launcher::new(self.client.clone(), self.options.clone());
        let meddle = self.meddle.take();
        let mut is_meddling = meddle.is_some();
        let meddle = async move {
            if let Some(meddle) = meddle {
                meddle.await;
                observer.meddled();
            }
        };
        let mut updates = std::pin::pin!(launcher.launch_with_updates(self.request.clone()));
        let mut meddle = std::pin::pin!(meddle);
        loop {
            tokio::select! {
                biased;
                Some(update) = updates.next() => match update {
                    LaunchUpdate::Event(event) => {
                        observer.step(&event.step);
                        steps.push(event.step.clone());
                        match event.step {
                            Step::Waiting { failure } | Step::Retrying { failure, .. }
                                if !self.is_final && failure.reason == self.reason =>
                            {
                                return (*failure, false);
                            }
                            _ => {}
                        }
                    }
                    LaunchUpdate::Ended(result) => {
                        let failure = result.err().unwrap_or_else(|| {
                            panic!("{}: it was launched: {steps:?}", self.name)
                        });
                        if is_meddling {
                            // A launch may end before the last request of the action that ends it
                            // has a response.
                            meddle.await;
                        }
                        return (failure, true);
                    }
                },
                () = &mut meddle, if is_meddling => is_meddling = false,
            }
        }
    }
}

/// Runs the cases, and panics with all problems.
pub(crate) async fn run(cases: impl IntoIterator<Item = Case<'_>>) {
    let results = stream::iter(cases).map(Case::run).buffer_unordered(BESIDE);
    let wrong: Vec<_> = results.filter_map(async |result| result.err()).collect().await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
