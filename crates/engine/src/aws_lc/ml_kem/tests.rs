use aws_lc_sys::EVP_PKEY_encapsulate_deterministic;
use oarlock_vectors::{MlKemVector, acvp, kat, wycheproof};

use super::*;

const SETS: [(MlKem, &str); 3] = [
    (MlKem::MlKem512, "ML-KEM-512"),
    (MlKem::MlKem768, "ML-KEM-768"),
    (MlKem::MlKem1024, "ML-KEM-1024"),
];

#[test]
fn wycheproof_vectors_hold() {
    let vectors = wycheproof::ml_kem().unwrap();
    assert_eq!(
        vectors.len(),
        261 + 265 + 269 + 3 * (100 + 9) + 200 + 201 + 202
    );
    let invalid = vectors.iter().filter(|vector| !vector.is_valid).count();
    assert_eq!(invalid, 3 * (120 + 40 + 6) + 8 + 12 + 16);
    let mut done = Done::default();
    for vector in &vectors {
        let set = SETS.iter().find(|(_, name)| *name == vector.set).unwrap().0;
        assert_eq!(
            holds(set, vector, &mut done).is_ok(),
            vector.is_valid,
            "{}",
            vector.source
        );
    }
    assert_eq!(
        (done.generated, done.encapsulated),
        (300 + 3 * 161, 3 * 133)
    );
    assert_eq!((done.imported, done.decapsulated), (3 * 5, 3 * (161 + 3)));
}

/// NIST's vectors (ACVP), and the known answers to a DRBG's bytes.
#[test]
fn published_vectors_hold() {
    for (vectors, [generated, imported, encapsulated, decapsulated]) in [
        (acvp::ml_kem(), [2, 2, 2, 2]),
        (kat::ml_kem(), [3000, 3000, 3000, 6000]),
    ] {
        let mut done = Done::default();
        for vector in vectors.unwrap() {
            let set = SETS.iter().find(|(_, name)| *name == vector.set).unwrap().0;
            let held = holds(set, &vector, &mut done);
            assert!(held.is_ok(), "{}: {held:?}", vector.source);
        }
        assert_eq!(
            [done.generated, done.imported],
            [generated, imported],
            "{done:?}"
        );
        assert_eq!(
            [done.encapsulated, done.decapsulated],
            [encapsulated, decapsulated],
            "{done:?}"
        );
    }
}

/// The number of completed operations of each kind.
#[derive(Default, Debug)]
struct Done {
    generated: usize,
    imported: usize,
    encapsulated: usize,
    decapsulated: usize,
}

fn holds(set: MlKem, vector: &MlKemVector, done: &mut Done) -> Result<(), Error> {
    let MlKemVector {
        seed,
        public_key,
        private_key,
        random,
        ciphertext,
        ..
    } = vector;
    if !random.is_empty() {
        let public = MlKemPublicKey::from_bytes(set, public_key)?;
        let (made, secret) = encapsulate_deterministic(&public, random);
        assert_eq!(
            (&made, &secret[..]),
            (ciphertext, &vector.secret[..]),
            "{}",
            vector.source
        );
        done.encapsulated += 1;
        return Ok(());
    }
    let private = if seed.is_empty() {
        let private = MlKemPrivateKey::from_bytes(set, private_key)?;
        done.imported += 1;
        private
    } else {
        let unfit = |_| Error::InvalidKey("the seed".into());
        let seed = seed[..].try_into().map_err(unfit)?;
        MlKemPrivateKey::from_seed(set, seed)?
    };
    if !seed.is_empty() {
        let mut made = vec![0; set.public_key_bytes()];
        private.write_public_to(&mut made)?;
        if !public_key.is_empty() {
            assert_eq!(&made, public_key, "{}", vector.source);
        }
        let mut made = vec![0; set.private_key_bytes()];
        private.write_to(&mut made)?;
        if !private_key.is_empty() {
            assert_eq!(&made, private_key, "{}", vector.source);
        }
        MlKemPrivateKey::from_bytes(set, &made)?;
    }
    if !ciphertext.is_empty() {
        let mut secret = [0; SECRET_BYTES];
        private.decapsulate(ciphertext, &mut secret)?;
        assert_eq!(secret[..], vector.secret, "{}", vector.source);
        done.decapsulated += 1;
    }
    done.generated += usize::from(!seed.is_empty());
    Ok(())
}

fn encapsulate_deterministic(key: &MlKemPublicKey, m: &[u8]) -> (Vec<u8>, [u8; SECRET_BYTES]) {
    let context = Context::of(&key.0.inner).unwrap();
    let mut ciphertext = vec![0; key.set().ciphertext_bytes()];
    let mut secret = [0; SECRET_BYTES];
    let (mut ciphertext_bytes, mut secret_bytes) = (ciphertext.len(), secret.len());
    let mut m_bytes = m.len();
    // SAFETY: the context has a public key, and all buffers have the lengths passed with them.
    let done = unsafe {
        EVP_PKEY_encapsulate_deterministic(
            context.as_ptr(),
            ciphertext.as_mut_ptr(),
            &mut ciphertext_bytes,
            secret.as_mut_ptr(),
            &mut secret_bytes,
            m.as_ptr(),
            &mut m_bytes,
        )
    };
    assert_eq!(done, 1);
    (ciphertext, secret)
}

#[test]
fn both_sides_have_the_same_secret() {
    for (set, name) in SETS {
        let private = MlKemPrivateKey::generate(set).unwrap();
        let public = public_of(&private);
        let (ciphertext, secret) = encapsulated(&public);
        let (other, others) = encapsulated(&public);
        assert!(secret != others && ciphertext != other, "{name}");
        assert_eq!(decapsulated(&private, &ciphertext), secret, "{name}");
        assert_eq!(decapsulated(&private, &other), others, "{name}");
    }
}

#[test]
fn an_altered_ciphertext_has_a_secret_of_its_own() {
    for (set, name) in SETS {
        let private = MlKemPrivateKey::generate(set).unwrap();
        let (mut ciphertext, secret) = encapsulated(&public_of(&private));
        for at in [0, ciphertext.len() / 2, ciphertext.len() - 1] {
            ciphertext[at] ^= 1;
            let rejected = decapsulated(&private, &ciphertext);
            assert_ne!(rejected, secret, "{name} {at}");
            assert_eq!(decapsulated(&private, &ciphertext), rejected, "{name} {at}");
            ciphertext[at] ^= 1;
        }
        let other = MlKemPrivateKey::generate(set).unwrap();
        assert_ne!(decapsulated(&other, &ciphertext), secret, "{name}");
    }
}

#[test]
fn lengths_other_than_the_right_one_are_refused() {
    for (set, name) in SETS {
        let private = MlKemPrivateKey::generate(set).unwrap();
        let public = public_of(&private);
        let mut secret = [7; SECRET_BYTES];
        for bytes in [0, 1, set.ciphertext_bytes() - 1, set.ciphertext_bytes() + 1] {
            let refused = private.decapsulate(&vec![0; bytes], &mut secret);
            assert!(
                matches!(refused, Err(Error::InvalidInput(_))),
                "{name} {bytes}"
            );
            let refused = public.encapsulate(&mut vec![0; bytes], &mut secret);
            assert!(
                matches!(refused, Err(Error::InvalidInput(_))),
                "{name} {bytes}"
            );
        }
        assert_eq!(secret, [7; SECRET_BYTES]);
        let mut bytes = vec![0; set.private_key_bytes()];
        private.write_to(&mut bytes).unwrap();
        let public = bytes[384 * set.rank()..][..set.public_key_bytes()].to_vec();
        for cut in [0, 1, public.len() - 1] {
            assert!(
                MlKemPublicKey::from_bytes(set, &public[..cut]).is_err(),
                "{name} {cut}"
            );
        }
        for cut in [0, 1, bytes.len() - 1] {
            assert!(
                MlKemPrivateKey::from_bytes(set, &bytes[..cut]).is_err(),
                "{name} {cut}"
            );
        }
        assert!(private.write_to(&mut []).is_err() && private.write_public_to(&mut []).is_err());
    }
}

#[test]
fn keys_that_do_not_hang_together_are_refused() {
    for (set, name) in SETS {
        let [one, other] = [(), ()].map(|()| {
            let mut bytes = vec![0; set.private_key_bytes()];
            MlKemPrivateKey::generate(set)
                .unwrap()
                .write_to(&mut bytes)
                .unwrap();
            bytes
        });
        assert!(MlKemPrivateKey::from_bytes(set, &one).is_ok(), "{name}");
        // The private half of one key with the public half, and its hash, of the other.
        let at = 384 * set.rank();
        let mixed = [&one[..at], &other[at..]].concat();
        assert!(MlKemPrivateKey::from_bytes(set, &mixed).is_err(), "{name}");
        let mut altered = one.clone();
        altered[at + 3] ^= 1;
        assert!(
            MlKemPrivateKey::from_bytes(set, &altered).is_err(),
            "{name}"
        );
        // A coefficient of 4095 is not reduced.
        let mut public = one[at..][..set.public_key_bytes()].to_vec();
        public[..2].fill(0xff);
        assert!(MlKemPublicKey::from_bytes(set, &public).is_err(), "{name}");
    }
}

fn public_of(private: &MlKemPrivateKey) -> MlKemPublicKey {
    let mut bytes = vec![0; private.set().public_key_bytes()];
    private.write_public_to(&mut bytes).unwrap();
    let public = MlKemPublicKey::from_bytes(private.set(), &bytes).unwrap();
    let mut again = vec![0; bytes.len()];
    public.write_to(&mut again).unwrap();
    assert_eq!(again, bytes);
    public
}

fn encapsulated(public: &MlKemPublicKey) -> (Vec<u8>, [u8; SECRET_BYTES]) {
    let mut ciphertext = vec![0; public.set().ciphertext_bytes()];
    let mut secret = [0; SECRET_BYTES];
    public.encapsulate(&mut ciphertext, &mut secret).unwrap();
    (ciphertext, secret)
}

fn decapsulated(private: &MlKemPrivateKey, ciphertext: &[u8]) -> [u8; SECRET_BYTES] {
    let mut secret = [0; SECRET_BYTES];
    private.decapsulate(ciphertext, &mut secret).unwrap();
    secret
}
