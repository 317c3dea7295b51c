//! Blocking devices for public keys.

use std::sync::Arc;

use oarlock::device::{PublicKeyRequest, SimulatedBoard, SimulatedDevice};
use oarlock::framework::{Blocking, Check, Framework, Place};
use oarlock::rsa::RsaPrivateKey;

use crate::common::accelerator;
use crate::common::keys::RSA1024;

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
