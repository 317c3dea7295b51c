//! The buffer that all subjects work on.
#![allow(unsafe_code)]

/// A zeroed buffer at a page boundary. A long one starts at a huge page and requests huge pages, so that no subject
/// pays for page faults and all see the same memory.
pub(crate) struct Buffer {
    space: Vec<u8>,
    start: usize,
    bytes: usize,
}

impl Buffer {
    pub(crate) fn new(bytes: usize) -> Self {
        let align = if bytes >= HUGE_PAGE { HUGE_PAGE } else { PAGE };
        let mut space = vec![0; bytes + align];
        let start = space.as_ptr().align_offset(align);
        if align == HUGE_PAGE {
            let from = space[start..].as_mut_ptr();
            let whole = bytes / HUGE_PAGE * HUGE_PAGE;
            // SAFETY: the range begins at a page and lies in `space`; the advice changes only the pages that back it. A
            // kernel that does not know the advice refuses it, which does no harm.
            let _ = unsafe {
                rustix::mm::madvise(from.cast(), whole, rustix::mm::Advice::LinuxHugepage)
            };
        }
        // Touch every page now, outside the timed part.
        space.fill(0x5a);
        Self {
            space,
            start,
            bytes,
        }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.space[self.start..][..self.bytes]
    }
}

const PAGE: usize = 4096;
const HUGE_PAGE: usize = 2 << 20;
