//! Poly1305 on AVX-512 IFMA, interleaved with the rounds of ChaCha20: eight blocks per register.
//!
//! Limbs have 44 bits, so that products of two, 52 bits low and 52 bits high, can be summed over a chunk of 64 blocks before
//! any carry. Lane j of group g holds block 8 g + j:
//!
//! ```text
//! A(j) = A(j) r^64 + m(0, j) r^56 + m(1, j) r^48 + ... + m(6, j) r^8 + m(7, j)     each chunk
//! h    = A(0) r^(8 + k) + ... + A(7) r^(1 + k)  +  m(0) r^k + ... + m(k - 1) r     at the end
//! ```
//!
//! where k is the number of blocks, including the lengths, left after the last group.
//!
//! A group takes 18 multiplications and 7 instructions to split the blocks: in 1 KiB as many cycles as the dependencies of
//! ChaCha20 leave its four pipes idle. On the integer units, which do it for shorter vectors, the same work takes longer
//! than the rounds that it is interleaved with.

use core::arch::asm;
use core::arch::x86_64::*;

use zeroize::ZeroizeOnDrop;

use super::chacha20_block::Block as KeyBlock;
use super::poly1305_limbs::{broadcast, carry, limbs, multiply_add, take_apart, with_returns};
use crate::poly1305::{BLOCK_BYTES, Element, Multiplier, OneTimeKey, Plain};
use crate::stitched::{
    Beside, Block, DOUBLE_ROUNDS, Data, Direction, Making, Powers, Run, Start, UNLIKE_FROM,
};
use crate::wipe::wipe;

/// The powers of r that a run needs. Wiped on drop.
#[repr(align(64))]
pub(crate) struct IfmaPowers {
    /// By limb: r^8, r^16, ... r^64, and 20 times their upper limbs, with which the products above 2^132 are reduced.
    groups: [[u64; GROUPS]; 5],
    /// r to r^8, and r^9 to r^16: the lanes are multiplied by these at the end.
    low: [[u64; LANES]; 3],
    high: [[u64; LANES]; 3],
}

/// The sum of a run so far, and of the chunk in progress.
pub(crate) struct Ifma<'a> {
    powers: &'a IfmaPowers,
    /// The value absorbed before the run; it is added to the run's first block.
    before: [__m512i; 3],
    sum: [__m512i; 3],
    low: [__m512i; 3],
    high: [__m512i; 3],
    from: *const u8,
    /// Whether `sum` is still empty.
    is_new: bool,
}

const LANES: usize = 8;
const GROUPS: usize = 8;
const GROUP_BYTES: usize = LANES * BLOCK_BYTES;
const CHUNK_BYTES: usize = GROUPS * GROUP_BYTES;
/// Unpacking puts blocks into lanes in this order.
const BLOCK_OF_LANE: [usize; LANES] = [0, 4, 1, 5, 2, 6, 3, 7];
/// The lanes of the first blocks of a group, by their number.
const LANES_OF_BLOCKS: [__mmask8; LANES + 1] = {
    let mut lanes = [0; LANES + 1];
    let mut lane = 0;
    while lane < LANES {
        let mut count = BLOCK_OF_LANE[lane] + 1;
        while count <= LANES {
            lanes[count] |= 1 << lane;
            count += 1;
        }
        lane += 1;
    }
    lanes
};
/// The fewest bytes to absorb with vectors and no rounds. Shorter data goes to the integer units, which need no powers of r
/// first.
const ALONE_BYTES_MIN: usize = 1024;
/// The number of steps in which powers are computed.
const POWER_STEPS: usize = 5;

impl Powers for IfmaPowers {
    type Run<'a> = Ifma<'a>;
    /// With steps in assembly, compilers keep less of the interleaved rounds in registers, and 4 KiB take 7 % longer (Zen
    /// 5).
    type Steps = Plain;

    #[inline(always)]
    unsafe fn new(r: &Multiplier) -> Self {
        let mut room = IfmaMaking::<true>::room();
        let mut beginning = IfmaMaking::<true>::keyed(&mut room, r, usize::MAX);
        for step in 0..POWER_STEPS {
            beginning.make(step);
        }
        // SAFETY: the caller has AVX-512 F and IFMA; the steps have initialised everything.
        unsafe { IfmaMaking::<true>::powers(&room) }
    }

    #[inline(always)]
    unsafe fn begin(&self, value: Element) -> Ifma<'_> {
        // SAFETY: the caller has AVX-512 F to split the limbs.
        unsafe {
            let zero = _mm512_setzero_si512();
            let mut before = [zero; 3];
            for (before, limb) in before.iter_mut().zip(value.to_limbs_44()) {
                *before = _mm512_maskz_set1_epi64(1, limb as i64);
            }
            Ifma {
                powers: self,
                before,
                sum: [zero; 3],
                low: [zero; 3],
                high: [zero; 3],
                from: core::ptr::null(),
                is_new: true,
            }
        }
    }

    #[inline(always)]
    unsafe fn absorb(r: &Multiplier, value: Element, data: &[u8]) -> Element {
        if data.len() < ALONE_BYTES_MIN {
            // SAFETY: the caller has BMI2, and so few bytes need no vectors.
            return unsafe { value.absorb_padded_by::<Plain>(r, data) };
        }
        // SAFETY: the caller has AVX-512 F, BW and IFMA, which the powers and the run need.
        unsafe { Self::new(r).begin(value).end(r, data, None) }
    }

    #[inline(always)]
    unsafe fn absorb_more(
        &self,
        r: &Multiplier,
        value: Element,
        data: &[u8],
        last: Option<&Block>,
    ) -> Element {
        if data.len() < GROUP_BYTES {
            // SAFETY: the caller has BMI2, which is all that less than a group needs.
            return unsafe { value.absorb_all::<Plain>(r, data, last) };
        }
        // SAFETY: the caller has AVX-512 F, BW and IFMA for a run over `data`.
        unsafe { self.begin(value).end(r, data, last) }
    }

    #[inline(always)]
    unsafe fn xor_and_absorb(
        &self,
        direction: Direction,
        _: &Multiplier,
        value: Element,
        keystream: &[u8],
        data: Data,
        last: Option<&Block>,
    ) -> Element {
        // SAFETY: the caller has AVX-512 F, BW and IFMA, `data` at both pointers, and keystream of the same length.
        unsafe {
            let keystream = keystream.as_ptr();
            let source = Source::<true> {
                direction,
                keystream,
                data,
            };
            self.begin(value).end_with(source, last)
        }
    }
}

/// The end of a run: ciphertext, or with `XORS` data that is encrypted or decrypted on the way.
struct Source<const XORS: bool> {
    direction: Direction,
    keystream: *const u8,
    data: Data,
}

impl Source<false> {
    #[inline(always)]
    fn of(ciphertext: &[u8]) -> Self {
        let data = Data {
            from: ciphertext.as_ptr(),
            to: core::ptr::null_mut(),
            bytes: ciphertext.len(),
        };
        Self {
            direction: Direction::Open,
            keystream: core::ptr::null(),
            data,
        }
    }
}

impl<const XORS: bool> Source<XORS> {
    /// Returns the next group, padded with zeros at the end.
    ///
    /// # Safety
    /// AVX-512 F and BW are enabled in the caller, who guarantees the data and keystream of the same length.
    #[inline(always)]
    unsafe fn next(&mut self) -> [__m512i; 2] {
        let Data { from, to, bytes } = self.data;
        let mut halves = [0; 2];
        for (i, mask) in halves.iter_mut().enumerate() {
            let left = bytes.saturating_sub(64 * i);
            *mask = match left {
                0 => 0,
                1..64 => u64::MAX >> (64 - left),
                _ => u64::MAX,
            };
        }
        // SAFETY: the caller has AVX-512 BW, the bytes left of the data, and keystream of the same length; masked bytes are
        // not accessed.
        unsafe {
            let mut ciphertext = [_mm512_setzero_si512(); 2];
            for i in 0..2 {
                let whole = bytes >= GROUP_BYTES;
                let at = from.wrapping_add(64 * i);
                let data = if whole {
                    _mm512_loadu_si512(at.cast())
                } else {
                    _mm512_maskz_loadu_epi8(halves[i], at.cast())
                };
                ciphertext[i] = data;
                if XORS {
                    let key = self.keystream.wrapping_add(64 * i);
                    let to = to.wrapping_add(64 * i);
                    if whole {
                        let xored = _mm512_xor_si512(data, _mm512_loadu_si512(key.cast()));
                        _mm512_storeu_si512(to.cast(), xored);
                        if self.direction == Direction::Seal {
                            ciphertext[i] = xored;
                        }
                    } else {
                        let key = _mm512_maskz_loadu_epi8(halves[i], key.cast());
                        let xored = _mm512_xor_si512(data, key);
                        _mm512_mask_storeu_epi8(to.cast(), halves[i], xored);
                        if self.direction == Direction::Seal {
                            ciphertext[i] = xored;
                        }
                    }
                }
            }
            let done = bytes.min(GROUP_BYTES);
            self.data.from = from.wrapping_add(done);
            self.data.to = to.wrapping_add(done);
            self.data.bytes = bytes - done;
            self.keystream = self.keystream.wrapping_add(done);
            ciphertext
        }
    }
}

/// Computes powers during the rounds. If the integer units are not `APART`, block 0 and the powers are most of the work of
/// half a chunk, and vectors compute the block.
pub(super) enum IfmaMaking<const APART: bool> {}

/// By limb: r to r^8, and r^8, r^16, ... r^64, as the integer units compute them. Wiped on drop.
#[repr(align(64))]
pub(super) struct Room {
    each: [[u64; LANES]; 3],
    groups: [[u64; GROUPS]; 3],
}

impl Room {
    /// Stores one limb at a time: for a vector of several, compilers would first have to assemble it.
    #[inline(always)]
    fn put(to: &mut [[u64; LANES]; 3], lane: usize, power: Element) {
        for (to, limb) in to.iter_mut().zip(power.limbs()) {
            // SAFETY: the reference is to a writable word.
            unsafe { core::ptr::write_volatile(&mut to[lane], limb) }
        }
    }
}

impl Drop for Room {
    #[inline(always)]
    fn drop(&mut self) {
        wipe(self.each.as_flattened_mut());
        wipe(self.groups.as_flattened_mut());
    }
}

/// Block 0 if it is not computed yet, then the powers that this many groups need.
pub(super) struct Beginning<'a, const KEYED: bool> {
    block: KeyBlock,
    one_time: OneTimeKey,
    groups_count: usize,
    each: [Element; LANES],
    groups: [Element; GROUPS],
    room: &'a mut Room,
}

impl<'a, const KEYED: bool> Beginning<'a, KEYED> {
    #[inline(always)]
    fn new(room: &'a mut Room, block: KeyBlock, one_time: OneTimeKey, groups_count: usize) -> Self {
        Self {
            block,
            one_time,
            groups_count,
            each: [Element::ZERO; LANES],
            groups: [Element::ZERO; GROUPS],
            room,
        }
    }

    /// Does step `step` of the powers, out of [`POWER_STEPS`]. The products of a step do not wait for each other.
    #[inline(always)]
    fn make(&mut self, step: usize) {
        let Self {
            each,
            groups,
            room,
            groups_count,
            ..
        } = self;
        match step {
            0 => {
                each[0] = Element::power(&self.one_time.r, 1);
                each[1] = product(each[0], each[0]);
            }
            1 => {
                each[2] = product(each[1], each[0]);
                each[3] = product(each[1], each[1]);
                for (lane, power) in each[..4].iter().enumerate() {
                    Room::put(&mut room.each, lane, *power);
                }
            }
            2 => {
                for i in 4..LANES {
                    each[i] = product(each[3], each[i - 4]);
                    Room::put(&mut room.each, i, each[i]);
                }
                groups[0] = each[LANES - 1];
                Room::put(&mut room.groups, 0, groups[0]);
            }
            3 if *groups_count > 1 => {
                groups[1] = product(groups[0], groups[0]);
                groups[2] = product(groups[1], groups[0]);
                groups[3] = product(groups[1], groups[1]);
                for (lane, power) in groups[..4].iter().enumerate() {
                    Room::put(&mut room.groups, lane, *power);
                }
            }
            4 if *groups_count > 4 => {
                for i in 4..GROUPS {
                    groups[i] = product(groups[3], groups[i - 4]);
                    Room::put(&mut room.groups, i, groups[i]);
                }
            }
            _ => {}
        }
    }
}

/// Returns a product computed on the integer units. Compilers would turn several into vectors, which take longer and compete
/// for the vector units, all of which are busy.
#[inline(always)]
fn product(one: Element, other: Element) -> Element {
    let [mut a, mut b, mut c] = one.times(other).limbs();
    // SAFETY: the assembly contains no instruction, and the limbs keep their values.
    unsafe {
        asm!(
            "/* {0} {1} {2} */",
            inout(reg) a,
            inout(reg) b,
            inout(reg) c,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    Element::from_limbs([a, b, c])
}

/// Returns how many powers for groups to compute: all for more than a chunk, else those for all groups but the last.
#[inline(always)]
fn groups_count(data_bytes: usize) -> usize {
    match data_bytes {
        ..=CHUNK_BYTES => (data_bytes.div_ceil(BLOCK_BYTES) / LANES).saturating_sub(1),
        _ => GROUPS,
    }
}

impl<const APART: bool> Making for IfmaMaking<APART> {
    type Powers = IfmaPowers;
    type Room = Room;
    type Keyless<'a> = Beginning<'a, false>;
    type Keyed<'a> = Beginning<'a, true>;

    const BYTES_MIN: usize = if APART { 257 } else { 513 };

    #[inline(always)]
    fn room() -> Room {
        Room {
            each: [[0; LANES]; 3],
            groups: [[0; GROUPS]; 3],
        }
    }

    #[inline(always)]
    fn keyless<'a>(room: &'a mut Room, start: Start<'_>, bytes: usize) -> Beginning<'a, false> {
        let one_time = OneTimeKey::of_r(&Multiplier::ZERO);
        Beginning::new(room, KeyBlock::new(start), one_time, groups_count(bytes))
    }

    #[inline(always)]
    fn keyed<'a>(room: &'a mut Room, r: &Multiplier, bytes: usize) -> Beginning<'a, true> {
        let one_time = OneTimeKey::of_r(r);
        let block = KeyBlock::new(Start::new(&[0; 8], 0, [0; 3]));
        Beginning::new(room, block, one_time, groups_count(bytes))
    }

    #[inline(always)]
    fn one_time_key(beginning: Beginning<'_, false>) -> OneTimeKey {
        beginning.block.one_time_key()
    }

    #[inline(always)]
    unsafe fn powers(room: &Room) -> IfmaPowers {
        let mut powers = IfmaPowers {
            groups: [[0; GROUPS]; 5],
            low: [[0; LANES]; 3],
            high: [[0; LANES]; 3],
        };
        // SAFETY: the caller has AVX-512 F and IFMA; a register has as many lanes as each array here.
        unsafe {
            let groups = with_returns(limbs(&room.groups));
            for (to, limb) in powers.groups.iter_mut().zip(groups) {
                _mm512_storeu_si512(to.as_mut_ptr().cast(), limb);
            }
            let low = limbs(&room.each);
            let zero = [_mm512_setzero_si512(); 3];
            let (sums, tops) = multiply_add(zero, zero, low, broadcast(&powers.groups, 0));
            let high = carry(sums, tops);
            for i in 0..3 {
                _mm512_storeu_si512(powers.low[i].as_mut_ptr().cast(), low[i]);
                _mm512_storeu_si512(powers.high[i].as_mut_ptr().cast(), high[i]);
            }
        }
        powers
    }
}

impl<const KEYED: bool> Beside for Beginning<'_, KEYED> {
    const IN_TWO_PHASES: bool = true;

    #[inline(always)]
    unsafe fn step(&mut self, at: usize) {
        const { assert!(UNLIKE_FROM + POWER_STEPS <= DOUBLE_ROUNDS) };
        if at < UNLIKE_FROM {
            if !KEYED {
                self.block.double_round();
            }
            return;
        }
        if at == UNLIKE_FROM && !KEYED {
            self.one_time.r = self.block.one_time_key().r;
        }
        self.make(at - UNLIKE_FROM);
    }

    #[inline(always)]
    unsafe fn second_step(&mut self, at: usize) {
        if at < UNLIKE_FROM && !KEYED {
            self.block.double_round();
        }
    }
}

impl Drop for IfmaPowers {
    #[inline(always)]
    fn drop(&mut self) {
        wipe(self.groups.as_flattened_mut());
        wipe(self.low.as_flattened_mut());
        wipe(self.high.as_flattened_mut());
    }
}

impl ZeroizeOnDrop for IfmaPowers {}

impl Run for Ifma<'_> {
    #[inline(always)]
    fn chunk(&mut self, from: *const u8) {
        self.from = from;
    }

    #[inline(always)]
    unsafe fn end_of_chunk(&mut self) {
        // SAFETY: the caller has AVX-512 F, which every method of a run requires.
        unsafe { self.sum = carry(self.low, self.high) }
        self.is_new = false;
    }

    #[inline(always)]
    unsafe fn end(self, _: &Multiplier, rest: &[u8], last: Option<&Block>) -> Element {
        // SAFETY: the caller has AVX-512 F, BW and IFMA; `rest` is borrowed and so readable.
        unsafe { self.end_with(Source::<false>::of(rest), last) }
    }
}

impl Ifma<'_> {
    /// # Safety
    /// The same as for [`Run`] and [`Source::next`].
    #[inline(always)]
    unsafe fn end_with<const XORS: bool>(
        mut self,
        mut source: Source<XORS>,
        last: Option<&Block>,
    ) -> Element {
        let blocks = source.data.bytes.div_ceil(BLOCK_BYTES);
        let mut groups = blocks / LANES;
        // SAFETY: the caller has AVX-512 F, BW and IFMA, and what `source` refers to; `last` is 16 bytes long, and the
        // powers of all lanes 64.
        unsafe {
            while groups > 0 {
                let count = groups.min(GROUPS);
                for at in 0..count {
                    let block = take_apart(source.next(), LANES_OF_BLOCKS[LANES]);
                    self.group(block, at == 0, count - 1 - at);
                }
                self.end_of_chunk();
                groups -= count;
            }
            // The blocks left, and `last` behind them, form a group whose later lanes are empty.
            let left = blocks % LANES;
            let mut halves = source.next();
            if let Some(last) = last {
                let last = _mm512_broadcast_i32x4(_mm_loadu_si128(last.as_ptr().cast()));
                let place = 3u16 << (2 * left);
                let [first, second] = &mut halves;
                *first = _mm512_mask_mov_epi64(*first, place as u8, last);
                *second = _mm512_mask_mov_epi64(*second, (place >> 8) as u8, last);
            }
            let left = left + usize::from(last.is_some());
            // For lane j of the groups before: r^(8 - j + left); for lane j of this one: r^(left - j).
            let order = _mm512_setr_epi64(7, 3, 6, 2, 5, 1, 4, 0);
            let order = _mm512_add_epi64(order, _mm512_set1_epi64(left as i64));
            let zero = [_mm512_setzero_si512(); 3];
            let [mut early, mut late] = [zero; 2];
            for (i, (low, high)) in self.powers.low.iter().zip(&self.powers.high).enumerate() {
                let low = _mm512_loadu_si512(low.as_ptr().cast());
                let high = _mm512_loadu_si512(high.as_ptr().cast());
                early[i] = _mm512_permutex2var_epi64(low, order, high);
                late[i] = _mm512_permutexvar_epi64(order, low);
            }
            let mut block = take_apart(halves, LANES_OF_BLOCKS[left]);
            for (limb, before) in block.iter_mut().zip(self.before) {
                *limb = _mm512_add_epi64(*limb, before);
            }
            let (low, high) = multiply_add(zero, zero, block, with_returns(late));
            let (low, high) = multiply_add(low, high, self.sum, with_returns(early));
            let [a, b, c] = carry(low, high);
            let a = _mm512_reduce_add_epi64(a) as u64;
            let b = _mm512_reduce_add_epi64(b) as u64;
            let c = _mm512_reduce_add_epi64(c) as u64;
            Element::from_limbs_44([a, b, c])
        }
    }
}

impl Beside for Ifma<'_> {
    /// Absorbs a group of blocks in each of the first eight double rounds.
    #[inline(always)]
    unsafe fn step(&mut self, at: usize) {
        if at >= GROUPS {
            return;
        }
        // SAFETY: the caller has AVX-512 F and IFMA, and the chunk passed last, which has eight groups.
        unsafe {
            let from = self.from.wrapping_add(at * GROUP_BYTES);
            self.group(load_group(from), at == 0, GROUPS - 1 - at);
        }
    }
}

impl Ifma<'_> {
    /// Adds a group of blocks that `left` groups follow.
    ///
    /// # Safety
    /// AVX-512 F and IFMA are enabled in the caller.
    #[inline(always)]
    unsafe fn group(&mut self, mut block: [__m512i; 3], is_first: bool, left: usize) {
        // SAFETY: the caller has AVX-512 F and IFMA; `left` is the index of a group.
        unsafe {
            if is_first {
                let zero = [_mm512_setzero_si512(); 3];
                (self.low, self.high) = (zero, zero);
                if !self.is_new {
                    let power = broadcast(&self.powers.groups, left);
                    (self.low, self.high) = multiply_add(zero, zero, self.sum, power);
                }
                for (limb, before) in block.iter_mut().zip(&mut self.before) {
                    *limb = _mm512_add_epi64(*limb, *before);
                    *before = zero[0];
                }
            }
            if left > 0 {
                let power = broadcast(&self.powers.groups, left - 1);
                (self.low, self.high) = multiply_add(self.low, self.high, block, power);
            } else {
                for (sum, limb) in self.low.iter_mut().zip(block) {
                    *sum = _mm512_add_epi64(*sum, limb);
                }
            }
        }
    }
}

/// Loads a group of eight blocks.
///
/// # Safety
/// AVX-512 F is enabled in the caller; the blocks are readable at `from`.
#[inline(always)]
unsafe fn load_group(from: *const u8) -> [__m512i; 3] {
    // SAFETY: the caller has AVX-512 F, and eight blocks of 16 bytes at `from`.
    unsafe {
        let first = _mm512_loadu_si512(from.cast());
        let second = _mm512_loadu_si512(from.wrapping_add(64).cast());
        take_apart([first, second], LANES_OF_BLOCKS[LANES])
    }
}
