//! A passphrase as an identity that can be given up while scrypt computes, which takes up to half a minute.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use ::age::secrecy::SecretString;
use ::age::{DecryptError, Identity, scrypt};
use age_core::format::{FileKey, Stanza};

use super::WORK_FACTOR_MAX;

/// The passphrase of a file. A thread of its own computes scrypt, and `goes_on` is asked 20 times a second on the calling
/// thread. When that is false, unwrapping ends with [`DecryptError::Io`] of [`io::ErrorKind::Interrupted`], and the thread
/// computes to its end and drops the result. Without memory for scrypt the error's kind is [`io::ErrorKind::OutOfMemory`].
pub struct Passphrase<F> {
    passphrase: SecretString,
    goes_on: F,
}

impl<F: Fn() -> bool> Passphrase<F> {
    /// Creates the identity. It tries nothing above [`WORK_FACTOR_MAX`].
    pub fn new(passphrase: SecretString, goes_on: F) -> Self {
        Self {
            passphrase,
            goes_on,
        }
    }
}

impl<F: Fn() -> bool> Identity for Passphrase<F> {
    fn unwrap_stanza(&self, stanza: &Stanza) -> Option<Result<FileKey, DecryptError>> {
        // The crate allocates it infallibly.
        let bytes = bytes_of(stanza)?;
        if Vec::<u8>::new().try_reserve_exact(bytes).is_err() {
            return Some(Err(DecryptError::Io(io::ErrorKind::OutOfMemory.into())));
        }
        let mut identity = scrypt::Identity::new(self.passphrase.clone());
        identity.set_max_work_factor(WORK_FACTOR_MAX);
        let stanza = Stanza {
            tag: stanza.tag.clone(),
            args: stanza.args.clone(),
            body: stanza.body.clone(),
        };
        let (answer, answered) = mpsc::sync_channel(1);
        let computing = std::thread::Builder::new().spawn(move || {
            // Nobody may wait any more.
            let _ = answer.send(identity.unwrap_stanza(&stanza));
        });
        if let Err(error) = computing {
            return Some(Err(DecryptError::Io(error)));
        }
        loop {
            match answered.recv_timeout(ASKED_EVERY) {
                Ok(unwrapped) => return unwrapped,
                Err(RecvTimeoutError::Timeout) if (self.goes_on)() => {}
                Err(_) => return Some(Err(DecryptError::Io(io::ErrorKind::Interrupted.into()))),
            }
        }
    }
}

/// Returns the bytes that scrypt needs for a stanza of its own: 128 r N with r = 8 (RFC 7914). None are needed for what the
/// crate refuses.
fn bytes_of(stanza: &Stanza) -> Option<usize> {
    let factor = || stanza.args.get(1)?.parse::<u8>().ok();
    (stanza.tag == "scrypt").then(|| match factor() {
        Some(factor) if factor <= WORK_FACTOR_MAX => 1024 << factor,
        _ => 0,
    })
}

const ASKED_EVERY: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn it_ends_when_the_caller_no_longer_waits() {
        let asked = Cell::new(0);
        let goes_on = || {
            asked.set(asked.get() + 1);
            asked.get() < 2
        };
        let stanza = Stanza {
            tag: "scrypt".into(),
            args: vec!["A".repeat(22), "18".into()],
            body: vec![0; 32],
        };
        let unwrapped = Passphrase::new("x".to_owned().into(), goes_on).unwrap_stanza(&stanza);
        assert!(
            matches!(&unwrapped, Some(Err(DecryptError::Io(error))) if error.kind() == io::ErrorKind::Interrupted),
            "{:?}",
            unwrapped.map(|it| it.err())
        );
        assert_eq!(asked.get(), 2);
        let other = Stanza {
            tag: "X25519".into(),
            ..stanza
        };
        assert!(
            Passphrase::new("x".to_owned().into(), || true)
                .unwrap_stanza(&other)
                .is_none()
        );
    }
}
