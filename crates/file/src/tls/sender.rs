//! One direction of a connection, with the records that are sealed and still to be sent.

use std::fmt;
use std::io::IoSliceMut;
use std::ops::Range;
use std::os::fd::AsFd;

use oarlock::packet::tls::{ContentType, Outbound, OutboundRecord};
use rustix::io::Errno;
use rustix::net::SendFlags;
use smallvec::SmallVec;

use crate::Error;

/// Sends a range of a file, or a buffer, over a connected stream socket as records of TLS 1.3.
///
/// The socket may be blocking or not. If it accepts no more, what has been sealed stays here, and the next call sends it
/// first: no record is sealed twice, and none is lost. A connection that has ended is an error and does not raise SIGPIPE.
///
/// ```
/// use std::fs::File;
/// use std::io::{Read as _, Write as _};
/// use std::os::unix::net::UnixStream;
///
/// use oarlock::Accelerator;
/// use oarlock::packet::tls::{InboundRecord, Keys, Suite};
/// use oarlock_file::tls::{Ended, Sender};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut file = tempfile::tempfile()?;
/// file.write_all(b"what is in the file")?;
///
/// // Of the handshake: a traffic secret, or key, IV and number.
/// let keys = Keys::from_secret(Suite::Aes128GcmSha256, &[7; 32]);
/// let accelerator = Accelerator::builder().build()?;
/// let mut sender = Sender::new(accelerator.tls_outbound(&keys)?);
/// let (ours, mut theirs) = UnixStream::pair()?;
/// let sent = sender.send_file(&ours, &file, 5..10_000)?;
/// assert_eq!((sent.bytes, sent.ended), (14, Ended::EndOfFile));
/// drop(ours);
///
/// let mut stream = Vec::new();
/// theirs.read_to_end(&mut stream)?;
/// let mut records = vec![InboundRecord::default(); 4];
/// let opened = accelerator.tls_inbound(&keys)?.open(&mut stream, &mut records);
/// assert_eq!(opened.records, 1);
/// assert_eq!(&stream[records[0].content()], b"is in the file");
/// # Ok(())
/// # }
/// ```
pub struct Sender {
    outbound: Outbound,
    buffer: Box<[u8]>,
    /// The bytes of the buffer that are sealed and still to be sent.
    pending: Range<usize>,
}

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The bytes of the range or buffer that have become records. They are sent, or the sender has them and sends them first
    /// at the next call. Go on after them.
    pub bytes: u64,
    /// The reason why there are no more.
    pub ended: Ended,
}

/// The reason why a call went no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Everything is sent.
    Done,
    /// The file ended before the range. What the file had is sent.
    EndOfFile,
    /// The socket accepts no more now. Call again with the rest once it is writable.
    WouldBlock,
    /// The key may protect no more records. Send KeyUpdate, [update](Outbound::update) the key, and go on. What was sealed
    /// before is sent.
    KeyExhausted,
}

impl Sender {
    /// Creates a sender, with a buffer of 256 KiB.
    pub fn new(outbound: Outbound) -> Self {
        Self {
            outbound,
            buffer: vec![0; BUFFER_BYTES].into(),
            pending: 0..0,
        }
    }

    /// Sends bytes `range` of `file`, which is regular, or can be read at an offset. The file's own position does not matter
    /// and stays. If the file ends before the range, or shrinks during the call, everything that exists is sent. An empty
    /// range sends what was left of an earlier call.
    ///
    /// # Errors
    /// [`Error::Read`] at a byte of the file: all bytes before it are accepted, and may still have to be sent.
    /// [`Error::Write`] at a byte of the file, if the connection has ended: with EPIPE or ECONNRESET, and without a signal.
    /// [`Error::Record`] if no device could seal.
    pub fn send_file(
        &mut self,
        socket: impl AsFd,
        file: impl AsFd,
        range: Range<u64>,
    ) -> Result<Sent, Error> {
        let mut at = range.start;
        self.send_all(&socket, range, |outbound, buffer, left| {
            let content_bytes_max = outbound.cut().content_bytes_max();
            let slots = buffer.chunks_mut(outbound.cut().record_bytes(content_bytes_max));
            let read = read_slots(&file, at, slots, content_bytes_max, left).map_err(|error| {
                Error::Read {
                    at,
                    error: error.into(),
                }
            })?;
            at += read as u64;
            let sealed_bytes = seal_slots(outbound, buffer, read)?;
            Ok((read, sealed_bytes))
        })
    }

    /// Sends `data`. Nothing of it is sealed twice: after [`Ended::WouldBlock`] go on with the rest. Empty data sends what
    /// was left of an earlier call.
    ///
    /// # Errors
    /// Those of [`send_file`](Self::send_file) except for reading; bytes count from the beginning of `data`.
    pub fn send(&mut self, socket: impl AsFd, data: &[u8]) -> Result<Sent, Error> {
        let mut rest = data;
        self.send_all(&socket, 0..data.len() as u64, |outbound, buffer, _| {
            let record_bytes = outbound
                .cut()
                .record_bytes(outbound.cut().content_bytes_max());
            let most = (buffer.len() / record_bytes) * outbound.cut().content_bytes_max();
            let (taken, behind) = rest.split_at(rest.len().min(most));
            rest = behind;
            let content_type = ContentType::APPLICATION_DATA;
            let sealed = outbound.seal_stream(content_type, taken, buffer);
            Ok((taken.len(), sealed.map_err(Error::Record)?))
        })
    }

    /// Sends a message other than application data, an alert or KeyUpdate, as one record. It is accepted as a whole or,
    /// after [`Ended::WouldBlock`] with no bytes, not at all.
    ///
    /// # Errors
    /// Those of [`send`](Self::send); [`Error::Record`] if no record may carry the message.
    pub fn send_message(
        &mut self,
        socket: impl AsFd,
        content_type: ContentType,
        message: &[u8],
    ) -> Result<Sent, Error> {
        let sent = self.send(&socket, &[])?;
        if sent.ended != Ended::Done {
            return Ok(sent);
        }
        let range = OutboundRecord::BEFORE_BYTES..OutboundRecord::BEFORE_BYTES + message.len();
        let end = (range.end + OutboundRecord::BEHIND_BYTES).min(self.buffer.len());
        if let Some(place) = self.buffer.get_mut(range.clone()) {
            place.copy_from_slice(message);
        }
        let mut records = [OutboundRecord::new(
            &mut self.buffer[..end],
            range,
            content_type,
        )];
        self.outbound.seal(&mut records);
        let sealed_bytes = records[0].sealed().map_err(Error::Record)?.len();
        self.pending = 0..sealed_bytes;
        let sent = self.send(&socket, &[])?;
        Ok(Sent {
            bytes: message.len() as u64,
            ..sent
        })
    }

    /// Whether records are sealed and still to be sent.
    pub fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Returns the outbound direction, to look at its numbers, to have it cut records differently, and to update its keys.
    /// New keys apply to what has not been accepted yet.
    pub fn outbound_mut(&mut self) -> &mut Outbound {
        &mut self.outbound
    }

    /// Sends pending records, then batch after batch that `fill` reads and seals into the buffer. `fill` gets the number of
    /// bytes left, and returns how many it took and how many bytes of records they became.
    fn send_all(
        &mut self,
        socket: &impl AsFd,
        range: Range<u64>,
        mut fill: impl FnMut(&mut Outbound, &mut [u8], u64) -> Result<(usize, usize), Error>,
    ) -> Result<Sent, Error> {
        let mut at = range.start;
        let ended = loop {
            let is_sent = self.send_pending(socket).map_err(|error| Error::Write {
                at,
                error: error.into(),
            })?;
            if !is_sent {
                break Ended::WouldBlock;
            }
            let left = range.end.saturating_sub(at);
            if left == 0 {
                break Ended::Done;
            }
            let room = self.buffer_for_batch();
            if room == 0 {
                break Ended::KeyExhausted;
            }
            let (taken, sealed) = fill(&mut self.outbound, &mut self.buffer[..room], left)?;
            if taken == 0 {
                break Ended::EndOfFile;
            }
            self.pending = 0..sealed;
            at += taken as u64;
        };
        Ok(Sent {
            bytes: at - range.start,
            ended,
        })
    }

    /// Returns the bytes of the buffer that the next batch may use: whole records that fit, and that the key may protect.
    /// The key's last record is for KeyUpdate.
    fn buffer_for_batch(&self) -> usize {
        let cut = self.outbound.cut();
        let record_bytes = cut.record_bytes(cut.content_bytes_max());
        let records = (self.buffer.len() / record_bytes).min(RECORDS_MAX);
        let left = self.outbound.records_left().saturating_sub(1);
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        records.min(left) * record_bytes
    }

    /// Sends pending records. Returns whether none is left.
    fn send_pending(&mut self, socket: &impl AsFd) -> rustix::io::Result<bool> {
        while !self.pending.is_empty() {
            let pending = &self.buffer[self.pending.clone()];
            match rustix::net::send(socket, pending, SendFlags::NOSIGNAL) {
                Ok(bytes) => self.pending.start += bytes,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender")
            .field("outbound", &self.outbound)
            .field("pending", &self.pending)
            .finish_non_exhaustive()
    }
}

/// Reads up to `left` bytes of `file` from `at` on into the contents of `slots`, and returns the number. It is lower only at
/// the end of the file.
fn read_slots<'a>(
    file: &impl AsFd,
    at: u64,
    slots: impl Iterator<Item = &'a mut [u8]>,
    content_bytes_max: usize,
    left: u64,
) -> rustix::io::Result<usize> {
    let mut left = usize::try_from(left).unwrap_or(usize::MAX);
    let mut contents: SmallVec<[IoSliceMut<'_>; RECORDS]> = SmallVec::new();
    for slot in slots {
        let content_bytes = left.min(content_bytes_max);
        if content_bytes == 0 {
            break;
        }
        left -= content_bytes;
        contents.push(IoSliceMut::new(
            &mut slot[OutboundRecord::BEFORE_BYTES..][..content_bytes],
        ));
    }
    let mut contents = &mut contents[..];
    let mut read = 0;
    while !contents.is_empty() {
        match rustix::io::preadv(file, contents, at + read as u64) {
            Ok(0) => break,
            Ok(bytes) => {
                read += bytes;
                IoSliceMut::advance_slices(&mut contents, bytes);
            }
            Err(Errno::INTR) => {}
            // What was read before is sent; the next call meets the error again.
            Err(_) if read > 0 => break,
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

/// Seals `bytes` that are in the slots of `buffer`, and returns the length of the records. They are contiguous, since only
/// the last may be shorter than its slot.
fn seal_slots(outbound: &mut Outbound, buffer: &mut [u8], bytes: usize) -> Result<usize, Error> {
    let cut = *outbound.cut();
    let content_bytes_max = cut.content_bytes_max();
    let mut left = bytes;
    let mut sealed_bytes = 0;
    let mut records: SmallVec<[OutboundRecord<'_>; RECORDS]> = SmallVec::new();
    for slot in buffer.chunks_mut(cut.record_bytes(content_bytes_max)) {
        if left == 0 {
            break;
        }
        let content_bytes = left.min(content_bytes_max);
        left -= content_bytes;
        sealed_bytes += cut.record_bytes(content_bytes);
        let content = OutboundRecord::BEFORE_BYTES..OutboundRecord::BEFORE_BYTES + content_bytes;
        let record = OutboundRecord::new(slot, content, ContentType::APPLICATION_DATA);
        records.push(record.padding(cut.padding_bytes(content_bytes)));
    }
    outbound.seal(&mut records);
    for record in &records {
        record.sealed().map_err(Error::Record)?;
    }
    Ok(sealed_bytes)
}

/// The number of full records in a batch.
const RECORDS: usize = 16;
/// The most records in a batch of shorter ones: a call takes at most 1,024 slices.
const RECORDS_MAX: usize = 256;
/// The length of full records, with their headers and tags.
const BUFFER_BYTES: usize =
    RECORDS * (16_384 + OutboundRecord::BEFORE_BYTES + OutboundRecord::BEHIND_BYTES);
