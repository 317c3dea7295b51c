//! Many packets in one call, each in its own buffer.

mod esp;
mod srtp;
mod tls;

use std::ffi::{c_int, c_uint, c_void};
use std::ops::Range;

use oarlock::packet::PacketError;

use crate::buffers::{apart, check, output};
use crate::failure::{Code, Failure};
use crate::handles::{Handle, OneCall};

/// `struct oarlock_packet`.
#[repr(C)]
pub struct Packet {
    buffer: *mut c_void,
    buffer_bytes: usize,
    offset: usize,
    bytes: usize,
    kind: c_uint,
    error: c_int,
    sequence: u64,
}

impl Packet {
    /// Returns the packet's range in its buffer, which has been checked.
    fn place(&self) -> Range<usize> {
        self.offset..self.offset + self.bytes
    }

    /// Returns the type as one byte, for formats whose types are one byte.
    fn type_byte(&self) -> Result<u8, Failure> {
        let no_byte = |_| Failure::argument(format!("a type is 0 to 255, not {}", self.kind));
        u8::try_from(self.kind).map_err(no_byte)
    }
}

/// The packets of a call, whose buffers do not overlap.
struct Packets<'a>(&'a mut [Packet]);

/// A processed packet.
struct Done<'a> {
    /// The packet, a part of its buffer.
    bytes: &'a [u8],
    /// The new type, or `None` if it does not change.
    kind: Option<c_uint>,
    sequence: u64,
}

/// Runs `run` on an object and the packets of a call. If that fails before any packet is done, each packet gets the error:
/// otherwise an `error` that was 0 before the call would look like success.
///
/// # Safety
/// The caller owns the `count` packets at `packets`, or it is NULL, and the `buffer_bytes` bytes of each packet's buffer, or
/// that is NULL.
unsafe fn with_packets<T: OneCall>(
    handle: Handle<T>,
    packets: *mut Packet,
    count: usize,
    run: impl FnOnce(&mut T, Packets<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let object = handle.exclusive();
    let array = array_bytes(packets, count);
    let is_there = array.as_ref().is_ok_and(|bytes| *bytes > 0);
    let all: &mut [Packet] = match is_there {
        // SAFETY: the array is aligned, not NULL and has `count` packets; the caller guarantees the rest.
        true => unsafe { std::slice::from_raw_parts_mut(packets, count) },
        false => &mut [],
    };
    // The error stays if a panic ends the call.
    for packet in &mut *all {
        packet.error = Code::Internal as c_int;
    }
    let done = object.and_then(|mut object| {
        array?;
        are_buffers(all)?;
        run(&mut object, Packets(&mut *all))
    });
    done.inspect_err(|failure| {
        let unsaid = all
            .iter_mut()
            .filter(|packet| packet.error == Code::Internal as c_int);
        unsaid.for_each(|packet| packet.error = failure.code() as c_int);
    })
}

/// Refuses packets outside their buffers, and buffers that overlap.
fn are_buffers(all: &[Packet]) -> Result<(), Failure> {
    for (number, packet) in all.iter().enumerate() {
        let (buffer, bytes) = (packet.buffer, packet.buffer_bytes);
        check(buffer, bytes, "a packet's buffer")?;
        const ARRAY: &str = "a packet's buffer overlaps the array of packets";
        apart(buffer, bytes, all.as_ptr().cast(), size_of_val(all), ARRAY)?;
        let end = packet.offset.checked_add(packet.bytes);
        if end.is_none_or(|end| end > bytes) {
            return Err(Failure::argument(format!(
                "packet {number}, {} bytes from byte {} on, is not within its buffer of {bytes}",
                packet.bytes, packet.offset
            )));
        }
    }
    are_apart(all)
}

impl Packets<'_> {
    /// Converts each packet, with its buffer, by `make`.
    fn each<'a, T>(
        &self,
        make: impl Fn(&Packet, &'a mut [u8]) -> Result<T, Failure>,
    ) -> Result<Vec<T>, Failure> {
        let packets = self.0.iter();
        packets
            .map(|packet| {
                let (place, bytes) = (packet.buffer, packet.buffer_bytes);
                // SAFETY: the caller of `with_packets` guarantees that it owns the buffer, and no other packet's buffer
                // overlaps it.
                let buffer = unsafe { output(place, bytes, "a packet's buffer") };
                make(packet, buffer?)
            })
            .collect()
    }

    /// Stores each packet's result, and returns the first error.
    fn say<'a>(
        self,
        results: impl Iterator<Item = Result<Done<'a>, PacketError>>,
    ) -> Result<(), Failure> {
        let mut first = None;
        for ((number, packet), result) in self.0.iter_mut().enumerate().zip(results) {
            packet.error = match result {
                Ok(done) => {
                    packet.offset = done.bytes.as_ptr().addr() - packet.buffer.addr();
                    packet.bytes = done.bytes.len();
                    packet.kind = done.kind.unwrap_or(packet.kind);
                    packet.sequence = done.sequence;
                    0
                }
                Err(error) => {
                    let code = code(&error);
                    first.get_or_insert_with(|| {
                        Failure::new(code, format!("packet {number}: {error}"))
                    });
                    code as c_int
                }
            };
        }
        first.map_or(Ok(()), Err)
    }
}

/// Refuses what cannot be an array of `count` packets, and returns its length in bytes.
fn array_bytes(packets: *const Packet, count: usize) -> Result<usize, Failure> {
    let Some(bytes) = count.checked_mul(size_of::<Packet>()) else {
        return Err(Failure::argument(format!(
            "an array cannot have {count} packets"
        )));
    };
    check(packets.cast(), bytes, "the array of packets")?;
    if bytes > 0 && !packets.is_aligned() {
        return Err(Failure::argument("the array of packets is not aligned"));
    }
    Ok(bytes)
}

/// Refuses buffers that overlap. Those of a ring are in order, so each takes a single comparison.
fn are_apart(packets: &[Packet]) -> Result<(), Failure> {
    let ranges = packets.iter().map(|packet| {
        let start = packet.buffer.addr();
        (start, start.saturating_add(packet.buffer_bytes))
    });
    if follow_each_other(ranges.clone()) {
        return Ok(());
    }
    let mut ranges: Vec<_> = ranges.collect();
    ranges.sort_unstable();
    if follow_each_other(ranges.into_iter()) {
        return Ok(());
    }
    Err(Failure::new(
        Code::Overlap,
        "the buffers of two packets overlap",
    ))
}

/// Whether buffers, given by their start and end, follow each other without overlapping.
fn follow_each_other(mut ranges: impl Iterator<Item = (usize, usize)>) -> bool {
    let mut free_from = 0;
    ranges.all(|(start, end)| start == end || start >= std::mem::replace(&mut free_from, end))
}

fn code(error: &PacketError) -> Code {
    match error {
        PacketError::NoRoom { .. } => Code::Buffer,
        PacketError::Replayed | PacketError::Altered => Code::Replayed,
        PacketError::AuthenticationFailed => Code::Authentication,
        PacketError::InvalidPadding => Code::Padding,
        PacketError::SequenceExhausted
        | PacketError::KeyExhausted { .. }
        | PacketError::TooManyStreams { .. } => Code::Exhausted,
        PacketError::InvalidLength { .. }
        | PacketError::OtherAssociation { .. }
        | PacketError::InvalidHeader
        | PacketError::UnknownKey
        | PacketError::EncryptionMismatch
        | PacketError::InvalidContent { .. }
        | PacketError::OtherConnection => Code::Packet,
        PacketError::Failed(error) => Failure::from((**error).clone()).code(),
        _ => Code::Internal,
    }
}

/// Returns the entry of `all` with this name.
fn by_name<T: Copy>(all: &[(&str, T)], name: &str, what: &str) -> Result<T, Failure> {
    let found = all.iter().find(|(known, _)| *known == name);
    found.map(|(_, it)| *it).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|(known, _)| *known).collect();
        Failure::argument(format!(
            "there is no {what} {name:?}: the names are {}",
            names.join(", ")
        ))
    })
}
