//! Work on the chunks of a request, shared by threads.

use std::sync::Mutex;

use oarlock::Accelerator;

use crate::Error;
use crate::pipeline::lock;

/// Does `work` for each item, on several CPUs if the `bytes` of all of them pay for waking a thread. After the first failure
/// no item is begun.
pub(super) fn each<T: Send>(
    accelerator: &Accelerator,
    bytes: usize,
    items: impl Iterator<Item = T> + Send,
    work: impl Fn(T) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    let helpers = match bytes {
        SHARED_BYTES_MIN.. => accelerator.parallelism() - 1,
        _ => 0,
    };
    let items = Mutex::new(Some(items));
    let failure = Mutex::new(None);
    let next = || lock(&items).as_mut()?.next();
    accelerator.work_together(helpers, &|| {
        while let Some(item) = next() {
            if let Err(error) = work(item) {
                *lock(&items) = None;
                lock(&failure).get_or_insert(error);
            }
        }
    });
    let failure = lock(&failure).take();
    failure.map_or(Ok(()), Err)
}

/// Work that pays for waking another thread, in bytes: 100 us.
const SHARED_BYTES_MIN: usize = 512 << 10;
