//! The sender's side of TLS.

use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

use super::cut::{Cut, HEADER_BYTES};
use super::keys::{KeySet, Keys, Side};
use super::outbound_record::{Numbered, OutboundRecord};
use super::suite::{ContentType, Suite};
use crate::PacketError;
use oarlock_engine::plan::Engine;
use oarlock_engine::plan::Workers;
use oarlock_engine::{Direction, Error};

/// Seals records of one direction of a connection, from `Accelerator::tls_outbound`.
pub struct Outbound {
    side: Side,
    cut: Cut,
}

impl Outbound {
    #[doc(hidden)]
    pub fn open(engine: &Arc<Engine>, keys: &Keys<'_>) -> Result<Self, Error> {
        Ok(Self {
            side: Side::open(engine, keys, Direction::Encrypt)?,
            cut: Cut::default(),
        })
    }

    /// Seals each of `records` in place, and numbers them in order. If a record is not sealed, its
    /// [`sealed`](OutboundRecord::sealed) returns why. It takes no number, unless its device failed.
    pub fn seal(&mut self, records: &mut [OutboundRecord<'_>]) {
        let mut bytes = 0;
        for record in &mut *records {
            bytes += record.number(HEADER_BYTES, &self.cut, &mut self.side.keys, u64::MAX);
        }
        let keys = &self.side.keys;
        self.side.flow.run(bytes, records, &|run| {
            for record in run {
                let sealed = record.numbered().map(|numbered| numbered.seal(keys));
                if let Some(Err(error)) = sealed {
                    record.refuse(error);
                }
            }
        });
        self.side.hand_in_what_was_shared();
    }

    /// Cuts `data` into records according to [`cut`](Self::cut), and writes them to `sealed` one after another. Returns
    /// their length, [`Cut::sealed_bytes`]. Empty data becomes no record.
    ///
    /// ```
    /// use oarlock::Accelerator;
    /// use oarlock::packet::tls::{ContentType, Keys, Suite};
    ///
    /// let accelerator = Accelerator::builder().build()?;
    /// let keys = Keys::from_secret(Suite::Aes128GcmSha256, &[7; 32]);
    /// let mut outbound = accelerator.tls_outbound(&keys)?;
    /// let data = [0; 40_000];
    /// let mut sealed = vec![0; outbound.cut().sealed_bytes(data.len()).unwrap()];
    /// let bytes = outbound.seal_stream(ContentType::APPLICATION_DATA, &data, &mut sealed)?;
    /// // Two records of 16,384 bytes and one with the rest.
    /// assert_eq!(bytes, 40_000 + 3 * 22);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`PacketError::NoRoom`] if `sealed` is too short, [`PacketError::InvalidContent`] for a type that is never
    /// protected or an empty alert or handshake message, and [`PacketError::KeyExhausted`] or
    /// [`PacketError::SequenceExhausted`] if the key may not protect that many records: nothing was sealed then.
    /// [`PacketError::Failed`] if every device failed: none of it may be sent, and its numbers are used up.
    pub fn seal_stream(
        &mut self,
        content_type: ContentType,
        data: &[u8],
        sealed: &mut [u8],
    ) -> Result<usize, PacketError> {
        let cut = self.cut;
        let sealed_bytes = cut.sealed_bytes(data.len()).unwrap_or(usize::MAX);
        let Some(sealed) = sealed.get_mut(..sealed_bytes) else {
            let (before, behind) = (0, sealed_bytes);
            return Err(PacketError::NoRoom { before, behind });
        };
        if !content_type.may_have(data.len()) {
            return Err(PacketError::InvalidContent {
                content_type: content_type.0,
            });
        }
        let records = data.len().div_ceil(cut.content_bytes_max());
        let mut sequence = self.side.keys.take(records as u64, u64::MAX)?;
        let keys = &self.side.keys;
        let mut rest = sealed;
        for data in data.chunks(cut.content_bytes_max() * AT_ONCE) {
            let mut pieces: SmallVec<[Piece<'_>; AT_ONCE]> = SmallVec::new();
            for content in data.chunks(cut.content_bytes_max()) {
                let (to, behind) = rest.split_at_mut(cut.record_bytes(content.len()));
                rest = behind;
                pieces.push(Piece {
                    content,
                    to,
                    sequence,
                    result: Ok(()),
                });
                sequence += 1;
            }
            self.side.flow.run(data.len(), &mut pieces, &|run| {
                for piece in run {
                    piece.seal(keys, content_type, &cut);
                }
            });
            let mut results = pieces.into_iter().map(|piece| piece.result);
            if let Some(error) = results.find_map(Result::err) {
                return Err(error);
            }
        }
        self.side.hand_in_what_was_shared();
        Ok(sealed_bytes)
    }

    /// Switches to the next generation of keys, after the record with the KeyUpdate message
    /// ([`key_update`](super::key_update); RFC 8446, 4.6.3), and wipes the old ones.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if the keys were not created from a secret. The old ones stay in use.
    pub fn update(&mut self) -> Result<(), Error> {
        self.side.update()
    }

    /// Switches like [`update`](Self::update), to keys derived by the handshake.
    ///
    /// # Errors
    /// Those of `Accelerator::tls_outbound`. The old keys stay in use.
    pub fn set_keys(&mut self, keys: &Keys<'_>) -> Result<(), Error> {
        self.side.set_keys(keys)
    }

    /// Returns how records are cut and padded.
    pub fn cut(&self) -> &Cut {
        &self.cut
    }

    /// Sets how [`seal_stream`](Self::seal_stream) cuts and pads records, and the longest record of both methods.
    pub fn set_cut(&mut self, cut: Cut) {
        self.cut = cut;
    }

    /// Returns the limit on helper threads, which can be changed while records flow.
    pub fn workers(&self) -> &Workers {
        self.side.flow.workers()
    }

    /// Returns the number of the next record.
    pub fn sequence(&self) -> u64 {
        self.side.keys.sequence
    }

    /// Returns how many more records the key may protect. Update it before none are left.
    pub fn records_left(&self) -> u64 {
        (self.suite().records_max()).saturating_sub(self.side.keys.sequence)
    }

    /// Returns the cipher suite of the keys.
    pub fn suite(&self) -> Suite {
        self.side.keys.suite()
    }
}

impl fmt::Debug for Outbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.side.fmt("Outbound", f)
    }
}

/// A record cut from a long buffer.
struct Piece<'a> {
    content: &'a [u8],
    to: &'a mut [u8],
    sequence: u64,
    result: Result<(), PacketError>,
}

impl Piece<'_> {
    fn seal(&mut self, keys: &KeySet, content_type: ContentType, cut: &Cut) {
        self.to[HEADER_BYTES..][..self.content.len()].copy_from_slice(self.content);
        let numbered = Numbered {
            record: self.to,
            sequence: self.sequence,
            content_type,
            padding_bytes: cut.padding_bytes(self.content.len()),
        };
        self.result = numbered.seal(keys);
    }
}

/// The most records in a run: 1 MiB if they are full.
const AT_ONCE: usize = 64;
