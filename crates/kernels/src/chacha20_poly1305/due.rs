//! A message without data yet: block 0 is computed during the rounds of the first data.

use core::fmt;

use inout::InOutBuf;
use zeroize::ZeroizeOnDrop;

use super::message::Message;
use super::{ChaCha20Poly1305, MAC_BYTES, check_length, nonce_words, with_tail};
use crate::aead::AeadError;
use crate::stitched::Direction;
use crate::wipe::wipe;

/// The nonce and the first associated data of a message that will begin with its first data. Wiped on drop.
#[derive(Clone)]
pub struct Due {
    nonce: [u32; 3],
    aad: [u8; AAD_BYTES_MAX],
    aad_bytes: usize,
}

/// Room for associated data: a TLS header has 13 or 5 bytes, an IPsec one 8 or 12, a QUIC one up to 46.
const AAD_BYTES_MAX: usize = 48;

impl Due {
    /// Creates a value for [`seal_first`](ChaCha20Poly1305::seal_first).
    ///
    /// # Errors
    /// [`AeadError::InvalidNonceLength`] if `nonce` does not have 12 bytes.
    #[inline]
    pub fn new(nonce: &[u8]) -> Result<Self, AeadError> {
        Ok(Self {
            nonce: nonce_words(nonce)?,
            aad: [0; AAD_BYTES_MAX],
            aad_bytes: 0,
        })
    }

    /// Adds associated data if there is room; returns whether there was.
    #[inline]
    #[must_use]
    pub fn takes(&mut self, aad: &[u8]) -> bool {
        let (_, room) = self.aad.split_at_mut(self.aad_bytes);
        let Some(place) = room.get_mut(..aad.len()) else {
            return false;
        };
        place.copy_from_slice(aad);
        self.aad_bytes += aad.len();
        true
    }

    fn aad(&self) -> &[u8] {
        &self.aad[..self.aad_bytes]
    }
}

impl ZeroizeOnDrop for Due {}

impl Drop for Due {
    #[inline]
    fn drop(&mut self) {
        wipe(&mut self.nonce);
        wipe(&mut self.aad);
    }
}

impl fmt::Debug for Due {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Due")
            .field("aad_bytes", &self.aad_bytes)
            .finish_non_exhaustive()
    }
}

impl ChaCha20Poly1305 {
    /// Begins the message `due` in `place` with its first part, of any length, and encrypts that. This is faster than
    /// [`begin`](Self::begin) and [`seal_next`](Self::seal_next). The message accepts no more associated data.
    ///
    /// # Errors
    /// [`AeadError::MessageTooLong`]; nothing was written, and no message begun.
    #[inline]
    pub fn seal_first(
        &self,
        place: &mut Option<Message>,
        due: &Due,
        data: InOutBuf<'_, '_, u8>,
    ) -> Result<(), AeadError> {
        self.first(Direction::Seal, place, due, data)
    }

    /// Like [`seal_first`](Self::seal_first), but decrypts. The output is *not verified yet*, like that of
    /// [`open_next`](Self::open_next).
    ///
    /// # Errors
    /// Those of [`seal_first`](Self::seal_first).
    #[inline]
    pub fn open_first(
        &self,
        place: &mut Option<Message>,
        due: &Due,
        data: InOutBuf<'_, '_, u8>,
    ) -> Result<(), AeadError> {
        self.first(Direction::Open, place, due, data)
    }

    /// Begins the message `due` before there is data. More associated data can be [added](Self::aad_next).
    pub fn begin_due(&self, due: &Due) -> Message {
        let mut message = self.begin_at(due.nonce, b"");
        self.aad_next(&mut message, due.aad());
        message
    }

    #[inline(always)]
    fn first(
        &self,
        direction: Direction,
        place: &mut Option<Message>,
        due: &Due,
        data: InOutBuf<'_, '_, u8>,
    ) -> Result<(), AeadError> {
        let bytes = data.len();
        check_length(bytes as u64)?;
        let start = self.cipher.start(due.nonce, 0);
        let backend = self.backend();
        let ((one_time, value), tail) = with_tail(direction, data, |data| {
            backend.first(direction, start, due.aad(), data, false)
        });
        *place = Some(Message::of(
            due.nonce,
            one_time,
            value,
            due.aad_bytes as u64,
        ));
        if let Some(message) = place {
            message.bytes = bytes as u64;
            message.pending = tail;
            message.pending_bytes = bytes % MAC_BYTES;
        }
        Ok(())
    }
}
