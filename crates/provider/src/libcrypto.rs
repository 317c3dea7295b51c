//! The libcrypto that has loaded the provider, and what it has under a name. Nothing is opened for it.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};

/// The very object that has loaded the provider: a process may have more than one libcrypto.
pub(crate) struct Libcrypto(libc::Dl_info);

impl Libcrypto {
    /// That of one of its functions.
    pub(crate) fn of(of_core: *const c_void) -> Option<Self> {
        object_of(of_core).map(Self)
    }

    /// What it has under a name; `None` if it was linked into a program that shows no names.
    pub(crate) fn symbol(&self, symbol: &CStr) -> Option<*mut c_void> {
        let core = &self.0;
        let is_it = |symbol: &*mut c_void| {
            object_of(*symbol).is_some_and(|found| found.dli_fbase == core.dli_fbase)
        };
        // SAFETY: a name that ends with a zero.
        let global = unsafe { libc::dlsym(libc::RTLD_DEFAULT, symbol.as_ptr()) };
        Some(global).filter(is_it).or_else(|| {
            // SAFETY: dladdr gives a name that ends with a zero and lives as long as the object.
            let name = unsafe { CStr::from_ptr(core.dli_fname) };
            // The main program goes by the name that it was called by, and everything of it was found above.
            name.to_bytes().starts_with(b"/").then_some(())?;
            // SAFETY: the object is loaded and has this name, so that nothing is opened, and no code of it is run.
            let handle =
                unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
            (!handle.is_null()).then_some(())?;
            // SAFETY: the handle is good until it is given back, once; the object stays, as its core has called us.
            let local = unsafe {
                let local = libc::dlsym(handle, symbol.as_ptr());
                libc::dlclose(handle);
                local
            };
            Some(local).filter(is_it)
        })
    }
}

/// The object that an address is in.
fn object_of(address: *const c_void) -> Option<libc::Dl_info> {
    // SAFETY: zeros are a value of the structure; dladdr(3) takes any address and fills it if it returns other than 0.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        let is_known = libc::dladdr(address, &mut info) != 0 && !info.dli_fname.is_null();
        is_known.then_some(info)
    }
}
