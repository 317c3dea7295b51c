//! ChaCha20 (RFC 8439, section 2.4) interleaved with Poly1305, written once over [`Words`] and [`Rows`].
//!
//! ChaCha20 fills the vector units and takes a third to half of what a core can issue; Poly1305 runs
//! on the integer units in what is left.
//!
//! ```text
//! seal    rounds of chunk k with the MAC of chunk k - 1 of the output;  XOR chunk k
//! open    rounds of chunk k with the MAC of chunk k of the input;       XOR chunk k
//! ```
//!
//! One chain of Poly1305 would be slower than the rounds that it is interleaved with. So each half of a chunk has
//! one: the second begins at zero, and the first is multiplied by a power of r to join it.
//!
//! For a message given whole, block 0, the one-time key, and the powers of r are made during the rounds of the first
//! blocks of data. With AVX-512 block 0 is on the integer units, and so done before they are.

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

/// How a backend does as many blocks at once as it does best.
///
/// # Safety
/// Every method needs the instructions of its implementor, [`Powers`](Self::Powers) and [`Steps`](Self::Steps) included.
/// Pointers need not be aligned. Data are readable and writable, in the same place or in two that do not overlap.
pub(crate) trait Chunk {
    const BLOCKS: usize;
    const BYTES: usize = Self::BLOCKS * BLOCK_BYTES;
    /// What does Poly1305 during the rounds.
    type Powers: Powers;
    /// What does Poly1305 on its own.
    type Steps: Steps;

    /// Returns `mac` with `data` and then `last` absorbed, without rounds and without powers.
    ///
    /// # Safety
    /// As [`Chunk`].
    #[inline(always)]
    unsafe fn absorb(r: &Multiplier, mac: Element, data: &[u8], last: Option<&Block>) -> Element {
        // SAFETY: the caller has the instructions of `Self::Steps`.
        unsafe { mac.absorb_all::<Self::Steps>(r, data, last) }
    }
    /// XORs keystream from `start` on onto `data`.
    ///
    /// # Safety
    /// As [`Chunk`].
    unsafe fn crypt(start: Start<'_>, data: Data);
    /// Whether this many bytes are computed soonest as chunks, with nothing during or after them.
    #[inline(always)]
    fn are_chunks(bytes: usize) -> bool {
        let _ = bytes;
        false
    }
    /// XORs keystream onto data for which [`are_chunks`](Self::are_chunks) holds.
    ///
    /// # Safety
    /// As [`Chunk`]; `are_chunks` holds of their length.
    #[inline(always)]
    unsafe fn crypt_chunks(start: Start<'_>, data: Data) {
        // SAFETY: the caller has what `crypt` asks for: the instructions and `data`.
        unsafe { Self::crypt(start, data) }
    }
    /// XORs keystream onto whole chunks, at least one, and absorbs a chunk during the rounds of each. To seal, the
    /// first absorbed is what `running` has yet to absorb, and it is left with the last one.
    ///
    /// # Safety
    /// As [`Chunk`]; `data` are whole chunks. To seal, the chunk last named to `running` is readable.
    unsafe fn crypt_and_mac_chunks(
        direction: Direction,
        start: Start<'_>,
        running: &mut <Self::Powers as Powers>::Run<'_>,
        data: Data,
    );
    /// Makes block 0 at `start`, and behind it in `place` keystream of at least `bytes`, at most a chunk.
    /// Powers where data of that length are absorbed sooner with them.
    ///
    /// # Safety
    /// As [`Chunk`].
    unsafe fn begin(
        start: Start<'_>,
        bytes: usize,
        place: &mut Keystream,
    ) -> (OneTimeKey, Option<Self::Powers>);
    /// Makes block 0 at `start`, and encrypts the first chunk of `data` in the same run, where that is possible.
    ///
    /// # Safety
    /// As [`Chunk`].
    #[inline(always)]
    unsafe fn begin_and_seal(
        start: Start<'_>,
        data: Data,
        place: &mut Keystream,
    ) -> Option<OneTimeKey> {
        let _ = (start, data, place);
        None
    }
    /// From this length on, powers are made during the first rounds when r is known already.
    const MAKING_BYTES_MIN: usize = usize::MAX;
    /// As [`begin`](Self::begin), of data at `start` and with r known; only for so many bytes.
    ///
    /// # Safety
    /// As [`Chunk`]; `bytes` are at least [`MAKING_BYTES_MIN`](Self::MAKING_BYTES_MIN).
    unsafe fn make(
        start: Start<'_>,
        r: &Multiplier,
        bytes: usize,
        place: &mut Keystream,
    ) -> Option<Self::Powers> {
        let _ = (start, r, bytes, place);
        None
    }
    /// XORs keystream that is there onto as many bytes.
    ///
    /// # Safety
    /// As [`Chunk`]; `data` are at least as many as there is keystream.
    #[inline(always)]
    unsafe fn xor(keystream: &[u8], data: Data) {
        // SAFETY: the caller has as many bytes of `data` as of `keystream` at both pointers.
        unsafe { xor_bytes(keystream, data.from, data.to) }
    }
    /// XORs keystream onto less than a chunk, and at least a byte; `running` absorbs its chunk during the rounds.
    ///
    /// # Safety
    /// As [`Chunk`]; the chunk last named to `running` is readable.
    unsafe fn crypt_rest_and_mac(
        start: Start<'_>,
        running: &mut <Self::Powers as Powers>::Run<'_>,
        data: Data,
    );
}

/// XORs keystream from `start` on onto `data` by columns alone.
///
/// # Safety
/// As [`Chunk`].
#[inline(always)]
pub(crate) unsafe fn crypt_in_columns<V: Words>(mut start: Start<'_>, mut data: Data) {
    let chunk = V::BLOCKS * BLOCK_BYTES;
    // SAFETY: the caller has the instructions of `V`, and `data` at both pointers, of which each step takes a chunk. The
    // place has room for as many blocks.
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

/// A chunk of as many blocks as a register has words, of which it holds one of each. The blocks of one chunk are put
/// together during the rounds of the next: the shuffles, all for one port of Intel's CPUs, then take 20 of 220 ns for
/// 1 KiB and not 40 (Xeon, family 6 model 207). Fewer blocks lie in rows, which takes less time, if the sets of `S`,
/// or else of the wider `R`, have room for them. `M` makes `P`.
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
        // SAFETY: the caller has the instructions of `V`, `S` and `R`, and `data`: the whole chunks, and what is behind them.
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
        // SAFETY: the caller has the instructions of `V` and `P`, and whole chunks of `data`. `running` absorbs the chunk that
        // is named here before it is decrypted or after it was encrypted, or the one before, for which the caller answers.
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
        // SAFETY: the caller has the instructions of `V`, `S`, `R` and `M`; the place has room for block 0 and a chunk. The
        // room of powers was filled by all double rounds when they are taken out.
        unsafe {
            if bytes < M::BYTES_MIN {
                let bytes = BLOCK_BYTES + bytes;
                // The first where no more ever comes: then there is no code for the others.
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
        // SAFETY: the caller has the instructions of `V`, `R` and `M`; the place has room for block 0 and a chunk. The room
        // of powers was filled by all double rounds.
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
        // SAFETY: the caller has the instructions of `R`, and as many bytes of `data` as of `keystream`.
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
    /// Keystream of at least `bytes`, or of a chunk, in `place` behind room for block 0.
    ///
    /// # Safety
    /// As [`Chunk`]; the caller grants what `beside` needs.
    #[inline(always)]
    unsafe fn keystream<B: Beside>(
        start: Start<'_>,
        bytes: usize,
        place: &mut Keystream,
        beside: &mut B,
    ) {
        // SAFETY: the caller has the instructions of `V` and `R`, and grants what `beside` needs; the place has room for
        // block 0 and a chunk, and there are as many zeros.
        unsafe {
            // With so much else to do, three sets take longer than columns.
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
    /// As [`Chunk`], for as many chunks at `from` and `to`.
    #[inline(always)]
    unsafe fn crypt_chunks(start: Start<'_>, from: *const u8, to: *mut u8, chunks: usize) {
        // SAFETY: the caller has the instructions of `V`, and the chunks at both pointers. The words of one are put
        // together during the rounds of the next, where `before` names its places.
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
    /// As [`Chunk`]; the caller grants what `beside` needs.
    #[inline(always)]
    unsafe fn crypt_rest<B: Beside>(start: Start<'_>, beside: &mut B, data: Data) {
        // SAFETY: the caller has the instructions of `V`, `S` and `R`, grants what `beside` needs, and has `data` at both
        // pointers: no more than the sets that take them, or than a chunk, for which the place has room.
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

/// Onto which keystream is made: zeros that were just written to its own place would have to be waited for.
#[repr(align(64))]
struct Zeros([u8; 16 * BLOCK_BYTES]);

static ZEROS: Zeros = Zeros([0; 16 * BLOCK_BYTES]);

/// The chunk before, whose blocks are put together during the rounds.
struct Before<V> {
    words: [V; 16],
    from: *const u8,
    to: *mut u8,
}

impl<V: Words> Beside for Before<V> {
    #[inline(always)]
    unsafe fn step(&mut self, double_round: usize) {
        if double_round < XOR_STEPS {
            // SAFETY: the caller has the instructions of `V`; `crypt_chunks` names a chunk of its data at both pointers.
            unsafe { V::xor_blocks_step(&mut self.words, double_round, self.from, self.to) }
        }
    }
}

impl<V> Drop for Before<V> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: of registers any bytes are values.
        unsafe { ptr::write_bytes(&mut self.words, 0, 1) };
        // The zeros are never read: the compiler must not know.
        core::hint::black_box(&mut self.words);
    }
}

/// As [`Chunk::crypt`]; and returns `mac` with all whole MAC blocks of the ciphertext absorbed, by `powers`
/// of this r where they are there already.
///
/// # Safety
/// As [`Chunk`].
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
    // SAFETY: the caller has the instructions of `C`, and `data`: what is behind the first chunk is also readable and
    // writable. Whatever a run is told to absorb next is a chunk of the data's ciphertext.
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

/// Encrypts or decrypts the first data of a message with block 0 at `start`. Returns its one-time key, and
/// the MAC with the associated data and all whole MAC blocks of the ciphertext absorbed; of a message
/// that `ends` with these data, with all of it absorbed.
///
/// # Safety
/// As [`Chunk`].
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
    // SAFETY: the caller has the instructions of `C`, and `data`, which `begin` leaves alone and `begin_and_seal` encrypts
    // a chunk of.
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
    /// What is absorbed behind the data.
    last: Option<&'a Block>,
}

impl Part<'_> {
    /// What is to be absorbed of the data: before they are decrypted, or after they are encrypted.
    ///
    /// # Safety
    /// As [`Chunk`].
    #[inline(always)]
    unsafe fn ciphertext(&self) -> &[u8] {
        let Data { from, to, bytes } = self.data;
        let from = match self.direction {
            Direction::Seal => to.cast_const(),
            Direction::Open => from,
        };
        // SAFETY: the caller has `bytes` of data at both pointers, of which `rest_bytes` are the end.
        unsafe { core::slice::from_raw_parts(from, bytes - self.rest_bytes) }
    }

    /// The same, with the keystream of the first chunk, or of all data where there are fewer; with none where
    /// the first chunk is encrypted already.
    ///
    /// # Safety
    /// As [`Chunk`].
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
        // SAFETY: the caller has the instructions of `C`, and the data: what is behind a part is also readable and writable.
        // Keystream is as long as what it is XORed onto. A run is told to absorb the first chunk, before it is decrypted or
        // after it was encrypted.
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

    /// The chunks of a run, and what follows them. To seal, `running` has the chunk before the data yet to
    /// absorb.
    ///
    /// # Safety
    /// As [`Chunk`]; to seal, the chunk last named to `running` is readable.
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
        // SAFETY: the caller has the instructions of `C`, the data, which each step shortens, and to seal the chunk before
        // them. What is absorbed at the end is ciphertext: not yet decrypted, or encrypted by then.
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
