//! ChaCha20 interleaved with Poly1305 on 128, 256 and 512-bit registers: the entry points. The algorithm is in
//! [`crate::stitched`], for eight blocks on AVX2 in [`super::chacha20_avx2`], and for four on SSSE3 in
//! [`super::chacha20_ssse3`].
//!
//! On Zen 4 a 256-bit vector instruction occupies one of four pipes for a cycle, a 512-bit one two. 16 blocks take 320
//! additions, XORs and rotations each, and some 100 more instructions to assemble the blocks: 530 cycles for 1 KiB. The 64
//! MAC blocks interleaved with them take some 30 instructions each, on other units.

use inout::InOutBuf;

use super::chacha20_avx2::{Columns, crypt_one};
use super::chacha20_registers::{Ymm, Zmm};
use super::chacha20_ssse3;
use super::poly1305::{IfmaMaking, IfmaPowers};
use super::poly1305_chain::{Mul, Mulx};
use super::{Avx2, Avx512, Ssse3};
use crate::poly1305::{Element, Multiplier, OneTimeKey};
use crate::stitched::{
    self, BLOCK_BYTES, ChainPowers, Chunk, Data, Direction, InColumnsOrRows, Powers, Rows, Start,
};

macro_rules! stream_entry_point {
    ($crypt:ident, $token:ty, $chunk:ty, $features:literal, $counter:ident) => {
        /// XORs keystream onto `data`, beginning at `start`.
        pub(crate) fn $crypt(_: $token, start: Start<'_>, data: InOutBuf<'_, '_, u8>) {
            /// # Safety
            /// `bytes` are readable at `from` and writable at `to`, which are the same place or do not overlap.
            #[target_feature(enable = $features)]
            unsafe fn inner(key: &[u32; 8], row: u128, from: *const u8, to: *mut u8, bytes: usize) {
                let start = Start::from_parts(key, row);
                // SAFETY: the instructions of `$chunk` are enabled here; the caller has `bytes` at both pointers, at most a
                // block of them for `crypt_one`.
                unsafe {
                    let data = Data { from, to, bytes };
                    match bytes {
                        1..=BLOCK_BYTES => crypt_one(start, data),
                        _ => <$chunk>::crypt(start, data),
                    }
                }
            }
            /// This path needs only a frame on the stack, and what the other paths need costs 2 ns.
            ///
            /// # Safety
            /// `bytes`, for which `are_chunks` holds, are readable at `from` and writable at `to`, which are the same place
            /// or do not overlap.
            #[target_feature(enable = $features)]
            unsafe fn chunks(
                key: &[u32; 8],
                row: u128,
                from: *const u8,
                to: *mut u8,
                bytes: usize,
            ) {
                let start = Start::from_parts(key, row);
                // SAFETY: the instructions of `$chunk` are enabled here; the caller has whole chunks at both
                // pointers.
                unsafe { <$chunk>::crypt_chunks(start, Data { from, to, bytes }) }
            }
            #[cfg(debug_assertions)]
            crate::dispatch::chacha20::$counter.hit();
            let bytes = data.len();
            let (from, to) = data.into_raw();
            let (key, row) = start.parts();
            // SAFETY: the token proves the features; the buffer has `bytes` at both pointers, the same or disjoint; `chunks`
            // is called only if `are_chunks` holds.
            unsafe {
                if bytes > 0 && <$chunk>::are_chunks(bytes) {
                    chunks(key, row, from, to, bytes)
                } else {
                    inner(key, row, from, to, bytes)
                }
            }
        }
    };
}

macro_rules! aead_entry_points {
    ($crypt_and_mac:ident, $first:ident, $token:ty, $chunk:ty, $powers:ty, $features:literal, $mac_counter:ident) => {
        /// XORs keystream onto the data, and returns `mac` with all whole MAC blocks of the ciphertext absorbed, using
        /// `powers` of this r if they are already computed.
        pub(crate) fn $crypt_and_mac(
            _: $token,
            direction: Direction,
            start: Start<'_>,
            r: &Multiplier,
            powers: Option<&$powers>,
            mac: Element,
            data: InOutBuf<'_, '_, u8>,
        ) -> Element {
            /// # Safety
            /// `data` is readable and writable, in the same place or in two that do not overlap.
            #[target_feature(enable = $features)]
            unsafe fn inner<const OPEN: bool>(
                key: &[u32; 8],
                row: u128,
                r: &Multiplier,
                powers: Option<&$powers>,
                mac: Element,
                data: Data,
            ) -> Element {
                let direction = Direction::opening(OPEN);
                let start = Start::from_parts(key, row);
                // SAFETY: the instructions of `$chunk` are enabled here; `crypt_and_mac` stays within `data`.
                unsafe { stitched::crypt_and_mac::<$chunk>(direction, start, r, powers, mac, data) }
            }
            #[cfg(debug_assertions)]
            crate::dispatch::chacha20::$mac_counter.hit();
            let (key, row) = start.parts();
            // SAFETY: the token proves the features; `data` is that of a buffer, whose two places are the same or do not
            // overlap.
            unsafe {
                match direction {
                    Direction::Seal => inner::<false>(key, row, r, powers, mac, data.into()),
                    Direction::Open => inner::<true>(key, row, r, powers, mac, data.into()),
                }
            }
        }

        /// Encrypts or decrypts the first data of a message, as described at [`stitched::first`].
        pub(crate) fn $first(
            _: $token,
            direction: Direction,
            start: Start<'_>,
            aad: &[u8],
            data: InOutBuf<'_, '_, u8>,
            ends: bool,
        ) -> (OneTimeKey, Element) {
            /// # Safety
            /// `data` is readable and writable, in the same place or in two that do not overlap.
            #[target_feature(enable = $features)]
            unsafe fn inner<const OPEN: bool>(
                key: &[u32; 8],
                row: u128,
                aad: &[u8],
                data: Data,
                ends: bool,
            ) -> (OneTimeKey, Element) {
                let direction = Direction::opening(OPEN);
                let start = Start::from_parts(key, row);
                // SAFETY: the instructions of `$chunk` are enabled here; `first` stays within `data`.
                unsafe { stitched::first::<$chunk>(direction, start, aad, data, ends) }
            }
            #[cfg(debug_assertions)]
            crate::dispatch::chacha20::$mac_counter.hit();
            let (key, row) = start.parts();
            // SAFETY: the token proves the features; a buffer guarantees `data`, the same or disjoint.
            unsafe {
                match direction {
                    Direction::Seal => inner::<false>(key, row, aad, data.into(), ends),
                    Direction::Open => inner::<true>(key, row, aad, data.into(), ends),
                }
            }
        }
    };
}

stream_entry_point!(
    crypt_ssse3_apart,
    Ssse3,
    chacha20_ssse3::Columns<true>,
    "ssse3",
    SSSE3
);
aead_entry_points!(
    crypt_and_mac_ssse3_apart,
    first_ssse3_apart,
    Ssse3,
    chacha20_ssse3::Columns<true>,
    ChainPowers<256, Mul>,
    "ssse3",
    SSSE3_AND_MAC
);
stream_entry_point!(
    crypt_ssse3,
    Ssse3,
    chacha20_ssse3::Columns<false>,
    "ssse3",
    SSSE3
);
aead_entry_points!(
    crypt_and_mac_ssse3,
    first_ssse3,
    Ssse3,
    chacha20_ssse3::Columns<false>,
    ChainPowers<256, Mul>,
    "ssse3",
    SSSE3_AND_MAC
);
stream_entry_point!(crypt_avx2, Avx2, Columns, "avx2,bmi2", AVX2);
aead_entry_points!(
    crypt_and_mac_avx2,
    first_avx2,
    Avx2,
    Columns,
    ChainPowers<512, Mulx>,
    "avx2,bmi2",
    AVX2_AND_MAC
);
aead_entry_points!(
    crypt_and_mac_avx512_apart,
    first_avx512_apart,
    Avx512,
    InColumnsOrRows<Zmm, Ymm<true>, Zmm, IfmaPowers, IfmaMaking<true>>,
    IfmaPowers,
    "avx512f,avx512bw,avx512vl,avx512ifma,bmi2",
    AVX512_AND_MAC
);
stream_entry_point!(
    crypt_avx512,
    Avx512,
    InColumnsOrRows<Zmm, Ymm<true>, Zmm, IfmaPowers, IfmaMaking<false>>,
    "avx512f,avx512bw,avx512vl,avx512ifma,bmi2",
    AVX512
);
aead_entry_points!(
    crypt_and_mac_avx512,
    first_avx512,
    Avx512,
    InColumnsOrRows<Zmm, Ymm<true>, Zmm, IfmaPowers, IfmaMaking<false>>,
    IfmaPowers,
    "avx512f,avx512bw,avx512vl,avx512ifma,bmi2",
    AVX512_AND_MAC
);

/// XORs existing keystream onto `data`, whole MAC blocks, and returns `mac` with the ciphertext absorbed, using `powers` of
/// this r.
pub(crate) fn xor_and_mac_avx512(
    _: Avx512,
    direction: Direction,
    keystream: &[u8],
    r: &Multiplier,
    powers: &IfmaPowers,
    mac: Element,
    data: InOutBuf<'_, '_, u8>,
) -> Element {
    /// # Safety
    /// `data` is readable and writable, in the same place or in two that do not overlap; the keystream is of the same
    /// length.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512ifma,bmi2")]
    unsafe fn inner<const OPEN: bool>(
        keystream: &[u8],
        r: &Multiplier,
        powers: &IfmaPowers,
        mut mac: Element,
        Data { from, to, bytes }: Data,
    ) -> Element {
        // SAFETY: AVX-512 with IFMA, and BMI2, are enabled here; the caller has the bytes at both pointers and in the
        // keystream. They are absorbed before they are decrypted, or after they are encrypted.
        unsafe {
            if OPEN {
                mac = powers.absorb_more(r, mac, core::slice::from_raw_parts(from, bytes), None);
            }
            <Zmm as Rows>::xor_bytes(keystream, Data { from, to, bytes });
            if !OPEN {
                mac = powers.absorb_more(r, mac, core::slice::from_raw_parts(to, bytes), None);
            }
            mac
        }
    }
    assert_eq!(keystream.len(), data.len());
    debug_assert!(data.len().is_multiple_of(16));
    #[cfg(debug_assertions)]
    crate::dispatch::chacha20::KEPT_POWERS.hit();
    // SAFETY: `Avx512` proves the features; the buffer has the bytes, the same or disjoint, and the keystream was checked to
    // have the same length.
    unsafe {
        match direction {
            Direction::Seal => inner::<false>(keystream, r, powers, mac, data.into()),
            Direction::Open => inner::<true>(keystream, r, powers, mac, data.into()),
        }
    }
}

/// The powers for Poly1305 interleaved with the rounds on AVX2.
pub(crate) type Avx2Powers = ChainPowers<{ Columns::BYTES }, Mulx>;

/// Returns powers that serve all parts of a message.
pub(crate) fn powers_avx2(_: Avx2, r: &Multiplier) -> Avx2Powers {
    // SAFETY: powers for the integer units are computed with instructions that every x86-64 CPU has.
    unsafe { Avx2Powers::new(r) }
}

/// Encrypts whole chunks; returns `mac` with the ciphertext absorbed, each chunk during the rounds of the next. The chunk
/// after the last is keystream for later, in `place`, which may already contain the keystream of the first.
///
/// # Panics
/// If `data` is not whole chunks.
pub(crate) fn seal_and_make_avx2(
    _: Avx2,
    start: Start<'_>,
    powers: &Avx2Powers,
    mac: Element,
    is_there: bool,
    data: InOutBuf<'_, '_, u8>,
    place: &mut [u8; Columns::BYTES],
) -> Element {
    /// # Safety
    /// `data` is whole chunks, at least one, that are readable and writable, in the same place or in two that do not
    /// overlap; `place` is valid for a chunk.
    #[target_feature(enable = "avx2,bmi2")]
    unsafe fn inner(
        key: &[u32; 8],
        row: u128,
        powers: &Avx2Powers,
        mac: Element,
        is_there: bool,
        data: Data,
        place: *mut u8,
    ) -> Element {
        let start = Start::from_parts(key, row);
        // SAFETY: AVX2 and BMI2 are enabled here; the caller has whole chunks, and `place` with room for one.
        unsafe { Columns::seal_and_make(start, powers, mac, is_there, data, place) }
    }
    assert!(!data.is_empty() && data.len().is_multiple_of(Columns::BYTES));
    #[cfg(debug_assertions)]
    crate::dispatch::chacha20::MADE_BESIDE.hit();
    let (key, row) = start.parts();
    // SAFETY: `Avx2` proves the features; the buffer has the bytes, the same or disjoint, which were checked to be whole
    // chunks; `place` has room for one.
    unsafe {
        inner(
            key,
            row,
            powers,
            mac,
            is_there,
            data.into(),
            place.as_mut_ptr(),
        )
    }
}

/// Decrypts whole chunks; returns `mac` with the ciphertext absorbed, each chunk during its own rounds.
///
/// # Panics
/// If `data` is not whole chunks.
pub(crate) fn open_chunks_avx2(
    _: Avx2,
    start: Start<'_>,
    powers: &Avx2Powers,
    mac: Element,
    data: InOutBuf<'_, '_, u8>,
) -> Element {
    /// # Safety
    /// `data` is whole chunks, at least one, that are readable and writable, in the same place or in two that do not
    /// overlap.
    #[target_feature(enable = "avx2,bmi2")]
    unsafe fn inner(
        key: &[u32; 8],
        row: u128,
        powers: &Avx2Powers,
        mac: Element,
        data: Data,
    ) -> Element {
        let start = Start::from_parts(key, row);
        // SAFETY: AVX2 and BMI2 are enabled here; the run absorbs the chunks of `data`, which the caller has.
        unsafe {
            let mut running = powers.begin(mac);
            Columns::crypt_and_mac_chunks(Direction::Open, start, &mut running, data);
            running.value()
        }
    }
    assert!(!data.is_empty() && data.len().is_multiple_of(Columns::BYTES));
    #[cfg(debug_assertions)]
    crate::dispatch::chacha20::AVX2_AND_MAC.hit();
    let (key, row) = start.parts();
    // SAFETY: `Avx2` proves the features; the buffer has the bytes, the same or disjoint, which were checked to be whole
    // chunks.
    unsafe { inner(key, row, powers, mac, data.into()) }
}

/// Returns `mac` with `ciphertext` absorbed, during the rounds of a chunk of keystream that begins at `start`.
///
/// # Panics
/// If `ciphertext` has neither 256 nor 512 bytes.
pub(crate) fn make_and_mac_avx2(
    _: Avx2,
    start: Start<'_>,
    powers: &Avx2Powers,
    mac: Element,
    ciphertext: &[u8],
    place: &mut [u8; Columns::BYTES],
) -> Element {
    /// # Safety
    /// `ciphertext` is half a chunk or a whole one; `place` is valid for writes of a chunk.
    #[target_feature(enable = "avx2,bmi2")]
    unsafe fn inner(
        key: &[u32; 8],
        row: u128,
        powers: &Avx2Powers,
        mac: Element,
        ciphertext: &[u8],
        place: *mut u8,
    ) -> Element {
        let start = Start::from_parts(key, row);
        // SAFETY: AVX2 and BMI2 are enabled here; the caller has checked the length, and has `place` with room for a chunk.
        unsafe { Columns::make_and_mac(start, powers, mac, ciphertext, place) }
    }
    assert!(matches!(ciphertext.len(), 256 | Columns::BYTES));
    #[cfg(debug_assertions)]
    crate::dispatch::chacha20::MADE_BESIDE.hit();
    let (key, row) = start.parts();
    // SAFETY: `Avx2` proves the features; `place` is a chunk, and the length was checked.
    unsafe { inner(key, row, powers, mac, ciphertext, place.as_mut_ptr()) }
}

/// Returns powers that serve all parts of a message.
pub(crate) fn powers_avx512(_: Avx512, r: &Multiplier) -> IfmaPowers {
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512ifma,bmi2")]
    fn inner(r: &Multiplier) -> IfmaPowers {
        // SAFETY: AVX-512 F, BW and IFMA, with which powers are computed, are enabled here.
        unsafe { IfmaPowers::new(r) }
    }
    // SAFETY: `Avx512` proves the features that `inner` enables.
    unsafe { inner(r) }
}
