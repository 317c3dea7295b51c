//! AES-GCM (SP 800-38D) with tags of 16 bytes.
//!
//! ```text
//! J0  ->  E(K, J0)                    one block of keystream, XORed onto the tag
//! J0 + 1, J0 + 2, ...                 CTR over the data (32 bits count)
//! y = ... (y ^ block) * H             GHASH over AAD, ciphertext, lengths
//! ```
//!
//! Where the CPU has carry-less multiplication, CTR and GHASH are one loop (`x86_64/gcm`); elsewhere the portable ones
//! alternate. GHASH is linear in its input, so stripes of a message can be hashed separately, each from zero, and combined:
//! y * H^blocks + stripe.
//!
//! Many blocks are multiplied by descending powers of H and reduced together. A key has the powers for a few blocks from the
//! start, since many keys serve one short message. If it has room for tables, a longer message computes the number of powers
//! that pays off within it, and later messages compute the rest. Threads that share a key take no lock: while one of them
//! computes powers, the others use the existing ones.

mod hash;
mod message;

use core::fmt;
use core::mem::MaybeUninit;

pub use hash::{FEW_BYTES_MAX, Room, Tables};
use hash::{HashKey, by_backend};
use inout::InOutBuf;
pub use message::{Message, Partial};

pub use crate::aead::NONCE_BYTES;
use crate::aead::{AeadError, TAG_BYTES, tags_match};
use crate::aes::{Backend, Ctr};
use crate::counter::carry_32;
use crate::cpu::Cpu;
use crate::key::{BLOCK_BYTES, InvalidKeyLength};
use crate::portable::xor::xor;
use crate::wipe::wipe;
#[cfg(target_arch = "x86_64")]
use crate::x86_64::{Face, batch::gcm as many, gcm as kernel};
#[cfg(target_arch = "x86_64")]
use hash::LONG_BYTES_MIN;

/// The most bytes of plaintext under one nonce (SP 800-38D, section 5.2.1.1).
pub const MESSAGE_BYTES_MAX: u64 = (1 << 36) - 32;
/// The most bytes of associated data, and of a nonce (SP 800-38D, section 5.2.1.1).
pub const AAD_BYTES_MAX: u64 = (1 << 61) - 1;

/// An AES key in GCM, bound to the backend that runs it, and room for its tables of powers. Wiped on drop.
pub struct Gcm<T: Room = [Tables; 1]> {
    pub(crate) ctr: Ctr,
    hash: HashKey<T>,
    #[cfg(target_arch = "x86_64")]
    face: Option<Face>,
}

impl Gcm {
    /// Bytes of E(K, J0), which [`keystream`](Self::keystream) puts before the keystream of the data.
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

    /// Creates a value without a key, run by `backend`. Until [`set_key`](Self::set_key) its output is worthless.
    #[inline(always)]
    pub const fn unkeyed(backend: Backend) -> Self {
        Self::unkeyed_with([Tables::empty()], backend)
    }

    /// Like [`unkeyed`](Self::unkeyed) on 512-bit VAES, with counter-mode caching for long messages whose nonce has 12
    /// bytes.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub const fn unkeyed_cached(face: Face) -> Self {
        Self::unkeyed_cached_with([Tables::empty()], face)
    }
}

impl<T: Room> Gcm<T> {
    /// Like [`unkeyed`](Gcm::unkeyed), with the given room for tables, or none.
    #[inline(always)]
    pub const fn unkeyed_with(tables: T, backend: Backend) -> Self {
        Self {
            ctr: Ctr::unkeyed(backend),
            hash: HashKey::unkeyed(tables),
            #[cfg(target_arch = "x86_64")]
            face: None,
        }
    }

    /// Like [`unkeyed_cached`](Gcm::unkeyed_cached), with the given room for tables, or none.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub const fn unkeyed_cached_with(tables: T, face: Face) -> Self {
        Self {
            ctr: Ctr::unkeyed(Backend::Vaes512(face.vaes512())),
            hash: HashKey::unkeyed(tables),
            face: Some(face),
        }
    }

    /// Like [`unkeyed_cached_with`](Self::unkeyed_cached_with) if `cpu` has counter-mode caching, otherwise like
    /// [`unkeyed_with`](Self::unkeyed_with), in `place`: moving a value of 700 bytes costs as much as a short message.
    #[inline(always)]
    pub fn unkeyed_in(place: &mut MaybeUninit<Self>, tables: T, cpu: Cpu) -> &mut Self {
        #[cfg(target_arch = "x86_64")]
        let face = Face::new(cpu);
        #[cfg(target_arch = "x86_64")]
        let backend = match face {
            Some(face) => Backend::Vaes512(face.vaes512()),
            None => Backend::preferred(cpu),
        };
        #[cfg(not(target_arch = "x86_64"))]
        let backend = Backend::preferred(cpu);
        let fields = place.as_mut_ptr();
        // SAFETY: `place` is for a key of this type, and each of its fields is written.
        unsafe {
            (&raw mut (*fields).ctr).write(Ctr::unkeyed(backend));
            (&raw mut (*fields).hash).write(HashKey::unkeyed(tables));
            #[cfg(target_arch = "x86_64")]
            (&raw mut (*fields).face).write(face);
            place.assume_init_mut()
        }
    }

    /// Returns the room for tables, or none. If it is filled through this reference, long messages begin to use it.
    pub const fn tables(&self) -> &T {
        self.hash.tables()
    }

    /// Expands `key` (16, 24 or 32 bytes), which replaces the previous one.
    ///
    /// # Errors
    /// [`InvalidKeyLength`]; the old key is kept.
    pub fn set_key(&mut self, key: &[u8]) -> Result<(), InvalidKeyLength> {
        let mut h = [0; BLOCK_BYTES];
        self.ctr.set_key_and_encrypt_zeros(key, &mut h)?;
        self.hash.set(self.ctr.backend(), &h);
        wipe(&mut h);
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

    /// Encrypts `data` and returns the tag over `aad` and the ciphertext. A nonce of 12 bytes is fastest; any other length
    /// of 1 to 2^61 - 1 bytes works. Never use a nonce twice with a key.
    ///
    /// # Errors
    /// [`AeadError::InvalidNonceLength`], [`AeadError::MessageTooLong`] beyond [`MESSAGE_BYTES_MAX`],
    /// [`AeadError::AadTooLong`] beyond [`AAD_BYTES_MAX`]; the data is then unchanged.
    #[inline(always)]
    pub fn seal(
        &self,
        nonce: &[u8],
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
    ) -> Result<[u8; TAG_BYTES], AeadError> {
        check_lengths(aad.len() as u64, data.len() as u64)?;
        let mut tag = [0; TAG_BYTES];
        self.run::<false>(nonce, aad, data, &mut tag)?;
        Ok(tag)
    }

    /// Decrypts `data` if `tag` is the tag of `aad` and the ciphertext. Otherwise nothing is released: data in place is the
    /// ciphertext again, and a separate output is zero.
    ///
    /// # Errors
    /// [`AeadError::AuthenticationFailed`], and those of [`seal`](Self::seal).
    #[inline(always)]
    pub fn open(
        &self,
        nonce: &[u8],
        aad: &[u8],
        mut data: InOutBuf<'_, '_, u8>,
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), AeadError> {
        check_lengths(aad.len() as u64, data.len() as u64)?;
        let mut expected = [0; TAG_BYTES];
        self.run::<true>(nonce, aad, data.reborrow(), &mut expected)?;
        if tags_match(&expected, tag) {
            Ok(())
        } else {
            self.take_back(nonce, data)
        }
    }

    /// Like [`open`](Self::open), but unauthentic data becomes zeros, even in place, which saves a second pass to restore
    /// the ciphertext.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    #[inline(always)]
    pub fn open_or_zero(
        &self,
        nonce: &[u8],
        aad: &[u8],
        mut data: InOutBuf<'_, '_, u8>,
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), AeadError> {
        check_lengths(aad.len() as u64, data.len() as u64)?;
        let mut expected = [0; TAG_BYTES];
        self.run::<true>(nonce, aad, data.reborrow(), &mut expected)?;
        if tags_match(&expected, tag) {
            Ok(())
        } else {
            data.get_out().fill(0);
            Err(AeadError::AuthenticationFailed)
        }
    }

    /// Writes to `out` the keystream that [`seal_with_keystream`](Self::seal_with_keystream) or
    /// [`open_with_keystream`](Self::open_with_keystream) takes for this nonce:
    /// [`KEYSTREAM_HEAD_BYTES`](Gcm::KEYSTREAM_HEAD_BYTES), then the length of the data.
    ///
    /// # Errors
    /// [`AeadError::InvalidNonceLength`], [`AeadError::MessageTooLong`].
    pub fn keystream(&self, nonce: &[u8], out: &mut [u8]) -> Result<(), AeadError> {
        let j0 = self.j0(nonce)?;
        let bytes = out.len().saturating_sub(Gcm::KEYSTREAM_HEAD_BYTES);
        check_lengths(0, bytes as u64)?;
        out.fill(0);
        self.ctr.apply32(j0, 0, out.into());
        Ok(())
    }

    /// Like [`seal`](Self::seal), with a keystream from [`keystream`](Self::keystream) under this key. The keystream of a
    /// nonce serves one message, once.
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
        // In pieces that stay in the first-level cache between the two steps.
        for keystream in keystream.chunks(PIECE_BYTES) {
            let (mut piece, rest) = data.split_at(keystream.len());
            xor(keystream, piece.reborrow());
            y = self.hash.hash(backend, y, piece.get_out());
            data = rest;
        }
        let y = self.hash.times_h(backend, y ^ lengths);
        Ok((y ^ u128::from_be_bytes(*head)).to_be_bytes())
    }

    /// Like [`open`](Self::open), with a keystream from [`keystream`](Self::keystream) under this key and the message's
    /// nonce.
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

    /// Seals or opens a packet with the kernel for many packets, and returns its tag. `None` if that would not gain.
    #[inline(always)]
    pub(crate) fn packet<const OPEN: bool>(
        &self,
        nonce: &[u8; NONCE_BYTES],
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
    ) -> Option<[u8; TAG_BYTES]> {
        #[cfg(target_arch = "x86_64")]
        if let Backend::Vaes512(token) = self.backend()
            && many::takes(aad.len(), data.len())
        {
            let bytes = data.len();
            let view = self.hash.view(self.backend(), bytes.max(LONG_BYTES_MIN));
            if many::is_enough(view, bytes) {
                let (from, to) = data.into_raw();
                let packet = many::Packet {
                    schedule: &self.ctr.schedule,
                    view,
                    nonce,
                    aad,
                    from,
                    to,
                    bytes,
                };
                let mut tag = [0; TAG_BYTES];
                // SAFETY: the buffer guarantees `bytes` readable at `from` and writable at `to`, the same or disjoint; both
                // checks above passed: the kernel accepts the packet, and there are enough powers.
                unsafe { many::crypt::<OPEN>(token, &packet, &mut tag) };
                return Some(tag);
            }
        }
        let _ = (nonce, aad, data);
        None
    }

    /// Puts a key with carry-less multiplication into the state in which another thread is computing its short table.
    #[cfg(all(target_arch = "x86_64", debug_assertions))]
    pub(crate) fn hold_tables(&mut self) {
        if let Backend::AesNi(_) | Backend::Vaes256(_) | Backend::Vaes512(_) = self.backend() {
            self.hash.hold();
        }
    }

    /// Returns H, then its powers as they lie in memory. No other thread may use the key during the call.
    #[cfg(debug_assertions)]
    pub(crate) fn powers_of_h(&self) -> impl Iterator<Item = [u8; BLOCK_BYTES]> {
        let h = core::iter::once(self.hash.h.to_ne_bytes());
        #[cfg(target_arch = "x86_64")]
        {
            let few = self.hash.few.made();
            h.chain(few).chain(self.hash.powers())
        }
        #[cfg(not(target_arch = "x86_64"))]
        h
    }

    /// Computes the tag of a whole message, whose lengths have been checked, straight into `tag`. Returned by value, it
    /// would be stored in two halves and then loaded whole, and the load would wait for both stores. Functions that are not
    /// inlined get a copy of `data`, so that its fields stay in registers here, for the same reason.
    #[inline(always)]
    fn run<const OPEN: bool>(
        &self,
        nonce: &[u8],
        aad: &[u8],
        mut data: InOutBuf<'_, '_, u8>,
        tag: &mut [u8; TAG_BYTES],
    ) -> Result<(), AeadError> {
        if let Ok(nonce) = <&[u8; NONCE_BYTES]>::try_from(nonce) {
            let backend = self.ctr.backend();
            by_backend!(backend, kernels(token) => {
                let schedule = &self.ctr.schedule;
                let blocks = data.len().div_ceil(BLOCK_BYTES) + 2;
                if data.len() <= kernels::SHORT_BYTES_MAX
                    && aad.len() <= BLOCK_BYTES
                    && let Some(view) = self.hash.short_view(backend, blocks)
                {
                    kernels::short::<OPEN>(token, schedule, view, nonce, aad, data, tag);
                    return Ok(());
                }
                let view = self.hash.view(backend, aad.len() + data.len());
                if let Some(face) = self.face
                    && data.len() >= CACHED_BYTES_MIN
                {
                    let cached_message = kernel::CACHED_MESSAGE[usize::from(OPEN)];
                    let data = data.reborrow();
                    *tag = cached_message(face, schedule, view, j0_of(nonce), aad, data).to_ne_bytes();
                    return Ok(());
                }
                kernels::message::<OPEN>(token, schedule, view, j0_of(nonce), aad, data, tag);
                Ok(())
            }, else self.run_in_steps(OPEN, nonce, aad, data.reborrow(), tag))
        } else {
            self.run_in_steps(OPEN, nonce, aad, data.reborrow(), tag)
        }
    }

    #[inline(never)]
    fn run_in_steps(
        &self,
        open: bool,
        nonce: &[u8],
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
        tag: &mut [u8; TAG_BYTES],
    ) -> Result<(), AeadError> {
        let mut message = self.begin(nonce, aad)?;
        if open {
            self.open_next(&mut message, data)?;
        } else {
            self.seal_next(&mut message, data)?;
        }
        *tag = self.finish(message);
        Ok(())
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

    /// Returns J0 (SP 800-38D, section 7.1, step 2).
    #[inline(always)]
    fn j0(&self, nonce: &[u8]) -> Result<u128, AeadError> {
        match nonce.try_into() {
            Ok(nonce) => Ok(j0_of(nonce)),
            Err(_) => self.j0_hashed(nonce),
        }
    }

    #[inline(never)]
    fn j0_hashed(&self, nonce: &[u8]) -> Result<u128, AeadError> {
        if nonce.is_empty() || nonce.len() as u64 > AAD_BYTES_MAX {
            return Err(AeadError::InvalidNonceLength(nonce.len()));
        }
        let backend = self.ctr.backend();
        let y = self.hash.hash(backend, 0, nonce);
        let length = nonce.len() as u128 * 8;
        Ok(self.hash.times_h(backend, y ^ length))
    }
}

impl<T: Room> fmt::Debug for Gcm<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Gcm").field(&self.ctr).finish()
    }
}

#[inline(always)]
fn j0_of(nonce: &[u8; NONCE_BYTES]) -> u128 {
    let [head @ .., b8, b9, b10, b11] = *nonce;
    let tail = u32::from_be_bytes([b8, b9, b10, b11]);
    u128::from(u64::from_be_bytes(head)) << 64 | u128::from(tail) << 32 | 1
}

/// Returns the last block that is hashed.
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

/// Splits a keystream into its head and the keystream of the data.
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

fn is_in_place(data: &mut InOutBuf<'_, '_, u8>) -> bool {
    core::ptr::eq(data.get_in().as_ptr(), data.get_out().as_ptr())
}

/// The bytes that are encrypted before they are hashed, if those are two steps.
const PIECE_BYTES: usize = 4096;
/// The fewest bytes of a message that fills a table of counter-mode caching.
#[cfg(target_arch = "x86_64")]
const CACHED_BYTES_MIN: usize = 12 << 10;
