//! [`read_and_visit`]: reads a file and visits its metas at the same time.

use std::mem;

use unlade_catalog::{File, Meta, Place};

/// The memory of the metas before another thread visits the next ones, in bytes. For the metas of a
/// smaller file, another thread would save some milliseconds, and take about a MiB for its
/// documents.
const ALONE: usize = 16 << 20;

/// The memory of the first meta that another thread visits, in bytes. In a file of tiny metas, two
/// threads that allocate and free memory for each of them wait for each other: comparing catalogs
/// with 150,000 metas each took 40 % more processor time.
const LARGE: usize = 4 << 10;

/// The memory of the metas that are sent to another thread at once, in bytes. Sending takes some
/// microseconds, and a catalog may have a million small metas.
const BATCH: usize = 64 << 10;

/// Calls `read` with a function that passes each meta to `visit`. If `is_thread_idle` is set,
/// another thread calls `visit` from a large meta of a large file on, so that a single file uses
/// two threads.
pub(crate) fn read_and_visit(
    visit: &(impl Fn(Meta, &Place) + Sync),
    is_thread_idle: bool,
    read: impl FnOnce(&mut dyn FnMut(Meta, &Place)) -> File,
) -> File {
    if !is_thread_idle {
        return read(&mut |meta, place| visit(meta, place));
    }
    let consume =
        |batch: Vec<(Meta, Place)>| batch.into_iter().for_each(|(meta, place)| visit(meta, &place));
    unlade_parallel::pipe(consume, |send| {
        let (mut total, mut is_sending, mut batch, mut memory) = (0, false, Vec::new(), 0);
        let file = read(&mut |meta, place| {
            let own = size_of::<(Meta, Place)>() + meta.memory();
            total += own;
            is_sending |= total >= ALONE && own >= LARGE;
            if !is_sending {
                visit(meta, place);
                return;
            }
            memory += own;
            batch.push((meta, place.clone()));
            if memory >= BATCH {
                send(mem::take(&mut batch));
                memory = 0;
            }
        });
        if !batch.is_empty() {
            send(batch);
        }
        file
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::thread;

    use unlade_catalog::Limits;

    use super::*;

    #[test]
    fn one_thread_visits_the_metas_of_a_large_file_of_tiny_metas() {
        let this_thread = thread::current().id();
        let text = "schema: s\nname: a\n---\n".repeat(ALONE / 64);
        let (memory, is_elsewhere) = (Mutex::new(0), Mutex::new(false));
        let visit = |meta: Meta, _: &Place| {
            *memory.lock().unwrap() += size_of::<(Meta, Place)>() + meta.memory();
            *is_elsewhere.lock().unwrap() |= thread::current().id() != this_thread;
        };
        read_and_visit(&visit, true, |visit| {
            File::read_each("c.yaml", text.as_bytes(), &Limits::default(), visit)
        });
        assert!(memory.into_inner().unwrap() > ALONE);
        assert!(!is_elsewhere.into_inner().unwrap());
    }

    #[test]
    fn another_thread_visits_the_metas_of_a_large_file_in_their_order() {
        let this_thread = thread::current().id();
        let large = "a".repeat(ALONE / 4);
        let metas: Vec<_> = (0..2_000)
            .map(|n| (n, if n < 8 { large.as_str() } else { "" }))
            .map(|(n, value)| format!(r#"{{"schema":"s","name":"{n}","a":"{value}"}}"#))
            .collect();
        let text = metas.concat();
        for is_thread_idle in [false, true] {
            let visited = Mutex::new(Vec::new());
            let visit = |meta: Meta, _: &Place| {
                let is_here = thread::current().id() == this_thread;
                visited.lock().unwrap().push((meta.name, is_here));
            };
            read_and_visit(&visit, is_thread_idle, |visit| {
                File::read_each("c.json", text.as_bytes(), &Limits::default(), visit)
            });
            let visited = visited.into_inner().unwrap();
            assert_eq!(visited.len(), 2_000);
            for (n, (name, is_here)) in visited.iter().enumerate() {
                assert_eq!(*name, n.to_string());
                assert_eq!(*is_here, !is_thread_idle || n < 3, "{n}");
            }
        }
    }
}
