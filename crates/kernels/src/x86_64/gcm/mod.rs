//! AES-GCM in one pass for every register width, written once over [`Clmul`]: while a group of registers goes through the
//! AES rounds, GHASH absorbs the group before (when sealing) or the same group (when opening), a register after each round
//! or two.
//!
//! The limit on Zen 4, in cycles for 512 bits under AES-256: 14 for the rounds, 3 for the products interleaved with them
//! (see [`super::ghash`]), and about 1.5 for the other arithmetic, which cannot be kept off the AES pipes altogether.
//! Measured: 19.5, including the reductions; 18.4 with [counter-mode caching](cache), which saves 2 rounds and adds a load.

mod cache;
mod pass;
mod source;

use core::arch::x86_64::*;

use inout::InOutBuf;

pub(crate) use cache::CACHED_ALIGN;
use cache::{Cached, Table};
use pass::{
    SHORT_REGISTERS_MAX, block, end, few, first, first_compact, first_long, hash, message, number,
    short, update,
};
use source::Counters;

use super::clmul::Clmul as _;
use super::ghash::{self, Few, Powers, View};
use super::lanes::Lanes;
use super::{AesNi, Face, Vaes256, Vaes512};
use crate::aead::NONCE_BYTES;
use crate::key::{BLOCK_BYTES, KeySize, Schedule};

/// A kernel for a short message: schedule, view, nonce, associated data, input, output, their length in bytes, tag.
///
/// The kernels stand in tables, which are not generic, so they are compiled only here. If functions that are inlined into
/// other crates called them by name, each of those crates would compile all of them again.
type ShortRounds = unsafe fn(
    &Schedule,
    View,
    &[u8; NONCE_BYTES],
    &[u8],
    *const u8,
    *mut u8,
    usize,
    &mut [u8; BLOCK_BYTES],
);
/// A kernel for a few blocks: schedule, view, GHASH so far, counter, input, output, their length in bytes.
type FewRounds = unsafe fn(&Schedule, View, &mut u128, u128, *const u8, *mut u8, usize);
/// A kernel for a message's first data: schedule, view, J0, the started associated data, GHASH so far, input, output, their
/// length in bytes, length of the associated data, tag.
type FirstRounds = unsafe fn(
    &Schedule,
    View,
    u128,
    Option<&[u8; BLOCK_BYTES]>,
    &mut u128,
    *const u8,
    *mut u8,
    usize,
    u64,
    &mut [u8; BLOCK_BYTES],
);
/// A kernel for a message's end: schedule, sum of GHASH and the lengths, J0, tag, view.
type EndRounds = unsafe fn(&Schedule, u128, u128, &mut [u8; BLOCK_BYTES], View);
/// Like [`ShortRounds`], with the first counter in place of the nonce. The tag is stored whole: returned as a number it
/// would be in two registers, and a load of all of it would wait for both stores.
type MessageRounds =
    unsafe fn(&Schedule, View, u128, &[u8], *const u8, *mut u8, usize, &mut [u8; BLOCK_BYTES]);

/// Stores the bytes of `from` (less than a block), padded with zeros, to `to` in a single store: a kernel that soon loads a
/// block would wait for several partial stores to it.
#[inline(always)]
pub(crate) fn fill_up(to: &mut [u8; BLOCK_BYTES], from: &[u8]) {
    // SAFETY: the bytes are those of a slice, and `to` has room for a block; both functions need only SSE2, which every
    // x86-64 CPU has.
    unsafe { __m128i::load_partial(from.as_ptr(), from.len()).store(to.as_mut_ptr()) }
}

macro_rules! backend {
    ($module:ident, $token:ty, $lanes:ty, $unroll:literal, $features:literal, $counter:ident) => {
        pub(crate) mod $module {
            use super::*;

            /// Computes the few powers from the key block H, and returns H as an element of POLYVAL's field.
            pub(crate) fn make_few(_: $token, few: &mut Few, h: &[u8; BLOCK_BYTES]) -> u128 {
                #[target_feature(enable = $features)]
                fn inner(few: &mut Few, h: &[u8; BLOCK_BYTES]) -> u128 {
                    // SAFETY: the instructions of `$lanes` are enabled here; a block can be read at `h`, and the
                    // reference to `few` is exclusive.
                    unsafe {
                        let h = ghash::key(__m128i::load(h.as_ptr()));
                        ghash::make_few::<$lanes>(few, h);
                        number(h)
                    }
                }
                // SAFETY: the token proves the features; `inner` has no other requirement.
                unsafe { inner(few, h) }
            }

            /// Computes the short table from the few powers.
            ///
            /// # Safety
            /// The few powers are computed; no other code uses the table.
            pub(crate) unsafe fn make_short(_: $token, few: &Few, powers: *mut Powers) {
                /// # Safety
                /// The same as for the enclosing function.
                #[target_feature(enable = $features)]
                unsafe fn inner(few: *const Few, powers: *mut Powers) {
                    // SAFETY: the instructions of `$lanes` are enabled here; the caller has computed the few powers and has
                    // exclusive use of the table.
                    unsafe { ghash::make_short::<$lanes>(few, powers) }
                }
                // SAFETY: the token proves the features; the caller has computed the few powers and has exclusive use of the
                // table.
                unsafe { inner(few, powers) }
            }

            /// Computes the powers that the middle table has beyond the short one.
            ///
            /// # Safety
            /// The short table is computed; no other code uses any of the other powers.
            pub(crate) unsafe fn make_middle(_: $token, powers: *mut Powers) {
                /// # Safety
                /// The same as for the enclosing function.
                #[target_feature(enable = $features)]
                unsafe fn inner(powers: *mut Powers) {
                    // SAFETY: the instructions of `$lanes` are enabled here; the caller has computed the short table and has
                    // exclusive use of the other powers.
                    unsafe { ghash::make_middle::<$lanes>(powers) }
                }
                // SAFETY: the token proves the features; the caller has computed the short table and has exclusive use of
                // the other powers.
                unsafe { inner(powers) }
            }

            /// Computes the powers that the long table has beyond the middle one.
            ///
            /// # Safety
            /// The middle table is computed; no other code uses any of the other powers.
            pub(crate) unsafe fn make_long(_: $token, powers: *mut Powers) {
                /// # Safety
                /// The same as for the enclosing function.
                #[target_feature(enable = $features)]
                unsafe fn inner(powers: *mut Powers) {
                    // SAFETY: the instructions of `$lanes` are enabled here; the caller has computed the middle table and
                    // has exclusive use of the other powers.
                    unsafe { ghash::make_long::<$lanes>(powers) }
                }
                // SAFETY: the token proves the features; the caller has computed the middle table and has exclusive use of
                // the other powers.
                unsafe { inner(powers) }
            }

            /// Returns the product of two elements of POLYVAL's field.
            pub(crate) fn times(_: $token, a: u128, b: u128) -> u128 {
                #[target_feature(enable = $features)]
                fn inner(a: u128, b: u128) -> u128 {
                    // SAFETY: carry-less multiplication is enabled here.
                    unsafe { number(ghash::times(block(a), block(b))) }
                }
                // SAFETY: the token proves the features; any two elements have a product.
                unsafe { inner(a, b) }
            }

            /// Continues GHASH from `y` with `data`, padded with zeros to a whole block.
            pub(crate) fn hash(_: $token, view: View, y: u128, data: &[u8]) -> u128 {
                #[target_feature(enable = $features)]
                fn inner(view: View, y: u128, data: &[u8]) -> u128 {
                    // SAFETY: the instructions of `$lanes` are enabled here; the bytes are those of a slice.
                    unsafe { super::hash::<$lanes>(view, y, data.as_ptr(), data.len()) }
                }
                // SAFETY: the token proves the features, which are all that `inner` requires.
                unsafe { inner(view, y, data) }
            }

            /// Applies counter mode to `data`, in which the low 32 bits of `counter` do not wrap, and continues GHASH of the
            /// ciphertext from `y`.
            pub(crate) fn update<const OPEN: bool>(
                _: $token,
                schedule: &Schedule,
                view: View,
                y: u128,
                counter: u128,
                data: InOutBuf<'_, '_, u8>,
            ) -> u128 {
                /// # Safety
                /// `bytes` are readable at `from` and writable at `to`, which are the same place or do not overlap.
                #[target_feature(enable = $features)]
                unsafe fn rounds<const R: usize, const OPEN: bool>(
                    schedule: &Schedule,
                    view: View,
                    y: u128,
                    counter: u128,
                    from: *const u8,
                    to: *mut u8,
                    bytes: usize,
                ) -> u128 {
                    // SAFETY: the instructions of `$lanes` are enabled here; the caller has `bytes` at both pointers.
                    unsafe {
                        let source = Counters(<$lanes>::counters(counter));
                        super::update::<$lanes, _, R, $unroll, OPEN>(
                            schedule, view, source, y, from, to, bytes,
                        )
                    }
                }
                #[cfg(debug_assertions)]
                crate::dispatch::aes::$counter.hit();
                let bytes = data.len();
                let (from, to) = data.into_raw();
                let f = match schedule.size {
                    KeySize::Aes128 => rounds::<10, OPEN>,
                    KeySize::Aes192 => rounds::<12, OPEN>,
                    KeySize::Aes256 => rounds::<14, OPEN>,
                };
                // SAFETY: the token proves the features; the buffer guarantees `bytes` readable at `from` and writable at
                // `to`, the same or disjoint; a view is valid by construction.
                unsafe { f(schedule, view, y, counter, from, to, bytes) }
            }

            /// The length of the longest message for [`short`], in bytes.
            pub(crate) const SHORT_BYTES_MAX: usize = SHORT_REGISTERS_MAX * <$lanes>::BYTES;

            /// Processes a whole message under a 12-byte nonce and computes its tag: at most [`SHORT_BYTES_MAX`] of data and
            /// a block of associated data. The view covers the data and two more blocks.
            #[inline(always)]
            pub(crate) fn short<const OPEN: bool>(
                _: $token,
                schedule: &Schedule,
                view: View,
                nonce: &[u8; NONCE_BYTES],
                aad: &[u8],
                data: InOutBuf<'_, '_, u8>,
                tag: &mut [u8; BLOCK_BYTES],
            ) {
                /// # Safety
                /// `bytes`, at most [`SHORT_BYTES_MAX`], are readable at `from` and writable at `to`, which are the same
                /// place or do not overlap. `aad` is at most a block, and the view covers the data and two more blocks.
                #[target_feature(enable = $features)]
                #[expect(clippy::too_many_arguments, reason = "each in a register")]
                unsafe fn rounds<const R: usize, const OPEN: bool>(
                    schedule: &Schedule,
                    view: View,
                    nonce: &[u8; NONCE_BYTES],
                    aad: &[u8],
                    from: *const u8,
                    to: *mut u8,
                    bytes: usize,
                    tag: &mut [u8; BLOCK_BYTES],
                ) {
                    // SAFETY: the instructions of `$lanes` are enabled here; the caller has a short message at both
                    // pointers, of as many registers as the match says, and a view that covers it.
                    unsafe {
                        macro_rules! of {
                            ($registers:literal) => {
                                super::short::<$lanes, R, OPEN, $registers>(
                                    schedule, view, nonce, aad, from, to, bytes, tag,
                                )
                            };
                        }
                        match bytes.div_ceil(<$lanes>::BYTES) {
                            0 => of!(0),
                            1 => of!(1),
                            2 => of!(2),
                            3 => of!(3),
                            _ => of!(4),
                        }
                    }
                }
                static ROUNDS: [[ShortRounds; 3]; 2] = [
                    [
                        rounds::<10, false>,
                        rounds::<12, false>,
                        rounds::<14, false>,
                    ],
                    [rounds::<10, true>, rounds::<12, true>, rounds::<14, true>],
                ];
                debug_assert!(data.len() <= SHORT_BYTES_MAX && aad.len() <= BLOCK_BYTES);
                debug_assert!(view.holds(data.len().div_ceil(BLOCK_BYTES) + 2));
                #[cfg(debug_assertions)]
                crate::dispatch::aes::$counter.hit();
                let bytes = data.len();
                let (from, to) = data.into_raw();
                let f = ROUNDS[usize::from(OPEN)][schedule.size as usize];
                // SAFETY: as in `update`; the message is short, and the view covers it.
                unsafe { f(schedule, view, nonce, aad, from, to, bytes, tag) };
            }

            /// Like [`update`], for whole blocks, 1 to [`SHORT_BYTES_MAX`] bytes, which the view covers; updates `y`.
            #[inline(always)]
            pub(crate) fn few<const OPEN: bool>(
                _: $token,
                schedule: &Schedule,
                view: View,
                y: &mut u128,
                counter: u128,
                data: InOutBuf<'_, '_, u8>,
            ) {
                /// # Safety
                /// `bytes` are readable at `from` and writable at `to`, which are the same place or do not overlap. They are
                /// one or more whole blocks, at most [`SHORT_BYTES_MAX`] bytes, and the view covers them.
                #[target_feature(enable = $features)]
                unsafe fn rounds<const R: usize, const OPEN: bool>(
                    schedule: &Schedule,
                    view: View,
                    y: &mut u128,
                    counter: u128,
                    from: *const u8,
                    to: *mut u8,
                    bytes: usize,
                ) {
                    // SAFETY: the instructions of `$lanes` and of one block are enabled here; the caller has a few blocks at
                    // both pointers, of as many registers as the match says, and a view that covers them.
                    unsafe {
                        macro_rules! of {
                            ($lanes_here:ty, $registers:literal) => {
                                super::few::<$lanes_here, R, OPEN, $registers>(
                                    schedule, view, y, counter, from, to, bytes,
                                )
                            };
                        }
                        match bytes.div_ceil(<$lanes>::BYTES) {
                            // One block is fastest in the narrowest register.
                            1 if bytes == BLOCK_BYTES => of!(__m128i, 1),
                            1 => of!($lanes, 1),
                            2 => of!($lanes, 2),
                            3 => of!($lanes, 3),
                            _ => of!($lanes, 4),
                        }
                    }
                }
                static ROUNDS: [[FewRounds; 3]; 2] = [
                    [
                        rounds::<10, false>,
                        rounds::<12, false>,
                        rounds::<14, false>,
                    ],
                    [rounds::<10, true>, rounds::<12, true>, rounds::<14, true>],
                ];
                debug_assert!((1..=SHORT_BYTES_MAX).contains(&data.len()));
                debug_assert!(data.len().is_multiple_of(BLOCK_BYTES));
                debug_assert!(view.holds(data.len() / BLOCK_BYTES));
                #[cfg(debug_assertions)]
                crate::dispatch::aes::$counter.hit();
                #[cfg(debug_assertions)]
                crate::dispatch::aes::GCM_FEW.hit();
                let bytes = data.len();
                let (from, to) = data.into_raw();
                let f = ROUNDS[usize::from(OPEN)][schedule.size as usize];
                // SAFETY: as in `update`; the blocks are few, and the view covers them.
                unsafe { f(schedule, view, y, counter, from, to, bytes) };
            }

            /// Processes the first data, at least a byte, of a message whose J0 ends with 1, and computes the tag that the
            /// message has if no more data follows. Up to [`SHORT_BYTES_MAX`] bytes take the fastest path if `view` covers
            /// their blocks and one more. If `is_early`, which marks a key's first messages, they take the path with the
            /// least code.
            #[inline(always)]
            #[expect(clippy::too_many_arguments, reason = "as the kernel takes them")]
            pub(crate) fn first<const OPEN: bool>(
                _: $token,
                is_early: bool,
                schedule: &Schedule,
                view: View,
                j0: u128,
                begun: Option<&[u8; BLOCK_BYTES]>,
                y: &mut u128,
                data: InOutBuf<'_, '_, u8>,
                aad_bytes: u64,
                tag: &mut [u8; BLOCK_BYTES],
            ) {
                /// # Safety
                /// `bytes`, at least one, are readable at `from` and writable at `to`, which are the same place or do not
                /// overlap; the low 32 bits of `j0` are 1.
                #[target_feature(enable = $features)]
                #[expect(clippy::too_many_arguments, reason = "few go through memory")]
                unsafe fn rounds<const R: usize, const OPEN: bool>(
                    schedule: &Schedule,
                    view: View,
                    j0: u128,
                    begun: Option<&[u8; BLOCK_BYTES]>,
                    y: &mut u128,
                    from: *const u8,
                    to: *mut u8,
                    bytes: usize,
                    aad_bytes: u64,
                    tag: &mut [u8; BLOCK_BYTES],
                ) {
                    // SAFETY: the instructions of `$lanes` are enabled here; the caller has `bytes` at both pointers, of as
                    // many registers as the match says, and every view covers the blocks of one register and one more.
                    unsafe {
                        macro_rules! of {
                            ($registers:literal) => {
                                super::first::<$lanes, R, OPEN, $registers>(
                                    schedule, view, j0, begun, y, from, to, bytes, aad_bytes, tag,
                                )
                            };
                        }
                        let is_held = view.holds(bytes.div_ceil(BLOCK_BYTES) + 1);
                        match bytes.div_ceil(<$lanes>::BYTES) {
                            1 => of!(1),
                            2 if is_held => of!(2),
                            3 if is_held => of!(3),
                            4 if is_held => of!(4),
                            _ => super::first_long::<$lanes, R, $unroll, OPEN>(
                                schedule, view, j0, begun, y, from, to, bytes, aad_bytes, tag,
                            ),
                        }
                    }
                }
                static ROUNDS: [[FirstRounds; 3]; 2] = [
                    [
                        rounds::<10, false>,
                        rounds::<12, false>,
                        rounds::<14, false>,
                    ],
                    [rounds::<10, true>, rounds::<12, true>, rounds::<14, true>],
                ];
                /// # Safety
                /// The same as for [`rounds`].
                #[target_feature(enable = $features)]
                #[expect(clippy::too_many_arguments, reason = "few go through memory")]
                unsafe fn compact<const OPEN: bool>(
                    schedule: &Schedule,
                    view: View,
                    j0: u128,
                    begun: Option<&[u8; BLOCK_BYTES]>,
                    y: &mut u128,
                    from: *const u8,
                    to: *mut u8,
                    bytes: usize,
                    aad_bytes: u64,
                    tag: &mut [u8; BLOCK_BYTES],
                ) {
                    // SAFETY: the instructions of `$lanes` are enabled here; the caller has `bytes` at both pointers; every
                    // view covers 8 blocks.
                    unsafe {
                        super::first_compact::<$lanes, OPEN>(
                            schedule, view, j0, begun, y, from, to, bytes, aad_bytes, tag,
                        )
                    }
                }
                static COMPACT: [FirstRounds; 2] = [compact::<false>, compact::<true>];
                debug_assert!(!data.is_empty() && j0 as u32 == 1);
                #[cfg(debug_assertions)]
                crate::dispatch::aes::$counter.hit();
                #[cfg(debug_assertions)]
                crate::dispatch::aes::GCM_FIRST.hit();
                let bytes = data.len();
                let (from, to) = data.into_raw();
                let f = if is_early {
                    #[cfg(debug_assertions)]
                    crate::dispatch::aes::GCM_COMPACT.hit();
                    COMPACT[usize::from(OPEN)]
                } else {
                    ROUNDS[usize::from(OPEN)][schedule.size as usize]
                };
                // SAFETY: as in `update`; if they are few, the view covers them.
                unsafe {
                    f(
                        schedule, view, j0, begun, y, from, to, bytes, aad_bytes, tag,
                    )
                };
            }

            /// Computes the tag of a message; `value` is the sum of its GHASH and the block of lengths.
            #[inline(always)]
            pub(crate) fn end(
                _: $token,
                schedule: &Schedule,
                value: u128,
                j0: u128,
                tag: &mut [u8; BLOCK_BYTES],
                view: View,
            ) {
                #[target_feature(enable = $features)]
                fn rounds<const R: usize>(
                    schedule: &Schedule,
                    value: u128,
                    j0: u128,
                    tag: &mut [u8; BLOCK_BYTES],
                    view: View,
                ) {
                    // SAFETY: AES-NI, SSE4.1 and carry-less multiplication are enabled here.
                    unsafe { super::end::<R>(schedule, value, j0, tag, view) }
                }
                static ROUNDS: [EndRounds; 3] = [rounds::<10>, rounds::<12>, rounds::<14>];
                // SAFETY: the token proves the features, which are all that the kernels in the table need.
                unsafe { ROUNDS[schedule.size as usize](schedule, value, j0, tag, view) };
            }

            /// Processes a whole message under a 12-byte nonce and computes its tag.
            #[inline(always)]
            pub(crate) fn message<const OPEN: bool>(
                _: $token,
                schedule: &Schedule,
                view: View,
                j0: u128,
                aad: &[u8],
                data: InOutBuf<'_, '_, u8>,
                tag: &mut [u8; BLOCK_BYTES],
            ) {
                /// # Safety
                /// `bytes` are readable at `from` and writable at `to`, which are the same place or do not overlap.
                #[target_feature(enable = $features)]
                #[expect(clippy::too_many_arguments, reason = "each in a register")]
                unsafe fn rounds<const R: usize, const OPEN: bool>(
                    schedule: &Schedule,
                    view: View,
                    j0: u128,
                    aad: &[u8],
                    from: *const u8,
                    to: *mut u8,
                    bytes: usize,
                    tag: &mut [u8; BLOCK_BYTES],
                ) {
                    // SAFETY: the instructions of `$lanes` are enabled here; the caller has the message at both pointers.
                    unsafe {
                        let source = Counters(<$lanes>::counters(j0.wrapping_add(1)));
                        *tag = super::message::<$lanes, _, R, $unroll, OPEN>(
                            schedule, view, source, j0, aad, from, to, bytes,
                        )
                        .to_ne_bytes();
                    }
                }
                static ROUNDS: [[MessageRounds; 3]; 2] = [
                    [
                        rounds::<10, false>,
                        rounds::<12, false>,
                        rounds::<14, false>,
                    ],
                    [rounds::<10, true>, rounds::<12, true>, rounds::<14, true>],
                ];
                #[cfg(debug_assertions)]
                crate::dispatch::aes::$counter.hit();
                let bytes = data.len();
                let (from, to) = data.into_raw();
                let f = ROUNDS[usize::from(OPEN)][schedule.size as usize];
                // SAFETY: as in `update`.
                unsafe { f(schedule, view, j0, aad, from, to, bytes, tag) };
            }
        }
    };
}

backend!(
    aes_ni,
    AesNi,
    __m128i,
    8,
    "aes,pclmulqdq,sse4.1",
    GCM_AES_NI
);
backend!(
    vaes256,
    Vaes256,
    __m256i,
    8,
    "aes,vaes,pclmulqdq,vpclmulqdq,avx2",
    GCM_VAES256
);
backend!(
    vaes512,
    Vaes512,
    __m512i,
    8,
    "aes,vaes,pclmulqdq,vpclmulqdq,avx512f,avx512bw,avx512vl",
    GCM_VAES512
);

/// Like [`vaes512::message`], with counter-mode caching: sealing, and opening.
pub(crate) static CACHED_MESSAGE: [CachedMessage; 2] =
    [cached_message::<false>, cached_message::<true>];
type CachedMessage = fn(Face, &Schedule, View, u128, &[u8], InOutBuf<'_, '_, u8>) -> u128;

fn cached_message<const OPEN: bool>(
    face: Face,
    schedule: &Schedule,
    view: View,
    j0: u128,
    aad: &[u8],
    data: InOutBuf<'_, '_, u8>,
) -> u128 {
    /// # Safety
    /// `bytes` are readable at `from` and writable at `to`, which are the same place or do not overlap; the table of
    /// `source` is live, and its counter is 2 plus a multiple of 32 blocks.
    #[target_feature(enable = "aes,vaes,pclmulqdq,vpclmulqdq,avx512f,avx512bw,avx512vl")]
    #[expect(clippy::too_many_arguments, reason = "each in a register")]
    unsafe fn rounds<const R: usize, const OPEN: bool>(
        schedule: &Schedule,
        view: View,
        source: Cached,
        j0: u128,
        aad: &[u8],
        from: *const u8,
        to: *mut u8,
        bytes: usize,
    ) -> u128 {
        // SAFETY: VAES, VPCLMULQDQ and AVX-512 are enabled here; the caller has the message at both pointers, and the table.
        unsafe {
            message::<__m512i, _, R, 8, OPEN>(schedule, view, source, j0, aad, from, to, bytes)
        }
    }
    #[cfg(debug_assertions)]
    crate::dispatch::aes::GCM_FACE.hit();
    let bytes = data.len();
    let (from, to) = data.into_raw();
    let f = match schedule.size {
        KeySize::Aes128 => rounds::<10, OPEN>,
        KeySize::Aes192 => rounds::<12, OPEN>,
        KeySize::Aes256 => rounds::<14, OPEN>,
    };
    let mut table = Table::new();
    let source = Cached::new(&mut table, j0.wrapping_add(1));
    // SAFETY: the token proves the features; the buffer guarantees `bytes` readable at `from` and writable at `to`, the same
    // or disjoint; a view is valid by construction. The table outlives the call, and under a 12-byte nonce the counters
    // begin at 2.
    let tag = unsafe { f(schedule, view, source, j0, aad, from, to, bytes) };
    table.wipe(face);
    tag
}

/// Like [`vaes512::update`], with counter-mode caching. `counter` is 2 plus a multiple of 32 blocks.
#[inline(never)]
pub(crate) fn cached_update<const OPEN: bool>(
    face: Face,
    schedule: &Schedule,
    view: View,
    y: u128,
    counter: u128,
    data: InOutBuf<'_, '_, u8>,
) -> u128 {
    /// # Safety
    /// `bytes` are readable at `from` and writable at `to`, which are the same place or do not overlap; the table of
    /// `source` is live, and its counter is 2 plus a multiple of 32 blocks.
    #[target_feature(enable = "aes,vaes,pclmulqdq,vpclmulqdq,avx512f,avx512bw,avx512vl")]
    unsafe fn rounds<const R: usize, const OPEN: bool>(
        schedule: &Schedule,
        view: View,
        source: Cached,
        y: u128,
        from: *const u8,
        to: *mut u8,
        bytes: usize,
    ) -> u128 {
        // SAFETY: VAES, VPCLMULQDQ and AVX-512 are enabled here; the caller has the data at both pointers, and the table.
        unsafe { update::<__m512i, _, R, 8, OPEN>(schedule, view, source, y, from, to, bytes) }
    }
    #[cfg(debug_assertions)]
    crate::dispatch::aes::GCM_FACE.hit();
    let bytes = data.len();
    let (from, to) = data.into_raw();
    let f = match schedule.size {
        KeySize::Aes128 => rounds::<10, OPEN>,
        KeySize::Aes192 => rounds::<12, OPEN>,
        KeySize::Aes256 => rounds::<14, OPEN>,
    };
    let mut table = Table::new();
    let source = Cached::new(&mut table, counter);
    // SAFETY: as in `cached_message`, with the counter that this function requires.
    let y = unsafe { f(schedule, view, source, y, from, to, bytes) };
    table.wipe(face);
    y
}
