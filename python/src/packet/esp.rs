//! IPsec ESP.

use oarlock::packet::ReplayWindow;
use oarlock::packet::esp::{
    Association, Cipher, Inbound, InboundPacket, Integrity, Outbound, OutboundPacket, Suite,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::batch::{Batch, bytes, results, with_type};
use super::origin::Sender;
use crate::aead::no_pickle;
use crate::buffer::Input;
use crate::engine::accelerator;
use crate::exclusive::{Exclusive, LeftByParent};
use crate::failure::exception;
use crate::numbers::{by_name, byte, count, long, word};

/// The sender of an IPsec association (ESP, RFC 4303).
///
/// `cipher` is "aes-128-gcm", "aes-192-gcm", "aes-256-gcm" or "chacha20-poly1305". With an `integrity` ("hmac-sha1-96",
/// "hmac-sha256-128", "hmac-sha384-192", "hmac-sha512-256", "hmac-md5-96") it is "aes-128-cbc", "aes-128-ctr", those of 192
/// and 256 bits, "des-ede3-cbc" or "null". `key` is the cipher's key, its salt of 4 bytes (not with CBC and null), and the
/// key of the HMAC, as long as its digest. `sequence` is the number of the last packet that was sent under the key.
///
/// An object refuses to seal in a forked child, which would use the numbers of its parent.
#[pyclass(frozen, module = "oarlock.packet")]
pub struct EspOutbound {
    sender: Sender<Outbound>,
    suite: Suite,
}

/// The receiver of an IPsec association. The arguments are those of `EspOutbound`.
///
/// `replay_window` is the number of packets that may arrive late, up to 4096. Packets up to the number `sequence` count as
/// received.
#[pyclass(frozen, module = "oarlock.packet")]
pub struct EspInbound(Exclusive<Inbound>);

#[pymethods]
impl EspOutbound {
    #[new]
    #[pyo3(signature = (spi, cipher, key, *, integrity=None, extended_sequence_numbers=false, sequence=0))]
    fn new(
        #[pyo3(from_py_with = word)] spi: u32,
        cipher: &str,
        key: &Bound<'_, PyAny>,
        integrity: Option<&str>,
        extended_sequence_numbers: bool,
        #[pyo3(from_py_with = long)] sequence: u64,
    ) -> PyResult<Self> {
        let (suite, key) = (suite(cipher, integrity)?, Input::new(key, "key")?);
        check_sequence(sequence, extended_sequence_numbers)?;
        let association = Association::new(spi, suite, key.bytes())
            .extended_sequence_numbers(extended_sequence_numbers);
        let outbound = accelerator()?.esp_outbound(&association);
        let mut outbound = outbound.map_err(|error| exception(&error))?;
        outbound.set_sequence(sequence);
        Ok(Self {
            sender: Sender::new(outbound),
            suite,
        })
    }

    /// Seal each payload, and number the packets in order.
    ///
    /// `next_header` is the protocol of the payloads: 4 for IPv4 packets (tunnel mode), 41 for IPv6, 59 for dummies.
    ///
    /// Returns a list of packets, from the SPI to the ICV. In place of one that failed is an exception.
    #[pyo3(signature = (payloads, next_header=4))]
    fn seal<'py>(
        &self,
        py: Python<'py>,
        payloads: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = byte)] next_header: u8,
    ) -> PyResult<Bound<'py, PyList>> {
        let batch = Batch::new(payloads, "payloads")?;
        let (before, behind) = (self.suite.before_bytes(), self.suite.behind_bytes_max());
        let mut room = Vec::new();
        let packets = batch.process(
            py,
            &mut room,
            before,
            |_| behind,
            |parts| {
                let parts = parts.into_iter();
                let mut packets: Vec<_> = parts
                    .map(|part| OutboundPacket::new(part.buffer, part.place, next_header))
                    .collect();
                self.sender.lock()?.seal(&mut packets);
                Ok::<_, PyErr>(packets)
            },
        )??;
        results(py, &packets, |packet| Ok(bytes(py, packet.sealed()?)))
    }

    /// The number of the last packet, or 0 before the first.
    #[getter]
    fn sequence(&self) -> PyResult<u64> {
        Ok(self.sender.peek()?.sequence())
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(no_pickle("EspOutbound"))
    }
}

#[pymethods]
impl EspInbound {
    #[new]
    #[pyo3(signature = (spi, cipher, key, *, integrity=None, extended_sequence_numbers=false, replay_window=64, sequence=0))]
    fn new(
        #[pyo3(from_py_with = word)] spi: u32,
        cipher: &str,
        key: &Bound<'_, PyAny>,
        integrity: Option<&str>,
        extended_sequence_numbers: bool,
        #[pyo3(from_py_with = count)] replay_window: usize,
        #[pyo3(from_py_with = long)] sequence: u64,
    ) -> PyResult<Self> {
        let (suite, key) = (suite(cipher, integrity)?, Input::new(key, "key")?);
        check_sequence(sequence, extended_sequence_numbers)?;
        let association = Association::new(spi, suite, key.bytes())
            .extended_sequence_numbers(extended_sequence_numbers);
        let inbound = accelerator()?.esp_inbound(&association);
        let mut inbound = inbound.map_err(|error| exception(&error))?;
        let mut window = ReplayWindow::new(replay_window);
        for number in sequence.saturating_sub(window.size())..sequence {
            window.insert(number + 1);
        }
        inbound.set_window(window);
        Ok(Self(Exclusive::new(inbound)))
    }

    /// Open each packet: what follows the IP or UDP header.
    ///
    /// Returns a list of (payload, next header). In place of a packet that failed is an exception: AuthenticationFailed,
    /// Replayed or PacketError. Of two packets with one number the first is accepted.
    fn open<'py>(
        &self,
        py: Python<'py>,
        packets: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        let batch = Batch::new(packets, "packets")?;
        let mut room = Vec::new();
        let packets = batch.process(
            py,
            &mut room,
            0,
            |_| 0,
            |parts| {
                let parts = parts.into_iter();
                let mut packets: Vec<_> =
                    parts.map(|part| InboundPacket::new(part.buffer)).collect();
                self.0.lock()?.open(&mut packets);
                Ok::<_, LeftByParent>(packets)
            },
        )??;
        results(py, &packets, |packet| {
            let opened = packet.opened()?;
            Ok(with_type(py, opened.payload, opened.next_header))
        })
    }

    /// The highest number of an authentic packet, or 0 before the first.
    #[getter]
    fn sequence(&self) -> PyResult<u64> {
        Ok(self.0.lock()?.window().highest())
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(no_pickle("EspInbound"))
    }
}

fn check_sequence(sequence: u64, is_extended: bool) -> PyResult<()> {
    if is_extended || sequence <= u32::MAX.into() {
        return Ok(());
    }
    Err(PyValueError::new_err(
        "sequence has more than 32 bits, and extended_sequence_numbers is False",
    ))
}

fn suite(cipher: &str, integrity: Option<&str>) -> PyResult<Suite> {
    let Some(integrity) = integrity else {
        return by_name(Suite::AEADS, cipher, "cipher (without integrity)");
    };
    Ok(Suite::EncryptThenMac(
        by_name(Cipher::NAMED, cipher, "cipher (with integrity)")?,
        by_name(Integrity::NAMED, integrity, "integrity")?,
    ))
}
