//! Wiping, many bytes at once: `zeroize` writes an array item by item, which takes longer than filling
//! a buffer with keystream, and as long as expanding a key.

use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::{Ordering, compiler_fence};

/// Room for `N` bytes, of which the first `used` are wiped on drop. Aligned, so that no register that is
/// stored crosses two lines of the cache: what loads it again would wait for both.
#[repr(align(64))]
pub(crate) struct Secret<const N: usize> {
    bytes: MaybeUninit<[u8; N]>,
    used: usize,
}

impl<const N: usize> Secret<N> {
    /// Room, with nothing in it.
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self {
            bytes: MaybeUninit::uninit(),
            used: 0,
        }
    }

    /// Where to write `used` bytes, a multiple of 64 and at most `N`.
    ///
    /// # Safety
    /// The caller writes them all before anything else is done with the value.
    #[inline(always)]
    pub(crate) unsafe fn write(&mut self, used: usize) -> *mut u8 {
        assert!(used <= N && used.is_multiple_of(64));
        self.used = used;
        self.bytes.as_mut_ptr().cast()
    }

    /// `used` bytes of zeros. A multiple of 64, and at most `N`.
    #[inline(always)]
    pub(crate) fn zeros(used: usize) -> Self {
        let mut secret = Self::new();
        secret.fill(used);
        secret
    }

    /// Has `used` bytes of zeros: a multiple of 64, and at most `N`.
    #[inline(always)]
    pub(crate) fn fill(&mut self, used: usize) -> &mut [u8] {
        // SAFETY: there are as many to write.
        unsafe { ptr::write_bytes(self.write(used), 0, used) };
        self.bytes()
    }

    /// The bytes in use.
    #[inline(always)]
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: `zeros` has initialised as many.
        unsafe { core::slice::from_raw_parts_mut(self.bytes.as_mut_ptr().cast(), self.used) }
    }
}

impl<const N: usize> Drop for Secret<N> {
    #[inline(always)]
    fn drop(&mut self) {
        let start = self.bytes.as_mut_ptr().cast::<[u64; 8]>();
        for i in 0..self.used / 64 {
            // SAFETY: `used` is at most `N`, and a multiple of 64; alignment is not asked for.
            unsafe { ptr::write_unaligned(start.add(i), [0; 8]) };
        }
        // The zeros are never read: the compiler must not know.
        core::hint::black_box(start);
        compiler_fence(Ordering::SeqCst);
    }
}

/// Makes every item zero; `T::default()` must be that.
#[inline(always)]
pub fn wipe<T: Copy + Default>(items: &mut [T]) {
    items.fill(T::default());
    // The zeros are never read: the compiler must not know.
    core::hint::black_box(items.as_mut_ptr());
    compiler_fence(Ordering::SeqCst);
}

/// Wipes the stack that the functions before used: there are not registers enough for a circuit, so
/// what the compiler spilled, up to 2 KiB, lies there.
#[inline(never)]
pub fn wipe_stack() {
    let mut stack = MaybeUninit::<[u64; 256]>::uninit();
    // SAFETY: the array is as long, and zeros are a value of it.
    unsafe { ptr::write_bytes(stack.as_mut_ptr(), 0, 1) };
    // The zeros are never read: the compiler must not know.
    core::hint::black_box(stack.as_mut_ptr());
}
