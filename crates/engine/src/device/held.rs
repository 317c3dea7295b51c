//! Private keys held by devices.

use std::any::Any;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::blocking::{BlockingDevice, complete};
use crate::Error;
use crate::work::request::PublicKeyRequest;
use crate::work::rsa::key::{Holder, RsaPrivateKey, RsaPublicKey, digest};

/// The device that holds a key, and the device's ID for the key.
struct Held {
    device: Arc<dyn BlockingDevice>,
    name: Arc<str>,
    id: Vec<u8>,
    batches: bool,
}

impl Holder for Held {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn id(&self) -> &[u8] {
        &self.id
    }

    fn batches(&self) -> bool {
        self.batches
    }

    fn power(&self, key: &RsaPrivateKey, number: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        let number = Zeroizing::new(number.to_vec());
        let request = PublicKeyRequest::of_number(key.clone().into(), number);
        complete_one(&*self.device, &request)
    }
}

/// Returns the device that holds the private key of a request.
pub(crate) fn device_of(request: &PublicKeyRequest) -> Option<&Arc<dyn BlockingDevice>> {
    let holder: &dyn Any = request.private_key()?.holder()?;
    holder.downcast_ref::<Held>().map(|held| &held.device)
}

impl RsaPrivateKey {
    /// Creates a handle for a key that stays on `device`, such as a token or server. `id` is the device's ID of the key
    /// ([`held_id`](Self::held_id)).
    ///
    /// This asks the device for one power. The result proves that the device has the key, and it keys implicit rejection
    /// ([`AcceleratedRsa::decrypt`](crate::rsa::AcceleratedRsa::decrypt)).
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] if the device lacks the key or has a different one.
    pub fn held(
        device: Arc<dyn BlockingDevice>,
        id: Vec<u8>,
        public: RsaPublicKey,
    ) -> Result<Self, Error> {
        let held = |rejection_key, batches| {
            let holder = Held {
                device: Arc::clone(&device),
                name: device.name().into(),
                id: id.clone(),
                batches,
            };
            Self::held_by_holder(public.clone(), Arc::new(holder), rejection_key)
        };
        let unproven = held(Zeroizing::default(), false);
        let request = PublicKeyRequest::raw_private(&unproven, &label(&public))?;
        let batches = device.batch_size(&request.shape(), 2) > 1;
        let power = complete_one(&*device, &request)?;
        Ok(held(digest(&power), batches))
    }
}

fn complete_one(
    device: &dyn BlockingDevice,
    request: &PublicKeyRequest,
) -> Result<Zeroizing<Vec<u8>>, Error> {
    let mut power = Err(Error::Cancelled);
    complete(device, &[request], &mut |_, result| power = result);
    power
}

/// Returns a number to raise once: the digest of a text, which is less than any modulus. No padding produces it, and no
/// caller is likely to ask for its power.
fn label(key: &RsaPublicKey) -> Vec<u8> {
    let mut number = vec![0; key.bytes()];
    let digest = Sha256::digest(b"oarlock: implicit rejection by a key that a device holds");
    number[1..=digest.len()].copy_from_slice(&digest);
    number
}
