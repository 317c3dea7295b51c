//! The receiver's side.

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

    /// Opens each of `packets` where it lies. One that is not authentic is zeroed behind its header, and so
    /// is one that was decrypted and then refused; the others go on. [`opened`](InboundPacket::opened)
    /// says what became of each. Numbers count as seen in the order of `packets`: of two with the same
    /// number, the first is accepted.
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

    /// How many threads may take part, to be changed while packets flow.
    pub fn workers(&self) -> &Workers {
        self.parts.flow.workers()
    }

    /// Numbers that are still accepted.
    pub fn window(&self) -> &ReplayWindow {
        &self.window
    }

    /// Goes on with what another machine or process has seen of this association.
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
