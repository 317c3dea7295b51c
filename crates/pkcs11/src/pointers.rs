//! Converts the pointers of programs.
//!
//! What can be noticed is refused: NULL, lengths that no buffer has, structures that are not aligned. A program that gives
//! a pointer to other memory than it says breaks the standard.
#![allow(unsafe_code)]

use std::mem;
use std::ptr;
use std::slice;

use cryptoki_sys::*;
use oarlock_threads::caught::caught;

use crate::mechanisms::{Mechanism, Parameter};
use crate::objects::{Attributes, Shown};
use crate::report::tell;

/// Runs the body of a function and returns its number. No panic escapes.
pub(crate) fn guarded(run: impl FnOnce() -> Result<(), CK_RV>) -> CK_RV {
    match caught(run) {
        Some(Ok(())) => CKR_OK,
        Some(Err(code)) => code,
        None => {
            let _ = caught(|| tell("a panic was stopped: this is a bug of Oarlock"));
            CKR_GENERAL_ERROR
        }
    }
}

/// Returns the bytes at `data` for reading.
///
/// # Safety
/// `data` has `bytes` bytes that no one changes during `'a`, or is NULL.
pub(crate) unsafe fn input<'a>(data: *const CK_BYTE, bytes: CK_ULONG) -> Result<&'a [u8], CK_RV> {
    let bytes = checked::<CK_BYTE>(data, bytes)?;
    if bytes == 0 {
        return Ok(&[]);
    }
    // SAFETY: `data` is not NULL and does not wrap around; the caller says that no one changes its bytes.
    Ok(unsafe { slice::from_raw_parts(data, bytes) })
}

/// Returns a copy of what the caller may share with other threads.
///
/// # Safety
/// There is a `T` at `from` that no one changes during the call, or it is NULL.
pub(crate) unsafe fn value<T: Copy>(from: *const T) -> Result<T, CK_RV> {
    checked::<T>(from, 1)?;
    // SAFETY: the pointer is aligned and not NULL, and the caller says that no one changes the `T`.
    Ok(unsafe { from.read() })
}

/// Returns the place of a result.
///
/// # Safety
/// The caller owns the `T` at `to` during `'a`, or it is NULL.
pub(crate) unsafe fn place<'a, T>(to: *mut T) -> Result<&'a mut T, CK_RV> {
    checked::<T>(to, 1)?;
    // SAFETY: the pointer is aligned and not NULL, and the caller says that it owns the `T`.
    Ok(unsafe { &mut *to })
}

/// Returns the number of items at `data`, if there can be so many.
fn checked<T>(data: *const T, count: CK_ULONG) -> Result<usize, CK_RV> {
    let count = usize::try_from(count).map_err(|_| CKR_ARGUMENTS_BAD)?;
    if count == 0 {
        return Ok(0);
    }
    let bytes = count.checked_mul(mem::size_of::<T>());
    let can_be = bytes.is_some_and(|bytes| {
        bytes <= isize::MAX as usize && data.addr().checked_add(bytes).is_some()
    });
    match can_be && !data.is_null() && data.is_aligned() {
        true => Ok(count),
        false => Err(CKR_ARGUMENTS_BAD),
    }
}

/// The program's buffer for a result: NULL to learn its length.
pub(crate) struct Room {
    out: *mut CK_BYTE,
    bytes: *mut CK_ULONG,
}

impl Room {
    /// # Safety
    /// Until the room is dropped, the caller owns `bytes` and the `*bytes` bytes at `out`; each may be NULL.
    pub(crate) unsafe fn new(out: *mut CK_BYTE, bytes: *mut CK_ULONG) -> Result<Self, CK_RV> {
        // SAFETY: NULL, or the length that the caller of `new` owns.
        let length = unsafe { place(bytes) }?;
        if !out.is_null() {
            checked::<CK_BYTE>(out, *length)?;
        }
        Ok(Self { out, bytes })
    }

    /// Whether the program only wants to learn the length.
    pub(crate) fn is_question(&self) -> bool {
        self.out.is_null()
    }

    /// Whether a result of `bytes` bytes has to be written, which has room. If not, says how long it is, and the result is
    /// an error if the program gave a buffer.
    pub(crate) fn holds(&self, bytes: usize) -> Result<bool, CK_RV> {
        // SAFETY: the caller of `new` owns the length, which was checked not to be NULL.
        let length = unsafe { &mut *self.bytes };
        if !self.is_question() && bytes as u64 <= *length {
            return Ok(true);
        }
        *length = bytes as CK_ULONG;
        match self.is_question() {
            true => Ok(false),
            false => Err(CKR_BUFFER_TOO_SMALL),
        }
    }

    /// Writes a result.
    pub(crate) fn fill(self, result: &[u8]) -> Result<(), CK_RV> {
        if self.holds(result.len())? {
            // SAFETY: the buffer has room for the result, as `holds` found, and the result is memory of this library.
            unsafe {
                ptr::copy_nonoverlapping(result.as_ptr(), self.out, result.len());
                *self.bytes = result.len() as CK_ULONG;
            }
        }
        Ok(())
    }
}

/// Writes a list to the program's array: NULL to learn how long it is.
///
/// # Safety
/// The caller owns `count` and the `*count` items at `to`; each may be NULL.
pub(crate) unsafe fn fill_list<T: Copy>(
    list: &[T],
    to: *mut T,
    count: *mut CK_ULONG,
) -> Result<(), CK_RV> {
    // SAFETY: the caller says that it owns `count`, or it is NULL.
    let count = unsafe { place(count) }?;
    let room = mem::replace(count, list.len() as CK_ULONG);
    if to.is_null() {
        return Ok(());
    }
    checked::<T>(to, room)?;
    if room < list.len() as CK_ULONG {
        return Err(CKR_BUFFER_TOO_SMALL);
    }
    // SAFETY: the array is aligned and has room for the list, which is memory of this library.
    unsafe { ptr::copy_nonoverlapping(list.as_ptr(), to, list.len()) };
    Ok(())
}

/// Returns what a program looks for.
///
/// # Safety
/// `template` has `count` attributes whose values no one changes during `'a`, or is NULL.
pub(crate) unsafe fn template<'a>(
    template: *const CK_ATTRIBUTE,
    count: CK_ULONG,
) -> Result<Vec<(CK_ATTRIBUTE_TYPE, &'a [u8])>, CK_RV> {
    let count = checked(template, count)?;
    if count > ATTRIBUTES_MAX {
        return Err(CKR_ARGUMENTS_BAD);
    }
    let attribute = |place: usize| {
        // SAFETY: the template has `count` attributes, as the caller says, and `place` is less.
        let one = unsafe { *template.add(place) };
        // SAFETY: the value of an attribute has the length that stands in it, as the caller says.
        Ok((one.type_, unsafe {
            input(one.pValue.cast(), one.ulValueLen)
        }?))
    };
    (0..count).map(attribute).collect()
}

/// Writes attributes of an object to where a program wants them. All are tried, whichever fails.
///
/// # Safety
/// The caller owns the `count` attributes at `template` and the buffers in them, or it is NULL.
pub(crate) unsafe fn show(
    attributes: &Attributes,
    template: *mut CK_ATTRIBUTE,
    count: CK_ULONG,
) -> Result<(), CK_RV> {
    let count = checked(template, count)?;
    let mut result = Ok(());
    for place in 0..count {
        // SAFETY: the template has `count` attributes that the caller owns, and `place` is less.
        let wanted = unsafe { &mut *template.add(place) };
        let (length, code) = match attributes.get(wanted.type_) {
            Shown::Sensitive => (CK_UNAVAILABLE_INFORMATION, CKR_ATTRIBUTE_SENSITIVE),
            Shown::Unknown => (CK_UNAVAILABLE_INFORMATION, CKR_ATTRIBUTE_TYPE_INVALID),
            Shown::Value(value) if wanted.pValue.is_null() => (value.len() as CK_ULONG, CKR_OK),
            Shown::Value(value) if (value.len() as CK_ULONG) > wanted.ulValueLen => {
                (CK_UNAVAILABLE_INFORMATION, CKR_BUFFER_TOO_SMALL)
            }
            Shown::Value(value) => {
                // SAFETY: the buffer is not NULL and is at least as long as the value, which is memory of this library.
                unsafe {
                    ptr::copy_nonoverlapping(value.as_ptr(), wanted.pValue.cast(), value.len());
                }
                (value.len() as CK_ULONG, CKR_OK)
            }
        };
        wanted.ulValueLen = length;
        if code != CKR_OK && result.is_ok() {
            result = Err(code);
        }
    }
    result
}

/// Returns a mechanism with its parameter.
///
/// # Safety
/// `mechanism` is a mechanism whose parameter no one changes during `'a`, or NULL.
pub(crate) unsafe fn mechanism<'a>(mechanism: *const CK_MECHANISM) -> Result<Mechanism<'a>, CK_RV> {
    checked(mechanism, 1)?;
    // SAFETY: the pointer is aligned and not NULL, and the caller says that it is a mechanism.
    let given = unsafe { *mechanism };
    let CK_MECHANISM {
        mechanism: kind,
        pParameter,
        ulParameterLen: bytes,
    } = given;
    // SAFETY: the parameter has the length that stands in the mechanism, as the caller says.
    let bytes = unsafe { input(pParameter.cast(), bytes) };
    let bytes = bytes.map_err(|_| CKR_MECHANISM_PARAM_INVALID)?;
    if bytes.is_empty() {
        return Ok(Mechanism {
            kind,
            parameter: Parameter::None,
        });
    }
    let invalid = |_| CKR_MECHANISM_PARAM_INVALID;
    let parameter = match kind {
        CKM_RSA_PKCS_PSS
        | CKM_SHA1_RSA_PKCS_PSS
        | CKM_SHA224_RSA_PKCS_PSS
        | CKM_SHA256_RSA_PKCS_PSS
        | CKM_SHA384_RSA_PKCS_PSS
        | CKM_SHA512_RSA_PKCS_PSS => {
            // SAFETY: numbers, of which every value is valid.
            Parameter::Pss(unsafe { structure(bytes) }?)
        }
        CKM_RSA_PKCS_OAEP => {
            // SAFETY: numbers and a pointer, of which every value is valid.
            let one: CK_RSA_PKCS_OAEP_PARAMS = unsafe { structure(bytes) }?;
            let has_label = one.source == CKZ_DATA_SPECIFIED;
            if !has_label && (one.source != 0 || one.ulSourceDataLen != 0) {
                return Err(CKR_MECHANISM_PARAM_INVALID);
            }
            Parameter::Oaep {
                hash: one.hashAlg,
                mgf: one.mgf,
                // SAFETY: the label has the length that stands in the parameter, as the caller says.
                label: unsafe { input(one.pSourceData.cast(), one.ulSourceDataLen) }
                    .map_err(invalid)?,
            }
        }
        CKM_EDDSA => {
            // SAFETY: numbers and a pointer, of which every value is valid.
            let one: CK_EDDSA_PARAMS = unsafe { structure(bytes) }?;
            Parameter::Eddsa {
                is_prehashed: one.phFlag != CK_FALSE,
                // SAFETY: the context has the length that stands in the parameter, as the caller says.
                context: unsafe { input(one.pContextData, one.ulContextDataLen) }
                    .map_err(invalid)?,
            }
        }
        CKM_ML_DSA => {
            // SAFETY: numbers and a pointer, of which every value is valid.
            let one: CK_SIGN_ADDITIONAL_CONTEXT = unsafe { structure(bytes) }?;
            Parameter::MlDsa {
                hedge: one.hedgeVariant,
                // SAFETY: as of Ed25519.
                context: unsafe { input(one.pContext, one.ulContextLen) }.map_err(invalid)?,
            }
        }
        _ => return Err(CKR_MECHANISM_PARAM_INVALID),
    };
    Ok(Mechanism { kind, parameter })
}

/// Returns the structure that a parameter is.
///
/// # Safety
/// Every value of the bytes is a valid `T`.
unsafe fn structure<T: Copy>(bytes: &[u8]) -> Result<T, CK_RV> {
    if bytes.len() != mem::size_of::<T>() {
        return Err(CKR_MECHANISM_PARAM_INVALID);
    }
    // SAFETY: the bytes are as many as the structure has, and the caller says that each value is valid.
    Ok(unsafe { ptr::read_unaligned(bytes.as_ptr().cast()) })
}

/// Returns a text padded with spaces, without the rest of a character that does not fit.
pub(crate) fn padded<const BYTES: usize>(text: &str) -> [CK_UTF8CHAR; BYTES] {
    let mut padded = [b' '; BYTES];
    let mut end = text.len().min(BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    padded[..end].copy_from_slice(&text.as_bytes()[..end]);
    padded
}

/// More attributes than any object has.
const ATTRIBUTES_MAX: usize = 1000;
