//! The receiver's side of DTLS.

use std::fmt;
use std::sync::Arc;

use super::epoch::Epoch;
use super::header::ConnectionId;
use super::inbound_record::{InboundRecord, Split};
use crate::tls::cut::CONTENT_BYTES_MAX;
use crate::tls::keys::Keys;
use crate::{PacketError, ReplayWindow};
use oarlock_engine::Error;
use oarlock_engine::plan::Engine;
use oarlock_engine::plan::{Flow, Workers};

/// Opens records of one direction of a connection, from
/// `Accelerator::dtls_inbound`.
///
/// It keeps the keys of up to four epochs, which two bits tell apart: records of one may still be on their
/// way when the next has begun.
pub struct Inbound {
    engine: Arc<Engine>,
    /// The oldest first.
    epochs: Vec<Known>,
    id: ConnectionId,
    window: usize,
    content_bytes_max: usize,
    flow: Flow,
}

/// An epoch whose records are opened.
struct Known {
    epoch: Epoch,
    window: ReplayWindow,
    forgeries: u64,
}

impl Known {
    fn new(epoch: Epoch, window: usize) -> Self {
        let mut window = ReplayWindow::new(window);
        window.insert(epoch.keys.sequence);
        Self {
            epoch,
            window,
            forgeries: 0,
        }
    }
}

impl Inbound {
    #[doc(hidden)]
    pub fn open_connection(
        engine: &Arc<Engine>,
        epoch: u64,
        keys: &Keys<'_>,
    ) -> Result<Self, Error> {
        let epoch = Epoch::open(engine, epoch, keys)?;
        Ok(Self {
            engine: Arc::clone(engine),
            flow: epoch.keys.flow(engine)?,
            epochs: vec![Known::new(epoch, WINDOW)],
            id: ConnectionId::default(),
            window: WINDOW,
            content_bytes_max: CONTENT_BYTES_MAX,
        })
    }

    /// The records of a datagram, for [`open`](Self::open).
    pub fn split<'a>(&self, datagram: &'a mut [u8]) -> Split<'a> {
        Split::new(datagram, self.id)
    }

    /// Opens each of `records`, of any number of datagrams, where it lies. One that is not authentic is
    /// filled with zeros behind its header; the others go on. [`opened`](InboundRecord::opened) says what
    /// became of each. Numbers count as seen in the order of `records`: of two with the same number, the
    /// first is accepted.
    ///
    /// Numbers are completed, and those seen before refused, by what was seen before the call; where
    /// headers have numbers of 8 bits, by what was seen before each 64 records of it.
    pub fn open(&mut self, records: &mut [InboundRecord<'_>]) {
        let has_short = records.iter().any(InboundRecord::has_short_number);
        let at_once = if has_short {
            AT_ONCE_SHORT
        } else {
            AT_ONCE_LONG
        };
        for records in records.chunks_mut(at_once) {
            self.open_some(records);
        }
        if let (true, Some(newest)) = (self.flow.has_shared(), self.epochs.last()) {
            newest.epoch.keys.hand_in(&self.flow);
        }
    }

    fn open_some(&mut self, records: &mut [InboundRecord<'_>]) {
        let bytes = records.iter().map(InboundRecord::bytes).sum();
        let (epochs, content_bytes_max) = (&self.epochs, self.content_bytes_max);
        self.flow.run(bytes, records, &|run| {
            for record in run {
                let usable = (epochs.iter()).filter(|known| known.forgeries <= FORGERIES_MAX);
                let epochs = usable.map(|known| (&known.epoch, &known.window));
                record.open(epochs, content_bytes_max);
            }
        });
        for record in records {
            if let Some(epoch) = record.forged() {
                let known = (self.epochs.iter_mut())
                    .find(|known| known.epoch.number & 3 == u64::from(epoch));
                if let Some(known) = known {
                    known.forgeries += 1;
                }
            }
            let Some((epoch, number)) = record.authentic() else {
                continue;
            };
            let known = self
                .epochs
                .iter_mut()
                .find(|known| known.epoch.number == epoch);
            match known {
                Some(known) if known.window.accepts(number) => {
                    // Whatever it carries.
                    known.window.insert(number);
                }
                _ => record.refuse(PacketError::Replayed),
            }
        }
    }

    /// Takes records of the next epoch as well, once KeyUpdate has come (RFC 9147, 8).
    ///
    /// # Errors
    /// [`Error::InvalidInput`] behind epoch 2^48 - 1.
    pub fn update(&mut self) -> Result<(), Error> {
        let Some(newest) = self.epochs.last() else {
            return Err(Error::InvalidInput("no epoch is known".into()));
        };
        let next = newest.epoch.next(&self.engine)?;
        self.add(next);
        Ok(())
    }

    /// Takes records of another epoch as well, later than the others: those of the application behind the
    /// handshake's.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for an epoch that is not later; as
    /// `Accelerator::dtls_inbound`.
    pub fn add_epoch(&mut self, epoch: u64, keys: &Keys<'_>) -> Result<(), Error> {
        let newest = self.epochs.last().map_or(0, |known| known.epoch.number);
        if epoch <= newest {
            return Err(Error::InvalidInput(format!(
                "epoch {epoch} is not later than {newest}, which is known"
            )));
        }
        self.add(Epoch::open(&self.engine, epoch, keys)?);
        Ok(())
    }

    fn add(&mut self, epoch: Epoch) {
        let oldest = epoch.number.saturating_sub(EPOCHS_MAX - 1);
        self.epochs.retain(|known| known.epoch.number >= oldest);
        self.epochs.push(Known::new(epoch, self.window));
    }

    /// Forgets the keys of epochs before `epoch`: their records are refused. The newest stays.
    pub fn forget_epochs_before(&mut self, epoch: u64) {
        let newest = self.newest_epoch();
        self.epochs
            .retain(|known| known.epoch.number >= epoch.min(newest));
    }

    /// The newest epoch.
    pub fn newest_epoch(&self) -> u64 {
        self.epochs.last().map_or(0, |known| known.epoch.number)
    }

    /// Records that may arrive late, 64 unless set, up to [`ReplayWindow::SIZE_MAX`]. Before the first
    /// record: what was seen is forgotten.
    pub fn set_replay_window(&mut self, records: usize) {
        self.window = records;
        for known in &mut self.epochs {
            known.window = ReplayWindow::new(records);
            known.window.insert(known.epoch.keys.sequence);
        }
    }

    /// The connection ID of this side, which each datagram carries from now on; an empty one is none.
    pub fn set_connection_id(&mut self, id: ConnectionId) {
        self.id = id;
    }

    /// Refuses records that are longer than this side's `record_size_limit` (RFC 8449), 64 to 16,385 bytes
    /// of content, padding and type.
    pub fn set_record_size_limit(&mut self, limit: u16) {
        self.content_bytes_max = CONTENT_BYTES_MAX.min(usize::from(limit.max(1)) - 1);
    }

    /// Records of the newest epoch that were not authentic. With more than 2^36 of one epoch, its records
    /// are no longer opened (RFC 9147, 4.5.3): close the connection, or have the peer update its keys,
    /// before that.
    pub fn forgeries(&self) -> u64 {
        self.epochs.last().map_or(0, |known| known.forgeries)
    }

    /// How many threads may take part, to be changed while records flow.
    pub fn workers(&self) -> &Workers {
        self.flow.workers()
    }
}

impl Drop for Inbound {
    fn drop(&mut self) {
        if let Some(newest) = self.epochs.last() {
            newest.epoch.keys.hand_in(&self.flow);
        }
    }
}

impl fmt::Debug for Inbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbound")
            .field("epoch", &self.newest_epoch())
            .finish_non_exhaustive()
    }
}

/// As RFC 9147, 4.5.1 recommends.
const WINDOW: usize = 64;
/// Two bits tell them apart.
const EPOCHS_MAX: u64 = 4;
/// RFC 9147, 4.5.3.
const FORGERIES_MAX: u64 = 1 << 36;
/// A quarter of what a number tells apart.
const AT_ONCE_SHORT: usize = 64;
const AT_ONCE_LONG: usize = 1 << 14;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::tls::dtls::Outbound;
    use crate::tls::{ContentType, OutboundRecord, Suite};
    use oarlock_engine::plan::Setup;

    #[test]
    fn an_epoch_with_too_many_forgeries_is_given_up() {
        let mut setup = Setup::default();
        setup.options.max_threads = 0.into();
        let engine = setup.open().unwrap();
        let keys = Keys::from_secret(Suite::ChaCha20Poly1305Sha256, &[7; 32]);
        let mut outbound = Outbound::open(&engine, 3, &keys).unwrap();
        let mut inbound = Inbound::open_connection(&engine, 3, &keys).unwrap();
        inbound.epochs[0].forgeries = FORGERIES_MAX - 1;
        let mut open = |is_forged: bool| {
            let mut buffer = [0; 40];
            let content = 5..10;
            let mut records = [OutboundRecord::new(&mut buffer, content, ContentType(23))];
            outbound.seal(&mut records);
            let mut sealed = records[0].sealed().unwrap().to_vec();
            sealed[7] ^= u8::from(is_forged);
            let mut records: Vec<_> = inbound.split(&mut sealed).collect();
            inbound.open(&mut records);
            records[0].opened().map(|opened| opened.sequence)
        };
        assert_eq!(open(true), Err(PacketError::AuthenticationFailed));
        assert_eq!(open(false), Ok(1), "as many as there may be");
        assert_eq!(open(true), Err(PacketError::AuthenticationFailed));
        assert_eq!(open(false), Err(PacketError::UnknownKey));
    }
}
