//! Audio and video packets.

use std::ffi::{c_char, c_int, c_void};

use oarlock::Accelerator;
use oarlock::packet::srtp::{
    Inbound, InboundPacket, MasterKey, Outbound, OutboundPacket, Policy, Suite,
};

use super::{Done, Packet, Packets, by_name, with_packets};
use crate::accelerator::free;
use crate::buffers::{input, place, text, value};
use crate::failure::{Code, Failure, call};
use crate::handles::{Handle, Object, OneCall};

/// One direction of a session.
pub enum Srtp {
    /// Protects packets.
    Outbound(Outbound),
    /// Unprotects packets.
    Inbound(Inbound),
}

impl Object for Srtp {
    const KIND: u64 = 12;
    const NAME: &'static str = "SRTP context";
}

impl OneCall for Srtp {}

/// `struct oarlock_srtp_spec`.
#[repr(C)]
pub struct Spec {
    opens: c_int,
    leaves_rtcp_plain: c_int,
    suite: *const c_char,
    key: *const c_void,
    key_bytes: usize,
    mki: *const c_void,
    mki_bytes: usize,
    replay_window: usize,
    retransmissions: usize,
    streams_max: usize,
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `srtp`, or it is NULL; `spec` is NULL or points to a specification, with a text that ends with a NUL and
/// buffers of the lengths given, each of which may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_srtp_new(
    accelerator: Handle<Accelerator>,
    srtp: *mut Handle<Srtp>,
    spec: *const Spec,
) -> c_int {
    call(|| {
        // SAFETY: the caller says that it owns `srtp`, or it is NULL, and that `spec` is NULL or points to a specification
        // that no one changes.
        let (to, spec) = unsafe {
            let to = place(srtp, "the place of the context")?;
            *to = Handle::NULL;
            (to, value(spec, "the specification")?)
        };
        let accelerator = accelerator.shared()?;
        // SAFETY: the caller says that `spec.suite` is NULL or ends with a NUL; `spec.key` is NULL or has
        // `spec.key_bytes` bytes; and `spec.mki` is NULL or has `spec.mki_bytes` bytes.
        let (suite, key, mki) = unsafe {
            (
                text(spec.suite, "the name of the suite")?,
                input(spec.key, spec.key_bytes, "the key")?,
                input(spec.mki, spec.mki_bytes, "the MKI")?,
            )
        };
        let suite = by_name(Suite::NAMED, suite, "suite of SRTP")?;
        let named = [MasterKey { mki, key }];
        let mut policy = match mki {
            [] => Policy::new(suite, key),
            _ => Policy::with_keys(suite, &named),
        };
        policy = policy.retransmissions(spec.retransmissions);
        if spec.leaves_rtcp_plain != 0 {
            policy = policy.encrypt_rtcp(false);
        }
        if spec.replay_window != 0 {
            policy = policy.replay_window(spec.replay_window);
        }
        if spec.streams_max != 0 {
            policy = policy.streams_max(spec.streams_max);
        }
        *to = Handle::new(match spec.opens {
            0 => Srtp::Outbound(accelerator.srtp_outbound(&policy)?),
            _ => Srtp::Inbound(accelerator.srtp_inbound(&policy)?),
        })?;
        Ok(())
    })
}

/// See `oarlock.h`.
#[unsafe(no_mangle)]
pub extern "C" fn oarlock_srtp_free(srtp: Handle<Srtp>) -> c_int {
    free(srtp)
}

/// See `oarlock.h`.
///
/// # Safety
/// `mki` and `key` are NULL or have the lengths given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_srtp_add_key(
    srtp: Handle<Srtp>,
    mki: *const c_void,
    mki_bytes: usize,
    key: *const c_void,
    key_bytes: usize,
) -> c_int {
    call(|| {
        let mut srtp = srtp.exclusive()?;
        // SAFETY: the caller says that `mki` is NULL or has `mki_bytes` bytes; and `key` is NULL or has
        // `key_bytes` bytes.
        let (mki, key) = unsafe {
            (
                input(mki, mki_bytes, "the MKI")?,
                input(key, key_bytes, "the key")?,
            )
        };
        let key = MasterKey { mki, key };
        Ok(match &mut *srtp {
            Srtp::Outbound(outbound) => outbound.add_key(key),
            Srtp::Inbound(inbound) => inbound.add_key(key),
        }?)
    })
}

/// See `oarlock.h`.
///
/// # Safety
/// `mki` is NULL or has the length given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_srtp_use_key(
    srtp: Handle<Srtp>,
    mki: *const c_void,
    mki_bytes: usize,
) -> c_int {
    call(|| {
        let mut srtp = srtp.exclusive()?;
        // SAFETY: the caller says that `mki` is NULL or has `mki_bytes` bytes.
        let mki = unsafe { input(mki, mki_bytes, "the MKI") }?;
        match &mut *srtp {
            Srtp::Outbound(outbound) => Ok(outbound.use_key(mki)?),
            Srtp::Inbound(_) => Err(Failure::new(
                Code::Argument,
                "a context that opens goes by the MKI of each packet",
            )),
        }
    })
}

/// See `oarlock.h`.
#[unsafe(no_mangle)]
pub extern "C" fn oarlock_srtp_remove(srtp: Handle<Srtp>, ssrc: u32) -> c_int {
    call(|| {
        let is_known = match &mut *srtp.exclusive()? {
            Srtp::Outbound(outbound) => outbound.remove(ssrc),
            Srtp::Inbound(inbound) => inbound.remove(ssrc),
        };
        match is_known {
            true => Ok(()),
            false => Err(Failure::argument(format!(
                "there is no source {ssrc:#010x}"
            ))),
        }
    })
}

/// See `oarlock.h`.
#[unsafe(no_mangle)]
pub extern "C" fn oarlock_srtp_expect_roll_over_counter(
    srtp: Handle<Srtp>,
    ssrc: u32,
    counter: u32,
) -> c_int {
    call(|| match &mut *srtp.exclusive()? {
        Srtp::Inbound(inbound) => inbound
            .expect_roll_over_counter(ssrc, counter)
            .map_err(|error| Failure::new(super::code(&error), error.to_string())),
        Srtp::Outbound(_) => Err(Failure::argument(
            "a context that protects counts the packets that it is given",
        )),
    })
}

/// See `oarlock.h`.
///
/// # Safety
/// The same as for [`oarlock_esp_run`](super::esp::oarlock_esp_run).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_srtp_run(
    srtp: Handle<Srtp>,
    packets: *mut Packet,
    count: usize,
    are_rtcp: c_int,
) -> c_int {
    call(|| {
        let run = |srtp: &mut Srtp, packets: Packets<'_>| match srtp {
            Srtp::Outbound(outbound) => protect(outbound, packets, are_rtcp != 0),
            Srtp::Inbound(inbound) => unprotect(inbound, packets, are_rtcp != 0),
        };
        // SAFETY: the caller says that `packets` is NULL or has `count` packets of SRTP, and that it owns their buffers.
        unsafe { with_packets(srtp, packets, count, run) }
    })
}

fn protect(outbound: &mut Outbound, packets: Packets<'_>, are_rtcp: bool) -> Result<(), Failure> {
    let mut all = packets.each(|packet, buffer| {
        let from_packet = &mut buffer[packet.offset..];
        Ok(OutboundPacket::new(from_packet, packet.bytes))
    })?;
    match are_rtcp {
        true => outbound.protect_rtcp(&mut all),
        false => outbound.protect(&mut all),
    }
    packets.say(all.iter().map(|packet| {
        Ok(Done {
            bytes: packet.protected()?,
            kind: None,
            sequence: packet.index(),
        })
    }))
}

fn unprotect(inbound: &mut Inbound, packets: Packets<'_>, are_rtcp: bool) -> Result<(), Failure> {
    let mut all =
        packets.each(|packet, buffer| Ok(InboundPacket::new(&mut buffer[packet.place()])))?;
    match are_rtcp {
        true => inbound.unprotect_rtcp(&mut all),
        false => inbound.unprotect(&mut all),
    }
    packets.say(all.iter().map(|packet| {
        let unprotected = packet.unprotected()?;
        Ok(Done {
            bytes: unprotected.packet,
            kind: None,
            sequence: unprotected.index,
        })
    }))
}
