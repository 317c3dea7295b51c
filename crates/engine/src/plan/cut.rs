//! Divides requests into stripes, and keystream streams into granules.

use oarlock_threads::prefetch::RingSize;

/// Returns how streams of `stream_bytes` are divided. A granule takes a few microseconds to make, so that a helper is
/// soon free for others and a reader that catches up with it has lost little.
pub(super) fn ring_size(bytes_per_ns: f64, stream_bytes: usize, streams: usize) -> RingSize {
    let wanted = (bytes_per_ns * GRANULE_NS) as usize;
    let mut granule_bytes = wanted.clamp(GRANULE_BYTES_MIN, PAGE).next_power_of_two();
    while !stream_bytes.is_multiple_of(granule_bytes) {
        granule_bytes /= 2;
    }
    RingSize {
        granule_bytes,
        segment: stream_bytes / granule_bytes,
        streams,
    }
}

/// Returns the stripe length of a request of `bytes` for `threads`. There are enough stripes that all threads finish
/// together, and none is so short that its ticket is noticeable or so long that it leaves the cache.
pub(super) fn stripe_bytes(bytes_per_ns: f64, bytes: usize, threads: usize) -> usize {
    let least = (bytes_per_ns * STRIPE_NS_MIN) as usize;
    (bytes / (8 * threads))
        .max(least.min(STRIPE_BYTES_MAX))
        .next_multiple_of(PAGE)
        .clamp(PAGE, STRIPE_BYTES_MAX)
}

const GRANULE_NS: f64 = 5_000.0;
const GRANULE_BYTES_MIN: usize = 512;
pub(super) const PAGE: usize = 4096;
/// A thread takes at least this much work at once: a ticket and its overhead take 20 to 50 ns.
pub(super) const STRIPE_NS_MIN: f64 = 500.0;
pub(super) const STRIPE_BYTES_MAX: usize = 128 << 10;
