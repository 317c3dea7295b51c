//! ChaCha20 (RFC 8439, section 2.4) with Poly1305 beside it, written once over [`Words`] and [`Rows`].
//!
//! ChaCha20 fills the vector units and takes a third to half of what a core can issue; Poly1305 runs
//! on the integer units in what is left.
//!
//! ```text
//! seal    rounds of chunk k, beside them the MAC of chunk k - 1 of the output;  XOR chunk k
//! open    rounds of chunk k, beside them the MAC of chunk k of the input;       XOR chunk k
//! ```
//!
//! One chain of Poly1305 would be slower than the rounds beside it. So each half of a chunk has one:
//! the second begins at zero, and the first is multiplied by a power of r to join it.
//!
//! A message given whole has block 0, the one-time key, in its first chunk, in which the data are
//! thus 64 bytes shorter.

mod chains;
mod columns;
mod rows;
mod state;

use core::marker::PhantomData;
use core::ptr;

pub(crate) use chains::{ChainPowers, Powers, Run};
pub(crate) use columns::Words;
use columns::{XOR_STEPS, block_words};
pub(crate) use rows::Rows;
pub(crate) use state::{BLOCK_BYTES, Beside, Data, Keystream, Register, Start};
use state::{DOUBLE_ROUNDS, Nothing};

use crate::poly1305::{BLOCK_BYTES as MAC_BYTES, Element, Multiplier, OneTimeKey};
use crate::portable::xor::xor_bytes;

/// How a backend does as many blocks at once as it does best.
///
/// # Safety
/// Every method needs the instructions of its implementor. Pointers need not be aligned.
pub(crate) trait Chunk {
    const BLOCKS: usize;
    const BYTES: usize = Self::BLOCKS * BLOCK_BYTES;
    /// What does Poly1305 beside the rounds.
    type Powers: Powers;
    /// The keystream of a chunk, not put together.
    type Words: Copy;

    /// `beside` is called once in each of the ten double rounds.
    unsafe fn words<B: Beside>(start: Start<'_>, beside: &mut B) -> Self::Words;
    /// XORs the blocks, put together, onto `BYTES` bytes of `from`, and writes the result to `to`.
    unsafe fn xor_blocks(words: Self::Words, from: *const u8, to: *mut u8);
    /// XORs keystream from `start` on onto `chunks` chunks of `from`, at least one, and writes the
    /// result to `to`.
    #[inline(always)]
    unsafe fn crypt_chunks(start: Start<'_>, from: *const u8, to: *mut u8, chunks: usize) {
        for i in 0..chunks {
            let start = start.later((i * Self::BLOCKS) as u32);
            // SAFETY: as the caller vouches for all chunks.
            unsafe {
                let (from, to) = (from.add(i * Self::BYTES), to.add(i * Self::BYTES));
                Self::xor_blocks(Self::words(start, &mut Nothing), from, to);
            }
        }
    }
    /// Makes keystream of at least `bytes`, at most a chunk, in `place`. As many blocks as take the
    /// least time.
    unsafe fn keystream<B: Beside>(
        start: Start<'_>,
        beside: &mut B,
        bytes: usize,
        place: &mut Keystream,
    );
    /// XORs keystream onto less than a chunk, and at least a byte.
    #[inline(always)]
    unsafe fn crypt_rest<B: Beside>(start: Start<'_>, beside: &mut B, data: Data) {
        let mut place = Keystream::new();
        // SAFETY: as the caller vouches.
        unsafe {
            Self::keystream(start, beside, data.bytes, &mut place);
            xor_bytes(&place.bytes()[..data.bytes], data.from, data.to);
        }
    }
}

/// A chunk of `SETS` sets of rows.
pub(crate) struct InRows<R, P, const SETS: usize>(PhantomData<(R, P)>);

// SAFETY: the caller enables the instructions of `R`, and vouches for the pointers.
impl<R: Rows, P: Powers, const SETS: usize> Chunk for InRows<R, P, SETS> {
    const BLOCKS: usize = SETS * R::BLOCKS;
    type Powers = P;
    type Words = [[R; 4]; SETS];

    #[inline(always)]
    unsafe fn words<B: Beside>(start: Start<'_>, beside: &mut B) -> Self::Words {
        // SAFETY: as above.
        unsafe { rows::sets(start, beside) }
    }
    #[inline(always)]
    unsafe fn xor_blocks(words: Self::Words, from: *const u8, to: *mut u8) {
        for (i, set) in words.into_iter().enumerate() {
            let at = i * R::SET_BYTES;
            // SAFETY: as above; the sets are as long as the chunk.
            unsafe { rows::xor_set(set, from.add(at), to.add(at)) };
        }
    }
    #[inline(always)]
    unsafe fn keystream<B: Beside>(
        start: Start<'_>,
        beside: &mut B,
        bytes: usize,
        place: &mut Keystream,
    ) {
        // SAFETY: as above.
        unsafe { rows::keystream::<R, B>(start, beside, bytes, place) }
    }
    #[inline(always)]
    unsafe fn crypt_rest<B: Beside>(start: Start<'_>, beside: &mut B, data: Data) {
        // SAFETY: as above.
        unsafe { rows::crypt::<R, B>(start, beside, data) }
    }
}

/// A chunk of as many blocks as a register has words, of which it holds one of each.
pub(crate) struct InColumns<V, P>(PhantomData<(V, P)>);

// SAFETY: the caller enables the instructions of `V`, and vouches for the pointers.
impl<V: Words, P: Powers> Chunk for InColumns<V, P> {
    const BLOCKS: usize = V::BLOCKS;
    type Powers = P;
    type Words = [V; 16];

    #[inline(always)]
    unsafe fn words<B: Beside>(start: Start<'_>, beside: &mut B) -> Self::Words {
        // SAFETY: as above.
        unsafe { block_words(start, beside) }
    }
    #[inline(always)]
    unsafe fn xor_blocks(words: Self::Words, from: *const u8, to: *mut u8) {
        // SAFETY: as above.
        unsafe { V::xor_blocks(words, from, to) }
    }
    #[inline(always)]
    unsafe fn keystream<B: Beside>(
        start: Start<'_>,
        beside: &mut B,
        _: usize,
        place: &mut Keystream,
    ) {
        let to = place.fill(Self::BYTES).as_mut_ptr();
        // SAFETY: as above; the place has room for the blocks.
        unsafe { V::xor_blocks(block_words(start, beside), to, to) }
    }
}

/// A chunk as in [`InColumns`], the blocks of one put together beside the rounds of the next: the
/// shuffles, all for one port of Intel's CPUs, then take 20 of 220 ns for 1 KiB and not 40 (Xeon,
/// family 6 model 207). Of fewer blocks, those that the sets of `S`, or else of the wider
/// `R`, have room for lie in rows, which takes less time.
pub(crate) struct InColumnsOrRows<V, S, R, P>(PhantomData<(V, S, R, P)>);

// SAFETY: the caller enables the instructions of `V` and `R`, and vouches for the pointers.
impl<V: Words, S: Rows, R: Rows, P: Powers> Chunk for InColumnsOrRows<V, S, R, P> {
    const BLOCKS: usize = <V as Words>::BLOCKS;
    type Powers = P;
    type Words = [V; 16];

    #[inline(always)]
    unsafe fn crypt_chunks(start: Start<'_>, from: *const u8, to: *mut u8, chunks: usize) {
        // SAFETY: as the caller vouches.
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

    #[inline(always)]
    unsafe fn words<B: Beside>(start: Start<'_>, beside: &mut B) -> Self::Words {
        // SAFETY: as above.
        unsafe { block_words(start, beside) }
    }
    #[inline(always)]
    unsafe fn xor_blocks(words: Self::Words, from: *const u8, to: *mut u8) {
        // SAFETY: as above.
        unsafe { V::xor_blocks(words, from, to) }
    }
    #[inline(always)]
    unsafe fn keystream<B: Beside>(
        start: Start<'_>,
        beside: &mut B,
        bytes: usize,
        place: &mut Keystream,
    ) {
        // SAFETY: as above.
        unsafe {
            if bytes <= rows::SETS_MAX * S::SET_BYTES {
                rows::keystream::<S, B>(start, beside, bytes, place);
            } else if bytes <= rows::SETS_MAX * R::SET_BYTES {
                rows::keystream::<R, B>(start, beside, bytes, place);
            } else {
                InColumns::<V, P>::keystream(start, beside, bytes, place);
            }
        }
    }
    #[inline(always)]
    unsafe fn crypt_rest<B: Beside>(start: Start<'_>, beside: &mut B, data: Data) {
        // SAFETY: as above.
        unsafe {
            if data.bytes <= rows::SETS_MAX * S::SET_BYTES {
                rows::crypt::<S, B>(start, beside, data);
            } else if data.bytes <= rows::SETS_MAX * R::SET_BYTES {
                rows::crypt::<R, B>(start, beside, data);
            } else {
                InColumns::<V, P>::crypt_rest(start, beside, data);
            }
        }
    }
}

/// The chunk before, whose blocks are put together beside the rounds.
struct Before<V> {
    words: [V; 16],
    from: *const u8,
    to: *mut u8,
}

impl<V: Words> Beside for Before<V> {
    #[inline(always)]
    unsafe fn step(&mut self, double_round: usize) {
        if double_round < XOR_STEPS {
            // SAFETY: as the caller vouches for the instructions, and `from` and `to` for a chunk.
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

/// What to authenticate: the ciphertext, which is the output of sealing and the input of opening.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Seal,
    Open,
}

impl Direction {
    pub(crate) const fn opening(is: bool) -> Self {
        if is { Self::Open } else { Self::Seal }
    }
}

/// XORs keystream from `start` on onto `bytes` of `from`, to `to`.
///
/// # Safety
/// The instructions of `C` are enabled in the caller; `bytes` are readable at `from` and writable
/// at `to`, the same place or one that does not overlap.
#[inline(always)]
pub(crate) unsafe fn crypt<C: Chunk>(
    mut start: Start<'_>,
    mut from: *const u8,
    mut to: *mut u8,
    mut bytes: usize,
) {
    // SAFETY: as the caller vouches; `bytes` counts what is left at both pointers.
    unsafe {
        let chunks = bytes / C::BYTES;
        if chunks > 0 {
            C::crypt_chunks(start, from, to, chunks);
            let done = chunks * C::BYTES;
            (from, to, bytes) = (from.add(done), to.add(done), bytes - done);
            start = start.later((chunks * C::BLOCKS) as u32);
        }
        if bytes > 0 {
            let rest = Data { from, to, bytes };
            C::crypt_rest(start, &mut Nothing, rest);
        }
    }
}

/// As [`crypt`]; and returns `mac` with all whole MAC blocks of the ciphertext absorbed, by `powers`
/// of this r where they are there already.
///
/// # Safety
/// As [`crypt`].
#[inline(always)]
pub(crate) unsafe fn crypt_and_mac<C: Chunk>(
    direction: Direction,
    mut start: Start<'_>,
    r: &Multiplier,
    powers: Option<&C::Powers>,
    mut mac: Element,
    mut data: Data,
) -> Element {
    let rest_bytes = data.bytes % MAC_BYTES;
    let absorb = |mac, from: *const u8, bytes| {
        // SAFETY: as the caller vouches.
        unsafe {
            let data = core::slice::from_raw_parts(from, bytes);
            match powers {
                Some(powers) => powers.absorb_more(r, mac, data),
                None => C::Powers::absorb(r, mac, data),
            }
        }
    };
    // SAFETY: as the caller vouches. What follows the first chunk is again such a buffer.
    unsafe {
        if data.bytes < 2 * C::BYTES {
            let whole = data.bytes - rest_bytes;
            if direction == Direction::Open {
                mac = absorb(mac, data.from, whole);
            }
            crypt::<C>(start, data.from, data.to, data.bytes);
            if direction == Direction::Seal {
                mac = absorb(mac, data.to, whole);
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
            C::xor_blocks(C::words(start, &mut Nothing), data.from, data.to);
            running.chunk(data.to);
            data = data.behind(C::BYTES);
            start = start.later(C::BLOCKS as u32);
        }
        chunks::<C>(direction, start, r, running, data, rest_bytes)
    }
}

/// Encrypts or decrypts a whole message with block 0 at `start`, and returns its tag.
///
/// # Safety
/// As [`crypt`].
#[inline(always)]
pub(crate) unsafe fn message<C: Chunk>(
    direction: Direction,
    mut start: Start<'_>,
    aad: &[u8],
    data: Data,
) -> [u8; MAC_BYTES] {
    let lengths = (aad.len() as u128 | (data.bytes as u128) << 64).to_le_bytes();
    let mut place = Keystream::new();
    // SAFETY: as the caller vouches; the first chunk has 64 bytes less of the data than of the
    // keystream, and what follows it is again such a buffer.
    unsafe {
        let first_bytes = data.bytes.min(C::BYTES - BLOCK_BYTES);
        let keystream_bytes = BLOCK_BYTES + first_bytes;
        C::keystream(start, &mut Nothing, keystream_bytes, &mut place);
        let keystream = &place.bytes()[..keystream_bytes];
        let (block, keystream) = keystream.split_at(BLOCK_BYTES);
        let one_time = OneTimeKey::from_block(block);
        let r = &one_time.r;
        let mut mac = Element::ZERO.absorb_padded(r, aad);
        if data.bytes <= first_bytes {
            if direction == Direction::Open {
                let ciphertext = core::slice::from_raw_parts(data.from, data.bytes);
                mac = C::Powers::absorb(r, mac, ciphertext);
            }
            xor_bytes(keystream, data.from, data.to);
            if direction == Direction::Seal {
                let ciphertext = core::slice::from_raw_parts(data.to, data.bytes);
                mac = C::Powers::absorb(r, mac, ciphertext);
            }
        } else {
            let powers = C::Powers::new(r);
            let mut running = powers.begin(mac);
            if direction == Direction::Open {
                running.first_chunk(data.from);
                for at in 0..DOUBLE_ROUNDS {
                    running.step(at);
                }
                running.end_of_chunk();
            }
            xor_bytes(keystream, data.from, data.to);
            if direction == Direction::Seal {
                running.first_chunk(data.to);
            }
            start = start.later(C::BLOCKS as u32);
            mac = chunks::<C>(direction, start, r, running, data.behind(first_bytes), 0);
        }
        one_time.tag(mac.step(r, &lengths))
    }
}

/// The chunks of a run, and what follows them but for `rest_bytes`, which are only crypted. To seal,
/// `running` has the chunk before `data` yet to absorb.
///
/// # Safety
/// As [`crypt`].
#[inline(always)]
unsafe fn chunks<C: Chunk>(
    direction: Direction,
    mut start: Start<'_>,
    r: &Multiplier,
    mut running: <C::Powers as Powers>::Run<'_>,
    mut data: Data,
    rest_bytes: usize,
) -> Element {
    // SAFETY: as the caller vouches.
    unsafe {
        while data.bytes >= C::BYTES {
            if direction == Direction::Open {
                running.chunk(data.from);
            }
            let words = C::words(start, &mut running);
            running.end_of_chunk();
            C::xor_blocks(words, data.from, data.to);
            if direction == Direction::Seal {
                running.chunk(data.to);
            }
            data = data.behind(C::BYTES);
            start = start.later(C::BLOCKS as u32);
        }
        let whole = data.bytes - rest_bytes;
        if direction == Direction::Open {
            let mac = running.end(r, core::slice::from_raw_parts(data.from, whole));
            if data.bytes > 0 {
                C::crypt_rest(start, &mut Nothing, data);
            }
            return mac;
        }
        if data.bytes > 0 {
            C::crypt_rest(start, &mut running, data);
        } else {
            for at in 0..DOUBLE_ROUNDS {
                running.step(at);
            }
        }
        running.end_of_chunk();
        running.end(r, core::slice::from_raw_parts(data.to, whole))
    }
}
