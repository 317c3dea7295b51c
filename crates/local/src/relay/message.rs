//! A question and its answer: one message each way.
//!
//! ```text
//! question   version 1 | operation | length of the name | name of the key | digest or number
//! answer     0 | signature or power             or             1 | why there is none, as text
//! ```
//!
//! Each of the first three and the last two is one byte.

use std::mem::discriminant;

use oarlock::rsa::{Hash, SignatureScheme};
use zeroize::Zeroizing;

use super::reference::is_id;

/// What is asked of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// What the key is called where it is.
    pub key_id: String,
    /// What is to be made with it.
    pub operation: Operation,
}

/// What is to be made with a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The signature of a digest. There are six schemes: PKCS#1 v1.5 and PSS with SHA-256, SHA-384 and SHA-512, whose
    /// salts are as long as the digest.
    Sign {
        /// One of the six.
        scheme: SignatureScheme,
        /// As long as that of its hash function.
        digest: Vec<u8>,
    },
    /// A number, big-endian and as long as the modulus, to the power of the private exponent. A user that may have this
    /// can do anything with the key.
    RawPrivate(Vec<u8>),
}

impl Operation {
    /// The signature of a digest; `None` if the scheme is not one of the six, or the digest not as long as it must be.
    pub fn sign(scheme: SignatureScheme, digest: &[u8]) -> Option<Self> {
        let known = SCHEMES.iter().any(|known| is_same(*known, scheme));
        (known && digest.len() == scheme.hash().bytes()).then(|| Self::Sign {
            scheme,
            digest: digest.to_vec(),
        })
    }
}

/// In the order of their numbers, from 1 on. [`RAW_PRIVATE`] is none of them.
const SCHEMES: [SignatureScheme; 6] = [
    SignatureScheme::Pkcs1(Hash::Sha256),
    SignatureScheme::Pkcs1(Hash::Sha384),
    SignatureScheme::Pkcs1(Hash::Sha512),
    SignatureScheme::Pss(Hash::Sha256),
    SignatureScheme::Pss(Hash::Sha384),
    SignatureScheme::Pss(Hash::Sha512),
];
const RAW_PRIVATE: u8 = 0;

fn is_same(one: SignatureScheme, other: SignatureScheme) -> bool {
    discriminant(&one) == discriminant(&other) && one.hash() == other.hash()
}

impl Question {
    /// The message that asks it.
    pub fn to_message(&self) -> Vec<u8> {
        let (operation, content) = match &self.operation {
            Operation::RawPrivate(number) => (RAW_PRIVATE, number),
            Operation::Sign { scheme, digest } => {
                let place = SCHEMES.iter().position(|known| is_same(*known, *scheme));
                // The relay refuses a scheme that is none of the six.
                let number = place.map_or(u8::MAX, |place| place as u8 + 1);
                (number, digest)
            }
        };
        let id = self.key_id.as_bytes();
        let id_bytes = u8::try_from(id.len()).unwrap_or(0);
        [&[VERSION, operation, id_bytes], id, content].concat()
    }

    /// The question of a message; `None` if the message cannot be read as one.
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
                Operation::sign(*scheme, content)?
            }
        };
        Some(Self {
            key_id: key_id.to_owned(),
            operation,
        })
    }
}

/// What was made, or why it was not.
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

/// The answer of a message; `None` if the message cannot be read as one. A text has no control characters: it goes to logs.
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
/// The longest number: 16384 bits.
const CONTENT_BYTES_MAX: usize = 2048;
const TEXT_BYTES_MAX: usize = 500;
/// No question and no answer has more.
pub(super) const FRAME_BYTES_MAX: usize = 3 + 255 + CONTENT_BYTES_MAX;

#[cfg(test)]
mod tests {
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
            let digest = vec![3; scheme.hash().bytes()];
            questions.push(ask(Operation::sign(scheme, &digest).unwrap()));
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
                // A number may be of any length.
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
            for (place, value) in [(0, 0), (0, 2), (1, 7), (1, 255), (2, 0), (2, 255), (3, 10)] {
                let mut other = frame.clone();
                other[place] = value;
                assert!(Question::from_message(&other).is_none(), "{place} {value}");
            }
        }
        assert!(Operation::sign(SignatureScheme::Pkcs1(Hash::Sha224), &[0; 28]).is_none());
        assert!(Operation::sign(SignatureScheme::Pss(Hash::Sha256), &[0; 31]).is_none());
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
