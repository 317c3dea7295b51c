//! aws-lc's random number generator.

use aws_lc_sys::RAND_bytes_with_user_prediction_resistance;
use oarlock_kernels::random::fill_by_cpu;
use oarlock_threads::process;
use zeroize::Zeroizing;

/// Fills `bytes` from this thread's generator, after mixing in 32 bytes from the CPU, or from the kernel if the CPU has
/// no such instruction.
///
/// A generator that is copied together with its process would repeat itself. aws-lc reseeds after a fork. But it can
/// detect that a virtual machine was restored from a snapshot, perhaps twice, only through SysGenID, which Linux lacks.
/// Fresh bytes in each call make the copies differ: RDRAND takes 0.13 us for them on Zen 3, getrandom(2) 0.5.
pub(crate) fn fill_random(bytes: &mut [u8]) {
    let mut fresh = Zeroizing::new([0; 32]);
    if !fill_by_cpu(&mut fresh) {
        process::fill_random(&mut fresh[..]);
    }
    process::forks_wait_for(|| {
        // SAFETY: `bytes` is passed with its length, and `fresh` has the 32 bytes that are mixed in. The function
        // returns 1 or aborts.
        unsafe {
            RAND_bytes_with_user_prediction_resistance(
                bytes.as_mut_ptr(),
                bytes.len(),
                fresh.as_ptr(),
            )
        }
    });
}

/// Returns `N` bytes from [`fill_random`], such as a key's seed.
pub(super) fn drawn<const N: usize>() -> Zeroizing<[u8; N]> {
    let mut bytes = Zeroizing::new([0; N]);
    fill_random(&mut bytes[..]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_calls_and_no_two_threads_give_the_same() {
        let drawn = || *drawn::<32>();
        let mut all: Vec<_> = (0..100).map(|_| drawn()).collect();
        let other = std::thread::spawn(move || (0..100).map(|_| drawn()).collect::<Vec<_>>());
        all.extend(other.join().unwrap());
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 200);
        fill_random(&mut []);
    }
}
