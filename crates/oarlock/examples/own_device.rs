//! Implements a device: a driver that offers AES-256-CTR and then fails, without losing a byte of anyone's data:
//! `cargo run --release --package oarlock --example own_device`.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use oarlock::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use oarlock::device::{
    Device, DeviceError, DeviceSession, Offer, OpenSession, Request, SessionParams,
};
use oarlock::{Accelerator, Algorithm};

/// A simulated board on a bus.
struct Board {
    requests_left: Arc<AtomicUsize>,
}

/// A key in the board. A real driver would hold a handle here, and release it with the session.
struct Slot {
    key: [u8; 32],
    requests_left: Arc<AtomicUsize>,
}

impl Device for Board {
    fn name(&self) -> &str {
        "board"
    }

    /// Offers AES-256-CTR. Sessions open on the device expected to finish first, so a real driver offers a measured rate.
    fn probe(&self, params: &SessionParams) -> Option<Offer> {
        (params.algorithm == Algorithm::Aes256Ctr).then_some(Offer {
            preference: 1,
            bytes_per_second: 1 << 40,
        })
    }

    fn open_session(&self, _: &SessionParams, key: &[u8]) -> Result<OpenSession, DeviceError> {
        let key = key
            .try_into()
            .map_err(|_| DeviceError(format!("a key of {} bytes", key.len())))?;
        let requests_left = Arc::clone(&self.requests_left);
        Ok(OpenSession::from_driver(Box::new(Slot {
            key,
            requests_left,
        })))
    }

    fn capacity(&self) -> usize {
        1
    }
}

impl DeviceSession for Slot {
    /// Computes the whole batch, or fails before it changes any data; the batch then goes to another device.
    fn submit(&self, batch: &mut [Request<'_>]) -> Result<(), DeviceError> {
        let left = |left: usize| left.checked_sub(batch.len());
        let broken = || DeviceError("the board does not answer".into());
        self.requests_left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, left)
            .map_err(|_| broken())?;
        for request in batch {
            let Request::Keystream(request) = request else {
                return Err(DeviceError("the board does AES-256-CTR alone".into()));
            };
            let iv = request.counter.to_be_bytes();
            let mut cipher = ctr::Ctr128BE::<aes::Aes256>::new(&self.key.into(), &iv.into());
            cipher.seek(request.skip);
            cipher.apply_keystream_inout(request.data.reborrow());
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let accelerator = Accelerator::builder().build()?;
    let requests_left = Arc::new(AtomicUsize::new(3));
    accelerator.register(Arc::new(Board { requests_left }))?;

    let mut cipher = accelerator.ctr(&[7; 32], &[9; 16])?;
    println!("opened on {}", cipher.device());
    let mut message = vec![0; 100_000];
    for piece in message.chunks_mut(20_000) {
        cipher.apply_keystream(piece);
        println!("{} bytes by {}", piece.len(), cipher.device());
    }

    // The same stream without the board.
    accelerator.withdraw("board");
    accelerator
        .ctr(&[7; 32], &[9; 16])?
        .apply_keystream(&mut message);
    if message.iter().any(|byte| *byte != 0) {
        return Err("the bytes depend on who computed them".into());
    }
    Ok(())
}
