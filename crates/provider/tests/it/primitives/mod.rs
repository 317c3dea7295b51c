//! Key derivation, MACs and key exchange: the default provider's and ours, call by call, with what is regular and with what
//! is not. Both must do the same, give the same bytes and raise the same errors.

mod hybrid;
mod kdf;
mod mac;
mod x25519;

use std::ffi::{CStr, CString, c_uint};

use crate::driver::{Param, libcrypto};

/// The two providers, as properties to fetch by.
const SIDES: [&CStr; 2] = [c"provider=default", c"provider=oarlock"];

/// How many random scripts of each kind are run.
fn rounds() -> u64 {
    match std::env::var("OARLOCK_DIFFERENTIAL_ROUNDS") {
        Ok(rounds) => rounds.parse().unwrap(),
        Err(_) => 3000,
    }
}

/// What a call did: its result, the bytes it gave, and its errors.
type Seen = (i32, Vec<u8>, Vec<(u32, u32)>);

/// Errors that stand behind others, which name a file of OpenSSL's: how many of them there are differs with who fetches.
fn errors() -> Vec<(u32, u32)> {
    libcrypto().errors()
}

const UTF8_STRING: c_uint = 4;

/// Parameters that own their values.
#[derive(Clone, Debug, Default)]
struct Values(Vec<(CString, c_uint, Vec<u8>)>);

impl Values {
    fn text(mut self, key: &str, text: &str) -> Self {
        let key = CString::new(key).unwrap();
        self.0.push((key, UTF8_STRING, text.as_bytes().to_vec()));
        self
    }

    fn octets(mut self, key: &str, octets: &[u8]) -> Self {
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

    fn has(&self, key: &str) -> bool {
        self.0
            .iter()
            .any(|(other, ..)| other.to_bytes() == key.as_bytes())
    }

    /// An array that lives as long as the values. A text has a zero behind it.
    fn params(&mut self) -> Vec<Param> {
        for (_, data_type, value) in &mut self.0 {
            if *data_type == UTF8_STRING && value.last() != Some(&0) {
                value.push(0);
            }
        }
        let each = self.0.iter_mut().map(|(key, data_type, value)| {
            let bytes = value.len() - usize::from(*data_type == UTF8_STRING);
            Param::new(key, *data_type, value.as_mut_ptr(), bytes)
        });
        each.chain([Param::END]).collect()
    }
}

/// Takes choices from a script of random bytes.
struct Script(std::vec::IntoIter<u8>);

impl Script {
    fn new(seed: u64) -> Self {
        Self(oarlock_testing::seeded_noise(seed, 400).into_iter())
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::from(self.0.next().unwrap_or_default()) % limit
    }

    fn pick<T: Copy>(&mut self, among: &[T]) -> T {
        among[self.below(among.len())]
    }

    /// Bytes of one of these lengths.
    fn octets(&mut self, lengths: &[usize]) -> Vec<u8> {
        let bytes = self.pick(lengths);
        oarlock_testing::seeded_noise(self.below(256) as u64 + 1, bytes)
    }
}
