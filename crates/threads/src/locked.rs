//! Memory for long-lived secrets: never swapped out, left out of core dumps, wiped on drop.
#![allow(unsafe_code)]

use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};

use crate::process;

/// A value in its own pages, which are locked (mlock(2)) as far as the process may lock pages, and left out of core dumps
/// (MADV_DONTDUMP). They are not locked in a sandbox, where the attempt may end the process (OpenSSH's allows only madvise).
/// A forked child has a copy that is not locked.
///
/// Values wipe themselves on drop.
pub struct Locked<T>(NonNull<T>);

// SAFETY: it owns the value, as a Box does.
unsafe impl<T: Send> Send for Locked<T> {}
// SAFETY: it only hands out shared references to the value, as a Box does.
unsafe impl<T: Sync> Sync for Locked<T> {}

impl<T> Locked<T> {
    /// Moves `empty`, which holds no secret yet, to its final place and fills it there.
    pub fn filled(empty: T, fill: impl FnOnce(&mut T)) -> Self {
        const { assert!(align_of::<T>() <= 4096 && size_of::<T>() > 0) };
        // SAFETY: a new private mapping of at least one byte, at an address that the kernel chooses.
        let place = unsafe {
            libc::mmap(
                ptr::null_mut(),
                size_of::<T>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if place == libc::MAP_FAILED {
            std::alloc::handle_alloc_error(std::alloc::Layout::new::<T>());
        }
        // SAFETY: the pages were mapped just now. If either call is refused, for example by RLIMIT_MEMLOCK, the memory works
        // all the same.
        unsafe {
            if !process::is_sandboxed_by_now() {
                libc::mlock(place, size_of::<T>());
            }
            libc::madvise(place, size_of::<T>(), libc::MADV_DONTDUMP);
        }
        let place = place.cast::<T>();
        // SAFETY: the mapping is long enough, and pages are aligned for T: asserted above.
        unsafe { place.write(empty) };
        // SAFETY: a successful mmap returns no null pointer, as nothing asks for address 0.
        let mut locked = Self(unsafe { NonNull::new_unchecked(place) });
        fill(&mut locked);
        locked
    }
}

impl<T> Deref for Locked<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: `filled` put a value there, which lives as long as self.
        unsafe { self.0.as_ref() }
    }
}

impl<T> DerefMut for Locked<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: `filled` put a value there, which lives as long as self; self is mutably borrowed for the same time.
        unsafe { self.0.as_mut() }
    }
}

impl<T> Drop for Locked<T> {
    fn drop(&mut self) {
        // SAFETY: the value is initialised and nobody uses it again; then the mapping, which only `filled` knew of, is
        // removed, and its lock with it.
        unsafe {
            self.0.drop_in_place();
            libc::munmap(self.0.as_ptr().cast(), size_of::<T>());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_are_locked_and_not_dumped() {
        let locked = Locked::filled([0u8; 5000], |bytes| bytes.fill(7));
        assert_eq!(locked[..], [7; 5000]);
        let place = &raw const *locked as usize;
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut flags = maps.lines().skip_while(|line| {
            let range = line.split(' ').next().unwrap_or_default().split_once('-');
            let number = |text| usize::from_str_radix(text, 16).ok();
            !range.is_some_and(|(begin, end)| {
                number(begin).is_some_and(|begin| begin <= place)
                    && number(end).is_some_and(|end| place < end)
            })
        });
        let flags = flags.find(|line| line.starts_with("VmFlags:")).unwrap();
        assert!(flags.contains(" dd"), "{flags}");
        let mut limit = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        // SAFETY: the limit is filled by the call.
        let known = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &mut limit) };
        assert_eq!(known, 0);
        if limit.rlim_cur > 1 << 20 {
            assert!(flags.contains(" lo"), "{flags}");
        }
    }
}
