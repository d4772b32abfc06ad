//! [`Events`]: a bounded collection of events.

use std::collections::VecDeque;

use k8s_openapi::api::core::v1::{Event, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use unlade_diagnose::without_middle;

/// The maximum number of events. Repetitions are one object with a count.
const MAX_EVENTS: usize = 100;

/// The events that arrived last. Anyone who may create events can create any number of them with
/// any time, so the order of arrival decides which ones are dropped.
#[derive(Debug, Default)]
pub(in crate::launch) struct Events(VecDeque<Event>);

impl Events {
    /// Adds an event, or replaces it if it is a repetition. An event is kept even if the API server
    /// has deleted it.
    pub(in crate::launch) fn note(&mut self, event: Event) {
        let event = shortened(event);
        let name = event.name_any();
        self.0.retain(|known| known.name_any() != name);
        if self.0.len() >= MAX_EVENTS {
            self.0.pop_front();
        }
        self.0.push_back(event);
    }

    /// Returns the events about the object with this uid.
    pub(in crate::launch) fn about(&self, uid: Option<&String>) -> Vec<Event> {
        let about = self.0.iter().filter(|event| event.involved_object.uid.as_ref() == uid);
        about.cloned().collect()
    }
}

/// Returns the event with only the fields that are read, and without the middle of long texts. An
/// event can be a megabyte large.
fn shortened(event: Event) -> Event {
    let ObjectMeta { name, creation_timestamp, .. } = event.metadata;
    let cut = |text: Option<String>| text.map(|text| without_middle(&text).into_owned());
    Event {
        metadata: ObjectMeta { name, creation_timestamp, ..ObjectMeta::default() },
        involved_object: ObjectReference {
            uid: event.involved_object.uid,
            ..ObjectReference::default()
        },
        reason: cut(event.reason),
        message: cut(event.message),
        event_time: event.event_time,
        first_timestamp: event.first_timestamp,
        last_timestamp: event.last_timestamp,
        count: event.count,
        series: event.series,
        ..Event::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str) -> Event {
        let mut event = Event::default();
        event.metadata.name = Some(name.to_owned());
        event.involved_object =
            ObjectReference { uid: Some("job".into()), ..ObjectReference::default() };
        event
    }

    #[test]
    fn forged_events_do_not_keep_a_later_one_out() {
        let mut events = Events::default();
        for number in 0..2 * MAX_EVENTS {
            events.note(event(&format!("forged-{number}")));
        }
        events.note(event("real"));
        let kept = events.about(Some(&"job".to_owned()));
        assert_eq!(kept.len(), MAX_EVENTS);
        assert_eq!(kept.last().map(ResourceExt::name_any).as_deref(), Some("real"));
    }

    #[test]
    fn an_event_of_a_megabyte_is_kept_without_what_is_not_read() {
        let long = Some("x".repeat(1 << 20));
        let mut forged = Event {
            message: long.clone(),
            reason: long.clone(),
            action: long.clone(),
            ..event("forged")
        };
        forged.metadata.annotations = Some([("x".to_owned(), "x".repeat(1 << 20))].into());
        forged.involved_object.field_path = long;
        let mut events = Events::default();
        events.note(forged);
        let kept = serde_json::to_string(&events.about(Some(&"job".to_owned()))).unwrap();
        assert!((16 << 10..17 << 10).contains(&kept.len()), "{}", kept.len());
    }

    #[test]
    fn a_repeated_event_is_kept_once() {
        let mut events = Events::default();
        events.note(event("a"));
        events.note(Event { count: Some(2), ..event("a") });
        let kept = events.about(Some(&"job".to_owned()));
        assert_eq!(kept.iter().map(|event| event.count).collect::<Vec<_>>(), [Some(2)]);
    }
}
