//! The receiver's side of TLS.
//!
//! Records are opened in runs, by several threads if that is faster, and then processed in order. A record that is not
//! application data may change the keys, and a forged record ends the connection. Records after either are not
//! accepted: any that were opened are sealed again.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use smallvec::SmallVec;

use super::cut::{CONTENT_BYTES_MAX, HEADER_BYTES};
use super::inner::content_of;
use super::keys::{KeySet, Keys, Side, TAG_BYTES};
use super::suite::{ContentType, Suite};
use crate::PacketError;
use oarlock_engine::plan::Engine;
use oarlock_engine::plan::Workers;
use oarlock_engine::{Direction, Error};

/// Opens records of one direction of a connection, from `Accelerator::tls_inbound`.
pub struct Inbound {
    side: Side,
    content_bytes_max: usize,
    failed: Option<PacketError>,
}

/// An opened record: the place of its content, its type and number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InboundRecord {
    content: Range<usize>,
    content_type: u8,
    sequence: u64,
}

impl InboundRecord {
    /// Returns the range of the content in the buffer, without padding.
    pub fn content(&self) -> Range<usize> {
        self.content.clone()
    }

    /// Returns the content type.
    pub fn content_type(&self) -> ContentType {
        ContentType(self.content_type)
    }

    /// Returns the sequence number.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }
}

/// The result of [`Inbound::open`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The number of records opened, which are the first of those passed in.
    pub records: usize,
    /// The bytes of the buffer that they occupy. The rest is unchanged, except for refused records.
    pub bytes: usize,
    /// Why no more were opened, or the error that ends the connection.
    pub end: Result<End, PacketError>,
}

/// Why [`Inbound::open`] stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The rest of the buffer is empty or an incomplete record.
    Incomplete,
    /// All of `records` has been used.
    Full,
    /// The last record is not application data. Process it before opening more: after KeyUpdate other keys apply, after
    /// an alert nothing does.
    Message,
}

impl Inbound {
    #[doc(hidden)]
    pub fn open_connection(engine: &Arc<Engine>, keys: &Keys<'_>) -> Result<Self, Error> {
        Ok(Self {
            side: Side::open(engine, keys, Direction::Decrypt)?,
            content_bytes_max: CONTENT_BYTES_MAX,
            failed: None,
        })
    }

    /// Opens the records at the start of `buffer` in place, as many as `records` has room for, up to the first that is
    /// not application data. An incomplete record is left for a later call with the rest of it.
    ///
    /// # Errors
    /// In [`Opened::end`], and again from each later call: RFC 8446, 5.2 requires closing the connection with the alert
    /// in parentheses. [`PacketError::AuthenticationFailed`] (bad_record_mac): the record was filled with zeros.
    /// [`PacketError::InvalidLength`] (record_overflow), or too short for a tag (bad_record_mac);
    /// [`PacketError::InvalidHeader`] if it is not protected; [`PacketError::InvalidPadding`] if it is only padding;
    /// [`PacketError::InvalidContent`] for a type that is never protected, and an empty alert or handshake message
    /// (each unexpected_message). [`PacketError::SequenceExhausted`] after 2^64 - 1 records.
    pub fn open(&mut self, buffer: &mut [u8], records: &mut [InboundRecord]) -> Opened {
        let mut opened = Opened {
            records: 0,
            bytes: 0,
            end: Ok(End::Full),
        };
        if let Some(error) = &self.failed {
            opened.end = Err(error.clone());
            return opened;
        }
        while opened.records < records.len() {
            let (buffer, records) = (&mut buffer[opened.bytes..], &mut records[opened.records..]);
            let run = self.open_some(opened.bytes, buffer, records);
            opened.records += run.records;
            opened.bytes += run.bytes;
            if run.end != Ok(End::Full) {
                opened.end = run.end;
                break;
            }
        }
        if let Err(error) = &opened.end {
            self.failed = Some(error.clone());
        }
        self.side.hand_in_what_was_shared();
        opened
    }

    /// Opens at most [`AT_ONCE`] records of `buffer`, which begins at byte `start` of the caller's.
    fn open_some(
        &mut self,
        start: usize,
        buffer: &mut [u8],
        records: &mut [InboundRecord],
    ) -> Opened {
        let mut slots: SmallVec<[Slot<'_>; AT_ONCE]> = SmallVec::new();
        let mut rest = buffer;
        let mut bytes = 0;
        let mut end = Ok(End::Full);
        for index in 0..records.len().min(AT_ONCE) {
            match record_bytes(rest, self.content_bytes_max) {
                Ok(Some(record_bytes)) => {
                    let sequence = self.side.keys.sequence.saturating_add(index as u64);
                    if sequence == u64::MAX {
                        end = Err(PacketError::SequenceExhausted);
                        break;
                    }
                    let (record, behind) = rest.split_at_mut(record_bytes);
                    rest = behind;
                    slots.push(Slot {
                        index,
                        record,
                        sequence,
                        outcome: Outcome::Untouched,
                    });
                    bytes += record_bytes;
                }
                Ok(None) => {
                    end = Ok(End::Incomplete);
                    break;
                }
                Err(error) => {
                    end = Err(error);
                    break;
                }
            }
        }
        // The first record known so far after which no record is accepted.
        let stop = AtomicUsize::new(usize::MAX);
        let (keys, content_bytes_max) = (&self.side.keys, self.content_bytes_max);
        self.side.flow.run(bytes, &mut slots, &|run| {
            for slot in run {
                if slot.index > stop.load(Ordering::Relaxed) {
                    break;
                }
                if slot.open(keys, content_bytes_max) {
                    stop.fetch_min(slot.index, Ordering::Relaxed);
                }
            }
        });
        let mut opened = Opened {
            records: 0,
            bytes: 0,
            end,
        };
        let mut slots = slots.into_iter();
        for slot in &mut slots {
            match slot.outcome {
                Outcome::Opened(content, content_type) => {
                    let at = start + opened.bytes;
                    records[opened.records] = InboundRecord {
                        content: at + content.start..at + content.end,
                        content_type: content_type.0,
                        sequence: slot.sequence,
                    };
                    opened.records += 1;
                    opened.bytes += slot.record.len();
                    if content_type != ContentType::APPLICATION_DATA {
                        opened.end = Ok(End::Message);
                        break;
                    }
                }
                Outcome::Refused(error) | Outcome::Invalid(error) => {
                    slot.record[HEADER_BYTES..].fill(0);
                    opened.end = Err(error);
                    break;
                }
                // Only after one of the others.
                Outcome::Untouched => break,
            }
        }
        for slot in slots {
            slot.take_back(keys);
        }
        self.side.keys.sequence += opened.records as u64;
        opened
    }

    /// Switches to the next generation of keys, after a record with a KeyUpdate message (RFC 8446, 4.6.3), and wipes
    /// the old ones.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if the keys were not created from a secret. The old ones stay in use.
    pub fn update(&mut self) -> Result<(), Error> {
        self.side.update()
    }

    /// Switches like [`update`](Self::update), to keys derived by the handshake.
    ///
    /// # Errors
    /// Those of `Accelerator::tls_inbound`. The old keys stay in use.
    pub fn set_keys(&mut self, keys: &Keys<'_>) -> Result<(), Error> {
        self.side.set_keys(keys)
    }

    /// Refuses records that exceed this side's `record_size_limit` (RFC 8449): 64 to 16,385 bytes of content, padding
    /// and type.
    pub fn set_record_size_limit(&mut self, limit: u16) {
        self.content_bytes_max = CONTENT_BYTES_MAX.min(usize::from(limit.max(1)) - 1);
    }

    /// Returns the limit on helper threads, which can be changed while records flow.
    pub fn workers(&self) -> &Workers {
        self.side.flow.workers()
    }

    /// Returns the number of the next record.
    pub fn sequence(&self) -> u64 {
        self.side.keys.sequence
    }

    /// Returns the cipher suite of the keys.
    pub fn suite(&self) -> Suite {
        self.side.keys.suite()
    }
}

impl fmt::Debug for Inbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.side.fmt("Inbound", f)
    }
}

/// A record of a run.
struct Slot<'a> {
    /// The position in the run.
    index: usize,
    record: &'a mut [u8],
    sequence: u64,
    outcome: Outcome,
}

enum Outcome {
    /// The record is unchanged.
    Untouched,
    Opened(Range<usize>, ContentType),
    /// The record is unchanged.
    Refused(PacketError),
    /// The record is authentic and decrypted, and its content is invalid.
    Invalid(PacketError),
}

impl Slot<'_> {
    /// Opens the record, and returns whether no record after it is accepted.
    fn open(&mut self, keys: &KeySet, content_bytes_max: usize) -> bool {
        let opened = self.try_open(keys, content_bytes_max);
        self.outcome = opened.unwrap_or_else(Outcome::Refused);
        !matches!(
            self.outcome,
            Outcome::Opened(_, ContentType::APPLICATION_DATA)
        )
    }

    fn try_open(
        &mut self,
        keys: &KeySet,
        content_bytes_max: usize,
    ) -> Result<Outcome, PacketError> {
        let bytes = self.record.len();
        let invalid = || PacketError::InvalidLength { bytes };
        let (header, rest) = (self.record)
            .split_first_chunk_mut::<HEADER_BYTES>()
            .ok_or_else(invalid)?;
        let (body, tag) = rest.split_last_chunk_mut().ok_or_else(invalid)?;
        keys.open_or_keep(self.sequence, header, body, tag)?;
        Ok(match content_of(body, content_bytes_max) {
            Ok((content, content_type)) => Outcome::Opened(
                HEADER_BYTES + content.start..HEADER_BYTES + content.end,
                content_type,
            ),
            Err(error) => Outcome::Invalid(error),
        })
    }

    /// Seals the record again if it was decrypted too early.
    fn take_back(self, keys: &KeySet) {
        if !matches!(self.outcome, Outcome::Opened(..) | Outcome::Invalid(_)) {
            return;
        }
        let (header, rest) = self.record.split_at_mut(HEADER_BYTES);
        let body_bytes = rest.len() - TAG_BYTES;
        let (body, tag) = rest.split_at_mut(body_bytes);
        // The result is the original record, including its tag.
        if keys.seal(self.sequence, header, body, tag).is_err() {
            body.fill(0);
        }
    }
}

/// Returns the length of the record at the start of `buffer`, or `None` if it is incomplete.
fn record_bytes(buffer: &[u8], content_bytes_max: usize) -> Result<Option<usize>, PacketError> {
    let Some(content_type) = buffer.first() else {
        return Ok(None);
    };
    if *content_type != ContentType::APPLICATION_DATA.0 {
        return Err(PacketError::InvalidHeader);
    }
    let Some([_, _, _, high, low]) = buffer.first_chunk::<HEADER_BYTES>() else {
        return Ok(None);
    };
    let sealed_bytes = usize::from(u16::from_be_bytes([*high, *low]));
    let bytes = HEADER_BYTES + sealed_bytes;
    // RFC 8446, 5.2 allows for AEADs with longer tags, which these suites do not use. A lower limit has no such
    // allowance.
    let sealed_bytes_max = match content_bytes_max {
        CONTENT_BYTES_MAX => CONTENT_BYTES_MAX + EXPANSION_BYTES_MAX,
        _ => content_bytes_max + 1 + TAG_BYTES,
    };
    if !(TAG_BYTES..=sealed_bytes_max).contains(&sealed_bytes) {
        return Err(PacketError::InvalidLength { bytes });
    }
    Ok((buffer.len() >= bytes).then_some(bytes))
}

/// The most records in a run: 1 MiB if they are full.
const AT_ONCE: usize = 64;
/// The most bytes that encryption may add (RFC 8446, 5.2).
const EXPANSION_BYTES_MAX: usize = 256;
