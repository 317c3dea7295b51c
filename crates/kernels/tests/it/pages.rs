//! Memory for tests: pages next to inaccessible ones, and places that are searched after their value is dropped. The tests
//! of `oarlock-legacy` include this file too.

use std::mem::MaybeUninit;

/// Drops the value in `place` and searches what it leaves behind for pairs of `secrets`.
pub(crate) fn assert_is_wiped<T>(place: &mut MaybeUninit<T>, secrets: &[u32]) {
    let bytes = size_of::<T>();
    let start = place.as_mut_ptr();
    let look = |start: *mut T| -> Vec<u8> {
        let start = start.cast::<u8>();
        (0..bytes)
            // SAFETY: the place is `bytes` long, and was zeroed before it was written.
            .map(|i| unsafe { start.add(i).read_volatile() })
            .collect()
    };
    let is_seen = |memory: &[u8], pair: &[u32]| {
        let pair: Vec<u8> = pair.iter().flat_map(|word| word.to_le_bytes()).collect();
        memory.windows(8).any(|window| window == pair)
    };
    let pairs = || secrets.chunks_exact(2).filter(|pair| *pair != [0, 0]);
    let before = look(start);
    assert!(
        pairs().all(|pair| is_seen(&before, pair)),
        "the test can see secrets"
    );
    // SAFETY: the caller has written a value; it is not used again.
    unsafe { place.assume_init_drop() };
    let after = look(start);
    assert!(
        !pairs().any(|pair| is_seen(&after, pair)),
        "a secret is left"
    );
}

/// Pages with an inaccessible page on either side.
pub(crate) struct Pages {
    mapping: *mut u8,
    count: usize,
}

const PAGE_BYTES: usize = 4096;

impl Pages {
    pub(crate) fn new(count: usize) -> Self {
        let bytes = (count + 2) * PAGE_BYTES;
        // SAFETY: this is a new private mapping; the pages made accessible lie within it.
        let mapping = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let mapping = libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_NONE, flags, -1, 0);
            assert_ne!(mapping, libc::MAP_FAILED);
            let inner = mapping.byte_add(PAGE_BYTES);
            let access = libc::PROT_READ | libc::PROT_WRITE;
            assert_eq!(libc::mprotect(inner, count * PAGE_BYTES, access), 0);
            mapping.cast()
        };
        Self { mapping, count }
    }

    pub(crate) fn start(&self) -> *mut u8 {
        self.mapping.wrapping_add(PAGE_BYTES)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.count * PAGE_BYTES
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: this is the mapping of `new`, to which no reference is left.
        unsafe { libc::munmap(self.mapping.cast(), (self.count + 2) * PAGE_BYTES) };
    }
}
