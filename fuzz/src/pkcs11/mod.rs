//! Answers of a PKCS#11 module, in the memory that it is given: lists, lengths, attributes and results of any kind, at any
//! of its calls. No panic comes out, what is told of keys is text, and no wrong result of a private key leaves.
#![allow(unsafe_code)]

mod module;

use arbitrary::Arbitrary;
use num_bigint::BigUint;
use oarlock::Accelerator;
use oarlock::device::{Pkcs11Device, Pkcs11Options, TokenKey, TokenName};

use self::module::Odd;
use crate::panics;

fuzz_target!(|input: Input| {
    let name = match input.name {
        Name::Label => TokenName::Label(module::LABEL.into()),
        Name::Serial => TokenName::Serial(module::SERIAL.into()),
        Name::Slot => TokenName::Slot(module::SLOT),
    };
    let pin = input.has_pin.then(|| "1234".to_owned().into());
    module::answers(input.odd);
    // A length that cannot be makes what reads it panic, which ends at the device.
    panics::quietly(|| powers(name, pin));
});

#[derive(Arbitrary, Debug)]
struct Input {
    name: Name,
    has_pin: bool,
    odd: Vec<Odd>,
}

#[derive(Arbitrary, Debug)]
enum Name {
    Label,
    Serial,
    Slot,
}

/// How many powers the token's keys made, all of them right.
fn powers(name: TokenName, pin: Option<zeroize::Zeroizing<String>>) -> usize {
    let failed = |error: &dyn std::fmt::Display| {
        is_line(&error.to_string());
        0
    };
    // The module is the program itself (dlopen(3)).
    let device = match Pkcs11Device::open(Pkcs11Options::new("", name, pin)) {
        Ok(device) => device,
        Err(error) => return failed(&error),
    };
    let keys = match device.keys() {
        Ok(keys) => keys,
        Err(error) => return failed(&error),
    };
    let accelerator = Accelerator::builder().max_threads(0).build().unwrap();
    let mut made = 0;
    for token_key in keys.iter().take(KEYS_MAX) {
        is_shown(token_key);
        let key = match device.key(token_key) {
            Ok(key) => key,
            Err(error) => {
                is_line(&error.to_string());
                continue;
            }
        };
        let (rsa, number) = (accelerator.rsa(&key), [2; 16]);
        match rsa.raw_private(&number) {
            Ok(power) => {
                let public = token_key.public_key().unwrap();
                let [power, e, n] =
                    [&power[..], public.exponent(), public.modulus()].map(BigUint::from_bytes_be);
                assert_eq!(power.modpow(&e, &n), BigUint::from_bytes_be(&number));
                made += 1;
            }
            Err(error) => is_line(&error.to_string()),
        }
    }
    made
}

fn is_shown(key: &TokenKey) {
    let shown = key.to_string();
    assert!(shown.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
    if let Some(problem) = key.problem() {
        is_line(problem);
    }
}

fn is_line(text: &str) {
    assert!(
        !text.is_empty() && !text.contains(['\n', '\u{1b}']),
        "{text:?}"
    );
}

const KEYS_MAX: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_odd_answers_the_token_is_of_use() {
        module::answers(Vec::new());
        let label = TokenName::Label(module::LABEL.into());
        assert_eq!(powers(label, None), 1);
    }
}
