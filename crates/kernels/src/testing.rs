//! What the tests of this crate see inside of keys, messages and arithmetic. A release build has
//! none of it.
//!
//! The tests are one program over the compiled library, so that kernels are compiled once.

use crate::aead::AeadError;
use crate::aes::Ctr;
use crate::batch;
use crate::cbc::Cbc;
use crate::gcm::{self, Gcm};
use crate::poly1305::{Element, OneTimeKey, Plain, Steps};
#[cfg(target_arch = "x86_64")]
use crate::{
    aes::CachedCtr,
    modexp::{Line, Modulus},
};
use crate::{chacha20_poly1305, tdes};

/// Round keys as they lie in memory.
pub type RoundKeys = [[u32; 4]; 15];

/// The round keys of a key.
pub fn round_keys(ctr: &Ctr) -> &RoundKeys {
    &ctr.schedule.round_keys
}

/// The round keys of both directions.
pub fn cbc_round_keys(cbc: &Cbc) -> [&RoundKeys; 2] {
    [&cbc.schedule.round_keys, &cbc.inverse.round_keys]
}

/// The key of Triple DES, as masks and as what look-ups take.
pub fn tdes_keys(ctr: &tdes::Ctr) -> [&[u64]; 2] {
    [&ctr.masks, &ctr.rounds]
}

/// The key without its cache.
#[cfg(target_arch = "x86_64")]
pub fn uncached(ctr: &CachedCtr) -> &Ctr {
    &ctr.ctr
}

/// The table of counter-mode caching.
#[cfg(target_arch = "x86_64")]
pub fn cached_states(ctr: &CachedCtr) -> &[[u8; 16]] {
    &ctr.table.states
}

/// Puts a key without tables into the state in which another thread makes them, and leaves it there forever.
#[cfg(target_arch = "x86_64")]
pub fn hold_gcm_tables(gcm: &mut Gcm) {
    gcm.hold_tables();
}

/// The cipher of a GCM key.
pub fn gcm_cipher(gcm: &Gcm) -> &Ctr {
    &gcm.ctr
}

/// The states of a key of HMAC.
pub fn hmac_states<H: batch::Hash>(key: &batch::HmacKey<H>) -> [[H::Word; 8]; 2] {
    [key.inner, key.outer]
}

/// H, then its powers as they lie in memory. No other thread may use the key during the call.
pub fn powers_of_h(gcm: &Gcm) -> impl Iterator<Item = [u8; 16]> {
    gcm.powers_of_h()
}

/// The first counter block of a message, which tests set to one that wraps early.
pub fn gcm_j0(message: &mut gcm::Message) -> &mut u128 {
    &mut message.j0
}

/// GHASH so far.
pub fn gcm_hash(message: &gcm::Message) -> u128 {
    message.y
}

/// Bytes of a message so far, which tests set to as many as would take days.
pub fn gcm_bytes(message: &mut gcm::Message) -> &mut u64 {
    &mut message.bytes
}

/// Whether a message may have such lengths.
///
/// # Errors
/// Those of [`Gcm::seal`].
pub fn check_gcm_lengths(aad_bytes: u64, bytes: u64) -> Result<(), AeadError> {
    gcm::check_lengths(aad_bytes, bytes)
}

/// Bytes of a message so far, which tests set to as many as would take days.
pub fn chacha20_poly1305_bytes(message: &mut chacha20_poly1305::Message) -> &mut u64 {
    message.bytes_mut()
}

/// Poly1305 of `message`, whole blocks.
///
/// # Panics
/// When the ways to absorb them differ.
pub fn poly1305(key: &[u8; 32], message: &[u8]) -> [u8; 16] {
    let one_time = OneTimeKey::new(key);
    let r = &one_time.r;
    let blocks = message.as_chunks().0;
    let by_steps = blocks
        .iter()
        .fold(Element::ZERO, |value, block| value.step(r, block));
    let tag = one_time.tag(by_steps);
    assert_eq!(one_time.tag(Element::ZERO.absorb_padded(r, message)), tag);
    // SAFETY: in Rust there are no instructions beyond the target's.
    unsafe { by_steps_of::<Plain>(&one_time, message, tag) };
    #[cfg(target_arch = "x86_64")]
    {
        use crate::x86_64::poly1305_chain::{Mul, Mulx};
        // SAFETY: every x86-64 has `mul`.
        unsafe { by_steps_of::<Mul>(&one_time, message, tag) };
        if crate::x86_64::Avx2::new(crate::cpu::Cpu::detect()).is_some() {
            // SAFETY: the token of AVX2 proves BMI2 too.
            unsafe { by_steps_of::<Mulx>(&one_time, message, tag) };
        }
    }
    tag
}

/// Asserts that two chains, and one for what is left, give this tag.
///
/// # Safety
/// The CPU has the instructions of `S`.
unsafe fn by_steps_of<S: Steps>(one_time: &OneTimeKey, message: &[u8], tag: [u8; 16]) {
    let r = &one_time.r;
    let blocks = message.as_chunks().0;
    let (halves, rest) = blocks.split_at(blocks.len() / 4 * 4);
    let mut value = Element::ZERO;
    // SAFETY: the caller has the instructions of `S`; the blocks of two halves are four or a multiple of it.
    unsafe {
        if !halves.is_empty() {
            let join = Element::power(r, halves.len() as u64 / 2);
            value = S::halves(r, join, value, halves);
        }
        value = value.absorb_all::<S>(r, rest.as_flattened(), None);
    }
    assert_eq!(one_time.tag(value), tag, "{}", core::any::type_name::<S>());
}

/// Poly1305 of two parts, whole blocks, whose values a power of r joins.
pub fn poly1305_in_parts(key: &[u8; 32], first: &[u8], second: &[u8]) -> [u8; 16] {
    let one_time = OneTimeKey::new(key);
    let power = Element::power(&one_time.r, second.len() as u64 / 16);
    let value = Element::ZERO
        .absorb_padded(&one_time.r, first)
        .times(power)
        .plus(Element::ZERO.absorb_padded(&one_time.r, second));
    one_time.tag(value)
}

/// A line of these digits.
#[cfg(target_arch = "x86_64")]
pub fn line(digits: [u64; 8]) -> Line {
    Line(digits)
}

/// The digits of a line.
#[cfg(target_arch = "x86_64")]
pub fn digits(line: &Line) -> [u64; 8] {
    line.0
}

/// A modulus and what is computed out of it.
#[cfg(target_arch = "x86_64")]
pub fn secrets(modulus: &Modulus) -> impl Iterator<Item = u64> {
    modulus.secrets()
}
