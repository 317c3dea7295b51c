//! Access for this crate's tests to the insides of keys, messages and arithmetic. A release build has none of it.
//!
//! The tests are one program that uses the compiled library, so that kernels are compiled once.

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

/// Returns the round keys of a key.
pub fn round_keys(ctr: &Ctr) -> &RoundKeys {
    &ctr.schedule.round_keys
}

/// Returns the round keys of both directions.
pub fn cbc_round_keys(cbc: &Cbc) -> [&RoundKeys; 2] {
    [&cbc.schedule.round_keys, &cbc.inverse.round_keys]
}

/// Returns a key of Triple DES, as masks and as round keys for look-ups.
pub fn tdes_keys(ctr: &tdes::Ctr) -> [&[u64]; 2] {
    [&ctr.masks, &ctr.rounds]
}

/// Returns the key without its cache.
#[cfg(target_arch = "x86_64")]
pub fn uncached(ctr: &CachedCtr) -> &Ctr {
    &ctr.ctr
}

/// Returns the table of counter-mode caching.
#[cfg(target_arch = "x86_64")]
pub fn cached_states(ctr: &CachedCtr) -> &[[u8; 16]] {
    &ctr.table.states
}

/// Puts a key without tables into the state in which another thread is computing them, and leaves it there forever.
#[cfg(target_arch = "x86_64")]
pub fn hold_gcm_tables(gcm: &mut Gcm) {
    gcm.hold_tables();
}

/// Returns the cipher of a GCM key.
pub fn gcm_cipher(gcm: &Gcm) -> &Ctr {
    &gcm.ctr
}

/// Returns the states of an HMAC key.
pub fn hmac_states<H: batch::Hash>(key: &batch::HmacKey<H>) -> [[H::Word; 8]; 2] {
    [key.inner, key.outer]
}

/// Returns H, then its powers as they lie in memory. No other thread may use the key during the call.
pub fn powers_of_h(gcm: &Gcm) -> impl Iterator<Item = [u8; 16]> {
    gcm.powers_of_h()
}

/// Returns the first counter block of a message, which tests set to one that wraps early.
pub fn gcm_j0(message: &mut gcm::Message) -> &mut u128 {
    &mut message.j0
}

/// Returns GHASH so far.
pub fn gcm_hash(message: &gcm::Message) -> u128 {
    message.y
}

/// Returns the bytes of a message so far, which tests set to a number that would take days to reach.
pub fn gcm_bytes(message: &mut gcm::Message) -> &mut u64 {
    &mut message.bytes
}

/// Checks the lengths of a message.
///
/// # Errors
/// Those of [`Gcm::seal`].
pub fn check_gcm_lengths(aad_bytes: u64, bytes: u64) -> Result<(), AeadError> {
    gcm::check_lengths(aad_bytes, bytes)
}

/// Returns the bytes of a message so far, which tests set to a number that would take days to reach.
pub fn chacha20_poly1305_bytes(message: &mut chacha20_poly1305::Message) -> &mut u64 {
    message.bytes_mut()
}

/// Returns Poly1305 of `message`, whole blocks.
///
/// # Panics
/// If the ways to absorb them differ.
pub fn poly1305(key: &[u8; 32], message: &[u8]) -> [u8; 16] {
    let one_time = OneTimeKey::new(key);
    let r = &one_time.r;
    let blocks = message.as_chunks().0;
    let by_steps = blocks
        .iter()
        .fold(Element::ZERO, |value, block| value.step(r, block));
    let tag = one_time.tag(by_steps);
    assert_eq!(one_time.tag(Element::ZERO.absorb_padded(r, message)), tag);
    // SAFETY: `Plain` needs no instructions beyond the target's.
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

/// Asserts that two chains, and one for the rest, give this tag.
///
/// # Safety
/// The CPU has the instructions of `S`.
unsafe fn by_steps_of<S: Steps>(one_time: &OneTimeKey, message: &[u8], tag: [u8; 16]) {
    let r = &one_time.r;
    let blocks = message.as_chunks().0;
    let (halves, rest) = blocks.split_at(blocks.len() / 4 * 4);
    let mut value = Element::ZERO;
    // SAFETY: the caller has the instructions of `S`; the number of blocks in two halves is a multiple of four.
    unsafe {
        if !halves.is_empty() {
            let join = Element::power(r, halves.len() as u64 / 2);
            value = S::halves(r, join, value, halves);
        }
        value = value.absorb_all::<S>(r, rest.as_flattened(), None);
    }
    assert_eq!(one_time.tag(value), tag, "{}", core::any::type_name::<S>());
}

/// Returns Poly1305 of two parts, whole blocks, whose values a power of r joins.
pub fn poly1305_in_parts(key: &[u8; 32], first: &[u8], second: &[u8]) -> [u8; 16] {
    let one_time = OneTimeKey::new(key);
    let power = Element::power(&one_time.r, second.len() as u64 / 16);
    let value = Element::ZERO
        .absorb_padded(&one_time.r, first)
        .times(power)
        .plus(Element::ZERO.absorb_padded(&one_time.r, second));
    one_time.tag(value)
}

/// Creates a line of these digits.
#[cfg(target_arch = "x86_64")]
pub fn line(digits: [u64; 8]) -> Line {
    Line(digits)
}

/// Returns the digits of a line.
#[cfg(target_arch = "x86_64")]
pub fn digits(line: &Line) -> [u64; 8] {
    line.0
}

/// Returns a modulus and the numbers computed from it.
#[cfg(target_arch = "x86_64")]
pub fn secrets(modulus: &Modulus) -> impl Iterator<Item = u64> {
    modulus.secrets()
}
