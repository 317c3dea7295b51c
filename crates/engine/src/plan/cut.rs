//! How a request is cut into stripes, and how streams of keystream are cut into granules.

use oarlock_threads::prefetch::RingSize;

/// How streams of `stream_bytes` are cut: a granule takes a few microseconds to make, so that a
/// helper is soon there for others and a reader that runs into it has lost little.
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

/// How a request of `bytes` is cut for `threads`: enough stripes that the end is even, none so
/// short that its ticket counts or so long that it leaves the cache.
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
/// A ticket and what goes with it take 20 to 50 ns.
const STRIPE_NS_MIN: f64 = 500.0;
pub(super) const STRIPE_BYTES_MAX: usize = 128 << 10;
