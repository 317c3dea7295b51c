//! AES round keys with dedicated instructions.

use core::arch::x86_64::*;

use super::AesNi;
use crate::key::{BLOCK_BYTES, KeySize, Schedule};

/// Expands the key (FIPS 197, section 5.2), computing SubWord with `aesenclast`. `key` has the length that `schedule.size`
/// says.
pub(crate) fn expand(_: AesNi, schedule: &mut Schedule, key: &[u8]) {
    // SAFETY: the token proves AES-NI and SSE4.1.
    unsafe { expand_by_size::<false>(schedule, key, &mut [0; BLOCK_BYTES]) }
}

/// Like [`expand`], and also encrypts a block of zeros with each round key as soon as it is computed: a step of the
/// expansion takes 6 cycles, a round 3 to 5, so that the block is finished one round after the last key.
pub(crate) fn expand_and_encrypt_zeros(
    _: AesNi,
    schedule: &mut Schedule,
    key: &[u8],
    encrypted: &mut [u8; BLOCK_BYTES],
) {
    // SAFETY: the token proves AES-NI and SSE4.1.
    unsafe { expand_by_size::<true>(schedule, key, encrypted) }
}

#[inline]
#[target_feature(enable = "aes,sse4.1")]
fn expand_by_size<const ENCRYPTS: bool>(
    schedule: &mut Schedule,
    key: &[u8],
    encrypted: &mut [u8; BLOCK_BYTES],
) {
    let round_keys = &mut schedule.round_keys;
    match schedule.size {
        KeySize::Aes128 => expand_128::<ENCRYPTS>(round_keys, key, encrypted),
        KeySize::Aes192 => expand_192::<ENCRYPTS>(round_keys, key, encrypted),
        KeySize::Aes256 => expand_256::<ENCRYPTS>(round_keys, key, encrypted),
    }
}

/// Takes the round keys in order; with `ENCRYPTS`, a block of zeros goes through the rounds. It is stored here: returned by
/// value, it would leave a copy on the stack.
struct Rounds<'a, const ENCRYPTS: bool> {
    round_keys: &'a mut [[u32; 4]; 15],
    encrypted: &'a mut [u8; BLOCK_BYTES],
    state: __m128i,
}

impl<'a, const ENCRYPTS: bool> Rounds<'a, ENCRYPTS> {
    #[inline]
    #[target_feature(enable = "aes,sse4.1")]
    fn new(round_keys: &'a mut [[u32; 4]; 15], encrypted: &'a mut [u8; BLOCK_BYTES]) -> Self {
        Self {
            round_keys,
            encrypted,
            state: _mm_setzero_si128(),
        }
    }

    /// Takes the key of `round`, out of `R` rounds.
    #[inline]
    #[target_feature(enable = "aes,sse4.1")]
    fn take<const R: usize>(&mut self, round: usize, key: __m128i) {
        // SAFETY: a round key and a block have 16 bytes each.
        unsafe {
            _mm_storeu_si128(self.round_keys[round].as_mut_ptr().cast(), key);
            if ENCRYPTS && round == R {
                let encrypted = _mm_aesenclast_si128(self.state, key);
                _mm_storeu_si128(self.encrypted.as_mut_ptr().cast(), encrypted);
            }
        }
        if ENCRYPTS && round < R {
            self.state = match round {
                0 => key,
                _ => _mm_aesenc_si128(self.state, key),
            };
        }
    }
}

// If the words stay in vector registers, the critical path of a step is a shuffle, an `aesenclast` and an XOR. Word by word,
// through general registers, it takes 3 to 5 times as long.

/// Expands keys of four words.
#[target_feature(enable = "aes,sse4.1")]
fn expand_128<const ENCRYPTS: bool>(
    round_keys: &mut [[u32; 4]; 15],
    key: &[u8],
    encrypted: &mut [u8; BLOCK_BYTES],
) {
    let mut rounds = Rounds::<ENCRYPTS>::new(round_keys, encrypted);
    let mut words = load(key, 0);
    rounds.take::<10>(0, words);
    for (i, rcon) in RCON.into_iter().enumerate() {
        words = _mm_xor_si128(running_xor(words), sub_rot_word::<3>(words, rcon));
        rounds.take::<10>(i + 1, words);
    }
}

/// Expands keys of six words: four in one register, two in the low half of another. Two steps of the expansion yield three
/// round keys.
#[target_feature(enable = "aes,sse4.1")]
fn expand_192<const ENCRYPTS: bool>(
    round_keys: &mut [[u32; 4]; 15],
    key: &[u8],
    encrypted: &mut [u8; BLOCK_BYTES],
) {
    let step = |four: &mut __m128i, two: &mut __m128i, rcon| {
        *four = _mm_xor_si128(running_xor(*four), sub_rot_word::<1>(*two, rcon));
        let last = _mm_shuffle_epi32::<0xff>(*four);
        *two = _mm_xor_si128(_mm_xor_si128(*two, _mm_slli_si128::<4>(*two)), last);
    };
    let mut rounds = Rounds::<ENCRYPTS>::new(round_keys, encrypted);
    let mut four = load(key, 0);
    // SAFETY: a key of six words has 24 bytes.
    let mut two = unsafe { _mm_loadl_epi64(key[16..24].as_ptr().cast()) };
    for (i, rcons) in RCON[..8].as_chunks::<2>().0.iter().enumerate() {
        rounds.take::<12>(3 * i, four);
        let before = two;
        step(&mut four, &mut two, rcons[0]);
        rounds.take::<12>(3 * i + 1, _mm_unpacklo_epi64(before, four));
        // The upper half of `four`, followed by `two`.
        let middle = _mm_unpacklo_epi64(_mm_srli_si128::<8>(four), two);
        rounds.take::<12>(3 * i + 2, middle);
        step(&mut four, &mut two, rcons[1]);
    }
    rounds.take::<12>(12, four);
}

/// Expands keys of eight words, in two registers.
#[target_feature(enable = "aes,sse4.1")]
fn expand_256<const ENCRYPTS: bool>(
    round_keys: &mut [[u32; 4]; 15],
    key: &[u8],
    encrypted: &mut [u8; BLOCK_BYTES],
) {
    let mut rounds = Rounds::<ENCRYPTS>::new(round_keys, encrypted);
    let (mut even, mut odd) = (load(key, 0), load(key, 1));
    rounds.take::<14>(0, even);
    rounds.take::<14>(1, odd);
    for (i, rcon) in RCON[..7].iter().enumerate() {
        even = _mm_xor_si128(running_xor(even), sub_rot_word::<3>(odd, *rcon));
        rounds.take::<14>(2 * i + 2, even);
        if i < 6 {
            odd = _mm_xor_si128(running_xor(odd), sub_last_word(even));
            rounds.take::<14>(2 * i + 3, odd);
        }
    }
}

/// Returns block `i` of the key.
#[inline]
#[target_feature(enable = "aes,sse4.1")]
fn load(key: &[u8], i: usize) -> __m128i {
    let block = &key[16 * i..16 * i + 16];
    // SAFETY: the block has 16 bytes.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}

/// Returns each word XORed with all words before it.
#[inline]
#[target_feature(enable = "aes,sse4.1")]
fn running_xor(mut words: __m128i) -> __m128i {
    words = _mm_xor_si128(words, _mm_slli_si128::<4>(words));
    _mm_xor_si128(words, _mm_slli_si128::<8>(words))
}

/// Returns SubWord(RotWord(word `I`)) ^ `rcon` in every column. ShiftRows, which is part of `aesenclast`, does not change a
/// state of four equal columns.
#[inline]
#[target_feature(enable = "aes,sse4.1")]
fn sub_rot_word<const I: i32>(words: __m128i, rcon: i32) -> __m128i {
    let order = _mm_set1_epi32(0x0003_0201 + 0x0404_0404 * I);
    _mm_aesenclast_si128(_mm_shuffle_epi8(words, order), _mm_set1_epi32(rcon))
}

/// Returns SubWord(word 3) in every column.
#[inline]
#[target_feature(enable = "aes,sse4.1")]
fn sub_last_word(words: __m128i) -> __m128i {
    _mm_aesenclast_si128(_mm_shuffle_epi32::<0xff>(words), _mm_setzero_si128())
}

const RCON: [i32; 10] = [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1b, 0x36];

/// Computes the schedule of the equivalent inverse cipher (FIPS 197, section 5.3.5), in the order of use.
pub(crate) fn invert(_: AesNi, schedule: &Schedule, inverse: &mut Schedule) {
    #[target_feature(enable = "aes,sse4.1")]
    fn with_aes(schedule: &Schedule, inverse: &mut Schedule) {
        let rounds = schedule.size.rounds();
        for round in 0..=rounds {
            // SAFETY: a schedule is aligned to 16 bytes, and a round key has 16.
            unsafe {
                let mut key = _mm_load_si128(schedule.round_keys[rounds - round].as_ptr().cast());
                if round > 0 && round < rounds {
                    key = _mm_aesimc_si128(key);
                }
                _mm_store_si128(inverse.round_keys[round].as_mut_ptr().cast(), key);
            }
        }
    }
    // SAFETY: the token proves AES-NI and SSE4.1.
    unsafe { with_aes(schedule, inverse) }
}
