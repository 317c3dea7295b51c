//! Kernels that compute with doubles need a certain rounding mode, whatever the caller's is.

use core::arch::asm;

use num_bigint::BigUint;
use oarlock_kernels::cpu::Cpu;
use oarlock_kernels::modexp::{Backend, Lane, Line, Modulus, Width, exponentiate};

/// Each bit of the control word that a caller may have changed: rounding down, up and towards zero, flushing of results, and
/// of operands.
const CONTROLS: [u32; 6] = [0x1f80, 0x3f80, 0x5f80, 0x7f80, 0x9f80, 0x1fc0];
/// All exceptions masked, rounding to nearest.
const DEFAULT: u32 = 0x1f80;
/// The bits that computing sets, not the caller.
const FLAGS: u32 = 0x3f;

struct Task {
    backend: Backend,
    modulus: Modulus,
    result: [u8; 128],
}

extern "sysv64" fn compute(task: &mut Task) {
    let mut workspace = vec![Line::ZERO; Width::Bits1024.workspace_lines()];
    let lane = Lane {
        modulus: &task.modulus,
        base: &[0xb7; 128],
        exponent: &[0xd3; 16],
        result: &mut task.result,
    };
    exponentiate(task.backend, &mut [lane], &mut workspace).unwrap();
}

#[test]
fn results_do_not_depend_on_the_rounding_mode_of_the_caller() {
    let number = BigUint::from_bytes_be;
    let mut modulus = [0xe5; 128];
    modulus[0] = 0xff;
    let expected = number(&[0xb7; 128]).modpow(&number(&[0xd3; 16]), &number(&modulus));
    for backend in Backend::all(Cpu::detect()) {
        for control in CONTROLS {
            let mut task = Task {
                backend,
                modulus: Modulus::unset(Width::Bits1024),
                result: [0; 128],
            };
            task.modulus.set(&modulus).unwrap();
            let mut words = [control, 0, DEFAULT];
            // SAFETY: the function has the calling convention that the clobbers assume, its argument outlives the call, and
            // the stack is aligned as the convention requires: `rsp` is restored from a register that a call preserves. The
            // control word is restored afterwards.
            unsafe {
                asm!(
                    "mov r12, rsp",
                    "and rsp, -16",
                    "ldmxcsr [r13]",
                    "call {compute}",
                    "stmxcsr [r13 + 4]",
                    "ldmxcsr [r13 + 8]",
                    "mov rsp, r12",
                    in("r13") words.as_mut_ptr(),
                    compute = sym compute,
                    in("rdi") &raw mut task,
                    out("r12") _,
                    clobber_abi("sysv64"),
                );
            }
            let name = backend.name();
            assert_eq!(
                words[1] & !FLAGS,
                control,
                "{name}: the caller's is restored"
            );
            assert_eq!(number(&task.result), expected, "{name}, {control:#x}");
        }
    }
}
