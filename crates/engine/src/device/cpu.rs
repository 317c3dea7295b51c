//! The device `cpu` for public keys: lanes where they pay, aws-lc otherwise.

use std::sync::OnceLock;

use oarlock_kernels::cpu::Cpu;
use oarlock_kernels::modexp::LANES;

use super::blocking::{Answer, BlockingDevice, PublicKeyOffer};
use super::lanes::Lanes;
use super::software::public_key::reason;
use crate::work::request::PublicKeyRequest;
use crate::work::shape::Shape;

/// The device `cpu` for public keys, with the CPU's features less those that a mask hides.
pub struct CpuDevice {
    cpu: Cpu,
    lanes: OnceLock<Lanes>,
}

impl CpuDevice {
    /// Creates a device with the features of `cpu`.
    pub fn new(cpu: Cpu) -> Self {
        Self {
            cpu,
            lanes: OnceLock::new(),
        }
    }

    /// Returns the lanes for requests that come without an accelerator.
    pub(crate) fn lanes(&self) -> &Lanes {
        self.lanes.get_or_init(|| Lanes::new(self.cpu))
    }
}

/// Computes up to eight requests at once in lanes where that pays, otherwise one after the other by aws-lc.
impl BlockingDevice for CpuDevice {
    fn name(&self) -> &str {
        "cpu"
    }

    fn offer_public_key(&self, shape: &Shape) -> Option<PublicKeyOffer> {
        let (key, lanes) = (shape.batch_key()?, self.lanes());
        let latency = lanes.cost(key);
        let (size, took) = lanes.best_batch(key);
        Some(PublicKeyOffer {
            latency,
            per_second: size as f64 / took.as_secs_f64(),
        })
    }

    fn batch_size(&self, shape: &Shape, waiting: usize) -> usize {
        let key = shape.batch_key();
        key.map_or(1, |key| self.lanes().batch_size(key, waiting.max(1)))
    }

    fn run_public_key(&self, batch: &[&PublicKeyRequest], answer: &mut Answer<'_>) {
        for (first, group) in (0..).step_by(LANES).zip(batch.chunks(LANES)) {
            let key = group[0].target().batch_key();
            self.lanes().run(key, group, &mut |place, power| {
                answer(first + place, power.map_err(reason));
            });
        }
    }

    /// True: `Lanes` checks results of lanes, and aws-lc its own.
    fn checks_results(&self) -> bool {
        true
    }

    fn answers_together(&self) -> bool {
        true
    }
}
