//! A second stack for code that needs more than a job of OpenSSL has.
//!
//! A job (ASYNC_start_job(3)) has 32 KiB without a guard page, and libssl's own frames are part of it. aws-lc needs up
//! to 105 KiB for ML-DSA-87 and 25 KiB for ML-KEM-1024; OpenSSL's own implementations take that from the heap. So a job
//! computes these on a second stack, by the functions that OpenSSL builds jobs with (makecontext(3)). It does not pause
//! there.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::mem::{MaybeUninit, transmute};
use std::ptr::{self, from_mut, null_mut};

use oarlock_threads::caught::caught;

/// Runs `run` on a stack of its own. Returns `None` if there is no memory for one, or if `run` panicked.
pub(super) fn run<T>(run: impl FnOnce() -> T) -> Option<T> {
    let stack = Stack::new()?;
    let mut call = Call {
        run: Some(run),
        done: None,
    };
    begin_on(&stack, &mut call)?;
    call.done
}

/// A closure and its result.
struct Call<F, T> {
    run: Option<F>,
    done: Option<T>,
}

/// Runs `call` on `stack`; `None` if it could not start.
fn begin_on<F: FnOnce() -> T, T>(stack: &Stack, call: &mut Call<F, T>) -> Option<()> {
    let address = from_mut(call).expose_provenance();
    let (high, low) = ((address >> 32) as u32, address as u32);
    let mut here = MaybeUninit::<libc::ucontext_t>::uninit();
    let mut there = MaybeUninit::<libc::ucontext_t>::uninit();
    // SAFETY: getcontext fills `there` before its parts are set and `makecontext` is called, and swapcontext fills
    // `here`, where the end of `enter` returns to. The function takes two numbers of 32 bits. The stack and `call` live
    // until swapcontext returns, since nothing leaves the other stack before its function ends.
    unsafe {
        if libc::getcontext(there.as_mut_ptr()) != 0 {
            return None;
        }
        let context = there.assume_init_mut();
        context.uc_stack.ss_sp = stack.memory;
        context.uc_stack.ss_size = STACK_BYTES;
        context.uc_link = here.as_mut_ptr();
        let enter = transmute::<extern "C" fn(u32, u32), extern "C" fn()>(enter::<F, T>);
        libc::makecontext(context, enter, 2, high as c_int, low as c_int);
        (libc::swapcontext(here.as_mut_ptr(), context) == 0).then_some(())
    }
}

extern "C" fn enter<F: FnOnce() -> T, T>(high: u32, low: u32) {
    let address = (high as usize) << 32 | low as usize;
    // SAFETY: `begin_on` passed the address of its call, which nothing else uses until this function has ended.
    let call = unsafe { &mut *ptr::with_exposed_provenance_mut::<Call<F, T>>(address) };
    let Some(run) = call.run.take() else { return };
    call.done = caught(run);
}

/// A stack above a guard page.
struct Stack {
    mapping: *mut c_void,
    /// The lowest address of the stack.
    memory: *mut c_void,
}

impl Stack {
    fn new() -> Option<Self> {
        // SAFETY: a new mapping overlaps no other, and its first page is within it.
        unsafe {
            let mapping = libc::mmap(
                null_mut(),
                GUARD_BYTES + STACK_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            if mapping == libc::MAP_FAILED {
                return None;
            }
            let stack = Self {
                mapping,
                memory: mapping.byte_add(GUARD_BYTES),
            };
            (libc::mprotect(mapping, GUARD_BYTES, libc::PROT_NONE) == 0).then_some(stack)
        }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: the mapping from `new`, which nothing runs on now. Its pages, and what was computed on them, return
        // to the kernel.
        unsafe { libc::munmap(self.mapping, GUARD_BYTES + STACK_BYTES) };
    }
}

/// Twice what ML-DSA-87 takes, including unoptimized frames of this library.
const STACK_BYTES: usize = 256 << 10;
const GUARD_BYTES: usize = 4 << 10;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Uses most of the stack, in frames of 4 KiB.
    fn sum(depth: usize) -> usize {
        let frame = std::hint::black_box([depth as u8; 4096]);
        match depth {
            0 => frame.len(),
            _ => frame.len() + sum(depth - 1),
        }
    }

    #[test]
    fn it_is_deep_and_brings_back_results_and_panics() {
        let numbers: Vec<usize> = (0..3).collect();
        assert_eq!(run(|| numbers.iter().sum::<usize>()), Some(3));
        assert_eq!(run(|| sum(27)), Some(28 * 4096));
        assert_eq!(run(|| run(|| sum(3)).unwrap() + 1), Some(4 * 4096 + 1));
        assert_eq!(run(|| -> u8 { std::panic::panic_any("on purpose") }), None);
        let threads: Vec<_> = (0..4)
            .map(|number| std::thread::spawn(move || run(|| sum(number))))
            .collect();
        for (number, thread) in threads.into_iter().enumerate() {
            assert_eq!(thread.join().unwrap(), Some((number + 1) * 4096));
        }
    }
}
