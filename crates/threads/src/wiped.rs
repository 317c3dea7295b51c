//! Memory for the data of requests, wiped in bulk.

use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{Ordering, compiler_fence};

/// Bytes that are wiped on drop, like `Zeroizing`, but not one byte at a time: on a Zen 3 that takes longer than to encrypt
/// the request.
#[derive(Default)]
pub struct Wiped(Vec<u8>);

impl Wiped {
    /// Allocates `bytes` zeros.
    #[inline]
    pub fn zeros(bytes: usize) -> Self {
        Self(vec![0; bytes])
    }
}

impl From<Vec<u8>> for Wiped {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl Deref for Wiped {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for Wiped {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl Drop for Wiped {
    #[inline]
    fn drop(&mut self) {
        self.0.spare_capacity_mut().fill(MaybeUninit::new(0));
        self.0.fill(0);
        // The zeros are never read; hide that from the compiler.
        std::hint::black_box(self.0.as_mut_ptr());
        compiler_fence(Ordering::SeqCst);
    }
}

/// A value in its own heap memory, all of which is wiped after the value is dropped. Moving a value can copy parts of a key
/// from the stack into its padding, which no field's own wipe reaches.
pub struct WipedBox<T>(Vec<T>);

impl<T> WipedBox<T> {
    /// Moves `value` to the heap, where it is wiped on drop.
    pub fn new(value: T) -> Self {
        Self(vec![value])
    }
}

// The vector has its one element until it is dropped.
impl<T> Deref for WipedBox<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0[0]
    }
}

impl<T> DerefMut for WipedBox<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0[0]
    }
}

impl<T> Drop for WipedBox<T> {
    fn drop(&mut self) {
        self.0.clear();
        self.0.spare_capacity_mut().fill_with(MaybeUninit::zeroed);
        // As in `Wiped`.
        std::hint::black_box(self.0.as_mut_ptr());
        compiler_fence(Ordering::SeqCst);
    }
}
