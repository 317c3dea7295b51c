//! Records of DTLS 1.3.

use oarlock::packet::PacketError;
use oarlock::packet::tls::dtls::{ConnectionId, Inbound, InboundRecord, Outbound};
use oarlock::packet::tls::{ContentType, Keys, OutboundRecord};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use super::batch::{Batch, bytes, results};
use super::origin::Sender;
use super::tls::suite_of;
use crate::aead::no_pickle;
use crate::buffer::Input;
use crate::engine::accelerator;
use crate::exclusive::{Exclusive, LeftByParent};
use crate::failure::exception;
use crate::numbers::{byte, count, long};

/// The sender of one direction of a DTLS 1.3 connection (RFC 9147, 4), whose handshake another library does.
///
/// `suite` and `secret` are those of `TlsOutbound`. `epoch` is 3 for the first application data. `sequence` is the number of
/// records that were sealed in the epoch. `connection_id` is the peer's, of up to 32 bytes.
///
/// An object refuses to seal in a forked child, which would use the numbers of its parent.
#[pyclass(frozen, module = "oarlock.packet")]
pub struct DtlsOutbound {
    sender: Sender<Outbound>,
    before: usize,
}

/// The receiver of one direction of a DTLS 1.3 connection. The arguments are those of `DtlsOutbound`.
///
/// `connection_id` is this side's, which each datagram must carry. `replay_window` is the number of records that may arrive
/// late, up to 4096.
#[pyclass(frozen, module = "oarlock.packet")]
pub struct DtlsInbound(Exclusive<Inbound>);

#[pymethods]
impl DtlsOutbound {
    #[new]
    #[pyo3(signature = (suite, secret, *, epoch=3, sequence=0, connection_id=None))]
    fn new(
        suite: &str,
        secret: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = long)] epoch: u64,
        #[pyo3(from_py_with = long)] sequence: u64,
        connection_id: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let secret = Input::new(secret, "secret")?;
        let keys = Keys::from_secret(suite_of(suite)?, secret.bytes()).sequence(sequence);
        let outbound = accelerator()?.dtls_outbound(epoch, &keys);
        let mut outbound = outbound.map_err(|error| exception(&error))?;
        outbound.set_connection_id(id_of(connection_id)?);
        Ok(Self {
            before: outbound.before_bytes(),
            sender: Sender::new(outbound),
        })
    }

    /// Seal each content as a record, and number the records in order. Records that are joined may share a datagram.
    ///
    /// `content_type` is one of ALERT, HANDSHAKE, APPLICATION_DATA and ACK.
    ///
    /// Returns a list of records. In place of one that failed is an exception.
    #[pyo3(signature = (contents, content_type=23))]
    fn seal<'py>(
        &self,
        py: Python<'py>,
        contents: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = byte)] content_type: u8,
    ) -> PyResult<Bound<'py, PyList>> {
        let batch = Batch::new(contents, "contents")?;
        let behind = |_| OutboundRecord::BEHIND_BYTES;
        let mut room = Vec::new();
        let records = batch.process(py, &mut room, self.before, behind, |parts| {
            let parts = parts.into_iter();
            let content_type = ContentType(content_type);
            let mut records: Vec<_> = parts
                .map(|part| OutboundRecord::new(part.buffer, part.place, content_type))
                .collect();
            self.sender.lock()?.seal(&mut records);
            Ok::<_, PyErr>(records)
        })??;
        results(py, &records, |record| Ok(bytes(py, record.sealed()?)))
    }

    /// Switch to the next epoch, after the peer has acknowledged a KeyUpdate message.
    fn update(&self) -> PyResult<()> {
        let updated = self.sender.lock()?.update();
        updated.map_err(|error| exception(&error))
    }

    /// The current epoch.
    #[getter]
    fn epoch(&self) -> PyResult<u64> {
        Ok(self.sender.peek()?.epoch())
    }

    /// The number of the next record.
    #[getter]
    fn sequence(&self) -> PyResult<u64> {
        Ok(self.sender.peek()?.sequence())
    }

    /// How many more records the key may protect.
    #[getter]
    fn records_left(&self) -> PyResult<u64> {
        Ok(self.sender.peek()?.records_left())
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(no_pickle("DtlsOutbound"))
    }
}

#[pymethods]
impl DtlsInbound {
    #[new]
    #[pyo3(signature = (suite, secret, *, epoch=3, connection_id=None, replay_window=64))]
    fn new(
        suite: &str,
        secret: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = long)] epoch: u64,
        connection_id: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = count)] replay_window: usize,
    ) -> PyResult<Self> {
        let secret = Input::new(secret, "secret")?;
        let keys = Keys::from_secret(suite_of(suite)?, secret.bytes());
        let inbound = accelerator()?.dtls_inbound(epoch, &keys);
        let mut inbound = inbound.map_err(|error| exception(&error))?;
        inbound.set_connection_id(id_of(connection_id)?);
        inbound.set_replay_window(replay_window);
        Ok(Self(Exclusive::new(inbound)))
    }

    /// Open the records of each datagram.
    ///
    /// Returns a list with a list for each datagram, of (content, content type, epoch, sequence number). In place of a record
    /// that failed is an exception; the others go on.
    fn open<'py>(
        &self,
        py: Python<'py>,
        datagrams: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        let batch = Batch::new(datagrams, "datagrams")?;
        let mut room = Vec::new();
        let (mut records, counts) = (Vec::new(), Vec::new());
        let (records, counts) = batch.process(
            py,
            &mut room,
            0,
            |_| 0,
            move |parts| {
                let (mut inbound, mut counts) = (self.0.lock()?, counts);
                for part in parts {
                    let before = records.len();
                    records.extend(inbound.split(part.buffer));
                    counts.push(records.len() - before);
                }
                inbound.open(&mut records);
                drop(inbound);
                Ok::<_, LeftByParent>((records, counts))
            },
        )??;
        let (list, mut rest) = (PyList::empty(py), &records[..]);
        for count in counts {
            let (of_datagram, after) = rest.split_at(count);
            rest = after;
            list.append(results(py, of_datagram, |record| opened(py, record))?)?;
        }
        Ok(list)
    }

    /// Accept records of the next epoch too, after a KeyUpdate message. Those of the last four are accepted.
    fn update(&self) -> PyResult<()> {
        let updated = self.0.lock()?.update();
        updated.map_err(|error| exception(&error))
    }

    /// The newest epoch.
    #[getter]
    fn epoch(&self) -> PyResult<u64> {
        Ok(self.0.lock()?.newest_epoch())
    }

    /// How many records of the newest epoch were not authentic.
    #[getter]
    fn forgeries(&self) -> PyResult<u64> {
        Ok(self.0.lock()?.forgeries())
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(no_pickle("DtlsInbound"))
    }
}

fn opened<'py>(
    py: Python<'py>,
    record: &InboundRecord<'_>,
) -> Result<PyResult<Bound<'py, PyAny>>, PacketError> {
    let opened = record.opened()?;
    let content = PyBytes::new(py, opened.content);
    let tuple = (
        content,
        opened.content_type.0,
        opened.epoch,
        opened.sequence,
    );
    Ok(tuple.into_pyobject(py).map(Bound::into_any))
}

fn id_of(id: Option<&Bound<'_, PyAny>>) -> PyResult<ConnectionId> {
    let id = id.map(|id| Input::new(id, "connection_id")).transpose()?;
    let id = ConnectionId::new(id.as_ref().map_or(&[], Input::bytes));
    id.map_err(|error| exception(&error))
}
