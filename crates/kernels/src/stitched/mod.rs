//! ChaCha20 (RFC 8439, section 2.4) interleaved with Poly1305, written once over [`Words`] and [`Rows`].
//!
//! ChaCha20 fills the vector units and takes a third to half of what a core can issue; Poly1305 runs on the integer units
//! with the rest.
//!
//! ```text
//! seal    rounds of chunk k with the MAC of chunk k - 1 of the output;  XOR chunk k
//! open    rounds of chunk k with the MAC of chunk k of the input;       XOR chunk k
//! ```
//!
//! One chain of Poly1305 would be slower than the rounds that it is interleaved with, so each half of a chunk has its own:
//! the second begins at zero, and a product with a power of r joins the first to it.
//!
//! For a message given whole, block 0, the one-time key, and the powers of r are computed during the rounds of the first
//! blocks of data. With AVX-512, block 0 is computed on the integer units, and so finished before those rounds.

mod chains;
mod columns;
pub(crate) mod rows;
mod state;

use core::marker::PhantomData;
use core::ptr;

#[cfg(target_arch = "x86_64")]
pub(crate) use chains::Chains;
pub(crate) use chains::{Block, ChainPowers, Making, Powers, Run};
pub(crate) use columns::Words;
use columns::{XOR_STEPS, block_words};
pub(crate) use rows::Rows;
pub(crate) use state::{
    BLOCK_BYTES, Beside, DOUBLE_ROUNDS, Data, Direction, Keystream, Nothing, Register, SIGMA,
    Start, UNLIKE_FROM,
};

use crate::poly1305::{BLOCK_BYTES as MAC_BYTES, Element, Multiplier, OneTimeKey, Steps};
use crate::portable::xor::xor_bytes;

/// A backend's way to process its best number of blocks at once.
///
/// # Safety
/// Every method needs the instructions of its implementor, including those of [`Powers`](Self::Powers) and
/// [`Steps`](Self::Steps). Pointers need not be aligned. Data is readable and writable, in the same place or in two that do
/// not overlap.
pub(crate) trait Chunk {
    const BLOCKS: usize;
    const BYTES: usize = Self::BLOCKS * BLOCK_BYTES;
    /// Poly1305 during the rounds.
    type Powers: Powers;
    /// Poly1305 on its own.
    type Steps: Steps;

    /// Returns `mac` with `data` and then `last` absorbed, without rounds and without powers.
    ///
    /// # Safety
    /// The same as for [`Chunk`].
    #[inline(always)]
    unsafe fn absorb(r: &Multiplier, mac: Element, data: &[u8], last: Option<&Block>) -> Element {
        // SAFETY: the caller has the instructions of `Self::Steps`.
        unsafe { mac.absorb_all::<Self::Steps>(r, data, last) }
    }
    /// XORs keystream onto `data`, beginning at `start`.
    ///
    /// # Safety
    /// The same as for [`Chunk`].
    unsafe fn crypt(start: Start<'_>, data: Data);
    /// Whether this number of bytes is computed fastest as chunks, with nothing interleaved or after them.
    #[inline(always)]
    fn are_chunks(bytes: usize) -> bool {
        let _ = bytes;
        false
    }
    /// XORs keystream onto data for which [`are_chunks`](Self::are_chunks) holds.
    ///
    /// # Safety
    /// The same as for [`Chunk`]; `are_chunks` holds for the length of `data`.
    #[inline(always)]
    unsafe fn crypt_chunks(start: Start<'_>, data: Data) {
        // SAFETY: the caller has what `crypt` requires: the instructions and `data`.
        unsafe { Self::crypt(start, data) }
    }
    /// XORs keystream onto whole chunks, at least one, and absorbs a chunk during the rounds of each. When sealing, the
    /// first chunk absorbed is the one that `running` still has to absorb, and it is left with the last one.
    ///
    /// # Safety
    /// The same as for [`Chunk`]; `data` is whole chunks. When sealing, the chunk last passed to `running` is readable.
    unsafe fn crypt_and_mac_chunks(
        direction: Direction,
        start: Start<'_>,
        running: &mut <Self::Powers as Powers>::Run<'_>,
        data: Data,
    );
    /// Computes block 0 at `start`, and after it in `place` keystream of at least `bytes`, at most a chunk; and powers, if
    /// data of that length is absorbed faster with them.
    ///
    /// # Safety
    /// The same as for [`Chunk`].
    unsafe fn begin(
        start: Start<'_>,
        bytes: usize,
        place: &mut Keystream,
    ) -> (OneTimeKey, Option<Self::Powers>);
    /// Computes block 0 at `start`, and encrypts the first chunk of `data` in the same run, if possible.
    ///
    /// # Safety
    /// The same as for [`Chunk`].
    #[inline(always)]
    unsafe fn begin_and_seal(
        start: Start<'_>,
        data: Data,
        place: &mut Keystream,
    ) -> Option<OneTimeKey> {
        let _ = (start, data, place);
        None
    }
    /// The least data for which powers are computed during the first rounds when r is known already.
    const MAKING_BYTES_MIN: usize = usize::MAX;
    /// Like [`begin`](Self::begin), for data at `start` and with r known.
    ///
    /// # Safety
    /// The same as for [`Chunk`]; `bytes` is at least [`MAKING_BYTES_MIN`](Self::MAKING_BYTES_MIN).
    unsafe fn make(
        start: Start<'_>,
        r: &Multiplier,
        bytes: usize,
        place: &mut Keystream,
    ) -> Option<Self::Powers> {
        let _ = (start, r, bytes, place);
        None
    }
    /// XORs ready keystream onto the front of `data`.
    ///
    /// # Safety
    /// The same as for [`Chunk`]; `data` is at least as long as `keystream`.
    #[inline(always)]
    unsafe fn xor(keystream: &[u8], data: Data) {
        // SAFETY: the caller has the length of `keystream` at both pointers of `data`.
        unsafe { xor_bytes(keystream, data.from, data.to) }
    }
    /// XORs keystream onto less than a chunk, and at least a byte; `running` absorbs its chunk during the rounds.
    ///
    /// # Safety
    /// The same as for [`Chunk`]; the chunk last passed to `running` is readable.
    unsafe fn crypt_rest_and_mac(
        start: Start<'_>,
        running: &mut <Self::Powers as Powers>::Run<'_>,
        data: Data,
    );
}

/// XORs keystream onto `data`, beginning at `start`, by columns only.
///
/// # Safety
/// The same as for [`Chunk`].
#[inline(always)]
pub(crate) unsafe fn crypt_in_columns<V: Words>(mut start: Start<'_>, mut data: Data) {
    let chunk = V::BLOCKS * BLOCK_BYTES;
    // SAFETY: the caller has the instructions of `V`, and `data` at both pointers, of which each step takes a chunk. `place`
    // has room for a chunk.
    unsafe {
        while data.bytes >= chunk {
            V::xor_blocks(block_words(start, &mut Nothing), data.from, data.to);
            data = data.behind(chunk);
            start = start.later(V::BLOCKS as u32);
        }
        if data.bytes > 0 {
            let mut place = Keystream::new();
            let to = place.fill(chunk).as_mut_ptr();
            V::xor_blocks(block_words(start, &mut Nothing), to, to);
            xor_bytes(&place.bytes()[..data.bytes], data.from, data.to);
        }
    }
}

/// A chunk with one block for each word of a register, which holds a word of each. The blocks of one chunk are assembled
/// during the rounds of the next: the shuffles, all for one port of Intel's CPUs, then take 20 of 220 ns for 1 KiB and not
/// 40 (Xeon, family 6 model 207). Fewer blocks lie in rows, which is faster, if the sets of `S`, or else of the wider `R`,
/// have room for them. `M` computes `P`.
pub(crate) struct InColumnsOrRows<V, S, R, P, M>(PhantomData<(V, S, R, P, M)>);

impl<V: Words, S: Rows, R: Rows, P: Powers, M: Making<Powers = P>> Chunk
    for InColumnsOrRows<V, S, R, P, M>
{
    const BLOCKS: usize = <V as Words>::BLOCKS;
    type Powers = P;
    type Steps = P::Steps;

    #[inline(always)]
    unsafe fn crypt(mut start: Start<'_>, mut data: Data) {
        let chunks = data.bytes / Self::BYTES;
        // SAFETY: the caller has the instructions of `V`, `S` and `R`, and `data`: the whole chunks, and the rest after
        // them.
        unsafe {
            if chunks > 0 {
                Self::crypt_chunks(start, data.from, data.to, chunks);
                data = data.behind(chunks * Self::BYTES);
                start = start.later((chunks * Self::BLOCKS) as u32);
            }
            if data.bytes > 0 {
                Self::crypt_rest(start, &mut Nothing, data);
            }
        }
    }

    #[inline(always)]
    unsafe fn crypt_and_mac_chunks(
        direction: Direction,
        mut start: Start<'_>,
        running: &mut P::Run<'_>,
        mut data: Data,
    ) {
        // SAFETY: the caller has the instructions of `V` and `P`, and whole chunks of `data`. `running` absorbs the chunk
        // that is passed here before it is decrypted or after it was encrypted, or the previous one, which the caller
        // guarantees.
        unsafe {
            while data.bytes > 0 {
                if direction == Direction::Open {
                    running.chunk(data.from);
                }
                let words = block_words(start, running);
                running.end_of_chunk();
                V::xor_blocks(words, data.from, data.to);
                if direction == Direction::Seal {
                    running.chunk(data.to);
                }
                data = data.behind(Self::BYTES);
                start = start.later(Self::BLOCKS as u32);
            }
        }
    }

    #[inline(always)]
    unsafe fn begin(
        start: Start<'_>,
        bytes: usize,
        place: &mut Keystream,
    ) -> (OneTimeKey, Option<P>) {
        // SAFETY: the caller has the instructions of `V`, `S`, `R` and `M`; the place has room for block 0 and a chunk. All
        // double rounds have filled the room of the powers when they are taken out.
        unsafe {
            if bytes < M::BYTES_MIN {
                let bytes = BLOCK_BYTES + bytes;
                // `S` if there is never more data, so that no code for `R` is generated.
                let most = rows::SETS_MAX * S::SET_BYTES;
                if BLOCK_BYTES + M::BYTES_MIN - 1 <= most || bytes <= most {
                    rows::keystream::<S, _>(start, bytes, place, 0, &mut Nothing);
                } else {
                    rows::keystream::<R, _>(start, bytes, place, 0, &mut Nothing);
                }
                return (OneTimeKey::from_block(place.bytes()), None);
            }
            #[cfg(debug_assertions)]
            crate::dispatch::chacha20::BLOCK_BESIDE.hit();
            let mut room = M::room();
            let mut beside = M::keyless(&mut room, start, bytes);
            Self::keystream(start.later(1), bytes, place, &mut beside);
            let one_time = M::one_time_key(beside);
            (one_time, Some(M::powers(&room)))
        }
    }

    const MAKING_BYTES_MIN: usize = M::BYTES_MIN;

    #[inline(always)]
    unsafe fn make(
        start: Start<'_>,
        r: &Multiplier,
        bytes: usize,
        place: &mut Keystream,
    ) -> Option<P> {
        // SAFETY: the caller has the instructions of `V`, `R` and `M`; the place has room for block 0 and a chunk. All
        // double rounds have filled the room of the powers.
        unsafe {
            #[cfg(debug_assertions)]
            crate::dispatch::chacha20::POWERS_BESIDE.hit();
            let mut room = M::room();
            Self::keystream(start, bytes, place, &mut M::keyed(&mut room, r, bytes));
            Some(M::powers(&room))
        }
    }

    #[inline(always)]
    unsafe fn xor(keystream: &[u8], data: Data) {
        // SAFETY: the caller has the instructions of `R`, and the length of `keystream` in `data`.
        unsafe { R::xor_bytes(keystream, data) }
    }

    #[inline(always)]
    unsafe fn crypt_rest_and_mac(start: Start<'_>, running: &mut P::Run<'_>, data: Data) {
        // SAFETY: the caller has the instructions of `V`, `S`, `R` and `P`, less than a chunk of `data`, and the chunk that
        // `running` absorbs in the ten double rounds.
        unsafe {
            Self::crypt_rest(start, running, data);
            running.end_of_chunk();
        }
    }
}

impl<V: Words, S: Rows, R: Rows, P: Powers, M: Making<Powers = P>> InColumnsOrRows<V, S, R, P, M> {
    /// Computes keystream of at least `bytes`, or of a chunk, in `place` after room for block 0.
    ///
    /// # Safety
    /// The same as for [`Chunk`]; the caller grants what `beside` needs.
    #[inline(always)]
    unsafe fn keystream<B: Beside>(
        start: Start<'_>,
        bytes: usize,
        place: &mut Keystream,
        beside: &mut B,
    ) {
        // SAFETY: the caller has the instructions of `V` and `R`, and grants what `beside` needs; the place has room for
        // block 0 and a chunk, and `ZEROS` is as long as a chunk.
        unsafe {
            // With that much interleaved work, three sets take longer than columns.
            if bytes <= 2 * R::SET_BYTES {
                return rows::keystream::<R, B>(start, bytes, place, BLOCK_BYTES, beside);
            }
            let words = block_words(start, beside);
            let to = place.write(BLOCK_BYTES + Self::BYTES);
            ptr::write_bytes(to, 0, BLOCK_BYTES);
            V::xor_blocks(words, ZEROS.0.as_ptr(), to.add(BLOCK_BYTES));
        }
    }

    /// XORs keystream onto `chunks` chunks, at least one.
    ///
    /// # Safety
    /// The same as for [`Chunk`], for `chunks` chunks at `from` and `to`.
    #[inline(always)]
    unsafe fn crypt_chunks(start: Start<'_>, from: *const u8, to: *mut u8, chunks: usize) {
        // SAFETY: the caller has the instructions of `V`, and the chunks at both pointers. The blocks of one chunk are
        // assembled during the rounds of the next, at the pointers in `before`.
        unsafe {
            let words = block_words(start, &mut Nothing);
            if chunks < 2 {
                return V::xor_blocks(words, from, to);
            }
            let mut before = Before { words, from, to };
            for i in 1..chunks {
                let start = start.later((i * Self::BLOCKS) as u32);
                before.words = block_words(start, &mut before);
                before.from = from.add(i * Self::BYTES);
                before.to = to.add(i * Self::BYTES);
            }
            V::xor_blocks(before.words, before.from, before.to);
        }
    }

    /// XORs keystream onto less than a chunk, and at least a byte.
    ///
    /// # Safety
    /// The same as for [`Chunk`]; the caller grants what `beside` needs.
    #[inline(always)]
    unsafe fn crypt_rest<B: Beside>(start: Start<'_>, beside: &mut B, data: Data) {
        // SAFETY: the caller has the instructions of `V`, `S` and `R`, grants what `beside` needs, and has `data` at both
        // pointers: no more than the sets that take it, or than a chunk, for which the place has room.
        unsafe {
            if data.bytes <= rows::SETS_MAX * S::SET_BYTES {
                rows::crypt::<S, B>(start, beside, data);
            } else if data.bytes <= rows::SETS_MAX * R::SET_BYTES {
                rows::crypt::<R, B>(start, beside, data);
            } else {
                let mut place = Keystream::new();
                let to = place.fill(Self::BYTES).as_mut_ptr();
                V::xor_blocks(block_words(start, beside), to, to);
                xor_bytes(&place.bytes()[..data.bytes], data.from, data.to);
            }
        }
    }
}

/// The input from which keystream is computed: zeros just written to its own place would have to be waited for.
#[repr(align(64))]
struct Zeros([u8; 16 * BLOCK_BYTES]);

static ZEROS: Zeros = Zeros([0; 16 * BLOCK_BYTES]);

/// The previous chunk, whose blocks are assembled during the rounds.
struct Before<V> {
    words: [V; 16],
    from: *const u8,
    to: *mut u8,
}

impl<V: Words> Beside for Before<V> {
    #[inline(always)]
    unsafe fn step(&mut self, double_round: usize) {
        if double_round < XOR_STEPS {
            // SAFETY: the caller has the instructions of `V`; `crypt_chunks` sets both pointers to a chunk of its data.
            unsafe { V::xor_blocks_step(&mut self.words, double_round, self.from, self.to) }
        }
    }
}

impl<V> Drop for Before<V> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: any bytes are valid values of registers.
        unsafe { ptr::write_bytes(&mut self.words, 0, 1) };
        // The zeros are never read; hide that from the compiler.
        core::hint::black_box(&mut self.words);
    }
}

/// Like [`Chunk::crypt`]; returns `mac` with all whole MAC blocks of the ciphertext absorbed, with `powers` of this r if
/// they exist already.
///
/// # Safety
/// The same as for [`Chunk`].
#[inline(always)]
pub(crate) unsafe fn crypt_and_mac<C: Chunk>(
    direction: Direction,
    mut start: Start<'_>,
    r: &Multiplier,
    powers: Option<&C::Powers>,
    mac: Element,
    mut data: Data,
) -> Element {
    let rest_bytes = data.bytes % MAC_BYTES;
    let part = Part {
        direction,
        start,
        r,
        data,
        rest_bytes,
        last: None,
    };
    // SAFETY: the caller has the instructions of `C`, and `data`: the part after the first chunk is also readable and
    // writable. A run only gets chunks of the data's ciphertext to absorb.
    unsafe {
        if powers.is_none() && data.bytes >= C::MAKING_BYTES_MIN {
            let mut place = Keystream::new();
            let powers = C::make(start, r, data.bytes, &mut place);
            return part.absorb_and_crypt::<C>(mac, powers, &place.bytes()[BLOCK_BYTES..]);
        }
        if data.bytes < 2 * C::BYTES {
            if direction == Direction::Seal {
                C::crypt(start, data);
            }
            let ciphertext = part.ciphertext();
            let mac = match powers {
                Some(powers) => powers.absorb_more(r, mac, ciphertext, None),
                None => C::Powers::absorb(r, mac, ciphertext),
            };
            if direction == Direction::Open {
                C::crypt(start, data);
            }
            return mac;
        }
        let own;
        let powers = match powers {
            Some(powers) => powers,
            None => {
                own = C::Powers::new(r);
                &own
            }
        };
        let mut running = powers.begin(mac);
        if direction == Direction::Seal {
            let bytes = C::BYTES;
            C::crypt(start, Data { bytes, ..data });
            running.chunk(data.to);
            data = data.behind(bytes);
            start = start.later(C::BLOCKS as u32);
        }
        let part = Part {
            start,
            data,
            ..part
        };
        part.chunks::<C>(running)
    }
}

/// Encrypts or decrypts the first data of a message with block 0 at `start`. Returns its one-time key, and the MAC with the
/// associated data and all whole MAC blocks of the ciphertext absorbed; if the message `ends` with this data, with all of it
/// absorbed.
///
/// # Safety
/// The same as for [`Chunk`].
#[inline(always)]
pub(crate) unsafe fn first<C: Chunk>(
    direction: Direction,
    start: Start<'_>,
    aad: &[u8],
    data: Data,
    ends: bool,
) -> (OneTimeKey, Element) {
    let lengths = (aad.len() as u128 | (data.bytes as u128) << 64).to_le_bytes();
    let mut place = Keystream::new();
    // SAFETY: the caller has the instructions of `C`, and `data`, which `begin` does not touch and of which `begin_and_seal`
    // encrypts a chunk.
    unsafe {
        let sealed = match direction {
            Direction::Seal => C::begin_and_seal(start, data, &mut place),
            Direction::Open => None,
        };
        let (one_time, powers) = match sealed {
            Some(one_time) => (one_time, None),
            None => C::begin(start, data.bytes, &mut place),
        };
        let r = &one_time.r;
        let mac = Element::ZERO.absorb_padded_by::<C::Steps>(r, aad);
        let part = Part {
            direction,
            start: start.later(1),
            r,
            data,
            rest_bytes: if ends { 0 } else { data.bytes % MAC_BYTES },
            last: ends.then_some(&lengths),
        };
        let mac = part.absorb_and_crypt::<C>(mac, powers, &place.bytes()[BLOCK_BYTES..]);
        (one_time, mac)
    }
}

/// Data to encrypt or decrypt and to absorb.
struct Part<'a> {
    direction: Direction,
    start: Start<'a>,
    r: &'a Multiplier,
    data: Data,
    /// The bytes at the end that are only crypted.
    rest_bytes: usize,
    /// A block to absorb after the data.
    last: Option<&'a Block>,
}

impl Part<'_> {
    /// Returns the part of the data to absorb: before it is decrypted, or after it is encrypted.
    ///
    /// # Safety
    /// The same as for [`Chunk`].
    #[inline(always)]
    unsafe fn ciphertext(&self) -> &[u8] {
        let Data { from, to, bytes } = self.data;
        let from = match self.direction {
            Direction::Seal => to.cast_const(),
            Direction::Open => from,
        };
        // SAFETY: the caller has `bytes` of data at both pointers; `rest_bytes` is the length of their end.
        unsafe { core::slice::from_raw_parts(from, bytes - self.rest_bytes) }
    }

    /// Absorbs and crypts the data, with the keystream of its first chunk, or of all data if that is shorter; an empty
    /// keystream means that the first chunk is encrypted already.
    ///
    /// # Safety
    /// The same as for [`Chunk`].
    #[inline(always)]
    unsafe fn absorb_and_crypt<C: Chunk>(
        mut self,
        mac: Element,
        powers: Option<C::Powers>,
        keystream: &[u8],
    ) -> Element {
        let Self {
            direction,
            data,
            r,
            last,
            ..
        } = self;
        let first_bytes = data.bytes.min(C::BYTES);
        let keystream = &keystream[..first_bytes.min(keystream.len())];
        let is_sealed = keystream.is_empty();
        let first = Data {
            bytes: first_bytes,
            ..data
        };
        // SAFETY: the caller has the instructions of `C`, and the data: the rest after a part is also readable and writable.
        // Keystream has the length of the data it is XORed onto. A run gets the first chunk to absorb before it is decrypted
        // or after it was encrypted.
        unsafe {
            if data.bytes <= C::BYTES {
                if let Some(powers) = &powers {
                    let bytes = data.bytes - self.rest_bytes;
                    let (keystream, rest) = keystream.split_at(bytes);
                    let whole = Data { bytes, ..data };
                    let mac = powers.xor_and_absorb(direction, r, mac, keystream, whole, last);
                    if !rest.is_empty() {
                        let data = data.behind(bytes);
                        xor_bytes(rest, data.from, data.to);
                    }
                    return mac;
                }
                if direction == Direction::Seal && !is_sealed {
                    C::xor(keystream, data);
                }
                let ciphertext = self.ciphertext();
                let mac = C::absorb(r, mac, ciphertext, last);
                if direction == Direction::Open {
                    C::xor(keystream, data);
                }
                return mac;
            }
            let powers = match powers {
                Some(powers) => powers,
                None => C::Powers::new(r),
            };
            let mut running = powers.begin(mac);
            if direction == Direction::Open {
                running.chunk(data.from);
                running.whole_chunk();
            }
            if !is_sealed {
                C::xor(keystream, first);
            }
            if direction == Direction::Seal {
                running.chunk(data.to);
            }
            self.start = self.start.later(C::BLOCKS as u32);
            self.data = data.behind(C::BYTES);
            self.chunks::<C>(running)
        }
    }

    /// Processes the chunks of a run, and the rest after them. When sealing, `running` still has to absorb the chunk before
    /// the data.
    ///
    /// # Safety
    /// The same as for [`Chunk`]; when sealing, the chunk last passed to `running` is readable.
    #[inline(always)]
    unsafe fn chunks<C: Chunk>(self, mut running: <C::Powers as Powers>::Run<'_>) -> Element {
        let Self {
            direction,
            mut start,
            r,
            mut data,
            rest_bytes,
            last,
        } = self;
        // SAFETY: the caller has the instructions of `C`, the data, which each step shortens, and when sealing the chunk
        // before it. The end absorbs ciphertext: data not yet decrypted, or already encrypted.
        unsafe {
            let count = data.bytes / C::BYTES;
            if count > 0 {
                let bytes = count * C::BYTES;
                C::crypt_and_mac_chunks(direction, start, &mut running, Data { bytes, ..data });
                data = data.behind(bytes);
                start = start.later((count * C::BLOCKS) as u32);
            }
            let whole = data.bytes - rest_bytes;
            if direction == Direction::Open {
                let mac = running.end(r, core::slice::from_raw_parts(data.from, whole), last);
                if data.bytes > 0 {
                    C::crypt(start, data);
                }
                return mac;
            }
            if data.bytes > 0 {
                C::crypt_rest_and_mac(start, &mut running, data);
            } else {
                running.whole_chunk();
            }
            running.end(r, core::slice::from_raw_parts(data.to, whole), last)
        }
    }
}
