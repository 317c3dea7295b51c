//! Libraries and programs built by `cargo xtask peers`.
#![allow(unsafe_code)]

use std::env;
use std::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};

use libloading::Library;
use oarlock_measure::Error;

pub(crate) fn load(file: &str) -> Result<Library, Error> {
    let path = find(file)
        .ok_or_else(|| Error::Unavailable("not fetched yet: run `cargo xtask peers`".to_owned()))?;
    // SAFETY: `cargo xtask peers` built the file, whose initialisers may run in any process.
    unsafe { Library::new(&path) }
        .map_err(|error| Error::Failed(format!("{}: {error}", path.display())))
}

/// Returns a function of a library that [`load`] has loaded.
///
/// # Safety
/// `T` is the type of the function with that name, and the function is not called after the library is unloaded.
pub(crate) unsafe fn symbol<T: Copy>(library: &Library, name: &str) -> Result<T, Error> {
    // SAFETY: the caller guarantees the function's type, and keeps the library.
    let symbol = unsafe { library.get::<T>(name) };
    symbol.map(|symbol| *symbol).map_err(|_| {
        Error::Unavailable(
            "fetched for an earlier version: run `cargo xtask peers` again".to_owned(),
        )
    })
}

/// Returns the string of a function that returns a static one.
///
/// # Safety
/// The function has no parameters, its string ends with a zero byte, and its library is loaded.
pub(crate) unsafe fn said_by(function: unsafe extern "C" fn() -> *const c_char) -> String {
    // SAFETY: the caller guarantees that the function has no parameters, and that its string ends with a zero byte.
    let text = unsafe { CStr::from_ptr(function()) };
    text.to_string_lossy().into_owned()
}

/// Searches the target directory: the one that holds this program, the one set for cargo, then the default one.
pub(crate) fn find(file: &str) -> Option<PathBuf> {
    let program = env::current_exe().unwrap_or_default();
    let told = env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    program
        .ancestors()
        .skip(1)
        .take(3)
        .chain(told.as_deref())
        .chain([Path::new("target")])
        .map(|target| target.join("peers").join(file))
        .find(|file| file.is_file())
}
