//! Devices are added, fail and are withdrawn; no request is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cipher::StreamCipher;
use oarlock::device::{
    Device, DeviceError, DeviceSession, Offer, OpenSession, Request, SessionParams,
};
use oarlock::{Algorithm, Error, Strategy};
use oarlock_kernels::aes::Ctr;
use oarlock_kernels::cpu::Cpu;

use crate::common::{accelerator, reference_from};

const KEY: [u8; 32] = [3; 32];
const IV: [u8; 16] = [0xff; 16];

/// A device that works `works` times, then always fails.
struct Flaky {
    name: &'static str,
    works: usize,
    opens: bool,
}

struct FlakySession {
    ctr: Ctr,
    left: AtomicUsize,
}

impl Device for Flaky {
    fn name(&self) -> &str {
        self.name
    }
    fn probe(&self, params: &SessionParams) -> Option<Offer> {
        (params.algorithm == Algorithm::Aes256Ctr).then_some(Offer {
            preference: 1,
            bytes_per_second: u64::MAX,
        })
    }
    fn open_session(&self, _: &SessionParams, key: &[u8]) -> Result<OpenSession, DeviceError> {
        if !self.opens {
            return Err(DeviceError("out of slots".into()));
        }
        let ctr = Ctr::new(key, Cpu::PORTABLE).map_err(|error| DeviceError(error.to_string()))?;
        let left = AtomicUsize::new(self.works);
        Ok(OpenSession::from_driver(Box::new(FlakySession {
            ctr,
            left,
        })))
    }
    fn capacity(&self) -> usize {
        1
    }
}

impl DeviceSession for FlakySession {
    fn submit(&self, batch: &mut [Request<'_>]) -> Result<(), DeviceError> {
        let left = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(1)
            });
        if left.is_err() {
            return Err(DeviceError("unplugged".into()));
        }
        for request in batch {
            let Request::Keystream(request) = request else {
                return Err(DeviceError("streams only".into()));
            };
            self.ctr
                .apply(request.counter, request.skip, request.data.reborrow());
        }
        Ok(())
    }
}

#[test]
fn a_session_moves_with_its_position_when_its_device_fails() {
    for strategy in [Strategy::Auto, Strategy::Stripe] {
        let accelerator = accelerator();
        accelerator
            .register(Arc::new(Flaky {
                name: "flaky",
                works: 3,
                opens: true,
            }))
            .unwrap();
        let mut cipher = accelerator.ctr(&KEY, &IV).unwrap();
        cipher.set_strategy(strategy);
        assert_eq!(cipher.device(), "flaky");
        let mut position = 0;
        for (call, bytes) in [1000, 77, 90_001, 5, 300_000, 40].into_iter().enumerate() {
            let mut data = vec![0; bytes];
            cipher.apply_keystream(&mut data);
            assert!(
                data == reference_from(&KEY, &IV, position, bytes),
                "call {call}"
            );
            position += bytes as u64;
            assert_eq!(cipher.device(), if call < 3 { "flaky" } else { "cpu" });
        }
        drop(cipher);
        let stats = accelerator.stats().algorithms;
        let on = |device: &str| stats[&(device.to_string(), Algorithm::Aes256Ctr)];
        assert_eq!((on("flaky").requests, on("cpu").requests), (3, 3));
        assert_eq!(on("flaky").bytes + on("cpu").bytes, position);
    }
}

#[test]
fn devices_that_fail_one_after_the_other_are_passed() {
    let accelerator = accelerator();
    for name in ["first", "second", "third"] {
        accelerator
            .register(Arc::new(Flaky {
                name,
                works: 0,
                opens: name != "third",
            }))
            .unwrap();
    }
    let mut cipher = accelerator.ctr(&KEY, &IV).unwrap();
    accelerator.withdraw("cpu");
    #[cfg(feature = "aws-lc")]
    accelerator.withdraw("software");
    // All remaining devices fail; the kernels serve.
    accelerator.withdraw("second");
    let mut data = vec![0; 500];
    cipher.apply_keystream(&mut data);
    assert!(data == reference_from(&KEY, &IV, 0, 500));
}

#[test]
fn two_devices_that_open_and_then_fail_do_not_pass_a_request_to_and_fro() {
    let accelerator = accelerator();
    for name in ["first", "second", "third"] {
        accelerator
            .register(Arc::new(Flaky {
                name,
                works: 0,
                opens: true,
            }))
            .unwrap();
    }
    let mut cipher = accelerator.ctr(&KEY, &IV).unwrap();
    let mut data = vec![0; 500];
    cipher.apply_keystream(&mut data);
    assert!(data == reference_from(&KEY, &IV, 0, 500));
    assert_eq!(cipher.device(), "cpu");
}

/// A device that takes the data out of the request, and fails.
struct Taker;

impl Device for Taker {
    fn name(&self) -> &str {
        "taker"
    }
    fn probe(&self, _: &SessionParams) -> Option<Offer> {
        Some(Offer {
            preference: 1,
            bytes_per_second: u64::MAX,
        })
    }
    fn open_session(&self, _: &SessionParams, _: &[u8]) -> Result<OpenSession, DeviceError> {
        Ok(OpenSession::from_driver(Box::new(Self)))
    }
    fn capacity(&self) -> usize {
        1
    }
}

impl DeviceSession for Taker {
    fn submit(&self, batch: &mut [Request<'_>]) -> Result<(), DeviceError> {
        for request in batch {
            let Request::Keystream(request) = request else {
                return Err(DeviceError("streams only".into()));
            };
            request.counter = 0;
            request.data = (&mut [][..]).into();
        }
        Err(DeviceError("lost it".into()))
    }
}

#[test]
fn a_request_whose_data_its_driver_took_away_is_done_whole() {
    let accelerator = accelerator();
    accelerator.register(Arc::new(Taker)).unwrap();
    let mut cipher = accelerator.ctr(&KEY, &IV).unwrap();
    let mut data = vec![0; 500];
    cipher.apply_keystream(&mut data);
    assert!(data == reference_from(&KEY, &IV, 0, 500));
}

#[test]
fn a_withdrawn_device_is_left_with_the_next_request() {
    let accelerator = accelerator();
    accelerator
        .register(Arc::new(Flaky {
            name: "loan",
            works: 100,
            opens: true,
        }))
        .unwrap();
    let mut cipher = accelerator.ctr(&KEY, &IV).unwrap();
    let mut data = vec![0; 1001];
    cipher.apply_keystream(&mut data);
    assert!(accelerator.withdraw("loan"));
    assert!(!accelerator.withdraw("loan"));
    let mut rest = vec![0; 200_000];
    cipher.apply_keystream(&mut rest);
    assert_eq!(cipher.device(), "cpu");
    assert!(
        data == reference_from(&KEY, &IV, 0, 1001)
            && rest == reference_from(&KEY, &IV, 1001, 200_000)
    );
}

#[test]
#[cfg(feature = "aws-lc")]
fn a_session_on_cpu_moves_to_software_and_stays_right() {
    let accelerator = accelerator();
    let mut cipher = accelerator.ctr(&KEY, &IV).unwrap();
    let mut data = vec![0; 333];
    cipher.apply_keystream(&mut data);
    accelerator.withdraw("cpu");
    let mut rest = vec![0; 3_000_000];
    cipher.apply_keystream(&mut rest);
    assert_eq!(cipher.device(), "software");
    assert!(
        data == reference_from(&KEY, &IV, 0, 333)
            && rest == reference_from(&KEY, &IV, 333, 3_000_000)
    );
}

#[test]
fn a_device_that_opens_nothing_is_passed_over_and_named_when_it_is_the_only_one() {
    let accelerator = accelerator();
    accelerator
        .register(Arc::new(Flaky {
            name: "full",
            works: 1,
            opens: false,
        }))
        .unwrap();
    // The machine decides which of the others is the fastest.
    assert_ne!(accelerator.ctr(&KEY, &IV).unwrap().device(), "full");
    accelerator.withdraw("cpu");
    accelerator.withdraw("software");
    let error = accelerator.ctr(&KEY, &IV).unwrap_err();
    assert_eq!(error.to_string(), "device full failed: out of slots");
    accelerator.withdraw("full");
    let error = accelerator.ctr(&KEY, &IV).unwrap_err();
    assert!(error.to_string().contains("aes-256-ctr"), "{error}");
}

#[test]
fn a_name_is_registered_once() {
    let accelerator = accelerator();
    let device = || {
        Arc::new(Flaky {
            name: "cpu",
            works: 1,
            opens: true,
        })
    };
    assert!(matches!(
        accelerator.register(device()),
        Err(Error::InvalidInput(_))
    ));
    assert!(accelerator.withdraw("cpu"));
    assert!(accelerator.register(device()).is_ok());
}
