//! The types of OpenSSL's core (core.h, core_dispatch.h, core_names.h), written by hand: their layout
//! is part of the provider interface and does not change.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::ptr::{null, null_mut};

/// OSSL_DISPATCH: a function by its number; 0 ends a table.
#[repr(C)]
pub struct Dispatch {
    pub(crate) id: c_int,
    pub(crate) function: *const c_void,
}

impl Dispatch {
    pub(crate) const END: Self = Self {
        id: 0,
        function: null(),
    };
}

/// OSSL_ALGORITHM; one without names ends a list.
#[repr(C)]
pub(crate) struct Algorithm {
    pub(crate) names: *const c_char,
    pub(crate) properties: *const c_char,
    pub(crate) implementation: *const Dispatch,
    pub(crate) description: *const c_char,
}

impl Algorithm {
    pub(crate) const END: Self = Self {
        names: null(),
        properties: null(),
        implementation: null(),
        description: null(),
    };

    pub(crate) const fn offering(names: &'static CStr, implementation: *const Dispatch) -> Self {
        Self::accelerated(names.as_ptr(), implementation)
    }

    /// One that is preferred where a program or its configuration asks for what is accelerated.
    pub(crate) const fn accelerated(names: *const c_char, implementation: *const Dispatch) -> Self {
        Self {
            names,
            // The second one still prefers us where a program's own query names a provider: that replaces
            // the clause of that name in the default query, and no other. A name of our own needs a dot
            // (property(7)).
            properties: c"provider=oarlock,oarlock.accelerated=yes".as_ptr(),
            implementation,
            description: c"Oarlock".as_ptr(),
        }
    }

    /// What makes something of that name of an input that `properties` name.
    pub(crate) const fn of_decoder(
        names: *const c_char,
        properties: &'static CStr,
        implementation: *const Dispatch,
    ) -> Self {
        Self {
            names,
            properties: properties.as_ptr(),
            implementation,
            description: c"Oarlock".as_ptr(),
        }
    }

    /// Whether `name` is one of its names, in either case.
    pub(crate) fn is_called(&self, name: &[u8]) -> bool {
        if self.names.is_null() {
            return false;
        }
        // SAFETY: the names of an algorithm are a text that ends with a zero, and lives as long as that.
        let names = unsafe { CStr::from_ptr(self.names) }.to_bytes();
        let mut names = names.split(|byte| *byte == b':');
        names.any(|it| it.eq_ignore_ascii_case(name))
    }

    /// A management of keys. It is never preferred: a key stays in the provider that made it, and operations get a
    /// copy from there.
    pub(crate) const fn of_keys(names: *const c_char, implementation: *const Dispatch) -> Self {
        Self {
            names,
            properties: c"provider=oarlock,oarlock.keys=yes".as_ptr(),
            implementation,
            description: c"Oarlock".as_ptr(),
        }
    }
}

/// OSSL_PARAM; one without a key ends an array.
#[repr(C)]
pub(crate) struct Param {
    key: *const c_char,
    data_type: c_uint,
    data: *mut c_void,
    data_bytes: usize,
    return_bytes: usize,
}

// SAFETY: those in statics describe types and are never written; their pointers are to literals.
unsafe impl Sync for Param {}

const INTEGER: c_uint = 1;
const UNSIGNED_INTEGER: c_uint = 2;
const UTF8_STRING: c_uint = 4;
const OCTET_STRING: c_uint = 5;
const UTF8_PTR: c_uint = 6;
const OCTET_PTR: c_uint = 7;
const UNMODIFIED: usize = usize::MAX;

impl Param {
    pub(crate) const END: Self = Self::describing(null(), 0, 0);

    /// An entry of what can be got or set.
    pub(crate) const fn size(key: &'static CStr) -> Self {
        Self::describing(key.as_ptr(), UNSIGNED_INTEGER, size_of::<usize>())
    }

    pub(crate) const fn uint(key: &'static CStr) -> Self {
        Self::describing(key.as_ptr(), UNSIGNED_INTEGER, size_of::<c_uint>())
    }

    pub(crate) const fn int(key: &'static CStr) -> Self {
        Self::describing(key.as_ptr(), INTEGER, size_of::<c_int>())
    }

    pub(crate) const fn octets(key: &'static CStr) -> Self {
        Self::describing(key.as_ptr(), OCTET_STRING, 0)
    }

    pub(crate) const fn text(key: &'static CStr) -> Self {
        Self::describing(key.as_ptr(), UTF8_STRING, 0)
    }

    pub(crate) const fn octet_ptr(key: &'static CStr) -> Self {
        Self::describing(key.as_ptr(), OCTET_PTR, 0)
    }

    pub(crate) const fn utf8_ptr(key: &'static CStr) -> Self {
        Self::describing(key.as_ptr(), UTF8_PTR, 0)
    }

    /// One that hands over octets, which must stay while it is looked at.
    pub(crate) fn giving_octets(key: &'static CStr, octets: &[u8]) -> Self {
        Self {
            key: key.as_ptr(),
            data_type: OCTET_STRING,
            data: octets.as_ptr().cast_mut().cast(),
            data_bytes: octets.len(),
            return_bytes: UNMODIFIED,
        }
    }

    /// One that hands over a text, which must stay while it is looked at. OpenSSL reads some up to a zero, which must come
    /// after it.
    pub(crate) fn giving_text(key: &'static CStr, text: &[u8]) -> Self {
        Self {
            data_type: UTF8_STRING,
            ..Self::giving_octets(key, text)
        }
    }

    /// One that hands over a number, the lowest octet first, which must stay while it is looked at.
    pub(crate) fn giving_number(key: &'static CStr, octets: &[u8]) -> Self {
        Self {
            data_type: UNSIGNED_INTEGER,
            ..Self::giving_octets(key, octets)
        }
    }

    const fn describing(key: *const c_char, data_type: c_uint, data_bytes: usize) -> Self {
        Self {
            key,
            data_type,
            data: null_mut(),
            data_bytes,
            return_bytes: UNMODIFIED,
        }
    }

    /// One that asks for a number, which is stored at `place`.
    pub(crate) fn asking_for_int(key: &'static CStr, place: &mut c_int) -> Self {
        Self {
            data: std::ptr::from_mut(place).cast(),
            ..Self::int(key)
        }
    }

    /// One that asks for a number without a sign, which is stored at `place`.
    pub(crate) fn asking_for_uint(key: &'static CStr, place: &mut c_uint) -> Self {
        Self {
            data: std::ptr::from_mut(place).cast(),
            ..Self::uint(key)
        }
    }

    /// One that asks for a size, which is stored at `place`.
    pub(crate) fn asking_for_size(key: &'static CStr, place: &mut usize) -> Self {
        Self {
            data: std::ptr::from_mut(place).cast(),
            ..Self::size(key)
        }
    }

    /// One that asks for a pointer to octets, which is stored at `place`; [`given_bytes`](Self::given_bytes) is their number.
    pub(crate) fn asking_for_octets(key: &'static CStr, place: &mut *const u8) -> Self {
        Self {
            data: std::ptr::from_mut(place).cast(),
            ..Self::octet_ptr(key)
        }
    }

    /// How many bytes one that asked was given.
    pub(crate) fn given_bytes(&self) -> Option<usize> {
        (self.return_bytes != UNMODIFIED).then_some(self.return_bytes)
    }

    /// One that asks for a copy of a text, which is stored at `place` with a zero at its end.
    pub(crate) fn asking_for_copy(key: &'static CStr, place: &mut [u8]) -> Self {
        Self {
            key: key.as_ptr(),
            data_type: UTF8_STRING,
            data: place.as_mut_ptr().cast(),
            data_bytes: place.len(),
            return_bytes: UNMODIFIED,
        }
    }

    /// One that asks for a pointer to a text, which is stored at `place`.
    pub(crate) fn asking_for_text(key: &'static CStr, place: &mut *const c_char) -> Self {
        Self {
            key: key.as_ptr(),
            data_type: UTF8_PTR,
            data: std::ptr::from_mut(place).cast(),
            data_bytes: 0,
            return_bytes: UNMODIFIED,
        }
    }
}

/// An array of parameters that a caller has handed over for the time of a call.
#[derive(Clone, Copy)]
pub(crate) struct Params<'a>(*mut Param, PhantomData<&'a Param>);

impl<'a> Params<'a> {
    /// # Safety
    /// `first` is null or begins an array that ends with [`Param::END`], valid for `'a`, as are the data that its
    /// entries point to; no other thread touches them during that time.
    pub(crate) unsafe fn new(first: *mut Param) -> Self {
        Self(first, PhantomData)
    }

    pub(crate) fn is_empty(self) -> bool {
        // SAFETY: the array has at least its end.
        self.0.is_null() || unsafe { (*self.0).key.is_null() }
    }

    /// The value of the first, if that has this key and is the only one: what programs ask for most takes no look at every
    /// key then.
    #[inline(always)]
    pub(crate) fn only(self, key: &'static CStr) -> Option<Value<'a>> {
        let at = self.0;
        if at.is_null() {
            return None;
        }
        // SAFETY: the array ends with an entry without a key; a key is a text that ends with a zero, and of it no byte is
        // read behind the first that differs.
        unsafe {
            let first = (*at).key.cast::<u8>();
            let is_it = |key: &CStr| {
                let mut bytes = key.to_bytes_with_nul().iter().enumerate();
                bytes.all(|(i, byte)| *first.add(i) == *byte)
            };
            let is_only = !first.is_null() && is_it(key) && (*at.add(1)).key.is_null();
            is_only.then_some(Value(at, PhantomData))
        }
    }

    /// Whether one has this key.
    pub(crate) fn have(self, key: &[u8]) -> bool {
        let found = self.each(|other, _| if other == key { Err(()) } else { Ok(()) });
        found.is_err()
    }

    /// The first with this key.
    pub(crate) fn find(self, key: &[u8]) -> Option<Value<'a>> {
        let mut found = None;
        let _ = self.each(|other, value| {
            found = (other == key).then_some(value);
            found.map_or(Ok(()), |_| Err(()))
        });
        found
    }

    /// Each with its key.
    #[inline(always)]
    pub(crate) fn each<E>(
        self,
        mut take: impl FnMut(&'a [u8], Value<'a>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut at = self.0;
        if at.is_null() {
            return Ok(());
        }
        // SAFETY: the array ends with an entry without a key, and `at` goes no further; keys are
        // texts that end with a zero.
        unsafe {
            while !(*at).key.is_null() {
                take(name_bytes((*at).key), Value(at, PhantomData))?;
                at = at.add(1);
            }
        }
        Ok(())
    }
}

/// The bytes of the name of a parameter. Calling strlen(3) takes longer than reading one.
///
/// # Safety
/// `name` ends with a zero, and lives as long as the bytes are used.
#[inline(always)]
unsafe fn name_bytes<'a>(name: *const c_char) -> &'a [u8] {
    let first = name.cast::<u8>();
    // SAFETY: no byte behind the zero is read, and all before it are the name's.
    unsafe {
        // A loop without a bound would be compiled to a call of strlen.
        for bytes in 0..NAME_BYTES {
            if first.add(bytes).read() == 0 {
                return std::slice::from_raw_parts(first, bytes);
            }
        }
        CStr::from_ptr(name).to_bytes()
    }
}

/// As long as names are that are asked for in contexts.
const NAME_BYTES: usize = 16;

/// The value of a parameter. Types and sizes follow OSSL_PARAM_int(3); numbers are little-endian, as on
/// every machine that this is built for.
#[derive(Clone, Copy)]
pub(crate) struct Value<'a>(*mut Param, PhantomData<&'a Param>);

impl<'a> Value<'a> {
    fn param(self) -> &'a mut Param {
        // SAFETY: the pointer is into the array that `Params::new` was promised, and no reference
        // made here outlives the method it was made in.
        unsafe { &mut *self.0 }
    }

    /// The number that the caller gives, of any width; `None` if it is not a number, negative or too large
    /// for `T`.
    pub(crate) fn number<T: TryFrom<u64>>(self) -> Option<T> {
        let param = self.param();
        if param.data.is_null() || !matches!(param.data_type, UNSIGNED_INTEGER | INTEGER) {
            return None;
        }
        let data = param.data.cast::<u8>();
        // SAFETY: the data have the size that the parameter gives.
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

    /// The octets of the number that the caller gives, of any width, the lowest first; none where that is not an
    /// unsigned number.
    pub(crate) fn number_octets(self) -> Option<&'a [u8]> {
        let param = self.param();
        if param.data.is_null() || param.data_type != UNSIGNED_INTEGER {
            return None;
        }
        // SAFETY: the data have the size that the parameter gives, and stay for the time of the call.
        Some(unsafe { std::slice::from_raw_parts(param.data.cast::<u8>(), param.data_bytes) })
    }

    /// Stores the number in the width that the caller asks for; whether that was possible.
    #[must_use]
    pub(crate) fn set_number<T: Into<u64>>(self, value: T) -> bool {
        let param = self.param();
        param.return_bytes = 0;
        if !matches!(param.data_type, UNSIGNED_INTEGER | INTEGER) {
            return false;
        }
        param.return_bytes = size_of::<T>();
        if param.data.is_null() {
            return true;
        }
        let number: u64 = value.into();
        let sign_bits = u32::from(param.data_type == INTEGER && number != 0);
        let bits = (u64::BITS - number.leading_zeros() + sign_bits).max(1);
        if u64::from(bits) > 8 * param.data_bytes as u64 {
            return false;
        }
        let data = param.data.cast::<u8>();
        // SAFETY: the data have the size that the parameter gives, and are the caller's own.
        let place = unsafe { std::slice::from_raw_parts_mut(data, param.data_bytes) };
        param.return_bytes = param.data_bytes;
        let number = number.to_le_bytes();
        // The widths that libcrypto asks for are a store each: it asks twice for each new context.
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

    /// The octets that the caller gives: the address, which may be null, and their number.
    pub(crate) fn octets(self) -> Option<(*const u8, usize)> {
        let param = self.param();
        (param.data_type == OCTET_STRING).then_some((param.data.cast(), param.data_bytes))
    }

    /// The octets that the caller gives; `None` if they are of another type, or there are none.
    pub(crate) fn given_octets(self) -> Option<&'a [u8]> {
        let (first, bytes) = self.octets()?;
        if first.is_null() || bytes == 0 {
            return None;
        }
        // SAFETY: the data have the size that the parameter gives, and stay for the time of the call.
        Some(unsafe { std::slice::from_raw_parts(first, bytes) })
    }

    /// The text that the caller gives, up to its zero if it has one; `None` if it is none, or empty.
    pub(crate) fn text(self) -> Option<&'a [u8]> {
        let param = self.param();
        if param.data.is_null() || param.data_type != UTF8_STRING || param.data_bytes == 0 {
            return None;
        }
        // SAFETY: the data have the size that the parameter gives, and stay for the time of the call.
        let text = unsafe { std::slice::from_raw_parts(param.data.cast::<u8>(), param.data_bytes) };
        text.split(|byte| *byte == 0)
            .next()
            .filter(|text| !text.is_empty())
    }

    /// Whether the caller gives a text, of any length.
    pub(crate) fn is_text(self) -> bool {
        self.param().data_type == UTF8_STRING
    }

    /// The caller's buffer for octets, and its size.
    pub(crate) fn octets_place(self) -> Option<(*mut u8, usize)> {
        let param = self.param();
        (param.data_type == OCTET_STRING).then_some((param.data.cast(), param.data_bytes))
    }

    /// Copies octets to the caller's buffer, or reports their number if that is null.
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
        // SAFETY: the place has room, and is the caller's own: not within `octets`, which are ours.
        unsafe {
            octets
                .as_ptr()
                .copy_to_nonoverlapping(param.data.cast(), octets.len())
        };
        true
    }

    /// Sets the caller's pointer to `octets`, which must stay until the context changes.
    #[must_use]
    pub(crate) fn set_octet_ptr(self, octets: *const u8, bytes: usize) -> bool {
        let param = self.param();
        param.return_bytes = bytes;
        if param.data_type != OCTET_PTR {
            return false;
        }
        if !param.data.is_null() {
            // SAFETY: of this type, the data are a pointer.
            unsafe { param.data.cast::<*const u8>().write_unaligned(octets) };
        }
        true
    }

    /// Whichever of the two the caller asks for; `octets` are in the context.
    #[must_use]
    pub(crate) fn set_octets_or_ptr(self, octets: &[u8]) -> bool {
        self.set_octets(octets) || self.set_octet_ptr(octets.as_ptr(), octets.len())
    }

    /// Whether the caller has no buffer, and asks for a size alone.
    pub(crate) fn has_no_place(self) -> bool {
        self.param().data.is_null()
    }

    /// The size of the caller's buffer.
    pub(crate) fn place_bytes(self) -> usize {
        self.param().data_bytes
    }

    #[must_use]
    pub(crate) fn set_text(self, text: &'static CStr) -> bool {
        // SAFETY: the text is static.
        unsafe { self.set_text_of(text) }
    }

    /// # Safety
    /// `text` lives as long as what the parameter is of.
    pub(crate) unsafe fn set_text_of(self, text: &CStr) -> bool {
        let param = self.param();
        if param.data_type != UTF8_PTR || param.data.is_null() {
            return false;
        }
        param.return_bytes = text.count_bytes();
        // SAFETY: of this type, the data are a pointer.
        unsafe {
            param
                .data
                .cast::<*const c_char>()
                .write_unaligned(text.as_ptr())
        };
        true
    }
}

/// Numbers of functions that the core offers (core_dispatch.h).
pub(crate) mod core_function {
    pub(crate) const GET_PARAMS: i32 = 2;
    pub(crate) const NEW_ERROR: i32 = 5;
    pub(crate) const SET_ERROR_DEBUG: i32 = 6;
    pub(crate) const VSET_ERROR: i32 = 7;
    pub(crate) const CRYPTO_MALLOC: i32 = 20;
    pub(crate) const CRYPTO_FREE: i32 = 22;
    pub(crate) const BIO_READ_EX: i32 = 42;
    pub(crate) const BIO_GETS: i32 = 49;
}

/// Numbers of functions that a provider offers.
pub(crate) mod provider_function {
    pub(crate) const TEARDOWN: i32 = 1024;
    pub(crate) const GETTABLE_PARAMS: i32 = 1025;
    pub(crate) const GET_PARAMS: i32 = 1026;
    pub(crate) const QUERY_OPERATION: i32 = 1027;
    pub(crate) const GET_CAPABILITIES: i32 = 1030;
}

/// Numbers of functions that a cipher offers.
pub(crate) mod cipher_function {
    pub(crate) const NEWCTX: i32 = 1;
    pub(crate) const ENCRYPT_INIT: i32 = 2;
    pub(crate) const DECRYPT_INIT: i32 = 3;
    pub(crate) const UPDATE: i32 = 4;
    pub(crate) const FINAL: i32 = 5;
    pub(crate) const CIPHER: i32 = 6;
    pub(crate) const FREECTX: i32 = 7;
    pub(crate) const DUPCTX: i32 = 8;
    pub(crate) const GET_PARAMS: i32 = 9;
    pub(crate) const GET_CTX_PARAMS: i32 = 10;
    pub(crate) const SET_CTX_PARAMS: i32 = 11;
    pub(crate) const GETTABLE_PARAMS: i32 = 12;
    pub(crate) const GETTABLE_CTX_PARAMS: i32 = 13;
    pub(crate) const SETTABLE_CTX_PARAMS: i32 = 14;
    /// Since 3.5, as the next.
    pub(crate) const ENCRYPT_SKEY_INIT: i32 = 19;
    pub(crate) const DECRYPT_SKEY_INIT: i32 = 20;
}

/// Numbers of functions that a mechanism of key encapsulation offers.
pub(crate) mod kem_function {
    pub(crate) const NEWCTX: i32 = 1;
    pub(crate) const ENCAPSULATE_INIT: i32 = 2;
    pub(crate) const ENCAPSULATE: i32 = 3;
    pub(crate) const DECAPSULATE_INIT: i32 = 4;
    pub(crate) const DECAPSULATE: i32 = 5;
    pub(crate) const FREECTX: i32 = 6;
    pub(crate) const SET_CTX_PARAMS: i32 = 10;
    pub(crate) const SETTABLE_CTX_PARAMS: i32 = 11;
}

/// Numbers of functions that a management of symmetric keys offers.
pub(crate) mod skeymgmt_function {
    pub(crate) const FREE: i32 = 1;
    pub(crate) const IMPORT: i32 = 2;
    pub(crate) const EXPORT: i32 = 3;
    pub(crate) const IMP_SETTABLE_PARAMS: i32 = 6;
}

/// OSSL_SKEYMGMT_SELECT_SECRET_KEY.
pub(crate) const SELECT_SECRET_KEY: c_int = 2;

/// Numbers of functions that a decoder offers.
pub(crate) mod decoder_function {
    pub(crate) const NEWCTX: i32 = 1;
    pub(crate) const FREECTX: i32 = 2;
    pub(crate) const DOES_SELECTION: i32 = 10;
    pub(crate) const DECODE: i32 = 11;
}

/// Declares the functions of a provider of somebody else's, by their numbers in core_dispatch.h.
macro_rules! functions {
    ($(#[$meta:meta])* $name:ident { $($field:ident $id:literal $type:ty,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Default)]
        pub(crate) struct $name {
            $(pub(crate) $field: Option<$type>,)+
        }

        #[allow(non_upper_case_globals, dead_code, clippy::useless_transmute)]
        impl $name {
            $(pub(crate) const $field: std::ffi::c_int = $id;)+

            /// # Safety
            /// `table` is one of that kind, and ends with the number 0.
            pub(crate) unsafe fn of(table: *const $crate::abi::Dispatch) -> Self {
                let mut functions = Self::default();
                let mut at = table;
                // SAFETY: the table goes on to its end; a function has the type that the interface gives its
                // number.
                unsafe {
                    while (*at).id != 0 {
                        match (*at).id {
                            $($id => {
                                functions.$field =
                                    Some(std::mem::transmute::<*const std::ffi::c_void, $type>((*at).function));
                            })+
                            _ => {}
                        }
                        at = at.add(1);
                    }
                }
                functions
            }
        }
    };
}
pub(crate) use functions;

/// Adds `$wrapper` to a table if the default provider has such a function.
macro_rules! offered {
    ($table:ident, $inner:expr, $kind:ident: $($field:ident $wrapper:expr,)+) => {
        $(if $inner.$field.is_some() {
            $table.push($crate::abi::Dispatch {
                id: $kind::$field,
                function: $wrapper as *const std::ffi::c_void,
            });
        })+
    };
}
pub(crate) use offered;

/// OSSL_KEYMGMT_SELECT_*.
pub(crate) const SELECT_PRIVATE_KEY: c_int = 1;
pub(crate) const SELECT_PUBLIC_KEY: c_int = 2;
pub(crate) const SELECT_KEYPAIR: c_int = 3;
pub(crate) const SELECT_DOMAIN_PARAMETERS: c_int = 4;
pub(crate) const SELECT_ALL: c_int = 0x87;
/// OSSL_FUNC_KEYMGMT_LOAD.
pub(crate) const KEYMGMT_LOAD: c_int = 8;

/// OSSL_OP_DIGEST.
pub(crate) const OPERATION_DIGEST: c_int = 1;
/// OSSL_OP_MAC.
pub(crate) const OPERATION_MAC: c_int = 3;
/// OSSL_OP_KDF.
pub(crate) const OPERATION_KDF: c_int = 4;
/// OSSL_OP_KEYEXCH.
pub(crate) const OPERATION_KEYEXCH: c_int = 11;
/// OSSL_OP_KEM.
pub(crate) const OPERATION_KEM: c_int = 14;
/// OSSL_OP_KEYMGMT.
pub(crate) const OPERATION_KEYMGMT: c_int = 10;
/// OSSL_OP_ASYM_CIPHER.
pub(crate) const OPERATION_ASYM_CIPHER: c_int = 13;
/// OSSL_OP_SIGNATURE.
pub(crate) const OPERATION_SIGNATURE: c_int = 12;
/// OSSL_OP_DECODER.
pub(crate) const OPERATION_DECODER: c_int = 21;
/// OSSL_OP_CIPHER.
pub(crate) const OPERATION_CIPHER: c_int = 2;
/// OSSL_OP_SKEYMGMT, which a core before 3.5 does not know.
pub(crate) const OPERATION_SKEYMGMT: c_int = 15;
