//! Keys in OpenSSL contexts, as subjects.

use super::library::Context;
use crate::peers::subject::{Aead, Sealed, Stream};

pub(crate) struct OpenSslStream(pub(crate) Context);

impl Stream for OpenSslStream {
    fn set_iv(&mut self, iv: &[u8; 16]) {
        self.0.set_iv(iv);
    }

    fn apply(&mut self, data: &mut [u8]) {
        self.0.update(data);
    }
}

/// ChaCha20, whose IV in OpenSSL is the block counter, little-endian, and the nonce.
pub(crate) struct OpenSslChaCha20(pub(crate) Context);

impl Stream for OpenSslChaCha20 {
    fn set_iv(&mut self, iv: &[u8; 16]) {
        let mut counter_and_nonce = [0; 16];
        counter_and_nonce[4..].copy_from_slice(&iv[..12]);
        self.0.set_iv(&counter_and_nonce);
    }

    fn apply(&mut self, data: &mut [u8]) {
        self.0.update(data);
    }
}

/// Triple DES in counter mode, which OpenSSL lacks. The counters are written and the keystream is applied here, which
/// takes 1 to 2 % of the time; the rest is OpenSSL's block cipher, many blocks per call.
pub(super) struct TripleDesCtr {
    blocks: Context,
    counter: u64,
    keystream: [u8; KEYSTREAM_BYTES],
    /// The number of unused keystream bytes, at the end of the buffer.
    unused: usize,
}

impl TripleDesCtr {
    pub(super) fn new(blocks: Context) -> Self {
        Self {
            blocks,
            counter: 0,
            keystream: [0; KEYSTREAM_BYTES],
            unused: 0,
        }
    }

    /// Computes at least `bytes` bytes of keystream, limited by the size of the buffer.
    fn make_keystream(&mut self, bytes: usize) {
        let bytes = bytes.next_multiple_of(8).min(KEYSTREAM_BYTES);
        let made = &mut self.keystream[KEYSTREAM_BYTES - bytes..];
        for block in made.chunks_exact_mut(8) {
            block.copy_from_slice(&self.counter.to_be_bytes());
            self.counter = self.counter.wrapping_add(1);
        }
        self.blocks.update(made);
        self.unused = bytes;
    }
}

impl Stream for TripleDesCtr {
    fn set_iv(&mut self, iv: &[u8; 16]) {
        let [counter @ .., _, _, _, _, _, _, _, _] = *iv;
        self.counter = u64::from_be_bytes(counter);
        self.unused = 0;
    }

    fn apply(&mut self, mut data: &mut [u8]) {
        while !data.is_empty() {
            if self.unused == 0 {
                self.make_keystream(data.len());
            }
            let (now, later) = data.split_at_mut(self.unused.min(data.len()));
            let keystream = &self.keystream[KEYSTREAM_BYTES - self.unused..];
            for (byte, key) in now.iter_mut().zip(keystream) {
                *byte ^= key;
            }
            self.unused -= now.len();
            data = later;
        }
    }
}

/// An AEAD with its key set once for each direction; each message sets its nonce.
pub(crate) struct OpenSslAead {
    pub(crate) sealing: Context,
    pub(crate) opening: Context,
}

impl Aead for OpenSslAead {
    fn seal(&mut self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8]) -> [u8; 16] {
        self.sealing.set_nonce(nonce);
        self.sealing.update_aad(aad);
        self.sealing.update(data);
        assert!(self.sealing.ends(), "EVP_EncryptFinal_ex");
        self.sealing.tag()
    }

    fn open(&mut self, message: &Sealed, aad: &[u8], data: &mut [u8]) -> bool {
        self.opening.set_nonce(&message.nonce);
        self.opening.set_tag(&message.tag);
        self.opening.update_aad(aad);
        self.opening.update_to(&message.data, data);
        self.opening.ends()
    }
}

/// The size of the keystream buffer: a page, in which the cost of a call is negligible.
const KEYSTREAM_BYTES: usize = 4096;
