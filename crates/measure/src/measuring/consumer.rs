//! A consumer that does more than encrypt.

use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::error::Error;
use crate::peers::{Stream, Subject};

/// Wraps `subject` so that each request also computes HMAC-SHA256 of its output, as encrypt-then-MAC does, with the
/// same code for every peer.
pub(crate) fn then_hmac(subject: Subject) -> Result<Subject, Error> {
    let Subject::Stream(cipher) = subject else {
        return Err(Error::Failed("an AEAD has its own MAC".to_owned()));
    };
    let hmac = Hmac::<Sha256>::new_from_slice(&HMAC_KEY)
        .map_err(|error| Error::Failed(format!("HMAC: {error}")))?;
    Subject::stream(Consumer { cipher, hmac })
}

struct Consumer {
    cipher: Box<dyn Stream>,
    /// A keyed HMAC; each request starts from a copy.
    hmac: Hmac<Sha256>,
}

impl Stream for Consumer {
    fn set_iv(&mut self, iv: &[u8; 16]) {
        self.cipher.set_iv(iv);
    }

    fn apply(&mut self, data: &mut [u8]) {
        self.cipher.apply(data);
        let mut hmac = self.hmac.clone();
        hmac.update(data);
        std::hint::black_box(hmac.finalize());
    }

    fn prefill(&mut self, budget: Duration) {
        self.cipher.prefill(budget);
    }
}

const HMAC_KEY: [u8; 32] = [0x0b; 32];
