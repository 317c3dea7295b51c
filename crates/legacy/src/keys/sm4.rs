//! SM4: its S-box and its key schedule.

use super::field::{self, Matrix};
use super::sbox::{Map, SBox};
use super::tower;
use oarlock_kernels::wipe::wipe;

/// An expanded key of SM4. Wiped on drop.
#[repr(C, align(16))]
pub struct Sm4 {
    /// The round keys as the kernels add them, then zeros.
    pub(crate) keys: [u32; 36],
}

impl Sm4 {
    pub(crate) const UNKEYED: Self = Self { keys: [0; 36] };
}

impl Drop for Sm4 {
    fn drop(&mut self) {
        wipe(&mut self.keys);
    }
}

/// The steps of [`expand`] that a backend provides.
pub(crate) trait Steps {
    /// Applies the S-box to each byte, without constants.
    fn substitute(&self, word: u32) -> u32;
    /// Converts each byte to the form in which it is inverted.
    fn map_into(&self, words: &mut [u32; 36]);
}

/// Expands a key (GB/T 32907, section 7.3) in the form that the kernels need.
///
/// Kernels hold the four words in the field of AES, or in its [`HALVES`], and leave out the constants of the S-box. The keys
/// include these: those missing from each word at that round, and the one added to the S-box's input.
#[inline(always)]
pub(crate) fn expand(schedule: &mut Sm4, key: &[u8], steps: &impl Steps) {
    let mut k = FK;
    for (k, bytes) in k.iter_mut().zip(key.as_chunks().0) {
        *k ^= u32::from_be_bytes(*bytes);
    }
    schedule.keys[32..].fill(0);
    for (i, to) in schedule.keys[..32].iter_mut().enumerate() {
        let first = 28_u8.wrapping_mul(i as u8);
        let ck = u32::from_be_bytes([
            first,
            first.wrapping_add(7),
            first.wrapping_add(14),
            first.wrapping_add(21),
        ]);
        let sum = k[(i + 1) % 4] ^ k[(i + 2) % 4] ^ k[(i + 3) % 4] ^ ck;
        let b = steps.substitute(sum ^ BEFORE) ^ C;
        k[i % 4] ^= b ^ b.rotate_left(13) ^ b.rotate_left(23);
        // The sum has three other words, each changed by `i / 4` rounds or one more.
        let missing = if (i / 4 + i % 4) % 2 == 1 { AFTER } else { 0 };
        *to = k[i % 4] ^ BEFORE ^ missing;
    }
    steps.map_into(&mut schedule.keys);
    // Zeros were mapped to zeros.
    wipe(&mut k);
}

/// The S-box inverts in the field of x^8 + x^7 + x^6 + x^5 + x^4 + x^2 + 1, between two copies of one affine map, in which
/// bit i becomes 0xcb rotated by i, and 0xd3 is added ("Analysis of the SMS4 Block Cipher", Liu et al., ACISP 2007). The
/// standard has it as a table.
const AFFINE: Matrix = {
    let mut columns = [0; 8];
    let mut i = 0;
    while i < 8 {
        columns[i] = 0xcb_u8.rotate_left(i as u32);
        i += 1;
    }
    columns
};
const FIELD: Matrix = field::from_field(0x1f5);
const INTO: Matrix = field::after(&FIELD, &AFFINE);
const OUT_OF: Matrix = field::after(&AFFINE, &field::inverse(&FIELD));

/// The S-box for bytes in their ordinary form.
pub(crate) const PLAIN: SBox = SBox::new([&INTO, &INTO], [&OUT_OF, &OUT_OF]);

/// The maps of kernels for bytes in the form in which they are inverted.
pub(crate) struct Within {
    pub(crate) into: Map,
    pub(crate) out_of: Map,
    /// The S-box, then the effect of the linear map L (section 6.2) on the byte's own place, on the next two to the left,
    /// and on the third.
    pub(crate) same_place: SBox,
    pub(crate) next_places: SBox,
    pub(crate) third_place: SBox,
}

/// The maps for the field of AES.
pub(crate) const FIELD_OF_AES: Within = Within::new(&field::IDENTITY);
/// The maps for the halves of [`tower`].
pub(crate) const HALVES: Within = Within::new(&tower::HALVES);

impl Within {
    /// Creates the maps for `form`, which converts from elements of the field of AES.
    const fn new(form: &Matrix) -> Self {
        let into = field::after(form, &INTO);
        let out_of = field::inverse(&into);
        let back = field::inverse(form);
        Self {
            into: Map::new(&into, &into),
            out_of: Map::new(&out_of, &out_of),
            same_place: within(&into, &back, &sum(&field::rotation(0), &shift(2))),
            next_places: within(&into, &back, &field::rotation(2)),
            third_place: within(&into, &back, &sum(&field::rotation(0), &shift(-6))),
        }
    }
}

const fn within(into: &Matrix, back: &Matrix, map: &Matrix) -> SBox {
    let after = field::after(into, &field::after(map, &OUT_OF));
    SBox::new([back, back], [&after, &after])
}

const fn sum(a: &Matrix, b: &Matrix) -> Matrix {
    let mut columns = [0; 8];
    let mut i = 0;
    while i < 8 {
        columns[i] = a[i] ^ b[i];
        i += 1;
    }
    columns
}

/// Shifts to the left; bits shifted out are lost.
const fn shift(left: i32) -> Matrix {
    let mut columns = [0; 8];
    let mut i = 0;
    while i < 8 {
        let bit = 1u8 << i;
        columns[i] = if left < 0 { bit >> -left } else { bit << left };
        i += 1;
    }
    columns
}

const C: u32 = 0xd3d3_d3d3;
/// The byte that the first affine map turns into 0xd3, in each byte.
const BEFORE: u32 = field::times(&field::inverse(&AFFINE), 0xd3) as u32 * 0x0101_0101;
/// The linear map L of 0xd3 in each byte.
const AFTER: u32 = C ^ C.rotate_left(2) ^ C.rotate_left(10) ^ C.rotate_left(18) ^ C.rotate_left(24);
const FK: [u32; 4] = [0xa3b1_bac6, 0x56aa_3350, 0x677d_9197, 0xb270_22dc];
