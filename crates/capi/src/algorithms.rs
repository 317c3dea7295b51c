//! The available algorithms, by name.

use std::ffi::{CString, c_char, c_int};
use std::ptr;
use std::sync::OnceLock;

use oarlock::{Algorithm, Kind};

use crate::buffers::{place, text};
use crate::failure::{Failure, call};

/// `struct oarlock_algorithm`.
#[repr(C)]
pub struct Description {
    kind: c_int,
    key_bytes: usize,
    iv_bytes: usize,
    tag_bytes: usize,
    block_bytes: usize,
}

const STREAM: c_int = 1;
const CBC: c_int = 2;
const AEAD: c_int = 3;

/// See `oarlock.h`.
#[unsafe(no_mangle)]
pub extern "C" fn oarlock_algorithm_name(index: usize) -> *const c_char {
    static NAMES: OnceLock<Vec<CString>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let names = offered().map(|one| CString::new(one.name()).unwrap_or_default());
        names.collect()
    });
    names.get(index).map_or(ptr::null(), |name| name.as_ptr())
}

fn offered() -> impl Iterator<Item = Algorithm> {
    let all = Algorithm::ALL.iter().copied();
    // Without those that a caller of the Rust library implements.
    all.filter(|one| one.key_bytes() > 0)
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `description`, or it is NULL; `name` is NULL or ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_algorithm_describe(
    description: *mut Description,
    name: *const c_char,
) -> c_int {
    call(|| {
        // SAFETY: the caller says that it owns `description`, or it is NULL; and `name` is NULL or ends with a NUL.
        let (description, name) = unsafe {
            (
                place(description, "the description")?,
                text(name, "the name")?,
            )
        };
        let algorithm = named(name)?;
        let (kind, iv_bytes, tag_bytes, block_bytes) = match algorithm.kind() {
            Kind::Cbc => (CBC, 16, 0, 16),
            Kind::Aead => (AEAD, 12, 16, 1),
            Kind::Stream { iv_bytes, .. } => (STREAM, iv_bytes, 0, 1),
            _ => {
                return Err(Failure::argument(format!(
                    "{name} is of a kind that has no name here"
                )));
            }
        };
        *description = Description {
            kind,
            key_bytes: algorithm.key_bytes(),
            iv_bytes,
            tag_bytes,
            block_bytes,
        };
        Ok(())
    })
}

pub(crate) fn named(name: &str) -> Result<Algorithm, Failure> {
    Algorithm::named(name).ok_or_else(|| {
        let names: Vec<_> = offered().map(Algorithm::name).collect();
        Failure::argument(format!(
            "there is no algorithm {name:?}: the names are {}",
            names.join(", ")
        ))
    })
}
