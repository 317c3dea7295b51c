//! Computes requests whose data lie in segments, segment by segment, if the algorithm can pause at a segment's end. Other
//! requests are gathered first.

use inout::InOutBuf;
use oarlock_kernels::aead::AeadError;
use oarlock_kernels::chacha20_poly1305::{self, ChaCha20Poly1305};
use oarlock_kernels::gcm::{self, Gcm};
use subtle::ConstantTimeEq;

use super::{CipherKey, DIGEST_BYTES_MAX, LocalKeys, MacKey, TAG_BYTES, put_or_check};
use crate::Error;
use crate::device::keyed::aead::KeyInParts;
use crate::work::algorithm::{Direction, Kind};
use crate::work::buffers::Buffers;
use crate::work::counter::Geometry;
use crate::work::operation::{ChainOrder, Service, Step};

impl LocalKeys {
    /// Computes a request where its data lie, if that is faster than copying them. Returns whether it did; if not, or if the
    /// tag is wrong, the data are unchanged.
    pub(crate) fn run_scattered(&self, step: &Step, buffers: &mut Buffers) -> Result<bool, Error> {
        if !self.gains_scattered(step, buffers) {
            return Ok(false);
        }
        let mut tag = [0; DIGEST_BYTES_MAX];
        let authenticated = step.layout.authenticated.clone();
        let encrypted = step.layout.encrypted.clone();
        match (self.service, step.direction) {
            (Service::Cipher(_), _) => self.crypt_scattered(step, buffers, &mut |_| ()),
            (Service::Aead(_), _) => return self.aead_scattered(step, buffers),
            (Service::Mac(_) | Service::Digest(_), _) => {
                self.tag_of_pieces(
                    &mut |update| buffers.each_input(authenticated.clone(), update),
                    &mut tag,
                );
                self.put_or_check_scattered(step, buffers, &mut tag)?;
            }
            (Service::Chained { .. }, Direction::Encrypt) => {
                self.tag_of_pieces(
                    &mut |update| {
                        buffers.each_input(authenticated.clone(), update);
                        self.crypt_scattered(step, buffers, update);
                    },
                    &mut tag,
                );
                self.put_or_check_scattered(step, buffers, &mut tag)?;
            }
            (Service::Chained { .. }, Direction::Decrypt) => {
                self.tag_of_pieces(
                    &mut |update| {
                        buffers.each_input(authenticated.clone(), update);
                        buffers.each_input(encrypted.clone(), update);
                    },
                    &mut tag,
                );
                self.put_or_check_scattered(step, buffers, &mut tag)?;
                self.crypt_scattered(step, buffers, &mut |_| ());
            }
            _ => return Ok(false),
        }
        buffers.copy_all_but(encrypted, self.tag_range(step));
        Ok(true)
    }

    /// Whether the algorithm can run by segments and these are long enough.
    fn gains_scattered(&self, step: &Step, buffers: &Buffers) -> bool {
        let can_mac = !matches!(self.mac, MacKey::Md5(_));
        let is_stream = matches!(&self.cipher, CipherKey::Stream(_));
        let segment_bytes_min = match self.service {
            Service::Cipher(_) if is_stream => CIPHER_SEGMENT_BYTES_MIN,
            // If input and output differ, opened data would have to be erased after a wrong tag.
            Service::Aead(_) if step.direction == Direction::Encrypt || buffers.is_in_place() => {
                match &self.cipher {
                    CipherKey::Aead(key) if key.in_parts().is_some() => AEAD_SEGMENT_BYTES_MIN,
                    _ => return false,
                }
            }
            Service::Mac(_) | Service::Digest(_) if can_mac => HASH_SEGMENT_BYTES_MIN,
            Service::Chained {
                order: ChainOrder::EncryptThenMac,
                ..
            } if can_mac && is_stream => HASH_SEGMENT_BYTES_MIN,
            _ => return false,
        };
        buffers.len() / buffers.segments().max(1) >= segment_bytes_min
    }

    /// Applies a stream cipher; `then` gets the output in order.
    fn crypt_scattered(&self, step: &Step, buffers: &mut Buffers, then: &mut dyn FnMut(&[u8])) {
        let CipherKey::Stream(key) = &self.cipher else {
            return;
        };
        let (key, kind) = (key.shared(), self.service.cipher().map(|one| one.kind()));
        let Some(Kind::Stream {
            block_bytes,
            counter_bits,
            ..
        }) = kind
        else {
            return;
        };
        let geometry = Geometry {
            block_shift: block_bytes.trailing_zeros(),
            counter_bits,
        };
        let (mut counter, mut skip) = (step.counter(), step.skip);
        buffers.each(step.layout.encrypted.clone(), &mut |mut piece| {
            key.apply(counter, skip, piece.reborrow());
            (counter, skip) = geometry.after(counter, skip, piece.len() as u64);
            then(piece.get_out());
        });
    }

    fn aead_scattered(&self, step: &Step, buffers: &mut Buffers) -> Result<bool, Error> {
        let CipherKey::Aead(key) = &self.cipher else {
            return Ok(false);
        };
        match key.in_parts() {
            Some(KeyInParts::Gcm(gcm)) => aead(gcm, step, buffers),
            Some(KeyInParts::ChaCha20Poly1305(chacha)) => aead(chacha, step, buffers),
            None => return Ok(false),
        }
        .map_err(|error| match error {
            AeadError::AuthenticationFailed => Error::AuthenticationFailed,
            error => Error::InvalidInput(error.to_string()),
        })?;
        buffers.copy_all_but(step.layout.encrypted.clone(), self.tag_range(step));
        Ok(true)
    }

    fn put_or_check_scattered(
        &self,
        step: &Step,
        buffers: &mut Buffers,
        tag: &mut [u8; DIGEST_BYTES_MAX],
    ) -> Result<(), Error> {
        let mut place = [0; DIGEST_BYTES_MAX];
        let place = &mut place[..self.tag_bytes];
        buffers.take(step.layout.tag, place);
        put_or_check(step.direction, place, tag)?;
        if step.direction == Direction::Encrypt {
            buffers.put(step.layout.tag, place);
        }
        Ok(())
    }

    /// Returns the range that the tag was written to.
    fn tag_range(&self, step: &Step) -> std::ops::Range<usize> {
        match step.direction {
            Direction::Encrypt => step.layout.tag..step.layout.tag + self.tag_bytes,
            Direction::Decrypt => 0..0,
        }
    }
}

/// An AEAD that processes messages in pieces.
trait InPieces {
    type Message;

    fn begin(&self, nonce: &[u8]) -> Result<Self::Message, AeadError>;
    fn aad(&self, message: &mut Self::Message, piece: &[u8]) -> Result<(), AeadError>;
    fn next(
        &self,
        message: &mut Self::Message,
        direction: Direction,
        piece: InOutBuf<'_, '_, u8>,
    ) -> Result<(), AeadError>;
    fn finish(&self, message: Self::Message) -> [u8; TAG_BYTES];
}

fn aead<A: InPieces>(aead: &A, step: &Step, buffers: &mut Buffers) -> Result<(), AeadError> {
    let layout = &step.layout;
    let mut message = aead.begin(step.iv.as_slice())?;
    let mut outcome = Ok(());
    buffers.each_input(layout.authenticated.clone(), &mut |piece| {
        if outcome.is_ok() {
            outcome = aead.aad(&mut message, piece);
        }
    });
    outcome?;
    let all = |direction, message: &mut A::Message, buffers: &mut Buffers| {
        let mut outcome = Ok(0);
        buffers.each(layout.encrypted.clone(), &mut |piece| {
            let bytes = piece.len();
            if let Ok(done) = &outcome {
                outcome = aead.next(message, direction, piece).map(|()| done + bytes);
            }
        });
        outcome
    };
    all(step.direction, &mut message, buffers)?;
    let tag = aead.finish(message);
    match step.direction {
        Direction::Encrypt => buffers.put(layout.tag, &tag),
        Direction::Decrypt => {
            let mut given = [0; TAG_BYTES];
            buffers.take(layout.tag, &mut given);
            if !bool::from(given.ct_eq(&tag)) {
                // These ciphers XOR keystream, so encrypting the plaintext restores the ciphertext.
                let mut again = aead.begin(step.iv.as_slice())?;
                all(Direction::Encrypt, &mut again, buffers)?;
                return Err(AeadError::AuthenticationFailed);
            }
        }
    }
    Ok(())
}

impl InPieces for Gcm {
    type Message = gcm::Message;

    fn begin(&self, nonce: &[u8]) -> Result<gcm::Message, AeadError> {
        Gcm::begin(self, nonce, &[])
    }
    fn aad(&self, message: &mut gcm::Message, piece: &[u8]) -> Result<(), AeadError> {
        self.aad_next(message, piece)
    }
    fn next(
        &self,
        message: &mut gcm::Message,
        direction: Direction,
        piece: InOutBuf<'_, '_, u8>,
    ) -> Result<(), AeadError> {
        match direction {
            Direction::Encrypt => self.seal_next(message, piece),
            Direction::Decrypt => self.open_next(message, piece),
        }
    }
    fn finish(&self, message: gcm::Message) -> [u8; TAG_BYTES] {
        Gcm::finish(self, message)
    }
}

impl InPieces for ChaCha20Poly1305 {
    type Message = chacha20_poly1305::Message;

    fn begin(&self, nonce: &[u8]) -> Result<chacha20_poly1305::Message, AeadError> {
        ChaCha20Poly1305::begin(self, nonce, &[])
    }
    fn aad(&self, message: &mut chacha20_poly1305::Message, piece: &[u8]) -> Result<(), AeadError> {
        self.aad_next(message, piece);
        Ok(())
    }
    fn next(
        &self,
        message: &mut chacha20_poly1305::Message,
        direction: Direction,
        piece: InOutBuf<'_, '_, u8>,
    ) -> Result<(), AeadError> {
        match direction {
            Direction::Encrypt => self.seal_next(message, piece),
            Direction::Decrypt => self.open_next(message, piece),
        }
    }
    fn finish(&self, message: chacha20_poly1305::Message) -> [u8; TAG_BYTES] {
        ChaCha20Poly1305::finish(self, message)
    }
}

// Limits on the mean length of segments; below them gathering is faster.
const CIPHER_SEGMENT_BYTES_MIN: usize = 128;
const AEAD_SEGMENT_BYTES_MIN: usize = 128;
const HASH_SEGMENT_BYTES_MIN: usize = 32;
