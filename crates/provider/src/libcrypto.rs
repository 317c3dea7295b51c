//! The libcrypto that has loaded the provider, and its symbols. Nothing is opened for this.
//!
//! Objects are identified by their addresses. dladdr(3) would work too, but it searches all symbols of an object: 11 us
//! each time in libcrypto.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, OsStr, c_int, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

/// The object that has loaded the provider: a process may have more than one libcrypto.
pub(crate) struct Libcrypto {
    /// Empty for the main program.
    name: CString,
    place: Place,
}

/// The address range of an object, from its first segment to the end of its last.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    start: usize,
    end: usize,
}

impl Libcrypto {
    /// Returns the libcrypto that contains the function `of_core`.
    pub(crate) fn of(of_core: *const c_void) -> Option<Self> {
        let mut search = Search {
            address: of_core as usize,
            found: None,
        };
        let place = std::ptr::from_mut(&mut search).cast();
        // SAFETY: `is_object_of` is called for each object during this call, with that place.
        unsafe { libc::dl_iterate_phdr(Some(is_object_of), place) };
        search.found
    }

    /// Returns the library's file; `None` if it is part of the main program.
    pub(crate) fn file(&self) -> Option<PathBuf> {
        let name = OsStr::from_bytes(self.name.to_bytes());
        (!name.is_empty())
            .then(|| std::path::absolute(name))
            .and_then(Result::ok)
    }

    /// Returns the address of a symbol; `None` if the library is linked into a program that exports none.
    pub(crate) fn symbol(&self, symbol: &CStr) -> Option<*mut c_void> {
        // SAFETY: `symbol` ends with a zero.
        let global = unsafe { libc::dlsym(libc::RTLD_DEFAULT, symbol.as_ptr()) };
        Some(global).filter(|it| self.has(*it)).or_else(|| {
            // Everything in the main program was found above.
            self.name.to_bytes().starts_with(b"/").then_some(())?;
            let (name, flags) = (self.name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            // SAFETY: the object is loaded under this name, so nothing is opened and none of its code runs.
            let handle = unsafe { libc::dlopen(name, flags) };
            (!handle.is_null()).then_some(())?;
            // SAFETY: the handle is valid until it is closed, once; the object stays, since its core has called us.
            let local = unsafe {
                let local = libc::dlsym(handle, symbol.as_ptr());
                libc::dlclose(handle);
                local
            };
            Some(local).filter(|it| self.has(*it))
        })
    }

    fn has(&self, address: *mut c_void) -> bool {
        self.place.has(address as usize)
    }
}

impl Place {
    fn has(self, address: usize) -> bool {
        (self.start..self.end).contains(&address)
    }
}

struct Search {
    address: usize,
    found: Option<Libcrypto>,
}

/// # Safety
/// dl_iterate_phdr(3) calls, with an object and the argument from `Libcrypto::of`: the place of a search.
unsafe extern "C" fn is_object_of(
    info: *mut libc::dl_phdr_info,
    _: usize,
    search: *mut c_void,
) -> c_int {
    // SAFETY: dl_iterate_phdr(3) passes an object with that many headers and a name that ends with a zero, and
    // `Libcrypto::of` the place of its search.
    let (info, headers, search) = unsafe {
        let info = &*info;
        if info.dlpi_phdr.is_null() || info.dlpi_name.is_null() {
            return 0;
        }
        let headers = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
        (info, headers, &mut *search.cast::<Search>())
    };
    let loaded = headers.iter().filter(|it| it.p_type == libc::PT_LOAD);
    let segments = loaded.map(|it| {
        let start = info.dlpi_addr.wrapping_add(it.p_vaddr) as usize;
        (start, start + it.p_memsz as usize)
    });
    let place = segments.fold(None, |place: Option<Place>, (start, end)| {
        Some(match place {
            None => Place { start, end },
            Some(place) => Place {
                start: place.start.min(start),
                end: place.end.max(end),
            },
        })
    });
    let Some(place) = place.filter(|place| place.has(search.address)) else {
        return 0;
    };
    // SAFETY: the name is not null, as checked above, and ends with a zero.
    let name = unsafe { CStr::from_ptr(info.dlpi_name) }.to_owned();
    search.found = Some(Libcrypto { name, place });
    1
}
