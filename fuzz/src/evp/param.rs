//! Parameters (OSSL_PARAM(3)).

use std::ffi::{CStr, CString, c_char, c_uint, c_void};
use std::ptr::{null, null_mut};

use arbitrary::Arbitrary;

/// OSSL_PARAM.
#[repr(C)]
pub(crate) struct Param {
    pub(crate) key: *const c_char,
    pub(crate) data_type: c_uint,
    pub(crate) data: *mut c_void,
    pub(crate) data_bytes: usize,
    pub(crate) return_bytes: usize,
}

impl Param {
    /// The last of an array.
    pub(crate) const END: Self = Self {
        key: null(),
        data_type: 0,
        data: null_mut(),
        data_bytes: 0,
        return_bytes: 0,
    };
}

/// Octets of a usual length, or any.
#[derive(Arbitrary, Clone, Debug)]
pub(crate) enum Octets {
    /// Which length, and what they are made of.
    Usual(u8, u8),
    Any(Vec<u8>),
}

impl Octets {
    pub(crate) fn get(&self) -> Vec<u8> {
        match self {
            Self::Usual(which, seed) => {
                let bytes = USUAL[usize::from(*which) % USUAL.len()];
                (0..bytes).map(|at| (at * 31) as u8 ^ seed).collect()
            }
            Self::Any(bytes) => bytes.clone(),
        }
    }
}

/// Parameters that own their values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values(Vec<(CString, c_uint, Option<Vec<u8>>)>);

impl Values {
    pub(crate) fn text(self, name: &CStr, text: &[u8]) -> Self {
        self.value(name, UTF8_STRING, text)
    }

    pub(crate) fn octets(self, name: &CStr, octets: &[u8]) -> Self {
        self.value(name, OCTET_STRING, octets)
    }

    pub(crate) fn int(self, name: &CStr, number: i32) -> Self {
        self.value(name, INTEGER, &number.to_ne_bytes())
    }

    /// A natural number, with its lowest octet first.
    pub(crate) fn number(self, name: &CStr, octets: &[u8]) -> Self {
        self.value(name, UNSIGNED_INTEGER, octets)
    }

    /// A parameter without a value; the type is one of four, counted modulo their number.
    pub(crate) fn nothing(mut self, name: &CStr, kind: u8) -> Self {
        self.0.push((name.into(), one_of(kind), None));
        self
    }

    /// A value of any of four types and any length.
    pub(crate) fn typed(self, name: &CStr, kind: u8, value: &[u8]) -> Self {
        self.value(name, one_of(kind), value)
    }

    fn value(mut self, name: &CStr, data_type: c_uint, value: &[u8]) -> Self {
        self.0.push((name.into(), data_type, Some(value.into())));
        self
    }

    /// Calls `call` with an array that ends. A text has a zero behind it.
    pub(crate) fn with<T>(&self, call: impl FnOnce(*mut Param) -> T) -> T {
        let mut kept: Vec<_> = self
            .0
            .iter()
            .map(|(name, data_type, value)| {
                let bytes = value.as_ref().map_or(0, Vec::len);
                let mut value = value.clone();
                if let (&UTF8_STRING, Some(value)) = (data_type, &mut value) {
                    value.push(0);
                }
                (name, *data_type, value.map(Vec::into_boxed_slice), bytes)
            })
            .collect();
        let each = kept
            .iter_mut()
            .map(|(name, data_type, value, bytes)| Param {
                key: name.as_ptr(),
                data_type: *data_type,
                data: value
                    .as_mut()
                    .map_or(null_mut(), |value| value.as_mut_ptr().cast()),
                data_bytes: *bytes,
                return_bytes: usize::MAX,
            });
        let mut params: Vec<Param> = each.chain([Param::END]).collect();
        call(params.as_mut_ptr())
    }
}

fn one_of(kind: u8) -> c_uint {
    TYPES[usize::from(kind) % TYPES.len()]
}

const INTEGER: c_uint = 1;
const UNSIGNED_INTEGER: c_uint = 2;
const UTF8_STRING: c_uint = 4;
const OCTET_STRING: c_uint = 5;
const TYPES: [c_uint; 4] = [INTEGER, UNSIGNED_INTEGER, UTF8_STRING, OCTET_STRING];
/// Lengths of keys, digests and blocks, and those next to what contexts keep themselves.
const USUAL: [usize; 16] = [
    32, 48, 64, 20, 28, 16, 12, 1, 33, 63, 65, 128, 129, 160, 161, 300,
];
