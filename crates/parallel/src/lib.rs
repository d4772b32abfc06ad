//! Works on several items at the same time, in threads, and returns the results in the order of the
//! items. So neither results nor errors depend on the speed of the threads.
//!
//! ```
//! let squares = unlade_parallel::map(&[1, 2, 3], 2, |item| item * item);
//! assert_eq!(squares, [1, 4, 9]);
//!
//! let parsed = unlade_parallel::each(&["1", "a", "3"], 2, |item, _| item.parse::<u8>());
//! assert_eq!(parsed.len(), 2);
//! assert_eq!(parsed[0], Ok(1));
//! assert!(parsed[1].is_err());
//! ```

use std::convert::Infallible;
use std::io::{self, Read};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, SendError};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Calls `work` for each item, in up to `limit` threads, and returns the results in the order of
/// the items.
pub fn map<T: Sync, R: Send>(items: &[T], limit: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let results = each(items, limit, |item, _| Ok::<_, Infallible>(work(item)));
    results.into_iter().map(|Ok(result)| result).collect()
}

/// Calls `work` for each item, in up to `limit` threads, and returns the results in the order of
/// the items, up to and including the first failure.
///
/// The calls start in this order. After a failure, no call starts for a later item, and the
/// [`Turn`] of such an item ends; those for earlier items continue. So the results do not depend on
/// the speed of the threads.
pub fn each<T: Sync, R: Send, E: Send>(
    items: &[T],
    limit: usize,
    work: impl Fn(&T, &Turn<'_>) -> Result<R, E> + Sync,
) -> Vec<Result<R, E>> {
    let (next, failed) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
    let results = Mutex::new(Vec::with_capacity(items.len()));
    let run = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let turn = Turn { at, failed: &failed };
            let Some(item) = items.get(at).filter(|_| !turn.is_over()) else { return };
            let result = work(item, &turn);
            if result.is_err() {
                failed.fetch_min(at, Ordering::Relaxed);
            }
            results.lock().unwrap_or_else(PoisonError::into_inner).push((at, result));
        }
    };
    thread::scope(|scope| {
        for _ in 1..limit.min(items.len()) {
            // If the system has no thread left, the others do the work.
            _ = thread::Builder::new().spawn_scoped(scope, run);
        }
        run();
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(at, _)| *at);
    // Later items may have been complete before the failure.
    results.truncate(failed.into_inner().saturating_add(1));
    results.into_iter().map(|(_, result)| result).collect()
}

/// Calls `produce` with a function that passes an item to `consume`. Another thread calls
/// `consume`, in the order of the items, so both work at the same time.
///
/// The thread starts with the first item. An item is passed on once the one before it is consumed,
/// so at most two items exist. Passing an item can wake the thread, which takes some microseconds.
///
/// ```
/// use std::sync::Mutex;
///
/// let lengths = Mutex::new(Vec::new());
/// let consume = |line: &str| lengths.lock().unwrap().push(line.len());
/// let n_lines = unlade_parallel::pipe(consume, |pass| "a\nbb".lines().map(pass).count());
/// assert_eq!(n_lines, 2);
/// assert_eq!(lengths.into_inner().unwrap(), [1, 2]);
/// ```
///
/// # Panics
///
/// Panics if `produce` or `consume` panics. After a panic of `consume`, further items are dropped.
pub fn pipe<T: Send, R>(
    consume: impl Fn(T) + Sync,
    produce: impl FnOnce(&mut dyn FnMut(T)) -> R,
) -> R {
    let consume = &consume;
    thread::scope(|scope| {
        let start = || {
            let (sender, receiver) = mpsc::sync_channel(0);
            let run = || receiver.into_iter().for_each(consume);
            (sender, thread::Builder::new().spawn_scoped(scope, run))
        };
        let mut started = None;
        let produced = produce(&mut |item| {
            let (sender, consumer) = started.get_or_insert_with(start);
            // If the system has no thread left, the receiver is dropped, and this thread consumes.
            if let (Err(SendError(item)), Err(_)) = (sender.send(item), consumer) {
                consume(item);
            }
        });
        if let Some((sender, Ok(consumer))) = started {
            drop(sender);
            consumer.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
        produced
    })
}

/// The turn of an item in [`each`].
#[derive(Debug)]
pub struct Turn<'a> {
    at: usize,
    /// The first item that failed.
    failed: &'a AtomicUsize,
}

impl Turn<'_> {
    /// Checks whether an earlier item has failed, so that the result of this one is not needed.
    pub fn is_over(&self) -> bool {
        self.at > self.failed.load(Ordering::Relaxed)
    }

    /// Returns a reader of `inner` that fails once the turn is over.
    pub fn reader<R: Read>(&self, inner: R) -> impl Read {
        Wanted { inner, turn: self }
    }
}

/// A reader whose bytes are needed only as long as no earlier item has failed.
struct Wanted<'t, R> {
    inner: R,
    turn: &'t Turn<'t>,
}

impl<R: Read> Read for Wanted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.turn.is_over() {
            return Err(io::Error::other("an earlier part failed"));
        }
        self.inner.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;
    use std::sync::Condvar;
    use std::time::Duration;

    use super::*;

    #[test]
    fn results_are_in_order_and_as_many_calls_run_at_once_as_allowed() {
        let (count, changed) = (Mutex::new((0, 0)), Condvar::new());
        let results = each(&[1, 2, 3, 4, 5, 6], 3, |item, _| {
            let mut running = count.lock().unwrap();
            running.0 += 1;
            running.1 = running.0.max(running.1);
            changed.notify_all();
            let wait = Duration::from_secs(20);
            let few = |(_, most): &mut (i32, i32)| *most < 3;
            let (mut running, waited) = changed.wait_timeout_while(running, wait, few).unwrap();
            assert!(!waited.timed_out(), "only {} calls run at once", running.1);
            running.0 -= 1;
            Ok::<_, ()>(item * 10)
        });
        assert_eq!(results, [10, 20, 30, 40, 50, 60].map(Ok));
        assert_eq!(count.into_inner().unwrap().1, 3);
        assert_eq!(each(&[0; 0], 3, |_, _| Err::<(), _>(())), []);
    }

    #[test]
    fn results_of_a_function_that_cannot_fail_are_in_order() {
        let items: Vec<_> = (0..1_000).collect();
        let doubled: Vec<_> = items.iter().map(|item| item * 2).collect();
        for limit in [0, 1, 2, 7] {
            assert_eq!(map(&items, limit, |item| item * 2), doubled);
        }
    }

    #[test]
    fn another_thread_consumes_the_items_in_order() {
        let consumed = Mutex::new(Vec::new());
        let consume = |item| consumed.lock().unwrap().push((thread::current().id(), item));
        pipe(consume, |pass| (0..100).for_each(pass));
        let consumed = consumed.into_inner().unwrap();
        assert!(consumed.iter().map(|(_, item)| *item).eq(0..100));
        assert!(consumed.iter().all(|(id, _)| *id != thread::current().id()));
    }

    #[test]
    fn a_panic_of_the_consumer_ends_the_pipe() {
        let n_consumed = AtomicUsize::new(0);
        let consume = |item| {
            n_consumed.fetch_add(1, Ordering::Relaxed);
            assert!(item != 1, "item {item} is bad");
        };
        let piped = catch_unwind(|| pipe(consume, |pass| (0..5).for_each(pass)));
        assert_eq!(piped.unwrap_err().downcast_ref(), Some(&"item 1 is bad".to_owned()));
        assert_eq!(n_consumed.into_inner(), 2);
    }

    #[test]
    fn a_panic_of_the_producer_ends_the_pipe() {
        let produce = |pass: &mut dyn FnMut(i32)| {
            pass(1);
            panic!("no more items");
        };
        let piped = catch_unwind(|| pipe(drop, produce));
        assert_eq!(piped.unwrap_err().downcast_ref(), Some(&"no more items"));
    }

    #[test]
    fn a_reader_ends_with_the_turn_of_its_item() {
        let failed = AtomicUsize::new(usize::MAX);
        let turn = Turn { at: 1, failed: &failed };
        let mut reader = turn.reader(io::repeat(0));
        reader.read_exact(&mut [0]).unwrap();
        failed.store(0, Ordering::Relaxed);
        reader.read_exact(&mut [0]).unwrap_err();
    }

    #[test]
    fn results_end_with_the_first_item_that_fails_although_a_later_one_is_faster() {
        let (late, early) = mpsc::sync_channel(1);
        let early = Mutex::new(early);
        let results = each(&[0, 1, 2, 3, 4], 2, |item, turn| match item {
            0 | 2 => Ok(()),
            1 => {
                let wait = Duration::from_secs(20);
                early.lock().unwrap().recv_timeout(wait).expect("a later item has failed");
                assert!(!turn.is_over());
                Err(*item)
            }
            3 => {
                late.send(()).unwrap();
                Err(*item)
            }
            _ => panic!("item {item} starts after a failure"),
        });
        assert_eq!(results, [Ok(()), Err(1)]);
    }
}
