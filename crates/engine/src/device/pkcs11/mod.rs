//! Tokens behind modules of PKCS#11: keys that nobody reads out.
//!
//! `module.rs` loads modules and logs in, `sessions.rs` keeps sessions, `key.rs` finds keys and their
//! public halves, `failure.rs` says what of a token's answers can be mended.

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
use super::public_key::{Answer, PublicKeyDevice, PublicKeyOffer};
use super::rates::Rates;
use super::request::DeviceError;
use crate::Error;
use crate::work::request::PublicKeyRequest;
use crate::work::rsa::key::RsaPrivateKey;
use crate::work::shape::{PublicKeyOperation, Shape};

/// A token that holds RSA keys, by the mechanism CKM_RSA_X_509: the token raises a number to the
/// private exponent, and paddings are made and taken off here.
///
/// Sessions are opened as calls need them, up to [`Pkcs11Options::sessions_max`], and a caller that
/// finds none free waits. When the token goes and comes back, the next call finds it, opens sessions
/// and logs in. A PIN that the token has refused is not tried again.
///
/// Devices on the same module share what PKCS#11 makes common to an application: the module is
/// initialised once, and one login is a login of all. It is never finalised. A forked child has to
/// open tokens of its own, through a module that its parent had not opened.
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

/// What a token is opened with.
pub struct Pkcs11Options {
    /// The shared library of the module; one without a slash is looked for where the loader looks.
    /// It becomes a part of this process: it can do whatever the process can.
    pub module: PathBuf,
    /// The token of the module.
    pub token: TokenName,
    /// The user's PIN. Without one, the token asks for it itself (its protected authentication path), or nobody logs
    /// in.
    pub pin: Option<Zeroizing<String>>,
    /// How many calls the token is given at once, each through a session of its own; fewer where it
    /// has fewer.
    pub sessions_max: usize,
    /// In statistics and errors, and of [`PublicKeyOperation::Held`]: no two devices of a process
    /// should have the same.
    pub name: String,
}

impl Pkcs11Options {
    /// With up to 16 sessions, and named `pkcs11`, a colon, and the label, the serial number or the
    /// slot of the token.
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
    /// The module cannot be loaded; there is no such token, and which there are; the PIN is wrong.
    /// Each call gives a PIN to the token once: see to it that a wrong one is not given again and
    /// again, for the token locks itself after a few.
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

    /// The RSA private keys of the token that the user may see.
    ///
    /// # Errors
    /// Where the token cannot be asked.
    pub fn keys(&self) -> Result<Vec<TokenKey>, DeviceError> {
        self.sessions
            .with(|session, _| key::list(session, self.sessions.context()))
    }

    /// A key that [`keys`](Self::keys) has listed. It is tried out.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] for one that is of no use ([`TokenKey::problem`]);
    /// [`Error::DeviceFailed`] where the token does not do what it has to.
    pub fn key(self: &Arc<Self>, key: &TokenKey) -> Result<RsaPrivateKey, Error> {
        let of_no_use =
            |problem: &str| Error::InvalidKey(format!("{}: {key}: {problem}", self.name));
        if let Some(problem) = key.problem() {
            return Err(of_no_use(problem));
        }
        let public = key
            .public_key()
            .ok_or_else(|| of_no_use("no public half"))?;
        let device = Arc::clone(self) as Arc<dyn PublicKeyDevice>;
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
                    // Some tokens have the mechanism for one of the two alone, whatever they say.
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

impl PublicKeyDevice for Pkcs11Device {
    fn name(&self) -> &str {
        &self.name
    }

    fn offer(&self, shape: &Shape) -> Option<PublicKeyOffer> {
        match &shape.operation {
            PublicKeyOperation::Held(name) if **name == *self.name => {
                Some(self.rates.offer(0, shape.modulus_bits, FIRST_LATENCY, 1))
            }
            _ => None,
        }
    }

    fn run(&self, batch: &[&PublicKeyRequest], answer: &mut Answer<'_>) {
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

/// Does not show the PIN.
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

/// Some tokens leave out leading zeros, others write more of them.
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

/// The expected latency of a token that has not served a request yet.
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
