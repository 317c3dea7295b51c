//! Camellia: its S-boxes and its key schedule.

use super::field::{self, Matrix};
use super::sbox::SBox;
use super::tower;
use oarlock_kernels::wipe::wipe;

/// An expanded key of Camellia. Wiped on drop.
#[repr(C, align(16))]
pub struct Camellia {
    /// The entries in the order of use; see [`expand`].
    pub(crate) entries: [[u8; 16]; ENTRIES],
    /// Groups of six rounds: 3 for a key of 16 bytes, otherwise 4.
    pub(crate) groups: usize,
}

impl Camellia {
    pub(crate) const UNKEYED: Self = Self {
        entries: [[0; 16]; ENTRIES],
        groups: 3,
    };
}

impl Drop for Camellia {
    fn drop(&mut self) {
        wipe(&mut self.entries);
    }
}

/// The steps of [`expand`] that a backend provides.
pub(crate) trait Steps {
    /// Applies the P-function of the S-boxes to `input`, without constants.
    fn scramble(&self, input: u64) -> u64;
    /// Takes the entries of one key off `to`, and stores the bytes of `key` in them as a half of a state has them.
    fn spread(&self, key: u64, to: &mut &mut [[u8; 16]]);
}

/// Expands a key (RFC 3713, section 2.2) in the form that the kernels need.
///
/// A kernel holds the input of the next S-boxes: half of the state with the key of that round and the constants of the
/// S-boxes added. A round therefore adds the difference between the last key of the half that it changes and the next one.
///
/// ```text
/// keys, of two entries each, or of one if all bytes of a half lie in one register
///   2         added to the left and the right half at the start
///   per group
///     6       added by each round to the half that it changes
///     1       added to the right half after them
///             an entry of four words for FL and its inverse; not after the last group
///     1       added to the left half before the next group
/// ```
#[inline(always)]
pub(crate) fn expand(schedule: &mut Camellia, key: &[u8], steps: &impl Steps) {
    let half = |at: usize| {
        let bytes = key.get(at..at + 8).and_then(|it| it.as_array());
        u64::from_be_bytes(*bytes.unwrap_or(&[0; 8]))
    };
    let left = whole(half(0), half(8));
    let right = match key.len() {
        16 => 0,
        24 => whole(half(16), !half(16)),
        _ => whole(half(16), half(24)),
    };
    let a = twice(steps, twice(steps, left ^ right, 0) ^ left, 2);

    // Two whitening keys; for each group, those of six rounds and two of FL; in the last group, the final whitening keys
    // instead of those two.
    let mut keys = [[0; 2]; 17];
    let pair = |from: u128, bits: u32| halves(from.rotate_left(bits));
    if key.len() == 16 {
        schedule.groups = 3;
        keys[..13].copy_from_slice(&[
            pair(left, 0),
            pair(a, 0),
            pair(left, 15),
            pair(a, 15),
            pair(a, 30),
            pair(left, 45),
            [pair(a, 45)[0], pair(left, 60)[1]],
            pair(a, 60),
            pair(left, 77),
            pair(left, 94),
            pair(a, 94),
            pair(left, 111),
            pair(a, 111),
        ]);
    } else {
        schedule.groups = 4;
        let b = twice(steps, a ^ right, 4);
        keys = [
            pair(left, 0),
            pair(b, 0),
            pair(right, 15),
            pair(a, 15),
            pair(right, 30),
            pair(b, 30),
            pair(left, 45),
            pair(a, 45),
            pair(left, 60),
            pair(right, 60),
            pair(b, 60),
            pair(left, 77),
            pair(a, 77),
            pair(right, 94),
            pair(a, 94),
            pair(left, 111),
            pair(b, 111),
        ];
    }
    schedule.fill(&keys, steps);
    wipe(keys.as_flattened_mut());
}

impl Camellia {
    #[inline(always)]
    fn fill(&mut self, keys: &[[u64; 2]; 17], steps: &impl Steps) {
        let mut rest = &mut self.entries[..];
        let whitening = keys[0];
        let groups = keys[1..].as_chunks::<4>().0;
        steps.spread(whitening[0] ^ groups[0][0][0] ^ BEFORE, &mut rest);
        steps.spread(whitening[1], &mut rest);
        for (i, group) in groups[..self.groups].iter().enumerate() {
            let [[k1, k2], [k3, k4], [k5, k6], [next1, next2]] = *group;
            let is_last = i + 1 == self.groups;
            let (right, left) = if is_last { (next1, next2) } else { (0, 0) };
            for key in [
                k2 ^ BEFORE ^ AFTER,
                k1 ^ k3 ^ AFTER,
                k2 ^ k4 ^ AFTER,
                k3 ^ k5 ^ AFTER,
                k4 ^ k6 ^ AFTER,
                k5 ^ BEFORE ^ AFTER ^ left,
                k6 ^ BEFORE ^ right,
            ] {
                steps.spread(key, &mut rest);
            }
            if !is_last {
                if let Some([entry]) = rest.split_off_mut(..1) {
                    let words = [next1 >> 32, next1, next2 >> 32, next2];
                    for (to, word) in entry.as_chunks_mut().0.iter_mut().zip(words) {
                        *to = (word as u32).to_le_bytes();
                    }
                }
                steps.spread(groups[i + 1][0][0] ^ BEFORE, &mut rest);
            }
        }
    }
}

/// Computes two rounds, starting with constant number `sigma`. Always inlined, like its callees: instructions are only
/// available in the function that enables them.
#[inline(always)]
fn twice(steps: &impl Steps, d: u128, sigma: usize) -> u128 {
    let [mut d1, mut d2] = halves(d);
    d2 ^= steps.scramble(d1 ^ SIGMA[sigma] ^ BEFORE) ^ AFTER;
    d1 ^= steps.scramble(d2 ^ SIGMA[sigma + 1] ^ BEFORE) ^ AFTER;
    whole(d1, d2)
}

const fn whole(left: u64, right: u64) -> u128 {
    (left as u128) << 64 | right as u128
}

const fn halves(both: u128) -> [u64; 2] {
    [(both >> 64) as u64, both as u64]
}

/// The S-boxes of bytes 1, 8, 4 and 7 of a half: the first one twice, and the fourth. Each pair of bytes shares a half of
/// 128 bits. The fourth rotates its input.
pub(crate) const FIRST_AND_FOURTH: SBox = SBox::new(
    [&INTO, &field::after(&INTO, &field::rotation(1))],
    [&OUT_OF, &OUT_OF],
);
/// The S-boxes of bytes 2, 5, 3 and 6: the second and the third, which rotate their output.
pub(crate) const SECOND_AND_THIRD: SBox = SBox::new(
    [&INTO, &INTO],
    [
        &field::after(&field::rotation(1), &OUT_OF),
        &field::after(&field::rotation(7), &OUT_OF),
    ],
);

/// Converts, for shuffles, an input of the first three S-boxes or of the fourth to the halves that [`tower`] inverts.
pub(crate) const HALVES: Matrix = field::after(&tower::HALVES, &INTO);
pub(crate) const HALVES_OF_FOURTH: Matrix = field::after(&HALVES, &field::rotation(1));
/// Returns the output of the first S-box for an inverse, rotated to the left, in the form of [`HALVES`].
pub(crate) const fn rotated(left: u32) -> Matrix {
    field::after(&HALVES, &field::after(&field::rotation(left), &OUT_OF))
}

/// The maps around the inversion. The first S-box is h(g(f(0xc5 + x))) + 0x6e, where g inverts ("Camellia: A 128-Bit Block
/// Cipher Suitable for Multiple Platforms", Aoki et al., SAC 2000, section 4.4); RFC 3713 has it as a table. `INTO` is f and
/// the map to the field of AES; `OUT_OF` is the map back and h.
const INTO: Matrix = field::after(
    &FIELD,
    &of_bits([
        &[6, 2],
        &[7, 1],
        &[8, 5, 3],
        &[8, 3],
        &[7, 4],
        &[5, 2],
        &[8, 1],
        &[6, 4],
    ]),
);
const OUT_OF: Matrix = field::after(
    &of_bits([
        &[5, 6, 2],
        &[6, 2],
        &[7, 4],
        &[8, 2],
        &[7, 3],
        &[8, 1],
        &[5, 1],
        &[6, 3],
    ]),
    &field::inverse(&FIELD),
);

/// The map to the field of AES. Bits 8 to 5 of a byte are the coefficients of 1, a, a^2 and a^3, and bits 4 to 1 those of
/// the same times b, where b is a root of x^8 + x^6 + x^5 + x^3 + 1 and a is b^238.
const FIELD: Matrix = {
    let b = field::root(0x169);
    let mut columns = [0; 8];
    let mut i = 0;
    while i < 8 {
        columns[i] = field::power(b, 238 * (i as u32 % 4) + i as u32 / 4);
        i += 1;
    }
    columns
};

/// Returns the map that makes each bit a sum of others. Bits count from 1, the most significant one.
const fn of_bits(sums: [&[usize]; 8]) -> Matrix {
    let mut columns = [0; 8];
    let mut i = 0;
    while i < 8 {
        let mut j = 0;
        while j < sums[i].len() {
            columns[8 - sums[i][j]] |= 0x80 >> i;
            j += 1;
        }
        i += 1;
    }
    columns
}

/// The constant 0xc5 for each byte of a half, before the rotation of the fourth S-box.
const BEFORE: u64 = 0xc5c5_c5e2_c5c5_e2c5;
/// The P-function of 0x6e for each byte, after the rotations of the second and the third S-box.
const AFTER: u64 = p_function(0x6edc_376e_dc37_6e6e);

/// Computes the P-function (RFC 3713, section 2.4.1).
const fn p_function(half: u64) -> u64 {
    let [t1, t2, t3, t4, t5, t6, t7, t8] = half.to_be_bytes();
    u64::from_be_bytes([
        t1 ^ t3 ^ t4 ^ t6 ^ t7 ^ t8,
        t1 ^ t2 ^ t4 ^ t5 ^ t7 ^ t8,
        t1 ^ t2 ^ t3 ^ t5 ^ t6 ^ t8,
        t2 ^ t3 ^ t4 ^ t5 ^ t6 ^ t7,
        t1 ^ t2 ^ t6 ^ t7 ^ t8,
        t2 ^ t3 ^ t5 ^ t7 ^ t8,
        t3 ^ t4 ^ t5 ^ t6 ^ t8,
        t1 ^ t4 ^ t5 ^ t6 ^ t7,
    ])
}

const SIGMA: [u64; 6] = [
    0xa09e_667f_3bcc_908b,
    0xb67a_e858_4caa_73b2,
    0xc6ef_372f_e94f_82be,
    0x54ff_53a5_f1d3_6f1c,
    0x10e5_27fa_de68_2d1d,
    0xb056_88c2_b3e6_c1fd,
];

/// Entries for four groups.
const ENTRIES: usize = 4 + 4 * 14 + 3 * 3;
