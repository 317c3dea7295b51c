//! TLS 1.3 records.

use std::ffi::{c_int, c_uint, c_void};

use oarlock::Accelerator;
use oarlock::packet::tls::{
    ContentType, Inbound, InboundRecord, Keys, Outbound, OutboundRecord, Suite,
};

use super::{Done, Packet, Packets, array_bytes, code, with_packets};
use crate::accelerator::free;
use crate::buffers::{apart, input, output, place, value};
use crate::failure::{Code, Failure, call};
use crate::handles::{Handle, Object, OneCall};

/// One direction of a connection.
pub enum Tls {
    /// Seals records.
    Outbound(Outbound),
    /// Opens records.
    Inbound(Inbound),
}

impl Object for Tls {
    const KIND: u64 = 14;
    const NAME: &'static str = "direction of a TLS connection";
}

impl OneCall for Tls {}

/// `struct oarlock_tls_spec`.
#[repr(C)]
pub struct Spec {
    opens: c_int,
    suite: c_uint,
    secret: *const c_void,
    secret_bytes: usize,
    key: *const c_void,
    key_bytes: usize,
    iv: *const c_void,
    iv_bytes: usize,
    sequence: u64,
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `tls`, or it is NULL; `spec` is NULL or points to a specification, with buffers of the lengths given,
/// each of which may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_tls_new(
    accelerator: Handle<Accelerator>,
    tls: *mut Handle<Tls>,
    spec: *const Spec,
) -> c_int {
    call(|| {
        // SAFETY: the caller says that it owns `tls`, or it is NULL, and that `spec` is NULL or points to a specification
        // that no one changes.
        let (to, spec) = unsafe {
            let to = place(tls, "the place of the connection")?;
            *to = Handle::NULL;
            (to, value(spec, "the specification")?)
        };
        let accelerator = accelerator.shared()?;
        // SAFETY: the caller says that `spec.secret` is NULL or has `spec.secret_bytes` bytes; `spec.key` is
        // NULL or has `spec.key_bytes` bytes; and `spec.iv` is NULL or has `spec.iv_bytes` bytes.
        let (secret, key, iv) = unsafe {
            (
                input(spec.secret, spec.secret_bytes, "the secret")?,
                input(spec.key, spec.key_bytes, "the key")?,
                input(spec.iv, spec.iv_bytes, "the IV")?,
            )
        };
        let suite = u16::try_from(spec.suite).ok().and_then(Suite::from_id);
        let suite = suite.ok_or_else(|| {
            let known = Suite::ALL
                .iter()
                .map(|suite| format!("{:#06x}", suite.id()));
            let known: Vec<_> = known.collect();
            Failure::argument(format!(
                "there is no suite {:#06x}: the numbers are {}",
                spec.suite,
                known.join(", ")
            ))
        })?;
        let keys = match (secret, <&[u8; 12]>::try_from(iv)) {
            (_, Ok(iv)) if secret.is_empty() => Keys::new(suite, key, iv),
            ([_, ..], _) if key.is_empty() && iv.is_empty() => Keys::from_secret(suite, secret),
            _ => {
                return Err(Failure::argument(
                    "there is a secret, or a key and an IV of 12 bytes",
                ));
            }
        };
        let keys = keys.sequence(spec.sequence);
        *to = Handle::new(match spec.opens {
            0 => Tls::Outbound(accelerator.tls_outbound(&keys)?),
            _ => Tls::Inbound(accelerator.tls_inbound(&keys)?),
        })?;
        Ok(())
    })
}

/// See `oarlock.h`.
#[unsafe(no_mangle)]
pub extern "C" fn oarlock_tls_free(tls: Handle<Tls>) -> c_int {
    free(tls)
}

/// See `oarlock.h`.
#[unsafe(no_mangle)]
pub extern "C" fn oarlock_tls_update(tls: Handle<Tls>) -> c_int {
    call(|| {
        Ok(match &mut *tls.exclusive()? {
            Tls::Outbound(outbound) => outbound.update(),
            Tls::Inbound(inbound) => inbound.update(),
        }?)
    })
}

/// See `oarlock.h`.
///
/// # Safety
/// The same as for [`oarlock_esp_run`](super::esp::oarlock_esp_run).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_tls_seal(
    tls: Handle<Tls>,
    records: *mut Packet,
    count: usize,
) -> c_int {
    call(|| {
        // SAFETY: the caller says that `records` is NULL or has `count` records, and that it owns their buffers.
        unsafe { with_packets(tls, records, count, seal) }
    })
}

fn seal(tls: &mut Tls, packets: Packets<'_>) -> Result<(), Failure> {
    let Tls::Outbound(outbound) = tls else {
        return Err(Failure::new(
            Code::State,
            "this direction of the connection opens records",
        ));
    };
    let mut all = packets.each(|packet, buffer| {
        let content_type = ContentType(packet.type_byte()?);
        Ok(OutboundRecord::new(buffer, packet.place(), content_type))
    })?;
    outbound.seal(&mut all);
    packets.say(all.iter().map(|record| {
        Ok(Done {
            bytes: record.sealed()?,
            kind: None,
            sequence: record.sequence(),
        })
    }))
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `count`, `done`, the `*count` records and the `bytes` bytes at `buffer`; each may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_tls_open(
    tls: Handle<Tls>,
    records: *mut Packet,
    count: *mut usize,
    done: *mut usize,
    buffer: *mut c_void,
    bytes: usize,
) -> c_int {
    call(|| {
        let mut tls = tls.exclusive()?;
        let Tls::Inbound(inbound) = &mut *tls else {
            return Err(Failure::new(
                Code::State,
                "this direction of the connection seals records",
            ));
        };
        // SAFETY: the caller says that `count` is NULL or points to a number that no one changes.
        let room = *unsafe { value(count, "the number of records") }?;
        let records_bytes = array_bytes(records, room)?;
        const APART: &str =
            "buffer, records, their number and the number of bytes have nothing in common";
        let places: [(*const c_void, usize); 4] = [
            (buffer, bytes),
            (records.cast_const().cast(), records_bytes),
            (count.cast_const().cast(), size_of::<usize>()),
            (done.cast_const().cast(), size_of::<usize>()),
        ];
        for (i, (one, one_bytes)) in places.into_iter().enumerate() {
            for (other, other_bytes) in &places[..i] {
                apart(one, one_bytes, *other, *other_bytes, APART)?;
            }
        }
        // SAFETY: the caller says that it owns `count` and `done`; each may be NULL.
        let (count, done) = unsafe {
            (
                place(count, "the number of records")?,
                place(done, "the number of bytes")?,
            )
        };
        // SAFETY: the caller says that it owns the `bytes` bytes at `buffer`, or it is NULL; no other argument lies in it,
        // as was checked.
        let content = unsafe { output(buffer, bytes, "the buffer") }?;
        // A record has at least 22 bytes: header, type and tag.
        let mut all = vec![InboundRecord::default(); room.min(bytes / 22 + 1)];
        let opened = inbound.open(content, &mut all);
        (*count, *done) = (opened.records, opened.bytes);
        for (number, record) in all[..opened.records].iter().enumerate() {
            let place = record.content();
            let opened = Packet {
                buffer,
                buffer_bytes: bytes,
                offset: place.start,
                bytes: place.len(),
                kind: record.content_type().0.into(),
                error: 0,
                sequence: record.sequence(),
            };
            // SAFETY: the array has room for this record, is aligned, and the caller owns it; its old contents need not be
            // valid.
            unsafe { records.add(number).write(opened) };
        }
        let error = match opened.end {
            Ok(_) => return Ok(()),
            Err(error) => error,
        };
        Err(Failure::new(code(&error), error.to_string()))
    })
}
