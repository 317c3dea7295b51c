//! Wipes many bytes at once: `zeroize` writes an array item by item, which takes longer than filling a buffer with
//! keystream, and as long as expanding a key.

use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::{Ordering, compiler_fence};

/// A buffer of `N` bytes, of which the first `used` are wiped on drop. Aligned, so that no stored register crosses two cache
/// lines: a load of it would wait for both.
#[repr(align(64))]
pub(crate) struct Secret<const N: usize> {
    bytes: MaybeUninit<[u8; N]>,
    used: usize,
}

impl<const N: usize> Secret<N> {
    /// Creates an empty buffer.
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self {
            bytes: MaybeUninit::uninit(),
            used: 0,
        }
    }

    /// Returns the address to write `used` bytes to, a multiple of 64 and at most `N`.
    ///
    /// # Safety
    /// The caller writes them all before the value is used in any other way.
    #[inline(always)]
    pub(crate) unsafe fn write(&mut self, used: usize) -> *mut u8 {
        assert!(used <= N && used.is_multiple_of(64));
        self.used = used;
        self.bytes.as_mut_ptr().cast()
    }

    /// Creates a buffer with `used` zeros, a multiple of 64 and at most `N`.
    #[inline(always)]
    pub(crate) fn zeros(used: usize) -> Self {
        let mut secret = Self::new();
        secret.fill(used);
        secret
    }

    /// Sets the contents to `used` zeros, a multiple of 64 and at most `N`.
    #[inline(always)]
    pub(crate) fn fill(&mut self, used: usize) -> &mut [u8] {
        // SAFETY: the buffer has room for `used` bytes, as `write` asserts, and all are written.
        unsafe { ptr::write_bytes(self.write(used), 0, used) };
        self.bytes()
    }

    /// Returns the bytes in use.
    #[inline(always)]
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the caller of `write`, or `fill`, has initialized `used` bytes.
        unsafe { core::slice::from_raw_parts_mut(self.bytes.as_mut_ptr().cast(), self.used) }
    }
}

impl<const N: usize> Drop for Secret<N> {
    #[inline(always)]
    fn drop(&mut self) {
        let start = self.bytes.as_mut_ptr().cast::<[u64; 8]>();
        for i in 0..self.used / 64 {
            // SAFETY: `used` is at most `N`, and a multiple of 64; the write needs no alignment.
            unsafe { ptr::write_unaligned(start.add(i), [0; 8]) };
        }
        // The zeros are never read; hide that from the compiler.
        core::hint::black_box(start);
        compiler_fence(Ordering::SeqCst);
    }
}

/// Sets every item to zero, which must be `T::default()`.
#[inline(always)]
pub fn wipe<T: Copy + Default>(items: &mut [T]) {
    items.fill(T::default());
    // The zeros are never read; hide that from the compiler.
    core::hint::black_box(items.as_mut_ptr());
    compiler_fence(Ordering::SeqCst);
}

/// Wipes the stack that the preceding functions used: a circuit needs more registers than there are, so the compiler spills
/// up to 2 KiB there.
#[inline(never)]
pub fn wipe_stack() {
    let mut stack = MaybeUninit::<[u64; 256]>::uninit();
    // SAFETY: the write fills the array exactly, and zeros are a valid value of it.
    unsafe { ptr::write_bytes(stack.as_mut_ptr(), 0, 1) };
    // The zeros are never read; hide that from the compiler.
    core::hint::black_box(stack.as_mut_ptr());
}
