//! ECDSA on the three curves: points in any form, digests of any length, and signatures in DER of any numbers. Each is taken or
//! refused as the default provider does, by the engine and behind EVP, and a signature that is right by the definition
//! (FIPS 186-5, 6.4) is taken by all.

use std::ffi::CString;

use arbitrary::Arbitrary;
use num_bigint::BigUint;
use oarlock_engine::ec::{Curve, EcPrivateKey, EcPublicKey, SIGNATURE_BYTES_MAX};

use crate::agreements::{ec_point, ec_private, ec_public};
use crate::definitions::{self, HASHES};
use crate::evp::Octets;
use crate::panics;
use crate::rsa_keys::{Edit, edited};

fuzz_target!(|input: Input| {
    panics::none_in(|| input.check());
});

#[derive(Arbitrary, Debug)]
struct Input {
    curve: u8,
    secret: [u8; 8],
    point: Point,
    data: Data,
    signature: Signature,
    signs: bool,
}

/// A public key, of the private one or not.
#[derive(Arbitrary, Debug)]
enum Point {
    Uncompressed,
    Compressed,
    /// The form of X9.62 that says the parity as well, rightly or not.
    Both(bool),
    Edited(Vec<Edit>),
    Any(Vec<u8>),
}

#[derive(Arbitrary, Debug)]
enum Data {
    Digest(Octets),
    /// A hash function, and a message in pieces.
    Message(u8, Vec<Octets>),
}

#[derive(Arbitrary, Debug)]
enum Signature {
    /// A nonce, and changes of the encoding.
    Right(u8, Vec<Edit>),
    Numbers(u8, Number, Number, Vec<Edit>),
    Any(Vec<u8>),
}

/// A number in place of the one that is right.
#[derive(Arbitrary, Debug)]
enum Number {
    Right,
    /// The order less the number, which is right for s as well.
    Negated,
    /// More than the order.
    Plus,
    /// Next to a multiple of the order.
    Order(u8, i8),
    Any(Vec<u8>),
    /// The right one, with zeros in front or its sign bit as it falls.
    Padded(u8),
    Signed,
}

impl Input {
    fn check(&self) {
        let curve = Curve::ALL[usize::from(self.curve) % Curve::ALL.len()];
        let mut scalar = vec![0; curve.bytes()];
        let at = scalar.len() - self.secret.len();
        scalar[at..].copy_from_slice(&self.secret);
        let last = scalar.len() - 1;
        scalar[last] |= 1;
        let right = ec_point(curve, &scalar);
        let point = self.point.get(&right);
        let (digest, pieces) = match &self.data {
            Data::Digest(octets) => (octets.get(), None),
            Data::Message(hash, pieces) => {
                let (hash, name) = HASHES[usize::from(*hash) % HASHES.len()];
                let pieces: Vec<Vec<u8>> =
                    pieces.iter().take(PIECES_MAX).map(Octets::get).collect();
                let message: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
                (definitions::digest(hash, &message), Some((name, pieces)))
            }
        };
        let signature = self.signature.get(curve, &scalar, &digest);

        let [theirs, behind_evp] = [0, 1].map(|side| ec_public(curve, side, &point));
        assert_eq!(behind_evp.is_some(), theirs.is_some(), "{self:?}");
        let ours = EcPublicKey::new(curve, &point);
        let is_ours = theirs.is_some() && matches!(point.first(), Some(2..=4));
        assert_eq!(ours.is_ok(), is_ours, "{self:?}");
        if let (Some(theirs), Some(behind_evp)) = (theirs, behind_evp) {
            let expected = theirs.verifies(None, &digest, &signature);
            let found = behind_evp.verifies(None, &digest, &signature);
            assert_eq!(found, expected, "{self:?}");
            if let Ok(ours) = &ours {
                let found = ours.verify(&digest, &signature).is_ok();
                assert_eq!(found, expected, "{self:?}");
            }
            if self.signature.is_right() && self.point.is_right() {
                assert!(expected, "{self:?}");
            }
            if let Some((name, pieces)) = &pieces {
                let name = CString::new(*name).expect("no zero");
                let message: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
                let [expected, found] = [&theirs, &behind_evp]
                    .map(|key| key.verifies_message(&name, &message, &signature));
                assert_eq!(found, expected, "{self:?}");
                let [expected, found] = [&theirs, &behind_evp]
                    .map(|key| key.verifies(Some(&name), &digest, &signature));
                assert_eq!(found, expected, "{self:?}");
                let short = &digest[1..];
                let [expected, found] =
                    [&theirs, &behind_evp].map(|key| key.verifies(Some(&name), short, &signature));
                assert_eq!(found, expected, "{self:?}");
            }
        }
        if self.signs {
            check_signing(curve, &scalar, &right, &digest);
        }
    }
}

fn check_signing(curve: Curve, scalar: &[u8], point: &[u8], digest: &[u8]) {
    let theirs = ec_public(curve, 0, point).expect("a public key");
    let key = EcPrivateKey::with_point(curve, scalar, point).expect("a private key");
    let mut place = [0; SIGNATURE_BYTES_MAX];
    let bytes = key.sign(digest, &mut place).expect("a key signs");
    assert!(bytes <= curve.signature_bytes_max());
    assert!(theirs.verifies(None, digest, &place[..bytes]), "{curve:?}");
    let key = ec_private(curve, 1, scalar, point).expect("a private key");
    let signature = key.sign(digest).expect("a key signs");
    assert!(theirs.verifies(None, digest, &signature), "{curve:?}");
}

impl Point {
    fn is_right(&self) -> bool {
        match self {
            Self::Uncompressed | Self::Compressed => true,
            Self::Edited(edits) => edits.is_empty(),
            Self::Both(_) | Self::Any(_) => false,
        }
    }

    fn get(&self, right: &[u8]) -> Vec<u8> {
        let parity = right[right.len() - 1] & 1;
        match self {
            Self::Uncompressed => right.to_vec(),
            Self::Compressed => {
                let mut point = right[..right.len() / 2 + 1].to_vec();
                point[0] = 2 + parity;
                point
            }
            Self::Both(is_wrong) => {
                let mut point = right.to_vec();
                point[0] = 6 + (parity ^ u8::from(*is_wrong));
                point
            }
            Self::Edited(edits) => edited(right, edits),
            Self::Any(bytes) => bytes.clone(),
        }
    }
}

impl Signature {
    fn is_right(&self) -> bool {
        matches!(self, Self::Right(_, edits) if edits.is_empty())
    }

    fn get(&self, curve: Curve, scalar: &[u8], digest: &[u8]) -> Vec<u8> {
        let order = order(curve);
        match self {
            Self::Right(nonce, edits) => {
                let [r, s] = signed(curve, scalar, digest, *nonce);
                edited(&der(&[minimal(&r), minimal(&s)]), edits)
            }
            Self::Numbers(nonce, r, s, edits) => {
                let [right_r, right_s] = signed(curve, scalar, digest, *nonce);
                let numbers = [r.get(&right_r, &order), s.get(&right_s, &order)];
                edited(&der(&numbers), edits)
            }
            Self::Any(bytes) => bytes.clone(),
        }
    }
}

impl Number {
    /// The content of an INTEGER.
    fn get(&self, right: &BigUint, order: &BigUint) -> Vec<u8> {
        match self {
            Self::Right => minimal(right),
            Self::Negated => minimal(&(order - right)),
            Self::Plus => minimal(&(order + right)),
            Self::Order(times, more) => {
                let number = order * (*times % 3) + BigUint::from(more.unsigned_abs());
                let twice = BigUint::from(more.unsigned_abs()) * 2_u8;
                let number = match *more < 0 && number >= twice {
                    true => number - twice,
                    false => number,
                };
                minimal(&number)
            }
            Self::Any(bytes) => bytes.iter().take(NUMBER_BYTES_MAX).copied().collect(),
            Self::Padded(zeros) => {
                let zeros = vec![0; usize::from(*zeros % 4)];
                [zeros, minimal(right)].concat()
            }
            Self::Signed => right.to_bytes_be(),
        }
    }
}

/// The signature of a digest with a nonce, by its definition.
fn signed(curve: Curve, scalar: &[u8], digest: &[u8], nonce: u8) -> [BigUint; 2] {
    let order = order(curve);
    let nonce = [nonce.max(1)];
    let point = ec_point(curve, &nonce);
    let r = BigUint::from_bytes_be(&point[1..=curve.bytes()]) % &order;
    let bits = order.bits() as usize;
    let bytes = digest.len().min(bits.div_ceil(8));
    let e = BigUint::from_bytes_be(&digest[..bytes]) >> (8 * bytes).saturating_sub(bits);
    let inverse = BigUint::from_bytes_be(&nonce).modpow(&(&order - 2_u8), &order);
    let s = inverse * (e + &r * BigUint::from_bytes_be(scalar)) % &order;
    [r, s]
}

fn order(curve: Curve) -> BigUint {
    let digits = match curve {
        Curve::P256 => "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551",
        Curve::P384 => {
            "ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973"
        }
        Curve::P521 => {
            "01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409"
        }
    };
    BigUint::parse_bytes(digits.as_bytes(), 16).expect("digits")
}

/// The shortest content of an INTEGER that is not negative.
fn minimal(number: &BigUint) -> Vec<u8> {
    let mut bytes = number.to_bytes_be();
    if bytes[0] & 0x80 != 0 {
        bytes.insert(0, 0);
    }
    bytes
}

/// A SEQUENCE of two INTEGERs.
fn der(numbers: &[Vec<u8>; 2]) -> Vec<u8> {
    let element = |tag: u8, content: &[u8]| {
        let bytes = content.len() as u8;
        let head = match bytes {
            0..0x80 => vec![tag, bytes],
            _ => vec![tag, 0x81, bytes],
        };
        [&head[..], content].concat()
    };
    let content = numbers.each_ref().map(|number| element(2, number)).concat();
    element(0x30, &content)
}

const PIECES_MAX: usize = 4;
const NUMBER_BYTES_MAX: usize = 100;
