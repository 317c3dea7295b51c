//! Messages in parts: pieces in order, or stripes in any order.

use core::fmt;
use core::sync::atomic::{Ordering, compiler_fence};

use inout::InOutBuf;
use zeroize::ZeroizeOnDrop;

#[cfg(target_arch = "x86_64")]
use super::CACHED_BYTES_MIN;
use super::hash::{by_backend, times};
use super::{Gcm, MESSAGE_BYTES_MAX, PIECE_BYTES, Room, check_lengths};
use crate::aead::{AeadError, STRIPE_ALIGN, TAG_BYTES};
#[cfg(target_arch = "x86_64")]
use crate::aes::Backend;
use crate::counter::{bytes_before_wrap, carry_32};
use crate::key::BLOCK_BYTES;
use crate::portable::xor::xor;
use crate::wipe::wipe;
#[cfg(target_arch = "x86_64")]
use crate::x86_64::{gcm as kernel, gcm::CACHED_ALIGN};

/// A message in progress: nonce, position, GHASH so far, and the partial block. Wiped on drop.
#[derive(Clone)]
pub struct Message {
    pub(crate) j0: u128,
    pub(crate) y: u128,
    aad_bytes: u64,
    /// Whether `begun` has a partial block of the associated data, which must be hashed before data may follow.
    aad_begun: bool,
    pub(crate) bytes: u64,
    /// The keystream of the partial block; `begun` has its ciphertext so far.
    keystream: [u8; BLOCK_BYTES],
    begun: [u8; BLOCK_BYTES],
    tail: Tail,
    /// What `end` holds for the end of the message.
    ready: Ready,
    end: [u8; TAG_BYTES],
    /// A power of H and its exponent; see [`Gcm::append`].
    power: u128,
    power_blocks: u64,
    /// Whether the last appended stripe ended within a block, so that nothing can follow.
    ended: bool,
}

/// The state of the partial block, if there is one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tail {
    /// In `keystream` and `begun`, and not yet in `y`.
    Begun,
    /// Already in `y`, padded with zeros; its keystream has to be computed again.
    Hashed,
    /// In `y`, except for what `begun` has: GHASH is linear, so the two can be added.
    HashedAndBegun,
}

/// What is known about the end of a message in advance.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ready {
    Nothing,
    /// The keystream that masks the tag.
    Mask,
    /// The tag, if the message has this number of bytes.
    Tag(u64),
}

/// GHASH of a stripe's ciphertext, starting from zero. Wiped on drop.
#[derive(ZeroizeOnDrop)]
pub struct Partial {
    y: u128,
}

impl<T: Room> Gcm<T> {
    /// Begins a message with the nonce and all of the associated data.
    ///
    /// # Errors
    /// [`AeadError::InvalidNonceLength`], [`AeadError::AadTooLong`].
    #[inline]
    pub fn begin(&self, nonce: &[u8], aad: &[u8]) -> Result<Message, AeadError> {
        check_lengths(aad.len() as u64, 0)?;
        let mut y = 0;
        if !aad.is_empty() {
            y = self.hash.hash(self.ctr.backend(), 0, aad);
        }
        let mut message = Message::new(self.j0(nonce)?);
        (message.y, message.aad_bytes) = (y, aad.len() as u64);
        Ok(message)
    }

    /// Begins a message without associated data in `place`, replacing the previous one. Moving a message would load recent
    /// stores on the stack by wider loads, which wait until the stores are done.
    ///
    /// # Errors
    /// [`AeadError::InvalidNonceLength`]; `place` is then unchanged.
    #[inline]
    pub fn begin_in(&self, place: &mut Option<Message>, nonce: &[u8]) -> Result<(), AeadError> {
        let j0 = self.j0(nonce)?;
        *place = Some(Message::new(j0));
        Ok(())
    }

    /// Adds associated data to a message that was begun without any, piece by piece, before its data.
    ///
    /// # Errors
    /// [`AeadError::AadTooLong`]; the message is then unchanged.
    ///
    /// # Panics
    /// If the message has data already, or was begun with associated data that ends within a block.
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
            #[cfg(target_arch = "x86_64")]
            kernel::fill_up(&mut message.begun, tail);
            #[cfg(not(target_arch = "x86_64"))]
            {
                message.begun = [0; BLOCK_BYTES];
                message.begun[..tail.len()].copy_from_slice(tail);
            }
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
    /// If a stripe that ended within a block has been appended.
    #[inline]
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
    /// Those of [`seal_next`](Self::seal_next).
    ///
    /// # Panics
    /// In the same cases as [`seal_next`](Self::seal_next).
    #[inline]
    pub fn open_next(
        &self,
        message: &mut Message,
        data: InOutBuf<'_, '_, u8>,
    ) -> Result<(), AeadError> {
        self.next::<true>(message, data)
    }

    /// Returns the tag of a complete message. To verify one, compare with [`tags_match`](crate::aead::tags_match).
    #[inline]
    pub fn finish(&self, mut message: Message) -> [u8; TAG_BYTES] {
        let mut tag = [0; TAG_BYTES];
        self.finish_in_place(&mut message, &mut tag);
        tag
    }

    /// Like [`finish`](Self::finish), but does not move the message, and writes the tag in place. Drop the message
    /// afterwards: any other use of it gives meaningless results.
    #[inline]
    pub fn finish_in_place(&self, message: &mut Message, tag: &mut [u8; TAG_BYTES]) {
        if message.ready == Ready::Tag(message.bytes) {
            *tag = message.end;
        } else {
            self.finish_any(message, tag);
        }
    }

    #[inline(never)]
    fn finish_any(&self, message: &mut Message, tag: &mut [u8; TAG_BYTES]) {
        self.end_aad(message);
        if !message.ended && message.begun_bytes() > 0 {
            self.hash_begun(message);
        }
        let lengths = u128::from(message.aad_bytes * 8) << 64 | u128::from(message.bytes * 8);
        by_backend!(self.ctr.backend(), kernels(token) => {
            let (schedule, view) = (&self.ctr.schedule, self.hash.few_view());
            kernels::end(token, schedule, message.y ^ lengths, message.j0, tag, view);
        }, else {
            let y = self.hash.times_h(self.ctr.backend(), message.y ^ lengths);
            *tag = y.to_be_bytes();
            if message.ready == Ready::Mask {
                xor(&message.end, (&mut tag[..]).into());
            } else {
                self.ctr.apply32(message.j0, 0, (&mut tag[..]).into());
            }
        });
    }

    /// Encrypts the part of `message` that begins `offset` bytes from its start, and returns GHASH of that part alone.
    /// `message` is fresh from [`begin`](Self::begin); any number of threads may each process a stripe of it.
    ///
    /// # Panics
    /// If `offset` is not a multiple of [`STRIPE_ALIGN`], or the stripe ends beyond [`MESSAGE_BYTES_MAX`].
    pub fn seal_stripe(
        &self,
        message: &Message,
        offset: u64,
        data: InOutBuf<'_, '_, u8>,
    ) -> Partial {
        self.stripe::<false>(message, offset, data)
    }

    /// Like [`seal_stripe`](Self::seal_stripe), but decrypts. Its output **is not verified**; if the tag turns out wrong,
    /// [`crypt_stripe`](Self::crypt_stripe) undoes it.
    ///
    /// # Panics
    /// In the same cases as [`seal_stripe`](Self::seal_stripe).
    pub fn open_stripe(
        &self,
        message: &Message,
        offset: u64,
        data: InOutBuf<'_, '_, u8>,
    ) -> Partial {
        self.stripe::<true>(message, offset, data)
    }

    /// Adds a stripe of `bytes` bytes to `message`. Stripes come in the order of their offsets and without gaps; their
    /// lengths, except for the last, are multiples of [`STRIPE_ALIGN`]. A power of H is kept from call to call, so stripes
    /// of equal length cost two multiplications each.
    ///
    /// # Panics
    /// If a previous stripe or piece ended within a block, or the message exceeds [`MESSAGE_BYTES_MAX`].
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

    /// Applies the keystream of a stripe again, without GHASH, which undoes [`open_stripe`](Self::open_stripe).
    ///
    /// # Panics
    /// In the same cases as [`seal_stripe`](Self::seal_stripe).
    pub fn crypt_stripe(&self, message: &Message, offset: u64, data: InOutBuf<'_, '_, u8>) {
        assert_is_stripe(offset, data.len() as u64);
        self.ctr.apply32(message.counter(offset), 0, data);
    }

    #[inline(always)]
    pub(super) fn next<const OPEN: bool>(
        &self,
        message: &mut Message,
        mut data: InOutBuf<'_, '_, u8>,
    ) -> Result<(), AeadError> {
        let is_done = if message.bytes == 0 {
            self.first::<OPEN>(message, data.reborrow())
        } else {
            false
        };
        if is_done || self.few::<OPEN>(message, data.reborrow()) {
            return Ok(());
        }
        self.any_next(OPEN, message, data)
    }

    /// Processes the first data of a message if it is short, and returns whether it did. Most messages have no other data.
    #[inline(always)]
    fn first<const OPEN: bool>(&self, message: &mut Message, data: InOutBuf<'_, '_, u8>) -> bool {
        #[cfg(target_arch = "x86_64")]
        {
            let bytes = data.len();
            if bytes == 0 || message.j0 as u32 != 1 {
                return false;
            }
            by_backend!(self.ctr.backend(), kernels(token) => {
                let backend = self.ctr.backend();
                // A partial block of the associated data may come in addition to the data.
                let blocks = bytes.div_ceil(BLOCK_BYTES) + 1;
                let is_early = self.hash.is_early(bytes);
                let view = if is_early {
                    self.hash.few_view()
                } else if bytes <= kernels::SHORT_BYTES_MAX {
                    let view = self.hash.short_view(backend, blocks);
                    view.unwrap_or_else(|| self.hash.few_view())
                } else if bytes < CACHED_BYTES_MIN {
                    self.hash.view(backend, bytes)
                } else {
                    return false;
                };
                let schedule = &self.ctr.schedule;
                let Message { j0, y, begun, aad_bytes, end, .. } = message;
                let begun = message.aad_begun.then_some(&*begun);
                kernels::first::<OPEN>(
                    token, is_early, schedule, view, *j0, begun, y, data, *aad_bytes, end,
                );
                message.aad_begun = false;
                message.bytes = bytes as u64;
                message.tail = Tail::Hashed;
                message.ready = Ready::Tag(bytes as u64);
                return true;
            }, else {});
        }
        false
    }

    /// Processes `data` if it has few blocks, and returns whether it did. This is what programs pass most often.
    #[inline(always)]
    fn few<const OPEN: bool>(&self, message: &mut Message, data: InOutBuf<'_, '_, u8>) -> bool {
        #[cfg(target_arch = "x86_64")]
        {
            let bytes = data.len();
            let counter = message.counter(message.bytes);
            let is_whole_blocks = (message.bytes as usize | bytes).is_multiple_of(BLOCK_BYTES);
            if !is_whole_blocks
                || bytes == 0
                || message.aad_begun
                || bytes as u64 > MESSAGE_BYTES_MAX.saturating_sub(message.bytes)
                || bytes as u64 > bytes_before_wrap(counter)
            {
                return false;
            }
            by_backend!(self.ctr.backend(), kernels(token) => {
                if bytes > kernels::SHORT_BYTES_MAX {
                    return false;
                }
                let blocks = bytes / BLOCK_BYTES;
                let Some(view) = self.hash.short_view(self.ctr.backend(), blocks) else {
                    return false;
                };
                let schedule = &self.ctr.schedule;
                kernels::few::<OPEN>(token, schedule, view, &mut message.y, counter, data);
                message.bytes += bytes as u64;
                return true;
            }, else {});
        }
        false
    }

    #[inline(never)]
    fn any_next(
        &self,
        open: bool,
        message: &mut Message,
        data: InOutBuf<'_, '_, u8>,
    ) -> Result<(), AeadError> {
        if open {
            self.any_next_of::<true>(message, data)
        } else {
            self.any_next_of::<false>(message, data)
        }
    }

    fn any_next_of<const OPEN: bool>(
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
        if message.bytes == 0 && (1..=FIRST_BYTES_MAX).contains(&data.len()) && self.is_composed() {
            self.first_composed::<OPEN>(message, data);
            return Ok(());
        }
        self.end_aad(message);
        if message.begun_bytes() > 0 {
            if message.tail == Tail::Hashed {
                self.begin_block(message);
                message.tail = Tail::HashedAndBegun;
            }
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
            self.begin_block(message);
            self.crypt_begun::<OPEN>(message, tail);
        }
        Ok(())
    }

    /// Computes the keystream of the next block, which has no data in `begun` yet.
    fn begin_block(&self, message: &mut Message) {
        message.keystream = [0; BLOCK_BYTES];
        message.begun = [0; BLOCK_BYTES];
        message.tail = Tail::Begun;
        let counter = message.counter(message.bytes);
        let keystream = &mut message.keystream[..];
        self.ctr.apply32(counter, 0, keystream.into());
    }

    /// Whether AES and GHASH have separate kernels.
    fn is_composed(&self) -> bool {
        #[cfg(target_arch = "x86_64")]
        if let Backend::AesNi(_) | Backend::Vaes256(_) | Backend::Vaes512(_) = self.ctr.backend() {
            return false;
        }
        true
    }

    /// Processes the first data of a message, 1 to [`FIRST_BYTES_MAX`] bytes, and computes the mask of its tag: all
    /// keystream in one call, since a backend that computes many blocks side by side takes as long for one.
    fn first_composed<const OPEN: bool>(
        &self,
        message: &mut Message,
        mut data: InOutBuf<'_, '_, u8>,
    ) {
        #[cfg(debug_assertions)]
        crate::dispatch::aes::GCM_COMPOSED.hit();
        let backend = self.ctr.backend();
        self.end_aad(message);
        let mut keystream = [0; BLOCK_BYTES + FIRST_BYTES_MAX];
        let used = BLOCK_BYTES + data.len().next_multiple_of(BLOCK_BYTES);
        self.ctr
            .apply32(message.j0, 0, (&mut keystream[..used]).into());
        let (mask, of_data) = keystream.split_at(BLOCK_BYTES);
        message.end.copy_from_slice(mask);
        message.ready = Ready::Mask;
        let whole = data.len() - data.len() % BLOCK_BYTES;
        let (mut blocks, tail) = data.reborrow().split_at(whole);
        let (of_blocks, of_tail) = of_data.split_at(whole);
        if OPEN {
            message.y = self.hash.hash(backend, message.y, blocks.get_in());
        }
        xor(of_blocks, blocks.reborrow());
        if !OPEN {
            message.y = self.hash.hash(backend, message.y, blocks.get_out());
        }
        message.bytes = whole as u64;
        if !tail.is_empty() {
            message.keystream.copy_from_slice(&of_tail[..BLOCK_BYTES]);
            message.begun = [0; BLOCK_BYTES];
            self.crypt_begun::<OPEN>(message, tail);
        }
        wipe(&mut keystream);
    }

    /// Hashes a partial block of the associated data, padded with zeros.
    #[inline(always)]
    fn end_aad(&self, message: &mut Message) {
        if message.aad_begun {
            let begun = u128::from_be_bytes(message.begun);
            message.y = self.hash.times_h(self.ctr.backend(), message.y ^ begun);
            message.aad_begun = false;
        }
    }

    /// Continues the partial block; `data` ends within it or with it.
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
            self.hash_begun(message);
            message.tail = Tail::Begun;
        }
    }

    /// Hashes the part of the partial block in `begun`.
    fn hash_begun(&self, message: &mut Message) {
        let backend = self.ctr.backend();
        let begun = u128::from_be_bytes(message.begun);
        match message.tail {
            Tail::Begun => message.y = self.hash.times_h(backend, message.y ^ begun),
            Tail::Hashed => {}
            Tail::HashedAndBegun => message.y ^= self.hash.times_h(backend, begun),
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

    /// Applies CTR from byte `offset` of the message, and GHASH to the ciphertext, starting with `y`.
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
            #[cfg(debug_assertions)]
            crate::dispatch::aes::GCM_COMPOSED.hit();
            let mut counter = counter;
            // In pieces that stay in the first-level cache between the two steps.
            while !data.is_empty() {
                let bytes = data.len().min(PIECE_BYTES);
                let (mut piece, rest) = data.split_at(bytes);
                if OPEN {
                    y = self.hash.hash(backend, y, piece.get_in());
                }
                self.ctr.apply32(counter, 0, piece.reborrow());
                if !OPEN {
                    y = self.hash.hash(backend, y, piece.get_out());
                }
                counter = carry_32(counter, (bytes / BLOCK_BYTES) as u64);
                data = rest;
            }
        });
        y
    }
}

impl Message {
    /// Returns the bytes of data so far.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the bytes of the partial block, or of the last one if the message has ended.
    fn begun_bytes(&self) -> usize {
        self.bytes as usize % BLOCK_BYTES
    }

    /// Returns the counter of the block `offset` bytes from the start.
    fn counter(&self, offset: u64) -> u128 {
        carry_32(self.j0, 1 + offset / BLOCK_BYTES as u64)
    }
}

impl ZeroizeOnDrop for Message {}

impl Message {
    #[inline(always)]
    const fn new(j0: u128) -> Self {
        Self {
            j0,
            y: 0,
            aad_bytes: 0,
            aad_begun: false,
            bytes: 0,
            keystream: [0; BLOCK_BYTES],
            begun: [0; BLOCK_BYTES],
            tail: Tail::Begun,
            ready: Ready::Nothing,
            end: [0; TAG_BYTES],
            power: 0,
            power_blocks: 0,
            ended: false,
        }
    }
}

impl Drop for Message {
    #[inline]
    fn drop(&mut self) {
        (self.y, self.power) = (0, 0);
        self.keystream = [0; BLOCK_BYTES];
        self.begun = [0; BLOCK_BYTES];
        self.end = [0; TAG_BYTES];
        // The zeros are never read; hide that from the compiler.
        core::hint::black_box(core::ptr::from_mut(self));
        compiler_fence(Ordering::SeqCst);
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

/// The most bytes of a message's first data for which all keystream is computed in one call: together with the mask, the
/// blocks that the bitsliced kernel on 256-bit registers computes side by side.
const FIRST_BYTES_MAX: usize = 7 * BLOCK_BYTES;
