//! Poly1305 on AVX-512 IFMA: eight blocks a register, beside the rounds of ChaCha20.
//!
//! Limbs have 44 bits, so that products of two, 52 bits low and 52 bits high, can be summed over a
//! chunk of 64 blocks before anything is carried. Lane j of group g holds block 8 g + j:
//!
//! ```text
//! A(j) = A(j) r^64 + m(0, j) r^56 + m(1, j) r^48 + ... + m(6, j) r^8 + m(7, j)     each chunk
//! h    = A(0) r^8 + A(1) r^7 + ... + A(7) r                                        at the end
//! ```
//!
//! A group takes 18 multiplications and 7 instructions to take the blocks apart: as many cycles in
//! 1 KiB as ChaCha20's dependences leave its four pipes idle. On the integer units, where shorter
//! vectors do it, the same work takes longer than the rounds beside it.

use core::arch::x86_64::*;

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::poly1305::{BLOCK_BYTES, Element, Multiplier};
use crate::stitched::{Beside, Powers, Run};

/// The powers of r that a run needs. Wiped on drop.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct IfmaPowers {
    /// r^8, r^16, ... r^64, each with 20 times its upper limbs: what their products above 2^132
    /// come back as.
    groups: [[u64; 5]; GROUPS],
    /// Limb by limb, the power of each lane at the end.
    last: [[u64; LANES]; 5],
}

/// The sum of a run so far, and of a chunk on its way.
pub(crate) struct Ifma<'a> {
    powers: &'a IfmaPowers,
    /// What was absorbed before the run; goes to the first block there is.
    before: [__m512i; 3],
    sum: [__m512i; 3],
    low: [__m512i; 3],
    high: [__m512i; 3],
    from: *const u8,
    /// Those of the first group that are there.
    lanes: __mmask8,
}

const LANES: usize = 8;
const GROUPS: usize = 8;
const GROUP_BYTES: usize = LANES * BLOCK_BYTES;
/// Unpacking puts blocks into lanes in this order.
const BLOCK_OF_LANE: [usize; LANES] = [0, 4, 1, 5, 2, 6, 3, 7];
const ALL_LANES: __mmask8 = 0xff;
/// Those of the blocks 4 to 7.
const LATER_LANES: __mmask8 = 0xaa;
/// With nothing beside, shorter data go to the integer units, which need no powers of r first.
const ALONE_BYTES_MIN: usize = 1024;
const MASK_44: i64 = (1 << 44) - 1;
const MASK_42: i64 = (1 << 42) - 1;

// SAFETY (this and the next two implementations): the caller enables AVX-512 F and IFMA, and vouches
// for the chunk.
impl Powers for IfmaPowers {
    type Run<'a> = Ifma<'a>;

    #[inline(always)]
    fn new(r: &Multiplier) -> Self {
        Self::of_groups(r, GROUPS)
    }

    #[inline(always)]
    unsafe fn begin(&self, value: Element) -> Ifma<'_> {
        // SAFETY: as above.
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
                lanes: ALL_LANES,
            }
        }
    }

    #[inline(always)]
    unsafe fn absorb(r: &Multiplier, value: Element, data: &[u8]) -> Element {
        if data.len() < ALONE_BYTES_MIN {
            return value.absorb_padded(r, data);
        }
        let mut value = value;
        for data in data.chunks(GROUPS * GROUP_BYTES) {
            value = match data.len() / GROUP_BYTES {
                0 => value.absorb_padded(r, data),
                groups => {
                    let powers = Self::of_groups(r, groups);
                    // SAFETY: as above; what was absorbed before goes to the first group.
                    unsafe { powers.begin(value).end(r, data) }
                }
            };
        }
        value
    }

    #[inline(always)]
    unsafe fn absorb_more(&self, r: &Multiplier, mut value: Element, data: &[u8]) -> Element {
        for data in data.chunks(GROUPS * GROUP_BYTES) {
            value = match data.len() / GROUP_BYTES {
                0 => value.absorb_padded(r, data),
                // SAFETY: as above.
                _ => unsafe { self.begin(value).end(r, data) },
            };
        }
        value
    }
}

impl IfmaPowers {
    /// What it takes to absorb so many groups at once; at least one.
    #[inline(always)]
    fn of_groups(r: &Multiplier, count: usize) -> Self {
        let r = Element::power(r, 1);
        let mut powers = Self {
            groups: [[0; 5]; GROUPS],
            last: [[0; LANES]; 5],
        };
        let mut each = [r; LANES];
        for i in 1..LANES {
            // Squares where there are, for short chains.
            each[i] = each[(i - 1) / 2].times(each[i / 2]);
        }
        for (lane, block) in BLOCK_OF_LANE.into_iter().enumerate() {
            let limbs = limbs(each[LANES - 1 - block]);
            for (to, limb) in powers.last.iter_mut().zip(limbs) {
                to[lane] = limb;
            }
        }
        let mut groups = [each[LANES - 1]; GROUPS];
        for i in 1..count {
            groups[i] = groups[(i - 1) / 2].times(groups[i / 2]);
        }
        for (to, group) in powers.groups[..count].iter_mut().zip(groups) {
            *to = limbs(group);
        }
        each.zeroize();
        groups.zeroize();
        powers
    }
}

impl Run for Ifma<'_> {
    #[inline(always)]
    unsafe fn chunk(&mut self, from: *const u8) {
        self.from = from;
    }

    #[inline(always)]
    unsafe fn first_chunk(&mut self, from: *const u8) {
        self.from = from.wrapping_sub(64);
        self.lanes = LATER_LANES;
        for limb in &mut self.before {
            // From lane 0 to that of block 4.
            // SAFETY: as above.
            *limb = unsafe { _mm512_shuffle_epi32::<0x4e>(*limb) };
        }
    }

    #[inline(always)]
    unsafe fn end_of_chunk(&mut self) {
        // SAFETY: as above.
        unsafe { self.sum = carry(self.low, self.high) }
        self.lanes = ALL_LANES;
    }

    #[inline(always)]
    unsafe fn end(mut self, r: &Multiplier, rest: &[u8]) -> Element {
        let count = rest.len() / GROUP_BYTES;
        // SAFETY: as above; there are so many groups.
        let value = unsafe {
            if count > 0 {
                for at in 0..count {
                    let block = load_group(rest.as_ptr().add(at * GROUP_BYTES), ALL_LANES);
                    self.group(block, at == 0, count - 1 - at);
                }
                self.sum = carry(self.low, self.high);
            }
            let zero = _mm512_setzero_si512();
            let mut power = [zero; 5];
            for (power, lanes) in power.iter_mut().zip(&self.powers.last) {
                *power = _mm512_loadu_si512(lanes.as_ptr().cast());
            }
            let (low, high) = multiply_add([zero; 3], [zero; 3], self.sum, power);
            let [a, b, c] = carry(low, high);
            let a = _mm512_reduce_add_epi64(a) as u64;
            let b = _mm512_reduce_add_epi64(b) as u64;
            let c = _mm512_reduce_add_epi64(c) as u64;
            Element::from_limbs_44([a, b, c])
        };
        value.absorb_padded(r, &rest[count * GROUP_BYTES..])
    }
}

impl Beside for Ifma<'_> {
    /// A group of blocks in each of the first eight double rounds.
    #[inline(always)]
    unsafe fn step(&mut self, at: usize) {
        if at >= GROUPS {
            return;
        }
        // SAFETY: as above; a chunk has eight groups, and all lanes of the later ones are there.
        unsafe {
            let from = self.from.wrapping_add(at * GROUP_BYTES);
            let lanes = if at == 0 { self.lanes } else { ALL_LANES };
            self.group(load_group(from, lanes), at == 0, GROUPS - 1 - at);
        }
    }
}

impl Ifma<'_> {
    /// Adds a group of blocks that `left` come after.
    ///
    /// # Safety
    /// AVX-512 F and IFMA are enabled in the caller.
    #[inline(always)]
    unsafe fn group(&mut self, mut block: [__m512i; 3], is_first: bool, left: usize) {
        // SAFETY: as the caller vouches.
        unsafe {
            if is_first {
                let zero = [_mm512_setzero_si512(); 3];
                let power = broadcast(&self.powers.groups[left]);
                (self.low, self.high) = multiply_add(zero, zero, self.sum, power);
                for (limb, before) in block.iter_mut().zip(&mut self.before) {
                    *limb = _mm512_add_epi64(*limb, *before);
                    *before = zero[0];
                }
            }
            if left > 0 {
                let power = broadcast(&self.powers.groups[left - 1]);
                (self.low, self.high) = multiply_add(self.low, self.high, block, power);
            } else {
                for (sum, limb) in self.low.iter_mut().zip(block) {
                    *sum = _mm512_add_epi64(*sum, limb);
                }
            }
        }
    }
}

/// Three limbs of 44 bits, and 20 times the upper two.
fn limbs(value: Element) -> [u64; 5] {
    let [a, b, c] = value.to_limbs_44();
    [a, b, c, 20 * b, 20 * c]
}

/// Eight blocks as limbs of 44, 44 and 41 bits, the last with the bit above the block. Where `lanes`
/// are those of the later four only, the others are not read, and are zero without that bit.
///
/// # Safety
/// AVX-512 F is enabled in the caller; the blocks are readable at `from`.
#[inline(always)]
unsafe fn load_group(from: *const u8, lanes: __mmask8) -> [__m512i; 3] {
    // SAFETY: as the caller vouches; masked elements are not touched.
    unsafe {
        let first = match lanes {
            ALL_LANES => _mm512_loadu_si512(from.cast()),
            _ => _mm512_setzero_si512(),
        };
        let second = _mm512_loadu_si512(from.wrapping_add(64).cast());
        let low = _mm512_unpacklo_epi64(first, second);
        let high = _mm512_unpackhi_epi64(first, second);
        let mask = _mm512_set1_epi64(MASK_44);
        // (a | b) & c
        let middle = _mm512_ternarylogic_epi64::<0xa8>(
            _mm512_srli_epi64::<44>(low),
            _mm512_slli_epi64::<20>(high),
            mask,
        );
        let top = _mm512_or_si512(
            _mm512_srli_epi64::<24>(high),
            _mm512_maskz_set1_epi64(lanes, 1 << 40),
        );
        [_mm512_and_si512(low, mask), middle, top]
    }
}

/// # Safety
/// AVX-512 F is enabled in the caller.
#[inline(always)]
unsafe fn broadcast(limbs: &[u64; 5]) -> [__m512i; 5] {
    // SAFETY: as the caller vouches.
    unsafe {
        let mut all = [_mm512_setzero_si512(); 5];
        for (all, limb) in all.iter_mut().zip(limbs) {
            *all = _mm512_set1_epi64(*limb as i64);
        }
        all
    }
}

/// Adds a product to the sums of the low and of the high 52 bits.
///
/// # Safety
/// AVX-512 F and IFMA are enabled in the caller.
#[inline(always)]
unsafe fn multiply_add(
    mut low: [__m512i; 3],
    mut high: [__m512i; 3],
    [h0, h1, h2]: [__m512i; 3],
    [r0, r1, r2, s1, s2]: [__m512i; 5],
) -> ([__m512i; 3], [__m512i; 3]) {
    macro_rules! add {
        ($($i:literal $h:ident $r:ident),+) => {
            $(
                low[$i] = _mm512_madd52lo_epu64(low[$i], $h, $r);
                high[$i] = _mm512_madd52hi_epu64(high[$i], $h, $r);
            )+
        };
    }
    // SAFETY: as the caller vouches.
    unsafe {
        add!(0 h0 r0, 1 h0 r1, 2 h0 r2);
        add!(0 h1 s2, 1 h1 r0, 2 h1 r1);
        add!(0 h2 s1, 1 h2 s2, 2 h2 r0);
    }
    (low, high)
}

/// Limbs of at most 45 bits again. The sums are of at most 28 products of 45 by 49 bits: below 2^57
/// low and 2^47 high.
///
/// # Safety
/// AVX-512 F is enabled in the caller.
#[inline(always)]
unsafe fn carry(low: [__m512i; 3], high: [__m512i; 3]) -> [__m512i; 3] {
    // SAFETY: as the caller vouches.
    unsafe {
        let mask_44 = _mm512_set1_epi64(MASK_44);
        // The high half of a product of limb i stands 52 bits, that is a limb and 8, above it.
        let t0 = low[0];
        let t1 = _mm512_add_epi64(low[1], _mm512_slli_epi64::<8>(high[0]));
        let t2 = _mm512_add_epi64(low[2], _mm512_slli_epi64::<8>(high[1]));
        let t1 = _mm512_add_epi64(t1, _mm512_srli_epi64::<44>(t0));
        let t2 = _mm512_add_epi64(t2, _mm512_srli_epi64::<44>(t1));
        let above = _mm512_srli_epi64::<42>(t2);
        // 2^140 = 5120, 2^130 = 5.
        let wrapped = _mm512_add_epi64(
            _mm512_add_epi64(
                _mm512_slli_epi64::<12>(high[2]),
                _mm512_slli_epi64::<10>(high[2]),
            ),
            _mm512_add_epi64(above, _mm512_slli_epi64::<2>(above)),
        );
        let t0 = _mm512_add_epi64(_mm512_and_si512(t0, mask_44), wrapped);
        let t1 = _mm512_add_epi64(_mm512_and_si512(t1, mask_44), _mm512_srli_epi64::<44>(t0));
        [
            _mm512_and_si512(t0, mask_44),
            t1,
            _mm512_and_si512(t2, _mm512_set1_epi64(MASK_42)),
        ]
    }
}
