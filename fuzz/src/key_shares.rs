//! Shares and ciphertexts of a peer, of any bytes and cut anywhere, for X25519, ML-KEM and the hybrids: taken or refused as the
//! references do, with the same secret, by the engine and behind EVP.

use arbitrary::Arbitrary;
use oarlock_engine::Error;
use oarlock_engine::agreement::{
    Hybrid, HybridPrivateKey, HybridPublicKey, ML_KEM_SECRET_BYTES, MlKem, MlKemPrivateKey,
    MlKemPublicKey, X25519_BYTES, X25519PrivateKey,
};

use crate::agreements::{
    Given, HybridKey, Seed, hybrid_of, hybrid_takes, ml_kem_opened, ml_kem_pair, ml_kem_sealed,
    ml_kem_takes, name_of, x25519, x25519_public,
};
use crate::evp::{PAIR, Pkey, Values};
use crate::panics;

fuzz_target!(|input: Input| {
    panics::none_in(|| match &input {
        Input::X25519(private, point) => check_x25519(private, &point.get()),
        Input::MlKem(number, seed, subject) => {
            let set = MlKem::ALL[usize::from(*number) % MlKem::ALL.len()];
            check_ml_kem(set, seed, subject);
        }
        Input::Hybrid(number, seed, subject) => check_hybrid(hybrid_of(*number), seed, subject),
    });
});

#[derive(Arbitrary, Debug)]
enum Input {
    X25519([u8; X25519_BYTES], Point),
    MlKem(u8, Seed, Subject),
    Hybrid(u8, Seed, Subject),
}

#[derive(Arbitrary, Debug)]
enum Point {
    Any([u8; X25519_BYTES]),
    /// One of small order, its highest bit, and a change.
    Small(u8, bool, Option<(u8, u8)>),
    /// Bytes of any number.
    Bytes(Vec<u8>),
}

/// What comes in place of what is right.
#[derive(Arbitrary, Debug)]
enum Subject {
    Public(Given),
    Ciphertext(u8, Given),
    Private(Given),
}

impl Point {
    fn get(&self) -> Vec<u8> {
        match self {
            Self::Any(bytes) => bytes.to_vec(),
            Self::Small(number, is_high, change) => {
                let mut point = SMALL[usize::from(*number) % SMALL.len()];
                point[31] |= u8::from(*is_high) << 7;
                if let Some((at, byte)) = change {
                    point[usize::from(*at) % X25519_BYTES] = *byte;
                }
                point.to_vec()
            }
            Self::Bytes(bytes) => bytes.clone(),
        }
    }
}

fn check_x25519(private: &[u8; X25519_BYTES], peer: &[u8]) {
    let expected = x25519(private, peer);
    let key = X25519PrivateKey::from_bytes(private);
    assert_eq!(key.public_key(), *x25519_public(private));
    if let Ok(peer) = peer.try_into() {
        let mut secret = [0xa5; X25519_BYTES];
        let is_agreed = key.agree(peer, &mut secret);
        assert_eq!(is_agreed, expected.is_some());
        assert_eq!(secret.to_vec(), expected.clone().unwrap_or(vec![0; 32]));
    }
    let behind_evp = [0, 1].map(|side| {
        let key = Pkey::raw_private(c"X25519", side, private).expect("any 32 bytes are a key");
        let peer = Pkey::raw_public(c"X25519", side, peer)?;
        key.derive(&peer)
    });
    assert_eq!(behind_evp[0], expected);
    assert_eq!(behind_evp[1], expected);
}

fn check_ml_kem(set: MlKem, seed: &Seed, subject: &Subject) {
    let seed = seed.get();
    let (public, private) = ml_kem_pair(set, &seed);
    let key = MlKemPrivateKey::from_seed(set, &seed).expect("any seed makes a key");
    let mut made = (vec![0; public.len()], vec![0; private.len()]);
    key.write_public_to(&mut made.0).expect("it has its length");
    key.write_to(&mut made.1).expect("it has its length");
    assert!(made == (public.clone(), private.clone()), "{set:?}");
    match subject {
        Subject::Public(given) => {
            let given = given.get(&public);
            let taken = MlKemPublicKey::from_bytes(set, &given);
            assert_eq!(named(&taken), ml_kem_takes(set, &given), "{set:?}");
            let Ok(taken) = taken else { return };
            let mut ciphertext = vec![0; set.ciphertext_bytes()];
            let mut secret = [0; ML_KEM_SECRET_BYTES];
            let done = taken.encapsulate(&mut ciphertext, &mut secret);
            done.expect("a key that was taken");
            if given == public {
                let opened = ml_kem_opened(set, &private, &ciphertext);
                assert_eq!(opened.as_deref(), Some(&secret[..]), "{set:?}");
            }
        }
        Subject::Ciphertext(message, given) => {
            let (ciphertext, _) = ml_kem_sealed(set, &public, *message);
            let given = given.get(&ciphertext);
            opens_alike(set, &key, &private, &given);
        }
        Subject::Private(given) => {
            let given = given.get(&private);
            let taken = MlKemPrivateKey::from_bytes(set, &given);
            let is_taken = named(&taken);
            assert!(is_taken || given != private);
            let Ok(taken) = taken else { return };
            let (ciphertext, _) = ml_kem_sealed(set, &public, 7);
            opens_alike(set, &taken, &given, &ciphertext);
        }
    }
}

fn opens_alike(set: MlKem, key: &MlKemPrivateKey, private: &[u8], ciphertext: &[u8]) {
    let mut secret = [0xa5; ML_KEM_SECRET_BYTES];
    let done = key.decapsulate(ciphertext, &mut secret);
    let opened = named(&done).then(|| secret.to_vec());
    assert_eq!(opened, ml_kem_opened(set, private, ciphertext), "{set:?}");
}

fn check_hybrid(hybrid: Hybrid, seed: &Seed, subject: &Subject) {
    let model = HybridKey::new(hybrid, &seed.get());
    let key = HybridPrivateKey::from_bytes(hybrid, &model.private).expect("a private key");
    let mut public = vec![0; hybrid.public_key_bytes()];
    key.write_public_to(&mut public).expect("it has its length");
    assert!(public == model.public, "{hybrid:?}");
    match subject {
        Subject::Public(given) => {
            let given = given.get(&model.public);
            let is_right = hybrid_takes(hybrid, &given);
            let taken = HybridPublicKey::from_bytes(hybrid, &given);
            assert_eq!(named(&taken), is_right, "{hybrid:?}");
            let peer = Pkey::blank(name_of(hybrid), 1);
            assert_eq!(peer.set_encoded(&given), is_right, "{hybrid:?}");
            let Ok(taken) = taken else { return };
            let mut ciphertext = vec![0; hybrid.ciphertext_bytes()];
            let mut secret = vec![0xa5; hybrid.secret_bytes()];
            let done = taken.encapsulate(&mut ciphertext, &mut secret);
            let made = named(&done).then_some((ciphertext, secret));
            let behind_evp = peer.encapsulate();
            assert_eq!(made.is_some(), behind_evp.is_some(), "{hybrid:?}");
            if given == model.public {
                for (ciphertext, secret) in [made, behind_evp].into_iter().flatten() {
                    assert_eq!(model.opened(&ciphertext), Some(secret), "{hybrid:?}");
                }
            }
        }
        Subject::Ciphertext(message, given) => {
            let (right, _) = model.sealed(*message);
            let given = given.get(&right);
            let expected = model.opened(&given);
            let mut secret = vec![0xa5; hybrid.secret_bytes()];
            let done = key.decapsulate(&given, &mut secret);
            let opened = named(&done).then_some(secret);
            assert_eq!(opened, expected, "{hybrid:?}");
            let values = Values::default().octets(c"priv", &model.private);
            let key = Pkey::of_data(name_of(hybrid), 1, PAIR, &values).expect("a private key");
            let room = hybrid.secret_bytes();
            assert_eq!(key.decapsulate(&given, room), expected, "{hybrid:?}");
            assert_eq!(key.decapsulate(&given, room - 1), None, "{hybrid:?}");
        }
        Subject::Private(given) => {
            let given = given.get(&model.private);
            let taken = HybridPrivateKey::from_bytes(hybrid, &given);
            let is_taken = named(&taken);
            assert!(is_taken || given != model.private);
            let values = Values::default().octets(c"priv", &given);
            let behind_evp = Pkey::of_data(name_of(hybrid), 1, PAIR, &values);
            assert_eq!(behind_evp.is_some(), is_taken, "{hybrid:?}");
            let Ok(taken) = taken else { return };
            let written = taken.to_bytes().expect("a key can be written");
            assert!(*written == given, "{hybrid:?}");
            // Whatever was taken goes with its own public key.
            let public = taken.public_key().expect("it has one");
            let mut ciphertext = vec![0; hybrid.ciphertext_bytes()];
            let mut sent = vec![0; hybrid.secret_bytes()];
            if named(&public.encapsulate(&mut ciphertext, &mut sent)) {
                let mut secret = vec![0; hybrid.secret_bytes()];
                let done = taken.decapsulate(&ciphertext, &mut secret);
                done.expect("its own ciphertext");
                assert_eq!(secret, sent, "{hybrid:?}");
            }
        }
    }
}

/// Whether it was taken; a refusal says why.
fn named<T>(taken: &Result<T, Error>) -> bool {
    match taken {
        Ok(_) => true,
        Err(Error::InvalidKey(said) | Error::InvalidInput(said)) => {
            assert!(!said.is_empty());
            false
        }
        Err(error) => panic!("{error}"),
    }
}

/// The points of small order that are encodings of their own, and those that are not reduced (RFC 7748, 6.1; Bernstein, "Curve25519",
/// "Small-subgroup attacks").
const SMALL: [[u8; X25519_BYTES]; 7] = {
    const fn repeated(first: u8, middle: u8, last: u8) -> [u8; X25519_BYTES] {
        let mut point = [middle; X25519_BYTES];
        point[0] = first;
        point[31] = last;
        point
    }
    [
        repeated(0, 0, 0),
        repeated(1, 0, 0),
        [
            0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa, 0xf1, 0x9f,
            0xc4, 0x6a, 0xda, 0x09, 0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16,
            0x5f, 0x49, 0xb8, 0x00,
        ],
        [
            0x5f, 0x9c, 0x95, 0xbc, 0xa3, 0x50, 0x8c, 0x24, 0xb1, 0xd0, 0xb1, 0x55, 0x9c, 0x83,
            0xef, 0x5b, 0x04, 0x44, 0x5c, 0xc4, 0x58, 0x1c, 0x8e, 0x86, 0xd8, 0x22, 0x4e, 0xdd,
            0xd0, 0x9f, 0x11, 0x57,
        ],
        repeated(0xec, 0xff, 0x7f),
        repeated(0xed, 0xff, 0x7f),
        repeated(0xee, 0xff, 0x7f),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    /// The list above is what it says.
    #[test]
    fn points_of_small_order_are_refused() {
        for number in 0..SMALL.len() as u8 {
            for is_high in [false, true] {
                let point = Point::Small(number, is_high, None).get();
                assert_eq!(x25519(&[7; X25519_BYTES], &point), None, "{point:02x?}");
                check_x25519(&[7; X25519_BYTES], &point);
            }
        }
    }

    /// What is right is taken, and what is not quite is refused or has another secret, by each of them.
    #[test]
    fn subjects_are_checked() {
        for number in 0..3 {
            for given in [
                Given::Edited(Vec::new()),
                Given::Long(100),
                Given::Same(0xff),
            ] {
                let subjects = [
                    Subject::Public(given),
                    Subject::Ciphertext(3, Given::Edited(Vec::new())),
                    Subject::Private(Given::Edited(Vec::new())),
                ];
                for subject in subjects {
                    check_hybrid(hybrid_of(number), &Seed::Same(1), &subject);
                    check_ml_kem(MlKem::ALL[usize::from(number)], &Seed::Same(1), &subject);
                }
            }
        }
    }
}
