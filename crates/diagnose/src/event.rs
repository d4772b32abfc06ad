//! Selection of the events about one object, and when they occurred.

use std::borrow::Cow;

use k8s_openapi::api::core::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::jiff::Timestamp;

use super::{Evidence, ObjectRef, without_middle};

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
    about.sort_by_key(|event| std::cmp::Reverse(last_occurrence(event)));
    about
}

/// Returns when an event last occurred, considering the repetitions in its series.
pub fn last_occurrence(event: &Event) -> Option<Timestamp> {
    let series = event.series.as_ref().and_then(|series| series.last_observed_time.as_ref());
    let series = series.map(|time| time.0);
    let last = event.last_timestamp.as_ref().map(|time| time.0);
    // Most reporters set only some of these. The others tell when the event first occurred.
    series
        .max(last)
        .or_else(|| event.event_time.as_ref().map(|time| time.0))
        .or_else(|| event.first_timestamp.as_ref().map(|time| time.0))
        .or_else(|| event.metadata.creation_timestamp.as_ref().map(|time| time.0))
}

/// Returns the reason of the event, such as `FailedMount`.
pub(super) fn reason(event: &Event) -> &str {
    event.reason.as_deref().unwrap_or_default()
}

/// Returns the message of the event.
pub(super) fn message(event: &Event) -> Cow<'_, str> {
    without_middle(event.message.as_deref().unwrap_or_default().trim())
}

/// Returns the event as evidence about `object`.
pub(super) fn evidence(event: &Event, object: &ObjectRef) -> Evidence {
    Evidence {
        object: Some(object.clone()),
        message: Some(message(event).into_owned()),
        state: Some(reason(event).to_owned()),
        ..Evidence::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_last_repetition_counts() {
        let at = |minute: u8| format!("2026-01-01T00:{minute:02}:00Z");
        let micro = |minute: u8| format!("2026-01-01T00:{minute:02}:00.000000Z");
        let created = json!({"creationTimestamp": at(1)});
        let object = json!({});
        for (event, minute) in [
            (
                json!({"series": {"count": 3, "lastObservedTime": micro(9)}, "eventTime": micro(2)}),
                9,
            ),
            (json!({"series": {"lastObservedTime": micro(5)}, "lastTimestamp": at(7)}), 7),
            (json!({"firstTimestamp": at(2), "lastTimestamp": at(6)}), 6),
            (json!({"eventTime": micro(3)}), 3),
            (json!({"firstTimestamp": at(2)}), 2),
            (json!({}), 1),
        ] {
            let mut whole = event.clone();
            whole["metadata"] = created.clone();
            whole["involvedObject"] = object.clone();
            let found = last_occurrence(&serde_json::from_value(whole).unwrap());
            assert_eq!(found, Some(at(minute).parse().unwrap()), "{event}");
        }
    }
}
