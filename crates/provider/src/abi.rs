//! The types of OpenSSL's core (core.h, core_dispatch.h, core_names.h), written by hand: their layout is part of the
//! provider interface and does not change.
#![allow(unsafe_code)]

mod value;

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::ptr::{null, null_mut};

pub(crate) use self::value::Value;

/// An OSSL_DISPATCH entry: a function and its number. The number 0 ends a table.
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

/// An OSSL_ALGORITHM entry. One without names ends a list.
#[derive(Clone, Copy)]
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

    /// Returns an entry with these properties (property(7)).
    pub(crate) const fn of(
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

    pub(crate) const fn offering(names: &'static CStr, implementation: *const Dispatch) -> Self {
        Self::accelerated(names.as_ptr(), implementation)
    }

    /// Returns an entry that queries for accelerated algorithms prefer.
    pub(crate) const fn accelerated(names: *const c_char, implementation: *const Dispatch) -> Self {
        // The second property keeps us preferred where a program's own query names a provider: that replaces only the
        // clause of the same name in the default query. A name of our own needs a dot (property(7)).
        const PROPERTIES: &CStr = c"provider=oarlock,oarlock.accelerated=yes";
        Self::of(names, PROPERTIES, implementation)
    }

    /// Returns an entry that every query finds which finds the default provider's algorithms.
    pub(crate) const fn as_default(names: *const c_char, implementation: *const Dispatch) -> Self {
        Self::of(names, c"provider=default", implementation)
    }

    /// Whether `name` is one of the entry's names, ignoring case.
    pub(crate) fn is_called(&self, name: &[u8]) -> bool {
        if self.names.is_null() {
            return false;
        }
        // SAFETY: an entry's names are text that ends with a zero and lives as long as the entry.
        let names = unsafe { CStr::from_ptr(self.names) }.to_bytes();
        let mut names = names.split(|byte| *byte == b':');
        names.any(|it| it.eq_ignore_ascii_case(name))
    }

    /// Returns a key management entry. It is never preferred: a key stays in the provider that made it, and operations
    /// get a copy from there.
    pub(crate) const fn of_keys(names: *const c_char, implementation: *const Dispatch) -> Self {
        Self::of(names, c"provider=oarlock,oarlock.keys=yes", implementation)
    }
}

/// An OSSL_PARAM. One without a key ends an array.
#[repr(C)]
pub(crate) struct Param {
    key: *const c_char,
    data_type: c_uint,
    data: *mut c_void,
    data_bytes: usize,
    return_bytes: usize,
}

// SAFETY: parameters in statics only describe types and are never written; their pointers are to literals.
unsafe impl Sync for Param {}

const INTEGER: c_uint = 1;
const UNSIGNED_INTEGER: c_uint = 2;
const REAL: c_uint = 3;
const UTF8_STRING: c_uint = 4;
const OCTET_STRING: c_uint = 5;
const UTF8_PTR: c_uint = 6;
const OCTET_PTR: c_uint = 7;
const UNMODIFIED: usize = usize::MAX;

impl Param {
    pub(crate) const END: Self = Self::describing(null(), 0, 0);

    /// Describes a size that can be got or set. The next functions do so for other types.
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

    /// Returns a parameter that passes octets, which must outlive it.
    pub(crate) fn giving_octets(key: &'static CStr, octets: &[u8]) -> Self {
        Self {
            key: key.as_ptr(),
            data_type: OCTET_STRING,
            data: octets.as_ptr().cast_mut().cast(),
            data_bytes: octets.len(),
            return_bytes: UNMODIFIED,
        }
    }

    /// Returns a parameter that passes the octets of `value`, which must outlive it and may be written to.
    pub(crate) fn giving_value<T>(key: &'static CStr, value: *mut T) -> Self {
        let mut param = Self::giving_octets(key, &[]);
        (param.data, param.data_bytes) = (value.cast(), size_of::<T>());
        param
    }

    /// Returns a parameter that passes text, which must outlive it. OpenSSL reads some texts up to a zero, which must
    /// then follow `text`.
    pub(crate) fn giving_text(key: &'static CStr, text: &[u8]) -> Self {
        Self {
            data_type: UTF8_STRING,
            ..Self::giving_octets(key, text)
        }
    }

    /// Returns a parameter that passes an unsigned little-endian number, which must outlive it.
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

    /// Returns a parameter that asks for an int, to be stored at `place`.
    pub(crate) fn asking_for_int(key: &'static CStr, place: &mut c_int) -> Self {
        Self {
            data: std::ptr::from_mut(place).cast(),
            ..Self::int(key)
        }
    }

    /// Returns a parameter that asks for an unsigned int, to be stored at `place`.
    pub(crate) fn asking_for_uint(key: &'static CStr, place: &mut c_uint) -> Self {
        Self {
            data: std::ptr::from_mut(place).cast(),
            ..Self::uint(key)
        }
    }

    /// Returns a parameter that asks for a size, to be stored at `place`.
    pub(crate) fn asking_for_size(key: &'static CStr, place: &mut usize) -> Self {
        Self {
            data: std::ptr::from_mut(place).cast(),
            ..Self::size(key)
        }
    }

    /// Returns a parameter that asks for a pointer to octets, to be stored at `place`.
    /// [`given_bytes`](Self::given_bytes) returns their number.
    pub(crate) fn asking_for_octets(key: &'static CStr, place: &mut *const u8) -> Self {
        Self {
            data: std::ptr::from_mut(place).cast(),
            ..Self::octet_ptr(key)
        }
    }

    /// Returns the number of bytes that were stored, for a parameter that asks for a value.
    pub(crate) fn given_bytes(&self) -> Option<usize> {
        (self.return_bytes != UNMODIFIED).then_some(self.return_bytes)
    }

    /// Returns a parameter that asks for a copy of a text, to be stored at `place` with a final zero.
    pub(crate) fn asking_for_copy(key: &'static CStr, place: &mut [u8]) -> Self {
        Self {
            key: key.as_ptr(),
            data_type: UTF8_STRING,
            data: place.as_mut_ptr().cast(),
            data_bytes: place.len(),
            return_bytes: UNMODIFIED,
        }
    }

    /// Returns a parameter that asks for a pointer to a text, to be stored at `place`.
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

/// An array of parameters that a caller passes for the duration of a call.
#[derive(Clone, Copy)]
pub(crate) struct Params<'a>(*mut Param, PhantomData<&'a Param>);

impl<'a> Params<'a> {
    /// # Safety
    /// `first` is null or starts an array that ends with [`Param::END`], valid for `'a` together with the data that its
    /// entries point to; no other thread accesses them during that time.
    pub(crate) unsafe fn new(first: *mut Param) -> Self {
        Self(first, PhantomData)
    }

    pub(crate) fn is_empty(self) -> bool {
        // SAFETY: a non-null array has at least its end.
        self.0.is_null() || unsafe { (*self.0).key.is_null() }
    }

    /// Returns the value if `key` is the only parameter. The most frequent requests then need no comparison with every
    /// known key.
    #[inline(always)]
    pub(crate) fn only(self, key: &'static CStr) -> Option<Value<'a>> {
        let at = self.0;
        if at.is_null() {
            return None;
        }
        // SAFETY: the array ends with an entry without a key. A key is text that ends with a zero, and no byte after
        // the first mismatch is read.
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

    /// Whether a parameter has this key.
    pub(crate) fn have(self, key: &[u8]) -> bool {
        let found = self.each(|other, _| if other == key { Err(()) } else { Ok(()) });
        found.is_err()
    }

    /// Returns the first parameter with this key.
    pub(crate) fn find(self, key: &[u8]) -> Option<Value<'a>> {
        let mut found = None;
        let _ = self.each(|other, value| {
            found = (other == key).then_some(value);
            found.map_or(Ok(()), |_| Err(()))
        });
        found
    }

    /// Calls `take` with each key and value until it fails.
    #[inline(always)]
    pub(crate) fn each<E>(
        self,
        mut take: impl FnMut(&'a [u8], Value<'a>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut at = self.0;
        if at.is_null() {
            return Ok(());
        }
        // SAFETY: the array ends with an entry without a key, and `at` goes no further; keys are text that ends with a
        // zero.
        unsafe {
            while !(*at).key.is_null() {
                take(name_bytes((*at).key), Value(at, PhantomData))?;
                at = at.add(1);
            }
        }
        Ok(())
    }
}

/// Returns the bytes of a parameter's name. Calling strlen(3) takes longer than reading a name.
///
/// # Safety
/// `name` ends with a zero and lives as long as the bytes are used.
#[inline(always)]
unsafe fn name_bytes<'a>(name: *const c_char) -> &'a [u8] {
    let first = name.cast::<u8>();
    // SAFETY: no byte after the zero is read, and all bytes before it belong to the name.
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

/// Covers the names that contexts are usually asked for.
const NAME_BYTES: usize = 16;

/// The numbers of the core's functions (core_dispatch.h).
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

/// The numbers of a provider's functions.
pub(crate) mod provider_function {
    pub(crate) const TEARDOWN: i32 = 1024;
    pub(crate) const GETTABLE_PARAMS: i32 = 1025;
    pub(crate) const GET_PARAMS: i32 = 1026;
    pub(crate) const QUERY_OPERATION: i32 = 1027;
    pub(crate) const GET_CAPABILITIES: i32 = 1030;
}

/// The numbers of a cipher's functions.
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
    /// This function and the next exist since 3.5.
    pub(crate) const ENCRYPT_SKEY_INIT: i32 = 19;
    pub(crate) const DECRYPT_SKEY_INIT: i32 = 20;
}

/// The numbers of a key encapsulation mechanism's functions.
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

/// The numbers of a symmetric key management's functions.
pub(crate) mod skeymgmt_function {
    pub(crate) const FREE: i32 = 1;
    pub(crate) const IMPORT: i32 = 2;
    pub(crate) const EXPORT: i32 = 3;
    pub(crate) const IMP_SETTABLE_PARAMS: i32 = 6;
}

/// OSSL_SKEYMGMT_SELECT_SECRET_KEY.
pub(crate) const SELECT_SECRET_KEY: c_int = 2;

/// The numbers of a decoder's functions.
pub(crate) mod decoder_function {
    pub(crate) const NEWCTX: i32 = 1;
    pub(crate) const FREECTX: i32 = 2;
    pub(crate) const DOES_SELECTION: i32 = 10;
    pub(crate) const DECODE: i32 = 11;
}

/// Declares the functions of another provider, by their numbers in core_dispatch.h.
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
            /// `table` is of this kind and ends with the number 0.
            pub(crate) unsafe fn of(table: *const $crate::abi::Dispatch) -> Self {
                let mut functions = Self::default();
                let mut at = table;
                // SAFETY: the loop stops at the table's end; a function has the type that the interface gives its
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
