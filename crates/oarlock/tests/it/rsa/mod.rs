//! RSA: keys, signatures, encryption, the bare operation.

mod fork;
mod traits;

use std::process::Command;

use oarlock::rsa::{
    EncryptionScheme, Hash, PssSalt, RsaPrivateKey, RsaPrivateNumbers, RsaPublicKey,
    SignatureScheme,
};
use oarlock::{Accelerator, Error};
use pkcs1::RsaPrivateKeyRef;
use pkcs1::der::asn1::UintRef;
use pkcs1::der::{Decode, Encode};
use sha2::{Digest, Sha256};

const HASHES: [Hash; 6] = [
    Hash::Sha224,
    Hash::Sha256,
    Hash::Sha384,
    Hash::Sha512,
    Hash::Sha512_224,
    Hash::Sha512_256,
];
const NAMES: [&str; 6] = [
    "sha224",
    "sha256",
    "sha384",
    "sha512",
    "sha512-224",
    "sha512-256",
];
const KEYS: [&str; 4] = [
    include_str!("../../keys/rsa1024.pem"),
    include_str!("../../keys/rsa2048.pem"),
    include_str!("../../keys/rsa3072.pem"),
    include_str!("../../keys/rsa4096.pem"),
];
const PKCS1: &str = include_str!("../../keys/rsa2048.pkcs1.pem");

fn accelerator() -> Accelerator {
    Accelerator::builder().build().unwrap()
}

fn key(pem: &str) -> RsaPrivateKey {
    RsaPrivateKey::from_pem(pem).unwrap()
}

fn said<T>(result: Result<T, Error>) -> String {
    match result.map(|_| ()) {
        Err(Error::InvalidKey(said) | Error::InvalidInput(said)) => said,
        other => panic!("{other:?} says nothing"),
    }
}

#[test]
fn what_is_signed_verifies_and_nothing_else_does() {
    for pem in KEYS {
        let key = key(pem);
        let rsa = accelerator().rsa(&key);
        for hash in HASHES {
            for scheme in [SignatureScheme::Pkcs1(hash), SignatureScheme::Pss(hash)] {
                let what = format!("{scheme:?}, {} bits", key.public_key().bits());
                let signature = match rsa.sign(scheme, b"message") {
                    Err(Error::InvalidInput(said)) => {
                        assert_eq!(
                            said,
                            "a key of 1024 bits is too short for PSS with SHA-512 and a salt of 64 bytes"
                        );
                        assert_eq!(scheme, SignatureScheme::Pss(Hash::Sha512));
                        continue;
                    }
                    signature => signature.unwrap(),
                };
                assert_eq!(signature.len(), key.public_key().bytes(), "{what}");
                let public = rsa.public();
                assert_eq!(
                    public.verify(scheme, b"message", &signature),
                    Ok(()),
                    "{what}"
                );
                let wrong = Err(Error::InvalidSignature);
                assert_eq!(
                    public.verify(scheme, b"massage", &signature),
                    wrong,
                    "{what}"
                );
                for at in [0, 1, signature.len() / 2, signature.len() - 1] {
                    let mut altered = signature.clone();
                    altered[at] ^= 1;
                    assert_eq!(public.verify(scheme, b"message", &altered), wrong, "{what}");
                }
                assert_eq!(public.verify(scheme, b"message", &signature[1..]), wrong);
                assert_eq!(public.verify(scheme, b"message", &[]), wrong);
            }
        }
    }
}

#[test]
fn a_digest_is_as_good_as_its_message_and_has_its_length() {
    let rsa = accelerator().rsa(&key(KEYS[1]));
    let scheme = SignatureScheme::Pkcs1(Hash::Sha256);
    // SHA-256 of "abc" (FIPS 180-4, examples).
    let digest = b"\xba\x78\x16\xbf\x8f\x01\xcf\xea\x41\x41\x40\xde\x5d\xae\x22\x23\
                   \xb0\x03\x61\xa3\x96\x17\x7a\x9c\xb4\x10\xff\x61\xf2\x00\x15\xad";
    let signature = rsa.sign_digest(scheme, digest).unwrap();
    assert_eq!(signature, rsa.sign(scheme, b"abc").unwrap());
    let public = rsa.public();
    assert_eq!(public.verify_digest(scheme, digest, &signature), Ok(()));
    let wrong = "a digest of 31 bytes: those of this scheme have 32";
    assert_eq!(said(rsa.sign_digest(scheme, &digest[1..])), wrong);
    assert_eq!(
        said(public.verify_digest(scheme, &digest[1..], &signature)),
        wrong
    );
}

#[test]
fn what_is_encrypted_decrypts_and_what_is_altered_does_not() {
    for pem in KEYS {
        let key = key(pem);
        let bytes = key.public_key().bytes();
        let rsa = accelerator().rsa(&key);
        let mut schemes = vec![(EncryptionScheme::Pkcs1, 11)];
        for hash in HASHES {
            schemes.push((EncryptionScheme::oaep(hash), 2 * hash.bytes() + 2));
            let label = b"label".to_vec();
            let mgf1 = Hash::Sha1;
            schemes.push((
                EncryptionScheme::Oaep { hash, mgf1, label },
                2 * hash.bytes() + 2,
            ));
        }
        for (scheme, overhead) in schemes {
            let Some(bytes_max) = bytes.checked_sub(overhead) else {
                assert_eq!(
                    said(rsa.public().encrypt(&scheme, b"")),
                    "a key of 128 bytes is too short for OAEP with this hash"
                );
                assert_eq!(
                    rsa.decrypt(&scheme, &[1; 128]),
                    Err(Error::DecryptionFailed)
                );
                continue;
            };
            for length in [0, 1, bytes_max / 2, bytes_max] {
                let message: Vec<u8> = (0..length).map(|i| i as u8).collect();
                let ciphertext = rsa.public().encrypt(&scheme, &message).unwrap();
                assert_eq!(
                    **rsa.decrypt(&scheme, &ciphertext).unwrap(),
                    message,
                    "{scheme:?}"
                );
                let failed = Err(Error::DecryptionFailed);
                assert_eq!(rsa.decrypt(&scheme, &ciphertext[1..]), failed);
                let mut altered = ciphertext;
                altered[bytes - 1] ^= 1;
                let result = rsa.decrypt(&scheme, &altered);
                if scheme == EncryptionScheme::Pkcs1 {
                    assert!(result.is_ok());
                    assert_eq!(rsa.decrypt(&scheme, &altered), result);
                } else {
                    assert_eq!(result, failed);
                }
            }
            let too_long = said(rsa.public().encrypt(&scheme, &vec![0; bytes_max + 1]));
            assert!(
                too_long.contains(&format!("takes {bytes_max} at most")),
                "{too_long}"
            );
        }
        let label = EncryptionScheme::Oaep {
            hash: Hash::Sha256,
            mgf1: Hash::Sha256,
            label: b"other".to_vec(),
        };
        let scheme = EncryptionScheme::oaep(Hash::Sha256);
        let ciphertext = rsa.public().encrypt(&scheme, b"message").unwrap();
        assert_eq!(
            rsa.decrypt(&label, &ciphertext),
            Err(Error::DecryptionFailed)
        );
    }
}

#[test]
fn the_bare_operations_undo_each_other_and_take_every_number_below_the_modulus() {
    for pem in KEYS {
        let rsa = accelerator().rsa(&key(pem));
        let modulus = rsa.public().key().modulus().to_vec();
        let bytes = modulus.len();
        let mut largest = modulus.clone();
        largest[bytes - 1] -= 1;
        let mut before = modulus.clone();
        before[bytes - 1] -= 2 * u8::from(before[bytes - 1] > 1);
        let mut random = vec![0; bytes];
        rand::fill(&mut random[1..]);
        for number in [
            vec![],
            vec![0],
            vec![1],
            vec![2],
            vec![0; 600],
            largest,
            before,
            random,
        ] {
            let mut whole = vec![0; bytes.saturating_sub(number.len())];
            whole.extend(&number[number.len().saturating_sub(bytes)..]);
            if whole >= modulus {
                continue;
            }
            let power = rsa.raw_private(&number).unwrap();
            assert_eq!(power.len(), bytes);
            assert_eq!(rsa.public().raw_public(&power).unwrap(), whole);
            let power = rsa.public().raw_public(&number).unwrap();
            assert_eq!(**rsa.raw_private(&power).unwrap(), whole);
        }
        let too_large = "the number is not less than the modulus";
        let mut longer = vec![0; bytes + 1];
        longer[0] = 1;
        for number in [&modulus, &longer] {
            assert_eq!(said(rsa.raw_private(number)), too_large);
            assert_eq!(said(rsa.public().raw_public(number)), too_large);
        }
    }
}

#[test]
fn every_format_holds_the_same_key() {
    let key = key(KEYS[1]);
    let accelerator = accelerator();
    let scheme = SignatureScheme::Pkcs1(Hash::Sha512);
    let signature = accelerator.rsa(&key).sign(scheme, b"message").unwrap();
    let (_, pkcs8) = pkcs1::der::SecretDocument::from_pem(KEYS[1]).unwrap();
    let (_, pkcs1) = pkcs1::der::SecretDocument::from_pem(PKCS1).unwrap();
    for other in [
        RsaPrivateKey::from_pem(PKCS1),
        RsaPrivateKey::from_pem(include_str!("../../keys/rsa2048.openssh")),
        RsaPrivateKey::from_pem(&format!("\n{PKCS1}\n")),
        RsaPrivateKey::from_der(pkcs8.as_bytes()),
        RsaPrivateKey::from_der(pkcs1.as_bytes()),
    ] {
        let other = other.unwrap();
        assert_eq!(other.public_key(), key.public_key());
        assert_eq!(
            accelerator.rsa(&other).sign(scheme, b"message").unwrap(),
            signature
        );
    }
    let of_3072 = RsaPrivateKey::from_pem(include_str!("../../keys/rsa3072.openssh")).unwrap();
    assert_eq!(of_3072.public_key(), self::key(KEYS[2]).public_key());
    let public = include_str!("../../keys/rsa2048.pub.pem");
    let (_, spki) = pkcs1::der::Document::from_pem(public).unwrap();
    for public in [
        RsaPublicKey::from_pem(public),
        RsaPublicKey::from_pem(include_str!("../../keys/rsa2048.pub.pkcs1.pem")),
        RsaPublicKey::from_pem(include_str!("../../keys/rsa2048.ssh.pub")),
        RsaPublicKey::from_der(spki.as_bytes()),
    ] {
        assert_eq!(&public.unwrap(), key.public_key());
    }
    assert_eq!(format!("{key:?}"), "RsaPrivateKey { bits: 2048, .. }");
}

#[test]
fn a_key_without_its_primes_is_the_same_key() {
    for pem in KEYS {
        let key = key(pem);
        let (_, document) = pkcs1::der::SecretDocument::from_pem(pem).unwrap();
        let pkcs8 = pkcs8::PrivateKeyInfoRef::from_der(document.as_bytes()).unwrap();
        let whole = RsaPrivateKeyRef::from_der(pkcs8.private_key.as_bytes()).unwrap();
        let [n, e, d] = [whole.modulus, whole.public_exponent, whole.private_exponent]
            .map(|number| number.as_bytes());
        let zero = UintRef::new(&[0]).unwrap();
        let mut without = whole.clone();
        without.prime1 = zero;
        without.prime2 = zero;
        without.exponent1 = zero;
        without.exponent2 = zero;
        without.coefficient = zero;
        let zeros_before = [&[0, 0], d].concat();
        let all = RsaPrivateNumbers {
            n,
            e,
            d: &zeros_before,
            p: whole.prime1.as_bytes(),
            q: whole.prime2.as_bytes(),
            dp: whole.exponent1.as_bytes(),
            dq: whole.exponent2.as_bytes(),
            qinv: whole.coefficient.as_bytes(),
        };
        let scheme = SignatureScheme::Pkcs1(Hash::Sha256);
        let signature = accelerator().rsa(&key).sign(scheme, b"message").unwrap();
        for other in [
            RsaPrivateKey::from_numbers(n, e, d),
            RsaPrivateKey::from_numbers(n, e, &zeros_before),
            RsaPrivateKey::from_der(&without.to_der().unwrap()),
            RsaPrivateKey::from_all_numbers(&all),
        ] {
            let rsa = accelerator().rsa(&other.unwrap());
            assert_eq!(rsa.key().public_key(), key.public_key());
            assert_eq!(rsa.sign(scheme, b"message").unwrap(), signature);
            // Keyed with d, which all of them have.
            let other = rsa.decrypt(&EncryptionScheme::Pkcs1, &signature).unwrap();
            let first = accelerator().rsa(&key);
            assert_eq!(
                other,
                first.decrypt(&EncryptionScheme::Pkcs1, &signature).unwrap()
            );
        }
        let wrong = "the private exponent is not the inverse of the public one";
        let mut altered = d.to_vec();
        *altered.last_mut().unwrap() ^= 2;
        for d in [&altered[..], &[], &[1], &d[1..]] {
            assert_eq!(said(RsaPrivateKey::from_numbers(n, e, d)), wrong);
        }
        // One prime alone is none.
        without.prime1 = whole.prime1;
        assert_eq!(
            said(RsaPrivateKey::from_der(&without.to_der().unwrap())),
            "the modulus is not the product of the two primes"
        );
    }
}

#[test]
fn a_salt_is_as_long_as_was_said() {
    let rsa = accelerator().rsa(&key(KEYS[0]));
    let public = rsa.public();
    let scheme = |salt| SignatureScheme::PssWith {
        hash: Hash::Sha512,
        mgf1: Hash::Sha256,
        salt,
    };
    let wrong = Err(Error::InvalidSignature);
    for bytes in [0, 1, 20, 62] {
        let salt = PssSalt::Bytes(bytes);
        let signature = rsa.sign(scheme(salt), b"message").unwrap();
        for (other, expected) in [
            (salt, Ok(())),
            (PssSalt::Any, Ok(())),
            (PssSalt::Bytes(bytes + 1), wrong.clone()),
            (PssSalt::Bytes(usize::MAX), wrong.clone()),
            (PssSalt::Digest, wrong.clone()),
        ] {
            assert_eq!(
                public.verify(scheme(other), b"message", &signature),
                expected,
                "{other:?} for {bytes} bytes"
            );
        }
        assert_eq!(
            public.verify(scheme(PssSalt::Any), b"massage", &signature),
            wrong
        );
        let other_mgf = SignatureScheme::PssWith {
            hash: Hash::Sha512,
            mgf1: Hash::Sha512,
            salt,
        };
        assert_eq!(public.verify(other_mgf, b"message", &signature), wrong);
    }
    for bytes in [63, usize::MAX] {
        assert_eq!(
            said(rsa.sign(scheme(PssSalt::Bytes(bytes)), b"message")),
            format!(
                "a key of 1024 bits is too short for PSS with SHA-512 and a salt of {bytes} bytes"
            )
        );
    }
}

#[test]
fn no_signature_is_made_with_sha1() {
    let rsa = accelerator().rsa(&key(KEYS[1]));
    for scheme in [
        SignatureScheme::Pkcs1(Hash::Sha1),
        SignatureScheme::Pss(Hash::Sha1),
    ] {
        assert_eq!(
            said(rsa.sign(scheme, b"message")),
            "signatures of SHA-1 digests are verified, and not made: take SHA-256"
        );
    }
}

#[test]
fn bad_keys_are_refused_with_what_is_wrong() {
    let (_, document) = pkcs1::der::SecretDocument::from_pem(PKCS1).unwrap();
    let good = || RsaPrivateKeyRef::from_der(document.as_bytes()).unwrap();
    let plus = |number: UintRef<'_>, more: u8| {
        let mut bytes = number.as_bytes().to_vec();
        let last = bytes.len() - 1;
        bytes[last] ^= more;
        bytes
    };
    macro_rules! with {
        ($field:ident, $bytes:expr) => {{
            let bytes = $bytes;
            let mut key = good();
            key.$field = UintRef::new(&bytes).unwrap();
            said(RsaPrivateKey::from_der(&key.to_der().unwrap()))
        }};
    }
    let product = "the modulus is not the product of the two primes";
    let inverse = "the private exponent is not the inverse of the public one";
    let crt = "the CRT exponents or the coefficient do not belong to the primes and the private \
               exponent";
    assert_eq!(with!(modulus, plus(good().modulus, 2)), product);
    assert_eq!(
        with!(modulus, plus(good().modulus, 1)),
        "the modulus is even"
    );
    assert_eq!(with!(prime1, plus(good().prime1, 2)), product);
    assert_eq!(with!(prime2, plus(good().prime2, 2)), product);
    assert_eq!(
        with!(prime2, good().modulus.as_bytes().to_vec()),
        "the numbers are out of range"
    );
    assert_eq!(
        with!(private_exponent, plus(good().private_exponent, 2)),
        inverse
    );
    assert_eq!(with!(public_exponent, vec![3]), inverse);
    assert_eq!(with!(exponent1, plus(good().exponent1, 2)), crt);
    assert_eq!(with!(exponent2, plus(good().exponent2, 2)), crt);
    assert_eq!(with!(coefficient, plus(good().coefficient, 2)), crt);
    let exponent = "the public exponent is not odd, or not between 3 and 2^33";
    for bad in [vec![1], vec![2], vec![4, 0, 0, 0, 1]] {
        assert_eq!(with!(public_exponent, bad), exponent);
    }
    let longer = [good().modulus.as_bytes(), &[1]].concat();
    assert_eq!(
        with!(private_exponent, longer),
        "a part of the private key is longer than the modulus"
    );
    // p = 1, q = n.
    let mut key = good();
    key.prime1 = UintRef::new(&[1]).unwrap();
    key.prime2 = key.modulus;
    assert_eq!(
        said(RsaPrivateKey::from_der(&key.to_der().unwrap())),
        "the numbers are out of range"
    );

    for (modulus, expected) in [
        (
            vec![0xff; 127],
            "the modulus has 1016 bits: RSA keys have 1024 to 4096 here",
        ),
        (
            vec![0xff; 513],
            "the modulus has 4104 bits: RSA keys have 1024 to 4096 here",
        ),
        (
            vec![],
            "the modulus has 0 bits: RSA keys have 1024 to 4096 here",
        ),
        (vec![0xfe; 256], "the modulus is even"),
    ] {
        assert_eq!(said(RsaPublicKey::from_numbers(&modulus, &[3])), expected);
    }
    assert_eq!(
        said(RsaPublicKey::from_numbers(&[0xff; 256], &[2])),
        exponent
    );

    for (pem, expected) in [
        ("", "not a key in PEM: "),
        (
            "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----",
            "not a PKCS#8 private key: ",
        ),
        (
            "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----",
            "PEM of \"CERTIFICATE\": expected PRIVATE KEY",
        ),
        (
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAA=\n-----END ENCRYPTED PRIVATE KEY-----",
            "the private key is encrypted: ",
        ),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END RSA PRIVATE KEY-----",
            "the private key is encrypted: ",
        ),
        (
            "-----BEGIN OPENSSH PRIVATE KEY-----\nMAA=\n-----END OPENSSH PRIVATE KEY-----",
            "not a private key of OpenSSH: ",
        ),
        // Of Ed25519 (RFC 8410, 10.3).
        (
            "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE KEY-----",
            "a key of 1.3.101.112, not of RSA",
        ),
    ] {
        let said = said(RsaPrivateKey::from_pem(pem));
        assert!(said.starts_with(expected), "{said}");
    }
    let cut = &document.as_bytes()[..document.as_bytes().len() - 1];
    assert!(said(RsaPrivateKey::from_der(cut)).starts_with("not an RSAPrivateKey"));
    assert!(said(RsaPublicKey::from_der(b"x")).starts_with("not an RSAPublicKey"));
    assert!(said(RsaPublicKey::from_pem("ssh-rsa x")).starts_with("not a public key of OpenSSH"));
}

#[test]
fn openssl_takes_what_is_made_here_and_the_other_way_round() {
    let folder = std::env::temp_dir().join(format!("oarlock-rsa-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let openssl = |arguments: &str| {
        let output = Command::new("openssl")
            .args(arguments.split_whitespace())
            .current_dir(&folder)
            .output()
            .expect("these tests need openssl");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "openssl {arguments}: {errors}");
    };
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    write("message", b"from one to the other");
    let message = read("message");
    for pem in KEYS {
        let rsa = accelerator().rsa(&key(pem));
        write("key.pem", pem.as_bytes());
        openssl("pkey -in key.pem -pubout -out public.pem");
        for (hash, name) in HASHES.into_iter().zip(NAMES) {
            for (scheme, options) in [
                (SignatureScheme::Pkcs1(hash), ""),
                (
                    SignatureScheme::Pss(hash),
                    "-sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:digest",
                ),
            ] {
                let Ok(signature) = rsa.sign(scheme, &message) else {
                    continue;
                };
                write("signature", &signature);
                openssl(&format!(
                    "dgst -{name} {options} -verify public.pem -signature signature message"
                ));
                openssl(&format!(
                    "dgst -{name} {options} -sign key.pem -out signature message"
                ));
                rsa.public()
                    .verify(scheme, &message, &read("signature"))
                    .unwrap();
            }
            let scheme = EncryptionScheme::oaep(hash);
            if let Ok(ciphertext) = rsa.public().encrypt(&scheme, &message) {
                let options = format!(
                    "-pkeyopt rsa_padding_mode:oaep -pkeyopt rsa_oaep_md:{name} -pkeyopt rsa_mgf1_md:{name}"
                );
                write("ciphertext", &ciphertext);
                openssl(&format!(
                    "pkeyutl -decrypt -inkey key.pem {options} -in ciphertext -out plain"
                ));
                assert_eq!(read("plain"), message);
                openssl(&format!(
                    "pkeyutl -encrypt -pubin -inkey public.pem {options} -in message -out ciphertext"
                ));
                assert_eq!(
                    **rsa.decrypt(&scheme, &read("ciphertext")).unwrap(),
                    message
                );
            }
        }
        // What OpenSSL takes where nothing is said: SHA-1.
        let scheme = EncryptionScheme::oaep(Hash::Sha1);
        let options = "-pkeyopt rsa_padding_mode:oaep";
        let ciphertext = rsa.public().encrypt(&scheme, &message).unwrap();
        write("ciphertext", &ciphertext);
        openssl(&format!(
            "pkeyutl -decrypt -inkey key.pem {options} -in ciphertext -out plain"
        ));
        assert_eq!(read("plain"), message);
        openssl(&format!(
            "pkeyutl -encrypt -pubin -inkey public.pem {options} -in message -out ciphertext"
        ));
        assert_eq!(
            **rsa.decrypt(&scheme, &read("ciphertext")).unwrap(),
            message
        );
        // PSS with parameters of its own, and what is left for verifying of SHA-1.
        for (salt, length) in [
            (PssSalt::Bytes(0), 0),
            (PssSalt::Bytes(7), 7),
            (PssSalt::Any, 40),
        ] {
            let scheme = SignatureScheme::PssWith {
                hash: Hash::Sha256,
                mgf1: Hash::Sha1,
                salt,
            };
            let options = "-sha256 -sigopt rsa_padding_mode:pss -sigopt rsa_mgf1_md:sha1";
            openssl(&format!(
                "dgst {options} -sigopt rsa_pss_saltlen:{length} -sign key.pem -out signature message"
            ));
            rsa.public()
                .verify(scheme, &message, &read("signature"))
                .unwrap();
            write("signature", &rsa.sign(scheme, &message).unwrap());
            let length = if salt == PssSalt::Any { 32 } else { length };
            openssl(&format!(
                "dgst {options} -sigopt rsa_pss_saltlen:{length} -verify public.pem -signature signature message"
            ));
        }
        openssl("dgst -sha1 -sign key.pem -out signature message");
        let scheme = SignatureScheme::Pkcs1(Hash::Sha1);
        rsa.public()
            .verify(scheme, &message, &read("signature"))
            .unwrap();
        let scheme = EncryptionScheme::Pkcs1;
        write(
            "ciphertext",
            &rsa.public().encrypt(&scheme, &message).unwrap(),
        );
        openssl("pkeyutl -decrypt -inkey key.pem -in ciphertext -out plain");
        assert_eq!(read("plain"), message);
        openssl("pkeyutl -encrypt -pubin -inkey public.pem -in message -out ciphertext");
        assert_eq!(
            **rsa.decrypt(&scheme, &read("ciphertext")).unwrap(),
            message
        );
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Made by OpenSSL 4.0 with the same keys: where there is no message, both make up the same one.
#[test]
fn what_is_made_up_for_a_ciphertext_without_a_message_is_what_openssl_makes_up() {
    for (pem, ciphertext, bytes, digest) in [
        (
            KEYS[1],
            2,
            208,
            "b74a6978e67173b252bef2f92f4f49b84818b864ca1de54d31c26738f6270457",
        ),
        (
            KEYS[1],
            3,
            62,
            "865b58ad7cf5eae2c496959872e12027af773676f7ed41545806519729b518b0",
        ),
        (
            KEYS[1],
            4,
            183,
            "81f536a984360de3f537a62992e8b52d0c2e2c6414b7df126d3c780370b500ca",
        ),
        (
            KEYS[0],
            3,
            34,
            "920e6488c329a68eb7416a462793cb6b02e06c0b9ed598a0f5e486f1f6648720",
        ),
        (
            KEYS[0],
            5,
            79,
            "02eccc0bb4d489b2cfb0147b5d7f69e332d2c773dea43a5b8921164e8d3817b7",
        ),
        (
            KEYS[2],
            2,
            120,
            "149f372b1d1ee9bc3015f42ee49f29042695aa7eab9efad8e43e57838801cf08",
        ),
        (
            KEYS[2],
            7,
            290,
            "a80918efe9943eab9b626d9fc4a9d69e07ed4349e7d64015e1b92ba9e66ea061",
        ),
    ] {
        let rsa = accelerator().rsa(&key(pem));
        let mut number = vec![0; rsa.key().public_key().bytes()];
        *number.last_mut().unwrap() = ciphertext;
        let message = rsa.decrypt(&EncryptionScheme::Pkcs1, &number).unwrap();
        assert_eq!(message.len(), bytes);
        let made: String = Sha256::digest(&*message)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(made, digest);
    }
}

#[test]
fn factors_that_are_no_primes_give_an_error_and_no_result() {
    // p is the product of two primes of 256 bits. All that keys are checked for holds, n = p q and
    // d e = 1 modulo p - 1 and q - 1 included; powers are wrong all the same.
    let numbers: Vec<Vec<u8>> = include_str!("../../keys/composite.txt")
        .lines()
        .map(|line| {
            let digits = line.as_bytes().chunks(2);
            digits
                .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
                .collect()
        })
        .collect();
    let uint = |at: usize| UintRef::new(&numbers[at]).unwrap();
    let der = RsaPrivateKeyRef {
        modulus: uint(0),
        public_exponent: uint(1),
        private_exponent: uint(2),
        prime1: uint(3),
        prime2: uint(4),
        exponent1: uint(5),
        exponent2: uint(6),
        coefficient: uint(7),
        other_prime_infos: None,
    };
    let key = RsaPrivateKey::from_der(&der.to_der().unwrap()).unwrap();
    let rsa = accelerator().rsa(&key);
    let result = rsa.sign(SignatureScheme::Pkcs1(Hash::Sha256), b"message");
    assert!(
        matches!(result, Err(Error::DeviceFailed { .. })),
        "{result:?}"
    );
}
