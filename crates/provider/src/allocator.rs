//! Where the memory of the program's OpenSSL comes from.
//!
//! A program may replace libcrypto's allocator (`CRYPTO_set_mem_functions`(3)). Kamailio and OpenSIPS put all of
//! OpenSSL into memory that their processes share: one process creates a context or a key, and another uses it. What
//! this provider allocates lies on the heap of one process (boxes, tables, sessions, locks); in the second process, the
//! same address holds something else. So the provider offers nothing to such a program.
//!
//! ```text
//! libcrypto frees by its own CRYPTO_free   the C library's heap              offered; costs two symbol lookups
//! the program brought its own functions    a mapping private to the process  offered (BIND, Erlang)
//! or this cannot be determined             a shared mapping                  nothing
//!                                          /proc/self/maps is not readable   nothing
//! ```
//!
//! OpenSSL accepts such functions only before its first allocation, so the answer at load time stays valid.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::fs;
use std::mem::transmute;
use std::ptr::{null, null_mut};

use crate::libcrypto::Libcrypto;

/// The core's memory functions.
#[derive(Clone, Copy)]
pub(crate) struct Allocator {
    pub(crate) malloc: Malloc,
    pub(crate) free: Free,
}

pub(crate) type Malloc = unsafe extern "C" fn(usize, *const c_char, c_int) -> *mut c_void;
pub(crate) type Free = unsafe extern "C" fn(*mut c_void, *const c_char, c_int);

/// Whether OpenSSL's allocations are private to this process. `of_core` is a function of the libcrypto that loads the
/// provider, and `allocator` holds its core's memory functions.
pub(crate) fn is_private(of_core: *const c_void, allocator: Option<Allocator>) -> bool {
    frees_by_itself(of_core) || allocator.is_some_and(gives_private_memory)
}

/// Whether libcrypto still frees by its own function: then everything it allocates belongs to free(3). A program that
/// only counts allocations does not replace this function (MariaDB).
fn frees_by_itself(of_core: *const c_void) -> bool {
    type GetMemFunctions =
        unsafe extern "C" fn(*mut *const c_void, *mut *const c_void, *mut *const c_void);
    let Some(libcrypto) = Libcrypto::of(of_core) else {
        return false;
    };
    let (Some(get), Some(own)) = (
        libcrypto.symbol(c"CRYPTO_get_mem_functions"),
        libcrypto.symbol(c"CRYPTO_free"),
    ) else {
        return false;
    };
    let mut free = null();
    // SAFETY: libcrypto's function of this name has had this type since 1.1; it accepts null for results that are not
    // wanted.
    unsafe {
        let get = transmute::<*mut c_void, GetMemFunctions>(get);
        get(null_mut(), null_mut(), &mut free);
    }
    std::ptr::eq(free, own)
}

/// Whether small and large allocations lie in private mappings.
fn gives_private_memory(allocator: Allocator) -> bool {
    [64, 16 << 10].into_iter().all(|bytes| {
        // SAFETY: the core's function takes any size and a source name, and the allocation is freed at once.
        let address = unsafe {
            let memory = (allocator.malloc)(bytes, c"".as_ptr(), 0);
            (allocator.free)(memory, c"".as_ptr(), 0);
            memory.addr()
        };
        // Read afterwards: the allocation may have created the mapping.
        fs::read("/proc/self/maps")
            .is_ok_and(|maps| is_in_private_mapping(address, &String::from_utf8_lossy(&maps)))
    })
}

/// Whether an address lies in a private mapping, by a file such as proc(5) describes.
fn is_in_private_mapping(address: usize, maps: &str) -> bool {
    maps.lines().any(|line| {
        let mut words = line.split_whitespace();
        let range = words.next().and_then(|range| range.split_once('-'));
        let range = range.map(|(start, end)| {
            let number = |text| usize::from_str_radix(text, 16);
            (number(start), number(end))
        });
        let has_address =
            matches!(range, Some((Ok(start), Ok(end))) if (start..end).contains(&address));
        has_address && words.next().is_some_and(|rights| rights.ends_with('p'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_told_apart() {
        let maps = "\
            559e8c6f0000-559e8c711000 rw-p 00000000 00:00 0                          [heap]\n\
            7f2a40000000-7f2a42000000 rw-s 00000000 00:01 1034                       /dev/zero (deleted)\n\
            7f2a43000000-7f2a43001000 r--p 00000000 fe:00 77     /a name with blanks rw-s\n\
            not a mapping\n";
        for (address, is_private) in [
            (0x559e_8c6f_0000, true),
            (0x559e_8c71_0fff, true),
            (0x559e_8c71_1000, false),
            (0x7f2a_4000_0000, false),
            (0x7f2a_41ff_ffff, false),
            (0x7f2a_4300_0010, true),
            (0, false),
        ] {
            assert_eq!(
                is_in_private_mapping(address, maps),
                is_private,
                "{address:x}"
            );
        }
        assert!(!is_in_private_mapping(0, ""));
        let own = Box::new(0_u8);
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        assert!(is_in_private_mapping(
            std::ptr::from_ref(&*own).addr(),
            &maps
        ));
    }
}
