//! Launches one image.

use std::pin::pin;

use futures::StreamExt as _;
use unlade_launcher::{Failure, LaunchUpdate, Launched, Reason, Request};
use unlade_loader::Loaded;

use super::{
    Settings,
    document::{self, Line},
    report::Report,
    stop::Stop,
};
use crate::{
    args::Output,
    command::get::hide_fields,
    error::Error,
    output::{self, Documents, Form},
    progress::{Progress, TURN},
    stderr, summary,
};

/// The hint after an interruption.
pub(super) const CONTINUE_HINT: &str = "run the same command again to continue";

pub(super) async fn launch(settings: &Settings<'_>, request: &Request) -> Result<(), Error> {
    let Request { image, namespace, .. } = request;
    let mut report = Report::new(settings);
    let mut progress = Progress::default();
    let mut stop = Stop::new()?;
    let result = follow(settings, request, &mut report, &mut progress, &mut stop).await;
    let launched = match result {
        Ok(launched) => launched,
        Err(error) => {
            if let Some(failure) = error.failure() {
                let took = report.elapsed();
                progress.fail();
                report.draw(|elapsed, turn, palette| progress.lines(elapsed, turn, palette));
                let (config_map, job) = (progress.config_map(), progress.job());
                let payload = document::Result::failed(failure, config_map, job, took);
                report.json(&Line { image, namespace, payload })?;
            }
            return Err(error);
        }
    };
    // The rest takes only a moment, unless nobody reads the output; then a signal has to end the
    // program.
    stop.release();
    let loaded = match load(settings, &launched) {
        Ok(loaded) => loaded,
        Err(error) => {
            progress.fail();
            report.draw(|elapsed, turn, palette| progress.lines(elapsed, turn, palette));
            let payload = document::Result::not_loaded(&launched, &error, report.elapsed());
            report.json(&Line { image, namespace, payload })?;
            return Err(error);
        }
    };
    progress.load(report.elapsed());
    report.loaded(image, namespace, report.elapsed())?;
    report.draw(|elapsed, turn, palette| progress.lines(elapsed, turn, palette));
    report.keep();
    let payload = document::Result::launched(&launched, &loaded, report.elapsed());
    report.json(&Line { image, namespace, payload })?;
    write(settings, image, &launched, &loaded)?;
    if settings.is_removed {
        stop.handle();
        tokio::select! {
            removed = remove(settings, namespace, &launched) => removed?,
            () = stop.asked() => {
                let message = format!("interrupted; configmap/{} may still exist", name(&launched));
                return Err(Failure::new(Reason::Cancelled, message).into());
            }
        }
    }
    Ok(())
}

/// Loads the bundle from the ConfigMap of a launch.
pub(super) fn load(settings: &Settings<'_>, launched: &Launched) -> Result<Loaded, Error> {
    let namespace = &settings.namespace;
    launched.load(&settings.loader).map_err(|source| {
        let name = format!("the ConfigMap {namespace}/{}", name(launched));
        Error::DefaultLimits(Box::new(Error::load(name, source, settings.screen)))
    })
}

/// Returns the name of the ConfigMap.
pub(super) fn name(launched: &Launched) -> &str {
    launched.config_map.metadata.name.as_deref().unwrap_or_default()
}

/// Deletes what the launch created, once it is no longer needed. What existed before the launch is
/// kept.
async fn remove(
    settings: &Settings<'_>,
    namespace: &str,
    launched: &Launched,
) -> Result<(), Error> {
    let name = name(launched);
    let is_ours = launched.job.is_some();
    if is_ours {
        settings.launcher.inventory().remove(namespace, name, false).await?;
    }
    note_removal(settings, name, is_ours);
    Ok(())
}

/// Reports whether the ConfigMap of a launch with `--rm` was deleted.
pub(super) fn note_removal(settings: &Settings<'_>, name: &str, is_deleted: bool) {
    if !settings.is_quiet {
        let note = if is_deleted {
            "was deleted, and with it everything that it owned"
        } else {
            "existed before the launch and is kept"
        };
        stderr::note(&format!("configmap/{name} {note}"));
    }
}

/// Launches the image, and reports events until the launch ends or is interrupted.
async fn follow(
    settings: &Settings<'_>,
    request: &Request,
    report: &mut Report,
    progress: &mut Progress,
    stop: &mut Stop,
) -> Result<Launched, Error> {
    let Request { image, namespace, .. } = request;
    let mut updates = pin!(settings.launcher.launch_with_updates(request.clone()));
    let mut turns = tokio::time::interval(TURN);
    let result = loop {
        tokio::select! {
            // A launch that has ended is not interrupted.
            biased;
            Some(update) = updates.next() => match update {
                LaunchUpdate::Event(event) => {
                    progress.record(&event);
                    report.event(image, namespace, &event, false)?;
                }
                LaunchUpdate::Ended(result) => break result,
            },
            () = stop.asked() => {
                return Err(interrupted(settings, image, progress, stop).await);
            }
            _ = turns.tick() => {}
        }
        report.draw(|elapsed, turn, palette| progress.lines(elapsed, turn, palette));
    };
    report.draw(|elapsed, turn, palette| progress.lines(elapsed, turn, palette));
    result.map(|launched| *launched).map_err(|failure| Error::launch(image, failure))
}

/// Describes what an interrupted launch leaves behind. The request that creates the Job may be in
/// flight, so until the Job has been seen, it is unknown whether it exists.
async fn interrupted(
    settings: &Settings<'_>,
    image: &str,
    progress: &Progress,
    stop: &mut Stop,
) -> Error {
    let namespace = &settings.namespace;
    let (message, hint) = match (progress.config_map(), progress.job()) {
        (None, _) => ("interrupted before a Job was created".to_owned(), CONTINUE_HINT),
        (Some(config_map), seen) if settings.is_cancelled_on_interrupt => {
            let cancelled = tokio::select! {
                cancelled = settings.launcher.cancel(namespace, config_map) => cancelled,
                () = stop.asked() => Err(Failure::new(
                    Reason::Cancelled,
                    format!("interrupted twice; a Job of configmap/{config_map} may still be \
                             running"),
                )),
            };
            match (cancelled, seen) {
                // The creation of the Job got no response: this is still an interruption.
                (Err(failure), None) if failure.reason == Reason::ApiUnreachable => {
                    (format!("interrupted; {}", failure.message), CONTINUE_HINT)
                }
                (Err(failure), _) => return Error::launch(image, failure),
                (Ok(jobs), None) if jobs.is_empty() => {
                    (format!("interrupted; configmap/{config_map} has no Job"), "")
                }
                (Ok(jobs), Some(_)) if jobs.is_empty() => {
                    ("interrupted; the Job had already finished".to_owned(), "")
                }
                (Ok(_), _) => ("interrupted; the Job was deleted".to_owned(), ""),
            }
        }
        (Some(_), Some(name)) => (
            format!("interrupted; job/{name} is still running in the namespace {namespace}"),
            CONTINUE_HINT,
        ),
        (Some(config_map), None) => (
            format!(
                "interrupted; a Job of configmap/{config_map} may have been created in the \
                 namespace {namespace}"
            ),
            CONTINUE_HINT,
        ),
    };
    let mut failure = Failure::new(Reason::Cancelled, message);
    failure.hint = Some(hint.to_owned()).filter(|hint| !hint.is_empty());
    Error::launch(image, failure)
}

fn write(
    settings: &Settings<'_>,
    image: &str,
    launched: &Launched,
    loaded: &Loaded,
) -> Result<(), Error> {
    match settings.output {
        Output::Json => Ok(()),
        Output::Name => output::print_lines([format!("configmap/{}", name(launched))]),
        Output::Yaml => {
            stderr::warn_findings(&loaded.report, settings.screen);
            let mut config_map = launched.config_map.clone();
            hide_fields(&mut config_map);
            let mut documents = Documents::new(Form::Yaml, output::stdout());
            documents.write(&config_map).and_then(|()| documents.finish())
        }
        Output::Summary => {
            let heading = format!("ConfigMap {}/{}", settings.namespace, name(launched));
            let text = summary::format_launched(launched, image, loaded, &heading, settings.screen);
            output::print(text.as_bytes())
        }
    }
    .map_err(Error::Output)
}
