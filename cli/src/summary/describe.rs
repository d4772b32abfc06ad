//! The text of `unlade describe`.

use k8s_openapi::api::core::v1::{Event, ObjectReference, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use unlade_bundle::annotation;
use unlade_config_map::mark;
use unlade_launcher::FailureRecord;
use unlade_launcher::inventory::{Description, JobRecord, last_occurrence};

use super::{Summary, inventory::or_none, load::digest_source};
use crate::{
    age,
    error::evidence,
    remedy,
    screen::Screen,
    table::{Align, Table},
};

/// Formats the details of a ConfigMap.
pub(crate) fn format_description(description: &Description, screen: &Screen) -> String {
    let Description { item, config_map, pods, events, owned, .. } = description;
    let metadata = &config_map.metadata;
    let annotation = |key: &str| {
        metadata.annotations.as_ref().and_then(|all| all.get(key)).map_or("", String::as_str)
    };
    let mut summary = Summary::new(screen);
    summary.field("Name", &item.name);
    summary.field("Namespace", &item.namespace);
    summary.field("Status", &item.status());
    summary.field("Created", &time(item.created.as_ref()));
    summary.field("Image", item.image.as_deref().unwrap_or_default());
    let verified = description.verified.as_ref();
    let recorded = item.image_digest.as_deref().unwrap_or_default();
    summary.field("Image digest", verified.map_or(recorded, |(digest, _)| digest));
    let verified = match verified {
        Some(&(_, source)) => digest_source(source),
        None if item.files.is_some() => "no",
        None => "",
    };
    summary.field("Verified", verified);
    for owner in metadata.owner_references.iter().flatten() {
        summary.field("Owner", &format!("{}/{}", owner.kind, owner.name));
    }
    summary.field("Package", item.package.as_deref().unwrap_or_default());
    summary.field("Channels", annotation(annotation::CHANNELS));
    if let Some(files) = item.files {
        let encoding = match annotation(annotation::CONTENT_ENCODING) {
            "" => "plain",
            encoding => encoding,
        };
        summary.field("Files", &format!("{files} ({encoding})"));
        summary.field("Digest", annotation(mark::DIGEST));
        summary.field("Written by", annotation(mark::ATTEMPT));
    }
    add_list(&mut summary, "Owns", owned);
    let labels = metadata.labels.iter().flatten().map(|(key, value)| format!("{key}={value}"));
    add_list(&mut summary, "Labels", labels);
    if let Some(record) = &item.failure {
        add_failure(&mut summary, record);
    }
    match &description.report {
        _ if item.files.is_none() => {}
        Ok(findings) => summary.findings(findings),
        Err(error) => {
            summary.blank();
            summary.field("Not loaded", &unlade_text::chain(error));
        }
    }
    summary.wide_table(&jobs(&item.attempts));
    summary.wide_table(&pod_table(pods));
    summary.wide_table(&event_table(events));
    summary.text
}

fn add_failure(summary: &mut Summary<'_>, record: &FailureRecord) {
    let failure = &record.failure;
    summary.blank();
    summary.field("Failed", &format!("{}: {failure}", failure.reason.name()));
    summary.field("Job", record.job.as_deref().unwrap_or_default());
    add_list(summary, "Evidence", evidence::lines(failure));
    let again = if failure.is_transient { "another launch may succeed" } else { "" };
    summary.field("Transient", again);
    let advice = remedy::advice(failure.hint.as_deref(), &failure.remedies);
    summary.field("Hint", advice.as_deref().unwrap_or_default());
}

/// Adds a line for each value. Only the first one has the name.
fn add_list<T: AsRef<str>>(
    summary: &mut Summary<'_>,
    name: &str,
    values: impl IntoIterator<Item = T>,
) {
    for (index, value) in values.into_iter().enumerate() {
        summary.field(if index == 0 { name } else { " " }, value.as_ref());
    }
}

fn jobs(attempts: &[JobRecord]) -> Table<4> {
    let columns = ["JOB", "STATUS", "AGE", "UID"].map(|name| (name, Align::Left));
    let mut table = Table::new(columns);
    for attempt in attempts {
        let status = match &attempt.end {
            Some(end) => end.to_string(),
            None if attempt.has_written => "Written".to_owned(),
            None => "Running".to_owned(),
        };
        table.push([&attempt.job, &status, &age::since(attempt.created.as_ref()), &attempt.uid]);
    }
    table
}

fn pod_table(pods: &[Pod]) -> Table<4> {
    let columns = ["POD", "STATUS", "AGE", "NODE"].map(|name| (name, Align::Left));
    let mut table = Table::new(columns);
    for pod in pods {
        let metadata = &pod.metadata;
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
        table.push([
            or_none(metadata.name.as_deref()),
            &pod_status(pod),
            &age::since(metadata.creation_timestamp.as_ref()),
            or_none(node),
        ]);
    }
    table
}

/// Returns why the first container that failed or is waiting does not run, else the phase.
fn pod_status(pod: &Pod) -> String {
    let Some(status) = &pod.status else { return "Unknown".to_owned() };
    let containers = status.init_container_statuses.iter().chain(&status.container_statuses);
    let container_states = containers.flatten().filter_map(|container| container.state.as_ref());
    let mut reasons = container_states.filter_map(|state| {
        let waiting = state.waiting.as_ref().and_then(|waiting| waiting.reason.clone());
        let ended = state.terminated.as_ref().filter(|ended| ended.exit_code != 0);
        let ended = ended.map(|ended| {
            let reason = ended.reason.clone().unwrap_or_else(|| "Error".to_owned());
            format!("{reason} (exit code {})", ended.exit_code)
        });
        waiting.filter(|reason| reason != "PodInitializing").or(ended)
    });
    let phase = || status.reason.clone().or_else(|| status.phase.clone());
    reasons.next().or_else(phase).unwrap_or_else(|| "Unknown".to_owned())
}

fn event_table(events: &[Event]) -> Table<5> {
    let columns = ["EVENT", "REASON", "AGE", "OBJECT", "MESSAGE"].map(|name| (name, Align::Left));
    let mut table = Table::new(columns);
    for event in events {
        table.push([
            or_none(event.type_.as_deref()),
            or_none(event.reason.as_deref()),
            &event_age(event),
            &object(&event.involved_object),
            event.message.as_deref().unwrap_or_default().trim(),
        ]);
    }
    table
}

/// Formats the age as kubectl does: since the last occurrence, with their number since the first.
fn event_age(event: &Event) -> String {
    let micro = event.event_time.as_ref().map(|time| Time(time.0));
    let first =
        event.first_timestamp.clone().or(micro).or(event.metadata.creation_timestamp.clone());
    let last = last_occurrence(event).map(Time);
    match event.count {
        Some(count) if count > 1 => {
            let (last, first) = (age::since(last.as_ref()), age::since(first.as_ref()));
            format!("{last} (x{count} over {first})")
        }
        _ => age::since(last.as_ref()),
    }
}

fn object(object: &ObjectReference) -> String {
    let kind = object.kind.as_deref().unwrap_or_default().to_lowercase();
    format!("{kind}/{}", object.name.as_deref().unwrap_or_default())
}

fn time(time: Option<&Time>) -> String {
    time.map(|at| format!("{} ({} ago)", at.0, age::since(time))).unwrap_or_default()
}
