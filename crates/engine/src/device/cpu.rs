//! The device `cpu`, which runs this library's kernels.

#[cfg(feature = "rsa")]
use std::sync::OnceLock;

use oarlock_kernels::cpu::Cpu;
#[cfg(feature = "rsa")]
use oarlock_kernels::modexp::LANES;

use super::interface::{Device, Offer, OpenSession, SessionParams};
use super::keyed::Opened;
use super::keyed::aead::AeadKey;
use super::keyed::cbc::CbcKey;
use super::keyed::stream::StreamKey;
#[cfg(feature = "rsa")]
use super::lanes::Lanes;
#[cfg(feature = "rsa")]
use super::public_key::{Answer, PublicKeyDevice, PublicKeyOffer};
use super::request::DeviceError;
#[cfg(feature = "rsa")]
use super::software::public_key::reason;
use crate::costs::cost::Cost;
use crate::costs::lookup::{self, Costs};
use crate::work::algorithm::Kind;
#[cfg(feature = "rsa")]
use crate::work::request::PublicKeyRequest;
#[cfg(feature = "rsa")]
use crate::work::shape::Shape;

/// The device `cpu`: runs each algorithm by the best kernel for the CPU's features, less those that a mask hides.
pub struct CpuDevice {
    cpu: Cpu,
    costs: Costs,
    #[cfg(feature = "rsa")]
    lanes: OnceLock<Lanes>,
}

impl CpuDevice {
    /// Creates a device with the features of `cpu`.
    pub fn new(cpu: Cpu) -> Self {
        Self::with_costs(cpu, Costs::default())
    }

    pub(crate) fn with_costs(cpu: Cpu, costs: Costs) -> Self {
        Self {
            cpu,
            costs,
            #[cfg(feature = "rsa")]
            lanes: OnceLock::new(),
        }
    }

    /// Returns the lanes for public-key requests that come without an accelerator.
    #[cfg(feature = "rsa")]
    pub(crate) fn lanes(&self) -> &Lanes {
        self.lanes.get_or_init(|| Lanes::new(self.cpu))
    }

    fn cost(&self, params: &SessionParams) -> Cost {
        lookup::kernel_cost(&self.costs, self.cpu, params.algorithm)
    }
}

impl Device for CpuDevice {
    fn name(&self) -> &str {
        "cpu"
    }

    fn probe(&self, params: &SessionParams) -> Option<Offer> {
        if !params.algorithm.is_built_in() {
            return None;
        }
        Some(Offer {
            preference: 2,
            bytes_per_second: self.cost(params).bytes_per_second(),
        })
    }

    fn setup_ns(&self, params: &SessionParams) -> u64 {
        self.cost(params).setup_ns as u64
    }

    fn backend(&self, params: &SessionParams) -> &str {
        lookup::kernel_backend(self.cpu, params.algorithm)
    }

    fn open_session(&self, params: &SessionParams, key: &[u8]) -> Result<OpenSession, DeviceError> {
        let algorithm = params.algorithm;
        match algorithm.kind() {
            Kind::Stream { .. } => StreamKey::kernel(self.cpu, algorithm, key).map(Opened::Stream),
            Kind::Aead => AeadKey::kernel(self.cpu, algorithm, key).map(Opened::Aead),
            Kind::Cbc => CbcKey::kernel(self.cpu, algorithm, key).map(Opened::Cbc),
        }
        .map(OpenSession)
        .map_err(|error| DeviceError(error.0))
    }

    fn capacity(&self) -> usize {
        1
    }
}

/// Computes up to eight requests at once in lanes where that pays, otherwise one after the other by aws-lc.
#[cfg(feature = "rsa")]
impl PublicKeyDevice for CpuDevice {
    fn name(&self) -> &str {
        "cpu"
    }

    fn offer(&self, shape: &Shape) -> Option<PublicKeyOffer> {
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

    fn run(&self, batch: &[&PublicKeyRequest], answer: &mut Answer<'_>) {
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
