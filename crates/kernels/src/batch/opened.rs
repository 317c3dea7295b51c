//! HMAC of the ciphertext checked, then CBC decrypted, of independent packets.

use core::ops::Range;

use super::chained::Cipher;
use super::hmac::{Hash, HashBackend, HmacKey, Mac, assert_tag_bytes, hmac};
use crate::hash::LANES_MAX;
use crate::wipe::wipe;

/// A packet to be checked, then decrypted in place.
#[derive(Debug)]
pub struct HmacCbc<'a, H: Hash, C: Cipher> {
    /// The key of the cipher.
    pub cipher: &'a C,
    /// The IV.
    pub iv: &'a C::Block,
    /// The key of the MAC.
    pub mac: &'a HmacKey<H>,
    /// All that is authenticated.
    pub packet: &'a mut [u8],
    /// The part of it that is encrypted, whole blocks.
    pub encrypted: Range<usize>,
    /// The first bytes of the tag, as the sender says.
    pub tag: &'a [u8],
    /// Becomes whether the tag is that of the packet.
    pub is_authentic: bool,
}

/// Checks every packet, and decrypts those whose tag is right. The others stay as they are.
///
/// Time depends on lengths and on which packets are authentic, not on where a tag is wrong.
///
/// # Panics
/// When a range is not of whole blocks or not in its packet, or a tag is empty or longer than a digest,
/// before any packet is decrypted.
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

/// Packets that are checked before the first of them is decrypted: as many as fill all lanes twice.
const GROUP: usize = 2 * LANES_MAX;

const DIGEST_BYTES_MAX: usize = 64;
