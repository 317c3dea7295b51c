//! The layout of an association's packets.

use super::suite::{HEADER_BYTES, Layout};

/// What the packets of an association have in common.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub(super) spi: u32,
    pub(super) extended: bool,
    pub(super) layout: Layout,
}

impl Frame {
    /// Calls `then` with the associated data of RFC 4106, 5: the header, with the upper half of an extended number in
    /// its middle.
    pub(super) fn with_aad<T>(self, sequence: u64, then: impl FnOnce(&[u8]) -> T) -> T {
        let spi = self.spi.to_be_bytes();
        let mut aad = [0; HEADER_BYTES + UPPER_HALF_BYTES];
        aad[..4].copy_from_slice(&spi);
        if self.extended {
            aad[4..].copy_from_slice(&sequence.to_be_bytes());
            return then(&aad);
        }
        aad[4..8].copy_from_slice(&(sequence as u32).to_be_bytes());
        then(&aad[..8])
    }

    /// Returns how many bytes of the number are authenticated after the packet but not sent (RFC 4303, 3.3.2.1).
    pub(super) fn hidden_bytes(self) -> usize {
        if self.extended { UPPER_HALF_BYTES } else { 0 }
    }
}

pub(super) const UPPER_HALF_BYTES: usize = 4;
