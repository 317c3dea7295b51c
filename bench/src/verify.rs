//! Outputs are compared before anything is timed.

use crate::Error;
use crate::buffer::Buffer;
use crate::measure::{Contestant, stream_iv};
use crate::peer::Subject;

/// Lets all of `contestants` do the same requests, in one stream each, and compares.
///
/// # Errors
/// [`Error::Mismatch`] with who differs from the first of them, where.
pub(crate) fn compare(
    case: &str,
    contestants: &mut [Contestant],
    timed_bytes: &[usize],
) -> Result<(), Error> {
    let mut requests = MIXED_BYTES.to_vec();
    requests.extend(timed_bytes.iter().flat_map(|bytes| [*bytes, *bytes]));
    let Some((reference, others)) = contestants.split_first_mut() else {
        return Ok(());
    };
    let reference_name = reference.name;
    for stream in 0..reference.subjects.len() {
        for other in &mut *others {
            let found = first_difference(
                &mut *reference.subjects[stream],
                &mut *other.subjects[stream],
                stream,
                &requests,
            );
            if let Some((request, offset)) = found {
                return Err(Error::Mismatch(format!(
                    "{} differs from {reference_name} in {case}: request {} of a stream, \
                     {} bytes, first at offset {offset}",
                    other.name,
                    request + 1,
                    requests[request],
                )));
            }
        }
    }
    Ok(())
}

/// The request and the offset in it where outputs part.
fn first_difference(
    a: &mut dyn Subject,
    b: &mut dyn Subject,
    stream: usize,
    requests: &[usize],
) -> Option<(usize, usize)> {
    // The second IV shows that a stream can be begun anew, in the middle of a block at that.
    for iv in [stream_iv(stream), stream_iv(stream + 1)] {
        a.set_iv(&iv);
        b.set_iv(&iv);
        for (number, bytes) in requests.iter().enumerate() {
            let (mut of_a, mut of_b) = (Buffer::new(*bytes), Buffer::new(*bytes));
            for buffer in [&mut of_a, &mut of_b] {
                for (position, byte) in buffer.bytes_mut().iter_mut().enumerate() {
                    *byte = position as u8;
                }
            }
            a.apply(of_a.bytes_mut());
            b.apply(of_b.bytes_mut());
            let (of_a, of_b) = (of_a.bytes_mut(), of_b.bytes_mut());
            if of_a != of_b {
                let offset = of_a.iter().zip(of_b).position(|(a, b)| a != b);
                return Some((number, offset.unwrap_or_default()));
            }
        }
    }
    None
}

/// Lengths around blocks, vectors, the counter-mode table and a stripe, in and out of step; a
/// stream ends within a block.
const MIXED_BYTES: &[usize] = &[
    64, 1, 15, 16, 17, 31, 47, 64, 255, 257, 1024, 512, 4096, 6_000, 16_384, 70_001, 3, 300_000,
    64, 13,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::CASES;
    use crate::openssl;

    /// Right but for one bit in its `wrong`-th request.
    struct Wrong {
        right: Box<dyn Subject>,
        wrong: usize,
    }

    impl Subject for Wrong {
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
    fn a_wrong_subject_is_named() {
        let peer = (openssl::PEER.open)().unwrap();
        let subject = || peer.subject(&CASES[2], &[7; 32]).unwrap();
        let right = || Contestant::new("right", vec![subject()]);
        let wrong = |wrong| {
            let right = subject();
            Contestant::new("wrong", vec![Box::new(Wrong { right, wrong })])
        };
        let compare = |b| compare("aes-256-ctr", &mut [right(), right(), b], &[4096]);

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
}
