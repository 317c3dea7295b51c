//! ChaCha20-Poly1305 (RFC 8439, section 2.8), with tags of 16 bytes.
//!
//! ```text
//! block 0 of the keystream    r and s of Poly1305
//! blocks 1, 2, ...            XORed onto the data
//! tag                         Poly1305 of AAD | zeros | ciphertext | zeros | both lengths
//! ```
//!
//! The polynomial's value after a part of a message is the value before it, times a power of r, plus the part's own value.
//! So several threads can share a message ([`ChaCha20Poly1305::seal_stripe`]).

#[cfg(target_arch = "x86_64")]
mod beside;
mod due;
mod message;

use core::fmt;

pub use due::Due;
use inout::InOutBuf;
use message::AHEAD_BYTES;
#[cfg(target_arch = "x86_64")]
use message::BESIDE_BYTES_MIN;
pub use message::{Ahead, Message, Partial};

pub use crate::aead::NONCE_BYTES;
use crate::aead::{AeadError, STRIPE_ALIGN, TAG_BYTES, tags_match};
pub use crate::chacha20::Backend;
use crate::chacha20::{BLOCK_BYTES, ChaCha20, KeptPowers};
use crate::cpu::Cpu;
pub use crate::key::InvalidKeyLength;
use crate::poly1305::{BLOCK_BYTES as MAC_BYTES, Element};
use crate::portable::xor::xor;
use crate::stitched::Direction;
use crate::wipe::Secret;

/// The most bytes of data in a message: the reach of a 32-bit block counter that starts at 1.
pub const DATA_BYTES_MAX: u64 = (1 << 38) - 64;

/// A ChaCha20-Poly1305 key, bound to the backend that runs it. Wiped on drop.
pub struct ChaCha20Poly1305 {
    cipher: ChaCha20,
}

impl ChaCha20Poly1305 {
    /// Bytes of block 0, at the front of [`keystream`](Self::keystream), which are not for the data.
    pub const KEYSTREAM_HEAD_BYTES: usize = BLOCK_BYTES;

    /// Creates a key from `key` (32 bytes) for the backend `cpu` prefers.
    ///
    /// The value is moved out to the caller, which may leave a copy on the stack. Where that matters,
    /// place an [`unkeyed`](Self::unkeyed) value first and call [`set_key`](Self::set_key) on it.
    ///
    /// # Errors
    /// [`InvalidKeyLength`].
    pub fn new(key: &[u8], cpu: Cpu) -> Result<Self, InvalidKeyLength> {
        let cipher = ChaCha20::new(key, cpu)?;
        Ok(Self { cipher })
    }

    /// Creates a value without a key, run by `backend`. Until [`set_key`](Self::set_key) the key is zero.
    pub const fn unkeyed(backend: Backend) -> Self {
        Self {
            cipher: ChaCha20::unkeyed(backend),
        }
    }

    /// Sets `key` (32 bytes), which replaces the previous one.
    ///
    /// # Errors
    /// [`InvalidKeyLength`]; the old key is kept.
    pub fn set_key(&mut self, key: &[u8]) -> Result<(), InvalidKeyLength> {
        self.cipher.set_key(key)
    }

    /// The backend that runs this key.
    pub const fn backend(&self) -> Backend {
        self.cipher.backend()
    }

    /// Encrypts `data` and returns the tag over it and `aad`. No two messages under one key may have the same `nonce`, which
    /// has 12 bytes.
    ///
    /// # Errors
    /// [`AeadError::InvalidNonceLength`] and [`AeadError::MessageTooLong`]; nothing was written.
    pub fn seal(
        &self,
        nonce: &[u8],
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
    ) -> Result<[u8; TAG_BYTES], AeadError> {
        check_length(data.len() as u64)?;
        let nonce = nonce_words(nonce)?;
        Ok(self.whole(Direction::Seal, nonce, aad, data))
    }

    /// Decrypts `data` if `tag` is the tag of it and `aad`.
    ///
    /// Otherwise nothing is released: data in place is the ciphertext again, and a separate output is zero. The comparison
    /// takes the same time wherever the tags differ.
    ///
    /// # Errors
    /// [`AeadError::AuthenticationFailed`]; or [`AeadError::InvalidNonceLength`] and
    /// [`AeadError::MessageTooLong`], and then nothing was written.
    pub fn open(
        &self,
        nonce: &[u8],
        aad: &[u8],
        mut data: InOutBuf<'_, '_, u8>,
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), AeadError> {
        check_length(data.len() as u64)?;
        let nonce = nonce_words(nonce)?;
        let expected = self.whole(Direction::Open, nonce, aad, data.reborrow());
        if tags_match(&expected, tag) {
            return Ok(());
        }
        if is_in_place(&mut data) {
            self.backend().crypt(self.cipher.start(nonce, 1), data);
        } else {
            data.get_out().fill(0);
        }
        Err(AeadError::AuthenticationFailed)
    }

    /// Like [`open`](Self::open), but unauthentic data becomes zeros, even in place, which saves a second pass to restore
    /// the ciphertext.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn open_or_zero(
        &self,
        nonce: &[u8],
        aad: &[u8],
        mut data: InOutBuf<'_, '_, u8>,
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), AeadError> {
        check_length(data.len() as u64)?;
        let expected = self.whole(Direction::Open, nonce_words(nonce)?, aad, data.reborrow());
        if tags_match(&expected, tag) {
            return Ok(());
        }
        data.get_out().fill(0);
        Err(AeadError::AuthenticationFailed)
    }

    /// Begins a message that is sealed or opened part by part, or by stripes.
    ///
    /// # Errors
    /// [`AeadError::InvalidNonceLength`] if `nonce` does not have 12 bytes.
    pub fn begin(&self, nonce: &[u8], aad: &[u8]) -> Result<Message, AeadError> {
        Ok(self.begin_at(nonce_words(nonce)?, aad))
    }

    /// Adds associated data to a message that was begun without any, piece by piece, before its data.
    ///
    /// # Panics
    /// If the message has data already, or was begun with associated data.
    pub fn aad_next(&self, message: &mut Message, aad: &[u8]) {
        assert!(
            message.bytes == 0 && message.aad_bytes_begun == message.aad_bytes,
            "associated data come before the data"
        );
        message.aad_bytes += aad.len() as u64;
        message.aad_bytes_begun = message.aad_bytes;
        message.take_in(aad);
    }

    /// Encrypts the next part of a message, of any length.
    ///
    /// # Errors
    /// [`AeadError::MessageTooLong`]; nothing was written, and the message is unchanged.
    pub fn seal_next(
        &self,
        message: &mut Message,
        data: InOutBuf<'_, '_, u8>,
    ) -> Result<(), AeadError> {
        check_length(message.bytes.saturating_add(data.len() as u64))?;
        self.next(Direction::Seal, message, data);
        Ok(())
    }

    /// Like [`seal_next`](Self::seal_next), for a message of many short parts: computes keystream for several of them at
    /// once. `ahead` belongs to this key alone; its keystream serves no other position.
    ///
    /// # Errors
    /// Those of [`seal_next`](Self::seal_next).
    pub fn seal_next_ahead(
        &self,
        message: &mut Message,
        data: InOutBuf<'_, '_, u8>,
        ahead: &mut Ahead,
    ) -> Result<(), AeadError> {
        check_length(message.bytes.saturating_add(data.len() as u64))?;
        self.next_ahead(Direction::Seal, message, data, ahead);
        Ok(())
    }

    /// Like [`open_next`](Self::open_next), for a message of many short parts; see
    /// [`seal_next_ahead`](Self::seal_next_ahead).
    ///
    /// # Errors
    /// Those of [`open_next`](Self::open_next).
    pub fn open_next_ahead(
        &self,
        message: &mut Message,
        data: InOutBuf<'_, '_, u8>,
        ahead: &mut Ahead,
    ) -> Result<(), AeadError> {
        check_length(message.bytes.saturating_add(data.len() as u64))?;
        self.next_ahead(Direction::Open, message, data, ahead);
        Ok(())
    }

    /// Decrypts the next part of a message, of any length. The output is *not verified yet*: use none of it before
    /// [`finish`](Self::finish) has returned the message's tag.
    ///
    /// # Errors
    /// [`AeadError::MessageTooLong`]; nothing was written, and the message is unchanged.
    pub fn open_next(
        &self,
        message: &mut Message,
        data: InOutBuf<'_, '_, u8>,
    ) -> Result<(), AeadError> {
        check_length(message.bytes.saturating_add(data.len() as u64))?;
        self.next(Direction::Open, message, data);
        Ok(())
    }

    /// Returns the tag. When opening, compare it with [`tags_match`].
    #[inline]
    pub fn finish(&self, mut message: Message) -> [u8; TAG_BYTES] {
        self.finish_in_place(&mut message)
    }

    /// Like [`finish`](Self::finish), but does not move the message. Drop it afterwards: any other use of it gives
    /// meaningless results.
    pub fn finish_in_place(&self, message: &mut Message) -> [u8; TAG_BYTES] {
        message.flush();
        let lengths = u128::from(message.aad_bytes) | u128::from(message.bytes) << 64;
        let value = message
            .value
            .step(&message.one_time.r, &lengths.to_le_bytes());
        message.one_time.tag(value)
    }

    /// Encrypts a part of a message, `offset` bytes from its start: a multiple of [`STRIPE_ALIGN`], as is the length of
    /// every part but the last. Several threads may process the parts in any order; [`append`](Self::append) joins them.
    /// `message` is fresh from [`begin`](Self::begin). The message has at most [`DATA_BYTES_MAX`] bytes in all.
    pub fn seal_stripe(
        &self,
        message: &Message,
        offset: u64,
        data: InOutBuf<'_, '_, u8>,
    ) -> Partial {
        self.stripe(Direction::Seal, message, offset, data)
    }

    /// Decrypts a part of a message, as [`seal_stripe`](Self::seal_stripe) encrypts it. The output
    /// is *not verified yet*; [`crypt_stripe`](Self::crypt_stripe) undoes it.
    pub fn open_stripe(
        &self,
        message: &Message,
        offset: u64,
        data: InOutBuf<'_, '_, u8>,
    ) -> Partial {
        self.stripe(Direction::Open, message, offset, data)
    }

    /// Joins a part of `bytes` bytes to the message, in the order of offsets. Parts of equal length cost one product each.
    pub fn append(&self, message: &mut Message, partial: Partial, bytes: u64) {
        message.end_aad();
        let blocks = bytes.div_ceil(MAC_BYTES as u64);
        if message.power_blocks != blocks {
            message.power = Element::power(&message.one_time.r, blocks);
            message.power_blocks = blocks;
        }
        message.value = message.value.times(message.power).plus(partial.value);
        message.bytes += bytes;
    }

    /// XORs the keystream of a stripe onto `data` again, which undoes [`open_stripe`](Self::open_stripe).
    pub fn crypt_stripe(&self, message: &Message, offset: u64, data: InOutBuf<'_, '_, u8>) {
        let start = self.cipher.start(message.nonce, block_at(offset));
        self.backend().crypt(start, data);
    }

    /// Computes the keystream of `nonce` for data that comes later: block 0, then the bytes to XOR onto the data. It is as
    /// secret as the key, and serves one message.
    ///
    /// # Errors
    /// [`AeadError::InvalidNonceLength`], and [`AeadError::MessageTooLong`] for more than a message may have.
    pub fn keystream(&self, nonce: &[u8], out: &mut [u8]) -> Result<(), AeadError> {
        let nonce = nonce_words(nonce)?;
        check_length(out.len().saturating_sub(Self::KEYSTREAM_HEAD_BYTES) as u64)?;
        out.fill(0);
        let start = self.cipher.start(nonce, 0);
        self.backend().crypt(start, out.into());
        Ok(())
    }

    /// Like [`seal`](Self::seal), with a keystream from [`keystream`](Self::keystream).
    ///
    /// # Errors
    /// [`AeadError::MessageTooLong`]; nothing was written.
    ///
    /// # Panics
    /// If `keystream` has less than [`KEYSTREAM_HEAD_BYTES`](Self::KEYSTREAM_HEAD_BYTES) more than `data`.
    pub fn seal_with_keystream(
        &self,
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
        keystream: &[u8],
    ) -> Result<[u8; TAG_BYTES], AeadError> {
        check_length(data.len() as u64)?;
        let (block, keystream) = split_keystream(keystream, data.len());
        Ok(self.seal_under(block, aad, data, keystream))
    }

    /// Like [`open`](Self::open), with a keystream from [`keystream`](Self::keystream). Verifies first, and writes nothing
    /// if the tag is wrong.
    ///
    /// # Errors
    /// [`AeadError::AuthenticationFailed`] and [`AeadError::MessageTooLong`].
    ///
    /// # Panics
    /// If `keystream` has less than [`KEYSTREAM_HEAD_BYTES`](Self::KEYSTREAM_HEAD_BYTES) more than `data`.
    pub fn open_with_keystream(
        &self,
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
        keystream: &[u8],
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), AeadError> {
        check_length(data.len() as u64)?;
        let (block, keystream) = split_keystream(keystream, data.len());
        self.open_under(block, aad, data, keystream, tag)
    }

    #[inline(always)]
    fn whole(
        &self,
        direction: Direction,
        nonce: [u32; 3],
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
    ) -> [u8; TAG_BYTES] {
        let start = self.cipher.start(nonce, 0);
        let (one_time, value) = self.backend().first(direction, start, aad, data, true);
        one_time.tag(value)
    }

    fn begin_at(&self, nonce: [u32; 3], aad: &[u8]) -> Message {
        let mut block = Secret::<BLOCK_BYTES>::zeros(BLOCK_BYTES);
        let start = self.cipher.start(nonce, 0);
        self.backend().crypt(start, block.bytes().into());
        let (block, _) = split_keystream(block.bytes(), 0);
        Message::new(nonce, block, aad)
    }

    fn seal_under(
        &self,
        block: &[u8; BLOCK_BYTES],
        aad: &[u8],
        mut data: InOutBuf<'_, '_, u8>,
        keystream: &[u8],
    ) -> [u8; TAG_BYTES] {
        let mut message = Message::new([0; 3], block, aad);
        xor(keystream, data.reborrow());
        message.absorb(data.get_out());
        self.finish(message)
    }

    fn open_under(
        &self,
        block: &[u8; BLOCK_BYTES],
        aad: &[u8],
        mut data: InOutBuf<'_, '_, u8>,
        keystream: &[u8],
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), AeadError> {
        let mut message = Message::new([0; 3], block, aad);
        message.absorb(data.get_in());
        if !tags_match(&self.finish(message), tag) {
            if !is_in_place(&mut data) {
                data.get_out().fill(0);
            }
            return Err(AeadError::AuthenticationFailed);
        }
        xor(keystream, data.reborrow());
        Ok(())
    }

    fn next(&self, direction: Direction, message: &mut Message, mut data: InOutBuf<'_, '_, u8>) {
        message.end_aad();
        let begun = message.bytes as usize % BLOCK_BYTES;
        if begun > 0 {
            let bytes = data.len().min(BLOCK_BYTES - begun);
            let (head, rest) = data.split_at(bytes);
            self.crypt_begun(direction, message, head);
            data = rest;
        }
        if data.len() >= BLOCK_BYTES {
            // Includes a partial last block: the continuation computes its keystream again.
            self.crypt_blocks(direction, message, data, None);
        } else if !data.is_empty() {
            self.crypt_begun(direction, message, data);
        }
    }

    /// Crypts `data`, which begins at the start of a keystream block.
    fn crypt_blocks(
        &self,
        direction: Direction,
        message: &mut Message,
        data: InOutBuf<'_, '_, u8>,
        powers: Option<&KeptPowers>,
    ) {
        let bytes = data.len();
        let counter = block_at(message.bytes);
        let (value, tail) = self.run(direction, message, counter, powers, message.value, data);
        let tail_bytes = bytes % MAC_BYTES;
        message.value = value;
        message.bytes += (bytes - tail_bytes) as u64;
        message.absorb(&tail[..tail_bytes]);
    }

    fn next_ahead(
        &self,
        direction: Direction,
        message: &mut Message,
        mut data: InOutBuf<'_, '_, u8>,
        ahead: &mut Ahead,
    ) {
        message.end_aad();
        if ahead.nonce != Some(message.nonce) {
            (ahead.nonce, ahead.from, ahead.powers) = (Some(message.nonce), None, None);
        } else if ahead.powers.is_none() {
            // Powers pay off from the second part on.
            ahead.powers = self.backend().powers(&message.one_time.r);
        }
        #[cfg(target_arch = "x86_64")]
        while data.len() >= BESIDE_BYTES_MIN
            && matches!(ahead.powers, Some(KeptPowers::Chains(..)))
            && let Some(bytes) = self.next_beside(direction, message, data.reborrow(), ahead)
        {
            (_, data) = data.split_at(bytes);
        }
        while !data.is_empty() {
            let keystream = ahead.at(message.bytes);
            if keystream.is_empty() {
                let is_at_block = message.bytes.is_multiple_of(BLOCK_BYTES as u64);
                if is_at_block && data.len() >= AHEAD_BYTES {
                    let whole = data.len() - data.len() % AHEAD_BYTES;
                    let (whole, rest) = data.split_at(whole);
                    self.crypt_blocks(direction, message, whole, ahead.powers.as_ref());
                    data = rest;
                } else {
                    self.make_ahead(message, ahead);
                }
                continue;
            }
            let bytes = data.len().min(keystream.len());
            let (mut part, rest) = data.split_at(bytes);
            let (keystream, powers) = (&keystream[..bytes], &ahead.powers);
            if let Some(powers) = powers
                && bytes >= KeptPowers::BYTES_MIN
                && powers.are_for_xor_and_mac()
                && bytes.is_multiple_of(MAC_BYTES)
                && message.pending_bytes == 0
            {
                let (r, value) = (&message.one_time.r, message.value);
                message.value = powers.xor_and_mac(direction, keystream, r, value, part);
            } else {
                if direction == Direction::Open {
                    message.take_in(part.get_in());
                }
                xor(keystream, part.reborrow());
                if direction == Direction::Seal {
                    message.take_in(part.get_out());
                }
            }
            message.bytes += bytes as u64;
            data = rest;
        }
    }

    fn make_ahead(&self, message: &Message, ahead: &mut Ahead) {
        let from = message.bytes - message.bytes % BLOCK_BYTES as u64;
        (ahead.from, ahead.made) = (Some(from), AHEAD_BYTES);
        let start = self.cipher.start(message.nonce, block_at(from));
        // From zeros that lie elsewhere: it would have to wait for zeros just written to its own place.
        let zeros = &[0; AHEAD_BYTES];
        if let Ok(place) = InOutBuf::new(zeros, &mut ahead.keystream) {
            self.backend().crypt(start, place);
        }
    }

    /// Continues a block of keystream, or begins one; `data` ends within it or with it.
    fn crypt_begun(
        &self,
        direction: Direction,
        message: &mut Message,
        mut data: InOutBuf<'_, '_, u8>,
    ) {
        let begun = message.bytes as usize % BLOCK_BYTES;
        if message.keystream_of != message.bytes / BLOCK_BYTES as u64 {
            message.keystream_of = message.bytes / BLOCK_BYTES as u64;
            message.keystream = [0; BLOCK_BYTES];
            let start = self.cipher.start(message.nonce, block_at(message.bytes));
            self.backend()
                .crypt(start, (&mut message.keystream[..]).into());
        }
        if direction == Direction::Open {
            message.take_in(data.get_in());
        }
        xor(
            &message.keystream[begun..begun + data.len()],
            data.reborrow(),
        );
        if direction == Direction::Seal {
            message.take_in(data.get_out());
        }
        message.bytes += data.len() as u64;
    }

    fn stripe(
        &self,
        direction: Direction,
        message: &Message,
        offset: u64,
        data: InOutBuf<'_, '_, u8>,
    ) -> Partial {
        debug_assert!(offset.is_multiple_of(STRIPE_ALIGN as u64));
        debug_assert!(offset.saturating_add(data.len() as u64) <= DATA_BYTES_MAX);
        let tail_bytes = data.len() % MAC_BYTES;
        let start = block_at(offset);
        let (mut value, tail) = self.run(direction, message, start, None, Element::ZERO, data);
        if tail_bytes > 0 {
            value = value.step(&message.one_time.r, &tail);
        }
        Partial { value }
    }

    /// Crypts `data` from a block on; returns `value` with the whole MAC blocks of the ciphertext absorbed, and the rest of
    /// it, padded with zeros.
    fn run(
        &self,
        direction: Direction,
        message: &Message,
        counter: u32,
        powers: Option<&KeptPowers>,
        value: Element,
        data: InOutBuf<'_, '_, u8>,
    ) -> (Element, [u8; MAC_BYTES]) {
        let start = self.cipher.start(message.nonce, counter);
        let r = &message.one_time.r;
        let backend = self.backend();
        with_tail(direction, data, |data| {
            backend.crypt_and_mac(direction, start, r, powers, value, data)
        })
    }
}

impl fmt::Debug for ChaCha20Poly1305 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ChaCha20Poly1305")
            .field(&self.backend().name())
            .finish()
    }
}

/// Returns the result of `crypt`, and the ciphertext after its whole MAC blocks, padded with zeros.
#[inline(always)]
fn with_tail<T>(
    direction: Direction,
    mut data: InOutBuf<'_, '_, u8>,
    crypt: impl FnOnce(InOutBuf<'_, '_, u8>) -> T,
) -> (T, [u8; MAC_BYTES]) {
    let whole = data.len() - data.len() % MAC_BYTES;
    let mut tail = [0; MAC_BYTES];
    if direction == Direction::Open {
        tail[..data.len() - whole].copy_from_slice(&data.get_in()[whole..]);
    }
    let made = crypt(data.reborrow());
    if direction == Direction::Seal {
        tail[..data.len() - whole].copy_from_slice(&data.get_out()[whole..]);
    }
    (made, tail)
}

fn check_length(bytes: u64) -> Result<(), AeadError> {
    if bytes > DATA_BYTES_MAX {
        return Err(AeadError::MessageTooLong {
            bytes_max: DATA_BYTES_MAX,
        });
    }
    Ok(())
}

fn nonce_words(nonce: &[u8]) -> Result<[u32; 3], AeadError> {
    match nonce.as_chunks::<4>().0 {
        [a, b, c] if nonce.len() == NONCE_BYTES => {
            Ok([a, b, c].map(|word| u32::from_le_bytes(*word)))
        }
        _ => Err(AeadError::InvalidNonceLength(nonce.len())),
    }
}

/// Returns the number of the keystream block for the data at `offset`. Block 0 is not for data.
fn block_at(offset: u64) -> u32 {
    (1 + offset / BLOCK_BYTES as u64) as u32
}

fn is_in_place(data: &mut InOutBuf<'_, '_, u8>) -> bool {
    data.get_in().as_ptr() == data.get_out().as_ptr()
}

/// Splits a keystream into block 0 and the keystream of the data.
fn split_keystream(keystream: &[u8], data_bytes: usize) -> (&[u8; BLOCK_BYTES], &[u8]) {
    match keystream.split_first_chunk() {
        Some((block, rest)) if rest.len() >= data_bytes => (block, &rest[..data_bytes]),
        _ => panic!(
            "a keystream of {} bytes is too short for {data_bytes} bytes of data",
            keystream.len()
        ),
    }
}
