//! CBC of AES or Triple DES, then HMAC of the ciphertext, for independent packets, as in ESP (RFC 4303).
//!
//! A chunk of each packet is processed at a time: 16 chunks fit the first-level cache, so the hash finds the cipher's output
//! there.

use core::ops::Range;

use inout::InOutBuf;

#[cfg(target_arch = "x86_64")]
use super::beside;
use super::cbc::{CbcStream, encrypt_cbc};
use super::hmac::{Hash, HashBackend, HmacKey, Lanes, Mac, Phase, assert_tag_bytes, hmac};
use super::tdes::{TdesCbcStream, encrypt_tdes_cbc};
use crate::aes::Backend;
use crate::cbc::{self, Cbc};
use crate::hash::LANES_MAX;
use crate::key;
use crate::tdes;
use crate::wipe::wipe;

/// A key in CBC mode whose cipher processes many streams at once: [`Cbc`] or [`tdes::Cbc`].
pub trait Cipher: sealed::Cipher {}
impl Cipher for Cbc {}
impl Cipher for tdes::Cbc {}

mod sealed {
    use super::*;

    pub trait Cipher {
        /// A block, as an IV.
        type Block: Copy + AsMut<[u8]>;
        /// The code that computes the cipher.
        type Backend: Copy;
        /// A stream of the cipher's batches.
        type Stream<'a>
        where
            Self: 'a;
        const ZERO: Self::Block;

        fn stream<'a>(
            &'a self,
            iv: &'a mut Self::Block,
            data: InOutBuf<'a, 'a, u8>,
        ) -> Self::Stream<'a>;
        fn encrypt(backend: Self::Backend, streams: &mut [Self::Stream<'_>]);
        fn assert_whole_blocks(bytes: usize);
        /// Encrypts and authenticates packets that were checked, if there is a better way than by chunks; returns whether it
        /// did.
        fn beside<H: Hash>(_: Self::Backend, _: HashBackend, _: &mut [CbcHmac<'_, H, Self>]) -> bool
        where
            Self: super::Cipher + Sized,
        {
            false
        }
    }

    macro_rules! cipher {
        ($key:ty, $backend:ty, $block:expr, $stream:ident, $encrypt:ident, $assert:path
         $(, $beside:item)?) => {
            impl Cipher for $key {
                type Block = [u8; $block];
                type Backend = $backend;
                type Stream<'a> = $stream<'a>;
                const ZERO: Self::Block = [0; $block];

                fn stream<'a>(
                    &'a self,
                    iv: &'a mut Self::Block,
                    data: InOutBuf<'a, 'a, u8>,
                ) -> $stream<'a> {
                    $stream {
                        key: self,
                        iv,
                        data,
                    }
                }
                fn encrypt(backend: $backend, streams: &mut [$stream<'_>]) {
                    $encrypt(backend, streams);
                }
                fn assert_whole_blocks(bytes: usize) {
                    $assert(bytes);
                }
                $($beside)?
            }
        };
    }

    cipher!(
        Cbc,
        Backend,
        key::BLOCK_BYTES,
        CbcStream,
        encrypt_cbc,
        cbc::assert_whole_blocks,
        fn beside<H: Hash>(
            backend: Backend,
            hash_backend: HashBackend,
            packets: &mut [CbcHmac<'_, H>],
        ) -> bool {
            #[cfg(target_arch = "x86_64")]
            return beside::encrypt_then_mac(backend, hash_backend, packets);
            #[cfg(not(target_arch = "x86_64"))]
            {
                let _ = (backend, hash_backend, packets);
                false
            }
        }
    );
    cipher!(
        tdes::Cbc,
        tdes::CbcBackend,
        tdes::BLOCK_BYTES,
        TdesCbcStream,
        encrypt_tdes_cbc,
        tdes::assert_whole_blocks,
        fn beside<H: Hash>(
            backend: tdes::CbcBackend,
            hash_backend: HashBackend,
            packets: &mut [CbcHmac<'_, H, Self>],
        ) -> bool {
            let fills_lanes = hash_backend.lanes::<H>() >= packets.len().min(TDES_STREAMS);
            if !fills_lanes {
                (packets.chunks_mut(TDES_STREAMS_MAX))
                    .for_each(|packets| encrypt_all_then_mac(backend, hash_backend, packets));
            }
            !fills_lanes
        }
    );
}

/// A packet to encrypt in place, then authenticate.
#[derive(Debug)]
pub struct CbcHmac<'a, H: Hash, C: Cipher = Cbc> {
    /// The key of the cipher.
    pub cipher: &'a C,
    /// The IV, which ESP also carries within the packet.
    pub iv: &'a C::Block,
    /// The key of the MAC.
    pub mac: &'a HmacKey<H>,
    /// The authenticated bytes.
    pub packet: &'a mut [u8],
    /// The part of `packet` to encrypt, whole blocks.
    pub encrypted: Range<usize>,
    /// Becomes the first bytes of the tag, as in [`Mac`](super::Mac).
    pub tag: &'a mut [u8],
}

/// Encrypts and authenticates every packet.
///
/// # Panics
/// If a range is not whole blocks or not in its packet, or a tag is longer than a digest; no packet has been encrypted then.
pub fn encrypt_then_mac<H: Hash, C: Cipher>(
    backend: C::Backend,
    hash_backend: HashBackend,
    packets: &mut [CbcHmac<'_, H, C>],
) {
    for packet in &*packets {
        let encrypted = &packet.packet[packet.encrypted.clone()];
        C::assert_whole_blocks(encrypted.len());
        assert_tag_bytes::<H>(packet.tag.len());
    }
    if C::beside(backend, hash_backend, packets) {
        return;
    }
    let Some(first) = packets.first() else {
        return;
    };
    let some_key = first.cipher;
    let mut lanes = Lanes::<H>::new(hash_backend, packets.len());
    let mut slots: [Slot<C>; LANES_MAX] = core::array::from_fn(|_| Slot::EMPTY);
    let mut next = 0;
    let mut busy = 0;
    loop {
        for (lane, slot) in slots[..lanes.count].iter_mut().enumerate() {
            if lanes.phase[lane] == Phase::Idle && next < packets.len() {
                let packet = &mut packets[next];
                *slot = Slot::of(packet);
                // SAFETY: the packet stays borrowed; nothing writes to the bytes to be read until they have been.
                unsafe { lanes.begin(lane, next, packet.mac, slot.start, packet.packet.len()) };
                (next, busy) = (next + 1, busy + 1);
            }
        }
        if busy == 0 {
            break;
        }
        let mut left = slots.iter_mut();
        let mut streams: [C::Stream<'_>; LANES_MAX] = core::array::from_fn(|lane| {
            let busy = lanes.phase[lane] != Phase::Idle;
            let key = if busy {
                packets[lanes.request[lane]].cipher
            } else {
                some_key
            };
            // There is a slot for each lane.
            #[allow(clippy::unwrap_used)]
            left.next().unwrap().chunk(key)
        });
        C::encrypt(backend, &mut streams);
        drop(streams);
        let mut pending = false;
        for (lane, slot) in slots[..lanes.count].iter().enumerate() {
            pending |= slot.is_pending();
            lanes.release(lane, slot.ready());
        }
        // While others have more to encrypt, a lane that ends waits for them, since they fill the registers.
        loop {
            let mut worth = false;
            for (lane, slot) in slots[..lanes.count].iter_mut().enumerate() {
                if lanes.phase[lane] == Phase::Idle {
                    continue;
                }
                if lanes.left[lane] == 0 && !slot.is_pending() {
                    let packet = &mut packets[lanes.request[lane]];
                    if !lanes.next_phase(lane, packet.mac) {
                        packet
                            .tag
                            .copy_from_slice(&lanes.tails[lane][..packet.tag.len()]);
                        busy -= 1;
                        continue;
                    }
                }
                worth |= lanes.left[lane] > 0 && (slot.is_pending() || !pending);
            }
            if !worth {
                break;
            }
            lanes.run();
        }
    }
    for slot in &mut slots {
        wipe(slot.chain.as_mut());
    }
}

/// Encrypts at most [`TDES_STREAMS_MAX`] packets, all of them at once, before it authenticates any.
///
/// By chunks, the number of packets encrypted at once is that of the hash: eight with AVX2 and MD5, one without vectors.
/// Triple DES takes as long for them as for 16 or 64, and so much longer than a hash that losing the first-level cache by
/// then makes no difference.
fn encrypt_all_then_mac<H: Hash>(
    backend: tdes::CbcBackend,
    hash_backend: HashBackend,
    packets: &mut [CbcHmac<'_, H, tdes::Cbc>],
) {
    let Some(first) = packets.first() else {
        return;
    };
    let (some_cipher, some_mac, count) = (first.cipher, first.mac, packets.len());
    let mut ivs = [[0; tdes::BLOCK_BYTES]; TDES_STREAMS_MAX];
    let mut each = packets.iter_mut();
    let mut streams = ivs.each_mut().map(|iv| {
        let nothing: &mut [u8] = &mut [];
        let (key, data) = match each.next() {
            Some(packet) => {
                *iv = *packet.iv;
                let data = &mut packet.packet[packet.encrypted.clone()];
                (packet.cipher, data)
            }
            None => (some_cipher, nothing),
        };
        TdesCbcStream {
            key,
            iv,
            data: InOutBuf::from(data),
        }
    });
    encrypt_tdes_cbc(backend, &mut streams[..count]);
    let mut each = packets.iter_mut();
    let mut macs: [Mac<'_, H>; TDES_STREAMS_MAX] = core::array::from_fn(|_| match each.next() {
        Some(packet) => Mac {
            key: packet.mac,
            message: packet.packet,
            tag: packet.tag,
        },
        None => Mac {
            key: some_mac,
            message: &[],
            tag: &mut [],
        },
    });
    hmac(hash_backend, &mut macs[..count]);
}

/// The progress of a packet's encryption.
struct Slot<C: Cipher> {
    /// The start of the packet.
    start: *mut u8,
    bytes: usize,
    /// The next byte to encrypt, up to `end`.
    next: usize,
    end: usize,
    chain: C::Block,
}

impl<C: Cipher> Slot<C> {
    const EMPTY: Self = Self {
        start: core::ptr::null_mut(),
        bytes: 0,
        next: 0,
        end: 0,
        chain: C::ZERO,
    };

    fn of<H: Hash>(packet: &mut CbcHmac<'_, H, C>) -> Self {
        Self {
            start: packet.packet.as_mut_ptr(),
            bytes: packet.packet.len(),
            next: packet.encrypted.start,
            end: packet.encrypted.end,
            chain: *packet.iv,
        }
    }

    /// Returns the next chunk, which counts as encrypted.
    fn chunk<'a>(&'a mut self, key: &'a C) -> C::Stream<'a> {
        let bytes = (self.end - self.next).min(CHUNK_BYTES);
        let data: &mut [u8] = if bytes == 0 {
            &mut []
        } else {
            // SAFETY: within the packet, which is mutably borrowed while its slot is in use; there is no other reference to
            // this part of it until the chunk is encrypted.
            unsafe { core::slice::from_raw_parts_mut(self.start.add(self.next), bytes) }
        };
        self.next += bytes;
        key.stream(&mut self.chain, InOutBuf::from(data))
    }

    /// Whether there is more to encrypt.
    fn is_pending(&self) -> bool {
        self.next < self.end
    }

    /// Returns the bytes at the front of the packet that are final.
    fn ready(&self) -> usize {
        if self.is_pending() {
            self.next
        } else {
            self.bytes
        }
    }
}

/// The bytes of a stream that are processed at once. Sixteen chunks fit an L1 cache of 48 KiB. Smaller chunks take longer,
/// because keys are laid out again for each.
const CHUNK_BYTES: usize = 2 << 10;

/// Streams of Triple DES that take as long as one, on most CPUs.
const TDES_STREAMS: usize = 16;
/// Streams beyond which no CPU is faster.
const TDES_STREAMS_MAX: usize = 64;
