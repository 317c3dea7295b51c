//! AES-GCM (SP 800-38D) with tags of 16 bytes.
//!
//! ```text
//! J0  ->  E(K, J0)                    one block of keystream, over the tag
//! J0 + 1, J0 + 2, ...                 CTR over the data (32 bits count)
//! y = ... (y ^ block) * H             GHASH over AAD, ciphertext, lengths
//! ```
//!
//! Where the CPU multiplies without carry, CTR and GHASH are one loop (`x86_64/gcm.rs`); elsewhere
//! [`Ctr`] and a portable GHASH take turns. GHASH is linear in its input, so stripes of a
//! message can be hashed apart, each from zero, and combined: y * H^blocks + stripe.
//!
//! Many blocks are multiplied by falling powers of H and reduced together. A key has the powers for
//! short messages from the start. The first long message makes as many more as pay off within it, the
//! second makes the rest. There is no lock: a thread that finds another one making them continues with
//! the existing powers.

use core::fmt;
#[cfg(target_arch = "x86_64")]
use core::{
    cell::UnsafeCell,
    sync::atomic::{AtomicU8, Ordering},
};

use inout::InOutBuf;
use zeroize::{Zeroize, ZeroizeOnDrop};

pub use crate::aead::NONCE_BYTES;
use crate::aead::{AeadError, STRIPE_ALIGN, TAG_BYTES, tags_match};
#[cfg(target_arch = "x86_64")]
use crate::aes::bytes_before_wrap;
use crate::aes::{Backend, Ctr, carry_32};
use crate::cpu::Cpu;
use crate::key::{BLOCK_BYTES, InvalidKeyLength};
use crate::portable;
use crate::portable::xor::xor;
use crate::wipe::wipe;
#[cfg(target_arch = "x86_64")]
use crate::x86_64::ghash::{LONG_BLOCKS, MIDDLE_BLOCKS, Powers, SHORT_BLOCKS, View};
#[cfg(target_arch = "x86_64")]
use crate::x86_64::{Face, gcm as kernel, gcm::CACHED_ALIGN};

/// The most bytes of plaintext under one nonce (SP 800-38D, section 5.2.1.1).
pub const MESSAGE_BYTES_MAX: u64 = (1 << 36) - 32;
/// The most bytes of associated data, and of a nonce (the same section).
pub const AAD_BYTES_MAX: u64 = (1 << 61) - 1;

/// Evaluates the first block with the kernels that do CTR and GHASH in one, where the backend has
/// such, else the second.
macro_rules! by_backend {
    ($backend:expr, $kernels:ident($token:ident) => $fused:expr, else $composed:expr) => {
        match $backend {
            #[cfg(target_arch = "x86_64")]
            Backend::AesNi($token) => {
                use crate::x86_64::gcm::aes_ni as $kernels;
                $fused
            }
            #[cfg(target_arch = "x86_64")]
            Backend::Vaes256($token) => {
                use crate::x86_64::gcm::vaes256 as $kernels;
                $fused
            }
            #[cfg(target_arch = "x86_64")]
            Backend::Vaes512($token) => {
                use crate::x86_64::gcm::vaes512 as $kernels;
                $fused
            }
            _ => $composed,
        }
    };
}

/// One AES key in GCM, bound to the backend that runs it. Wiped on drop.
pub struct Gcm {
    pub(crate) ctr: Ctr,
    hash: HashKey,
    #[cfg(target_arch = "x86_64")]
    face: Option<Face>,
}

/// A message under way: nonce, position, GHASH so far, and the block begun. Wiped on drop.
#[derive(Clone)]
pub struct Message {
    pub(crate) j0: u128,
    pub(crate) y: u128,
    aad_bytes: u64,
    /// Of the associated data a block is begun, in `begun`: data may not follow before it is hashed.
    aad_begun: bool,
    pub(crate) bytes: u64,
    /// Of the block begun: its keystream, and its ciphertext so far.
    keystream: [u8; BLOCK_BYTES],
    begun: [u8; BLOCK_BYTES],
    /// A power of H and its exponent; see [`Gcm::append`].
    power: u128,
    power_blocks: u64,
    /// The last stripe appended ended within a block: nothing can follow.
    ended: bool,
}

/// GHASH of a stripe's ciphertext, from zero. Wiped on drop.
#[derive(ZeroizeOnDrop)]
pub struct Partial {
    y: u128,
}

impl Gcm {
    /// Bytes that [`keystream`](Self::keystream) puts before the keystream of the data: E(K, J0).
    pub const KEYSTREAM_HEAD_BYTES: usize = BLOCK_BYTES;

    /// Expands `key` (16, 24 or 32 bytes) for the backend `cpu` prefers.
    ///
    /// The value is moved out to the caller, which may leave a copy on the stack. Where that matters,
    /// place an [`unkeyed`](Self::unkeyed) value first and call [`set_key`](Self::set_key) on it.
    ///
    /// # Errors
    /// [`InvalidKeyLength`].
    pub fn new(key: &[u8], cpu: Cpu) -> Result<Self, InvalidKeyLength> {
        let mut gcm = Self::unkeyed(Backend::preferred(cpu));
        #[cfg(target_arch = "x86_64")]
        if let Some(face) = Face::new(cpu) {
            gcm = Self::unkeyed_cached(face);
        }
        gcm.set_key(key)?;
        Ok(gcm)
    }

    /// Room for a key, run by `backend`. Until [`set_key`](Self::set_key) its output is worthless.
    #[inline(always)]
    pub const fn unkeyed(backend: Backend) -> Self {
        Self {
            ctr: Ctr::unkeyed(backend),
            hash: HashKey::unkeyed(),
            #[cfg(target_arch = "x86_64")]
            face: None,
        }
    }

    /// As [`unkeyed`](Self::unkeyed) on 512-bit VAES, with counter-mode caching for long messages
    /// whose nonce has 12 bytes.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub const fn unkeyed_cached(face: Face) -> Self {
        Self {
            ctr: Ctr::unkeyed(Backend::Vaes512(face.vaes512())),
            hash: HashKey::unkeyed(),
            face: Some(face),
        }
    }

    /// Expands `key` (16, 24 or 32 bytes), which replaces the previous one.
    ///
    /// # Errors
    /// [`InvalidKeyLength`]; the old key stays.
    pub fn set_key(&mut self, key: &[u8]) -> Result<(), InvalidKeyLength> {
        self.ctr.set_key(key)?;
        let mut h = [0; BLOCK_BYTES];
        self.ctr.apply32(0, 0, (&mut h[..]).into());
        self.hash.set(self.ctr.backend(), h);
        h.zeroize();
        Ok(())
    }

    /// Wipes the key: the value is [`unkeyed`](Self::unkeyed) again.
    pub fn forget_key(&mut self) {
        self.ctr.forget_key();
        self.hash.forget();
    }

    /// The backend that runs this key.
    pub const fn backend(&self) -> Backend {
        self.ctr.backend()
    }

    /// Encrypts `data` and returns the tag over `aad` and the ciphertext. A nonce of 12 bytes is
    /// fastest; any other of 1 to 2^61 - 1 bytes works. Never use a nonce twice with a key.
    ///
    /// # Errors
    /// [`AeadError::InvalidNonceLength`], [`AeadError::MessageTooLong`] beyond
    /// [`MESSAGE_BYTES_MAX`], [`AeadError::AadTooLong`] beyond [`AAD_BYTES_MAX`]; the data are
    /// then unchanged.
    #[inline]
    pub fn seal(
        &self,
        nonce: &[u8],
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
    ) -> Result<[u8; TAG_BYTES], AeadError> {
        check_lengths(aad.len() as u64, data.len() as u64)?;
        self.run::<false>(nonce, aad, data)
    }

    /// Decrypts `data` if `tag` is the tag of `aad` and the ciphertext. Otherwise nothing is released: data
    /// in place are the ciphertext again, and an output elsewhere is zero.
    ///
    /// # Errors
    /// [`AeadError::AuthenticationFailed`], and those of [`seal`](Self::seal).
    #[inline]
    pub fn open(
        &self,
        nonce: &[u8],
        aad: &[u8],
        mut data: InOutBuf<'_, '_, u8>,
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), AeadError> {
        check_lengths(aad.len() as u64, data.len() as u64)?;
        let expected = self.run::<true>(nonce, aad, data.reborrow())?;
        if tags_match(&expected, tag) {
            Ok(())
        } else {
            self.take_back(nonce, data)
        }
    }

    /// Begins a message: the nonce and all of the associated data.
    ///
    /// # Errors
    /// [`AeadError::InvalidNonceLength`], [`AeadError::AadTooLong`].
    pub fn begin(&self, nonce: &[u8], aad: &[u8]) -> Result<Message, AeadError> {
        check_lengths(aad.len() as u64, 0)?;
        Ok(Message {
            j0: self.j0(nonce)?,
            y: self.hash.hash(self.ctr.backend(), 0, aad),
            aad_bytes: aad.len() as u64,
            aad_begun: false,
            bytes: 0,
            keystream: [0; BLOCK_BYTES],
            begun: [0; BLOCK_BYTES],
            power: 0,
            power_blocks: 0,
            ended: false,
        })
    }

    /// Adds associated data to a message that was begun without any, piece by piece, before its data.
    ///
    /// # Errors
    /// [`AeadError::AadTooLong`]; the message is then as it was.
    ///
    /// # Panics
    /// When the message has data already, or was begun with associated data that end within a
    /// block.
    pub fn aad_next(&self, message: &mut Message, mut aad: &[u8]) -> Result<(), AeadError> {
        let begun = message.aad_bytes as usize % BLOCK_BYTES;
        assert!(
            message.bytes == 0 && message.aad_begun == (begun > 0),
            "associated data come before the data, and after whole blocks"
        );
        check_lengths(message.aad_bytes.saturating_add(aad.len() as u64), 0)?;
        message.aad_bytes += aad.len() as u64;
        if begun > 0 {
            let (first, rest) = aad.split_at(aad.len().min(BLOCK_BYTES - begun));
            message.begun[begun..begun + first.len()].copy_from_slice(first);
            if begun + first.len() < BLOCK_BYTES {
                return Ok(());
            }
            self.end_aad(message);
            aad = rest;
        }
        let (blocks, tail) = aad.as_chunks::<BLOCK_BYTES>();
        if !blocks.is_empty() {
            let backend = self.ctr.backend();
            message.y = self.hash.hash(backend, message.y, blocks.as_flattened());
        }
        if !tail.is_empty() {
            message.begun = [0; BLOCK_BYTES];
            message.begun[..tail.len()].copy_from_slice(tail);
            message.aad_begun = true;
        }
        Ok(())
    }

    /// Encrypts the next `data` of `message`, of any length.
    ///
    /// # Errors
    /// [`AeadError::MessageTooLong`] if the message would exceed [`MESSAGE_BYTES_MAX`]; `data` and
    /// `message` are then unchanged.
    ///
    /// # Panics
    /// When a stripe that ended within a block has been appended.
    pub fn seal_next(
        &self,
        message: &mut Message,
        data: InOutBuf<'_, '_, u8>,
    ) -> Result<(), AeadError> {
        self.next::<false>(message, data)
    }

    /// Decrypts the next `data` of `message`, of any length. Its output **is not verified**
    /// until the tag of [`finish`](Self::finish) has been compared.
    ///
    /// # Errors
    /// As [`seal_next`](Self::seal_next).
    ///
    /// # Panics
    /// As [`seal_next`](Self::seal_next).
    pub fn open_next(
        &self,
        message: &mut Message,
        data: InOutBuf<'_, '_, u8>,
    ) -> Result<(), AeadError> {
        self.next::<true>(message, data)
    }

    /// The tag of a complete message. To verify one, compare with
    /// [`tags_match`](crate::aead::tags_match).
    pub fn finish(&self, mut message: Message) -> [u8; TAG_BYTES] {
        let backend = self.ctr.backend();
        self.end_aad(&mut message);
        if !message.ended && message.begun_bytes() > 0 {
            let begun = u128::from_be_bytes(message.begun);
            message.y = self.hash.times_h(backend, message.y ^ begun);
        }
        let lengths = u128::from(message.aad_bytes * 8) << 64 | u128::from(message.bytes * 8);
        let y = self.hash.times_h(backend, message.y ^ lengths);
        let mut tag = y.to_be_bytes();
        self.ctr.apply32(message.j0, 0, (&mut tag[..]).into());
        tag
    }

    /// Encrypts the part of `message` that begins `offset` bytes from its start, and returns GHASH
    /// of that part alone. `message` is fresh from [`begin`](Self::begin); any number of threads
    /// may each do a stripe of it.
    ///
    /// # Panics
    /// When `offset` is not a multiple of [`STRIPE_ALIGN`], or the stripe ends beyond
    /// [`MESSAGE_BYTES_MAX`].
    pub fn seal_stripe(
        &self,
        message: &Message,
        offset: u64,
        data: InOutBuf<'_, '_, u8>,
    ) -> Partial {
        self.stripe::<false>(message, offset, data)
    }

    /// As [`seal_stripe`](Self::seal_stripe), but decrypts. Its output **is not verified**; if
    /// the tag turns out wrong, [`crypt_stripe`](Self::crypt_stripe) undoes it.
    ///
    /// # Panics
    /// As [`seal_stripe`](Self::seal_stripe).
    pub fn open_stripe(
        &self,
        message: &Message,
        offset: u64,
        data: InOutBuf<'_, '_, u8>,
    ) -> Partial {
        self.stripe::<true>(message, offset, data)
    }

    /// Adds a stripe of `bytes` bytes to `message`. Stripes come in the order of their offsets and
    /// without gaps; their lengths are multiples of [`STRIPE_ALIGN`], but for the last. A power of
    /// H is kept from call to call, so stripes of equal length cost two multiplications each.
    ///
    /// # Panics
    /// When a stripe or piece before it ended within a block, or the message passes
    /// [`MESSAGE_BYTES_MAX`].
    pub fn append(&self, message: &mut Message, partial: Partial, bytes: u64) {
        assert!(
            message.begun_bytes() == 0,
            "a stripe follows whole blocks, not {} bytes",
            message.bytes
        );
        self.end_aad(message);
        assert_ends_within(message.bytes, bytes);
        let blocks = bytes.div_ceil(BLOCK_BYTES as u64);
        if blocks == 0 {
            return;
        }
        let backend = self.ctr.backend();
        if message.power_blocks != blocks {
            message.power = self.hash.power(backend, blocks);
            message.power_blocks = blocks;
        }
        message.y = times(backend, message.y, message.power) ^ partial.y;
        message.bytes += bytes;
        message.ended = message.begun_bytes() > 0;
    }

    /// Applies the keystream of a stripe once more, without GHASH, which undoes
    /// [`open_stripe`](Self::open_stripe).
    ///
    /// # Panics
    /// As [`seal_stripe`](Self::seal_stripe).
    pub fn crypt_stripe(&self, message: &Message, offset: u64, data: InOutBuf<'_, '_, u8>) {
        assert_is_stripe(offset, data.len() as u64);
        self.ctr.apply32(message.counter(offset), 0, data);
    }

    /// Writes to `out` the keystream that [`seal_with_keystream`](Self::seal_with_keystream) or
    /// [`open_with_keystream`](Self::open_with_keystream) takes for this nonce:
    /// [`KEYSTREAM_HEAD_BYTES`](Self::KEYSTREAM_HEAD_BYTES), then as many bytes as the data have.
    ///
    /// # Errors
    /// [`AeadError::InvalidNonceLength`], [`AeadError::MessageTooLong`].
    pub fn keystream(&self, nonce: &[u8], out: &mut [u8]) -> Result<(), AeadError> {
        let j0 = self.j0(nonce)?;
        let bytes = out.len().saturating_sub(Self::KEYSTREAM_HEAD_BYTES);
        check_lengths(0, bytes as u64)?;
        out.fill(0);
        self.ctr.apply32(j0, 0, out.into());
        Ok(())
    }

    /// As [`seal`](Self::seal), with a keystream from [`keystream`](Self::keystream) under this key; one
    /// nonce's keystream serves one message, once.
    ///
    /// # Errors
    /// [`AeadError::KeystreamTooShort`], and those of [`seal`](Self::seal).
    pub fn seal_with_keystream(
        &self,
        aad: &[u8],
        mut data: InOutBuf<'_, '_, u8>,
        keystream: &[u8],
    ) -> Result<[u8; TAG_BYTES], AeadError> {
        let (head, keystream) = cut_keystream(keystream, aad, data.len())?;
        let backend = self.ctr.backend();
        let lengths = lengths(aad, data.len());
        let mut y = self.hash.hash(backend, 0, aad);
        // In pieces that stay in the first-level cache from the one step to the other.
        for keystream in keystream.chunks(PIECE_BYTES) {
            let (mut piece, rest) = data.split_at(keystream.len());
            xor(keystream, piece.reborrow());
            y = self.hash.hash(backend, y, piece.get_out());
            data = rest;
        }
        let y = self.hash.times_h(backend, y ^ lengths);
        Ok((y ^ u128::from_be_bytes(*head)).to_be_bytes())
    }

    /// As [`open`](Self::open), with a keystream from [`keystream`](Self::keystream) under this key and
    /// the message's nonce.
    ///
    /// # Errors
    /// [`AeadError::KeystreamTooShort`], and those of [`open`](Self::open).
    pub fn open_with_keystream(
        &self,
        aad: &[u8],
        mut data: InOutBuf<'_, '_, u8>,
        keystream: &[u8],
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), AeadError> {
        let (head, keystream) = cut_keystream(keystream, aad, data.len())?;
        let backend = self.ctr.backend();
        let y = self.hash.hash(backend, 0, aad);
        let y = self.hash.hash(backend, y, data.get_in());
        let y = self.hash.times_h(backend, y ^ lengths(aad, data.len()));
        if tags_match(&(y ^ u128::from_be_bytes(*head)).to_be_bytes(), tag) {
            xor(keystream, data);
            Ok(())
        } else {
            if !is_in_place(&mut data) {
                data.get_out().fill(0);
            }
            Err(AeadError::AuthenticationFailed)
        }
    }

    /// H, then its powers as they lie in memory.
    #[cfg(test)]
    pub(crate) fn powers_of_h(&self) -> Vec<[u8; BLOCK_BYTES]> {
        let mut powers = vec![self.hash.h.to_ne_bytes()];
        #[cfg(target_arch = "x86_64")]
        if !matches!(self.backend(), Backend::Portable) {
            // SAFETY: the tests call this when no other thread uses the key.
            powers.extend(unsafe { &*self.hash.powers.get() }.made());
        }
        powers
    }

    /// The tag of a whole message, whose lengths have been checked.
    #[inline(always)]
    fn run<const OPEN: bool>(
        &self,
        nonce: &[u8],
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
    ) -> Result<[u8; TAG_BYTES], AeadError> {
        if let Ok(nonce) = <&[u8; NONCE_BYTES]>::try_from(nonce) {
            let backend = self.ctr.backend();
            by_backend!(backend, kernels(token) => {
                let schedule = &self.ctr.schedule;
                if data.len() <= kernels::SHORT_BYTES_MAX && aad.len() <= BLOCK_BYTES {
                    let view = self.hash.short_view();
                    return Ok(kernels::short::<OPEN>(token, schedule, view, nonce, aad, data));
                }
                let view = self.hash.view(backend, aad.len() + data.len());
                if let Some(face) = self.face
                    && data.len() >= CACHED_BYTES_MIN
                {
                    let j0 = j0_of(nonce);
                    let tag = kernel::cached_message::<OPEN>(face, schedule, view, j0, aad, data);
                    return Ok(tag.to_ne_bytes());
                }
                let tag = kernels::message::<OPEN>(token, schedule, view, j0_of(nonce), aad, data);
                Ok(tag.to_ne_bytes())
            }, else self.run_in_steps::<OPEN>(nonce, aad, data))
        } else {
            self.run_in_steps::<OPEN>(nonce, aad, data)
        }
    }

    #[inline(never)]
    fn run_in_steps<const OPEN: bool>(
        &self,
        nonce: &[u8],
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
    ) -> Result<[u8; TAG_BYTES], AeadError> {
        let mut message = self.begin(nonce, aad)?;
        self.next::<OPEN>(&mut message, data)?;
        Ok(self.finish(message))
    }

    #[cold]
    fn take_back(&self, nonce: &[u8], mut data: InOutBuf<'_, '_, u8>) -> Result<(), AeadError> {
        if is_in_place(&mut data) {
            self.ctr.apply32(carry_32(self.j0(nonce)?, 1), 0, data);
        } else {
            data.get_out().fill(0);
        }
        Err(AeadError::AuthenticationFailed)
    }

    /// SP 800-38D, section 7.1, step 2.
    fn j0(&self, nonce: &[u8]) -> Result<u128, AeadError> {
        if let Ok(nonce) = nonce.try_into() {
            return Ok(j0_of(nonce));
        }
        if nonce.is_empty() || nonce.len() as u64 > AAD_BYTES_MAX {
            return Err(AeadError::InvalidNonceLength(nonce.len()));
        }
        let backend = self.ctr.backend();
        let y = self.hash.hash(backend, 0, nonce);
        let length = nonce.len() as u128 * 8;
        Ok(self.hash.times_h(backend, y ^ length))
    }

    fn next<const OPEN: bool>(
        &self,
        message: &mut Message,
        mut data: InOutBuf<'_, '_, u8>,
    ) -> Result<(), AeadError> {
        assert!(
            !message.ended,
            "nothing can follow a stripe that ended within a block"
        );
        let end = message.bytes.saturating_add(data.len() as u64);
        check_lengths(0, end)?;
        self.end_aad(message);
        if message.begun_bytes() > 0 {
            let bytes = data.len().min(BLOCK_BYTES - message.begun_bytes());
            let (head, rest) = data.split_at(bytes);
            self.crypt_begun::<OPEN>(message, head);
            data = rest;
        }
        let tail = data.len() % BLOCK_BYTES;
        let blocks = data.len() - tail;
        let (blocks, tail) = data.split_at(blocks);
        if !blocks.is_empty() {
            let bytes = blocks.len() as u64;
            message.y = self.update::<OPEN>(message, message.bytes, message.y, blocks);
            message.bytes += bytes;
        }
        if !tail.is_empty() {
            message.keystream = [0; BLOCK_BYTES];
            message.begun = [0; BLOCK_BYTES];
            let counter = message.counter(message.bytes);
            let keystream = &mut message.keystream[..];
            self.ctr.apply32(counter, 0, keystream.into());
            self.crypt_begun::<OPEN>(message, tail);
        }
        Ok(())
    }

    /// Hashes what is begun of the associated data, filled up with zeros.
    #[inline(always)]
    fn end_aad(&self, message: &mut Message) {
        if message.aad_begun {
            let begun = u128::from_be_bytes(message.begun);
            message.y = self.hash.times_h(self.ctr.backend(), message.y ^ begun);
            message.aad_begun = false;
        }
    }

    /// Goes on with the block begun; `data` end within it or with it.
    fn crypt_begun<const OPEN: bool>(&self, message: &mut Message, mut data: InOutBuf<'_, '_, u8>) {
        let at = message.begun_bytes()..message.begun_bytes() + data.len();
        if OPEN {
            message.begun[at.clone()].copy_from_slice(data.get_in());
        }
        xor(&message.keystream[at.clone()], data.reborrow());
        if !OPEN {
            message.begun[at.clone()].copy_from_slice(data.get_out());
        }
        message.bytes += at.len() as u64;
        if at.end == BLOCK_BYTES {
            let block = u128::from_be_bytes(message.begun);
            message.y = self.hash.times_h(self.ctr.backend(), message.y ^ block);
        }
    }

    fn stripe<const OPEN: bool>(
        &self,
        message: &Message,
        offset: u64,
        data: InOutBuf<'_, '_, u8>,
    ) -> Partial {
        assert_is_stripe(offset, data.len() as u64);
        Partial {
            y: self.update::<OPEN>(message, offset, 0, data),
        }
    }

    /// CTR from byte `offset` of the message on, and GHASH of the ciphertext from `y` on.
    fn update<const OPEN: bool>(
        &self,
        message: &Message,
        offset: u64,
        mut y: u128,
        mut data: InOutBuf<'_, '_, u8>,
    ) -> u128 {
        let backend = self.ctr.backend();
        let counter = message.counter(offset);
        #[cfg(target_arch = "x86_64")]
        if let Some(face) = self.face
            && data.len() >= CACHED_BYTES_MIN
            && offset.is_multiple_of(CACHED_ALIGN)
            && message.j0 as u32 == 1
        {
            let (schedule, view) = (&self.ctr.schedule, self.hash.view(backend, data.len()));
            return kernel::cached_update::<OPEN>(face, schedule, view, y, counter, data);
        }
        by_backend!(backend, kernels(token) => {
            let view = self.hash.view(backend, data.len());
            let mut counter = counter;
            while !data.is_empty() {
                let bytes = bytes_before_wrap(counter).min(data.len() as u64);
                let (run, rest) = data.split_at(bytes as usize);
                y = kernels::update::<OPEN>(token, &self.ctr.schedule, view, y, counter, run);
                counter = carry_32(counter, bytes / BLOCK_BYTES as u64);
                data = rest;
            }
        }, else {
            #[cfg(any(test, debug_assertions))]
            crate::dispatch::aes::GCM_COMPOSED.hit();
            if OPEN {
                y = self.hash.hash(backend, y, data.get_in());
                self.ctr.apply32(counter, 0, data);
            } else {
                self.ctr.apply32(counter, 0, data.reborrow());
                y = self.hash.hash(backend, y, data.get_out());
            }
        });
        y
    }
}

impl fmt::Debug for Gcm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Gcm").field(&self.ctr).finish()
    }
}

impl Message {
    /// Bytes of data that it has so far.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes of the block begun, or of the last one when the message has ended.
    fn begun_bytes(&self) -> usize {
        self.bytes as usize % BLOCK_BYTES
    }

    /// The counter of the block that lies `offset` bytes from the start.
    fn counter(&self, offset: u64) -> u128 {
        carry_32(self.j0, 1 + offset / BLOCK_BYTES as u64)
    }
}

impl ZeroizeOnDrop for Message {}

impl Drop for Message {
    #[inline]
    fn drop(&mut self) {
        wipe(core::slice::from_mut(&mut self.y));
        wipe(core::slice::from_mut(&mut self.power));
        wipe(&mut self.keystream);
        wipe(&mut self.begun);
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message")
            .field("aad_bytes", &self.aad_bytes)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Partial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Partial").finish_non_exhaustive()
    }
}

/// The key of GHASH.
struct HashKey {
    h: u128,
    #[cfg(target_arch = "x86_64")]
    powers: UnsafeCell<Powers>,
    /// What is there: one of the constants below.
    #[cfg(target_arch = "x86_64")]
    made: AtomicU8,
}

#[cfg(target_arch = "x86_64")]
const SHORT: u8 = 0;
/// The short table, and a thread is making the middle one.
#[cfg(target_arch = "x86_64")]
const TOWARDS_MIDDLE: u8 = 1;
#[cfg(target_arch = "x86_64")]
const MIDDLE: u8 = 2;
#[cfg(target_arch = "x86_64")]
const TOWARDS_LONG: u8 = 3;
#[cfg(target_arch = "x86_64")]
const LONG: u8 = 4;

// SAFETY: of `powers`, the short table is written by `set` alone, which has the value to itself, and
// what another has beyond it by the one thread that moves `made` towards that table; it is read
// after `made` has been seen to have come there, with acquire and release between.
#[cfg(target_arch = "x86_64")]
unsafe impl Sync for HashKey {}

impl HashKey {
    #[inline(always)]
    const fn unkeyed() -> Self {
        Self {
            h: 0,
            #[cfg(target_arch = "x86_64")]
            powers: UnsafeCell::new(Powers::EMPTY),
            #[cfg(target_arch = "x86_64")]
            made: AtomicU8::new(SHORT),
        }
    }

    fn set(&mut self, backend: Backend, h: [u8; BLOCK_BYTES]) {
        self.h = portable::ghash::key(h);
        by_backend!(backend, kernels(token) => {
            if *self.made.get_mut() != SHORT {
                self.wipe_powers();
            }
            kernels::make_short(token, self.powers.get_mut(), self.h);
        }, else {});
    }

    /// The powers that are there from the start.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn short_view(&self) -> View {
        // SAFETY: as in `view`.
        unsafe { View::new(self.powers.get(), SHORT_BLOCKS) }
    }

    /// The powers to use for a message of so many bytes.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn view(&self, backend: Backend, bytes: usize) -> View {
        let made = match self.made.load(Ordering::Acquire) {
            made @ (SHORT | MIDDLE) if bytes >= LONG_BYTES_MIN => {
                self.make_more(backend, made, bytes)
            }
            made => made,
        };
        let limit = match made {
            SHORT | TOWARDS_MIDDLE => SHORT_BLOCKS,
            MIDDLE | TOWARDS_LONG => MIDDLE_BLOCKS,
            _ => LONG_BLOCKS,
        };
        // SAFETY: `set` has made the short table (of a value without a key it is zero), and another
        // has been seen to be made.
        unsafe { View::new(self.powers.get(), limit) }
    }

    /// What there is afterwards.
    #[cfg(target_arch = "x86_64")]
    #[cold]
    fn make_more(&self, backend: Backend, mut made: u8, bytes: usize) -> u8 {
        let (relaxed, acquire) = (Ordering::Relaxed, Ordering::Acquire);
        // At once, where the message alone earns the rest back.
        let end = if made == SHORT && bytes < VERY_LONG_BYTES_MIN {
            MIDDLE
        } else {
            LONG
        };
        while made < end {
            let mine = self.made.compare_exchange(made, made + 1, acquire, relaxed);
            if let Err(now) = mine {
                return now;
            }
            #[cfg(any(test, debug_assertions))]
            crate::dispatch::aes::GCM_POWERS.hit();
            by_backend!(backend, kernels(token) => {
                // SAFETY: the exchange has made this thread the only one to touch those powers, and
                // shown that the table before has been made.
                unsafe {
                    match made {
                        SHORT => kernels::make_middle(token, self.powers.get()),
                        _ => kernels::make_long(token, self.powers.get()),
                    }
                }
            }, else {});
            made += 2;
            self.made.store(made, Ordering::Release);
        }
        made
    }

    #[inline(always)]
    fn forget(&mut self) {
        self.h.zeroize();
        #[cfg(target_arch = "x86_64")]
        self.wipe_powers();
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn wipe_powers(&mut self) {
        let powers = self.powers.get_mut();
        match core::mem::replace(self.made.get_mut(), SHORT) {
            SHORT => powers.wipe::<SHORT_BLOCKS>(),
            TOWARDS_MIDDLE | MIDDLE => powers.wipe::<MIDDLE_BLOCKS>(),
            _ => powers.wipe::<LONG_BLOCKS>(),
        }
    }

    /// GHASH of `data`, filled with zeros to a block, from `y` on.
    fn hash(&self, backend: Backend, y: u128, data: &[u8]) -> u128 {
        by_backend!(backend, kernels(token) => {
            kernels::hash(token, self.view(backend, data.len()), y, data)
        }, else portable::ghash::hash(self.h, y, data))
    }

    fn times_h(&self, backend: Backend, y: u128) -> u128 {
        times(backend, y, self.h)
    }

    /// H to the power of `exponent`, at least 1.
    fn power(&self, backend: Backend, exponent: u64) -> u128 {
        let mut power = self.h;
        for i in (0..exponent.ilog2()).rev() {
            power = times(backend, power, power);
            if exponent >> i & 1 == 1 {
                power = times(backend, power, self.h);
            }
        }
        power
    }
}

impl Drop for HashKey {
    fn drop(&mut self) {
        self.forget();
    }
}

/// The product of two elements of POLYVAL's field.
fn times(backend: Backend, a: u128, b: u128) -> u128 {
    by_backend!(
        backend,
        kernels(token) => kernels::times(token, a, b),
        else portable::ghash::times(a, b)
    )
}

#[inline(always)]
fn j0_of(nonce: &[u8; NONCE_BYTES]) -> u128 {
    let [head @ .., b8, b9, b10, b11] = *nonce;
    let tail = u32::from_be_bytes([b8, b9, b10, b11]);
    u128::from(u64::from_be_bytes(head)) << 64 | u128::from(tail) << 32 | 1
}

/// The last block that is hashed.
fn lengths(aad: &[u8], bytes: usize) -> u128 {
    (aad.len() as u128 * 8) << 64 | (bytes as u128 * 8)
}

#[inline(always)]
pub(crate) fn check_lengths(aad_bytes: u64, bytes: u64) -> Result<(), AeadError> {
    if bytes > MESSAGE_BYTES_MAX {
        Err(AeadError::MessageTooLong {
            bytes_max: MESSAGE_BYTES_MAX,
        })
    } else if aad_bytes > AAD_BYTES_MAX {
        Err(AeadError::AadTooLong {
            bytes_max: AAD_BYTES_MAX,
        })
    } else {
        Ok(())
    }
}

/// The head, and the keystream of the data.
fn cut_keystream<'a>(
    keystream: &'a [u8],
    aad: &[u8],
    bytes: usize,
) -> Result<(&'a [u8; BLOCK_BYTES], &'a [u8]), AeadError> {
    check_lengths(aad.len() as u64, bytes as u64)?;
    keystream
        .split_first_chunk()
        .and_then(|(head, rest)| Some((head, rest.get(..bytes)?)))
        .ok_or(AeadError::KeystreamTooShort {
            bytes_min: Gcm::KEYSTREAM_HEAD_BYTES + bytes,
        })
}

fn assert_is_stripe(offset: u64, bytes: u64) {
    assert!(
        offset.is_multiple_of(STRIPE_ALIGN as u64),
        "a stripe begins at a multiple of {STRIPE_ALIGN} bytes, not at {offset}"
    );
    assert_ends_within(offset, bytes);
}

fn assert_ends_within(offset: u64, bytes: u64) {
    assert!(
        offset.saturating_add(bytes) <= MESSAGE_BYTES_MAX,
        "a message has at most {MESSAGE_BYTES_MAX} bytes"
    );
}

fn is_in_place(data: &mut InOutBuf<'_, '_, u8>) -> bool {
    core::ptr::eq(data.get_in().as_ptr(), data.get_out().as_ptr())
}

/// Of a keystream made ahead, the bytes that are applied before they are hashed.
const PIECE_BYTES: usize = 4096;
/// A message of so many bytes makes a table longer than the one that is there.
#[cfg(target_arch = "x86_64")]
const LONG_BYTES_MIN: usize = 512;
/// One of so many makes the long table at once.
#[cfg(target_arch = "x86_64")]
const VERY_LONG_BYTES_MIN: usize = 32 << 10;
/// A message of so many bytes fills a table of counter-mode caching.
#[cfg(target_arch = "x86_64")]
const CACHED_BYTES_MIN: usize = 12 << 10;
