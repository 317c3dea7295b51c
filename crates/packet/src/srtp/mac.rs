//! HMAC-SHA1 of a batch of packets, by the multi-buffer kernel.

use std::array;

use oarlock_kernels::batch::{HashBackend, HmacKey, Mac, Sha1, hmac};
use oarlock_kernels::cpu::Cpu;

/// Computes the digests of up to `N` messages.
#[inline]
pub(super) fn digest<'a, const N: usize>(
    cpu: Cpu,
    mut messages: impl Iterator<Item = (&'a HmacKey<Sha1>, &'a [u8])>,
    digests: &mut [Digest; N],
) {
    let Some(first) = messages.next() else {
        return;
    };
    let some_key = first.0;
    let mut first = Some(first);
    let mut count = 0;
    let mut digests = digests.iter_mut();
    let mut batch: [Mac<'_, Sha1>; N] = array::from_fn(|_| {
        let (key, message) = match first.take().or_else(|| messages.next()) {
            Some(message) => {
                count += 1;
                message
            }
            None => (some_key, &[][..]),
        };
        let tag = match digests.next() {
            Some(digest) => &mut digest[..],
            None => &mut [],
        };
        Mac { key, message, tag }
    });
    let backend = HashBackend::preferred_for::<Sha1>(cpu, count);
    hmac(backend, &mut batch[..count]);
}

/// A whole HMAC-SHA1, whose first bytes are the tag.
pub(super) type Digest = [u8; 20];

/// Packets per kernel call: twice the 16 lanes, so that a lane that ends early finds another packet.
pub(super) const TOGETHER: usize = 32;
