//! [`read_and_visit`]: reads a file and visits its metas at the same time.

use std::mem;

use unlade_catalog::{File, Meta, Place};

/// The memory of the metas that are sent to another thread at once, in bytes. Sending takes some
/// microseconds, and a catalog may have a million small metas.
const BATCH: usize = 64 << 10;

/// Calls `read` with a function that passes each meta to `visit`: in another thread if one is idle, so
/// that a single file uses two.
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
        let (mut batch, mut memory) = (Vec::new(), 0);
        let file = read(&mut |meta, place| {
            memory += size_of::<(Meta, Place)>() + meta.memory();
            batch.push((meta, place.clone()));
            if memory >= BATCH {
                send(mem::take(&mut batch));
                memory = 0;
            }
        });
        send(batch);
        file
    })
}
