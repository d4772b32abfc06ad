//! Maps a slice with several threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Calls `map` for each item, from up to `n_threads` threads, and returns the results in the order of
/// the items.
pub(crate) fn map<I: Sync, O: Send>(
    items: &[I],
    n_threads: usize,
    map: impl Fn(&I) -> O + Sync,
) -> Vec<O> {
    if n_threads.min(items.len()) <= 1 {
        return items.iter().map(map).collect();
    }
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { return };
            let result = (index, map(item));
            done.lock().unwrap_or_else(PoisonError::into_inner).push(result);
        }
    };
    thread::scope(|scope| {
        for _ in 1..n_threads.min(items.len()) {
            scope.spawn(work);
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_the_order_of_the_items() {
        let items: Vec<_> = (0..1_000).collect();
        for n_threads in [0, 1, 2, 7] {
            let doubled = map(&items, n_threads, |item| item * 2);
            assert!(doubled.iter().zip(&items).all(|(doubled, item)| *doubled == item * 2));
            assert_eq!(doubled.len(), items.len());
        }
    }
}
