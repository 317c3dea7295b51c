//! The sender's side of ESP.

use std::fmt;
use std::sync::Arc;

use super::association::{Association, Parts};
use super::outbound_packet::{Ivs, OutboundPacket};
use super::random::RandomIvs;
use super::suite::Suite;
use oarlock_engine::Direction;
use oarlock_engine::Error;
use oarlock_engine::plan::Engine;
use oarlock_engine::plan::Workers;

/// Seals packets of one association, from `Accelerator::esp_outbound`.
pub struct Outbound {
    parts: Parts,
    /// Random IVs, if the cipher requires them.
    random_ivs: Option<RandomIvs>,
    /// The number of the last packet.
    last: u64,
}

impl Outbound {
    /// Bytes that a packet of any suite needs before its payload. [`Suite::before_bytes`](super::Suite::before_bytes)
    /// is enough for one suite.
    pub const BEFORE_BYTES: usize = Suite::BEFORE_BYTES_MAX;

    #[doc(hidden)]
    pub fn open(engine: &Arc<Engine>, association: &Association<'_>) -> Result<Self, Error> {
        let parts = Parts::open(engine, association, Direction::Encrypt)?;
        let wants_random_ivs = parts.protection.wants_random_ivs();
        Ok(Self {
            parts,
            random_ivs: wants_random_ivs.then(RandomIvs::new),
            last: 0,
        })
    }

    /// Seals each of `packets` in place, and numbers them in order. If a packet is not sealed, its
    /// [`sealed`](OutboundPacket::sealed) returns why. It takes no number, unless its device failed.
    pub fn seal(&mut self, packets: &mut [OutboundPacket<'_>]) {
        let first = self.last.saturating_add(1);
        let mut bytes = 0;
        for packet in &mut *packets {
            bytes += packet.number(self.parts.frame, &mut self.last);
        }
        let random = self.random_ivs.as_mut();
        let ivs = Ivs::new(first, random.map(|ivs| ivs.take(packets.len())));
        let Parts {
            frame,
            protection,
            flow,
        } = &mut self.parts;
        flow.run(bytes, packets, &|run| protection.seal(*frame, ivs, run));
        self.parts.hand_in_what_was_shared();
    }

    /// Returns the limit on helper threads, which can be changed while packets flow.
    pub fn workers(&self) -> &Workers {
        self.parts.flow.workers()
    }

    /// Returns the number of the last packet, or 0 before the first.
    pub fn sequence(&self) -> u64 {
        self.last
    }

    /// Continues after the packet with this number, for an association that another machine or process began. A number
    /// must not be used twice under one key.
    pub fn set_sequence(&mut self, last: u64) {
        self.last = last;
    }
}

impl fmt::Debug for Outbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbound")
            .field("spi", &self.parts.frame.spi)
            .field("sequence", &self.last)
            .finish_non_exhaustive()
    }
}
