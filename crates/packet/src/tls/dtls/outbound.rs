//! The sender's side of DTLS.

use std::fmt;
use std::sync::Arc;

use super::epoch::Epoch;
use super::header::{ConnectionId, Format};
use crate::PacketError;
use crate::tls::cut::Cut;
use crate::tls::keys::{Keys, TAG_BYTES};
use crate::tls::outbound_record::{Numbered, OutboundRecord};
use crate::tls::suite::Suite;
use oarlock_engine::plan::Engine;
use oarlock_engine::plan::{Flow, Workers};
use oarlock_engine::{Direction, Error};

/// Seals records of one direction of a connection, from `Accelerator::dtls_outbound`.
pub struct Outbound {
    engine: Arc<Engine>,
    epoch: Epoch,
    format: Format,
    id: ConnectionId,
    cut: Cut,
    flow: Flow,
}

impl Outbound {
    #[doc(hidden)]
    pub fn open(engine: &Arc<Engine>, epoch: u64, keys: &Keys<'_>) -> Result<Self, Error> {
        let epoch = Epoch::open(engine, epoch, keys)?;
        Ok(Self {
            engine: Arc::clone(engine),
            flow: epoch.keys.flow(engine, Direction::Encrypt)?,
            epoch,
            format: Format::default(),
            id: ConnectionId::default(),
            cut: Cut::default(),
        })
    }

    /// Seals each of `records` in place, and numbers them in order. If a record is not sealed, its
    /// [`sealed`](OutboundRecord::sealed) returns why. It takes no number, unless its device failed. Records with a
    /// length in their headers can share a datagram.
    pub fn seal(&mut self, records: &mut [OutboundRecord<'_>]) {
        let before = self.before_bytes();
        let mut bytes = 0;
        for record in &mut *records {
            bytes += record.number(before, &self.cut, &mut self.epoch.keys, u64::MAX);
        }
        let (epoch, format, id) = (&self.epoch, self.format, &self.id);
        self.flow.run(bytes, records, &|run| {
            for record in run {
                let sealed = record
                    .numbered()
                    .map(|numbered| seal(numbered, epoch, format, id, before));
                if let Some(Err(error)) = sealed {
                    record.refuse(error);
                }
            }
        });
        if self.flow.has_shared() {
            self.epoch.keys.hand_in(&self.flow);
        }
    }

    /// Returns the room that a record needs before its content, which is the length of its header.
    pub fn before_bytes(&self) -> usize {
        self.format.header_bytes(&self.id)
    }

    /// Switches to the next epoch after the peer has acknowledged the KeyUpdate message (RFC 9147, 8), and wipes the
    /// keys of this one.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] after epoch 2^48 - 1.
    pub fn update(&mut self) -> Result<(), Error> {
        self.epoch = self.epoch.next(&self.engine)?;
        Ok(())
    }

    /// Sets the format of headers from now on.
    pub fn set_format(&mut self, format: Format) {
        self.format = format;
    }

    /// Sets the peer's connection ID, which each record carries from now on. An empty ID means none.
    pub fn set_connection_id(&mut self, id: ConnectionId) {
        self.id = id;
    }

    /// Refuses records that are longer than the peer accepts. It does not pad or cut records: datagrams are up to the
    /// caller.
    pub fn set_cut(&mut self, cut: Cut) {
        self.cut = cut;
    }

    /// Returns the limit on helper threads, which can be changed while records flow.
    pub fn workers(&self) -> &Workers {
        self.flow.workers()
    }

    /// Returns the number of the next record.
    pub fn sequence(&self) -> u64 {
        self.epoch.keys.sequence
    }

    /// Returns the current epoch.
    pub fn epoch(&self) -> u64 {
        self.epoch.number
    }

    /// Returns how many more records the key may protect. Update it before none are left.
    pub fn records_left(&self) -> u64 {
        (self.suite().records_max()).saturating_sub(self.sequence())
    }

    /// Returns the cipher suite of the keys.
    pub fn suite(&self) -> Suite {
        self.epoch.keys.suite()
    }
}

impl Drop for Outbound {
    fn drop(&mut self) {
        self.epoch.keys.hand_in(&self.flow);
    }
}

impl fmt::Debug for Outbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbound")
            .field("suite", &self.suite())
            .field("epoch", &self.epoch.number)
            .field("sequence", &self.epoch.keys.sequence)
            .finish_non_exhaustive()
    }
}

/// Seals a record (RFC 9147, 4) and encrypts its number (4.2.3).
#[inline]
fn seal(
    mut numbered: Numbered<'_>,
    epoch: &Epoch,
    format: Format,
    id: &ConnectionId,
    before: usize,
) -> Result<(), PacketError> {
    numbered.finish_content();
    let (sequence, record) = (numbered.sequence, numbered.record);
    let sealed_bytes = record.len() - before;
    let (header, rest) = record.split_at_mut(before);
    let number = format.write(id, epoch.number, sequence, sealed_bytes, header);
    let (body, tag) = rest.split_at_mut(sealed_bytes - TAG_BYTES);
    epoch.keys.seal(sequence, header, body, tag)?;
    // There is always the content type and the tag.
    if let Some(sample) = rest.first_chunk() {
        number.mask(header, epoch.mask.of(sample));
    }
    Ok(())
}
