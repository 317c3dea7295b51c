//! The format of a question and its answer: one message each way.
//!
//! ```text
//! greeting   2                        the connection stays open for one question after the other
//! question   version 3 | operation | length of the name | name of the key | length of the public half's digest, 0 or 32 |
//!            that digest | digest, message, number or ciphertext
//! answer     0 | signature, power, message or keys             or             1 | why there is none, as text
//! ```
//!
//! Each of the first three fields, and the 0 or 1 of an answer, is one byte. A ciphertext follows its length in two bytes,
//! and OAEP's label follows it. `keys.rs` has the format of a list of keys.

use std::mem::discriminant;

use oarlock::keys::MlDsa;
use oarlock::rsa::{EncryptionScheme, Hash, SignatureScheme};
use oarlock_engine::ec::Curve;
use zeroize::Zeroizing;

use super::reference::is_id;

/// A question: a request for an operation with a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The key's name on the other machine. For [`Operation::Keys`], the name after which the list begins; empty for the
    /// first part.
    pub key_id: String,
    /// The digest of the public half of the key that is meant ([`public_key_digest`]), whichever key has the name by then;
    /// `None` for the one that has the name.
    pub public_key: Option<[u8; 32]>,
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
        /// The digest, as long as that of its hash function; or the message, of up to 65536 bytes, for a scheme without one.
        digest: Vec<u8>,
    },
    /// The message in an RSA ciphertext.
    Decrypt {
        /// The padding: PKCS#1 v1.5, or OAEP with SHA-1, SHA-256, SHA-384 or SHA-512, the same for the label and MGF1.
        scheme: EncryptionScheme,
        /// The ciphertext, as long as the modulus.
        ciphertext: Vec<u8>,
    },
    /// Lists the keys that this user may use, sorted by name, up to the size of one answer.
    Keys,
    /// A number, big-endian and as long as the modulus, to raise to the private exponent. A user with this right can do
    /// anything with the key.
    RawPrivate(Vec<u8>),
}

/// A scheme for signing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// RSA. There are six schemes: PKCS#1 v1.5 and PSS with SHA-256, SHA-384 and SHA-512, and salts as long as the digest.
    Rsa(SignatureScheme),
    /// ECDSA on this curve with the hash function of equal strength: SHA-256, SHA-384 or SHA-512.
    Ecdsa(Curve),
    /// Ed25519 without a context. It signs the message itself.
    Ed25519,
    /// ML-DSA without a context. It signs the message itself.
    MlDsa(MlDsa),
}

impl Scheme {
    /// Returns the length of its digests in bytes; `None` if it signs the message itself.
    pub fn digest_bytes(self) -> Option<usize> {
        Some(match self {
            Self::Rsa(scheme) => scheme.hash().bytes(),
            Self::Ecdsa(Curve::P256) => 32,
            Self::Ecdsa(Curve::P384) => 48,
            Self::Ecdsa(Curve::P521) => 64,
            Self::Ed25519 | Self::MlDsa(_) => return None,
        })
    }

    fn takes(self, bytes: usize) -> bool {
        match self.digest_bytes() {
            Some(digest) => bytes == digest,
            None => bytes <= MESSAGE_BYTES_MAX,
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
        let bytes = scheme.digest_bytes()?;
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

    /// Returns the signature of a message with an Ed25519 or ML-DSA key; `None` if the message has more than 65536 bytes,
    /// and for a scheme that signs digests.
    pub fn sign_message(scheme: Scheme, message: &[u8]) -> Option<Self> {
        match scheme.digest_bytes() {
            None => Self::of(scheme, message),
            Some(_) => None,
        }
    }

    /// Returns the decryption of a ciphertext; `None` if the scheme is not one of the five, or the ciphertext or the label
    /// is longer than a question may be.
    pub fn decrypt(scheme: EncryptionScheme, ciphertext: &[u8]) -> Option<Self> {
        let label = padding_of(&scheme)?.1;
        let fits = !ciphertext.is_empty()
            && ciphertext.len() <= NUMBER_BYTES_MAX
            && label.len() <= LABEL_BYTES_MAX;
        fits.then(|| Self::Decrypt {
            scheme,
            ciphertext: ciphertext.to_vec(),
        })
    }

    fn of(scheme: Scheme, digest: &[u8]) -> Option<Self> {
        let known = SCHEMES.iter().any(|known| known.is(scheme));
        (known && scheme.takes(digest.len())).then(|| Self::Sign {
            scheme,
            digest: digest.to_vec(),
        })
    }
}

/// Returns the number of a padding, and the label; `None` for a padding without a number.
fn padding_of(scheme: &EncryptionScheme) -> Option<(u8, &[u8])> {
    match scheme {
        EncryptionScheme::Pkcs1 => Some((DECRYPT, &[])),
        EncryptionScheme::Oaep { hash, mgf1, label } if hash == mgf1 => {
            let place = OAEP.iter().position(|known| known == hash)?;
            Some((DECRYPT + 1 + place as u8, label))
        }
        _ => None,
    }
}

/// Returns the decryption with the padding of this number.
fn decryption(number: u8, content: &[u8]) -> Option<Operation> {
    let (bytes, rest) = content.split_first_chunk()?;
    let (ciphertext, label) = rest.split_at_checked(u16::from_be_bytes(*bytes).into())?;
    let scheme = match number.checked_sub(DECRYPT)? {
        0 if label.is_empty() => EncryptionScheme::Pkcs1,
        0 => return None,
        place => {
            let hash = *OAEP.get(usize::from(place) - 1)?;
            EncryptionScheme::Oaep {
                hash,
                mgf1: hash,
                label: label.to_vec(),
            }
        }
    };
    Operation::decrypt(scheme, ciphertext)
}

/// The schemes in the order of their numbers, from 1. [`RAW_PRIVATE`] is not among them.
const SCHEMES: [Scheme; 13] = [
    Scheme::Rsa(SignatureScheme::Pkcs1(Hash::Sha256)),
    Scheme::Rsa(SignatureScheme::Pkcs1(Hash::Sha384)),
    Scheme::Rsa(SignatureScheme::Pkcs1(Hash::Sha512)),
    Scheme::Rsa(SignatureScheme::Pss(Hash::Sha256)),
    Scheme::Rsa(SignatureScheme::Pss(Hash::Sha384)),
    Scheme::Rsa(SignatureScheme::Pss(Hash::Sha512)),
    Scheme::Ecdsa(Curve::P256),
    Scheme::Ecdsa(Curve::P384),
    Scheme::Ecdsa(Curve::P521),
    Scheme::Ed25519,
    Scheme::MlDsa(MlDsa::MlDsa44),
    Scheme::MlDsa(MlDsa::MlDsa65),
    Scheme::MlDsa(MlDsa::MlDsa87),
];
const RAW_PRIVATE: u8 = 0;
/// Decryption with PKCS#1 v1.5. The numbers of OAEP, in the order of its hash functions, follow.
const DECRYPT: u8 = 32;
const OAEP: [Hash; 4] = [Hash::Sha1, Hash::Sha256, Hash::Sha384, Hash::Sha512];
const KEYS: u8 = 255;

impl Question {
    /// Encodes the question as a message.
    pub fn to_message(&self) -> Vec<u8> {
        let id = self.key_id.as_bytes();
        let id_bytes = u8::try_from(id.len()).unwrap_or(0);
        let public = self.public_key.as_ref().map_or(&[][..], |digest| digest);
        let public_bytes = public.len() as u8;
        let message = |operation, content: &[u8]| {
            let begin = [VERSION, operation, id_bytes];
            [&begin, id, &[public_bytes], public, content].concat()
        };
        match &self.operation {
            Operation::RawPrivate(number) => message(RAW_PRIVATE, number),
            Operation::Sign { scheme, digest } => {
                let place = SCHEMES.iter().position(|known| known.is(*scheme));
                let number = place.map_or(NO_OPERATION, |place| place as u8 + 1);
                message(number, digest)
            }
            Operation::Decrypt { scheme, ciphertext } => {
                let (number, label) = padding_of(scheme).unwrap_or((NO_OPERATION, &[]));
                let bytes = u16::try_from(ciphertext.len()).unwrap_or(0).to_be_bytes();
                message(number, &[&bytes, &ciphertext[..], label].concat())
            }
            Operation::Keys => message(KEYS, &[]),
        }
    }

    /// Parses a message; returns `None` if it is not a question.
    pub fn from_message(message: &[u8]) -> Option<Self> {
        let [VERSION, operation, id_bytes, rest @ ..] = message else {
            return None;
        };
        let (id, rest) = rest.split_at_checked((*id_bytes).into())?;
        let (public_key, content) = match rest {
            [0, content @ ..] => (None, content),
            [32, rest @ ..] => {
                let (digest, content) = rest.split_first_chunk()?;
                (Some(*digest), content)
            }
            _ => return None,
        };
        let is_name = |id: &&str| is_id(id) || *operation == KEYS && id.is_empty();
        let key_id = std::str::from_utf8(id).ok().filter(is_name)?;
        let operation = match *operation {
            RAW_PRIVATE => (!content.is_empty() && content.len() <= NUMBER_BYTES_MAX)
                .then(|| Operation::RawPrivate(content.to_vec()))?,
            KEYS => (content.is_empty() && public_key.is_none()).then_some(Operation::Keys)?,
            number @ DECRYPT.. => decryption(number, content)?,
            number => {
                let scheme = SCHEMES.get(usize::from(number) - 1)?;
                Operation::of(*scheme, content)?
            }
        };
        Some(Self {
            key_id: key_id.to_owned(),
            public_key,
            operation,
        })
    }
}

/// The signature, power, message or keys, or the reason why there is none.
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
        // The message in a ciphertext may be empty.
        [0, made @ ..] => Some(Ok(Zeroizing::new(made.to_vec()))),
        [1, why @ ..] if why.len() <= TEXT_BYTES_MAX => {
            let why = String::from_utf8_lossy(why);
            Some(Err(why.replace(char::is_control, " ")))
        }
        _ => None,
    }
}

const VERSION: u8 = 3;
/// The first message on a connection that stays open.
pub(super) const GREETING: [u8; 1] = [2];
/// The relay refuses this number, which no operation has.
const NO_OPERATION: u8 = 254;
/// The longest number in bytes: 16384 bits.
const NUMBER_BYTES_MAX: usize = 2048;
/// The longest message to sign: that of a cryptoserver.
const MESSAGE_BYTES_MAX: usize = 65536;
const LABEL_BYTES_MAX: usize = 2048;
const TEXT_BYTES_MAX: usize = 500;
/// The longest question in bytes.
pub(super) const QUESTION_BYTES_MAX: usize = 3 + 255 + 33 + MESSAGE_BYTES_MAX;
/// The longest answer in bytes, but for a list of keys: one with an ML-DSA signature.
pub(super) const ANSWER_BYTES_MAX: usize = 1 + MlDsa::MlDsa87.signature_bytes();

#[cfg(test)]
mod tests {
    use oarlock_engine::ec::{EcPrivateKey, SIGNATURE_BYTES_MAX};

    use super::*;

    fn questions() -> Vec<Question> {
        let ask = |operation| Question {
            key_id: "web".into(),
            public_key: None,
            operation,
        };
        let mut questions = vec![
            ask(Operation::RawPrivate(vec![7; 256])),
            ask(Operation::RawPrivate(vec![7; NUMBER_BYTES_MAX])),
            ask(Operation::Keys),
        ];
        for scheme in SCHEMES {
            let digest = vec![3; scheme.digest_bytes().unwrap_or(MESSAGE_BYTES_MAX)];
            questions.push(ask(Operation::of(scheme, &digest).unwrap()));
        }
        for hash in OAEP {
            for label in [vec![], vec![9; LABEL_BYTES_MAX]] {
                let scheme = EncryptionScheme::Oaep {
                    hash,
                    mgf1: hash,
                    label,
                };
                questions.push(ask(Operation::decrypt(scheme, &[5; 256]).unwrap()));
            }
        }
        questions.push(ask(Operation::decrypt(
            EncryptionScheme::Pkcs1,
            &[5; NUMBER_BYTES_MAX],
        )
        .unwrap()));
        questions.push(Question {
            public_key: Some([4; 32]),
            ..ask(Operation::RawPrivate(vec![7; 256]))
        });
        questions
    }

    #[test]
    fn questions_are_read_as_they_were_written() {
        for question in questions() {
            let frame = question.to_message();
            assert!(frame.len() <= QUESTION_BYTES_MAX);
            assert_eq!(Question::from_message(&frame), Some(question));
        }
    }

    #[test]
    fn nothing_else_is_a_question() {
        for question in questions() {
            let frame = question.to_message();
            let begin = if question.public_key.is_some() { 39 } else { 7 };
            // Where the content may have any length, or its end may be cut.
            let (least, most) = match &question.operation {
                Operation::RawPrivate(_) => (begin + 1, begin + NUMBER_BYTES_MAX),
                Operation::Sign { scheme, .. } if scheme.digest_bytes().is_none() => {
                    (begin, begin + MESSAGE_BYTES_MAX)
                }
                Operation::Decrypt {
                    scheme: EncryptionScheme::Oaep { .. },
                    ciphertext,
                } => {
                    let least = begin + 2 + ciphertext.len();
                    (least, least + LABEL_BYTES_MAX)
                }
                _ => (frame.len(), frame.len()),
            };
            for cut in 0..frame.len() {
                let is_one = Question::from_message(&frame[..cut]).is_some();
                assert_eq!(is_one, cut >= least, "{cut} of {:?}", frame.len());
            }
            let longer = [&frame[..], &[0]].concat();
            let is_one = Question::from_message(&longer).is_some();
            assert_eq!(is_one, frame.len() < most);
            for (place, value) in [
                (0, 0),
                (0, 2),
                (1, 14),
                (1, 254),
                (2, 255),
                (3, 10),
                (6, 31),
            ] {
                let mut other = frame.clone();
                other[place] = value;
                assert!(Question::from_message(&other).is_none(), "{place} {value}");
            }
        }
        let of_no_key = Question {
            key_id: String::new(),
            public_key: None,
            operation: Operation::RawPrivate(vec![1]),
        };
        assert!(Question::from_message(&of_no_key.to_message()).is_none());
        let two_hashes = EncryptionScheme::Oaep {
            hash: Hash::Sha256,
            mgf1: Hash::Sha1,
            label: Vec::new(),
        };
        assert!(Operation::decrypt(two_hashes, &[1]).is_none());
        let message = [0; MESSAGE_BYTES_MAX + 1];
        assert!(Operation::sign_message(Scheme::Ed25519, &message).is_none());
        assert!(Operation::sign_message(Scheme::Ecdsa(Curve::P256), &[0; 32]).is_none());
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
                assert_eq!(Some(sent.len()), scheme.digest_bytes());
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
        assert!(read_answer(&[0]).unwrap().unwrap().is_empty());
        for frame in [&[][..], &[2, 1], &[&[1][..], &[b'x'; 501]].concat()] {
            assert!(read_answer(frame).is_none());
        }
    }
}
