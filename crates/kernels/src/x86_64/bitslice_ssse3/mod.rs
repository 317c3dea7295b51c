//! AES on planes of bits ([`super::bitslice`]) in 128-bit registers, for CPUs without AVX2: eight blocks in eight
//! registers, and the other eight for what the S-box has on the way.
//!
//! The assembly is written by `cargo xtask kernels`; `xtask/src/kernels/bitslice_ssse3.rs` says how it works. What a
//! compiler makes of the same steps does half as many bytes, for it copies and spills more.
//!
//! A group of eight blocks takes as long as six by [`super::permute`] (Zen 4), and the planes of the keys as long as
//! two blocks more.

use core::arch::naked_asm;
use core::arch::x86_64::__m128i;

use inout::InOutBuf;

use super::Ssse3;
use super::bitslice::{Direction, FRAMES, write_key_planes};
use crate::key::{BLOCK_BYTES, Schedule};
use crate::wipe::{Secret, wipe};

/// Bytes of eight blocks.
pub(crate) const GROUP_BYTES: usize = 8 * BLOCK_BYTES;

/// CTR over groups of eight blocks in which the low 32 bits of `counter` do not wrap.
pub(crate) fn ctr(_: Ssse3, schedule: &Schedule, counter: u128, data: InOutBuf<'_, '_, u8>) {
    let mut counter = counter.to_le_bytes();
    // SAFETY: the token proves SSSE3.
    unsafe {
        run(
            encrypt_counters,
            schedule,
            Direction::Encrypt,
            &mut counter,
            data,
        )
    }
}

/// CBC decryption of groups of eight blocks with the schedule of the equivalent inverse cipher.
pub(crate) fn cbc_decrypt(
    _: Ssse3,
    inverse: &Schedule,
    iv: &mut [u8; BLOCK_BYTES],
    data: InOutBuf<'_, '_, u8>,
) {
    // SAFETY: the token proves SSSE3.
    unsafe { run(decrypt_chain, inverse, Direction::Decrypt, iv, data) }
}

/// # Panics
/// When `data` is not of whole groups.
///
/// # Safety
/// SSSE3 must be there.
#[target_feature(enable = "ssse3")]
unsafe fn run(
    kernel: Kernel,
    schedule: &Schedule,
    direction: Direction,
    before: &mut [u8; BLOCK_BYTES],
    data: InOutBuf<'_, '_, u8>,
) {
    assert!(data.len().is_multiple_of(GROUP_BYTES) && !data.is_empty());
    #[cfg(debug_assertions)]
    crate::dispatch::aes::WIDE_SSSE3.hit();
    let constants = match direction {
        Direction::Encrypt => &ENCRYPT,
        Direction::Decrypt => &DECRYPT,
    };
    let rounds = schedule.size.rounds();
    let mut frame = Frame {
        stack: [[0; BLOCK_BYTES]; STACK_SLOTS],
        before: *before,
        middle_rounds: rounds as u32 - 1,
    };
    let mut keys = Secret::<KEY_BYTES_MAX>::new();
    // SAFETY: SSSE3 is there as the caller vouches, the room is written whole, and the kernel reads that of the
    // rounds in the frame; the buffer vouches for the groups readable at `from` and writable at `to`, which are the
    // same or do not overlap.
    unsafe {
        let planes: *mut [__m128i; 8] = keys.write((rounds + 1) * GROUP_BYTES).cast();
        write_key_planes(schedule, direction, planes);
        let groups = data.len() / GROUP_BYTES;
        let (from, to) = data.into_raw();
        kernel(&raw mut frame, planes, from, to, groups, constants);
    }
    *before = frame.before;
    wipe(&mut frame.stack);
}

type Kernel = unsafe extern "sysv64" fn(
    frame: *mut Frame,
    keys: *const [__m128i; 8],
    from: *const u8,
    to: *mut u8,
    groups: usize,
    constants: *const Constants,
);

/// What a kernel writes besides its output.
#[repr(C, align(16))]
struct Frame {
    stack: [[u8; BLOCK_BYTES]; STACK_SLOTS],
    /// The counter, the lowest byte first, or the block of ciphertext before.
    before: [u8; BLOCK_BYTES],
    /// The rounds between the first key and the last round.
    middle_rounds: u32,
}

/// What a kernel reads besides its input.
#[repr(C, align(16))]
struct Constants {
    /// The masks of the three steps of a transposition.
    masks: [[u8; BLOCK_BYTES]; 3],
    /// The bytes of a block from the last to the first.
    reverse: [u8; BLOCK_BYTES],
    /// 0 to 8, to add to a counter.
    steps: [[u32; 4]; 9],
    /// Three shuffles for each round: one below, two below, ShiftRows.
    frames: [[[i8; BLOCK_BYTES]; 3]; 15],
}

static ENCRYPT: Constants = Constants::new(1);
static DECRYPT: Constants = Constants::new(3);

impl Constants {
    /// Each round adds `shifts` to the ShiftRows left out.
    const fn new(shifts: usize) -> Self {
        let mut constants = Self {
            masks: [
                [0x55; BLOCK_BYTES],
                [0x33; BLOCK_BYTES],
                [0x0f; BLOCK_BYTES],
            ],
            reverse: [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0],
            steps: [[0; 4]; 9],
            frames: [[[0; BLOCK_BYTES]; 3]; 15],
        };
        let mut i = 0;
        while i < 9 {
            constants.steps[i][0] = i as u32;
            i += 1;
        }
        let mut round = 0;
        while round < 15 {
            let frame = &FRAMES[round * shifts % 4];
            constants.frames[round] = [frame.one_below, frame.two_below, frame.shift_rows];
            round += 1;
        }
        constants
    }
}

macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident $file:literal)+) => { $(
        $(#[$doc])*
        ///
        /// # Safety
        /// SSSE3 must be there; `keys` has planes for two more than the rounds that the frame names; `groups`, one or
        /// more, are readable at `from` and writable at `to`, the same place or one that does not overlap.
        #[unsafe(naked)]
        unsafe extern "sysv64" fn $name(
            frame: *mut Frame,
            keys: *const [__m128i; 8],
            from: *const u8,
            to: *mut u8,
            groups: usize,
            constants: *const Constants,
        ) {
            naked_asm!(include_str!($file), options(raw))
        }
    )+ };
}

kernels! {
    /// XORs keystream onto groups.
    encrypt_counters "ctr.s"
    /// Decrypts groups of a chain.
    decrypt_chain "cbc_decrypt.s"
}

const KEY_BYTES_MAX: usize = 15 * GROUP_BYTES;
/// As in xtask/src/kernels/bitslice_ssse3/registers.rs.
const STACK_SLOTS: usize = 16;
