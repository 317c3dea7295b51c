//! The receiver's side of DTLS.

use std::fmt;
use std::sync::Arc;

use super::epoch::Epoch;
use super::header::ConnectionId;
use super::inbound_record::{InboundRecord, Split};
use crate::tls::cut::CONTENT_BYTES_MAX;
use crate::tls::keys::Keys;
use crate::{PacketError, ReplayWindow};
use oarlock_engine::plan::Engine;
use oarlock_engine::plan::{Flow, Workers};
use oarlock_engine::{Direction, Error};

/// Opens records of one direction of a connection, from `Accelerator::dtls_inbound`.
///
/// It keeps the keys of up to four epochs, which two bits distinguish: records of one may still arrive after the next
/// has begun.
pub struct Inbound {
    engine: Arc<Engine>,
    /// The epochs whose keys are kept, oldest first.
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
        let window = ReplayWindow::after(window, epoch.keys.sequence);
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
            flow: epoch.keys.flow(engine, Direction::Decrypt)?,
            epochs: vec![Known::new(epoch, WINDOW)],
            id: ConnectionId::default(),
            window: WINDOW,
            content_bytes_max: CONTENT_BYTES_MAX,
        })
    }

    /// Splits a datagram into records for [`open`](Self::open).
    pub fn split<'a>(&self, datagram: &'a mut [u8]) -> Split<'a> {
        Split::new(datagram, self.id)
    }

    /// Opens each of `records`, from any number of datagrams, in place. A record that is not authentic is filled with
    /// zeros after its header; the others continue. [`opened`](InboundRecord::opened) returns the result of each.
    /// Numbers count as seen in the order of `records`: of two records with one number, the first is accepted.
    ///
    /// Truncated numbers are completed from the numbers seen before each 16,384 records of the call, or before each 64
    /// if any header has an 8-bit number.
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
                    // The content does not matter.
                    known.window.insert(number);
                }
                _ => record.refuse(PacketError::Replayed),
            }
        }
    }

    /// Accepts records of the next epoch too, after a KeyUpdate was received (RFC 9147, 8).
    ///
    /// # Errors
    /// [`Error::InvalidInput`] after epoch 2^48 - 1.
    pub fn update(&mut self) -> Result<(), Error> {
        let Some(newest) = self.epochs.last() else {
            return Err(Error::InvalidInput("no epoch is known".into()));
        };
        let next = newest.epoch.next(&self.engine)?;
        self.add(next);
        Ok(())
    }

    /// Accepts records of a later epoch too, such as that of application data after the handshake's.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if the epoch is not later than the others, and the errors of
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

    /// Forgets the keys of epochs before `epoch`, whose records are then refused. The newest epoch stays.
    pub fn forget_epochs_before(&mut self, epoch: u64) {
        let newest = self.newest_epoch();
        self.epochs
            .retain(|known| known.epoch.number >= epoch.min(newest));
    }

    /// Returns the newest epoch.
    pub fn newest_epoch(&self) -> u64 {
        self.epochs.last().map_or(0, |known| known.epoch.number)
    }

    /// Sets how many records may arrive late: 64 by default, up to [`ReplayWindow::SIZE_MAX`]. Call it before the first
    /// record, because it forgets the numbers seen.
    pub fn set_replay_window(&mut self, records: usize) {
        self.window = records;
        for known in &mut self.epochs {
            known.window = ReplayWindow::after(records, known.epoch.keys.sequence);
        }
    }

    /// Sets this side's connection ID, which each datagram must carry from now on. An empty ID means none.
    pub fn set_connection_id(&mut self, id: ConnectionId) {
        self.id = id;
    }

    /// Refuses records that exceed this side's `record_size_limit` (RFC 8449): 64 to 16,385 bytes of content, padding
    /// and type.
    pub fn set_record_size_limit(&mut self, limit: u16) {
        self.content_bytes_max = CONTENT_BYTES_MAX.min(usize::from(limit.max(1)) - 1);
    }

    /// Returns how many records of the newest epoch were not authentic. After more than 2^36 in one epoch, its records
    /// are no longer opened (RFC 9147, 4.5.3). Close the connection before that, or make the peer update its keys.
    pub fn forgeries(&self) -> u64 {
        self.epochs.last().map_or(0, |known| known.forgeries)
    }

    /// Returns the limit on helper threads, which can be changed while records flow.
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

/// The window that RFC 9147, 4.5.1 recommends.
const WINDOW: usize = 64;
/// Two bits distinguish them.
const EPOCHS_MAX: u64 = 4;
/// The most forgeries in an epoch (RFC 9147, 4.5.3).
const FORGERIES_MAX: u64 = 1 << 36;
/// A quarter of the numbers that 8 bits distinguish; below, of those that 16 bits do.
const AT_ONCE_SHORT: usize = 64;
const AT_ONCE_LONG: usize = 1 << 14;

#[cfg(test)]
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
