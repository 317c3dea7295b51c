//! The keys of an epoch.

use std::sync::Arc;

use super::mask::Mask;
use crate::tls::keys::{KeySet, Keys};
use crate::tls::secret::Protocol;
use oarlock_engine::Error;
use oarlock_engine::plan::Engine;

/// The number and keys of an epoch.
pub(super) struct Epoch {
    pub(super) number: u64,
    pub(super) keys: KeySet,
    pub(super) mask: Mask,
}

impl Epoch {
    pub(super) fn open(engine: &Arc<Engine>, number: u64, keys: &Keys<'_>) -> Result<Self, Error> {
        if number == 0 {
            return Err(Error::InvalidInput(
                "records of epoch 0 are not protected (RFC 9147, 6.1)".into(),
            ));
        }
        let keys = KeySet::open(engine, Protocol::Dtls, keys)?;
        Ok(Self {
            number,
            mask: Mask::derive(engine, &keys)?,
            keys,
        })
    }

    /// Derives the next epoch (RFC 9147, 8).
    pub(super) fn next(&self, engine: &Arc<Engine>) -> Result<Self, Error> {
        if self.number >= EPOCH_MAX {
            return Err(Error::InvalidInput(format!(
                "epoch {} is the last one: a new connection is needed",
                self.number
            )));
        }
        let keys = self.keys.next(engine)?;
        Ok(Self {
            number: self.number + 1,
            mask: Mask::derive(engine, &keys)?,
            keys,
        })
    }
}

/// The last epoch (RFC 9147, 8).
const EPOCH_MAX: u64 = (1 << 48) - 1;
