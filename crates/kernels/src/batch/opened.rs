//! Verifies an HMAC of the ciphertext, then decrypts CBC, for independent packets.

use core::ops::Range;

use super::chained::Cipher;
use super::hmac::{Hash, HashBackend, HmacKey, Mac, assert_tag_bytes, hmac};
use crate::hash::LANES_MAX;
use crate::wipe::wipe;

/// A packet to verify, then decrypt in place.
#[derive(Debug)]
pub struct HmacCbc<'a, H: Hash, C: Cipher> {
    /// The key of the cipher.
    pub cipher: &'a C,
    /// The IV.
    pub iv: &'a C::Block,
    /// The key of the MAC.
    pub mac: &'a HmacKey<H>,
    /// The authenticated bytes.
    pub packet: &'a mut [u8],
    /// The encrypted part of `packet`, whole blocks.
    pub encrypted: Range<usize>,
    /// The first bytes of the received tag.
    pub tag: &'a [u8],
    /// Becomes whether the tag is that of the packet.
    pub is_authentic: bool,
}

/// Verifies every packet, and decrypts those whose tag is right. The others are left unchanged.
///
/// Time depends on lengths and on which packets are authentic, not on where a tag is wrong.
///
/// # Panics
/// If a range is not whole blocks or not in its packet, or a tag is empty or longer than a digest; no packet has been
/// decrypted then.
pub fn verify_then_decrypt<H: Hash, C: Cipher>(
    backend: C::Backend,
    hash_backend: HashBackend,
    packets: &mut [HmacCbc<'_, H, C>],
) {
    for packet in &*packets {
        C::assert_whole_blocks(packet.packet[packet.encrypted.clone()].len());
        assert_tag_bytes::<H>(packet.tag.len());
        assert!(!packet.tag.is_empty(), "an empty tag proves nothing");
    }
    let Some(first) = packets.first() else {
        return;
    };
    let some_key = first.mac;
    let mut tags = [[0; DIGEST_BYTES_MAX]; GROUP];
    for group in packets.chunks_mut(GROUP) {
        let mut requests = group.iter();
        let mut macs = tags.each_mut().map(|tag| match requests.next() {
            Some(packet) => Mac {
                key: packet.mac,
                message: &*packet.packet,
                tag: &mut tag[..packet.tag.len()],
            },
            None => Mac {
                key: some_key,
                message: &[],
                tag: &mut [],
            },
        });
        let count = group.len();
        hmac(hash_backend, &mut macs[..count]);
        for (packet, tag) in group.iter_mut().zip(&tags) {
            packet.is_authentic = are_equal(packet.tag, &tag[..packet.tag.len()]);
            if packet.is_authentic {
                let data = &mut packet.packet[packet.encrypted.clone()];
                packet.cipher.decrypt(backend, packet.iv, data.into());
            }
        }
    }
    wipe(tags.as_flattened_mut());
}

/// Whether bytes are equal, in a time that does not depend on them.
fn are_equal(one: &[u8], other: &[u8]) -> bool {
    let difference = one.iter().zip(other).fold(0, |difference, (a, b)| {
        core::hint::black_box(difference | (a ^ b))
    });
    one.len() == other.len() && difference == 0
}

/// Packets that are verified before the first of them is decrypted: enough to fill all lanes twice.
const GROUP: usize = 2 * LANES_MAX;

const DIGEST_BYTES_MAX: usize = 64;
