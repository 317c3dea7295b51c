//! The packets of a call, and their results.

use std::ops::Range;

use oarlock::packet::PacketError;
use pyo3::exceptions::{PyMemoryError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyMemoryView, PyString};

use super::failure::exception;
use crate::buffer::Owned;
use crate::engine::compute;
use crate::memory::{TooLarge, reserved};

/// The fixed cost of a packet, as a number of bytes.
const PACKET_BYTES: usize = 512;

/// The packets of a call, as the caller gave them.
pub struct Batch {
    packets: Vec<Owned>,
    bytes: usize,
}

/// A packet's part of the buffer, and where its bytes are in it.
pub struct Part<'a> {
    pub buffer: &'a mut [u8],
    pub place: Range<usize>,
}

impl Batch {
    /// Borrows the packets of an iterable. `name` is that of the argument, for the error.
    ///
    /// # Errors
    /// `TypeError` unless it is an iterable of bytes-like objects; `BufferError` if the bytes of one are not contiguous; an
    /// exception of the iterable itself passes through.
    pub fn new(packets: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        // Iterating over these yields numbers and letters, or nothing.
        let is_one = packets.is_instance_of::<PyBytes>()
            || packets.is_instance_of::<PyByteArray>()
            || packets.is_instance_of::<PyMemoryView>()
            || packets.is_instance_of::<PyString>();
        if is_one {
            return Err(PyTypeError::new_err(format!(
                "{name} must be a list of bytes-like objects, not {}",
                packets.get_type().name()?
            )));
        }
        let (mut all, mut bytes) = (Vec::new(), 0_usize);
        for (number, packet) in packets.try_iter()?.enumerate() {
            let packet = Owned::new(&packet?, || format!("{name}[{number}]"))?;
            bytes = bytes.saturating_add(packet.bytes().len());
            all.push(packet);
        }
        Ok(Self {
            packets: all,
            bytes,
        })
    }

    /// Copies the packets to `room`, with `before` bytes of zeros before each and `behind(length)` after it, and has `work`
    /// process them. Other Python threads run during a long call.
    ///
    /// # Errors
    /// `MemoryError`.
    pub fn process<'a, T: Send>(
        &self,
        py: Python<'_>,
        room: &'a mut Vec<u8>,
        before: usize,
        behind: impl Fn(usize) -> usize + Send,
        work: impl FnOnce(Vec<Part<'a>>) -> T + Send,
    ) -> PyResult<T> {
        let cost = self.bytes + self.packets.len() * PACKET_BYTES;
        let done = compute(py, cost, move || {
            let lengths = self.packets.iter().map(|packet| packet.bytes().len());
            let lengths = lengths.map(|bytes| before + bytes + behind(bytes));
            *room = reserved(lengths.clone().sum())?;
            for packet in &self.packets {
                let bytes = packet.bytes();
                room.resize(room.len() + before, 0);
                room.extend_from_slice(bytes);
                room.resize(room.len() + behind(bytes.len()), 0);
            }
            let mut rest = &mut room[..];
            let mut parts = reserved(self.packets.len())?;
            for (packet, bytes) in self.packets.iter().zip(lengths) {
                let (buffer, after) = rest.split_at_mut(bytes);
                rest = after;
                let place = before..before + packet.bytes().len();
                parts.push(Part { buffer, place });
            }
            Ok::<_, TooLarge>(work(parts))
        });
        done.map_err(|_| {
            PyMemoryError::new_err(format!("a buffer for {} packets", self.packets.len()))
        })
    }
}

/// Returns the list of a call's results: what `object` makes of each packet, or the exception that says why it failed.
pub fn results<'py, P>(
    py: Python<'py>,
    packets: &[P],
    object: impl Fn(&P) -> Result<PyResult<Bound<'py, PyAny>>, PacketError>,
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for packet in packets {
        match object(packet) {
            Ok(object) => list.append(object?)?,
            Err(error) => list.append(exception(&error))?,
        }
    }
    Ok(list)
}

/// Returns a packet as a `bytes` object.
pub fn bytes<'py>(py: Python<'py>, packet: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    Ok(PyBytes::new(py, packet).into_any())
}

/// Returns a packet with a number that goes with it.
pub fn with_type<'py>(py: Python<'py>, content: &[u8], number: u8) -> PyResult<Bound<'py, PyAny>> {
    let tuple = (PyBytes::new(py, content), number).into_pyobject(py)?;
    Ok(tuple.into_any())
}
