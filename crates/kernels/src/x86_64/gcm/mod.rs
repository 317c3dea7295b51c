//! AES-GCM in one pass for every register width, written once over [`Clmul`]: while a group of
//! registers goes through the AES rounds, GHASH takes the group before (sealing) or the same one
//! (opening), a register after each round or two.
//!
//! The limit on Zen 4, in cycles for 512 bits under AES-256: 14 for the rounds, 3 for the products interleaved with
//! them (see [`super::ghash`]), and about 1.5 for the other arithmetic, which cannot be kept off the pipes of AES
//! altogether. Measured: 19.5, with the reductions; 18.4 with [counter-mode caching](cache), which takes 2 rounds
//! away and adds a load.

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

/// A kernel of a short message: schedule, view, nonce, associated data, input, output, their bytes, tag.
///
/// The kernels stand in tables, which are not generic, and so are compiled here alone. Called by their names out of
/// functions that are inlined into other crates, each of those crates would compile all of them again.
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
/// A kernel of few blocks: schedule, view, GHASH so far, counter, input, output, their bytes.
type FewRounds = unsafe fn(&Schedule, View, &mut u128, u128, *const u8, *mut u8, usize);
/// A kernel of a message's first data: schedule, view, J0, associated data begun, GHASH so far, input, output, their bytes,
/// bytes of associated data, tag.
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
/// A kernel of a message's end: schedule, GHASH and lengths, J0, tag, view.
type EndRounds = unsafe fn(&Schedule, u128, u128, &mut [u8; BLOCK_BYTES], View);
/// As [`ShortRounds`], with the first counter in place of the nonce. The tag is stored whole: as a number it would come back
/// in two registers, and a load of all of it would wait for both stores.
type MessageRounds =
    unsafe fn(&Schedule, View, u128, &[u8], *const u8, *mut u8, usize, &mut [u8; BLOCK_BYTES]);

/// The few bytes of `from` (less than a block), filled up with zeros, into `to` by a single store: a kernel that soon
/// loads a block waits for stores of parts of it.
#[inline(always)]
pub(crate) fn fill_up(to: &mut [u8; BLOCK_BYTES], from: &[u8]) {
    // SAFETY: the bytes are those of a slice, and `to` has room for a block; both functions need no more than SSE2, which
    // every x86-64 has.
    unsafe { __m128i::load_partial(from.as_ptr(), from.len()).store(to.as_mut_ptr()) }
}

macro_rules! backend {
    ($module:ident, $token:ty, $lanes:ty, $unroll:literal, $features:literal, $counter:ident) => {
        pub(crate) mod $module {
            use super::*;

            /// Makes the few powers out of the key block H, and returns H as an element of POLYVAL's field.
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
                // SAFETY: the token proves the features; `inner` asks for nothing else.
                unsafe { inner(few, h) }
            }

            /// Makes the short table, from the few powers.
            ///
            /// # Safety
            /// The few have been made; no other code uses the table.
            pub(crate) unsafe fn make_short(_: $token, few: &Few, powers: *mut Powers) {
                /// # Safety
                /// As for the function around it.
                #[target_feature(enable = $features)]
                unsafe fn inner(few: *const Few, powers: *mut Powers) {
                    // SAFETY: the instructions of `$lanes` are enabled here; the caller has made the few, and has the
                    // table for itself.
                    unsafe { ghash::make_short::<$lanes>(few, powers) }
                }
                // SAFETY: the token proves the features; the caller has made the few, and has the table for itself.
                unsafe { inner(few, powers) }
            }

            /// Makes what the middle table has beyond the short one.
            ///
            /// # Safety
            /// The short one has been made; no other code uses any of the other powers.
            pub(crate) unsafe fn make_middle(_: $token, powers: *mut Powers) {
                /// # Safety
                /// As for the function around it.
                #[target_feature(enable = $features)]
                unsafe fn inner(powers: *mut Powers) {
                    // SAFETY: the instructions of `$lanes` are enabled here; the caller has made the short table, and has
                    // the other powers for itself.
                    unsafe { ghash::make_middle::<$lanes>(powers) }
                }
                // SAFETY: the token proves the features; the caller has made the short table, and has the other
                // powers for itself.
                unsafe { inner(powers) }
            }

            /// Makes what the long table has beyond the middle one.
            ///
            /// # Safety
            /// The middle one has been made; no other code uses any of the other powers.
            pub(crate) unsafe fn make_long(_: $token, powers: *mut Powers) {
                /// # Safety
                /// As for the function around it.
                #[target_feature(enable = $features)]
                unsafe fn inner(powers: *mut Powers) {
                    // SAFETY: the instructions of `$lanes` are enabled here; the caller has made the middle table, and has
                    // the other powers for itself.
                    unsafe { ghash::make_long::<$lanes>(powers) }
                }
                // SAFETY: the token proves the features; the caller has made the middle table, and has the other
                // powers for itself.
                unsafe { inner(powers) }
            }

            /// The product of two elements of POLYVAL's field.
            pub(crate) fn times(_: $token, a: u128, b: u128) -> u128 {
                #[target_feature(enable = $features)]
                fn inner(a: u128, b: u128) -> u128 {
                    // SAFETY: carry-less multiplication is enabled here.
                    unsafe { number(ghash::times(block(a), block(b))) }
                }
                // SAFETY: the token proves the features; any two elements have a product.
                unsafe { inner(a, b) }
            }

            /// GHASH of `data`, filled with zeros to a block, from `y` on.
            pub(crate) fn hash(_: $token, view: View, y: u128, data: &[u8]) -> u128 {
                #[target_feature(enable = $features)]
                fn inner(view: View, y: u128, data: &[u8]) -> u128 {
                    // SAFETY: the instructions of `$lanes` are enabled here; the bytes are those of a slice.
                    unsafe { super::hash::<$lanes>(view, y, data.as_ptr(), data.len()) }
                }
                // SAFETY: the token proves the features; `inner` asks for nothing else.
                unsafe { inner(view, y, data) }
            }

            /// CTR over `data`, in which the low 32 bits of `counter` do not wrap, and GHASH of the
            /// ciphertext from `y` on.
            pub(crate) fn update<const OPEN: bool>(
                _: $token,
                schedule: &Schedule,
                view: View,
                y: u128,
                counter: u128,
                data: InOutBuf<'_, '_, u8>,
            ) -> u128 {
                /// # Safety
                /// `bytes` are readable at `from` and writable at `to`, the same place or one that does not overlap.
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
                // SAFETY: the token proves the features; the buffer vouches for `bytes` readable at
                // `from` and writable at `to`, the same or apart; a view is good by itself.
                unsafe { f(schedule, view, y, counter, from, to, bytes) }
            }

            /// Bytes of data in the longest message for [`short`].
            pub(crate) const SHORT_BYTES_MAX: usize = SHORT_REGISTERS_MAX * <$lanes>::BYTES;

            /// A whole message under a nonce of 12 bytes, to its tag: at most [`SHORT_BYTES_MAX`]
            /// of data and a block of associated data. The view holds the data and two blocks more.
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
                /// `bytes` are readable at `from` and writable at `to`, the same place or one that does not overlap:
                /// at most [`SHORT_BYTES_MAX`]. `aad` is at most a block, and the view holds the data and two more.
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
                    // pointers, which is as many registers as the match says, and a view that holds it.
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
                // SAFETY: as in `update`; the message is short, and the view holds it.
                unsafe { f(schedule, view, nonce, aad, from, to, bytes, tag) };
            }

            /// As [`update`], for whole blocks, 1 to [`SHORT_BYTES_MAX`] bytes of them, which the view holds; `y` goes
            /// on.
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
                /// `bytes` are readable at `from` and writable at `to`, the same place or one that does not overlap:
                /// blocks, at least one, of at most [`SHORT_BYTES_MAX`] bytes, which the view holds.
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
                    // SAFETY: the instructions of `$lanes` and of one block are enabled here; the caller has few blocks at both
                    // pointers, which are as many registers as the match says, and a view that holds them.
                    unsafe {
                        macro_rules! of {
                            ($lanes_here:ty, $registers:literal) => {
                                super::few::<$lanes_here, R, OPEN, $registers>(
                                    schedule, view, y, counter, from, to, bytes,
                                )
                            };
                        }
                        match bytes.div_ceil(<$lanes>::BYTES) {
                            // One block has the shortest way in the narrowest register.
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
                // SAFETY: as in `update`; the blocks are few, and the view holds them.
                unsafe { f(schedule, view, y, counter, from, to, bytes) };
            }

            /// The first data of a message whose J0 ends with 1, at least a byte, and the tag that it has if no more
            /// follow. Up to [`SHORT_BYTES_MAX`] bytes take the shortest way if `view` holds their blocks and one more.
            /// Those of a key's first messages, if `is_early`, take the way of the least code.
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
                /// `bytes`, at least one, are readable at `from` and writable at `to`, the same place or one that does
                /// not overlap; the low 32 bits of `j0` are 1.
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
                    // SAFETY: the instructions of `$lanes` are enabled here; the caller has `bytes` at both pointers, which
                    // are as many registers as the match says, and every view holds those of one and a block more.
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
                /// As [`rounds`].
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
                    // view holds 8 blocks.
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
                // SAFETY: as in `update`; if they are few, the view holds them.
                unsafe {
                    f(
                        schedule, view, j0, begun, y, from, to, bytes, aad_bytes, tag,
                    )
                };
            }

            /// The tag of a message, of which GHASH and the block of lengths add up to `value`.
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
                // SAFETY: the token proves the features, which are all that the kernels of the table need.
                unsafe { ROUNDS[schedule.size as usize](schedule, value, j0, tag, view) };
            }

            /// A whole message under a nonce of 12 bytes, to its tag.
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
                /// `bytes` are readable at `from` and writable at `to`, the same place or one that does not overlap.
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

/// As [`vaes512::message`], with counter-mode caching: sealing, and opening.
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
    /// `bytes` are readable at `from` and writable at `to`, the same place or one that does not overlap; the table of
    /// `source` lives, and its counter is 2 and a multiple of 32 blocks.
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
    // SAFETY: the token proves the features; the buffer vouches for `bytes` readable at `from` and
    // writable at `to`, the same or apart; a view is good by itself. The table outlives the call, and
    // under a nonce of 12 bytes the counters begin at 2.
    let tag = unsafe { f(schedule, view, source, j0, aad, from, to, bytes) };
    table.wipe(face);
    tag
}

/// As [`vaes512::update`], with counter-mode caching. `counter` is 2 and a multiple of 32 blocks.
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
    /// `bytes` are readable at `from` and writable at `to`, the same place or one that does not overlap; the table of
    /// `source` lives, and its counter is 2 and a multiple of 32 blocks.
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
    // SAFETY: as in `cached_message`, with the counter that this function asks for.
    let y = unsafe { f(schedule, view, source, y, from, to, bytes) };
    table.wipe(face);
    y
}
