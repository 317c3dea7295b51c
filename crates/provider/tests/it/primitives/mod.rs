//! Key derivation, MACs and key exchange: the default provider's and ours, call by call, with valid and invalid arguments.
//! Both must behave alike, return the same bytes and raise the same errors.

mod halves;
mod hybrid;
mod kdf;
pub mod keys;
mod mac;
mod shared;
mod x25519;

use std::ffi::{CStr, CString, c_int, c_uint};
use std::ptr::null_mut;

use oarlock_engine::Primitive;
use oarlock_engine::costs::{Performed, Usage};

use crate::driver::{Param, libcrypto};

/// The two providers, as property queries.
pub const SIDES: [&CStr; 2] = [c"provider=default", c"provider=oarlock"];

/// Returns the number of random scripts of each kind.
fn rounds() -> u64 {
    crate::driver::rounds(3000)
}

/// The result of a call, its output, and its errors.
type Seen = (i32, Vec<u8>, Vec<(u32, u32)>);

/// Returns library and reason of the errors that this thread has raised.
fn errors() -> Vec<(u32, u32)> {
    libcrypto().errors()
}

/// Returns how often our provider has computed something itself.
fn counted(usage: &Usage, primitive: Primitive, performed: Performed) -> u64 {
    let operations = usage.read().operations.into_iter();
    operations
        .filter(|it| (it.primitive, it.performed) == (primitive, performed))
        .map(|it| it.count)
        .sum()
}

const REAL: c_uint = 3;
const UTF8_STRING: c_uint = 4;
/// A marker in a parameter's type: it has no value.
const NOTHING: c_uint = 1 << 31;

/// Types of parameters, and usual and unusual lengths of numbers.
const TYPES: [c_uint; 6] = [
    Param::INTEGER,
    Param::UNSIGNED_INTEGER,
    UTF8_STRING,
    Param::OCTET_STRING,
    REAL,
    Param::OCTET_PTR,
];

/// Gets parameters with these names into places of any type and length, and returns the result and the places' contents.
fn asked(
    script: &mut Script,
    names: &[&str],
    get: &mut dyn FnMut(*mut Param) -> c_int,
) -> (c_int, Vec<u8>) {
    let mut places: Vec<(CString, c_uint, Vec<u8>)> = Vec::new();
    for _ in 0..1 + script.below(3) {
        let name = script.pick(names);
        let data_type = script.pick(&TYPES[..5]);
        let bytes = script.pick(&[4_usize, 8, 8, 4, 1, 3, 16, 32, 80]);
        places.push((CString::new(name).unwrap(), data_type, vec![0; bytes]));
    }
    let mut params: Vec<Param> = places
        .iter_mut()
        .map(|(key, data_type, place)| Param::new(key, *data_type, place.as_mut_ptr(), place.len()))
        .chain([Param::END])
        .collect();
    let done = get(params.as_mut_ptr());
    // The output of a refused call is unspecified.
    let left = if done == 1 { places } else { Vec::new() };
    (
        done,
        left.into_iter().flat_map(|(.., place)| place).collect(),
    )
}

/// Parameters that own their values.
#[derive(Clone, Debug, Default)]
pub struct Values(Vec<(CString, c_uint, Vec<u8>)>);

impl Values {
    pub fn text(mut self, key: &str, text: &str) -> Self {
        let key = CString::new(key).unwrap();
        self.0.push((key, UTF8_STRING, text.as_bytes().to_vec()));
        self
    }

    pub fn octets(mut self, key: &str, octets: &[u8]) -> Self {
        let key = CString::new(key).unwrap();
        self.0.push((key, Param::OCTET_STRING, octets.to_vec()));
        self
    }

    fn int(mut self, key: &str, number: i32) -> Self {
        let key = CString::new(key).unwrap();
        let octets = number.to_ne_bytes().to_vec();
        self.0.push((key, Param::INTEGER, octets));
        self
    }

    /// Adds a natural number, given with its lowest octet first.
    pub fn number(mut self, key: &str, octets: &[u8]) -> Self {
        let key = CString::new(key).unwrap();
        self.0.push((key, Param::UNSIGNED_INTEGER, octets.to_vec()));
        self
    }

    /// Adds a parameter without a value.
    fn nothing(mut self, key: &str, data_type: c_uint) -> Self {
        let key = CString::new(key).unwrap();
        self.0.push((key, data_type | NOTHING, Vec::new()));
        self
    }

    /// Adds a value of any type and length.
    fn value(mut self, key: &str, data_type: c_uint, value: &[u8]) -> Self {
        let key = CString::new(key).unwrap();
        self.0.push((key, data_type, value.to_vec()));
        self
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn has(&self, key: &str) -> bool {
        self.0
            .iter()
            .any(|(other, ..)| other.to_bytes() == key.as_bytes())
    }

    /// Returns an array that points into the values. A text is followed by a zero.
    pub fn params(&mut self) -> Vec<Param> {
        for (_, data_type, value) in &mut self.0 {
            if *data_type == UTF8_STRING && value.last() != Some(&0) {
                value.push(0);
            }
        }
        let each = self.0.iter_mut().map(|(key, data_type, value)| {
            if *data_type & NOTHING != 0 {
                return Param::new(key, *data_type & !NOTHING, null_mut(), 0);
            }
            let bytes = value.len() - usize::from(*data_type == UTF8_STRING);
            Param::new(key, *data_type, value.as_mut_ptr(), bytes)
        });
        each.chain([Param::END]).collect()
    }
}

/// A script of random bytes that decides the choices.
#[derive(Clone)]
struct Script(std::vec::IntoIter<u8>);

impl Script {
    fn new(seed: u64) -> Self {
        Self(oarlock_testing::seeded_noise(seed, 600).into_iter())
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::from(self.0.next().unwrap_or_default()) % limit
    }

    fn pick<T: Copy>(&mut self, among: &[T]) -> T {
        among[self.below(among.len())]
    }

    /// Returns bytes with one of these lengths.
    fn octets(&mut self, lengths: &[usize]) -> Vec<u8> {
        let bytes = self.pick(lengths);
        oarlock_testing::seeded_noise(self.below(256) as u64 + 1, bytes)
    }
}
