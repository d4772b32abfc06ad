//! Launches many images.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::pin::pin;

use futures::FutureExt as _;
use futures::stream::{FuturesUnordered, StreamExt as _};
use unlade_bundle::finding;
use unlade_launcher::{Batch, BatchUpdate, Failure, LaunchOutcome, Launched, Reason, Request};
use unlade_loader::Loaded;

use super::{
    Settings,
    document::{self, Line},
    one::{CONTINUE_HINT, load, name, note_removal},
    report::Report,
    stop::Stop,
};
use crate::{
    args::Output,
    command::get::hide_fields,
    error::Error,
    exit::Exit,
    output::{self, Documents, Form},
    progress::{LaunchProgress, LaunchStatus, Progresses, TURN},
    stderr,
    summary::{self, Outcome, count, verb, with_verb},
};

pub(super) async fn launch(
    settings: &Settings<'_>,
    requests: &[Request],
    batch: Batch,
) -> Result<(), Error> {
    let images: Vec<_> = requests.iter().map(|request| request.image.clone()).collect();
    let mut report = Report::new(settings);
    let mut progresses = Progresses::new(&images);
    let mut finished = Finished::new(images.len());
    let mut stop = Stop::new()?;
    let is_done =
        follow(settings, requests, batch, &mut report, &mut progresses, &mut finished, &mut stop)
            .await?;
    report.clear();
    if !is_done {
        return interrupted(settings, &progresses, &finished, &mut stop).await;
    }
    stop.release();
    finished.write(settings)?;
    match finished.first_exit {
        Some(exit) => Err(Error::Launches {
            failed: finished.n_failed,
            all: images.len(),
            not_deleted: finished.n_not_deleted,
            exit,
        }),
        None => Ok(()),
    }
}

/// Launches all images, and reports events and outcomes. Returns false if it was interrupted.
async fn follow(
    settings: &Settings<'_>,
    requests: &[Request],
    batch: Batch,
    report: &mut Report,
    progresses: &mut Progresses,
    finished: &mut Finished,
    stop: &mut Stop,
) -> Result<bool, Error> {
    let mut updates = pin!(settings.launcher.launch_each(requests.to_vec(), batch).fuse());
    // Deletions run alongside the launches, since each may wait for the API server.
    let mut removals = FuturesUnordered::new();
    let mut turns = tokio::time::interval(TURN);
    while !updates.is_done() || !removals.is_empty() {
        tokio::select! {
            biased;
            () = stop.asked() => {
                // Launches that have ended are reported, and do not count as interrupted.
                while let Some(Some(update)) = updates.next().now_or_never() {
                    handle(settings, report, progresses, finished, update)?;
                }
                return Ok(false);
            }
            Some(update) = updates.next() => {
                if let Some(name) = handle(settings, report, progresses, finished, update)? {
                    removals.push(async move {
                        let inventory = settings.launcher.inventory();
                        let removed = inventory.remove(&settings.namespace, &name, false).await;
                        (name, removed)
                    });
                }
            }
            Some((name, removed)) = removals.next() => {
                finished.n_removals -= 1;
                report.clear();
                match removed {
                    Ok(_) => note_removal(settings, &name, true),
                    Err(failure) => {
                        finished.n_not_deleted += 1;
                        finished.first_exit.get_or_insert(stderr::report(&failure.into(), settings.screen));
                    }
                }
            }
            _ = turns.tick() => {}
        }
        report.draw(|elapsed, turn, palette| progresses.lines(elapsed, turn, palette));
    }
    Ok(true)
}

/// Records and reports an update, and returns the name of the ConfigMap to delete, if any.
fn handle(
    settings: &Settings<'_>,
    report: &mut Report,
    progresses: &mut Progresses,
    finished: &mut Finished,
    update: BatchUpdate,
) -> Result<Option<String>, Error> {
    match update {
        BatchUpdate::Event { index, event } => {
            if let Some(launch) = progresses.record(index, &event) {
                report.event(&launch.image, &settings.namespace, &event, true)?;
            }
            Ok(None)
        }
        BatchUpdate::Ended { index, took, outcome } => {
            if let LaunchOutcome::Failed(failure) = &outcome {
                progresses.fail(index, took, failure);
            }
            finished.add(settings, report, progresses, index, outcome)
        }
    }
}

/// The outcomes of the launches that have ended.
struct Finished {
    /// In the order of the images.
    rows: Vec<Option<Outcome>>,
    config_maps: Vec<k8s_openapi::api::core::v1::ConfigMap>,
    n_failed: usize,
    /// The exit code of the first failure, which the command returns.
    first_exit: Option<Exit>,
    /// How many ConfigMaps are being deleted.
    n_removals: usize,
    /// How many ConfigMaps the API server did not delete.
    n_not_deleted: usize,
}

impl Finished {
    fn new(n_images: usize) -> Self {
        let rows = (0..n_images).map(|_| None).collect();
        let config_maps = Vec::new();
        Self { rows, config_maps, n_failed: 0, first_exit: None, n_removals: 0, n_not_deleted: 0 }
    }

    /// Records the outcome of one launch, and returns the name of the ConfigMap to delete, if any.
    fn add(
        &mut self,
        settings: &Settings<'_>,
        report: &mut Report,
        progresses: &Progresses,
        index: usize,
        outcome: LaunchOutcome,
    ) -> Result<Option<String>, Error> {
        let Some(launch) = progresses.all().get(index) else { return Ok(None) };
        let mut row = row(launch);
        let mut removed = None;
        report.clear();
        match outcome {
            LaunchOutcome::Launched(launched) => match load(settings, &launched) {
                Ok(loaded) => {
                    row.config_map = Some(name(&launched).to_owned());
                    row.package = Some(loaded.bundle.package_name.clone());
                    row.version = Some(loaded.bundle.version.clone());
                    self.report_launched(settings, report, launch, &launched, &loaded)?;
                    match row.config_map.clone().filter(|_| settings.is_removed) {
                        Some(name) if launched.job.is_some() => {
                            self.n_removals += 1;
                            removed = Some(name);
                        }
                        Some(name) => note_removal(settings, &name, false),
                        None => {}
                    }
                }
                // The other bundles may still load.
                Err(error) => {
                    let payload = document::Result::not_loaded(&launched, &error, launch.took());
                    let (image, namespace) = (&launch.image, &settings.namespace);
                    report.json(&Line { image, namespace, payload })?;
                    self.fail(stderr::report(&error, settings.screen));
                    "NotLoaded".clone_into(&mut row.status);
                }
            },
            LaunchOutcome::Failed(failure) => {
                let (image, namespace) = (&launch.image, &settings.namespace);
                report.failure(image, &failure, settings.screen);
                let (config_map, job) = (launch.progress.config_map(), launch.progress.job());
                let payload = document::Result::failed(&failure, config_map, job, launch.took());
                report.json(&Line { image, namespace, payload })?;
                self.fail(Exit::Cluster(failure.reason));
            }
            LaunchOutcome::NotStarted => self.n_failed += 1,
        }
        if let Some(place) = self.rows.get_mut(index) {
            *place = Some(row);
        }
        Ok(removed)
    }

    /// Reports a launch that succeeded, and keeps its ConfigMap if it is to be written.
    fn report_launched(
        &mut self,
        settings: &Settings<'_>,
        report: &Report,
        launch: &LaunchProgress,
        launched: &Launched,
        loaded: &Loaded,
    ) -> Result<(), Error> {
        let payload = document::Result::launched(launched, loaded, launch.took());
        report.json(&Line { image: &launch.image, namespace: &settings.namespace, payload })?;
        for finding in finding::listed(&loaded.report) {
            stderr::warn([format!("{}: {finding}", launch.image)], settings.screen);
        }
        if settings.output == Output::Yaml {
            let mut config_map = launched.config_map.clone();
            hide_fields(&mut config_map);
            self.config_maps.push(config_map);
        }
        Ok(())
    }

    fn fail(&mut self, exit: Exit) {
        self.n_failed += 1;
        self.first_exit.get_or_insert(exit);
    }

    fn write(&self, settings: &Settings<'_>) -> Result<(), Error> {
        match settings.output {
            Output::Json => Ok(()),
            Output::Summary => {
                let rows: Vec<_> = self.rows.iter().flatten().cloned().collect();
                output::print(summary::format_outcomes(&rows, settings.screen).as_bytes())
            }
            Output::Yaml => {
                let mut documents = Documents::new(Form::Yaml, output::stdout());
                let mut config_maps = self.config_maps.iter();
                let written = config_maps.try_for_each(|config_map| documents.write(config_map));
                written.and_then(|()| documents.finish())
            }
            Output::Name => {
                let done = self.rows.iter().flatten().filter(|row| row.package.is_some());
                let names = done.filter_map(|row| row.config_map.as_ref());
                output::print_lines(names.map(|name| format!("configmap/{name}")))
            }
        }
        .map_err(Error::Output)
    }
}

/// Returns the row for a launch, as far as its events describe it.
fn row(launch: &LaunchProgress) -> Outcome {
    let status = match &launch.status {
        LaunchStatus::NotStarted => "NotStarted".to_owned(),
        LaunchStatus::Running => "Unpacking".to_owned(),
        LaunchStatus::Unpacked if launch.progress.is_reused() => "Reused".to_owned(),
        LaunchStatus::Unpacked => "Unpacked".to_owned(),
        LaunchStatus::Failed(failure) => failure.reason.name().to_owned(),
    };
    Outcome {
        image: launch.image.clone(),
        status,
        config_map: launch.progress.config_map().map(str::to_owned),
        package: None,
        version: None,
        took: Some(launch.took()).filter(|took| !took.is_zero()),
    }
}

/// Reports what interrupted launches leave behind.
async fn interrupted(
    settings: &Settings<'_>,
    progresses: &Progresses,
    finished: &Finished,
    stop: &mut Stop,
) -> Result<(), Error> {
    let all = progresses.all();
    let running: Vec<_> =
        all.iter().filter(|launch| matches!(launch.status, LaunchStatus::Running)).collect();
    let cancelled = if settings.is_cancelled_on_interrupt {
        cancel(settings, &running, stop).await
    } else {
        HashMap::new()
    };
    let had_job = |launch: &LaunchProgress| cancelled.get(launch.progress.config_map()?).copied();
    let is_cancelled = |launch: &LaunchProgress| had_job(launch).is_some();
    let left = running.iter().filter(|launch| !is_cancelled(launch));
    // The launches of a pack share a Job.
    let jobs: BTreeSet<_> = left.filter_map(|launch| launch.progress.job()).collect();
    // A request that creates a Job can still arrive after the cancellation found none.
    let n_open =
        running.iter().filter(|launch| is_open(launch) && had_job(launch) != Some(true)).count();
    let Finished { n_removals, n_not_deleted, .. } = *finished;
    let namespace = &settings.namespace;
    let rows: Vec<_> = finished
        .rows
        .iter()
        .zip(all)
        .map(|(finished, launch)| finished.clone().unwrap_or_else(|| row(launch)))
        .collect();
    let n_done = rows.iter().filter(|row| row.package.is_some()).count();
    let mut message = format!(
        "interrupted; {n_done} of {} images {} unpacked; {} still running in the namespace \
         {namespace}",
        all.len(),
        verb(n_done, ["is", "are"]),
        with_verb(jobs.len(), "Job", ["is", "are"])
    );
    if n_open > 0 {
        // Some of them may share a Job.
        let open = count(n_open, "more Job");
        _ = write!(message, "; up to {open} may have been created");
    }
    if n_removals > 0 {
        let removals = count(n_removals, "ConfigMap");
        _ = write!(message, "; the deletion of {removals} was not confirmed");
    }
    if n_not_deleted > 0 {
        let not_deleted = with_verb(n_not_deleted, "ConfigMap", ["was", "were"]);
        _ = write!(message, "; {not_deleted} not deleted");
    }
    stop.release();
    if settings.output == Output::Summary {
        output::print(summary::format_outcomes(&rows, settings.screen).as_bytes())
            .map_err(Error::Output)?;
    }
    let mut failure = Failure::new(Reason::Cancelled, message);
    failure.hint = Some(CONTINUE_HINT.to_owned());
    Err(failure.into())
}

/// Cancels launches until all are cancelled, or until the user interrupts again. Returns the names
/// of the ConfigMaps whose cancellation the API server has confirmed, and whether each had a Job.
async fn cancel<'a>(
    settings: &Settings<'_>,
    running: &[&'a LaunchProgress],
    stop: &mut Stop,
) -> HashMap<&'a str, bool> {
    let names = running.iter().filter_map(|launch| launch.progress.config_map());
    let mut results: FuturesUnordered<_> = names
        .map(
            |name| async move { (name, settings.launcher.cancel(&settings.namespace, name).await) },
        )
        .collect();
    let mut cancelled = HashMap::new();
    loop {
        let next = tokio::select! {
            next = results.next() => next,
            () = stop.asked() => None,
        };
        match next {
            Some((name, Ok(jobs))) => {
                // Two launches can have the same ConfigMap.
                *cancelled.entry(name).or_insert(false) |= !jobs.is_empty();
            }
            Some((_, Err(failure))) => _ = stderr::report(&failure.into(), settings.screen),
            None => return cancelled,
        }
    }
}

/// Checks whether the request that creates a Job may be in flight.
fn is_open(launch: &LaunchProgress) -> bool {
    launch.progress.config_map().is_some() && launch.progress.job().is_none()
}
