//! [`PullPace`]: spaces out packs whose images the nodes have to pull (docs/decisions/0039).

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::Event;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::launch::judge::pod_progress::reports_image_present;

/// The time after which a kubelet may pull another image, with its default `registryPullQPS`.
const INTERVAL: Duration = Duration::from_millis(200);
/// The number of images that a kubelet pulls without a pause, with its default `registryBurst`.
const BURST: u32 = 10;

/// The pace of the packs of one batch.
///
/// A kubelet does not delay a pull that exceeds its limit. It fails the pull, and tries again after
/// 10 s, 20 s, and so on. So packs are admitted as fast as a kubelet with the default limits pulls
/// their images. If the nodes have the images of a pack already, the next packs start at once.
#[derive(Debug, Default)]
pub(crate) struct PullPace {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Whether the images of the last pack were on its node.
    is_free: bool,
    /// The nodes that have run a pack, each of which has a limit of its own.
    nodes: BTreeSet<String>,
    /// When the images of all admitted packs are pulled.
    pulled: Option<Instant>,
}

impl PullPace {
    /// Waits until a node can pull the images of a pack without exceeding its limit.
    pub(super) async fn admit(&self, n_images: usize) {
        let n_images = u32::try_from(n_images).unwrap_or(u32::MAX);
        let start = {
            let mut state = self.lock();
            if state.is_free {
                return;
            }
            let interval = state.interval();
            let now = Instant::now();
            let pulled = state.pulled.map_or(now, |at| at.max(now)) + interval * n_images;
            state.pulled = Some(pulled);
            // A pack that is larger than the burst starts when all others are pulled.
            pulled.checked_sub(interval * BURST.max(n_images)).unwrap_or(now)
        };
        loop {
            // Created before the state is read, so that no change is missed.
            let changed = self.changed.notified();
            if self.lock().is_free {
                return;
            }
            tokio::select! {
                () = sleep_until(start) => return,
                () = changed => {}
            }
        }
    }

    /// Checks whether the pace depends on the events of the next packs.
    pub(super) fn needs_events(&self) -> bool {
        !self.lock().is_free
    }

    /// Notes that a pack has ended on this node, and whether the node pulled any of its images.
    pub(super) fn note(&self, node: Option<&str>, has_pulled: bool) {
        let mut state = self.lock();
        state.is_free = !has_pulled;
        if state.is_free {
            // The images of the packs that wait need no pulls, so nothing is reserved for them.
            state.pulled = None;
        }
        state.nodes.extend(node.map(str::to_owned));
        drop(state);
        self.changed.notify_waiters();
    }

    /// Notes that a node has exceeded its limit.
    pub(super) fn note_limit(&self) {
        let mut state = self.lock();
        if state.is_free {
            state.is_free = false;
            state.pulled = Some(Instant::now() + state.interval() * BURST);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Returns the time after which one of the nodes may pull another image.
    fn interval(&self) -> Duration {
        INTERVAL / u32::try_from(self.nodes.len().max(1)).unwrap_or(u32::MAX)
    }
}

/// Returns whether a node has pulled any of these images, or `None` if no event is about them.
///
/// The kubelet combines events of the same kind, so the events need not name all images.
pub(super) fn has_pulled(events: &[Event], images: &[&str]) -> Option<bool> {
    let is_of_images = |event: &&Event| images.iter().any(|it| reports_image_present(event, it));
    let is_pull = |event: &Event| {
        event.message.as_ref().is_some_and(|message| message.contains("Successfully pulled"))
    };
    events.iter().filter(is_of_images).map(is_pull).reduce(|any, is_pull| any || is_pull)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Admits packs of this size until `n_packs` are admitted, and returns when each was.
    async fn admit(pace: &PullPace, size: usize, n_packs: usize) -> Vec<Duration> {
        let start = Instant::now();
        let mut times = Vec::new();
        for _ in 0..n_packs {
            pace.admit(size).await;
            times.push(start.elapsed());
        }
        times
    }

    fn millis(times: &[Duration]) -> Vec<u128> {
        times.iter().map(Duration::as_millis).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn packs_start_as_fast_as_a_kubelet_pulls_their_images() {
        let pace = PullPace::default();
        assert_eq!(millis(&admit(&pace, 8, 4).await), [0, 1200, 2800, 4400]);
        pace.note(Some("a"), true);
        pace.note(Some("b"), true);
        pace.note(Some("b"), true);
        let times = millis(&admit(&pace, 8, 3).await);
        assert_eq!(times[2] - times[1], 800, "two nodes pull twice as fast");
    }

    #[tokio::test(start_paused = true)]
    async fn a_pack_that_is_larger_than_the_burst_waits_only_for_others() {
        assert_eq!(millis(&admit(&PullPace::default(), 16, 3).await), [0, 3200, 6400]);
    }

    #[tokio::test(start_paused = true)]
    async fn packs_whose_images_are_present_start_at_once() {
        let pace = PullPace::default();
        admit(&pace, 8, 1).await;
        let (waiting, ()) = tokio::join!(admit(&pace, 8, 3), async {
            tokio::time::sleep(Duration::from_millis(900)).await;
            pace.note(Some("a"), false);
        });
        assert_eq!(millis(&waiting), [900; 3]);
        assert!(!pace.needs_events());
        admit(&pace, 8, 100).await;
        pace.note_limit();
        assert!(pace.needs_events());
        assert_eq!(millis(&admit(&pace, 8, 2).await), [1600, 3200], "the burst is used up");
    }

    #[test]
    fn only_events_of_the_images_count() {
        let has_pulled = |events: &[(&str, &str)]| {
            let event = |&(reason, message): &(&str, &str)| {
                let mut event = Event::default();
                (event.reason, event.message) = (Some(reason.to_owned()), Some(message.to_owned()));
                event
            };
            let events: Vec<_> = events.iter().map(event).collect();
            has_pulled(&events, &["r.example/etcd:1"])
        };
        let pulled = ("Pulled", r#"Successfully pulled image "r.example/etcd:1" in 95ms"#);
        let other = ("Pulled", r#"Successfully pulled image "r.example/tool:1" in 95ms"#);
        let present =
            ("Pulled", r#"Container image "r.example/etcd:1" already present on machine"#);
        let pulling = ("Pulling", r#"Pulling image "r.example/etcd:1""#);
        assert_eq!(has_pulled(&[pulling, pulled]), Some(true));
        assert_eq!(has_pulled(&[pulled, present]), Some(true));
        assert_eq!(has_pulled(&[present, other]), Some(false));
        assert_eq!(has_pulled(&[pulling, other]), None);
    }
}
