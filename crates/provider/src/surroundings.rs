//! Identifies the code that runs here: the libcrypto that has loaded the provider, and the provider itself. A
//! calibration is valid only for these two. Nothing is opened for this.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};

use oarlock::Accelerator;
use oarlock_engine::costs::openssl::MadeFor;

use crate::libcrypto::Libcrypto;

/// Returns what a calibration must have been made for. `of_core` is a function of the libcrypto that loads the
/// provider.
///
/// # Errors
/// Explains in words why this cannot be determined.
pub(crate) fn made_for(
    accelerator: &Accelerator,
    of_core: *const c_void,
) -> Result<MadeFor, &'static str> {
    let symbol = Libcrypto::of(of_core).and_then(|libcrypto| libcrypto.symbol(c"OpenSSL_version"));
    let symbol =
        symbol.ok_or("the program's OpenSSL is linked statically and does not show its version")?;
    // SAFETY: libcrypto's function of this name has had this type since OpenSSL 1.1.
    let version = unsafe { std::mem::transmute::<*mut c_void, OpensslVersion>(symbol) };
    // SAFETY: the function is in the core's library, which stays loaded while it calls the provider; every version
    // since 1.1 returns static text for these two numbers.
    let (libcrypto, built) = unsafe { (text(version(VERSION)), text(version(BUILT_ON))) };
    Ok(MadeFor {
        provider: provider(),
        libcrypto,
        built,
        cpu: MadeFor::cpu(accelerator.cpu()),
        ia32cap: ia32cap(),
    })
}

/// Returns Oarlock's version and this library's build ID, which the linker computes from its content.
pub(crate) fn provider() -> String {
    let mut id = String::new();
    for byte in build_id() {
        id.push_str(&format!("{byte:02x}"));
    }
    if id.is_empty() {
        id.push_str("without a build id");
    }
    format!("{} {id}", env!("CARGO_PKG_VERSION"))
}

type OpensslVersion = unsafe extern "C" fn(c_int) -> *const c_char;

/// # Safety
/// `text` is null or ends with a zero.
unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the text is not null, and ends with a zero, as the caller promises.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_string_lossy().into_owned()
}

/// Returns the variable as libcrypto reads it: empty if the program has more rights than its user.
fn ia32cap() -> String {
    // SAFETY: the name ends with a zero; the text is copied before anything else is called.
    unsafe { text(secure_getenv(c"OPENSSL_ia32cap".as_ptr())) }
}

unsafe extern "C" {
    /// secure_getenv(3), of glibc and musl.
    fn secure_getenv(name: *const c_char) -> *mut c_char;
}

/// Returns the build ID of the object that contains this function; empty if it was linked without one.
fn build_id() -> Vec<u8> {
    let mut id = Vec::new();
    // SAFETY: `of_object` is called for each object during this call, with a vector as its argument.
    unsafe { libc::dl_iterate_phdr(Some(of_object), std::ptr::from_mut(&mut id).cast()) };
    id
}

/// # Safety
/// dl_iterate_phdr(3) calls, with an object and the argument from `build_id`: a vector.
unsafe extern "C" fn of_object(info: *mut libc::dl_phdr_info, _: usize, id: *mut c_void) -> c_int {
    // SAFETY: dl_iterate_phdr(3) passes an object with that many headers, and `build_id` its vector.
    let (base, headers, id) = unsafe {
        let info = &*info;
        if info.dlpi_phdr.is_null() {
            return 0;
        }
        let headers = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
        (info.dlpi_addr, headers, &mut *id.cast::<Vec<u8>>())
    };
    let own = provider as *const () as u64;
    let is_own = headers.iter().any(|header| {
        let start = base.wrapping_add(header.p_vaddr);
        header.p_type == libc::PT_LOAD && own.wrapping_sub(start) < header.p_memsz
    });
    if !is_own {
        return 0;
    }
    for header in headers.iter().filter(|it| it.p_type == libc::PT_NOTE) {
        let start = base.wrapping_add(header.p_vaddr) as *const u8;
        // SAFETY: a segment of notes is loaded with the object, at this address and of this size.
        let notes = unsafe { std::slice::from_raw_parts(start, header.p_memsz as usize) };
        if let Some(found) = build_id_in(notes, (header.p_align as usize).max(4)) {
            *id = found.to_vec();
        }
    }
    1
}

/// Returns the build ID in ELF notes (elf(5), "Notes"). Each note has the lengths of its name and content, a type, the
/// name and the content, the last two padded to the alignment.
fn build_id_in(mut notes: &[u8], alignment: usize) -> Option<&[u8]> {
    const NT_GNU_BUILD_ID: usize = 3;
    loop {
        let word = |at: usize| -> Option<usize> {
            let bytes = notes.get(at..at + 4)?.try_into().ok()?;
            Some(u32::from_ne_bytes(bytes) as usize)
        };
        let (name_bytes, bytes, kind) = (word(0)?, word(4)?, word(8)?);
        let name = notes.get(12..)?.get(..name_bytes)?;
        let start = (12 + name_bytes).next_multiple_of(alignment);
        let content = notes.get(start..)?.get(..bytes)?;
        if kind == NT_GNU_BUILD_ID && name == b"GNU\0" {
            return Some(content);
        }
        notes = notes.get((start + bytes).next_multiple_of(alignment)..)?;
    }
}

/// Returns a C string for the core. Zeros in the text are removed.
pub(crate) fn c_text(text: String) -> CString {
    CString::new(text.replace('\0', "")).unwrap_or_default()
}

/// OPENSSL_VERSION and OPENSSL_BUILT_ON.
const VERSION: c_int = 0;
const BUILT_ON: c_int = 2;
