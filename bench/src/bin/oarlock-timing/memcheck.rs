//! Secrets that valgrind's memcheck takes for undefined: it then finds each branch and each address that depends on one.
//!
//! The idea is that of ctgrind (Langley, 2010). What a clock tells is a matter of chance and of the processor; this is not,
//! but the processor that valgrind imitates has no AVX-512.
#![allow(unsafe_code)]

/// What a program asks of valgrind, by number (valgrind.h, memcheck.h).
#[derive(Clone, Copy)]
#[repr(u64)]
enum Ask {
    IsThere = 0x1001,
    CountErrors = 0x1201,
    Undefine = 0x4d43_0001,
}

/// Whether this program runs in valgrind.
pub fn is_there() -> bool {
    ask(Ask::IsThere, &mut []) != 0
}

/// What memcheck has found so far.
pub fn found() -> u64 {
    ask(Ask::CountErrors, &mut [])
}

/// From here on `secret` counts as undefined, and what is computed from it.
pub fn hide(secret: &mut [u8]) {
    ask(Ask::Undefine, secret);
}

#[cfg(target_arch = "x86_64")]
fn ask(what: Ask, about: &mut [u8]) -> u64 {
    let arguments = [
        what as u64,
        about.as_mut_ptr().addr() as u64,
        about.len() as u64,
        0,
        0,
        0,
    ];
    let mut answer = 0_u64;
    // SAFETY: outside of valgrind these rotations, by 128 in all, and the exchange of a register with itself do nothing.
    // In it they are a question, whose arguments are there; memcheck notes something about bytes and changes none.
    unsafe {
        std::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") arguments.as_ptr(),
            inout("rdx") answer,
            options(nostack),
        );
    }
    answer
}

#[cfg(not(target_arch = "x86_64"))]
fn ask(_what: Ask, _about: &mut [u8]) -> u64 {
    0
}
