//! SRTP and SRTCP.

use oarlock::packet::srtp::{
    Inbound, InboundPacket, MasterKey, Outbound, OutboundPacket, Policy, Suite,
};
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::batch::{Batch, bytes, results};
use super::failure;
use super::origin::Sender;
use crate::aead::no_pickle;
use crate::buffer::Input;
use crate::engine::accelerator;
use crate::exclusive::{Exclusive, LeftByParent};
use crate::failure::exception;
use crate::numbers::{by_name, count, word};

/// The sender of an SRTP session (RFC 3711), for RTP and RTCP packets of any number of sources.
///
/// `suite` is "AES_CM_128_HMAC_SHA1_80", "AES_CM_128_HMAC_SHA1_32", "AES_192_CM_HMAC_SHA1_80", "AES_192_CM_HMAC_SHA1_32",
/// "AES_256_CM_HMAC_SHA1_80", "AES_256_CM_HMAC_SHA1_32", "AEAD_AES_128_GCM", "AEAD_AES_256_GCM", "SRTP_NULL_HMAC_SHA1_80" or
/// "SRTP_NULL_HMAC_SHA1_32". `key` is the master key and the master salt, of 14 bytes or with AES-GCM of 12. With an `mki`
/// every packet names the key by it. `retransmissions` is how many packets of each source may be protected again.
///
/// An object refuses to protect in a forked child, which would use the numbers of its parent.
#[pyclass(frozen, module = "oarlock.packet")]
pub struct SrtpOutbound {
    sender: Sender<Outbound>,
    behind: usize,
}

/// The receiver of an SRTP session. The arguments are those of `SrtpOutbound`.
///
/// `replay_window` is the number of packets of a source that may arrive late, and `streams_max` the most sources.
#[pyclass(frozen, module = "oarlock.packet")]
pub struct SrtpInbound(Exclusive<Inbound>);

#[derive(Clone, Copy)]
enum Protocol {
    Rtp,
    Rtcp,
}

impl SrtpOutbound {
    fn seal<'py>(
        &self,
        packets: &Bound<'py, PyAny>,
        protocol: Protocol,
    ) -> PyResult<Bound<'py, PyList>> {
        let (py, batch) = (packets.py(), Batch::new(packets, "packets")?);
        let mut room = Vec::new();
        let packets = batch.process(
            py,
            &mut room,
            0,
            |_| self.behind,
            |parts| {
                let parts = parts.into_iter();
                let mut packets: Vec<_> = parts
                    .map(|part| OutboundPacket::new(part.buffer, part.place.len()))
                    .collect();
                let mut sender = self.sender.lock()?;
                match protocol {
                    Protocol::Rtp => sender.protect(&mut packets),
                    Protocol::Rtcp => sender.protect_rtcp(&mut packets),
                }
                drop(sender);
                Ok::<_, PyErr>(packets)
            },
        )??;
        results(py, &packets, |packet| Ok(bytes(py, packet.protected()?)))
    }
}

#[pymethods]
impl SrtpOutbound {
    #[new]
    #[pyo3(signature = (suite, key, *, mki=None, encrypt_rtcp=true, replay_window=128, retransmissions=0, streams_max=256))]
    fn new(
        suite: &str,
        key: &Bound<'_, PyAny>,
        mki: Option<&Bound<'_, PyAny>>,
        encrypt_rtcp: bool,
        #[pyo3(from_py_with = count)] replay_window: usize,
        #[pyo3(from_py_with = count)] retransmissions: usize,
        #[pyo3(from_py_with = count)] streams_max: usize,
    ) -> PyResult<Self> {
        let key = Input::new(key, "key")?;
        let mki = mki.map(|mki| Input::new(mki, "mki")).transpose()?;
        let mki = mki.as_ref().map(Input::bytes);
        let named = mki.map(|mki| named(mki, key.bytes()));
        let policy = policy(suite, key.bytes(), named.as_ref().map(std::slice::from_ref))?
            .encrypt_rtcp(encrypt_rtcp)
            .replay_window(replay_window)
            .retransmissions(retransmissions)
            .streams_max(streams_max);
        let outbound = accelerator()?.srtp_outbound(&policy);
        Ok(Self {
            sender: Sender::new(outbound.map_err(|error| exception(&error))?),
            behind: Suite::BEHIND_BYTES_MAX + mki.map_or(0, <[u8]>::len),
        })
    }

    /// Protect RTP packets, whose sequence numbers are the caller's.
    ///
    /// Returns a list of SRTP packets. In place of one that failed is an exception: Replayed if its number was used.
    fn protect<'py>(&self, packets: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        self.seal(packets, Protocol::Rtp)
    }

    /// Protect RTCP packets, which may be compound, and number them in order.
    fn protect_rtcp<'py>(&self, packets: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        self.seal(packets, Protocol::Rtcp)
    }

    /// Add a master key with an MKI as long as that of the first. Packets have the key of `use_key`.
    fn add_key(&self, mki: &Bound<'_, PyAny>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        let (mki, key) = (Input::new(mki, "mki")?, Input::new(key, "key")?);
        let added = self.sender.lock()?.add_key(named(mki.bytes(), key.bytes()));
        added.map_err(|error| exception(&error))
    }

    /// Protect further packets with the key that has this MKI.
    fn use_key(&self, mki: &Bound<'_, PyAny>) -> PyResult<()> {
        let mki = Input::new(mki, "mki")?;
        let found = self.sender.lock()?.use_key(mki.bytes());
        found.map_err(|error| exception(&error))
    }

    /// Return the highest index of a source (its roll-over counter times 65,536, and sequence number), or None.
    fn index(&self, #[pyo3(from_py_with = word)] ssrc: u32) -> PyResult<Option<u64>> {
        Ok(self.sender.peek()?.index(ssrc))
    }

    /// Forget a source that has ended. Returns whether it was known. It must not come back under the same key.
    fn remove(&self, #[pyo3(from_py_with = word)] ssrc: u32) -> PyResult<bool> {
        Ok(self.sender.lock()?.remove(ssrc))
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(no_pickle("SrtpOutbound"))
    }
}

impl SrtpInbound {
    fn open<'py>(
        &self,
        packets: &Bound<'py, PyAny>,
        protocol: Protocol,
    ) -> PyResult<Bound<'py, PyList>> {
        let (py, batch) = (packets.py(), Batch::new(packets, "packets")?);
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
                let mut receiver = self.0.lock()?;
                match protocol {
                    Protocol::Rtp => receiver.unprotect(&mut packets),
                    Protocol::Rtcp => receiver.unprotect_rtcp(&mut packets),
                }
                drop(receiver);
                Ok::<_, LeftByParent>(packets)
            },
        )??;
        results(py, &packets, |packet| {
            Ok(bytes(py, packet.unprotected()?.packet))
        })
    }
}

#[pymethods]
impl SrtpInbound {
    #[new]
    #[pyo3(signature = (suite, key, *, mki=None, encrypt_rtcp=true, replay_window=128, streams_max=256))]
    fn new(
        suite: &str,
        key: &Bound<'_, PyAny>,
        mki: Option<&Bound<'_, PyAny>>,
        encrypt_rtcp: bool,
        #[pyo3(from_py_with = count)] replay_window: usize,
        #[pyo3(from_py_with = count)] streams_max: usize,
    ) -> PyResult<Self> {
        let key = Input::new(key, "key")?;
        let mki = mki.map(|mki| Input::new(mki, "mki")).transpose()?;
        let named = (mki.as_ref()).map(|mki| named(mki.bytes(), key.bytes()));
        let policy = policy(suite, key.bytes(), named.as_ref().map(std::slice::from_ref))?
            .encrypt_rtcp(encrypt_rtcp)
            .replay_window(replay_window)
            .streams_max(streams_max);
        let inbound = accelerator()?.srtp_inbound(&policy);
        inbound
            .map(|inbound| Self(Exclusive::new(inbound)))
            .map_err(|error| exception(&error))
    }

    /// Authenticate and decrypt SRTP packets.
    ///
    /// Returns a list of RTP packets. In place of one that failed is an exception: AuthenticationFailed, Replayed or
    /// PacketError.
    fn unprotect<'py>(&self, packets: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        self.open(packets, Protocol::Rtp)
    }

    /// Authenticate and decrypt SRTCP packets.
    fn unprotect_rtcp<'py>(&self, packets: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        self.open(packets, Protocol::Rtcp)
    }

    /// Accept packets under another master key too, with an MKI as long as that of the first.
    fn add_key(&self, mki: &Bound<'_, PyAny>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        let (mki, key) = (Input::new(mki, "mki")?, Input::new(key, "key")?);
        let added = self.0.lock()?.add_key(named(mki.bytes(), key.bytes()));
        added.map_err(|error| exception(&error))
    }

    /// Set the roll-over counter of a source's first packet, for a receiver that joins later.
    ///
    /// Raises PacketError if there are too many sources.
    fn expect_roll_over_counter(
        &self,
        #[pyo3(from_py_with = word)] ssrc: u32,
        #[pyo3(from_py_with = word)] counter: u32,
    ) -> PyResult<()> {
        let expected = self.0.lock()?.expect_roll_over_counter(ssrc, counter);
        expected.map_err(|error| failure::exception(&error))
    }

    /// Return the highest index of a source (its roll-over counter times 65,536, and sequence number), or None.
    fn index(&self, #[pyo3(from_py_with = word)] ssrc: u32) -> PyResult<Option<u64>> {
        Ok(self.0.lock()?.index(ssrc))
    }

    /// Forget a source that has ended. Returns whether it was known. Its old packets are accepted again.
    fn remove(&self, #[pyo3(from_py_with = word)] ssrc: u32) -> PyResult<bool> {
        Ok(self.0.lock()?.remove(ssrc))
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(no_pickle("SrtpInbound"))
    }
}

fn named<'a>(mki: &'a [u8], key: &'a [u8]) -> MasterKey<'a> {
    MasterKey { mki, key }
}

fn policy<'a>(
    suite: &str,
    key: &'a [u8],
    named: Option<&'a [MasterKey<'a>]>,
) -> PyResult<Policy<'a>> {
    let suite = by_name(Suite::NAMED, suite, "suite")?;
    Ok(match named {
        Some(named) => Policy::with_keys(suite, named),
        None => Policy::new(suite, key),
    })
}
