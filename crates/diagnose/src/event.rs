//! Selection of the events about one object.

use k8s_openapi::api::core::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::jiff::Timestamp;

use super::Evidence;

/// Returns the events about the object with this metadata, the newest first.
pub(super) fn about<'a>(events: &'a [Event], metadata: &ObjectMeta) -> Vec<&'a Event> {
    let is_about = |event: &&Event| {
        let object = &event.involved_object;
        match (&object.uid, &metadata.uid) {
            (Some(theirs), Some(ours)) => theirs == ours,
            _ => object.name == metadata.name,
        }
    };
    let mut about: Vec<_> = events.iter().filter(is_about).collect();
    about.sort_by_key(|event| std::cmp::Reverse(last_seen(event)));
    about
}

/// Returns when the event last occurred, considering the repetitions in its series.
fn last_seen(event: &Event) -> Option<Timestamp> {
    let series = event.series.as_ref().and_then(|series| series.last_observed_time.as_ref());
    let series = series.or(event.event_time.as_ref()).map(|time| time.0);
    let last = event.last_timestamp.as_ref().or(event.metadata.creation_timestamp.as_ref());
    series.max(last.map(|time| time.0))
}

/// Returns the reason of the event, such as `FailedMount`.
pub(super) fn reason(event: &Event) -> &str {
    event.reason.as_deref().unwrap_or_default()
}

/// Returns the message of the event.
pub(super) fn message(event: &Event) -> &str {
    event.message.as_deref().unwrap_or_default().trim()
}

/// Returns the event as evidence about `object`.
pub(super) fn evidence(event: &Event, object: &str) -> Evidence {
    Evidence {
        object: Some(object.to_owned()),
        message: Some(message(event).to_owned()),
        state: Some(reason(event).to_owned()),
        ..Evidence::default()
    }
}
