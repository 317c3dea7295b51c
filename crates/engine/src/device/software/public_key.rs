//! Public-key requests by aws-lc.

use std::time::Duration;

use super::SoftwareDevice;
use crate::Error;
use crate::device::blocking::{Answer, BlockingDevice, PublicKeyOffer};
use crate::device::error::DeviceError;
use crate::work::request::PublicKeyRequest;
use crate::work::rsa::key::RsaPrivateKey;
use crate::work::shape::Shape;

/// Computes one request after the other by aws-lc.
impl BlockingDevice for SoftwareDevice {
    fn name(&self) -> &str {
        "software"
    }

    fn offer_public_key(&self, shape: &Shape) -> Option<PublicKeyOffer> {
        let latency = Duration::from_micros(shape.batch_key()?.alone_us().into());
        Some(PublicKeyOffer {
            latency,
            per_second: latency.as_secs_f64().recip(),
        })
    }

    fn run_public_key(&self, batch: &[&PublicKeyRequest], answer: &mut Answer<'_>) {
        for (place, request) in batch.iter().enumerate() {
            // A key held by this device would send the request back here without end.
            let power = match request.private_key().and_then(RsaPrivateKey::held_by) {
                Some(holder) => Err(DeviceError(format!("the key is held by {holder}"))),
                None => request.target().power(request.base()).map_err(reason),
            };
            answer(place, power);
        }
    }

    /// True: aws-lc checks its results.
    fn checks_results(&self) -> bool {
        true
    }
}

/// Returns a device's error for a request that aws-lc could not compute.
pub(crate) fn reason(error: Error) -> DeviceError {
    match error {
        Error::DeviceFailed { reason, .. } => DeviceError(reason),
        other => DeviceError(other.to_string()),
    }
}
