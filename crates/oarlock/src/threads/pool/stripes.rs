//! A buffer cut for several threads.

use std::marker::PhantomData;

use inout::InOutBuf;

/// A buffer cut into stripes that several threads take by number.
pub(crate) struct Stripes<'a> {
    from: *const u8,
    to: *mut u8,
    bytes: usize,
    stripe_bytes: usize,
    _data: PhantomData<(&'a [u8], &'a mut [u8])>,
}

// SAFETY: the pointers are those of a borrowed buffer of bytes, which may be read and written from
// any thread; `stripe`, the only access through a shared reference, makes its callers keep the
// stripes apart.
unsafe impl Sync for Stripes<'_> {}

impl<'a> Stripes<'a> {
    /// `stripe_bytes` is a multiple of 64.
    pub(crate) fn cut(data: InOutBuf<'a, 'a, u8>, stripe_bytes: usize) -> Self {
        let bytes = data.len();
        let (from, to) = data.into_raw();
        Self {
            from,
            to,
            bytes,
            stripe_bytes: Self::stripe_bytes_within(bytes, stripe_bytes),
            _data: PhantomData,
        }
    }

    /// How long stripes of a buffer of `bytes` become that are to be `stripe_bytes` long: longer
    /// where there would be more than tickets count. These are 32 bits wide: 2^32 stripes of 16 KiB
    /// are 64 TiB.
    pub(crate) fn stripe_bytes_within(bytes: usize, stripe_bytes: usize) -> usize {
        stripe_bytes.max(bytes.div_ceil(u32::MAX as usize).next_multiple_of(64))
    }

    pub(crate) fn count(&self) -> u32 {
        self.bytes.div_ceil(self.stripe_bytes) as u32
    }

    /// Of every stripe but the last, which may be shorter.
    pub(crate) fn stripe_bytes(&self) -> usize {
        self.stripe_bytes
    }

    /// # Safety
    /// Each `number`, below [`count`](Self::count), is asked for once.
    pub(crate) unsafe fn stripe(&self, number: u32) -> InOutBuf<'a, 'a, u8> {
        let start = number as usize * self.stripe_bytes;
        let bytes = self.stripe_bytes.min(self.bytes - start);
        // SAFETY: `number` is below `count`, as the caller vouches, so `start` is within the buffer
        // that was cut and `bytes` does not pass its end, in and out alike: both are initialized,
        // valid for 'a and no longer than isize::MAX, as that buffer was. In and out are equal or
        // apart, because the whole buffers were and the offset is the same. Nobody else touches
        // this part: each number is asked for once, stripes do not overlap, and `cut` took the
        // buffer by value.
        unsafe { InOutBuf::from_raw(self.from.add(start), self.to.add(start), bytes) }
    }
}
