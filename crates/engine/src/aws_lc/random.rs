//! aws-lc's generator of random numbers.

use aws_lc_sys::RAND_bytes_with_user_prediction_resistance;
use oarlock_kernels::random::fill_by_cpu;
use oarlock_threads::process;
use zeroize::Zeroizing;

/// Fills `bytes` from the generator of this thread, after mixing in 32 bytes from the CPU, or from the kernel where the
/// CPU has none.
///
/// A generator that is copied together with its process would repeat itself. After a fork aws-lc seeds it again. That a
/// virtual machine was restored from a snapshot, perhaps twice, it learns only from SysGenID, which Linux does not have.
/// Fresh bytes in each call make the copies differ: RDRAND takes 0.13 us for them on Zen 3, getrandom(2) 0.5.
pub(crate) fn fill_random(bytes: &mut [u8]) {
    let mut fresh = Zeroizing::new([0; 32]);
    if !fill_by_cpu(&mut fresh) {
        process::fill_random(&mut fresh[..]);
    }
    process::forks_wait_for(|| {
        // SAFETY: `bytes` has its length, and `fresh` the 32 bytes that it mixes in. It returns 1 or ends the process.
        unsafe {
            RAND_bytes_with_user_prediction_resistance(
                bytes.as_mut_ptr(),
                bytes.len(),
                fresh.as_ptr(),
            )
        }
    });
}

/// Returns `N` bytes of [`fill_random`], such as the seed of a key.
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
