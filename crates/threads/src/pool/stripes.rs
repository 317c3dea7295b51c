//! A buffer divided among several threads.

use std::marker::PhantomData;

use inout::InOutBuf;

use super::tickets::{Role, Tickets};

/// A buffer divided into stripes, each of which one thread takes.
pub struct Stripes<'a> {
    from: *const u8,
    to: *mut u8,
    bytes: usize,
    stripe_bytes: usize,
    tickets: Tickets,
    _data: PhantomData<(&'a [u8], &'a mut [u8])>,
}

// SAFETY: the pointers are those of a borrowed buffer of bytes, which may be read and written from any thread; `take`, the
// only access to it, hands no part of it out twice.
unsafe impl Sync for Stripes<'_> {}

impl<'a> Stripes<'a> {
    /// Divides `data` into stripes of `stripe_bytes`, which is a multiple of 64.
    pub fn cut(data: InOutBuf<'a, 'a, u8>, stripe_bytes: usize) -> Self {
        let bytes = data.len();
        let (from, to) = data.into_raw();
        let stripe_bytes = Self::stripe_bytes_within(bytes, stripe_bytes);
        Self {
            from,
            to,
            bytes,
            stripe_bytes,
            tickets: Tickets::new(bytes.div_ceil(stripe_bytes) as u32),
            _data: PhantomData,
        }
    }

    /// Returns the stripe length for a buffer of `bytes`: `stripe_bytes`, or more if there would be more stripes than
    /// tickets can count. Tickets have 32 bits: 2^32 stripes of 16 KiB are 64 TiB.
    pub fn stripe_bytes_within(bytes: usize, stripe_bytes: usize) -> usize {
        stripe_bytes.max(bytes.div_ceil(u32::MAX as usize).next_multiple_of(64))
    }

    /// Returns the number of stripes.
    #[inline]
    pub fn count(&self) -> u32 {
        self.bytes.div_ceil(self.stripe_bytes) as u32
    }

    /// Returns the length of every stripe but the last, which may be shorter.
    #[inline]
    pub fn stripe_bytes(&self) -> usize {
        self.stripe_bytes
    }

    /// Takes the next stripe for a thread in this role, and its number; `None` if all have been taken.
    #[inline]
    pub fn take(&self, role: Role) -> Option<(u32, InOutBuf<'a, 'a, u8>)> {
        let number = self.tickets.take(role)?;
        let start = number as usize * self.stripe_bytes;
        let bytes = self.stripe_bytes.min(self.bytes - start);
        // SAFETY: the ticket is below `count`, for which `cut` created the tickets, so `start` is within the buffer that was
        // cut and `bytes` does not pass its end, in and out alike: both are initialized, valid for 'a and no longer than
        // isize::MAX, as that buffer was. In and out are equal or disjoint, because the whole buffers were and the offset is
        // the same. No other thread accesses this part: tickets hand each number out once, stripes do not overlap, and `cut`
        // took the buffer by value.
        let stripe = unsafe { InOutBuf::from_raw(self.from.add(start), self.to.add(start), bytes) };
        Some((number, stripe))
    }
}
