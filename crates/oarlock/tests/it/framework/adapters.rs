//! Blocking devices, for ciphers and for public keys.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use oarlock::device::{
    Ciphers, Device, DeviceError, DeviceSession, Offer, OpenSession, PublicKeyRequest, PublicKeys,
    Request as Asked, SessionParams, SimulatedBoard, SimulatedDevice, visible_cpu,
};
use oarlock::framework::{Blocking, Check, Framework, Place, Service};
use oarlock::rsa::RsaPrivateKey;
use oarlock::{Algorithm, Direction};
use oarlock_kernels::aes::Ctr;
use oarlock_kernels::cbc::Cbc;
use oarlock_kernels::cpu::Cpu;
use oarlock_kernels::gcm::Gcm;
use rand::{SeedableRng, rngs::StdRng};

use super::Sample;
use crate::common::accelerator;
use crate::common::keys::RSA1024;

/// The kernels behind another driver, with a count of its open sessions.
#[derive(Default)]
struct Foreign(Arc<AtomicUsize>);

struct Keys(Ctr, Cbc, Gcm, Arc<AtomicUsize>);

impl Drop for Keys {
    fn drop(&mut self) {
        self.3.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Device for Foreign {
    fn name(&self) -> &str {
        "foreign"
    }
    fn probe(&self, params: &SessionParams) -> Option<Offer> {
        [
            Algorithm::Aes128Ctr,
            Algorithm::Aes128Cbc,
            Algorithm::Aes128Gcm,
        ]
        .contains(&params.algorithm)
        .then_some(Offer {
            preference: 1,
            bytes_per_second: 1_000_000_000_000,
        })
    }
    fn open_session(&self, _: &SessionParams, key: &[u8]) -> Result<OpenSession, DeviceError> {
        let cpu = Cpu::PORTABLE;
        let keys = Keys(
            Ctr::new(key, cpu).unwrap(),
            Cbc::new(key, cpu).unwrap(),
            Gcm::new(key, cpu).unwrap(),
            Arc::clone(&self.0),
        );
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(OpenSession::from_driver(Box::new(keys)))
    }
    fn capacity(&self) -> usize {
        2
    }
}

impl DeviceSession for Keys {
    fn submit(&self, batch: &mut [Asked<'_>]) -> Result<(), DeviceError> {
        for request in batch {
            match request {
                Asked::Keystream(ctr) => self.0.apply(ctr.counter, ctr.skip, ctr.data.reborrow()),
                Asked::CbcEncrypt(cbc) => self.1.encrypt(cbc.iv, cbc.data.reborrow()),
                Asked::CbcDecrypt(cbc) => self.1.decrypt(cbc.iv, cbc.data.reborrow()),
                Asked::Seal(aead) => {
                    let tag = self.2.seal(aead.nonce, aead.aad, aead.data.reborrow());
                    *aead.tag = tag.map_err(|error| DeviceError(error.to_string()))?;
                }
                _ => return Err(DeviceError("it opens nothing".into())),
            }
        }
        Ok(())
    }
}

#[test]
fn a_device_for_ciphers_serves_what_it_has() {
    let framework = Framework::new(&accelerator());
    let foreign = Blocking::new(Arc::new(Ciphers::new(Arc::new(Foreign::default()))));
    framework
        .register(Arc::new(foreign), Check::Sample(0))
        .unwrap();
    let mut random = StdRng::seed_from_u64(1);
    let mut by_it = 0;
    for service in [
        Service::Cipher(Algorithm::Aes128Ctr),
        Service::Cipher(Algorithm::Aes128Cbc),
        Service::Aead(Algorithm::Aes128Gcm),
        Service::Cipher(Algorithm::ChaCha20),
    ] {
        for _ in 0..10 {
            let sample = Sample::new(service, &mut random);
            let session = framework.session(&sample.spec()).unwrap();
            for direction in [Direction::Encrypt, Direction::Decrypt] {
                let (given, expected) = sample.sides(direction);
                let request = sample.request(direction, given.to_vec().into());
                let answer = session
                    .submit(request.at(Place::Device))
                    .unwrap()
                    .wait()
                    .unwrap();
                assert_eq!(answer.outcome, Ok(()), "{service}");
                assert!(
                    answer.buffers.into_output() == expected,
                    "{service} {direction:?}"
                );
                let opens = service == Service::Aead(Algorithm::Aes128Gcm)
                    && direction == Direction::Decrypt;
                let is_its_own = service != Service::Cipher(Algorithm::ChaCha20) && !opens;
                assert!(is_its_own || &*answer.device != "foreign");
                by_it += u64::from(&*answer.device == "foreign");
            }
        }
    }
    assert_eq!(framework.health()["foreign"].counts.done, by_it);
    assert!(by_it > 0);
}

#[test]
fn a_device_for_ciphers_keeps_no_keys_of_requests_without_a_session() {
    let foreign = Foreign::default();
    let open = Arc::clone(&foreign.0);
    let framework = Framework::new(&accelerator());
    let foreign = Blocking::new(Arc::new(Ciphers::new(Arc::new(foreign))));
    framework
        .register(Arc::new(foreign), Check::Sample(0))
        .unwrap();
    let mut random = StdRng::seed_from_u64(2);
    for number in 1..10 {
        let sample = Sample::new(Service::Cipher(Algorithm::Aes128Ctr), &mut random);
        let request = sample.request(Direction::Encrypt, sample.plain.clone().into());
        let request = request.at(Place::Device);
        let own = request.clone().with_keys(&sample.spec());
        let answer = framework.submit(own).unwrap().wait().unwrap();
        assert_eq!(&*answer.device, "foreign");
        assert!(answer.buffers.into_output() == sample.sealed);
        assert_eq!(open.load(Ordering::Relaxed), number - 1);
        let session = framework.session(&sample.spec()).unwrap();
        let answer = session.submit(request).unwrap().wait().unwrap();
        assert!(answer.buffers.into_output() == sample.sealed);
        assert_eq!(open.load(Ordering::Relaxed), number, "a session's are kept");
    }
}

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
    let token = SimulatedDevice::new("token", board, visible_cpu().unwrap()).unwrap();
    let framework = Framework::new(&accelerator());
    let token = Blocking::new(Arc::new(PublicKeys::new(Arc::new(token), 4)));
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
