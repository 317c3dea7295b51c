//! Parts of a message whose MAC is interleaved with the rounds of keystream for the next part.
//!
//! ```text
//! seal 1 KiB      XOR chunk 0;  rounds of chunk 1 with the MAC of chunk 0;  XOR chunk 1
//!                 rounds for the next part with the MAC of chunk 1
//! open 1 KiB      rounds of each chunk with its MAC;  XOR
//! either, 256 B   XOR;  in every second part, rounds for the next two with the MAC
//! ```
//!
//! At most one chunk is computed ahead, and the MAC always covers all ciphertext so far: nothing is pending when a message
//! ends or is copied.

use inout::InOutBuf;

use super::message::{AHEAD_BYTES, Ahead, BESIDE_BYTES_MIN, Message};
use super::{ChaCha20Poly1305, block_at};
use crate::chacha20::{BLOCK_BYTES, KeptPowers};
use crate::portable::xor::xor;
use crate::stitched::Direction;
use crate::x86_64::chacha20::{make_and_mac_avx2, open_chunks_avx2, seal_and_make_avx2};

impl ChaCha20Poly1305 {
    /// Crypts and absorbs the start of `data` that can be absorbed during rounds, and returns its length; `None` if there
    /// are no powers for that, or nothing is gained.
    #[inline(never)]
    pub(super) fn next_beside(
        &self,
        direction: Direction,
        message: &mut Message,
        data: InOutBuf<'_, '_, u8>,
        ahead: &mut Ahead,
    ) -> Option<usize> {
        if message.pending_bytes > 0 || !message.bytes.is_multiple_of(BLOCK_BYTES as u64) {
            return None;
        }
        let there_bytes = ahead.at(message.bytes).len();
        let whole = data.len() - data.len() % CHUNK_BYTES;
        let bytes = if whole > 0 && there_bytes == 0
            || whole > 0 && there_bytes == CHUNK_BYTES && direction == Direction::Seal
        {
            whole
        } else if matches!(there_bytes, BESIDE_BYTES_MIN | CHUNK_BYTES) && data.len() >= there_bytes
        {
            // The available keystream ends with these bytes.
            there_bytes
        } else {
            return None;
        };
        let (mut data, _) = data.split_at(bytes);
        let Ahead {
            powers: Some(KeptPowers::Chains(token, powers)),
            keystream,
            made,
            from,
            ..
        } = ahead
        else {
            return None;
        };
        let start = |bytes: usize| {
            let counter = block_at(message.bytes + bytes as u64);
            self.cipher.start(message.nonce, counter)
        };
        let mac = message.value;
        let there = *made - there_bytes..*made;
        let (lower, upper) = keystream.split_at_mut(CHUNK_BYTES);
        let (Some(lower), Some(upper)) = (lower.first_chunk_mut(), upper.first_chunk_mut()) else {
            return None;
        };
        // New keystream goes to the lower half.
        message.value = match direction {
            Direction::Open if there_bytes == 0 => {
                let mac = open_chunks_avx2(*token, start(0), powers, mac, data);
                message.value = mac;
                message.bytes += bytes as u64;
                return Some(bytes);
            }
            Direction::Open if there.start < CHUNK_BYTES => {
                let ciphertext = data.get_in();
                let mac = make_and_mac_avx2(*token, start(bytes), powers, mac, ciphertext, upper);
                xor(&lower[there], data);
                lower.copy_from_slice(upper);
                mac
            }
            Direction::Open => {
                let ciphertext = data.get_in();
                let mac = make_and_mac_avx2(*token, start(bytes), powers, mac, ciphertext, lower);
                xor(&upper[there.start - CHUNK_BYTES..], data);
                mac
            }
            Direction::Seal if bytes == whole => {
                let is_there = there_bytes > 0;
                if is_there && there.start >= CHUNK_BYTES {
                    lower.copy_from_slice(upper);
                }
                seal_and_make_avx2(*token, start(0), powers, mac, is_there, data, lower)
            }
            Direction::Seal => {
                match there.start.checked_sub(CHUNK_BYTES) {
                    Some(from) => xor(&upper[from..], data.reborrow()),
                    None => xor(&lower[there], data.reborrow()),
                }
                let ciphertext = data.get_out();
                make_and_mac_avx2(*token, start(bytes), powers, mac, ciphertext, lower)
            }
        };
        message.bytes += bytes as u64;
        (*from, *made) = (Some(message.bytes), CHUNK_BYTES);
        Some(bytes)
    }
}

const CHUNK_BYTES: usize = AHEAD_BYTES / 2;
