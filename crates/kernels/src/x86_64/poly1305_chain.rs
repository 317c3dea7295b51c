//! Poly1305 on the integer units without ChaCha20: in one chain of steps, or in two.
//!
//! It is assembly because compilers copy a carry out of its flag and compare again to restore it: 45 instructions per step,
//! where this takes 35, and 29 with `mulx`. On a core that also runs another thread, or that issues four instructions per
//! cycle, that takes correspondingly longer.

use core::arch::{asm, naked_asm};
use core::mem::MaybeUninit;

use crate::poly1305::{BLOCK_BYTES, Element, Multiplier, Steps};
use crate::wipe::wipe;

/// With `mul`, which every x86-64 CPU has.
pub(crate) enum Mul {}

/// With `mulx`, from BMI2.
pub(crate) enum Mulx {}

macro_rules! steps {
    ($steps:ty, $is_mulx:literal) => {
        impl Steps for $steps {
            #[inline(always)]
            unsafe fn chain(
                r: &Multiplier,
                value: Element,
                blocks: &[[u8; BLOCK_BYTES]],
            ) -> Element {
                // SAFETY: the caller of `Steps` has the instructions of this type: BMI2 for `Mulx`.
                unsafe { chain::<$is_mulx>(r, value, blocks) }
            }

            #[inline(always)]
            unsafe fn halves(
                r: &Multiplier,
                join: Element,
                value: Element,
                blocks: &[[u8; BLOCK_BYTES]],
            ) -> Element {
                // SAFETY: the caller of `Steps` has the instructions of this type, BMI2 for `Mulx`, and a multiple of four
                // blocks.
                unsafe { halves::<$is_mulx>(r, join, value, blocks) }
            }
        }
    };
}

steps!(Mul, false);
steps!(Mulx, true);

/// # Safety
/// With `MULX`, the CPU must have BMI2.
#[inline(always)]
unsafe fn chain<const MULX: bool>(
    r: &Multiplier,
    value: Element,
    blocks: &[[u8; BLOCK_BYTES]],
) -> Element {
    if blocks.is_empty() {
        return value;
    }
    let [mut h0, mut h1, mut h2] = value.limbs();
    let [r0, r1, r1_by_5_4] = r.words();
    // h1 is multiplied first, so that its register and that of h0 are free for the sums.
    macro_rules! assembly {
        ($($product:literal)+) => {
            asm!(
                "2:",
                "add {h0}, [{from}]",
                "adc {h1}, [{from} + 8]",
                "adc {h2}, 1",
                $($product,)+
                "mov {t}, {h2}",
                "imul {t}, {s1}",
                "imul {h2}, {r0}",
                "add {h1}, {t}",
                "adc {h2}, {b1}",
                "add {h1}, {a1}",
                "adc {h2}, 0",
                // The part above 2^130 is added five times at the bottom.
                "mov {h0}, {h2}",
                "mov {t}, {h2}",
                "and {h0}, -4",
                "shr {t}, 2",
                "and {h2}, 3",
                "add {h0}, {t}",
                "add {h0}, {a0}",
                "adc {h1}, 0",
                "adc {h2}, 0",
                "add {from}, 16",
                "cmp {from}, {end}",
                "jne 2b",
                h0 = inout(reg) h0,
                h1 = inout(reg) h1,
                h2 = inout(reg) h2,
                r0 = in(reg) r0,
                r1 = in(reg) r1,
                s1 = in(reg) r1_by_5_4,
                from = inout(reg) blocks.as_ptr() => _,
                end = in(reg) blocks.as_ptr_range().end,
                a0 = out(reg) _,
                a1 = out(reg) _,
                b1 = out(reg) _,
                t = out(reg) _,
                out("rax") _,
                out("rdx") _,
                options(readonly, nostack)
            )
        };
    }
    // SAFETY: there is a block, and reads end with the last; with `MULX` the caller has BMI2.
    unsafe {
        if MULX {
            assembly!(
                "mov rdx, {h1}"
                "mulx {a1}, {a0}, {s1}"
                "mulx {b1}, {h1}, {r0}"
                "mov rdx, {h0}"
                "mulx {t}, rax, {r0}"
                "add {a0}, rax"
                "adc {a1}, {t}"
                "mulx {t}, rax, {r1}"
                "add {h1}, rax"
                "adc {b1}, {t}"
            );
        } else {
            assembly!(
                "mov rax, {s1}"
                "mul {h1}"
                "mov {a0}, rax"
                "mov rax, {r0}"
                "mov {a1}, rdx"
                "mul {h1}"
                "mov {h1}, rax"
                "mov rax, {r0}"
                "mov {b1}, rdx"
                "mul {h0}"
                "add {a0}, rax"
                "mov rax, {r1}"
                "adc {a1}, rdx"
                "mul {h0}"
                "add {h1}, rax"
                "adc {b1}, rdx"
            );
        }
    }
    Element::from_limbs([h0, h1, h2])
}

/// # Safety
/// With `MULX`, the CPU must have BMI2.
#[inline(always)]
unsafe fn halves<const MULX: bool>(
    r: &Multiplier,
    join: Element,
    value: Element,
    blocks: &[[u8; BLOCK_BYTES]],
) -> Element {
    debug_assert!(!blocks.is_empty() && blocks.len().is_multiple_of(4));
    let mut frame = Frame {
        r: r.words(),
        left: MaybeUninit::uninit(),
        steps: blocks.len() / 4,
        unused: MaybeUninit::uninit(),
        join: join.limbs(),
        value: value.limbs(),
        from: blocks.as_ptr().cast(),
    };
    // Kernels take the address that is the middle of ChaCha20's frame.
    let middle = (&raw mut frame).wrapping_byte_sub(64);
    // SAFETY: there are as many blocks as the frame's steps say; with `MULX` the caller has BMI2.
    unsafe {
        if MULX {
            halves_by_mulx(middle);
        } else {
            halves_by_mul(middle);
        }
    }
    // SAFETY: `value` was initialised from the start, and the kernel has written it again.
    let value = unsafe { Element::read(&raw const frame.value) };
    wipe(&mut frame.r);
    wipe(&mut frame.join);
    wipe(&mut frame.value);
    value
}

/// What the kernels read and write: the Poly1305 part of ChaCha20's frame (`xtask/src/kernels/chacha20.rs`).
#[repr(C)]
struct Frame {
    r: [u64; 3],
    left: MaybeUninit<u64>,
    /// The number of steps, each of two blocks in either half.
    steps: usize,
    unused: MaybeUninit<[u64; 3]>,
    join: [u64; 3],
    value: [u64; 3],
    from: *const u8,
}

const _: () = {
    use core::mem::offset_of;
    assert!(offset_of!(Frame, steps) == 96 - 64 && offset_of!(Frame, join) == 128 - 64);
    assert!(offset_of!(Frame, value) == 152 - 64 && offset_of!(Frame, from) == 176 - 64);
};

/// # Safety
/// The CPU must have BMI2, and the contents of the frame must be valid.
#[unsafe(naked)]
unsafe extern "sysv64" fn halves_by_mulx(middle: *mut Frame) {
    naked_asm!(include_str!("chacha20_avx2/mac.s"), options(raw))
}

/// # Safety
/// The contents of the frame must be valid.
#[unsafe(naked)]
unsafe extern "sysv64" fn halves_by_mul(middle: *mut Frame) {
    naked_asm!(include_str!("chacha20_ssse3/mac.s"), options(raw))
}
