//! RSA keys: their formats, and refused keys.

use oarlock::Error;
use oarlock::rsa::{
    EncryptionScheme, Hash, RsaPrivateKey, RsaPrivateNumbers, RsaPublicKey, SignatureScheme,
};
use pkcs1::RsaPrivateKeyRef;
use pkcs1::der::asn1::UintRef;
use pkcs1::der::{Decode, Encode};

use super::{KEYS, key, said};
use crate::common::accelerator;
use crate::common::keys::composite;

const PKCS1: &str = include_str!("../../keys/rsa2048.pkcs1.pem");

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
            // Applied with d, which all of these keys have.
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
        // One prime alone is refused.
        without.prime1 = whole.prime1;
        assert_eq!(
            said(RsaPrivateKey::from_der(&without.to_der().unwrap())),
            "the modulus is not the product of the two primes"
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
        // A key of Ed25519 (RFC 8410, 10.3).
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
fn factors_that_are_no_primes_give_an_error_and_no_result() {
    let rsa = accelerator().rsa(&composite());
    let result = rsa.sign(SignatureScheme::Pkcs1(Hash::Sha256), b"message");
    assert!(
        matches!(result, Err(Error::DeviceFailed { .. })),
        "{result:?}"
    );
}
