//! Camellia (RFC 3713), sliced: a half of the state is two registers, whose words have one byte each of four blocks. One
//! register has bytes 1, 8, 4 and 7, the other 2, 5, 3 and 6: so the two bytes that share an S-box share 64 bits, which one
//! matrix of GFNI covers.
//!
//! ```text
//! per round
//!   S-boxes    of both registers, see [`super::sbox`]
//!   P          each byte is a sum of five or six: 16 shuffles that pick some of them, and XORs, all
//!              independent. Four dependent steps of one shuffle and one XOR would also do
//!   key        added to the other half while the S-boxes are computed
//! ```
//!
//! `aesenclast` rotates the bytes of block r by r words. The first register is rotated back when its words are picked; the
//! second is kept rotated the other way.

use core::arch::{asm, x86_64::*};

use inout::InOutBuf;

mod shuffled;

use super::lanes::{NONE as N, Words, pick};
use super::sbox::{Boxes, ByAes, ByGfni};
use super::{Sliced, entry_points};
use crate::keys::camellia::Camellia;
use crate::keys::camellia::{FIRST_AND_FOURTH, SECOND_AND_THIRD, Steps, expand};
use crate::sliced::bytes::Bytes;
use oarlock_kernels::needs_instructions;
use oarlock_kernels::{AesNi, Gfni256, Gfni512, Vaes256};
pub(crate) use shuffled::{ctr_avx2, ctr_ssse3, expand_ssse3};

entry_points! { Camellia:
    ctr_aes_ni, AesNi, ByAes<__m128i>, 2, "aes,sse4.1", AES_NI;
    ctr_vaes256, Vaes256, ByAes<__m256i>, 2, "aes,vaes,avx2", VAES256;
    ctr_gfni256, Gfni256, ByGfni<__m256i>, 2, "avx2,gfni", GFNI256;
    ctr_gfni512, Gfni512, ByGfni<__m512i>, 2, "avx2,gfni,avx512f,avx512bw,avx512vl", GFNI512;
}

macro_rules! expansions {
    ($($name:ident, $token:ty, $boxes:ty, $features:literal;)+) => {$(
        /// Expands `key`, of 16, 24 or 32 bytes.
        pub(crate) fn $name(_: $token, schedule: &mut Camellia, key: &[u8]) {
            struct Here;
            impl Steps for Here {
                #[inline(always)]
                fn scramble(&self, input: u64) -> u64 {
                    // SAFETY: only `with_features`, where the instructions of `$boxes` are enabled, has a
                    // `Here`; a half is in registers.
                    unsafe { scramble::<$boxes>(input) }
                }
                #[inline(always)]
                fn spread(&self, key: u64, to: &mut &mut [[u8; 16]]) {
                    if let Some(to) = to.split_off_mut(..2).and_then(<[_]>::as_mut_array) {
                        // SAFETY: only `with_features`, where the instructions of `$boxes` are enabled, has a
                        // `Here`; `to` is two entries.
                        unsafe { spread::<$boxes>(key, to) }
                    }
                }
            }
            #[target_feature(enable = $features)]
            fn with_features(schedule: &mut Camellia, key: &[u8]) {
                expand(schedule, key, &Here);
            }
            // SAFETY: the token proves the features that `with_features` enables to expand Camellia's keys.
            unsafe { with_features(schedule, key) }
        }
    )+};
}

expansions! {
    expand_aes_ni, AesNi, ByAes<__m128i>, "aes,sse4.1";
    expand_gfni, Gfni256, ByGfni<__m128i>, "avx2,gfni";
}

impl<B: Boxes> Sliced<B> for Camellia {
    #[inline(always)]
    unsafe fn encrypt<const N: usize>(&self, groups: &mut [[B::V; 4]; N]) {
        // SAFETY: the caller has the instructions of `B`; entries are taken in the order that `expand`
        // documents, two for each half.
        unsafe {
            let mut entries = self.entries.as_ptr();
            let (first, second) = (Half::<B>::take(&mut entries), Half::<B>::take(&mut entries));
            let (mut left, mut right) = ([first; N], [second; N]);
            for i in 0..N {
                let [w0, w1, w2, w3] = groups[i];
                left[i] = Half::from_words([w0, w1]).add(first);
                right[i] = Half::from_words([w2, w3]).add(second);
            }
            rounds(self.groups, entries, &mut left, &mut right);
            for i in 0..N {
                let [w0, w1] = right[i].into_words(&BYTES);
                let [w2, w3] = left[i].into_words(&BYTES);
                groups[i] = [w0, w1, w2, w3];
            }
        }
    }
}

/// Runs all rounds, and FL between their `groups`. `entries` are those after the two that are added at the start.
///
/// # Safety
/// The instructions of `H` are enabled in the caller; `entries` are as many as `expand` documents.
#[inline(always)]
unsafe fn rounds<H: State, const N: usize>(
    groups: usize,
    mut entries: *const [u8; 16],
    left: &mut [H; N],
    right: &mut [H; N],
) {
    // SAFETY: the caller has the instructions of `H`, and entries in the order that `expand` documents, in which they are
    // taken.
    unsafe {
        let picks = H::picks();
        for group in 1.. {
            for _ in 0..3 {
                let key = H::take(&mut entries);
                for i in 0..N {
                    right[i] = left[i].round(right[i].add(key), picks);
                }
                let key = H::take(&mut entries);
                for i in 0..N {
                    left[i] = right[i].round(left[i].add(key), picks);
                }
            }
            let key = H::take(&mut entries);
            for right in &mut *right {
                *right = right.add(key);
            }
            if group == groups {
                break;
            }
            let words = entries.cast();
            entries = entries.add(1);
            let key = H::take(&mut entries);
            for i in 0..N {
                left[i] = left[i].fl(words).add(key);
                right[i] = right[i].fl_inverse(words.add(2));
            }
        }
    }
}

/// Half of the state of several blocks.
trait State: Copy {
    /// The shuffles that move bytes between registers in a round.
    type Picks: 'static;

    /// Returns the shuffles, hidden from the compiler: if it knows that a shuffle produces zeros, it substitutes others that
    /// take two steps or twice as long.
    fn picks() -> &'static Self::Picks;
    /// Takes the next key of a schedule.
    ///
    /// # Safety
    /// The CPU has the instructions of this type; `entries` points to the entries of a key, one or two.
    unsafe fn take(entries: &mut *const [u8; 16]) -> Self;
    needs_instructions! {
        fn add(self, other: Self) -> Self;
        /// Returns `other` plus the P-function of the S-boxes of this half.
        fn round(self, other: Self, picks: &'static Self::Picks) -> Self;
    }
    /// Applies FL (RFC 3713, section 2.4.2) with two words of a key.
    ///
    /// # Safety
    /// The CPU has the instructions of this type; `key` is valid for reads of two words.
    unsafe fn fl(self, key: *const u32) -> Self;
    /// Applies the inverse of FL (RFC 3713, section 2.4.3) with two words of a key.
    ///
    /// # Safety
    /// The same as for [`fl`](Self::fl).
    unsafe fn fl_inverse(self, key: *const u32) -> Self;
}

/// Returns the same reference, and hides its target from the compiler.
#[inline(always)]
fn hidden<T>(reference: &'static T) -> &'static T {
    let mut pointer: *const T = reference;
    // SAFETY: the assembly has no instruction, so the address stays that of the reference.
    unsafe {
        asm!("/* {0} */", inout(reg) pointer, options(pure, readonly, nostack, preserves_flags));
        &*pointer
    }
}

/// Half of the state of four blocks in each 128 bits.
struct Half<B: Boxes> {
    /// Bytes 1, 8, 4 and 7, one in each word.
    x: B::V,
    /// Bytes 2, 5, 3 and 6; if `B` shifts rows, rotated so that they are in place afterwards.
    y: B::V,
}

impl<B: Boxes> Clone for Half<B> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: Boxes> Copy for Half<B> {}

impl<B: Boxes> Half<B> {
    /// Converts two words, as little-endian integers.
    /// # Safety
    /// The CPU has the instructions of `B`.
    #[inline(always)]
    unsafe fn from_words([w0, w1]: [B::V; 2]) -> Self {
        // SAFETY: two shuffles and an exchange of words, for which the caller has the instructions of `B`.
        unsafe {
            let (w0, w1) = (w0.shuffle(&FROM_WORDS[0]), w1.shuffle(&FROM_WORDS[1]));
            let mut y = w0.high_words(w1);
            if B::SHIFTS {
                y = y.shuffle(const { &pick([0, 1, 2, 3], 0, Self::Y_TURN) });
            }
            Self {
                x: w0.low_words(w1),
                y,
            }
        }
    }

    /// Converts to two words, with their bytes in the given order.
    ///
    /// # Safety
    /// The CPU has the instructions of `B`.
    #[inline(always)]
    unsafe fn into_words(self, order: &[[i8; 16]; 2]) -> [B::V; 2] {
        // SAFETY: four shuffles and an exchange of halves, for which the caller has the instructions of `B`.
        unsafe {
            let x = self.x.shuffle(const { &pick([0, 2, 1, 3], 0, 0) });
            let y = self
                .y
                .shuffle(const { &pick([0, 2, 1, 3], Self::Y_TURN, 0) });
            [
                x.low_halves(y).shuffle(&order[0]),
                x.high_halves(y).shuffle(&order[1]),
            ]
        }
    }

    /// The distance in words by which the bytes of each block lie ahead of those of the previous one.
    const Y_TURN: usize = if B::SHIFTS { 1 } else { 0 };
    const X_TURN_AFTER: usize = if B::SHIFTS { 3 } else { 0 };

    /// The terms of P for bytes 1, 8, 4 and 7: from the results of the first and fourth S-boxes, then from the others. Then
    /// the same for bytes 2, 5, 3 and 6.
    const PICKS: [[[i8; 16]; 2]; 4] = [
        [
            pick([2, 2, 2, 2], Self::X_TURN_AFTER, 0),
            pick([3, 3, 3, 1], Self::X_TURN_AFTER, 0),
        ],
        [pick([3, 3, 3, 3], 0, 0), pick([2, 1, 1, 1], 0, 0)],
        [
            pick([1, 1, 1, 1], Self::X_TURN_AFTER, Self::Y_TURN),
            pick([0, 0, 0, 3], Self::X_TURN_AFTER, Self::Y_TURN),
        ],
        [
            pick([0, 0, 0, 0], 0, Self::Y_TURN),
            pick([1, 3, 1, 1], 0, Self::Y_TURN),
        ],
    ];
    /// Further terms for some of the bytes, and zeros for the others.
    const SOME_PICKS: Picks = [
        [
            pick([0, 0, N, N], Self::X_TURN_AFTER, 0),
            pick([1, N, N, N], Self::X_TURN_AFTER, 0),
        ],
        [pick([N, N, 2, 2], 0, 0), pick([N, N, 0, N], 0, 0)],
        [
            pick([3, 3, N, N], Self::X_TURN_AFTER, Self::Y_TURN),
            pick([2, N, N, N], Self::X_TURN_AFTER, Self::Y_TURN),
        ],
        [
            pick([N, N, 2, 2], 0, Self::Y_TURN),
            pick([N, N, 3, N], 0, Self::Y_TURN),
        ],
    ];
}

/// The state in which a key has two entries.
impl<B: Boxes> State for Half<B> {
    type Picks = Picks;

    #[inline(always)]
    fn picks() -> &'static Picks {
        hidden(const { &Self::SOME_PICKS })
    }

    #[inline(always)]
    unsafe fn take(entries: &mut *const [u8; 16]) -> Self {
        // SAFETY: the caller has the entries of a key at the pointer; for this half they are two of 16 bytes.
        unsafe {
            let (x, y) = (*entries, entries.add(1));
            *entries = entries.add(2);
            Self {
                x: B::V::splat(_mm_loadu_si128(x.cast())),
                y: B::V::splat(_mm_loadu_si128(y.cast())),
            }
        }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the caller has XOR for registers of `B`.
        unsafe {
            Self {
                x: self.x.xor(other.x),
                y: self.y.xor(other.y),
            }
        }
    }

    #[inline(always)]
    unsafe fn round(self, other: Self, some: &'static Picks) -> Self {
        // SAFETY: the caller has the instructions of `B` for S-boxes and shuffles; picks are of 16 bytes.
        unsafe {
            let x = B::substitute(self.x, const { &FIRST_AND_FOURTH });
            let y = B::substitute(self.y, const { &SECOND_AND_THIRD });
            let [x_of_x, x_of_y, y_of_x, y_of_y] = const { &Self::PICKS };
            let [some_x_of_x, some_x_of_y, some_y_of_x, some_y_of_y] = some;
            Self {
                x: sum(
                    other.x,
                    picked(x, x_of_x, some_x_of_x),
                    picked(y, x_of_y, some_x_of_y),
                ),
                y: sum(
                    other.y,
                    picked(x, y_of_x, some_y_of_x),
                    picked(y, y_of_y, some_y_of_y),
                ),
            }
        }
    }

    #[inline(always)]
    unsafe fn fl(self, key: *const u32) -> Self {
        // SAFETY: the caller has two words at `key`, and the instructions of `B` to AND, OR and rotate.
        unsafe {
            let [mut w0, mut w1] = self.into_words(&INTEGERS);
            w1 = w1.xor(w0.and(B::V::splat_word(*key)).rotate_words::<1, 31>());
            w0 = w0.xor(w1.or(B::V::splat_word(*key.add(1))));
            Self::from_words([w0, w1])
        }
    }

    #[inline(always)]
    unsafe fn fl_inverse(self, key: *const u32) -> Self {
        // SAFETY: the caller has two words at `key`, and the instructions of `B`, as for `fl`.
        unsafe {
            let [mut w0, mut w1] = self.into_words(&INTEGERS);
            w0 = w0.xor(w1.or(B::V::splat_word(*key.add(1))));
            w1 = w1.xor(w0.and(B::V::splat_word(*key)).rotate_words::<1, 31>());
            Self::from_words([w0, w1])
        }
    }
}

type Picks = [[[i8; 16]; 2]; 4];

/// # Safety
/// The instructions of `V` are enabled in the caller.
#[inline(always)]
unsafe fn picked<V: Words>(bytes: V, picks: &[[i8; 16]; 2], some: &[[i8; 16]; 2]) -> [V; 4] {
    // SAFETY: four shuffles of one register, for which the caller has the instructions of `V`.
    unsafe {
        [
            bytes.shuffle(&picks[0]),
            bytes.shuffle(&picks[1]),
            bytes.shuffle(&some[0]),
            bytes.shuffle(&some[1]),
        ]
    }
}

/// Adds the terms, with the fewest steps after the later of `x` and `y`.
///
/// # Safety
/// The instructions of `V` are enabled in the caller.
#[inline(always)]
unsafe fn sum<V: Words>(other: V, x: [V; 4], y: [V; 4]) -> V {
    // SAFETY: XORs of three, for which the caller has the instructions of `V`.
    unsafe {
        let (some_x, some_y) = (x[0].xor3(x[1], x[2]), y[0].xor3(y[1], y[2]));
        some_x.xor3(some_y, other.xor3(x[3], y[3]))
    }
}

/// See [`Steps::scramble`].
///
/// # Safety
/// The instructions of `B` are enabled in the caller.
#[inline(always)]
unsafe fn scramble<B: Boxes<V = __m128i>>(input: u64) -> u64 {
    // SAFETY: the caller has the instructions of `B`, which a round of one half takes.
    unsafe {
        let words = [
            __m128i::splat_word((input >> 32) as u32),
            __m128i::splat_word(input as u32),
        ];
        let zero = _mm_setzero_si128();
        let [w0, w1] = Half::<B>::from_words(words)
            .round(Half { x: zero, y: zero }, Half::<B>::picks())
            .into_words(&INTEGERS);
        _mm_cvtsi128_si64(w1.low_words(w0)) as u64
    }
}

/// See [`Steps::spread`].
///
/// # Safety
/// The instructions of `B` are enabled in the caller.
#[inline(always)]
unsafe fn spread<B: Boxes<V = __m128i>>(key: u64, [x, y]: &mut [[u8; 16]; 2]) {
    // SAFETY: each of the two entries has 16 bytes; the caller has SSSE3, as all boxes of 128 bits require.
    unsafe {
        let key = _mm_cvtsi64_si128(key as i64);
        key.shuffle(&spread_from([7, 0, 4, 1], 0))
            .store(x.as_mut_ptr());
        key.shuffle(const { &spread_from([6, 3, 5, 2], Half::<B>::Y_TURN) })
            .store(y.as_mut_ptr());
    }
}

/// Returns a shuffle that fills word i with byte `bytes[i]`; if each block is `turn` words ahead, the word where it lies
/// then.
const fn spread_from(bytes: [usize; 4], turn: usize) -> [i8; 16] {
    let mut from = [0; 16];
    let mut i = 0;
    while i < 16 {
        let (word, block) = (i / 4, i % 4);
        from[i] = bytes[(word + 4 - turn * block % 4) % 4] as i8;
        i += 1;
    }
    from
}

/// Shuffles that convert the words of a half, as integers, to bytes 1, 4, 2 and 3, and to 8, 7, 5 and 6.
const FROM_WORDS: [[i8; 16]; 2] = [
    [3, 7, 11, 15, 0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9, 13],
    [0, 4, 8, 12, 1, 5, 9, 13, 3, 7, 11, 15, 2, 6, 10, 14],
];
/// The inverse of `FROM_WORDS`.
const INTEGERS: [[i8; 16]; 2] = [
    [4, 12, 8, 0, 5, 13, 9, 1, 6, 14, 10, 2, 7, 15, 11, 3],
    [0, 4, 12, 8, 1, 5, 13, 9, 2, 6, 14, 10, 3, 7, 15, 11],
];
/// Like `INTEGERS`, with the bytes in the order of a block.
const BYTES: [[i8; 16]; 2] = [
    [0, 8, 12, 4, 1, 9, 13, 5, 2, 10, 14, 6, 3, 11, 15, 7],
    [8, 12, 4, 0, 9, 13, 5, 1, 10, 14, 6, 2, 11, 15, 7, 3],
];
