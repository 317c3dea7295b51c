//! Compares outputs before anything is timed.

use super::buffer::Buffer;
use super::turns::{Contestant, stream_iv};
use crate::error::Error;
use crate::peers::{AAD, Aead, Nonces, Sealed, Stream, Subject};

/// Runs the same requests with all `contestants`, in one stream each, and compares the outputs. The lengths of requests
/// are multiples of `granule_bytes`.
///
/// # Errors
/// [`Error::Mismatch`] names the contestant that differs from the first, and the place.
pub(crate) fn compare(
    case: &str,
    contestants: &mut [Contestant],
    timed_bytes: &[usize],
    granule_bytes: usize,
) -> Result<(), Error> {
    let requests: Vec<usize> = MIXED_BYTES
        .iter()
        .chain(timed_bytes.iter().flat_map(|bytes| [bytes, bytes]))
        .map(|bytes| bytes.next_multiple_of(granule_bytes))
        .collect();
    let Some((reference, others)) = contestants.split_first_mut() else {
        return Ok(());
    };
    let reference_name = reference.name;
    for stream in 0..reference.subjects.len() {
        for other in &mut *others {
            let found = match (&mut reference.subjects[stream], &mut other.subjects[stream]) {
                (Subject::Stream(a), Subject::Stream(b)) => {
                    stream_difference(&mut **a, &mut **b, stream, &requests)
                }
                (Subject::Aead(a), Subject::Aead(b)) => {
                    aead_difference(&mut **a, &mut **b, &requests)
                }
                _ => Some((0, "in kind".to_owned())),
            };
            if let Some((request, what)) = found {
                return Err(Error::Mismatch(format!(
                    "{} differs from {reference_name} in {case}: request {} of a stream, \
                     {} bytes, {what}",
                    other.name,
                    request + 1,
                    requests[request],
                )));
            }
        }
    }
    Ok(())
}

/// Returns the request at which two streams differ, and how.
fn stream_difference(
    a: &mut dyn Stream,
    b: &mut dyn Stream,
    stream: usize,
    requests: &[usize],
) -> Option<(usize, String)> {
    // The second IV checks that a stream can be restarted, even in the middle of a block.
    for iv in [stream_iv(stream), stream_iv(stream + 1)] {
        a.set_iv(&iv);
        b.set_iv(&iv);
        for (number, bytes) in requests.iter().enumerate() {
            let (mut of_a, mut of_b) = (filled(*bytes), filled(*bytes));
            a.apply(of_a.bytes_mut());
            b.apply(of_b.bytes_mut());
            if let Some(what) = first_difference(of_a.bytes_mut(), of_b.bytes_mut()) {
                return Some((number, what));
            }
        }
    }
    None
}

/// Returns the request at which two AEADs differ, and how. Each sealed message is also opened, and must be refused with
/// a wrong tag.
fn aead_difference(
    a: &mut dyn Aead,
    b: &mut dyn Aead,
    requests: &[usize],
) -> Option<(usize, String)> {
    let mut nonces = Nonces::default();
    for (number, bytes) in requests.iter().enumerate() {
        let nonce = *nonces.next_nonce();
        let (mut of_a, mut of_b) = (filled(*bytes), filled(*bytes));
        let tag = a.seal(&nonce, &AAD, of_a.bytes_mut());
        let tag_of_b = b.seal(&nonce, &AAD, of_b.bytes_mut());
        if let Some(what) = first_difference(of_a.bytes_mut(), of_b.bytes_mut()) {
            return Some((number, what));
        }
        if tag != tag_of_b {
            return Some((number, "in the tag".to_owned()));
        }
        let data = of_a.bytes_mut().to_vec();
        let mut message = Sealed { nonce, data, tag };
        let right = [
            a.open(&message, &AAD, of_a.bytes_mut()),
            b.open(&message, &AAD, of_b.bytes_mut()),
        ];
        if right != [true; 2] {
            return Some((number, "not opened again".to_owned()));
        }
        for opened in [&mut of_a, &mut of_b] {
            if let Some(what) = first_difference(opened.bytes_mut(), filled(*bytes).bytes_mut()) {
                return Some((number, format!("opened again: {what}")));
            }
        }
        message.tag[number % 16] ^= 1;
        if a.open(&message, &AAD, of_a.bytes_mut()) || b.open(&message, &AAD, of_b.bytes_mut()) {
            return Some((number, "opened with a wrong tag".to_owned()));
        }
    }
    None
}

fn filled(bytes: usize) -> Buffer {
    let mut buffer = Buffer::new(bytes);
    for (position, byte) in buffer.bytes_mut().iter_mut().enumerate() {
        *byte = position as u8;
    }
    buffer
}

fn first_difference(a: &[u8], b: &[u8]) -> Option<String> {
    if a == b {
        return None;
    }
    let offset = a.iter().zip(b).position(|(a, b)| a != b);
    Some(format!("first at offset {}", offset.unwrap_or_default()))
}

/// Lengths around blocks, vectors, the counter-mode table and a stripe, aligned and not; a stream ends within a block.
const MIXED_BYTES: &[usize] = &[
    64, 1, 15, 16, 17, 31, 47, 64, 255, 257, 1024, 512, 4096, 6_000, 16_384, 70_001, 3, 300_000,
    64, 13,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::{CASES, Case};
    use crate::peers::{Peer, openssl};

    fn case(name: &str) -> &'static Case {
        CASES.iter().find(|case| case.name == name).unwrap()
    }

    fn subject(case: &Case) -> Subject {
        let peer: Box<dyn Peer> = (openssl::PEER.open)(1).unwrap();
        peer.subject(case, &[7; 32][..case.algorithm.key_bytes()])
            .unwrap()
    }

    /// A stream that is right except for one bit in its `wrong`-th request.
    struct WrongStream {
        right: Box<dyn Stream>,
        wrong: usize,
    }

    impl Stream for WrongStream {
        fn set_iv(&mut self, iv: &[u8; 16]) {
            self.right.set_iv(iv);
        }

        fn apply(&mut self, data: &mut [u8]) {
            self.right.apply(data);
            self.wrong = self.wrong.wrapping_sub(1);
            if self.wrong == 0 {
                data[11] ^= 0x10;
            }
        }
    }

    #[test]
    fn a_wrong_stream_is_named() {
        let case = case("aes-256-ctr");
        let right = || Contestant::new("right", vec![subject(case)]);
        let wrong = |wrong| {
            let Subject::Stream(right) = subject(case) else {
                panic!("CTR is a stream");
            };
            let subject = Subject::stream(WrongStream { right, wrong }).unwrap();
            Contestant::new("wrong", vec![subject])
        };
        let compare = |b| compare("aes-256-ctr", &mut [right(), right(), b], &[4096], 1);

        assert!(compare(right()).is_ok());
        let expected = "wrong differs from right in aes-256-ctr: request 11 of a stream, \
                        1024 bytes, first at offset 11";
        assert_eq!(compare(wrong(11)).unwrap_err().to_string(), expected);
        let in_the_timed_size = MIXED_BYTES.len() + 2;
        let message = compare(wrong(in_the_timed_size)).unwrap_err().to_string();
        assert!(message.contains("4096 bytes"), "{message}");
        let after_a_new_iv = 2 * (MIXED_BYTES.len() + 2);
        assert!(compare(wrong(after_a_new_iv)).is_err());
    }

    /// The faults that an AEAD may have.
    #[derive(Clone, Copy, PartialEq)]
    enum Fault {
        Ciphertext,
        Tag,
        Plaintext,
        RefusesAll,
        TakesAll,
    }

    struct WrongAead(Box<dyn Aead>, Fault);

    impl Aead for WrongAead {
        fn seal(&mut self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8]) -> [u8; 16] {
            let mut tag = self.0.seal(nonce, aad, data);
            data[0] ^= u8::from(self.1 == Fault::Ciphertext);
            tag[15] ^= u8::from(self.1 == Fault::Tag);
            tag
        }

        fn open(&mut self, message: &Sealed, aad: &[u8], data: &mut [u8]) -> bool {
            let right = self.0.open(message, aad, data);
            data[0] ^= u8::from(self.1 == Fault::Plaintext);
            (right || self.1 == Fault::TakesAll) && self.1 != Fault::RefusesAll
        }
    }

    #[test]
    fn every_fault_of_an_aead_is_named() {
        let case = case("aes-128-gcm");
        let right = || Contestant::new("right", vec![subject(case)]);
        assert!(compare(case.name, &mut [right(), right()], &[64], 1).is_ok());
        for (fault, named) in [
            (Fault::Ciphertext, "first at offset 0"),
            (Fault::Tag, "in the tag"),
            (Fault::Plaintext, "opened again: first at offset 0"),
            (Fault::RefusesAll, "not opened again"),
            (Fault::TakesAll, "opened with a wrong tag"),
        ] {
            let Subject::Aead(aead) = subject(case) else {
                panic!("GCM is an AEAD");
            };
            let subject = Subject::aead(WrongAead(aead, fault)).unwrap();
            let wrong = Contestant::new("wrong", vec![subject]);
            let error = compare(case.name, &mut [right(), wrong], &[64], 1).unwrap_err();
            assert!(error.to_string().ends_with(named), "{error}");
        }
    }
}
