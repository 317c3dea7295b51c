//! Serpent on words: a register has the same word of many blocks, side by side.
//!
//! Serpent is designed for this ("Serpent: a proposal for the Advanced Encryption Standard", Anderson, Biham and Knudsen):
//! an S-box maps bit i of four words to bit i of four words, for 32 bits in the same number of instructions as for one. So
//! the only transposition is that of words on output.
//!
//! Two groups of registers are processed in turn, since the critical path through a round leaves half of a CPU's issue slots
//! free.
//!
//! No address and no branch depends on key, data or keystream.

use core::mem::MaybeUninit;

use inout::InOutBuf;
use oarlock_kernels::xor::xor;

use super::gates;
use super::registers::Words;
use oarlock_kernels::wipe::wipe;

/// The round keys K0 to K32.
pub(super) type RoundKeys = [[u32; 4]; 33];

/// XORs keystream onto `bytes` bytes, starting at byte `skip` of the block at `counter`.
///
/// # Safety
/// The instructions of `W` are enabled in the caller; `bytes` are readable at `from` and writable at `to`, the same place or
/// one that does not overlap; `skip` is less than 16.
#[inline(always)]
pub(crate) unsafe fn ctr<W: Words>(
    keys: &RoundKeys,
    mut counter: u128,
    mut skip: usize,
    mut from: *const u8,
    mut to: *mut u8,
    mut bytes: usize,
) {
    let group_bytes = 16 * W::LANES;
    while bytes > 0 {
        // SAFETY: the caller has the instructions of `W`; `bytes` counts what is left at both pointers. A group fills four
        // registers before they are read.
        unsafe {
            if skip == 0 && bytes >= 2 * group_bytes {
                let groups = [
                    count::<W>(counter),
                    count::<W>(counter.wrapping_add(W::LANES as u128)),
                ];
                for (i, words) in encrypt(keys, groups).into_iter().flatten().enumerate() {
                    let at = 4 * W::LANES * i;
                    W::load(from.add(at)).xor(words).store(to.add(at));
                }
                counter = counter.wrapping_add(2 * W::LANES as u128);
                (from, to) = (from.add(2 * group_bytes), to.add(2 * group_bytes));
                bytes -= 2 * group_bytes;
                continue;
            }
            let [words] = encrypt(keys, [count::<W>(counter)]);
            counter = counter.wrapping_add(W::LANES as u128);
            if skip == 0 && bytes >= group_bytes {
                for (i, words) in words.into_iter().enumerate() {
                    let at = 4 * W::LANES * i;
                    W::load(from.add(at)).xor(words).store(to.add(at));
                }
                (from, to) = (from.add(group_bytes), to.add(group_bytes));
                bytes -= group_bytes;
                continue;
            }
            let mut keystream = MaybeUninit::<[W; 4]>::uninit();
            let start = keystream.as_mut_ptr().cast::<u8>();
            for (i, words) in words.into_iter().enumerate() {
                words.store(start.add(4 * W::LANES * i));
            }
            let keystream = core::slice::from_raw_parts_mut(start, group_bytes);
            let piece = bytes.min(group_bytes - skip);
            let data = InOutBuf::from_raw(from, to, piece);
            xor(&keystream[skip..skip + piece], data);
            wipe(keystream);
            (from, to) = (from.add(piece), to.add(piece));
            bytes -= piece;
            skip = 0;
        }
    }
}

/// Returns counter blocks from `counter` on, in the order that [`Words::transpose`] undoes: block j Q + q is in word j of
/// part q, of Q parts of 128 bits.
///
/// # Safety
/// The instructions of `W` are enabled in the caller.
#[inline(always)]
unsafe fn count<W: Words>(counter: u128) -> [W; 4] {
    let parts = W::LANES.div_ceil(4);
    let mut words = [[0_u32; LANES_MAX]; 4];
    let low = counter as u32;
    // SAFETY: the caller has the instructions of `W`; the arrays are as long as the widest register.
    unsafe {
        if low.checked_add(W::LANES as u32).is_some() {
            for (lane, word) in words[3][..W::LANES].iter_mut().enumerate() {
                let block = lane % 4 * parts + lane / 4;
                *word = (low + block as u32).swap_bytes();
            }
            let high = |shift: u32| W::broadcast(((counter >> shift) as u32).swap_bytes());
            return [
                high(96),
                high(64),
                high(32),
                W::load(words[3].as_ptr().cast()),
            ];
        }
        for lane in 0..W::LANES {
            let block = counter.wrapping_add((lane % 4 * parts + lane / 4) as u128);
            for (i, words) in words.iter_mut().enumerate() {
                words[lane] = ((block >> (96 - 32 * i)) as u32).swap_bytes();
            }
        }
        words.map(|words| W::load(words.as_ptr().cast()))
    }
}

/// Words of the widest register.
const LANES_MAX: usize = 16;

/// Encrypts the blocks of `N` groups of four registers.
#[inline(always)]
fn encrypt<W: Words, const N: usize>(keys: &RoundKeys, mut groups: [[W; 4]; N]) -> [[W; 4]; N] {
    for (eight, keys) in keys.as_chunks::<8>().0.iter().enumerate() {
        macro_rules! rounds {
            ($($number:literal)+) => {$(
                for words in &mut groups {
                    *words = W::substitute::<$number>(add_key(*words, &keys[$number]));
                    if eight < 3 || $number < 7 {
                        *words = mix(*words);
                    }
                }
            )+};
        }
        rounds!(0 1 2 3 4 5 6 7);
    }
    groups.map(|words| W::transpose(add_key(words, &keys[32])))
}

#[inline(always)]
fn add_key<W: Words>(mut words: [W; 4], key: &[u32; 4]) -> [W; 4] {
    for (word, key) in words.iter_mut().zip(key) {
        *word = word.xor(word.filled_with(*key));
    }
    words
}

/// Applies the linear transformation.
#[inline(always)]
fn mix<W: Words>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let x0 = x0.rotate_left::<13, 19>();
    let x2 = x2.rotate_left::<3, 29>();
    let x1 = x1.xor3(x0, x2).rotate_left::<1, 31>();
    let x3 = x3.xor3(x2, x0.shift_left::<3, 29>()).rotate_left::<7, 25>();
    let x0 = x0.xor3(x1, x3).rotate_left::<5, 27>();
    let x2 = x2
        .xor3(x3, x1.shift_left::<7, 25>())
        .rotate_left::<22, 10>();
    [x0, x1, x2, x3]
}

/// Expands `key`, of 16, 24 or 32 bytes. Shorter keys than 32 bytes are padded with a one bit and zeros.
pub(crate) fn expand(key: &[u8], keys: &mut RoundKeys) {
    let mut padded = [0; 32];
    padded[..key.len()].copy_from_slice(key);
    if let Some(next) = padded.get_mut(key.len()) {
        *next = 1;
    }
    // The last eight words of the recurrence.
    let mut words = [0_u32; 8];
    for (word, bytes) in words.iter_mut().zip(padded.as_chunks().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    for (i, word) in keys.as_flattened_mut().iter_mut().enumerate() {
        let sum = words[i % 8] ^ words[(i + 3) % 8] ^ words[(i + 5) % 8] ^ words[(i + 7) % 8];
        *word = (sum ^ GOLDEN_RATIO ^ i as u32).rotate_left(11);
        words[i % 8] = *word;
    }
    let substitute = |number, key| match number {
        0 => gates::s0(key),
        1 => gates::s1(key),
        2 => gates::s2(key),
        3 => gates::s3(key),
        4 => gates::s4(key),
        5 => gates::s5(key),
        6 => gates::s6(key),
        _ => gates::s7::<u32>(key),
    };
    for (i, key) in keys.iter_mut().enumerate() {
        *key = substitute((35 - i) % 8, *key);
    }
    wipe(&mut padded);
    wipe(&mut words);
}

const GOLDEN_RATIO: u32 = 0x9e37_79b9;
