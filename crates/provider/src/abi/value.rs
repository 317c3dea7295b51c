//! Values of parameters.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};
use std::marker::PhantomData;

use super::*;

/// The value of a parameter. Types and sizes follow OSSL_PARAM_int(3). Numbers are little-endian, as on every supported
/// machine.
#[derive(Clone, Copy)]
pub(crate) struct Value<'a>(pub(super) *mut Param, pub(super) PhantomData<&'a Param>);

impl<'a> Value<'a> {
    fn param(self) -> &'a mut Param {
        // SAFETY: the pointer is into the array that `Params::new` was promised, and no reference made here outlives
        // the method that made it.
        unsafe { &mut *self.0 }
    }

    /// Returns the caller's number, of any width; `None` if the value is not a number, is negative or does not fit `T`.
    pub(crate) fn number<T: TryFrom<u64>>(self) -> Option<T> {
        let param = self.param();
        if param.data.is_null() || !matches!(param.data_type, UNSIGNED_INTEGER | INTEGER) {
            return None;
        }
        let data = param.data.cast::<u8>();
        // SAFETY: the data have the size that the parameter states.
        let octets = unsafe { std::slice::from_raw_parts(data, param.data_bytes) };
        let (low, high) = octets.split_at(octets.len().min(size_of::<u64>()));
        let is_negative =
            param.data_type == INTEGER && octets.last().is_some_and(|last| *last > 127);
        if is_negative || high.iter().any(|octet| *octet != 0) {
            return None;
        }
        let mut number = [0; size_of::<u64>()];
        number[..low.len()].copy_from_slice(low);
        u64::from_le_bytes(number).try_into().ok()
    }

    /// Returns the little-endian octets of the caller's number, of any width; `None` if it is not an unsigned number.
    pub(crate) fn number_octets(self) -> Option<&'a [u8]> {
        let param = self.param();
        if param.data.is_null() || param.data_type != UNSIGNED_INTEGER {
            return None;
        }
        // SAFETY: the data have the size that the parameter states, and stay for the duration of the call.
        Some(unsafe { std::slice::from_raw_parts(param.data.cast::<u8>(), param.data_bytes) })
    }

    /// Stores a number as a double, which libcrypto itself never asks for.
    #[cold]
    fn set_real(self, number: f64) -> bool {
        let param = self.param();
        param.return_bytes = size_of::<f64>();
        let has_room = param.data_bytes == size_of::<f64>();
        if !param.data.is_null() && has_room {
            // SAFETY: the data have the size that the parameter states and belong to the caller alone.
            unsafe { param.data.cast::<f64>().write_unaligned(number) };
        }
        param.data.is_null() || has_room
    }

    /// Stores the number in the width that the caller asks for. Returns whether that was possible.
    #[must_use]
    pub(crate) fn set_number<T: Into<u64>>(self, value: T) -> bool {
        let param = self.param();
        param.return_bytes = 0;
        if !matches!(param.data_type, UNSIGNED_INTEGER | INTEGER | REAL) {
            return false;
        }
        let number: u64 = value.into();
        if param.data_type == REAL {
            return self.set_real(number as f64);
        }
        param.return_bytes = size_of::<T>();
        if param.data.is_null() {
            return true;
        }
        let sign_bits = u32::from(param.data_type == INTEGER && number != 0);
        let bits = (u64::BITS - number.leading_zeros() + sign_bits).max(1);
        if u64::from(bits) > 8 * param.data_bytes as u64 {
            return false;
        }
        let data = param.data.cast::<u8>();
        // SAFETY: the data have the size that the parameter states and belong to the caller alone.
        let place = unsafe { std::slice::from_raw_parts_mut(data, param.data_bytes) };
        param.return_bytes = param.data_bytes;
        let number = number.to_le_bytes();
        // The two widths that libcrypto uses take one store each: it asks twice for each new context.
        if let Ok(place) = <&mut [u8; 8]>::try_from(&mut *place) {
            *place = number;
        } else if let Ok(place) = <&mut [u8; 4]>::try_from(&mut *place) {
            place.copy_from_slice(&number[..4]);
        } else {
            place.fill(0);
            let bytes = place.len().min(number.len());
            place[..bytes].copy_from_slice(&number[..bytes]);
        }
        true
    }

    /// Returns the caller's octets: their address, which may be null, and their number.
    pub(crate) fn octets(self) -> Option<(*const u8, usize)> {
        let param = self.param();
        (param.data_type == OCTET_STRING).then_some((param.data.cast(), param.data_bytes))
    }

    /// Returns the caller's octets; `None` if the value has another type or is empty.
    pub(crate) fn given_octets(self) -> Option<&'a [u8]> {
        let (first, bytes) = self.octets()?;
        if first.is_null() || bytes == 0 {
            return None;
        }
        // SAFETY: the caller's octets have the size that the parameter states, and stay for the duration of the call.
        Some(unsafe { std::slice::from_raw_parts(first, bytes) })
    }

    /// Returns the caller's text up to its first zero; `None` if the value is not text, or is empty.
    pub(crate) fn text(self) -> Option<&'a [u8]> {
        let param = self.param();
        if param.data.is_null() || param.data_type != UTF8_STRING || param.data_bytes == 0 {
            return None;
        }
        // SAFETY: the caller's text has the size that the parameter states, and stays for the duration of the call.
        let text = unsafe { std::slice::from_raw_parts(param.data.cast::<u8>(), param.data_bytes) };
        text.split(|byte| *byte == 0)
            .next()
            .filter(|text| !text.is_empty())
    }

    /// Whether the value is text, of any length.
    pub(crate) fn is_text(self) -> bool {
        self.param().data_type == UTF8_STRING
    }

    /// Returns the caller's buffer for octets and its size.
    pub(crate) fn octets_place(self) -> Option<(*mut u8, usize)> {
        let param = self.param();
        (param.data_type == OCTET_STRING).then_some((param.data.cast(), param.data_bytes))
    }

    /// Copies octets to the caller's buffer, or reports their number if the buffer is null.
    #[must_use]
    #[inline]
    pub(crate) fn set_octets(self, octets: &[u8]) -> bool {
        let param = self.param();
        param.return_bytes = octets.len();
        if param.data.is_null() {
            return true;
        }
        if param.data_type != OCTET_STRING || param.data_bytes < octets.len() {
            return false;
        }
        // SAFETY: the buffer has room and belongs to the caller: it does not overlap `octets`, which are ours.
        unsafe {
            octets
                .as_ptr()
                .copy_to_nonoverlapping(param.data.cast(), octets.len())
        };
        true
    }

    /// Sets the caller's pointer to `octets`, which must stay valid until the context changes.
    #[must_use]
    pub(crate) fn set_octet_ptr(self, octets: *const u8, bytes: usize) -> bool {
        let param = self.param();
        param.return_bytes = bytes;
        if param.data_type != OCTET_PTR {
            return false;
        }
        if !param.data.is_null() {
            // SAFETY: data of this type are a pointer to octets.
            unsafe { param.data.cast::<*const u8>().write_unaligned(octets) };
        }
        true
    }

    /// Copies `octets`, which belong to the context, or sets the caller's pointer to them, by the parameter's type.
    #[must_use]
    pub(crate) fn set_octets_or_ptr(self, octets: &[u8]) -> bool {
        self.set_octets(octets) || self.set_octet_ptr(octets.as_ptr(), octets.len())
    }

    /// Whether the caller has no buffer and asks only for a size.
    pub(crate) fn has_no_place(self) -> bool {
        self.param().data.is_null()
    }

    /// Returns the size of the caller's buffer.
    pub(crate) fn place_bytes(self) -> usize {
        self.param().data_bytes
    }

    #[must_use]
    pub(crate) fn set_text(self, text: &'static CStr) -> bool {
        // SAFETY: a static text outlives everything.
        unsafe { self.set_text_of(text) }
    }

    /// # Safety
    /// `text` lives as long as the object that the parameter describes.
    pub(crate) unsafe fn set_text_of(self, text: &CStr) -> bool {
        let param = self.param();
        if param.data_type != UTF8_PTR || param.data.is_null() {
            return false;
        }
        param.return_bytes = text.count_bytes();
        // SAFETY: data of this type are a pointer to text.
        unsafe {
            param
                .data
                .cast::<*const c_char>()
                .write_unaligned(text.as_ptr())
        };
        true
    }
}
