//! The receiver's side of TLS.
//!
//! Records are opened in runs, by several threads where that gains, and then judged in their order. A
//! record that is no application data may change the keys, and a forged one ends the connection: nothing
//! behind either counts, so what was opened there is sealed again.

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
use oarlock_engine::Error;
use oarlock_engine::plan::Engine;
use oarlock_engine::plan::Workers;

/// Opens records of one direction of a connection, from
/// `Accelerator::tls_inbound`.
pub struct Inbound {
    side: Side,
    content_bytes_max: usize,
    failed: Option<PacketError>,
}

/// A record that was opened: where its content lies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InboundRecord {
    content: Range<usize>,
    content_type: u8,
    sequence: u64,
}

impl InboundRecord {
    /// The place of its content in the buffer, without padding.
    pub fn content(&self) -> Range<usize> {
        self.content.clone()
    }

    /// What it carries.
    pub fn content_type(&self) -> ContentType {
        ContentType(self.content_type)
    }

    /// Its number.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }
}

/// What [`Inbound::open`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Records that were opened, the first ones of those handed in.
    pub records: usize,
    /// Bytes of the buffer that they take: the rest is as it came, but for a forged record.
    pub bytes: usize,
    /// Why there are no more, or the error that ends the connection.
    pub end: Result<End, PacketError>,
}

/// Why [`Inbound::open`] went no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The rest of the buffer is no whole record, or nothing.
    Incomplete,
    /// All records that were handed in have been used.
    Full,
    /// The last record is no application data. Look at it before more are opened: behind KeyUpdate other
    /// keys count, behind an alert nothing.
    Message,
}

impl Inbound {
    #[doc(hidden)]
    pub fn open_connection(engine: &Arc<Engine>, keys: &Keys<'_>) -> Result<Self, Error> {
        Ok(Self {
            side: Side::open(engine, keys)?,
            content_bytes_max: CONTENT_BYTES_MAX,
            failed: None,
        })
    }

    /// Opens the records at the beginning of `buffer` where they lie, as many as `records` has room for,
    /// up to the first that is no application data. A record that the buffer holds a part of is left for
    /// a later call, with the rest of it behind.
    ///
    /// # Errors
    /// In [`Opened::end`], and again at each call after it: RFC 8446, 5.2 has the connection closed, with
    /// the alert of the parentheses.
    /// [`PacketError::AuthenticationFailed`] (bad_record_mac): the record was filled with zeros.
    /// [`PacketError::InvalidLength`] (record_overflow), or too short for a tag (bad_record_mac);
    /// [`PacketError::InvalidHeader`] if it is not protected; [`PacketError::InvalidPadding`] if it is
    /// nothing but padding; [`PacketError::InvalidContent`] for a type that is never protected, and an empty
    /// alert or handshake message (each unexpected_message). [`PacketError::SequenceExhausted`] after
    /// 2^64 - 1 records.
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

    /// At most [`AT_ONCE`] records of `buffer`, which begins at byte `start` of the caller's.
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
        // The first record behind which nothing counts, of those known so far.
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
                Outcome::Refused(error) => {
                    slot.record[HEADER_BYTES..].fill(0);
                    opened.end = Err(error);
                    break;
                }
                // Only behind one of the others.
                Outcome::Untouched => break,
            }
        }
        for slot in slots {
            slot.take_back(keys);
        }
        self.side.keys.sequence += opened.records as u64;
        opened
    }

    /// Goes on with the keys of the next generation, behind a record with the message KeyUpdate (RFC 8446,
    /// 4.6.3). Wipes the old ones.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if the keys were not given as a secret: the old ones stay.
    pub fn update(&mut self) -> Result<(), Error> {
        self.side.update()
    }

    /// As [`update`](Self::update), with keys that the handshake derived.
    ///
    /// # Errors
    /// As `Accelerator::tls_inbound`: the old ones stay.
    pub fn set_keys(&mut self, keys: &Keys<'_>) -> Result<(), Error> {
        self.side.set_keys(keys)
    }

    /// Refuses records that are longer than this side's `record_size_limit` (RFC 8449), 64 to 16,385 bytes
    /// of content, padding and type.
    pub fn set_record_size_limit(&mut self, limit: u16) {
        self.content_bytes_max = CONTENT_BYTES_MAX.min(usize::from(limit.max(1)) - 1);
    }

    /// How many threads may take part, to be changed while records flow.
    pub fn workers(&self) -> &Workers {
        self.side.flow.workers()
    }

    /// The number of the next record.
    pub fn sequence(&self) -> u64 {
        self.side.keys.sequence
    }

    /// The suite of its keys.
    pub fn suite(&self) -> Suite {
        self.side.keys.suite()
    }
}

impl fmt::Debug for Inbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.side.fmt("Inbound", f)
    }
}

/// A record on its way.
struct Slot<'a> {
    /// Among those of its run.
    index: usize,
    record: &'a mut [u8],
    sequence: u64,
    outcome: Outcome,
}

enum Outcome {
    /// It lies as it came.
    Untouched,
    Opened(Range<usize>, ContentType),
    /// It lies as it came, or it was authentic and lies open.
    Refused(PacketError),
}

impl Slot<'_> {
    /// Whether nothing behind it counts.
    fn open(&mut self, keys: &KeySet, content_bytes_max: usize) -> bool {
        match self.try_open(keys, content_bytes_max) {
            Ok((content, content_type)) => {
                self.outcome = Outcome::Opened(content, content_type);
                content_type != ContentType::APPLICATION_DATA
            }
            Err(error) => {
                self.outcome = Outcome::Refused(error);
                true
            }
        }
    }

    fn try_open(
        &mut self,
        keys: &KeySet,
        content_bytes_max: usize,
    ) -> Result<(Range<usize>, ContentType), PacketError> {
        let bytes = self.record.len();
        let invalid = || PacketError::InvalidLength { bytes };
        let (header, rest) = (self.record)
            .split_first_chunk_mut::<HEADER_BYTES>()
            .ok_or_else(invalid)?;
        let (body, tag) = rest.split_last_chunk_mut().ok_or_else(invalid)?;
        keys.open_or_keep(self.sequence, header, body, tag)?;
        let opened = content_of(body, content_bytes_max);
        if opened.is_err() {
            body.fill(0);
        }
        let (content, content_type) = opened?;
        Ok((
            HEADER_BYTES + content.start..HEADER_BYTES + content.end,
            content_type,
        ))
    }

    /// Seals what should not have been opened yet.
    fn take_back(self, keys: &KeySet) {
        if !matches!(self.outcome, Outcome::Opened(..)) {
            return;
        }
        let (header, rest) = self.record.split_at_mut(HEADER_BYTES);
        let body_bytes = rest.len() - TAG_BYTES;
        let (body, tag) = rest.split_at_mut(body_bytes);
        // It becomes what it was, tag and all.
        if keys.seal(self.sequence, header, body, tag).is_err() {
            body.fill(0);
        }
    }
}

/// The bytes of the record at the beginning of `buffer`; `None` if it is not all there.
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
    // RFC 8446, 5.2, leaves room for other AEADs, which these suites are not; a shorter limit, none.
    let sealed_bytes_max = match content_bytes_max {
        CONTENT_BYTES_MAX => CONTENT_BYTES_MAX + EXPANSION_BYTES_MAX,
        _ => content_bytes_max + 1 + TAG_BYTES,
    };
    if !(TAG_BYTES..=sealed_bytes_max).contains(&sealed_bytes) {
        return Err(PacketError::InvalidLength { bytes });
    }
    Ok((buffer.len() >= bytes).then_some(bytes))
}

/// Records of a run: 1 MiB of full ones.
const AT_ONCE: usize = 64;
/// RFC 8446, 5.2.
const EXPANSION_BYTES_MAX: usize = 256;
