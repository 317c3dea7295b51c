//! IPsec packets.

use std::ffi::{c_char, c_int, c_void};

use oarlock::Accelerator;
use oarlock::packet::esp::{
    Association, Cipher, Inbound, InboundPacket, Integrity, Outbound, OutboundPacket, Suite,
};

use super::{Done, Packet, Packets, by_name, with_packets};
use crate::accelerator::free;
use crate::buffers::{input, place, text, value};
use crate::failure::{Failure, call};
use crate::handles::{Handle, Object, OneCall};

/// One direction of an association.
pub enum Esp {
    /// Seals packets.
    Outbound(Outbound),
    /// Opens packets.
    Inbound(Inbound),
}

impl Object for Esp {
    const KIND: u64 = 11;
    const NAME: &'static str = "ESP association";
}

impl OneCall for Esp {}

/// `struct oarlock_esp_spec`.
#[repr(C)]
pub struct Spec {
    opens: c_int,
    spi: u32,
    cipher: *const c_char,
    integrity: *const c_char,
    key: *const c_void,
    key_bytes: usize,
    has_extended_numbers: c_int,
    replay_window: usize,
    last_sequence: u64,
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `esp`, or it is NULL; `spec` is NULL or points to a specification, with texts that end with a NUL and a
/// key of the length given, each of which may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_esp_new(
    accelerator: Handle<Accelerator>,
    esp: *mut Handle<Esp>,
    spec: *const Spec,
) -> c_int {
    call(|| {
        // SAFETY: the caller says that it owns `esp`, or it is NULL, and that `spec` is NULL or points to a specification
        // that no one changes.
        let (to, spec) = unsafe {
            let to = place(esp, "the place of the association")?;
            *to = Handle::NULL;
            (to, value(spec, "the specification")?)
        };
        let accelerator = accelerator.shared()?;
        // SAFETY: the caller says that the buffers of `spec` have the lengths given and its texts end with a NUL; each may
        // be NULL.
        let (suite, key) = unsafe { (suite(spec)?, input(spec.key, spec.key_bytes, "the key")?) };
        if spec.has_extended_numbers == 0 && spec.last_sequence > u32::MAX.into() {
            return Err(Failure::argument(
                "without extended numbers the last one has at most 32 bits",
            ));
        }
        let mut association = Association::new(spec.spi, suite, key)
            .extended_sequence_numbers(spec.has_extended_numbers != 0);
        if spec.replay_window != 0 {
            association = association.replay_window(spec.replay_window);
        }
        *to = Handle::new(if spec.opens != 0 {
            if spec.last_sequence != 0 {
                return Err(Failure::argument(
                    "only an association that seals goes on behind a last number",
                ));
            }
            Esp::Inbound(accelerator.esp_inbound(&association)?)
        } else {
            let mut outbound = accelerator.esp_outbound(&association)?;
            outbound.set_sequence(spec.last_sequence);
            Esp::Outbound(outbound)
        })?;
        Ok(())
    })
}

/// # Safety
/// The names of `spec` are NULL or end with a NUL.
unsafe fn suite(spec: &Spec) -> Result<Suite, Failure> {
    // SAFETY: the caller says that `spec.cipher` is NULL or ends with a NUL.
    let cipher = unsafe { text(spec.cipher, "the name of the cipher") }?;
    if spec.integrity.is_null() {
        return by_name(Suite::AEADS, cipher, "cipher of ESP that authenticates");
    }
    // SAFETY: the caller says that `spec.integrity` is NULL or ends with a NUL.
    let integrity = unsafe { text(spec.integrity, "the name of the integrity") }?;
    Ok(Suite::EncryptThenMac(
        by_name(Cipher::NAMED, cipher, "cipher of ESP with an HMAC")?,
        by_name(Integrity::NAMED, integrity, "integrity of ESP")?,
    ))
}

/// See `oarlock.h`.
#[unsafe(no_mangle)]
pub extern "C" fn oarlock_esp_free(esp: Handle<Esp>) -> c_int {
    free(esp)
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns the `count` packets at `packets`, or it is NULL, and their buffers, which have the lengths given and may
/// be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_esp_run(
    esp: Handle<Esp>,
    packets: *mut Packet,
    count: usize,
) -> c_int {
    call(|| {
        let run = |esp: &mut Esp, packets: Packets<'_>| match esp {
            Esp::Outbound(outbound) => seal(outbound, packets),
            Esp::Inbound(inbound) => open(inbound, packets),
        };
        // SAFETY: the caller says that `packets` is NULL or has `count` packets of ESP, and that it owns their buffers.
        unsafe { with_packets(esp, packets, count, run) }
    })
}

fn seal(outbound: &mut Outbound, packets: Packets<'_>) -> Result<(), Failure> {
    let mut all = packets.each(|packet, buffer| {
        let next_header = packet.type_byte()?;
        Ok(OutboundPacket::new(buffer, packet.place(), next_header))
    })?;
    outbound.seal(&mut all);
    packets.say(all.iter().map(|packet| {
        Ok(Done {
            bytes: packet.sealed()?,
            kind: None,
            sequence: packet.sequence(),
        })
    }))
}

fn open(inbound: &mut Inbound, packets: Packets<'_>) -> Result<(), Failure> {
    let mut all =
        packets.each(|packet, buffer| Ok(InboundPacket::new(&mut buffer[packet.place()])))?;
    inbound.open(&mut all);
    packets.say(all.iter().map(|packet| {
        let opened = packet.opened()?;
        Ok(Done {
            bytes: opened.payload,
            kind: Some(opened.next_header.into()),
            sequence: opened.sequence,
        })
    }))
}
