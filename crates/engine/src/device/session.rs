//! A key, its algorithm and where it lives.

use std::sync::Arc;

use oarlock_kernels::cpu::Cpu;
use zeroize::Zeroizing;

use super::interface::SessionParams;
use super::keyed::Keyed;
use super::registry::{Registration, Registry};
use crate::Error;
use crate::costs::cost::Cost;
use crate::costs::lookup::{Costs, kernel_cost};

/// A key on a device, and what it takes to move it to another one.
pub(crate) struct Session<K> {
    pub(crate) keyed: K,
    params: SessionParams,
    key: Zeroizing<[u8; 32]>,
    home: Home,
    /// The cost of one thread, as the device offered it.
    pub(crate) cost: Cost,
}

/// Where a session lives, and where it may move.
enum Home {
    Device {
        registration: Arc<Registration>,
        registry: Arc<Registry>,
        cpu: Cpu,
    },
    /// The kernels of this library without an accelerator, or after every device has failed.
    Kernels,
}

impl<K: Keyed> Session<K> {
    /// Opens one where the plan expects it to be served soonest.
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

    /// One that belongs to no accelerator. `key` has the length of the algorithm's.
    pub(crate) fn on_kernels(params: SessionParams, key: &[u8]) -> Self {
        let cpu = Cpu::detect();
        #[allow(clippy::expect_used)] // The callers' key types have that length.
        let keyed =
            K::kernel(cpu, params.algorithm, key).expect("the key has the algorithm's length");
        let cost = kernel_cost(&Costs::default(), cpu, params.algorithm);
        Self::settled(keyed, params, key, cost)
    }

    /// One that has no device and can get none.
    pub(crate) fn settled(keyed: K, params: SessionParams, key: &[u8], cost: Cost) -> Self {
        Self {
            keyed,
            params,
            key: padded(key),
            home: Home::Kernels,
            cost,
        }
    }

    /// As long as the algorithm's keys are.
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

    /// Moves to another device than the one it is on, which joins those that have `failed`, and than
    /// these; when there is none, to the kernels, which cannot fail.
    #[cold]
    pub(crate) fn move_away(&mut self, failed: &mut Vec<Arc<Registration>>) {
        if let Some(elsewhere) = self.elsewhere(failed) {
            *self = elsewhere;
        }
    }

    /// The session as it is after [`move_away`](Self::move_away); `None` where it has nowhere to go.
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
