//! AES-CM and HMAC-SHA1 of as many packets as there are, by the kernels that take many.

use std::array;

use inout::InOutBuf;
use oarlock_kernels::aes::{Backend, Ctr};
use oarlock_kernels::batch::{CtrPacket, HashBackend, HmacKey, Mac, Sha1, apply_ctr, hmac};
use oarlock_kernels::cpu::Cpu;

/// What the kernels run on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kernels {
    aes: Backend,
    hash: HashBackend,
}

impl Kernels {
    pub fn preferred(cpu: Cpu) -> Self {
        Self {
            aes: Backend::preferred(cpu),
            hash: HashBackend::preferred(cpu),
        }
    }

    /// Applies keystream to up to `N` packets, each under its key from its counter.
    #[inline]
    pub fn apply<'a, const N: usize>(
        self,
        mut packets: impl Iterator<Item = (&'a Ctr, u128, &'a mut [u8])>,
    ) {
        let Some((key, counter, data)) = packets.next() else {
            return;
        };
        let mut first = Some((counter, data));
        let mut count = 0;
        let mut batch: [CtrPacket<'_>; N] = array::from_fn(|_| {
            let (key, counter, data) = match first.take() {
                Some((counter, data)) => (key, counter, data),
                None => match packets.next() {
                    Some(packet) => packet,
                    None => return packet_of(key, 0, &mut []),
                },
            };
            count += 1;
            packet_of(key, counter, data)
        });
        apply_ctr(self.aes, &mut batch[..count]);
    }

    /// Computes the digests of up to `N` messages.
    #[inline]
    pub fn digest<'a, const N: usize>(
        self,
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
        hmac(self.hash, &mut batch[..count]);
    }
}

#[inline]
fn packet_of<'a>(key: &'a Ctr, counter: u128, data: &'a mut [u8]) -> CtrPacket<'a> {
    CtrPacket {
        key,
        counter,
        data: InOutBuf::from(data),
    }
}

/// All of an HMAC-SHA1, of which a tag is the beginning.
pub(super) type Digest = [u8; 20];

/// Packets that go to a kernel together: registers have 16 lanes, and as many packets again fill those
/// that end early.
pub(super) const TOGETHER: usize = 32;
