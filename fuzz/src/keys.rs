//! Keys of every type from arbitrary bytes: no panic; an accepted key signs, agrees or decapsulates as it should, or is
//! refused with a named error, and is read again as it was written.

use std::sync::LazyLock;

use arbitrary::Arbitrary;
use oarlock::Error;
use oarlock::keys::{KeyType, PrivateKey, PublicKey, Scheme};

use crate::rsa_keys::{Edit, edited};

fuzz_target!(|input: Input| {
    match &input {
        Input::Any(bytes) => check_bytes(bytes),
        Input::Edited(file, edits) => {
            let file = &FILES[usize::from(*file) % FILES.len()];
            check_bytes(&edited(file, edits));
        }
        Input::Raw(number, bytes) => {
            let key_type = KeyType::ALL[usize::from(*number) % KeyType::ALL.len()];
            check_private(PrivateKey::from_raw(key_type, bytes));
            check_public(PublicKey::from_raw(key_type, bytes));
        }
        Input::EditedRaw(number, edits) => {
            let key = &RAW[usize::from(*number) % RAW.len()];
            let key_type = key.key_type();
            let private = key.to_raw().expect("it was made of one");
            check_private(PrivateKey::from_raw(key_type, &edited(&private, edits)));
            let public = key.public_key().to_raw().expect("it was made of one");
            check_public(PublicKey::from_raw(key_type, &edited(&public, edits)));
        }
    }
});

#[derive(Arbitrary, Debug)]
enum Input {
    Any(Vec<u8>),
    /// A file that is right, but for edits.
    Edited(u8, Vec<Edit>),
    /// A type, and any bytes.
    Raw(u8, Vec<u8>),
    /// A type, and bytes that are right, but for edits.
    EditedRaw(u8, Vec<Edit>),
}

fn check_bytes(bytes: &[u8]) {
    check_private(PrivateKey::from_bytes(bytes));
    check_public(PublicKey::from_bytes(bytes));
}

fn check_private(key: Result<PrivateKey, Error>) {
    let Some(key) = taken(key) else { return };
    let key_type = key.key_type();
    check_public(Ok(key.public_key().clone()));
    if key_type == KeyType::Rsa {
        // Whether its primes are primes is not looked at: the target `rsa_keys` has those.
        return;
    }
    let der = key.to_pkcs8_der().expect("a key can be written");
    let again = PrivateKey::from_bytes(&der).expect("what was written is read");
    assert_eq!(again.public_key(), key.public_key());
    assert_eq!(again.to_pkcs8_der().as_ref(), Ok(&der));
    if let Some(scheme) = Scheme::usual(key_type) {
        let signature = key.sign(&scheme, b"message").expect("a key signs");
        let public = again.public_key();
        public
            .verify(&scheme, b"message", &signature)
            .expect("what was signed verifies");
    }
    if key_type.agrees() {
        let other = PrivateKey::generate(key_type).expect("keys are generated");
        let secret = key.agree(other.public_key()).expect("keys agree");
        assert_eq!(other.agree(key.public_key()), Ok(secret));
    }
    if key_type.encapsulates() {
        let (ciphertext, secret) = again
            .public_key()
            .encapsulate()
            .expect("a key encapsulates");
        assert_eq!(key.decapsulate(&ciphertext), Ok(secret));
    }
}

fn check_public(key: Result<PublicKey, Error>) {
    let Some(key) = taken(key) else { return };
    let der = key.to_spki_der().expect("a key can be written");
    assert_eq!(PublicKey::from_bytes(&der).as_ref(), Ok(&key));
    let pem = key.to_spki_pem().expect("a key can be written");
    assert_eq!(PublicKey::from_bytes(pem.as_bytes()).as_ref(), Ok(&key));
    match Scheme::usual(key.key_type()) {
        Some(scheme) => {
            let refused = key.verify(&scheme, b"message", &der[..der.len().min(64)]);
            assert_eq!(refused, Err(Error::InvalidSignature));
        }
        None => assert_eq!(key.signature_bytes_max(), 0),
    }
}

fn taken<K>(key: Result<K, Error>) -> Option<K> {
    match key {
        Ok(key) => Some(key),
        Err(Error::InvalidKey(said) | Error::InvalidInput(said)) => {
            assert!(!said.is_empty());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// A key of each type that has a raw form.
static RAW: LazyLock<Vec<PrivateKey>> = LazyLock::new(|| {
    let of = |key_type: KeyType| {
        let bytes = match key_type {
            KeyType::Ec(curve) => curve.bytes(),
            KeyType::MlKem(_) => 64,
            _ => 32,
        };
        // Less than the order of a curve.
        let mut raw = vec![7; bytes];
        raw[0] = 0;
        PrivateKey::from_raw(key_type, &raw).expect("these bytes are a key")
    };
    let types = KeyType::ALL.into_iter();
    types.filter(|one| *one != KeyType::Rsa).map(of).collect()
});

static FILES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let mut files: Vec<Vec<u8>> = TEXTS.iter().map(|text| text.as_bytes().to_vec()).collect();
    for key in RAW.iter() {
        let public = key.public_key();
        files.push(key.to_pkcs8_der().expect("a key can be written").to_vec());
        let pem = key.to_pkcs8_pem().expect("a key can be written");
        files.push(pem.as_bytes().to_vec());
        files.push(public.to_spki_der().expect("a key can be written"));
        files.push(public.to_spki_pem().expect("a key can be written").into());
    }
    files
});

const TEXTS: [&str; 7] = [
    include_str!("../../crates/oarlock/tests/keys/rsa1024.pem"),
    include_str!("../../crates/oarlock/tests/keys/ed25519.openssh"),
    include_str!("../../crates/oarlock/tests/keys/ed25519.ssh.pub"),
    include_str!("../../crates/oarlock/tests/keys/p521.openssh"),
    include_str!("../../crates/oarlock/tests/keys/p521.ssh.pub"),
    include_str!("../../crates/oarlock/tests/keys/p256.sec1.pem"),
    include_str!("../../crates/oarlock/tests/keys/ml-dsa-44.both.pem"),
];
