//! A session: a key, its algorithm and its device.

use std::sync::Arc;

use oarlock_kernels::cpu::Cpu;
use zeroize::Zeroizing;

use super::interface::SessionParams;
use super::keyed::Keyed;
use super::registry::{Registration, Registry};
use crate::Error;
use crate::costs::cost::Cost;
use crate::costs::lookup::{Costs, kernel_cost};

/// A key on a device, with all that is needed to move it to another one.
pub(crate) struct Session<K> {
    pub(crate) keyed: K,
    params: SessionParams,
    key: Zeroizing<[u8; 32]>,
    home: Home,
    /// The cost of one thread, as the device offered it.
    pub(crate) cost: Cost,
}

/// The device of a session, and where the session may move.
enum Home {
    Device {
        registration: Arc<Registration>,
        registry: Arc<Registry>,
        cpu: Cpu,
    },
    /// The library's own kernels, without an accelerator or after every device has failed.
    Kernels,
}

impl<K: Keyed> Session<K> {
    /// Opens a session on the device that is expected to serve it first.
    pub(crate) fn open(
        registry: &Arc<Registry>,
        cpu: Cpu,
        params: SessionParams,
        key: &[u8],
    ) -> Result<Self, Error> {
        let (registration, keyed, cost) = registry.open(&params, key, &[])?;
        let home = Home::Device {
            registration,
            registry: Arc::clone(registry),
            cpu,
        };
        Ok(Self {
            keyed,
            params,
            key: padded(key),
            home,
            cost,
        })
    }

    /// Creates a session without an accelerator. `key` has the algorithm's length.
    pub(crate) fn on_kernels(params: SessionParams, key: &[u8]) -> Self {
        let cpu = Cpu::detect();
        #[allow(clippy::expect_used)] // The callers' key types have that length.
        let keyed =
            K::kernel(cpu, params.algorithm, key).expect("the key has the algorithm's length");
        let cost = kernel_cost(&Costs::default(), cpu, params.algorithm);
        Self::settled(keyed, params, key, cost)
    }

    /// Creates a session that always stays on `keyed`.
    pub(crate) fn settled(keyed: K, params: SessionParams, key: &[u8], cost: Cost) -> Self {
        Self {
            keyed,
            params,
            key: padded(key),
            home: Home::Kernels,
            cost,
        }
    }

    /// Returns the key, of the algorithm's length.
    pub(crate) fn key(&self) -> &[u8] {
        &self.key[..self.params.algorithm.key_bytes()]
    }

    pub(crate) fn params(&self) -> SessionParams {
        self.params
    }

    pub(crate) fn device(&self) -> &str {
        match &self.home {
            Home::Device { registration, .. } => registration.name(),
            Home::Kernels => "cpu",
        }
    }

    /// Whether the device was withdrawn.
    #[inline(always)]
    pub(crate) fn has_lost_its_device(&self) -> bool {
        matches!(&self.home, Home::Device { registration, .. } if registration.is_withdrawn())
    }

    /// Moves to another device, or to the kernels, which cannot fail. Skips the current device, which joins `failed`, and
    /// the others in `failed`.
    #[cold]
    pub(crate) fn move_away(&mut self, failed: &mut Vec<Arc<Registration>>) {
        if let Some(elsewhere) = self.elsewhere(failed) {
            *self = elsewhere;
        }
    }

    /// Returns the session as it is after [`move_away`](Self::move_away), or `None` if it cannot move.
    #[cold]
    pub(crate) fn elsewhere(&self, failed: &mut Vec<Arc<Registration>>) -> Option<Self> {
        let Home::Device {
            registration,
            registry,
            cpu,
        } = &self.home
        else {
            return None;
        };
        let (params, key) = (self.params, self.key());
        failed.push(Arc::clone(registration));
        if let Ok((registration, keyed, cost)) = registry.open(&params, key, failed) {
            return Some(Self {
                keyed,
                params,
                key: self.key.clone(),
                home: Home::Device {
                    registration,
                    registry: Arc::clone(registry),
                    cpu: *cpu,
                },
                cost,
            });
        }
        let keyed = K::kernel(*cpu, params.algorithm, key).ok()?;
        let cost = kernel_cost(&Costs::default(), *cpu, params.algorithm);
        Some(Self::settled(keyed, params, key, cost))
    }
}

fn padded(key: &[u8]) -> Zeroizing<[u8; 32]> {
    let mut padded = Zeroizing::new([0; 32]);
    padded[..key.len()].copy_from_slice(key);
    padded
}
