//! SM4: its S-box and its key schedule.

use super::field::{self, Matrix};
use super::sbox::{Map, SBox};
use super::tower;
use oarlock_kernels::wipe::wipe;

/// An expanded key of SM4. Wiped on drop.
#[repr(C, align(16))]
pub struct Sm4 {
    /// Round keys as the kernels add them, and a zero.
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

/// What [`expand`] needs of a backend.
pub(crate) trait Steps {
    /// The S-box of each byte, without constants.
    fn substitute(&self, word: u32) -> u32;
    /// Each byte in the form in which it is inverted.
    fn map_into(&self, words: &mut [u32; 36]);
}

/// GB/T 32907, section 7.3, and what the kernels need of it.
///
/// Kernels hold the four words in the field of AES, or its [`HALVES`], and leave out the constants of the S-box.
/// They are added to the keys: what is missing of each word after as many rounds, and what goes into the
/// S-box.
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
        // Three other words go in; `i / 4` or one more round has been at each.
        let missing = if (i / 4 + i % 4) % 2 == 1 { AFTER } else { 0 };
        *to = k[i % 4] ^ BEFORE ^ missing;
    }
    steps.map_into(&mut schedule.keys);
    // Zeros were mapped to zeros.
    wipe(&mut k);
}

/// The S-box inverts x of the field of x^8 + x^7 + x^6 + x^5 + x^4 + x^2 + 1, between twice the same
/// affine map, in which bit i becomes 0xcb rotated by i, and 0xd3 is added ("Analysis of the SMS4 Block
/// Cipher", Liu et al., ACISP 2007). The standard has it as a table.
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

/// The S-box for bytes outside of the field.
pub(crate) const PLAIN: SBox = SBox::new([&INTO, &INTO], [&OUT_OF, &OUT_OF]);

/// What kernels do with bytes in the form in which they are inverted.
pub(crate) struct Within {
    pub(crate) into: Map,
    pub(crate) out_of: Map,
    /// The S-box, then what the linear map L (section 6.2) makes of a byte in its own place, in the next
    /// two to the left, and in the third.
    pub(crate) same_place: SBox,
    pub(crate) next_places: SBox,
    pub(crate) third_place: SBox,
}

/// In the field of AES.
pub(crate) const FIELD_OF_AES: Within = Within::new(&field::IDENTITY);
/// As the halves of [`tower`].
pub(crate) const HALVES: Within = Within::new(&tower::HALVES);

impl Within {
    /// `form` is made of elements of AES's field.
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

/// To the left; what is shifted out is lost.
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
/// What the first affine map makes 0xd3 of, in each byte.
const BEFORE: u32 = field::times(&field::inverse(&AFFINE), 0xd3) as u32 * 0x0101_0101;
/// L of 0xd3 in each byte.
const AFTER: u32 = C ^ C.rotate_left(2) ^ C.rotate_left(10) ^ C.rotate_left(18) ^ C.rotate_left(24);
const FK: [u32; 4] = [0xa3b1_bac6, 0x56aa_3350, 0x677d_9197, 0xb270_22dc];
