//! RSA keys from arbitrary bytes: no panic; an accepted key gives right results or a named error, and is
//! written as it was read.

use std::sync::LazyLock;

use arbitrary::Arbitrary;
use oarlock::rsa::{Hash, RsaPrivateKey, RsaPrivateNumbers, RsaPublicKey, SignatureScheme};
use oarlock::{Accelerator, Error};
use pkcs8::der::{Decode, SecretDocument};
use pkcs8::{EncodePublicKey, PrivateKeyInfoRef};

fuzz_target!(|input: Input| {
    match &input {
        Input::Any(bytes) => check_bytes(bytes),
        Input::Text(text) => check_text(text),
        Input::Der(file, edits) => check_bytes(&edited(&DER[*file as usize % DER.len()], edits)),
        Input::Pem(file, edits) => {
            let bytes = edited(PEM[*file as usize % PEM.len()].as_bytes(), edits);
            check_text(&String::from_utf8_lossy(&bytes));
        }
        Input::Numbers(edits) => check_numbers(edits),
    }
});

#[derive(Arbitrary, Debug)]
enum Input {
    Any(Vec<u8>),
    Text(String),
    /// A file that is right, but for edits.
    Der(u8, Vec<Edit>),
    Pem(u8, Vec<Edit>),
    /// Which of the numbers of a key, and what of it.
    Numbers(Vec<(u8, Edit)>),
}

/// A change of a file at a place, counted modulo its length.
#[derive(Arbitrary, Debug)]
pub(crate) enum Edit {
    Put(u16, u8),
    Insert(u16, u8),
    Remove(u16),
    Cut(u16),
}

/// The bytes after these edits.
pub(crate) fn edited(bytes: &[u8], edits: &[Edit]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for edit in edits {
        let (Edit::Put(at, _) | Edit::Insert(at, _) | Edit::Remove(at) | Edit::Cut(at)) = edit;
        let at = usize::from(*at) % (bytes.len() + 1);
        match edit {
            Edit::Insert(_, byte) => bytes.insert(at, *byte),
            Edit::Cut(_) => bytes.truncate(at),
            _ if at == bytes.len() => {}
            Edit::Put(_, byte) => bytes[at] = *byte,
            Edit::Remove(_) => drop(bytes.remove(at)),
        }
    }
    bytes
}

fn check_bytes(bytes: &[u8]) {
    check_private(RsaPrivateKey::from_der(bytes));
    check_public(RsaPublicKey::from_der(bytes));
    if let Ok(text) = std::str::from_utf8(bytes) {
        check_text(text);
    }
}

fn check_text(text: &str) {
    check_private(RsaPrivateKey::from_pem(text));
    check_public(RsaPublicKey::from_pem(text));
}

fn check_numbers(edits: &[(u8, Edit)]) {
    let pkcs8 = PrivateKeyInfoRef::from_der(&DER[0]).expect("a file that is right");
    let key = pkcs1::RsaPrivateKeyRef::from_der(pkcs8.private_key.as_bytes());
    let key = key.expect("a file that is right");
    let mut numbers = [
        key.modulus,
        key.public_exponent,
        key.private_exponent,
        key.prime1,
        key.prime2,
        key.exponent1,
        key.exponent2,
        key.coefficient,
    ]
    .map(|number| number.as_bytes().to_vec());
    for (which, edit) in edits {
        let number = &mut numbers[usize::from(*which) % 8];
        *number = edited(number, std::slice::from_ref(edit));
    }
    let [n, e, d, p, q, dp, dq, qinv] = numbers.each_ref().map(|number| &number[..]);
    check_private(RsaPrivateKey::from_numbers(n, e, d));
    check_private(RsaPrivateKey::from_all_numbers(&RsaPrivateNumbers {
        n,
        e,
        d,
        p,
        q,
        dp,
        dq,
        qinv,
    }));
    check_public(RsaPublicKey::from_numbers(n, e));
}

fn check_private(key: Result<RsaPrivateKey, Error>) {
    let Some(key) = taken(key) else { return };
    let scheme = SignatureScheme::Pkcs1(Hash::Sha256);
    match ACCELERATOR.rsa(&key).sign(scheme, b"message") {
        Ok(signature) => ACCELERATOR
            .rsa_public(key.public_key())
            .verify(scheme, b"message", &signature)
            .expect("what was signed verifies"),
        // The primes are none, which is not looked at before.
        Err(Error::DeviceFailed { .. }) => {}
        Err(error) => panic!("{error}"),
    }
    check_public(Ok(key.public_key().clone()));
}

fn check_public(key: Result<RsaPublicKey, Error>) {
    let Some(key) = taken(key) else { return };
    assert!((1024..=4096).contains(&key.bits()));
    let der = key.to_public_key_der().expect("a key can be written");
    assert_eq!(RsaPublicKey::from_der(der.as_bytes()).as_ref(), Ok(&key));
}

fn taken<K>(key: Result<K, Error>) -> Option<K> {
    match key {
        Ok(key) => Some(key),
        Err(Error::InvalidKey(said)) => {
            assert!(!said.is_empty());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

static ACCELERATOR: LazyLock<Accelerator> = LazyLock::new(|| {
    let accelerator = Accelerator::builder().max_threads(0).build();
    accelerator.expect("these options are right")
});

static DER: LazyLock<[Vec<u8>; 4]> = LazyLock::new(|| {
    [PEM[0], PEM[1], PEM[2], PEM[3]].map(|pem| {
        let (_, document) = SecretDocument::from_pem(pem).expect("a file that is right");
        document.as_bytes().to_vec()
    })
});

const PEM: [&str; 6] = [
    include_str!("../../crates/oarlock/tests/keys/rsa1024.pem"),
    include_str!("../../crates/oarlock/tests/keys/rsa2048.pkcs1.pem"),
    include_str!("../../crates/oarlock/tests/keys/rsa2048.pub.pem"),
    include_str!("../../crates/oarlock/tests/keys/rsa2048.pub.pkcs1.pem"),
    include_str!("../../crates/oarlock/tests/keys/rsa2048.openssh"),
    include_str!("../../crates/oarlock/tests/keys/rsa2048.ssh.pub"),
];
