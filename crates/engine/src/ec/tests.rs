use std::collections::HashMap;

use oarlock_vectors::wycheproof;
use zeroize::Zeroizing;

use super::*;
use crate::Error;
use crate::hash::{DIGEST_BYTES_MAX, Digest, Hash};

fn curve(name: &str) -> Curve {
    match name {
        "secp256r1" => Curve::P256,
        "secp384r1" => Curve::P384,
        "secp521r1" => Curve::P521,
        other => panic!("no curve is called {other}"),
    }
}

fn digest(hash: &str, message: &[u8]) -> Vec<u8> {
    let hash = match hash {
        "SHA-256" => Hash::Sha256,
        "SHA-384" => Hash::Sha384,
        "SHA-512" => Hash::Sha512,
        other => panic!("no hash of these vectors is called {other}"),
    };
    let mut digest = Digest::new(hash);
    digest.update(message);
    let mut output = [0; DIGEST_BYTES_MAX];
    let bytes = digest.finish(&mut output);
    output[..bytes].to_vec()
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text
        .chars()
        .filter_map(|digit| digit.to_digit(16))
        .collect();
    let bytes = digits.chunks(2);
    bytes.map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
}

fn point(key: &EcPublicKey) -> Vec<u8> {
    key.point(&mut [0; POINT_BYTES_MAX]).to_vec()
}

fn compressed(point: &[u8]) -> Vec<u8> {
    let (x, y) = point[1..].split_at(point.len() / 2);
    [&[2 + (y[y.len() - 1] & 1)], x].concat()
}

/// Returns the order of a curve minus `less`.
fn order(curve: Curve, less: u8) -> Vec<u8> {
    let mut order = hex(match curve {
        Curve::P256 => "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551",
        Curve::P384 => {
            "ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973"
        }
        Curve::P521 => {
            "01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409"
        }
    });
    *order.last_mut().unwrap() -= less;
    order
}

#[test]
fn signatures_of_wycheproof_are_taken_or_refused() {
    let mut keys = HashMap::new();
    let mut counts = [0, 0];
    for vector in wycheproof::ecdsa().unwrap() {
        let curve = curve(&vector.curve);
        let key = keys
            .entry(vector.public_key.clone())
            .or_insert_with(|| EcPublicKey::new(curve, &vector.public_key).unwrap());
        let digest = digest(vector.hash, &vector.message);
        let expected = match vector.is_valid {
            true => Ok(()),
            false => Err(Error::InvalidSignature),
        };
        assert_eq!(
            key.verify(&digest, &vector.signature),
            expected,
            "{}",
            vector.source
        );
        counts[usize::from(vector.is_valid)] += 1;
    }
    assert_eq!(counts, [1862, 1236]);
}

#[test]
fn secrets_of_wycheproof_are_agreed_on_or_refused() {
    let mut counts = [0, 0];
    for vector in wycheproof::ecdh().unwrap() {
        let curve = curve(&vector.curve);
        let peer = EcPublicKey::new(curve, &vector.public_key);
        assert_eq!(peer.is_ok(), vector.is_valid, "{}", vector.source);
        counts[usize::from(vector.is_valid)] += 1;
        let Ok(peer) = peer else { continue };
        let key = EcPrivateKey::new(curve, &vector.private_key).unwrap();
        let mut secret = Zeroizing::new(vec![0; curve.bytes()]);
        key.agree(&peer, &mut secret).unwrap();
        assert_eq!(*secret, vector.secret, "{}", vector.source);
    }
    assert_eq!(counts, [70, 1736]);
}

/// RFC 5903, sections 8.1 to 8.3: a private key, its point, and the secret shared with the other key.
#[test]
fn keys_of_rfc_5903_have_their_points() {
    for (curve, private, x) in [
        (
            Curve::P256,
            "c88f01f510d9ac3f70a292daa2316de544e9aab8afe84049c62a9c57862d1433",
            "dad0b65394221cf9b051e1feca5787d098dfe637fc90b9ef945d0c3772581180",
        ),
        (
            Curve::P384,
            "099f3c7034d4a2c699884d73a375a67f7624ef7c6b3c0f160647b67414dce655e35b538041e649ee3faef896783ab194",
            "667842d7d180ac2cde6f74f37551f55755c7645c20ef73e31634fe72b4c55ee6de3ac808acb4bdb4c88732aee95f41aa",
        ),
        (
            Curve::P521,
            "0037ade9319a89f4dabdb3ef411aaccca5123c61acab57b5393dce47608172a095aa85a30fe1c2952c6771d937ba9777f5957b2639bab072462f68c27a57382d4a52",
            "0015417e84dbf28c0ad3c278713349dc7df153c897a1891bd98bab4357c9ecbee1e3bf42e00b8e380aeae57c2d107564941885942af5a7f4601723c4195d176ced3e",
        ),
    ] {
        let key = EcPrivateKey::new(curve, &hex(private)).unwrap();
        let point = point(key.public_key());
        assert_eq!(point.len(), curve.point_bytes());
        assert_eq!(point[1..=curve.bytes()], hex(x), "{curve:?}");
    }
}

/// RFC 6979, A.2.5 to A.2.7, for the message "sample". aws-lc chooses other nonces, so the signatures are only verified.
#[test]
fn signatures_of_rfc_6979_are_taken() {
    for (curve, hash, private, r, s) in [
        (
            Curve::P256,
            "SHA-256",
            "c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721",
            "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716",
            "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8",
        ),
        (
            Curve::P384,
            "SHA-384",
            "6b9d3dad2e1b8c1c05b19875b6659f4de23c3b667bf297ba9aa47740787137d896d5724e4c70a825f872c9ea60d2edf5",
            "94edbb92a5ecb8aad4736e56c691916b3f88140666ce9fa73d64c4ea95ad133c81a648152e44acf96e36dd1e80fabe46",
            "99ef4aeb15f178cea1fe40db2603138f130e740a19624526203b6351d0a3a94fa329c145786e679e7b82c71a38628ac8",
        ),
    ] {
        let key = EcPrivateKey::new(curve, &hex(private)).unwrap();
        // Each number has its highest bit set.
        let integer = |number: &str| [&[2, curve.bytes() as u8 + 1, 0], &hex(number)[..]].concat();
        let numbers = [integer(r), integer(s)].concat();
        let signature = [&[0x30, numbers.len() as u8], &numbers[..]].concat();
        let digest = digest(hash, b"sample");
        key.public_key().verify(&digest, &signature).unwrap();
        assert_eq!(
            key.public_key().verify(&digest[1..], &signature),
            Err(Error::InvalidSignature)
        );
    }
}

#[test]
fn what_a_key_signs_its_public_half_takes() {
    for curve in Curve::ALL {
        let key = EcPrivateKey::generate(curve).unwrap();
        let other = EcPrivateKey::generate(curve).unwrap();
        for bytes in [1, 20, 32, 48, 64] {
            let digest = vec![0xa5; bytes];
            let mut signatures = [[0; SIGNATURE_BYTES_MAX]; 2];
            let lengths = signatures
                .each_mut()
                .map(|place| key.sign(&digest, place).unwrap());
            assert_ne!(signatures[0], signatures[1], "two nonces are the same");
            for (signature, bytes) in signatures.iter().zip(lengths) {
                assert!(bytes <= curve.signature_bytes_max());
                let signature = &signature[..bytes];
                key.public_key().verify(&digest, signature).unwrap();
                assert!(other.public_key().verify(&digest, signature).is_err());
                for end in 0..bytes {
                    let cut = &signature[..end];
                    assert!(key.public_key().verify(&digest, cut).is_err());
                }
            }
        }
    }
}

#[test]
fn the_longest_signature_is_as_long_as_its_curve_says() {
    for curve in Curve::ALL {
        let key = EcPrivateKey::generate(curve).unwrap();
        let longest = (0..64).map(|_| key.sign(&[1; 32], &mut [0; SIGNATURE_BYTES_MAX]).unwrap());
        let longest = longest.max().unwrap();
        assert!((curve.signature_bytes_max() - 2..=curve.signature_bytes_max()).contains(&longest));
    }
}

#[test]
fn keys_go_out_and_come_back() {
    for curve in Curve::ALL {
        let key = EcPrivateKey::generate(curve).unwrap();
        let (scalar, public) = (key.scalar(), point(key.public_key()));
        assert_eq!((scalar.len(), public[0]), (curve.bytes(), 4));
        let computed = EcPrivateKey::new(curve, &scalar).unwrap();
        let given = EcPrivateKey::with_point(curve, &scalar, &compressed(&public)).unwrap();
        let padded = EcPrivateKey::new(curve, &[&[0; 9], &scalar[..]].concat()).unwrap();
        for copy in [computed, given, padded] {
            assert_eq!(copy.public_key().curve(), curve);
            assert_eq!(point(copy.public_key()), public);
            assert_eq!(copy.scalar(), scalar);
        }
    }
}

#[test]
fn points_that_are_none_are_refused() {
    for curve in Curve::ALL {
        let good = point(EcPrivateKey::generate(curve).unwrap().public_key());
        let refused = |point: &[u8]| {
            let error = EcPublicKey::new(curve, point).unwrap_err();
            assert!(matches!(error, Error::InvalidKey(_)), "{error:?}");
            EcPrivateKey::with_point(curve, &[1], point).unwrap_err();
        };
        for bytes in 0..good.len() {
            refused(&good[..bytes]);
        }
        refused(&[&good[..], &[0]].concat());
        refused(&[0]);
        refused(&vec![0; good.len()]);
        refused(&[&[4], &vec![0xff; good.len() - 1][..]].concat());
        for form in [0, 1, 2, 3, 5, 6, 7, 0x84] {
            refused(&[&[form], &good[1..]].concat());
        }
        for at in [1, curve.bytes(), curve.bytes() + 1, good.len() - 1] {
            let mut off = good.clone();
            off[at] ^= 1;
            refused(&off);
        }
        for other in Curve::ALL.into_iter().filter(|other| *other != curve) {
            EcPublicKey::new(other, &good).unwrap_err();
        }
    }
}

#[test]
fn private_keys_are_below_the_order_and_not_zero() {
    for curve in Curve::ALL {
        let good = point(EcPrivateKey::new(curve, &[1]).unwrap().public_key());
        for bad in [
            vec![],
            vec![0],
            vec![0; curve.bytes()],
            order(curve, 0),
            vec![0xff; curve.bytes()],
            [&[1], &order(curve, 1)[..]].concat(),
            vec![1; 4 * curve.bytes()],
        ] {
            for made in [
                EcPrivateKey::new(curve, &bad),
                EcPrivateKey::with_point(curve, &bad, &good),
            ] {
                assert!(matches!(made, Err(Error::InvalidKey(_))), "{bad:02x?}");
            }
        }
        // The point of n - 1 is that of 1 with y negated.
        let last = EcPrivateKey::new(curve, &order(curve, 1)).unwrap();
        let last = point(last.public_key());
        assert_eq!(last[..=curve.bytes()], good[..=curve.bytes()]);
        assert_ne!(last, good);
    }
}

#[test]
fn secrets_need_keys_of_one_curve_and_their_length() {
    for curve in Curve::ALL {
        let [one, other] = [(); 2].map(|()| EcPrivateKey::generate(curve).unwrap());
        let agreed = |key: &EcPrivateKey, peer: &EcPrivateKey| {
            let mut secret = vec![0; curve.bytes()];
            key.agree(peer.public_key(), &mut secret).map(|()| secret)
        };
        assert_eq!(agreed(&one, &other), agreed(&other, &one));
        for bytes in [0, curve.bytes() - 1, curve.bytes() + 1] {
            let error = one.agree(other.public_key(), &mut vec![0; bytes]);
            assert!(matches!(error, Err(Error::InvalidInput(_))));
        }
        for strange in Curve::ALL.into_iter().filter(|strange| *strange != curve) {
            let error = agreed(&one, &EcPrivateKey::generate(strange).unwrap());
            assert!(matches!(error, Err(Error::InvalidInput(_))));
        }
    }
}

#[test]
fn threads_share_a_key() {
    let key = EcPrivateKey::generate(Curve::P256).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for message in 0..50_u8 {
                    let mut signature = [0; SIGNATURE_BYTES_MAX];
                    let bytes = key.sign(&[message; 32], &mut signature).unwrap();
                    let public = key.public_key();
                    public.verify(&[message; 32], &signature[..bytes]).unwrap();
                }
            });
        }
    });
}

#[test]
fn keys_show_nothing_of_themselves() {
    let key = EcPrivateKey::generate(Curve::P521).unwrap();
    assert_eq!(format!("{key:?}"), "EcPrivateKey { curve: P521, .. }");
    assert_eq!(
        format!("{:?}", key.public_key()),
        "EcPublicKey { curve: P521, .. }"
    );
}
