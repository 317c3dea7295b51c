//! The finest clock there is.

#![allow(unsafe_code)]

/// How long `work` takes: cycles of the time-stamp counter.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn time(work: impl FnOnce()) -> u64 {
    let start = stamp();
    work();
    stamp().wrapping_sub(start)
}

/// The counter, read after everything before it has been done and before anything after it begins
/// (Intel SDM, volume 2, RDTSC; AMD does the same where LFENCE is serializing, as Linux makes it).
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn stamp() -> u64 {
    use std::arch::x86_64::{_mm_lfence, _rdtsc};
    // SAFETY: SSE2 and the time-stamp counter are part of x86-64, and Linux lets programs read it.
    unsafe {
        _mm_lfence();
        let stamp = _rdtsc();
        _mm_lfence();
        stamp
    }
}

/// How long `work` takes: nanoseconds.
#[cfg(not(target_arch = "x86_64"))]
pub fn time(work: impl FnOnce()) -> u64 {
    let start = std::time::Instant::now();
    work();
    start.elapsed().as_nanos() as u64
}
