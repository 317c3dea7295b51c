//! Tokens behind PKCS#11 modules, for keys that cannot be read out.
//!
//! `module.rs` loads modules and logs in, `sessions.rs` manages sessions, `key.rs` finds keys and their public halves, and
//! `failure.rs` classifies a token's errors by their remedy.

mod failure;
mod key;
mod module;
mod sessions;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cryptoki::mechanism::Mechanism;
use zeroize::Zeroizing;

use self::failure::Failure;
pub use self::key::TokenKey;
use self::module::Module;
pub use self::module::TokenName;
use self::sessions::{CachedKey, KeyOperation, Sessions};
use super::blocking::{Answer, BlockingDevice, PublicKeyOffer};
use super::error::DeviceError;
use super::rates::Rates;
use crate::Error;
use crate::work::request::PublicKeyRequest;
use crate::work::rsa::key::RsaPrivateKey;
use crate::work::shape::{PublicKeyOperation, Shape};

/// A token with RSA keys, used by the mechanism CKM_RSA_X_509: the token raises a number to the private exponent, and this
/// library adds and removes paddings.
///
/// Sessions are opened on demand, up to [`Pkcs11Options::sessions_max`]; callers beyond that wait. If the token goes and
/// comes back, the next call finds it, opens sessions and logs in. A PIN that the token refused is not tried again.
///
/// Devices on the same module share what PKCS#11 makes common to an application: the module is initialised once, and one
/// login counts for all. It is never finalised. A forked child must open its own tokens, through a module that its parent
/// had not opened.
///
/// ```no_run
/// use oarlock::device::{Pkcs11Device, Pkcs11Options, TokenName};
/// use oarlock::Accelerator;
/// use oarlock::rsa::{Hash, SignatureScheme};
/// use zeroize::Zeroizing;
///
/// let pin = Zeroizing::new(std::fs::read_to_string("pin").expect("a PIN"));
/// let token = Pkcs11Device::open(Pkcs11Options::new(
///     "/usr/lib/softhsm/libsofthsm2.so",
///     TokenName::Label("web".into()),
///     Some(pin),
/// ))?;
/// let keys = token.keys()?;
/// let listed = keys.iter().find(|key| key.label() == "site").expect("a key");
/// let key = token.key(listed).expect("an RSA key");
/// let accelerator = Accelerator::builder().build().expect("an accelerator");
/// let rsa = accelerator.rsa(&key);
/// let signature = rsa.sign(SignatureScheme::Pkcs1(Hash::Sha256), b"a message");
/// # Ok::<(), oarlock::device::DeviceError>(())
/// ```
pub struct Pkcs11Device {
    name: String,
    sessions: Sessions,
    rates: Rates<1>,
}

/// The options for opening a token.
pub struct Pkcs11Options {
    /// The shared library of the module. The loader searches for a name without a slash. The module becomes part of this
    /// process and can do whatever the process can.
    pub module: PathBuf,
    /// The token.
    pub token: TokenName,
    /// The user's PIN. Without one, the token asks for it itself (its protected authentication path), or no login takes
    /// place.
    pub pin: Option<Zeroizing<String>>,
    /// The most calls given to the token at once, each through its own session. The token may limit it further.
    pub sessions_max: usize,
    /// The device's name in statistics, errors and [`PublicKeyOperation::Held`]. It should be unique in the process.
    pub name: String,
}

impl Pkcs11Options {
    /// Returns options with up to 16 sessions and the name `pkcs11:` followed by the token's label, serial number or slot.
    pub fn new(
        module: impl Into<PathBuf>,
        token: TokenName,
        pin: Option<Zeroizing<String>>,
    ) -> Self {
        let name = match &token {
            TokenName::Label(name) | TokenName::Serial(name) => format!("pkcs11:{name}"),
            TokenName::Slot(number) => format!("pkcs11:{number}"),
        };
        Self {
            module: module.into(),
            token,
            pin,
            sessions_max: 16,
            name,
        }
    }
}

impl Pkcs11Device {
    /// Loads the module, finds the token, and logs in.
    ///
    /// # Errors
    /// The module cannot be loaded; there is no such token (the error lists those present); the PIN is wrong. Each call
    /// tries the PIN once. Do not retry a wrong PIN: the token locks itself after a few.
    pub fn open(options: Pkcs11Options) -> Result<Arc<Self>, DeviceError> {
        let Pkcs11Options {
            module,
            token,
            pin,
            sessions_max,
            name,
        } = options;
        let module = Module::load(&module)?;
        let device = Self {
            name,
            sessions: Sessions::new(module, token, pin, sessions_max),
            rates: Rates::new(),
        };
        device.sessions.with(|_, _| Ok(()))?;
        Ok(Arc::new(device))
    }

    /// Lists the token's RSA private keys that the user can see.
    ///
    /// # Errors
    /// The token does not answer.
    pub fn keys(&self) -> Result<Vec<TokenKey>, DeviceError> {
        self.sessions
            .with(|session, _| key::list(session, self.sessions.context()))
    }

    /// Returns a key listed by [`keys`](Self::keys), after one trial operation.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] if the key is unusable ([`TokenKey::problem`]); [`Error::DeviceFailed`] if the token fails the
    /// trial.
    pub fn key(self: &Arc<Self>, key: &TokenKey) -> Result<RsaPrivateKey, Error> {
        let of_no_use =
            |problem: &str| Error::InvalidKey(format!("{}: {key}: {problem}", self.name));
        if let Some(problem) = key.problem() {
            return Err(of_no_use(problem));
        }
        let public = key
            .public_key()
            .ok_or_else(|| of_no_use("no public half"))?;
        let device = Arc::clone(self) as Arc<dyn BlockingDevice>;
        RsaPrivateKey::held(device, key.held_id(), public.clone())
    }

    fn power(&self, request: &PublicKeyRequest) -> Result<Zeroizing<Vec<u8>>, DeviceError> {
        let id = request
            .private_key()
            .filter(|key| key.held_by() == Some(&self.name))
            .and_then(RsaPrivateKey::held_id)
            .ok_or_else(|| DeviceError("a request of a key that the token does not hold".into()))?;
        self.sessions.with(|session, room| {
            let bits = request.shape().modulus_bits;
            let key = match room.cached(id) {
                Some(key) => key,
                None => {
                    let key = key::find(session, id, request.modulus())?;
                    room.cache(id, key);
                    key
                }
            };
            let power = self.rates.time(0, bits, || {
                let operand = request.base();
                match key.operation {
                    KeyOperation::Decrypt => {
                        session.decrypt(&Mechanism::RsaX509, key.handle, operand)
                    }
                    KeyOperation::Sign => session.sign(&Mechanism::RsaX509, key.handle, operand),
                }
            });
            match power {
                Ok(power) => padded(Zeroizing::new(power), request.modulus().len()),
                Err(error) => match (Failure::of(&error), key.other) {
                    // Some tokens implement the mechanism for only one of the two operations, whatever the key's attributes
                    // say.
                    (Failure::Final(error), Some(other)) => {
                        let operation = other;
                        let other = None;
                        room.cache(
                            id,
                            CachedKey {
                                operation,
                                other,
                                ..key
                            },
                        );
                        Err(Failure::Otherwise(error))
                    }
                    (failure, _) => {
                        room.forget(id);
                        Err(failure)
                    }
                },
            }
        })
    }
}

impl BlockingDevice for Pkcs11Device {
    fn name(&self) -> &str {
        &self.name
    }

    fn capacity(&self) -> usize {
        self.sessions.sessions_max()
    }

    fn offer_public_key(&self, shape: &Shape) -> Option<PublicKeyOffer> {
        match &shape.operation {
            PublicKeyOperation::Held(name) if **name == *self.name => {
                Some(self.rates.offer(0, shape.modulus_bits, FIRST_LATENCY, 1))
            }
            _ => None,
        }
    }

    fn run_public_key(&self, batch: &[&PublicKeyRequest], answer: &mut Answer<'_>) {
        for (place, request) in batch.iter().enumerate() {
            answer(place, self.power(request));
        }
    }
}

impl fmt::Debug for Pkcs11Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pkcs11Device")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Omits the PIN.
impl fmt::Debug for Pkcs11Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pkcs11Options")
            .field("module", &self.module)
            .field("token", &self.token)
            .field("sessions_max", &self.sessions_max)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Pads or trims leading zeros to `len` bytes: some tokens omit them, others add more.
fn padded(power: Zeroizing<Vec<u8>>, len: usize) -> Result<Zeroizing<Vec<u8>>, Failure> {
    if power.len() == len {
        return Ok(power);
    }
    let mut padded = Zeroizing::new(vec![0; len]);
    match power.len().checked_sub(len) {
        None => padded[len - power.len()..].copy_from_slice(&power),
        Some(more) if power[..more].iter().all(|byte| *byte == 0) => {
            padded.copy_from_slice(&power[more..]);
        }
        Some(_) => {
            return Err(Failure::Final(DeviceError(format!(
                "a result of {} bytes, longer than the modulus of {len}",
                power.len()
            ))));
        }
    }
    Ok(padded)
}

/// The expected latency of a token before its first request.
const FIRST_LATENCY: Duration = Duration::from_millis(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_as_long_as_the_modulus() {
        let padded_to = |bytes: &[u8], len| padded(Zeroizing::new(bytes.to_vec()), len);
        for (bytes, expected) in [
            (&[1, 2, 3][..], Some(&[1, 2, 3][..])),
            (&[2, 3], Some(&[0, 2, 3])),
            (&[], Some(&[0, 0, 0])),
            (&[0, 0, 1, 2, 3], Some(&[1, 2, 3])),
            (&[9, 1, 2, 3], None),
        ] {
            let result = padded_to(bytes, 3).ok();
            assert_eq!(result.as_ref().map(|result| &result[..]), expected);
        }
    }
}
