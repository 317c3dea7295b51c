//! The receiver's side of ESP.

use std::fmt;
use std::sync::Arc;

use super::association::{Association, Parts};
use super::inbound_packet::InboundPacket;
use crate::ReplayWindow;
use oarlock_engine::Direction;
use oarlock_engine::Error;
use oarlock_engine::plan::Engine;
use oarlock_engine::plan::Workers;

/// Opens packets of one association, from `Accelerator::esp_inbound`.
pub struct Inbound {
    parts: Parts,
    window: ReplayWindow,
}

impl Inbound {
    #[doc(hidden)]
    pub fn open_association(
        engine: &Arc<Engine>,
        association: &Association<'_>,
    ) -> Result<Self, Error> {
        Ok(Self {
            parts: Parts::open(engine, association, Direction::Decrypt)?,
            window: ReplayWindow::new(association.window),
        })
    }

    /// Opens each of `packets` in place. A packet that is not authentic, or is refused after decryption, is zeroed
    /// after its header; the others continue. [`opened`](InboundPacket::opened) returns the result of each. Sequence
    /// numbers count as seen in the order of `packets`: of two packets with one number, the first is accepted.
    pub fn open(&mut self, packets: &mut [InboundPacket<'_>]) {
        let bytes = packets.iter().map(InboundPacket::bytes).sum();
        let (parts, window) = (&mut self.parts, &self.window);
        let (frame, protection) = (parts.frame, &parts.protection);
        parts.flow.run(bytes, packets, &|run| {
            for packet in &mut *run {
                packet.begin(frame, window);
            }
            protection.open_run(frame, run);
            for packet in run {
                packet.unpad();
            }
        });
        for packet in packets {
            packet.accept(&mut self.window);
        }
        self.parts.hand_in_what_was_shared();
    }

    /// Returns the limit on helper threads, which can be changed while packets flow.
    pub fn workers(&self) -> &Workers {
        self.parts.flow.workers()
    }

    /// Returns the replay window.
    pub fn window(&self) -> &ReplayWindow {
        &self.window
    }

    /// Continues with the window of another machine or process that received this association.
    pub fn set_window(&mut self, window: ReplayWindow) {
        self.window = window;
    }
}

impl fmt::Debug for Inbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbound")
            .field("spi", &self.parts.frame.spi)
            .field("highest", &self.window.highest())
            .finish_non_exhaustive()
    }
}
