use unlade_launcher::{Failure, Reason, Strategy};

use super::*;

fn at(milliseconds: u64, step: Step) -> Event {
    Event::new(Duration::from_millis(milliseconds), step)
}

fn created() -> Vec<Event> {
    vec![
        at(10, Step::Prepared { config_map: "etcd-1234".to_owned() }),
        at(20, Step::Chosen { strategy: Strategy::ImageVolume, because: None }),
        at(30, Step::Created { job: "etcd-1234-1".to_owned() }),
    ]
}

fn waiting() -> Event {
    let failure = Failure::new(Reason::RateLimited, "the registry is busy");
    at(900, Step::Waiting { failure: Box::new(failure) })
}

/// Returns the lines after `events`, without styles.
fn shown(events: &[Event]) -> String {
    shown_after(events, |_| {})
}

/// Returns what the terminal shows after the events and this change.
fn shown_after(events: &[Event], change: impl FnOnce(&mut Progress)) -> String {
    let mut progress = Progress::default();
    for event in events {
        progress.record(event);
    }
    change(&mut progress);
    let lines = progress.lines(Duration::from_secs(2), 0, &Palette::default());
    let mut text = Vec::new();
    Live::new(&mut text, 80).draw(&lines).unwrap();
    let text = String::from_utf8(text).unwrap();
    text.replace('\r', "").replace("\u{1b}[2K", "").replace("\u{1b}[J", "")
}

#[test]
fn every_phase_has_a_line_and_finished_phases_have_a_time() {
    let mut events = created();
    events.push(at(210, Step::Scheduled { node: "worker-1".to_owned() }));
    events.push(at(400, Step::ToolPulled));
    assert_eq!(
        shown(&events),
        "  configmap               etcd-1234\n\
         \x20 strategy                image-volume\n\
         ✓ job              0.03s  etcd-1234-1\n\
         ✓ scheduled        0.21s  worker-1\n\
         ✓ tool image       0.40s\n\
         ⠋ bundle image     2.00s\n\
         \x20 running\n\
         \x20 written\n\
         \x20 loaded\n"
    );
}

#[test]
fn the_reason_for_waiting_is_shown_below_its_phase_until_the_phase_ends() {
    let mut events = created();
    events.push(waiting());
    let text = shown(&events);
    assert!(text.contains("⠋ scheduled        2.00s\n  waiting: the registry is busy\n"), "{text}");
    events.push(at(1000, Step::Scheduled { node: "worker-1".to_owned() }));
    assert!(!shown(&events).contains("waiting"));
}

#[test]
fn a_wait_that_is_over_is_no_longer_shown_within_its_phase() {
    let mut events = created();
    events.push(waiting());
    events.push(at(950, Step::ImageChanged { requested: "a:1".into(), admitted: "b:1".into() }));
    assert!(shown(&events).contains("waiting: the registry is busy"));
    events.push(at(1000, Step::Resumed));
    let text = shown(&events);
    assert!(!text.contains("waiting"), "{text}");
    assert!(text.contains("⠋ scheduled        2.00s\n"), "{text}");
    events.push(waiting());
    assert!(shown(&events).contains("waiting: the registry is busy"));
}

#[test]
fn the_switch_to_injection_starts_the_phases_over_and_says_why() {
    let mut events = created();
    events.push(at(210, Step::Scheduled { node: "worker-1".to_owned() }));
    events.push(at(400, Step::ToolPulled));
    let failure = Box::new(Failure::new(Reason::VolumeUnsupported, "no image volumes here"));
    events.push(at(500, Step::Retrying { failure, after: Duration::ZERO }));
    events.push(at(500, Step::Chosen { strategy: Strategy::Inject, because: None }));
    let text = shown(&events);
    assert!(text.contains("  failed: no image volumes here; retrying now\n⠋ job "), "{text}");
    assert!(!text.contains("✓"), "{text}");
}

#[test]
fn a_phase_that_was_not_observed_is_done_without_a_time() {
    let mut events = created();
    events.push(at(300, Step::Written));
    let text = shown(&events);
    assert!(text.contains("✓ scheduled\n✓ tool image\n✓ bundle image\n✓ running\n"), "{text}");
    assert!(text.contains("✓ written          0.30s\n⠋ loaded "), "{text}");
}

#[test]
fn existing_content_is_only_loaded() {
    let events =
        [at(10, Step::Prepared { config_map: "etcd-1234".to_owned() }), at(11, Step::Reused)];
    assert_eq!(
        shown(&events),
        "  configmap               etcd-1234, which already contains the content\n\
         ⠋ loaded           2.00s\n"
    );
}

#[test]
fn another_attempt_starts_over_and_shows_why() {
    let mut events = created();
    events.push(at(210, Step::Scheduled { node: "worker-1".to_owned() }));
    let failure = Failure::new(Reason::Evicted, "pod x was evicted");
    let after = Duration::from_secs(3);
    events.push(at(500, Step::Retrying { failure: Box::new(failure), after }));
    let text = shown(&events);
    assert!(text.contains("  failed: pod x was evicted; retrying in 3.00s\n⠋ job "), "{text}");
    assert!(!text.contains("worker-1"), "{text}");
}

#[test]
fn the_phase_in_which_it_failed_is_marked() {
    let mut events = created();
    events.push(waiting());
    let text = shown_after(&events, Progress::fail);
    assert!(text.contains("\n✗ scheduled        2.00s\n  tool image\n"), "{text}");
}

#[test]
fn each_event_is_a_line_if_lines_cannot_be_redrawn() {
    let failure = || Box::new(Failure::new(Reason::RateLimited, "busy\u{1b}[1m"));
    for (step, text) in [
        (Step::Prepared { config_map: "c".to_owned() }, "configmap/c is prepared"),
        (Step::Reused, "the ConfigMap already contains the content"),
        (Step::Chosen { strategy: Strategy::Inject, because: None }, "strategy inject"),
        (
            Step::Chosen { strategy: Strategy::Inject, because: Some("no volumes".to_owned()) },
            "strategy inject: no volumes",
        ),
        (Step::Created { job: "c-1".to_owned() }, "job/c-1 created"),
        (Step::Adopted { job: "c-1".to_owned(), differs: false }, "job/c-1 is already running"),
        (
            Step::Adopted { job: "c-1".to_owned(), differs: true },
            "job/c-1 is already running, with other options",
        ),
        (Step::Scheduled { node: "n".to_owned() }, "scheduled to n"),
        (Step::ToolPulled, "tool image pulled"),
        (Step::BundlePulled { digest: None }, "bundle image pulled"),
        (Step::BundlePulled { digest: Some("d".to_owned()) }, "bundle image pulled, d"),
        (
            Step::ImageChanged { requested: "a/b:1".to_owned(), admitted: "c/b:1".to_owned() },
            "admission changed a/b:1 to c/b:1",
        ),
        (Step::Running, "running"),
        (Step::Waiting { failure: failure() }, "waiting: busy\\u{1b}[1m"),
        (
            Step::Retrying { failure: failure(), after: Duration::from_millis(1500) },
            "failed: busy\\u{1b}[1m; retrying in 1.50s",
        ),
        (
            Step::Retrying { failure: failure(), after: Duration::ZERO },
            "failed: busy\\u{1b}[1m; retrying now",
        ),
        (Step::Resumed, "no longer waiting"),
        (Step::Written, "written"),
    ] {
        assert_eq!(line(None, &at(1234, step)), format!("   1.23s  {text}"));
    }
    assert_eq!(line(Some("a/b:1"), &at(1234, Step::Running)), "   1.23s  a/b:1: running");
}

#[test]
fn long_times_are_shown_in_minutes() {
    for (milliseconds, text) in [(0, "0.00s"), (59_000, "59.00s"), (61_500, "1m01s")] {
        assert_eq!(seconds(Duration::from_millis(milliseconds)), text);
    }
}

#[test]
fn a_launch_that_was_interrupted_took_until_then_and_not_until_its_last_event() {
    let mut all = Progresses::new(&["a".to_owned()]);
    // The first event says that the launch started 10 s ago; the last one says less.
    all.record(0, &at(10_000, Step::Prepared { config_map: "etcd-1234".to_owned() }));
    all.record(0, &at(20, Step::Created { job: "etcd-1234-1".to_owned() }));
    assert!(all.all()[0].took() >= Duration::from_secs(10));
    all.record(0, &at(30, Step::Written));
    assert_eq!(all.all()[0].took(), Duration::from_millis(30));
}

#[test]
fn many_launches_are_counted_and_running_ones_have_a_line() {
    let mut all = Progresses::new(&["a", "b", "c", "d"].map(str::to_owned));
    for index in 0..3 {
        for event in created() {
            assert!(all.record(index, &event).is_some());
        }
    }
    all.record(1, &waiting());
    let failure = Failure::new(Reason::ImageNotFound, "no such image");
    all.fail(0, Duration::from_millis(700), &failure);
    assert!(matches!(all.all()[0].status, LaunchStatus::Failed(_)));
    assert!(all.record(4, &waiting()).is_none());
    let lines = all.lines(Duration::from_secs(61), 1, &Palette::default());
    let mut text = Vec::new();
    Live::new(&mut text, 80).draw(&lines).unwrap();
    let text = String::from_utf8(text).unwrap().replace("\u{1b}[2K", "");
    let head = "⠙ 1 of 4 images done, 2 running  1m01s  about 3m03s left  1 failed\n";
    assert!(text.contains(head), "{text}");
    assert!(text.contains("  scheduled     b  the registry is busy\n"), "{text}");
    assert!(text.contains("  scheduled     c\n"), "{text}");
}
