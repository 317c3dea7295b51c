//! Implements a device: a driver that offers AES-256-CTR and then fails, without losing a byte of anyone's data:
//! `cargo run --release --package oarlock --example own_device`.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use oarlock::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use oarlock::device::DeviceError;
use oarlock::framework::{
    Blocking, BlockingDevice, Check, Framework, Place, QueueOffer, Request, Service, SessionSpec,
    Task,
};
use oarlock::{Accelerator, Algorithm};

/// A simulated board on a bus.
struct Board {
    requests_left: AtomicUsize,
}

impl BlockingDevice for Board {
    fn name(&self) -> &str {
        "board"
    }

    fn capacity(&self) -> usize {
        1
    }

    /// Offers AES-256-CTR. Requests go where they are expected to complete first, so a real driver offers measured figures.
    fn offer(&self, service: Service) -> Option<QueueOffer> {
        (service == Service::Cipher(Algorithm::Aes256Ctr)).then_some(QueueOffer {
            latency: Duration::ZERO,
            per_request: Duration::ZERO,
            key_setup: Duration::ZERO,
            bytes_per_second: 1 << 40,
        })
    }

    /// Computes a request in place, or fails: then the framework computes it elsewhere from its own copy of the data.
    fn run(&self, mut task: Task) {
        let done = self.crypt(&mut task);
        task.complete(done);
    }
}

impl Board {
    fn crypt(&self, task: &mut Task) -> Result<(), DeviceError> {
        let take = |left: usize| left.checked_sub(1);
        self.requests_left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .map_err(|_| DeviceError("the board does not answer".into()))?;
        let (key, iv) = (task.material().cipher_key(), task.iv());
        let mut cipher = ctr::Ctr128BE::<aes::Aes256>::new_from_slices(key, iv)
            .map_err(|error| DeviceError(error.to_string()))?;
        cipher.seek(task.skip());
        let encrypted = task.layout().encrypted.clone();
        cipher.apply_keystream(&mut task.data_mut()[encrypted]);
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let accelerator = Accelerator::builder().build()?;
    let framework = Framework::new(&accelerator);
    let requests_left = AtomicUsize::new(3);
    let board = Blocking::new(Arc::new(Board { requests_left }));
    framework.register(Arc::new(board), Check::All)?;

    let spec = SessionSpec::cipher(Algorithm::Aes256Ctr, &[7; 32], &[9; 16]);
    let session = framework.session(&spec)?;
    let mut message = Vec::new();
    for _ in 0..5 {
        let request = Request::encrypt(vec![0; 20_000]).at(Place::Device);
        let answer = session.submit(request)?.wait()?;
        answer.outcome?;
        println!("20000 bytes by {}", answer.device);
        message.extend(answer.buffers.into_output());
    }

    // The same stream without the board.
    accelerator
        .ctr(&[7; 32], &[9; 16])?
        .apply_keystream(&mut message);
    if message.iter().any(|byte| *byte != 0) {
        return Err("the bytes depend on who computed them".into());
    }
    Ok(())
}
