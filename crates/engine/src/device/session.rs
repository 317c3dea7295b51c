//! A session: a key, its algorithm and the device that computes its requests.

use oarlock_kernels::cpu::Cpu;
use zeroize::Zeroizing;

use super::ciphers::CipherDevices;
use super::keyed::Keyed;
use crate::Error;
use crate::costs::cost::Cost;
use crate::costs::lookup::{Costs, kernel_cost};
use crate::work::algorithm::Algorithm;

/// A key that is set up on a device.
pub(crate) struct Session<K> {
    pub(crate) keyed: K,
    algorithm: Algorithm,
    key: Zeroizing<[u8; 32]>,
    device: &'static str,
    /// The cost of a request on one thread.
    pub(crate) cost: Cost,
}

impl<K: Keyed> Session<K> {
    /// Opens a session on the device that is expected to serve it first.
    pub(crate) fn open(
        devices: &CipherDevices,
        algorithm: Algorithm,
        key: &[u8],
    ) -> Result<Self, Error> {
        let (device, keyed, cost) = devices.open(algorithm, key)?;
        Ok(Self {
            device,
            ..Self::settled(keyed, algorithm, key, cost)
        })
    }

    /// Creates a session without an accelerator. `key` has the algorithm's length.
    pub(crate) fn on_kernels(algorithm: Algorithm, key: &[u8]) -> Self {
        let cpu = Cpu::detect();
        #[allow(clippy::expect_used)] // The callers' key types have that length.
        let keyed = K::kernel(cpu, algorithm, key).expect("the key has the algorithm's length");
        let cost = kernel_cost(&Costs::default(), cpu, algorithm);
        Self::settled(keyed, algorithm, key, cost)
    }

    /// Creates a session of a key that is set up on the CPU.
    pub(crate) fn settled(keyed: K, algorithm: Algorithm, key: &[u8], cost: Cost) -> Self {
        let mut padded = Zeroizing::new([0; 32]);
        padded[..key.len()].copy_from_slice(key);
        Self {
            keyed,
            algorithm,
            key: padded,
            device: "cpu",
            cost,
        }
    }

    /// Returns the key, of the algorithm's length.
    pub(crate) fn key(&self) -> &[u8] {
        &self.key[..self.algorithm.key_bytes()]
    }

    #[inline(always)]
    pub(crate) fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    pub(crate) fn device(&self) -> &'static str {
        self.device
    }
}
