//! The keys of an association, and how they seal and open runs of packets.

use std::sync::Arc;

use super::chained::EncryptThenMac;
use super::frame::Frame;
use super::inbound_packet::InboundPacket;
use super::outbound_packet::{Ivs, OutboundPacket};
use super::suite::{COUNTER_IV_BYTES, HEADER_BYTES, SALT_BYTES, Suite};
use crate::PacketError;
use oarlock_engine::Algorithm;
use oarlock_engine::Error;
use oarlock_engine::aead::{KeyedAead, TAG_BYTES};
use oarlock_engine::plan::Engine;
use oarlock_engine::plan::Flow;

pub(super) enum Protection {
    Aead {
        algorithm: Algorithm,
        salt: [u8; SALT_BYTES],
        aead: Box<KeyedAead>,
    },
    EncryptThenMac(Box<EncryptThenMac>),
}

impl Protection {
    /// Expands `key`, which has the suite's length.
    pub(super) fn open(
        engine: &Arc<Engine>,
        suite: Suite,
        key: &[u8],
    ) -> Result<(Self, Flow), Error> {
        match (suite, suite.aead(), key.split_last_chunk()) {
            (Suite::EncryptThenMac(cipher, integrity), ..) => {
                let keyed = EncryptThenMac::new(engine.cpu(), cipher, integrity, key)?;
                let cost = keyed.cost(engine);
                let flow = Flow::open(engine, cost, EncryptThenMac::RUN_MIN)?;
                Ok((Self::EncryptThenMac(Box::new(keyed)), flow))
            }
            (_, Some(algorithm), Some((key, salt))) => {
                let aead = KeyedAead::open_session(engine, algorithm, key)?;
                let flow = Flow::open(engine, aead.cost(), 1)?;
                let protection = Self::Aead {
                    algorithm,
                    salt: *salt,
                    aead: Box::new(aead),
                };
                Ok((protection, flow))
            }
            _ => Err(Error::InvalidKey(format!("no key of {suite:?}"))),
        }
    }

    /// Whether IVs must be unpredictable. Otherwise they are the packets' numbers, which are unique under the key.
    pub(super) fn wants_random_ivs(&self) -> bool {
        matches!(self, Self::EncryptThenMac(keyed) if keyed.wants_random_ivs())
    }

    /// Returns the device and the algorithm for the statistics, or `None` if they have no algorithm for the cipher.
    pub(super) fn served_by(&self) -> Option<(&'static str, Algorithm)> {
        match self {
            Self::Aead {
                algorithm, aead, ..
            } => Some((aead.device(), *algorithm)),
            Self::EncryptThenMac(keyed) => Some(("cpu", keyed.algorithm()?)),
        }
    }

    /// Seals the numbered packets of `run`.
    pub(super) fn seal(&self, frame: Frame, ivs: Ivs<'_>, run: &mut [OutboundPacket<'_>]) {
        match self {
            Self::Aead { salt, aead, .. } => {
                for packet in run {
                    frame.write(ivs, packet);
                    if let Err(error) = seal_by_aead(frame, *salt, aead, packet) {
                        packet.refuse(error);
                    }
                }
            }
            Self::EncryptThenMac(keyed) => keyed.seal(frame, ivs, run),
        }
    }

    /// Opens the packets of `run` that may be authentic.
    pub(super) fn open_run(&self, frame: Frame, run: &mut [InboundPacket<'_>]) {
        match self {
            Self::Aead { salt, aead, .. } => {
                for packet in run {
                    if let Err(error) = open_by_aead(frame, *salt, aead, packet) {
                        packet.refuse(error);
                    }
                }
            }
            Self::EncryptThenMac(keyed) => keyed.open(frame, run),
        }
    }
}

fn seal_by_aead(
    frame: Frame,
    salt: [u8; SALT_BYTES],
    aead: &KeyedAead,
    packet: &mut OutboundPacket<'_>,
) -> Result<(), PacketError> {
    let sequence = packet.sequence();
    let Some(sealed) = packet.numbered() else {
        return Ok(());
    };
    let body_bytes = sealed.len() - TAG_BYTES;
    let (sealed, icv) = sealed.split_at_mut(body_bytes);
    let body = &mut sealed[HEADER_BYTES + COUNTER_IV_BYTES..];
    let nonce = nonce(salt, sequence.to_be_bytes());
    let tag = frame.with_aad(sequence, |aad| aead.seal(&nonce, aad, body.into()))?;
    icv.copy_from_slice(&tag);
    Ok(())
}

fn open_by_aead(
    frame: Frame,
    salt: [u8; SALT_BYTES],
    aead: &KeyedAead,
    packet: &mut InboundPacket<'_>,
) -> Result<(), PacketError> {
    let Some((sequence, sealed)) = packet.candidate() else {
        return Ok(());
    };
    let bytes = sealed.len();
    let too_short = PacketError::InvalidLength { bytes };
    let rest = &mut sealed[HEADER_BYTES..];
    let (iv, rest) = rest.split_first_chunk_mut().ok_or(too_short.clone())?;
    let (body, icv) = rest.split_last_chunk_mut().ok_or(too_short)?;
    let nonce = nonce(salt, *iv);
    frame.with_aad(sequence, |aad| {
        aead.open_or_zero(&nonce, aad, body.into(), icv)
    })?;
    Ok(())
}

fn nonce(
    salt: [u8; SALT_BYTES],
    iv: [u8; COUNTER_IV_BYTES],
) -> [u8; SALT_BYTES + COUNTER_IV_BYTES] {
    let mut nonce = [0; SALT_BYTES + COUNTER_IV_BYTES];
    nonce[..SALT_BYTES].copy_from_slice(&salt);
    nonce[SALT_BYTES..].copy_from_slice(&iv);
    nonce
}
