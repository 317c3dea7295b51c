//! The protocol between a client and the server: one message each way, over a socket that keeps message boundaries
//! (SOCK_SEQPACKET, unix(7)).
//!
//! ```text
//! from the client   1, then 32 bytes: the name of a key, known only to processes that have its private half
//! from the server   1, with the descriptor of the key's board
//! ```
//!
//! A server that does not hand out a board closes the connection.

use zeroize::Zeroizing;

/// The name of a key.
pub(crate) type Name = [u8; 32];

/// The purpose for which names are derived ([`secret_name`](oarlock::rsa::RsaPrivateKey::secret_name)).
pub(crate) const PURPOSE: &str = "oarlock board 2";

/// The purpose for which the secret of a board's seals is derived.
pub(crate) const SEALS: &str = "oarlock board 2: seals";

pub(crate) const GIVEN: [u8; 1] = [VERSION];
pub(crate) const ASKED_BYTES: usize = 1 + size_of::<Name>();

const VERSION: u8 = 1;

pub(crate) fn asked(name: &Name) -> Zeroizing<[u8; ASKED_BYTES]> {
    let mut frame = Zeroizing::new([VERSION; ASKED_BYTES]);
    frame[1..].copy_from_slice(name);
    frame
}

/// Returns the name in a client's message; `None` if the message is not one.
pub(crate) fn read(frame: &[u8]) -> Option<Zeroizing<Name>> {
    let name = frame.strip_prefix(&[VERSION])?;
    name.try_into().ok().map(Zeroizing::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_read_as_it_was_written_and_nothing_else_is_one() {
        let name: Name = std::array::from_fn(|at| at as u8);
        let frame = asked(&name);
        assert_eq!(*read(&frame[..]).unwrap(), name);
        for cut in 0..frame.len() {
            assert!(read(&frame[..cut]).is_none());
        }
        assert!(read(&[&frame[..], &[0]].concat()).is_none());
        let mut other = frame.clone();
        other[0] = 2;
        assert!(read(&other[..]).is_none());
    }
}
