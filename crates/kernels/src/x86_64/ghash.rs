//! GHASH (SP 800-38D, section 6.4) for every register width, written once over [`Clmul`].
//!
//! Blocks are taken byte-reversed, and the key as x times H in that order: then GHASH is POLYVAL (RFC 8452, appendix A),
//! whose product needs no shift, and the reduction after it is Montgomery's with two multiplications by the polynomial's
//! upper half (Gueron and Kounavis, "Intel Carry-Less Multiplication Instruction and its Usage for Computing the GCM Mode").
//!
//! ```text
//! y ^ X1      X2      ...   Xn        a chunk of blocks
//!   * H^n   * H^n-1   ...  * H        each three multiplications (Karatsuba), summed by lanes
//!   reduce the sum once, fold the lanes: the next y
//! ```
//!
//! On Zen 4 `vpclmulqdq` competes with `vaesenc` for its pipes: measured on 512 bits, eight rounds take 8 cycles, with two
//! multiplications among them 10. So Karatsuba's method saves a whole cycle per register over four multiplications; of its
//! extra instructions, the shuffle is free and the XOR costs a quarter of a cycle (eight rounds with eight XORs: 9.8
//! cycles).

use core::arch::x86_64::*;

use super::clmul::{Clmul, Sum};
use super::lanes::Lanes;
use crate::portable::ghash::POLYNOMIAL;
use crate::wipe::wipe;

/// The number of blocks between two reductions once the long table is computed. Measured on Zen 4 under AES-256, 32, 64 and
/// 128 give 10.1, 10.4 and 10.8 GB/s at 2 KiB and 12.2, 12.4 and 12.5 at 1 MiB.
pub(crate) const LONG_BLOCKS: usize = 128;
/// The same with the middle table, whose powers pay off within a single message of 16 KiB.
pub(crate) const MIDDLE_BLOCKS: usize = 32;
/// The same with the short table.
pub(crate) const SHORT_BLOCKS: usize = 16;
/// The same with the few powers that a key has from the start.
pub(crate) const FEW_BLOCKS: usize = 4;
/// The last chunk of a message may have this many more, so that neither the block of lengths nor short associated data needs
/// another chunk.
pub(crate) const MORE_BLOCKS: usize = 4;
/// The number of powers in the long table.
const POWERS: usize = LONG_BLOCKS + MORE_BLOCKS;
/// A register may reach past H by its surplus blocks; they meet zeros. A multiple of a cache line, as `POWERS` is, so that
/// each register of a whole group lies in one line.
const PADDED: usize = POWERS + __m512i::BLOCKS;

/// The powers that a key has from the start, plus as many blocks past H as the widest register reaches.
const FEW_POWERS: usize = FEW_BLOCKS + MORE_BLOCKS;
const FEW_PADDED: usize = FEW_POWERS + __m512i::BLOCKS - 1;

/// Powers of H in falling order: those of a chunk are in the order of its blocks, and end with H.
#[repr(C, align(64))]
pub(crate) struct Powers {
    powers: [u128; PADDED],
    /// For each power, the sum of its halves, in both halves.
    sums: [u128; PADDED],
}

/// The few powers that a key has from the start, in the same order.
#[repr(C)]
#[derive(Clone)]
pub(crate) struct Few {
    powers: [u128; FEW_PADDED],
    sums: [u128; FEW_PADDED],
}

impl Few {
    pub(crate) const EMPTY: Self = Self {
        powers: [0; FEW_PADDED],
        sums: [0; FEW_PADDED],
    };

    #[inline(always)]
    pub(crate) fn wipe(&mut self) {
        wipe(&mut self.powers[..FEW_POWERS]);
        wipe(&mut self.sums[..FEW_POWERS]);
    }

    #[cfg(debug_assertions)]
    pub(crate) fn made(&self) -> impl Iterator<Item = [u8; 16]> {
        let (powers, sums) = (&self.powers[..FEW_POWERS], &self.sums[..FEW_POWERS]);
        powers.iter().chain(sums).map(|power| power.to_ne_bytes())
    }
}

/// Where powers are stored.
#[derive(Clone, Copy)]
struct Place {
    /// The address just past H.
    end: *mut u8,
    /// The distance from a power to the sum of its halves, in bytes.
    sums: usize,
}

impl Place {
    /// # Safety
    /// `few` is valid for reads, and for writes if the place is written to.
    #[inline(always)]
    unsafe fn of_few(few: *mut Few) -> Self {
        // SAFETY: the end of the powers is within `few`, which the caller guarantees.
        let end = unsafe { (&raw mut (*few).powers).cast::<u8>().add(16 * FEW_POWERS) };
        Self {
            end,
            sums: 16 * FEW_PADDED,
        }
    }

    /// # Safety
    /// The same as for [`of_few`](Self::of_few).
    #[inline(always)]
    unsafe fn of_table(table: *mut Powers) -> Self {
        // SAFETY: the end of the powers is within `table`, which the caller guarantees.
        let end = unsafe { (&raw mut (*table).powers).cast::<u8>().add(16 * POWERS) };
        Self {
            end,
            sums: 16 * PADDED,
        }
    }

    /// Returns the addresses of the `first`-th power of H and of the sum of its halves.
    ///
    /// # Safety
    /// There are at least `first` powers.
    #[inline(always)]
    unsafe fn of(self, first: usize) -> (*mut u8, *mut u8) {
        // SAFETY: the caller guarantees that the power exists; the sums lie at the same distance behind all powers.
        unsafe {
            let power = self.end.sub(16 * first);
            (power, power.add(self.sums))
        }
    }
}

impl Powers {
    pub(crate) const EMPTY: Self = Self {
        powers: [0; PADDED],
        sums: [0; PADDED],
    };

    /// Wipes the powers of the table for this number of blocks.
    #[inline(always)]
    pub(crate) fn wipe<const BLOCKS: usize>(&mut self) {
        let first = const { POWERS - BLOCKS - MORE_BLOCKS };
        wipe(&mut self.powers[first..]);
        wipe(&mut self.sums[first..]);
    }

    #[cfg(debug_assertions)]
    pub(crate) fn made(&self) -> impl Iterator<Item = [u8; 16]> {
        let (powers, sums) = (&self.powers[..POWERS], &self.sums[..POWERS]);
        powers.iter().chain(sums).map(|power| power.to_ne_bytes())
    }
}

/// The powers that a kernel may read: those up to `limit + MORE_BLOCKS`.
#[derive(Clone, Copy)]
pub(crate) struct View {
    /// The address just past H.
    end: *const u8,
    limit: u32,
    sums: u32,
}

impl View {
    /// Returns a view of the few powers.
    ///
    /// # Safety
    /// They are computed, and no thread writes them while the view is used.
    #[inline(always)]
    pub(crate) unsafe fn of_few(few: *const Few) -> Self {
        // SAFETY: the caller has computed `few`; a view only reads.
        unsafe { Self::new(Place::of_few(few.cast_mut()), FEW_BLOCKS) }
    }

    /// # Safety
    /// The first `limit` + 4 powers of the table are computed, and no thread writes them while the view is used.
    #[inline(always)]
    pub(crate) unsafe fn of_table(table: *const Powers, limit: usize) -> Self {
        // SAFETY: the caller has computed the table up to `limit` + 4; a view only reads.
        unsafe { Self::new(Place::of_table(table.cast_mut()), limit) }
    }

    #[inline(always)]
    fn new(place: Place, limit: usize) -> Self {
        Self {
            end: place.end,
            limit: limit as u32,
            sums: place.sums as u32,
        }
    }

    /// Returns the number of blocks between two reductions.
    #[inline(always)]
    pub(super) fn limit(self) -> usize {
        self.limit as usize
    }

    /// Returns the distance from a power to the sum of its halves, in bytes.
    #[inline(always)]
    pub(super) fn sums(self) -> usize {
        self.sums as usize
    }

    /// Returns whether this number of blocks fits in a single chunk.
    #[inline(always)]
    pub(crate) fn holds(self, blocks: usize) -> bool {
        blocks <= self.limit() + MORE_BLOCKS
    }

    /// Returns the address of the `first`-th power of H; the lower powers follow it, and the sums of halves are
    /// [`sums`](Self::sums) further on.
    ///
    /// # Safety
    /// `first` is from 1 to the limit plus 4.
    #[inline(always)]
    pub(super) unsafe fn place(self, first: usize) -> *const u8 {
        // SAFETY: the caller guarantees that `first` is at most the limit plus 4, and that many powers lie before the end.
        unsafe { self.end.sub(16 * first) }
    }

    /// Returns the powers of H from the `first`-th (at least 1) downwards.
    ///
    /// # Safety
    /// The instructions of `V` are enabled in the caller; `first` is at most the view's limit plus 4.
    #[inline(always)]
    pub(super) unsafe fn powers<V: Lanes>(self, first: usize) -> V {
        // SAFETY: the caller guarantees that the power exists, and a register past H is readable.
        unsafe { V::load(self.place(first)) }
    }
}

/// Computes the key of GHASH as an element of POLYVAL's field (mulX_POLYVAL) from the key block H.
///
/// # Safety
/// SSSE3 is enabled in the caller.
#[inline(always)]
pub(super) unsafe fn key(h: __m128i) -> __m128i {
    // SAFETY: SSSE3 is enabled in the caller, for the byte reversal; the rest is SSE2.
    unsafe {
        let h = h.swap_bytes();
        let carries = _mm_slli_si128::<8>(_mm_srli_epi64::<63>(h));
        let doubled = _mm_or_si128(_mm_add_epi64(h, h), carries);
        // A bit shifted out is reduced.
        let shifted_out = _mm_srai_epi32::<31>(_mm_shuffle_epi32::<0xff>(h));
        let polynomial = _mm_set_epi64x((POLYNOMIAL >> 64) as i64, POLYNOMIAL as i64);
        doubled.xor(_mm_and_si128(shifted_out, polynomial))
    }
}

/// Computes the few powers from H, an element of POLYVAL's field.
///
/// On Zen 5 a carry-less multiplication of any width takes 2 cycles, and the result of a square or product takes 20. So
/// there are as few of them as possible, and 512 bits continue from registers: from memory the last step would wait another
/// 8 cycles.
///
/// # Safety
/// The instructions of `V` are enabled in the caller; no other code uses `few`.
#[inline(always)]
pub(super) unsafe fn make_few<V: Clmul>(few: *mut Few, h: __m128i) {
    const END: usize = FEW_POWERS;
    const { assert!(END == 8) };
    // SAFETY: the caller has exclusive use of `few`, which has eight powers; each `put` writes a register from 4 or 8
    // downwards.
    unsafe {
        let powers = Place::of_few(few);
        let square = square(h);
        let one = _mm_set_epi64x((POLYNOMIAL >> 64) as i64, POLYNOMIAL as i64);
        for i in (0..4).step_by(V::BLOCKS) {
            // H^4, H^3, H^2, H.
            let mut lowest = Power::new(V::of_blocks(&[square, h, square, h], i));
            if i < 2 {
                lowest = lowest.times(Power::new(V::of_blocks(&[square, square, one, one], i)));
            }
            lowest.put(powers, 4 - i);
            if V::BLOCKS == 4 {
                lowest.times(lowest.first()).put(powers, END);
            }
        }
        if V::BLOCKS < 4 {
            go_on::<V>(powers, 4, END);
        }
    }
}

/// Computes the short table from the few powers.
///
/// # Safety
/// The instructions of `V` are enabled in the caller; the few powers are computed, and no other code uses the table.
#[inline(always)]
pub(super) unsafe fn make_short<V: Clmul>(few: *const Few, table: *mut Powers) {
    // SAFETY: both tables have the first eight powers and sums, and do not overlap, since only the caller uses the one
    // written.
    unsafe {
        let (from, to) = (Place::of_few(few.cast_mut()), Place::of_table(table));
        let ((powers, sums), (powers_to, sums_to)) = (from.of(FEW_POWERS), to.of(FEW_POWERS));
        powers.copy_to_nonoverlapping(powers_to, 16 * FEW_POWERS);
        sums.copy_to_nonoverlapping(sums_to, 16 * FEW_POWERS);
        go_on::<V>(to, FEW_POWERS, SHORT_BLOCKS + MORE_BLOCKS);
    }
}

/// Computes the powers that the middle table has beyond the short one.
///
/// # Safety
/// The instructions of `V` are enabled in the caller; the short table is computed, and no other code uses any of the other
/// powers.
#[inline(always)]
pub(super) unsafe fn make_middle<V: Clmul>(table: *mut Powers) {
    const MADE: usize = SHORT_BLOCKS + MORE_BLOCKS;
    // SAFETY: the caller has computed the short table's powers, from which those up to the middle table's are computed; no
    // other code uses these.
    unsafe { go_on::<V>(Place::of_table(table), MADE, MIDDLE_BLOCKS + MORE_BLOCKS) }
}

/// Computes the powers that the long table has beyond the middle one.
///
/// # Safety
/// The same as for [`make_middle`], after that call.
#[inline(always)]
pub(super) unsafe fn make_long<V: Clmul>(table: *mut Powers) {
    const MADE: usize = MIDDLE_BLOCKS + MORE_BLOCKS;
    // SAFETY: the caller has computed the middle table's powers, from which those up to the end are computed; no other code
    // uses these.
    unsafe { go_on::<V>(Place::of_table(table), MADE, POWERS) }
}

/// Computes the powers from `made` to `end`, both multiples of four. All existing powers are multiplied by the highest of
/// them, so that few products wait for another.
///
/// # Safety
/// The same as for [`make_long`].
#[inline(always)]
unsafe fn go_on<V: Clmul>(powers: Place, mut made: usize, end: usize) {
    // SAFETY: the powers up to `made`, at least a register, are computed, and `i` is at most `end`, for which there is room.
    unsafe {
        while made < end {
            let step = Power::<V>::get(powers, made).first();
            let next = end.min(2 * made);
            for i in (made + V::BLOCKS..=next).step_by(V::BLOCKS) {
                let power = Power::<V>::get(powers, i - made);
                power.times(step).put(powers, i);
            }
            made = next;
        }
    }
}

/// A register of powers in falling order, and the sums of their halves.
#[derive(Clone, Copy)]
struct Power<V> {
    value: V,
    sum: V,
}

impl<V: Clmul> Power<V> {
    /// # Safety
    /// The instructions of `V` are enabled in the caller of this and the other methods.
    #[inline(always)]
    unsafe fn new(value: V) -> Self {
        // SAFETY: the caller has the instructions of `V`, which swap the halves and add them.
        let sum = unsafe { value.xor(value.swap_halves()) };
        Self { value, sum }
    }

    /// Returns the first power in every block.
    ///
    /// # Safety
    /// The CPU has the instructions of `V`.
    #[inline(always)]
    unsafe fn first(self) -> Self {
        // SAFETY: `low` and `splat` need the instructions of `V`, which the caller has.
        unsafe {
            Self {
                value: V::splat(self.value.low()),
                sum: V::splat(self.sum.low()),
            }
        }
    }

    /// Returns the products block by block, computed with Karatsuba's method: the sums are available.
    ///
    /// # Safety
    /// The CPU has the instructions of `V`.
    #[inline(always)]
    unsafe fn times(self, other: Self) -> Self {
        // SAFETY: three multiplications and a reduction, for which the caller has the instructions of `V`.
        unsafe {
            let low = self.value.multiply::<0x00>(other.value);
            let high = self.value.multiply::<0x11>(other.value);
            let middle = self.sum.multiply::<0x00>(other.sum);
            Self::new(reduce(low, middle.xor(low).xor(high), high))
        }
    }

    /// Loads the powers from the `first`-th downwards.
    ///
    /// # Safety
    /// They are computed, and no other code writes them.
    #[inline(always)]
    unsafe fn get(powers: Place, first: usize) -> Self {
        // SAFETY: the caller has computed the powers from `first` downwards, and a register past H is readable.
        unsafe {
            let (power, sum) = powers.of(first);
            Self {
                value: V::load(power),
                sum: V::load(sum),
            }
        }
    }

    /// Stores them as the powers from the `first`-th downwards.
    ///
    /// # Safety
    /// No other code uses them; `first` is at least `V::BLOCKS` and at most the number of powers.
    #[inline(always)]
    unsafe fn put(self, powers: Place, first: usize) {
        // SAFETY: a register from `first` downwards lies within the powers, of which the caller has exclusive use.
        unsafe {
            let (power, sum) = powers.of(first);
            self.value.store(power);
            self.sum.store(sum);
        }
    }
}

/// Returns the product of elements of POLYVAL's field, block by block.
///
/// # Safety
/// The instructions of `V` are enabled in the caller.
#[inline(always)]
pub(super) unsafe fn times<V: Clmul>(a: V, b: V) -> V {
    // SAFETY: a product and its reduction, for which the caller has the instructions of `V`.
    unsafe {
        let product = Sum::of(a, b);
        reduce(product.low, product.middle, product.high)
    }
}

/// Like [`times`] of `a` with itself: the middle of the product is zero.
///
/// # Safety
/// The same as for [`times`].
#[inline(always)]
unsafe fn square(a: __m128i) -> __m128i {
    // SAFETY: the caller has PCLMULQDQ, which `times` needs too.
    unsafe {
        let (low, high) = (a.multiply::<0x00>(a), a.multiply::<0x11>(a));
        reduce(low, _mm_setzero_si128(), high)
    }
}

/// Returns `low + middle x^64 + high x^128`, divided by x^128, in POLYVAL's field.
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn reduce<V: Clmul>(low: V, middle: V, high: V) -> V {
    // SAFETY: this uses only registers, and the caller has the instructions of `V`.
    unsafe {
        let polynomial = V::splat(_mm_set_epi64x(0, (POLYNOMIAL >> 64) as i64));
        let low = low.swap_halves().xor(low.multiply::<0x00>(polynomial));
        let middle = middle.xor(low);
        let middle_reduced = middle.multiply::<0x00>(polynomial);
        high.xor(middle.swap_halves()).xor(middle_reduced)
    }
}

impl<V: Clmul> Sum<V> {
    /// Returns the sum over all blocks, in POLYVAL's field.
    ///
    /// # Safety
    /// The instructions of `V` are enabled in the caller.
    #[inline(always)]
    pub(super) unsafe fn reduced(self) -> __m128i {
        // SAFETY: the reduction and the sum of the lanes use instructions of `V`, which the caller has.
        unsafe { reduce(self.low, self.middle, self.high).fold() }
    }
}

/// A GHASH computation in progress: the sum of a chunk's products, not reduced.
pub(super) struct Hash<V> {
    low: V,
    middle: V,
    high: V,
    /// The result so far, until it has been added to the next block.
    y: V,
    /// The number of bytes of powers from the one for the next block to the last.
    left: usize,
    /// The number of blocks in the chunks after this one.
    later: usize,
    view: View,
}

impl<V: Clmul> Hash<V> {
    /// Continues from `y` with `blocks` blocks (at least one). They must be absorbed in full registers while more than the
    /// view's limit plus 4 are left, except for those of the first chunk.
    ///
    /// # Safety
    /// The instructions of `V` are enabled in the caller of this and the other methods; the view is valid while the value is
    /// used.
    #[inline(always)]
    pub(super) unsafe fn new(view: View, y: __m128i, blocks: usize) -> Self {
        // SAFETY: `first` and zeros need the instructions of `V`, which the caller has.
        unsafe {
            let zero = V::first(_mm_setzero_si128());
            let mut hash = Self {
                low: zero,
                middle: zero,
                high: zero,
                y: V::first(y),
                left: 0,
                later: blocks,
                view,
            };
            hash.begin_chunk();
            hash
        }
    }

    /// Returns whether this number of blocks fits in a single chunk.
    #[inline(always)]
    pub(super) fn is_one_chunk(view: View, blocks: usize) -> bool {
        view.holds(blocks)
    }

    /// Returns whether chunks have room for groups of this many blocks.
    #[inline(always)]
    pub(super) fn takes_groups(&self, blocks: usize) -> bool {
        self.view.limit() >= blocks
    }

    #[inline(always)]
    fn begin_chunk(&mut self) {
        let chunk = if Self::is_one_chunk(self.view, self.later) {
            self.later
        } else {
            self.view.limit()
        };
        self.left = 16 * chunk;
        self.later -= chunk;
    }

    /// Absorbs the next `blocks` blocks (from 1 to a register), in the byte order of the message and followed by zeros.
    ///
    /// # Safety
    /// The same as for [`new`](Self::new); `blocks` are left.
    #[inline(always)]
    pub(super) unsafe fn absorb(&mut self, data: V, blocks: usize) {
        // SAFETY: the caller guarantees that `blocks` are left, so powers for a register exist.
        unsafe {
            self.add_product(data.swap_bytes(), 0);
            self.advance(blocks);
        }
    }

    /// Absorbs one byte-reversed block: half the pipe slots of a wide register.
    ///
    /// # Safety
    /// The same as for [`new`](Self::new); a block is left.
    #[inline(always)]
    pub(super) unsafe fn absorb_block(&mut self, data: __m128i) {
        // SAFETY: the sum of one block needs the instructions of `__m128i`, which `V` includes; `left` is that of this
        // chunk, in which a block is left.
        unsafe {
            let mut hash = Hash::<__m128i> {
                low: _mm_setzero_si128(),
                middle: _mm_setzero_si128(),
                high: _mm_setzero_si128(),
                y: self.y.low(),
                left: self.left,
                later: 0,
                view: self.view,
            };
            hash.add_product(data, 0);
            self.low = self.low.xor(V::first(hash.low));
            self.middle = self.middle.xor(V::first(hash.middle));
            self.high = self.high.xor(V::first(hash.high));
            self.y = V::first(hash.y);
            self.advance(1);
        }
    }

    /// Absorbs register `i`, with byte-reversed blocks, of a group that lies within a chunk. [`advance`](Self::advance)
    /// follows after the last.
    ///
    /// # Safety
    /// The same as for [`new`](Self::new); the register's first block is within the chunk.
    #[inline(always)]
    pub(super) unsafe fn add_product(&mut self, mut data: V, i: usize) {
        // SAFETY: the caller guarantees that the register begins within the chunk, and powers reach from `left` bytes before
        // their end to a register past it.
        unsafe {
            if i == 0 {
                data = data.xor(self.y);
                self.y = V::first(_mm_setzero_si128());
            }
            debug_assert!(i * V::BYTES < self.left);
            let at = self.view.end.sub(self.left);
            let power = V::load(at.add(i * V::BYTES));
            let sum = V::load(at.add(self.view.sums()).add(i * V::BYTES));
            self.low = self.low.xor(data.multiply::<0x00>(power));
            self.high = self.high.xor(data.multiply::<0x11>(power));
            let halves = data.xor(data.swap_halves());
            self.middle = self.middle.xor(halves.multiply::<0x00>(sum));
        }
    }

    /// Counts blocks that have been multiplied.
    ///
    /// # Safety
    /// The same as for [`new`](Self::new); this many blocks have been multiplied.
    #[inline(always)]
    pub(super) unsafe fn advance(&mut self, blocks: usize) {
        self.left -= 16 * blocks;
        if self.left == 0 && self.later > 0 {
            // SAFETY: the caller of `new` has the instructions of `V`.
            unsafe {
                let zero = V::first(_mm_setzero_si128());
                self.y = V::first(self.sum());
                (self.low, self.middle, self.high) = (zero, zero, zero);
            }
            self.begin_chunk();
        }
    }

    /// # Safety
    /// The CPU has the instructions of `V`.
    #[inline(always)]
    unsafe fn sum(&self) -> __m128i {
        // SAFETY: the caller has the instructions of `V`, which include the XORs and the reduction.
        unsafe {
            let middle = self.middle.xor(self.low).xor(self.high);
            reduce(self.low, middle, self.high).fold()
        }
    }

    /// Returns the result once every block is absorbed.
    ///
    /// # Safety
    /// The same as for [`new`](Self::new); every block has been absorbed.
    #[inline(always)]
    pub(super) unsafe fn finish(self) -> __m128i {
        debug_assert!(self.later == 0 && self.left == 0);
        // SAFETY: `new` was called with the instructions of `V`, which the sum needs.
        unsafe { self.sum() }
    }

    /// Absorbs `bytes` bytes; a partial block is padded with zeros.
    ///
    /// # Safety
    /// `bytes` are readable at `from`.
    #[inline(always)]
    pub(super) unsafe fn absorb_bytes(&mut self, mut from: *const u8, mut bytes: usize) {
        // SAFETY: `bytes` counts the rest of those that the caller has at `from`, and of the blocks that `new` was given.
        unsafe {
            while bytes >= V::BYTES {
                self.absorb(V::load(from), V::BLOCKS);
                from = from.add(V::BYTES);
                bytes -= V::BYTES;
            }
            if bytes == 16 {
                self.absorb_block(__m128i::load(from).swap_bytes());
            } else if bytes > 16 {
                self.absorb(V::load_partial(from, bytes), bytes.div_ceil(16));
            } else if bytes > 0 {
                self.absorb_block(__m128i::load_partial(from, bytes).swap_bytes());
            }
        }
    }
}
