//! Blocking devices for public keys.

use std::sync::Arc;

use oarlock::Error;
use oarlock::device::{PublicKeyOffer, PublicKeyRequest, Shape, SimulatedBoard, SimulatedDevice};
use oarlock::framework::{Blocking, BlockingDevice, BreakerState, Check, Framework, Place};
use oarlock::rsa::RsaPrivateKey;

use crate::common::accelerator;
use crate::common::keys::{RSA1024, composite};

#[test]
fn a_device_for_public_keys_serves_them_and_is_checked() {
    use oarlock::device::{Fault, Injection, When};
    let board = SimulatedBoard {
        coprocessors: 4,
        latency: std::time::Duration::from_micros(20),
        latency_with_crt: Some(std::time::Duration::from_micros(10)),
        host: Default::default(),
        jitter: 0.0,
        faults: vec![Injection {
            fault: Fault::WrongResult,
            when: When::Once(3),
        }],
        seed: 1,
    };
    let token = SimulatedDevice::new("token", board).unwrap();
    let framework = Framework::new(&accelerator());
    let token = Blocking::new(Arc::new(token));
    framework
        .register(Arc::new(token), Check::Sample(0))
        .unwrap();
    let key = RsaPrivateKey::from_pem(RSA1024).unwrap();
    let expected = accelerator().rsa(&key).raw_private(&[2]).unwrap();
    let mut devices = Vec::new();
    for _ in 0..4 {
        let request = PublicKeyRequest::raw_private(&key, &[2]).unwrap();
        let answer = framework
            .submit_public_key(request, Place::Device)
            .unwrap()
            .wait()
            .unwrap();
        assert_eq!((answer.outcome, &answer.power), (Ok(()), &expected));
        devices.push(answer.device.to_string());
    }
    let counts = framework.health()["token"].counts;
    assert!(devices.contains(&"token".to_owned()), "{devices:?}");
    assert_eq!(devices[3], "cpu", "after a breach");
    assert!(counts.breaches + counts.stalled >= 1, "{counts:?}");
}

/// A device that returns the base as the result, and checks nothing.
struct Unchecked;

impl BlockingDevice for Unchecked {
    fn name(&self) -> &str {
        "unchecked"
    }

    fn offer_public_key(&self, _: &Shape) -> Option<PublicKeyOffer> {
        Some(PublicKeyOffer {
            latency: std::time::Duration::from_micros(20),
            per_second: 1e6,
        })
    }

    fn run_public_key(
        &self,
        batch: &[&PublicKeyRequest],
        answer: &mut oarlock::device::Answer<'_>,
    ) {
        for (place, request) in batch.iter().enumerate() {
            answer(place, Ok(request.base().to_vec().into()));
        }
    }
}

#[test]
fn what_no_device_can_compute_is_no_evidence_against_one() {
    let framework = Framework::new(&accelerator());
    let device = Blocking::new(Arc::new(Unchecked));
    framework
        .register(Arc::new(device), Check::Sample(0))
        .unwrap();
    let answer = |key: &RsaPrivateKey| {
        let request = PublicKeyRequest::raw_private(key, &[2]).unwrap();
        let job = framework.submit_public_key(request, Place::Device);
        job.unwrap().wait().unwrap()
    };
    for _ in 0..5 {
        let answer = answer(&composite());
        assert_eq!(&*answer.device, "unchecked");
        assert!(
            matches!(&answer.outcome, Err(Error::DeviceFailed { device, .. }) if device == "unchecked"),
            "{:?}",
            answer.outcome
        );
    }
    let health = || framework.health()["unchecked"];
    assert_eq!(
        (health().state, health().counts.breaches),
        (BreakerState::Closed, 0)
    );
    // With a key that the CPU can compute with, the same result is a breach.
    let answer = answer(&RsaPrivateKey::from_pem(RSA1024).unwrap());
    assert_eq!((&answer.outcome, &*answer.device), (&Ok(()), "cpu"));
    assert_eq!(
        (health().state, health().counts.breaches),
        (BreakerState::Open, 1)
    );
}
