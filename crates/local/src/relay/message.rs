//! The format of a question and its answer: one message each way.
//!
//! ```text
//! question   version 1 | operation | length of the name | name of the key | digest or number
//! answer     0 | signature or power             or             1 | why there is none, as text
//! ```
//!
//! Each of the first three fields, and the 0 or 1 of an answer, is one byte.

use std::mem::discriminant;

use oarlock::rsa::{Hash, SignatureScheme};
use oarlock_engine::ec::Curve;
use zeroize::Zeroizing;

use super::reference::is_id;

/// A question: a request for an operation with a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The key's name on the other machine.
    pub key_id: String,
    /// The operation to perform with the key.
    pub operation: Operation,
}

/// An operation with a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The signature of a digest.
    Sign {
        /// The scheme of the signature.
        scheme: Scheme,
        /// The digest, as long as that of its hash function.
        digest: Vec<u8>,
    },
    /// A number, big-endian and as long as the modulus, to raise to the private exponent. A user with this right can do
    /// anything with the key.
    RawPrivate(Vec<u8>),
}

/// A scheme for signing a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// RSA. There are six schemes: PKCS#1 v1.5 and PSS with SHA-256, SHA-384 and SHA-512, and salts as long as the digest.
    Rsa(SignatureScheme),
    /// ECDSA on this curve with the hash function of equal strength: SHA-256, SHA-384 or SHA-512.
    Ecdsa(Curve),
}

impl Scheme {
    /// Returns the length of its digests in bytes.
    pub fn digest_bytes(self) -> usize {
        match self {
            Self::Rsa(scheme) => scheme.hash().bytes(),
            Self::Ecdsa(Curve::P256) => 32,
            Self::Ecdsa(Curve::P384) => 48,
            Self::Ecdsa(Curve::P521) => 64,
        }
    }

    fn is(self, other: Self) -> bool {
        match (self, other) {
            (Self::Rsa(one), Self::Rsa(other)) => {
                discriminant(&one) == discriminant(&other) && one.hash() == other.hash()
            }
            (one, other) => one == other,
        }
    }
}

impl Operation {
    /// Returns the signature of a digest with an RSA key; `None` if the scheme is not one of the six, or the digest has the
    /// wrong length.
    pub fn sign(scheme: SignatureScheme, digest: &[u8]) -> Option<Self> {
        Self::of(Scheme::Rsa(scheme), digest)
    }

    /// Returns the ECDSA signature of a digest of any hash function; `None` for P-521 if the digest has more than 64 bytes,
    /// and for an empty digest.
    ///
    /// ECDSA signs a number (FIPS 186-5, 6.4.1): a digest longer than the curve's order is cut to its first bits, and a
    /// shorter one is taken as it is. So any digest has the same signature as one with the length of the scheme's, and a
    /// server needs one scheme for each curve.
    pub fn sign_ecdsa(curve: Curve, digest: &[u8]) -> Option<Self> {
        let scheme = Scheme::Ecdsa(curve);
        let bytes = scheme.digest_bytes();
        if digest.is_empty() {
            return None;
        }
        let first = match curve {
            Curve::P256 | Curve::P384 => digest.get(..bytes).unwrap_or(digest),
            Curve::P521 => digest,
        };
        let zeros = vec![0; bytes.checked_sub(first.len())?];
        Self::of(scheme, &[&zeros, first].concat())
    }

    fn of(scheme: Scheme, digest: &[u8]) -> Option<Self> {
        let known = SCHEMES.iter().any(|known| known.is(scheme));
        (known && digest.len() == scheme.digest_bytes()).then(|| Self::Sign {
            scheme,
            digest: digest.to_vec(),
        })
    }
}

/// The schemes in the order of their numbers, from 1. [`RAW_PRIVATE`] is not among them.
const SCHEMES: [Scheme; 9] = [
    Scheme::Rsa(SignatureScheme::Pkcs1(Hash::Sha256)),
    Scheme::Rsa(SignatureScheme::Pkcs1(Hash::Sha384)),
    Scheme::Rsa(SignatureScheme::Pkcs1(Hash::Sha512)),
    Scheme::Rsa(SignatureScheme::Pss(Hash::Sha256)),
    Scheme::Rsa(SignatureScheme::Pss(Hash::Sha384)),
    Scheme::Rsa(SignatureScheme::Pss(Hash::Sha512)),
    Scheme::Ecdsa(Curve::P256),
    Scheme::Ecdsa(Curve::P384),
    Scheme::Ecdsa(Curve::P521),
];
const RAW_PRIVATE: u8 = 0;

impl Question {
    /// Encodes the question as a message.
    pub fn to_message(&self) -> Vec<u8> {
        let (operation, content) = match &self.operation {
            Operation::RawPrivate(number) => (RAW_PRIVATE, number),
            Operation::Sign { scheme, digest } => {
                let place = SCHEMES.iter().position(|known| known.is(*scheme));
                // The relay refuses this number, which no scheme has.
                let number = place.map_or(u8::MAX, |place| place as u8 + 1);
                (number, digest)
            }
        };
        let id = self.key_id.as_bytes();
        let id_bytes = u8::try_from(id.len()).unwrap_or(0);
        [&[VERSION, operation, id_bytes], id, content].concat()
    }

    /// Parses a message; returns `None` if it is not a question.
    pub fn from_message(message: &[u8]) -> Option<Self> {
        let [VERSION, operation, id_bytes, rest @ ..] = message else {
            return None;
        };
        let (id, content) = rest.split_at_checked((*id_bytes).into())?;
        let key_id = std::str::from_utf8(id).ok().filter(|id| is_id(id))?;
        let operation = match *operation {
            RAW_PRIVATE => (!content.is_empty() && content.len() <= CONTENT_BYTES_MAX)
                .then(|| Operation::RawPrivate(content.to_vec()))?,
            number => {
                let scheme = SCHEMES.get(usize::from(number) - 1)?;
                Operation::of(*scheme, content)?
            }
        };
        Some(Self {
            key_id: key_id.to_owned(),
            operation,
        })
    }
}

/// The signature or power, or the reason why there is none.
pub type Answer = Result<Zeroizing<Vec<u8>>, String>;

pub(super) fn answered(result: Result<&[u8], &str>) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(match result {
        Ok(made) => [&[0], made].concat(),
        Err(why) => {
            let mut end = why.len().min(TEXT_BYTES_MAX);
            while !why.is_char_boundary(end) {
                end -= 1;
            }
            [&[1], &why.as_bytes()[..end]].concat()
        }
    })
}

/// Parses an answer; returns `None` if the message is not one. Control characters in a reason become spaces, since it goes
/// to logs.
pub fn read_answer(frame: &[u8]) -> Option<Answer> {
    match frame {
        [0, made @ ..] if !made.is_empty() => Some(Ok(Zeroizing::new(made.to_vec()))),
        [1, why @ ..] if why.len() <= TEXT_BYTES_MAX => {
            let why = String::from_utf8_lossy(why);
            Some(Err(why.replace(char::is_control, " ")))
        }
        _ => None,
    }
}

const VERSION: u8 = 1;
/// The longest number in bytes: 16384 bits.
const CONTENT_BYTES_MAX: usize = 2048;
const TEXT_BYTES_MAX: usize = 500;
/// The longest question or answer in bytes.
pub(super) const FRAME_BYTES_MAX: usize = 3 + 255 + CONTENT_BYTES_MAX;

#[cfg(test)]
mod tests {
    use oarlock_engine::ec::{EcPrivateKey, SIGNATURE_BYTES_MAX};

    use super::*;

    fn questions() -> Vec<Question> {
        let ask = |operation| Question {
            key_id: "web".into(),
            operation,
        };
        let mut questions = vec![
            ask(Operation::RawPrivate(vec![7; 256])),
            ask(Operation::RawPrivate(vec![7; CONTENT_BYTES_MAX])),
        ];
        for scheme in SCHEMES {
            let digest = vec![3; scheme.digest_bytes()];
            questions.push(ask(Operation::of(scheme, &digest).unwrap()));
        }
        questions
    }

    #[test]
    fn questions_are_read_as_they_were_written() {
        for question in questions() {
            let frame = question.to_message();
            assert!(frame.len() <= FRAME_BYTES_MAX);
            assert_eq!(Question::from_message(&frame), Some(question));
        }
    }

    #[test]
    fn nothing_else_is_a_question() {
        for question in questions() {
            let frame = question.to_message();
            let is_raw = frame[1] == RAW_PRIVATE;
            for cut in 0..frame.len() {
                // A number may have any length.
                assert!(
                    is_raw && cut > 6 || Question::from_message(&frame[..cut]).is_none(),
                    "{cut}"
                );
            }
            let longer = [&frame[..], &[0]].concat();
            assert_eq!(
                Question::from_message(&longer).is_some(),
                is_raw && frame.len() < FRAME_BYTES_MAX - 252
            );
            for (place, value) in [(0, 0), (0, 2), (1, 10), (1, 255), (2, 0), (2, 255), (3, 10)] {
                let mut other = frame.clone();
                other[place] = value;
                assert!(Question::from_message(&other).is_none(), "{place} {value}");
            }
        }
        assert!(Operation::sign(SignatureScheme::Pkcs1(Hash::Sha224), &[0; 28]).is_none());
        assert!(Operation::sign(SignatureScheme::Pss(Hash::Sha256), &[0; 31]).is_none());
        for (curve, bytes) in [(Curve::P256, 0), (Curve::P521, 65)] {
            assert!(Operation::sign_ecdsa(curve, &vec![1; bytes]).is_none());
        }
    }

    /// Covers digests as long as those of each hash function, and one byte longer or shorter than each curve's.
    #[test]
    fn a_digest_of_any_length_has_the_ecdsa_signature_of_what_is_asked() {
        for curve in Curve::ALL {
            let key = EcPrivateKey::generate(curve).unwrap();
            let mut signature = [0; SIGNATURE_BYTES_MAX];
            for bytes in [1, 20, 28, 31, 32, 33, 47, 48, 49, 63, 64] {
                let digest: Vec<u8> = (0x90..).take(bytes).collect();
                let asked = Operation::sign_ecdsa(curve, &digest).unwrap();
                let Operation::Sign {
                    scheme,
                    digest: sent,
                } = asked
                else {
                    panic!("{asked:?}");
                };
                assert_eq!(scheme, Scheme::Ecdsa(curve));
                assert_eq!(sent.len(), scheme.digest_bytes());
                let length = key.sign(&sent, &mut signature).unwrap();
                let verified = key.public_key().verify(&digest, &signature[..length]);
                assert_eq!(verified, Ok(()), "{curve:?}: {bytes} bytes");
            }
        }
    }

    #[test]
    fn answers_are_read_as_they_were_written_and_cannot_forge_lines_of_a_log() {
        assert_eq!(
            *read_answer(&answered(Ok(&[1, 2]))).unwrap().unwrap(),
            [1, 2]
        );
        let why = |text| read_answer(&answered(Err(text))).unwrap().unwrap_err();
        assert_eq!(why("no such key"), "no such key");
        assert_eq!(why("a\nb\x1b[1m\u{9b}"), "a b [1m ");
        assert_eq!(why(&"ü".repeat(400)), "ü".repeat(250));
        for frame in [&[][..], &[0], &[2, 1], &[&[1][..], &[b'x'; 501]].concat()] {
            assert!(read_answer(frame).is_none());
        }
    }
}
