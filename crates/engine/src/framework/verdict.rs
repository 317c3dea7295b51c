//! Checks what a device answers.

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::local::Local;
use super::member::Member;
use super::parcel::{Content, Parcel};
use crate::Error;
use crate::device::DeviceError;
use crate::device::interface::Bounce;
use crate::schedule::Fault;
use crate::work::algorithm::Direction;
use crate::work::operation::Service;
use oarlock_threads::wiped::Wiped;

/// The judgement of a device's answer.
pub(super) enum Verdict {
    Done(Zeroizing<Vec<u8>>),
    /// The request itself is at fault.
    Refused(Error),
    /// The request makes every device fail.
    Unproven(String),
    Fault(Fault, String),
}

/// Checks a device's result and copies it into the request's buffers; returns the power of a public-key request. If the
/// result is wrong, the data stay unchanged.
pub(super) fn judge(
    local: &Local,
    member: &Member,
    parcel: &mut Parcel,
    mut bounce: Bounce,
    result: Result<(), DeviceError>,
) -> Verdict {
    if let Err(error) = result {
        return Verdict::Fault(Fault::Failed, error.0);
    }
    let (session, step, buffers) = match &mut parcel.what {
        Content::PublicKey(request) => {
            let checked = request.check(bounce.into_result(), false);
            let key = request.private_key();
            let is_held = key.is_some_and(|key| key.held_by().is_some());
            return match checked.map(|power| request.finish(power)) {
                Ok(Ok(power)) => Verdict::Done(power),
                Ok(Err(error)) => Verdict::Refused(error),
                // No result of a key whose "primes" are composite agrees with the public key, so the CPU looks.
                Err(reason) if !is_held => match local.compute(parcel) {
                    Err(Error::DeviceFailed { .. }) => Verdict::Unproven(reason),
                    _ => Verdict::Fault(Fault::Breach, reason),
                },
                Err(reason) => Verdict::Fault(Fault::Breach, reason),
            };
        }
        Content::Data {
            session,
            step,
            buffers,
        } => (session, step, buffers),
    };
    let Some(made) = bounce.checked() else {
        return Verdict::Fault(Fault::Breach, "it has written past the end".into());
    };
    if made.len() != buffers.len() {
        return Verdict::Fault(Fault::Breach, "it has changed the length".into());
    }
    if session.material.service() == Service::Random {
        // XOR with aws-lc's bytes: the result is sound if either source is.
        let range = step.layout.encrypted.clone();
        let mut own = Wiped::zeros(range.len());
        crate::aws_lc::random::fill_random(&mut own);
        let bytes = made[range].iter_mut().zip(own.iter());
        bytes.for_each(|(byte, own)| *byte ^= own);
        buffers.scatter(made);
        return Verdict::Done(Zeroizing::default());
    }
    let tag = step.layout.tag..step.layout.tag + session.material.tag_bytes();
    // The device computes the tag without knowing the expected one.
    let is_refused = step.direction == Direction::Decrypt && {
        let mut given = vec![0; tag.len()];
        buffers.take(tag.start, &mut given);
        !bool::from(given.ct_eq(&made[tag.clone()]))
    };
    if is_refused || member.is_to_be_checked() {
        let mut input = Wiped::zeros(buffers.len());
        buffers.gather(&mut input);
        let right = session.keys.run(step, &mut input);
        return match right {
            Err(error) if is_refused => Verdict::Refused(error),
            Ok(()) if !is_refused && input.ct_eq(made).into() => {
                buffers.scatter(&input);
                Verdict::Done(Zeroizing::default())
            }
            _ => Verdict::Fault(Fault::Breach, "its result is wrong".into()),
        };
    }
    // Bytes outside the ranges come from the input, never from the device.
    let text = step.layout.encrypted.clone();
    let tag = match step.direction {
        Direction::Encrypt => tag,
        Direction::Decrypt => 0..0,
    };
    buffers.copy_all_but(text.clone(), tag.clone());
    for range in [text, tag] {
        buffers.put(range.start, &made[range]);
    }
    Verdict::Done(Zeroizing::default())
}
