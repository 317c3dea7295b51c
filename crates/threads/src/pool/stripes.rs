//! A buffer cut for several threads.

use std::marker::PhantomData;

use inout::InOutBuf;

use super::tickets::{Role, Tickets};

/// A buffer cut into stripes, each of which one thread takes.
pub struct Stripes<'a> {
    from: *const u8,
    to: *mut u8,
    bytes: usize,
    stripe_bytes: usize,
    tickets: Tickets,
    _data: PhantomData<(&'a [u8], &'a mut [u8])>,
}

// SAFETY: the pointers are those of a borrowed buffer of bytes, which may be read and written from
// any thread; `take`, the only access to it, gives no part of it out twice.
unsafe impl Sync for Stripes<'_> {}

impl<'a> Stripes<'a> {
    /// `stripe_bytes` is a multiple of 64.
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

    /// How long stripes of a buffer of `bytes` become that are to be `stripe_bytes` long: longer
    /// where there would be more than tickets count. These are 32 bits wide: 2^32 stripes of 16 KiB
    /// are 64 TiB.
    pub fn stripe_bytes_within(bytes: usize, stripe_bytes: usize) -> usize {
        stripe_bytes.max(bytes.div_ceil(u32::MAX as usize).next_multiple_of(64))
    }

    /// How many stripes there are.
    #[inline]
    pub fn count(&self) -> u32 {
        self.bytes.div_ceil(self.stripe_bytes) as u32
    }

    /// Returns the length of every stripe but the last, which may be shorter.
    #[inline]
    pub fn stripe_bytes(&self) -> usize {
        self.stripe_bytes
    }

    /// The next stripe for a thread in this part, and its number; `None` when all have been taken.
    #[inline]
    pub fn take(&self, role: Role) -> Option<(u32, InOutBuf<'a, 'a, u8>)> {
        let number = self.tickets.take(role)?;
        let start = number as usize * self.stripe_bytes;
        let bytes = self.stripe_bytes.min(self.bytes - start);
        // SAFETY: the ticket is below `count`, which `cut` made the tickets for, so `start` is within
        // the buffer that was cut and `bytes` does not pass its end, in and out alike: both are
        // initialized, valid for 'a and no longer than isize::MAX, as that buffer was. In and out
        // are equal or apart, because the whole buffers were and the offset is the same. Nobody else
        // touches this part: tickets hand each number out once, stripes do not overlap, and `cut`
        // took the buffer by value.
        let stripe = unsafe { InOutBuf::from_raw(self.from.add(start), self.to.add(start), bytes) };
        Some((number, stripe))
    }
}
