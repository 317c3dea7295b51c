//! What a key exchange agrees on, and the state that both directions have.

use std::fmt;
use std::sync::Arc;

use super::frame::Frame;
use super::protection::Protection;
use super::suite::Suite;
use oarlock_engine::Direction;
use oarlock_engine::Error;
use oarlock_engine::plan::Engine;
use oarlock_engine::plan::Flow;

/// One direction of a security association, as a key exchange negotiates it.
#[derive(Clone, Copy)]
pub struct Association<'a> {
    spi: u32,
    suite: Suite,
    key: &'a [u8],
    extended: bool,
    pub(super) window: usize,
}

impl<'a> Association<'a> {
    /// Creates an association with 32-bit sequence numbers and a window of 64 packets. `key` has [`Suite::key_bytes`]
    /// bytes.
    pub fn new(spi: u32, suite: Suite, key: &'a [u8]) -> Self {
        Self {
            spi,
            suite,
            key,
            extended: false,
            window: 64,
        }
    }

    /// Selects 64-bit sequence numbers (RFC 4303, 2.2.1), if both ends have agreed on them.
    #[must_use]
    pub fn extended_sequence_numbers(mut self, extended: bool) -> Self {
        self.extended = extended;
        self
    }

    /// Sets the size of the replay window, up to [`ReplayWindow::SIZE_MAX`](crate::ReplayWindow::SIZE_MAX).
    #[must_use]
    pub fn replay_window(mut self, packets: usize) -> Self {
        self.window = packets;
        self
    }
}

impl fmt::Debug for Association<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Association")
            .field("spi", &self.spi)
            .field("suite", &self.suite)
            .finish_non_exhaustive()
    }
}

/// The state that both directions have.
pub(super) struct Parts {
    pub(super) frame: Frame,
    pub(super) protection: Protection,
    pub(super) flow: Flow,
}

impl Parts {
    pub(super) fn open(
        engine: &Arc<Engine>,
        association: &Association<'_>,
        direction: Direction,
    ) -> Result<Self, Error> {
        let Association { spi, suite, .. } = *association;
        if spi == 0 {
            return Err(Error::InvalidInput(
                "an SPI of 0 is for local use and never sent (RFC 4303, 2.1)".into(),
            ));
        }
        if association.key.len() != suite.key_bytes() {
            return Err(Error::InvalidKey(format!(
                "the keying material of {suite:?} has {} bytes; this one has {}",
                suite.key_bytes(),
                association.key.len()
            )));
        }
        let (protection, mut flow) = Protection::open(engine, suite, association.key)?;
        flow.show_as(suite.aead(), direction);
        Ok(Self {
            frame: Frame {
                spi,
                extended: association.extended,
                layout: suite.layout(),
            },
            protection,
            flow,
        })
    }

    /// Hands in the counts if helpers took part. Otherwise they wait until the drop.
    pub(super) fn hand_in_what_was_shared(&mut self) {
        if self.flow.has_shared() {
            self.hand_in();
        }
    }

    fn hand_in(&mut self) {
        if let Some((device, algorithm)) = self.protection.served_by() {
            self.flow.hand_in(device, algorithm);
        }
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        self.hand_in();
    }
}
