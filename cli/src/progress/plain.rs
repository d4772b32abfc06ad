//! Formats one line for each event, for pipes, files, and terminals that cannot redraw lines.

use std::time::Duration;

use unlade_launcher::{Event, Step};
use unlade_text as text;

use super::{format_retry, seconds};

/// Formats an event as a line without its end. `image` is `None` if only one image is launched.
pub(crate) fn line(image: Option<&str>, event: &Event) -> String {
    let what = match &event.step {
        Step::Prepared { config_map } => format!("configmap/{config_map} is prepared"),
        Step::Reused => "the ConfigMap already contains the content".to_owned(),
        Step::Chosen { strategy, because } => {
            let because = because.as_deref().map(|text| format!(": {text}")).unwrap_or_default();
            format!("strategy {strategy}{because}")
        }
        Step::Created { job } => format!("job/{job} created"),
        Step::Adopted { job, differs: false } => format!("job/{job} is already running"),
        Step::Adopted { job, differs: true } => {
            format!("job/{job} is already running, with other options")
        }
        Step::Scheduled { node } => format!("scheduled to {node}"),
        Step::ToolPulled => "tool image pulled".to_owned(),
        Step::BundlePulled { digest: None } => "bundle image pulled".to_owned(),
        Step::BundlePulled { digest: Some(digest) } => format!("bundle image pulled, {digest}"),
        Step::ImageChanged { requested, admitted } => {
            format!("admission changed {requested} to {admitted}")
        }
        Step::Running => "running".to_owned(),
        Step::Waiting { failure } => format!("waiting: {failure}"),
        Step::Resumed => "no longer waiting".to_owned(),
        Step::Retrying { failure, after } => {
            format!("failed: {failure}; {}", format_retry(*after))
        }
        Step::Written => "written".to_owned(),
        other => format!("{other:?}"),
    };
    timed_line(image, event.at, &what)
}

/// Formats what happened at a time after the start as a line without its end.
pub(crate) fn timed_line(image: Option<&str>, at: Duration, what: &str) -> String {
    let image = image.map(|image| format!("{}: ", text::line(image))).unwrap_or_default();
    format!("{:>8}  {image}{}", seconds(at), text::line(what))
}
