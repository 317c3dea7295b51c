//! Requests and their answers.

use std::fmt;
use std::ops::AddAssign;
use std::sync::Arc;
use std::time::Duration;

use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

use crate::Error;
use crate::work::algorithm::{Algorithm, Direction};
use crate::work::buffers::Buffers;
use crate::work::operation::{ChainOrder, HashAlgorithm, IvBytes, Layout, Service};

/// The service and keys of a session or of a request without one.
#[derive(Clone, Copy)]
pub struct SessionSpec<'a> {
    pub(super) service: Service,
    pub(super) key: &'a [u8],
    pub(super) mac_key: &'a [u8],
    pub(super) iv: &'a [u8],
    pub(super) tag_bytes: usize,
}

impl<'a> SessionSpec<'a> {
    /// Specifies a stream cipher or AES-CBC, whose requests continue from `iv`.
    pub fn cipher(algorithm: Algorithm, key: &'a [u8], iv: &'a [u8]) -> Self {
        Self {
            service: Service::Cipher(algorithm),
            key,
            mac_key: &[],
            iv,
            tag_bytes: 0,
        }
    }

    /// Specifies an authenticated cipher. Each message's nonce is its number, from 0, XORed with the 12-byte `iv`.
    pub fn aead(algorithm: Algorithm, key: &'a [u8], iv: &'a [u8]) -> Self {
        Self {
            service: Service::Aead(algorithm),
            tag_bytes: 16,
            ..Self::cipher(algorithm, key, iv)
        }
    }

    /// Specifies HMAC with tags of `tag_bytes` bytes.
    pub fn hmac(hash: HashAlgorithm, key: &'a [u8], tag_bytes: usize) -> Self {
        Self {
            service: Service::Mac(hash),
            key: &[],
            mac_key: key,
            iv: &[],
            tag_bytes,
        }
    }

    /// Specifies a hash function.
    pub fn digest(hash: HashAlgorithm) -> Self {
        Self {
            service: Service::Digest(hash),
            ..Self::hmac(hash, &[], hash.digest_bytes())
        }
    }

    /// Specifies a cipher chained with HMAC.
    pub fn chained(
        order: ChainOrder,
        (cipher, key, iv): (Algorithm, &'a [u8], &'a [u8]),
        (mac, mac_key, tag_bytes): (HashAlgorithm, &'a [u8], usize),
    ) -> Self {
        Self {
            service: Service::Chained { cipher, mac, order },
            key,
            mac_key,
            iv,
            tag_bytes,
        }
    }

    /// Specifies random bytes. A device's bytes are XORed with aws-lc's.
    pub fn random() -> Self {
        Self {
            service: Service::Random,
            key: &[],
            mac_key: &[],
            iv: &[],
            tag_bytes: 0,
        }
    }
}

/// Omits the keys.
impl fmt::Debug for SessionSpec<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionSpec")
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}

/// The keys that a request owns. Wiped on drop.
#[derive(Clone)]
pub(super) struct OwnKeys {
    service: Service,
    key: Zeroizing<Vec<u8>>,
    mac_key: Zeroizing<Vec<u8>>,
    iv: Vec<u8>,
    tag_bytes: usize,
}

impl OwnKeys {
    pub(super) fn spec(&self) -> SessionSpec<'_> {
        SessionSpec {
            service: self.service,
            key: &self.key,
            mac_key: &self.mac_key,
            iv: &self.iv,
            tag_bytes: self.tag_bytes,
        }
    }
}

impl PartialEq for OwnKeys {
    fn eq(&self, other: &Self) -> bool {
        let are_same = self.key.ct_eq(&other.key) & self.mac_key.ct_eq(&other.mac_key);
        (self.service, self.tag_bytes, &self.iv) == (other.service, other.tag_bytes, &other.iv)
            && are_same.into()
    }
}

impl Eq for OwnKeys {}

/// Omits the keys.
impl fmt::Debug for OwnKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.spec().fmt(f)
    }
}

/// An operation on data, with a session's keys or its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub(super) keys: Option<Box<OwnKeys>>,
    pub(super) direction: Direction,
    pub(super) iv: Iv,
    pub(super) layout: Option<Layout>,
    pub(super) buffers: Buffers,
    pub(super) place: Place,
}

impl Request {
    /// Creates a request to encrypt, to create a tag, or both. Without a layout, all the data are encrypted, or
    /// authenticated if the service is a MAC; a tag goes at the end.
    pub fn encrypt(buffers: impl Into<Buffers>) -> Self {
        Self {
            keys: None,
            direction: Direction::Encrypt,
            iv: Iv::Next,
            layout: None,
            buffers: buffers.into(),
            place: Place::Auto,
        }
    }

    /// Creates a request to decrypt, to verify the tag, or both.
    pub fn decrypt(buffers: impl Into<Buffers>) -> Self {
        Self {
            direction: Direction::Decrypt,
            ..Self::encrypt(buffers)
        }
    }

    /// Gives the request keys of its own, for [`Framework::submit`](super::Framework::submit). It begins with the IV or
    /// nonce of `spec` unless it has [another](Self::with_iv).
    #[must_use]
    pub fn with_keys(mut self, spec: &SessionSpec<'_>) -> Self {
        self.keys = Some(Box::new(OwnKeys {
            service: spec.service,
            key: Zeroizing::new(spec.key.to_vec()),
            mac_key: Zeroizing::new(spec.mac_key.to_vec()),
            iv: spec.iv.to_vec(),
            tag_bytes: spec.tag_bytes,
        }));
        self
    }

    /// Sets which bytes of the data are authenticated, encrypted and the tag.
    #[must_use]
    pub fn with_layout(mut self, layout: Layout) -> Self {
        self.layout = Some(layout);
        self
    }

    /// Sets the request's IV or nonce.
    #[must_use]
    pub fn with_iv(mut self, iv: IvBytes) -> Self {
        self.iv = Iv::Explicit(iv);
        self
    }

    /// Sets where the request is computed.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = place;
        self
    }

    /// Returns the data, unchanged if the request was refused.
    pub fn into_buffers(self) -> Buffers {
        self.buffers
    }
}

/// The IV or nonce of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Iv {
    /// Continues where the session's previous request ends, or with the next nonce.
    #[default]
    Next,
    /// An explicit IV or nonce. The caller must not use it twice where the cipher forbids that.
    Explicit(IvBytes),
}

/// The place where a request is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// The device that is expected to finish first. A request of less than 2 us is computed at once.
    #[default]
    Auto,
    /// The calling thread.
    Here,
    /// The CPU's queue.
    Queue,
    /// Like `Auto`, but the request waits in the queue if a batch gains. Otherwise it is computed at once if it takes less
    /// than 1 us.
    Together,
    /// A device, if one offers it and has room, otherwise the CPU's queue.
    Device,
}

/// The result of a request.
#[derive(Debug)]
#[non_exhaustive]
pub struct Answer {
    /// The submitted data with the result in them, or unchanged if it failed.
    pub buffers: Buffers,
    /// The result of a public-key request.
    pub power: Zeroizing<Vec<u8>>,
    /// The outcome. [`Error::AuthenticationFailed`] for a wrong tag; [`Error::Cancelled`] if the framework was dropped.
    pub outcome: Result<(), Error>,
    /// The device that computed it; empty if none did.
    pub device: Arc<str>,
}

impl Answer {
    pub(super) fn failed(error: Error) -> Self {
        Self {
            buffers: Buffers::default(),
            power: Zeroizing::default(),
            outcome: Err(error),
            device: "".into(),
        }
    }
}

/// Counts of a service on a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationStats {
    /// Requests that were answered.
    pub requests: u64,
    /// Bytes that were encrypted or authenticated.
    pub bytes: u64,
    /// Requests refused for a fault of their own, such as a wrong tag.
    pub refused: u64,
    /// The sum of times from submission to answer, without [`FrameworkSession::run`](super::FrameworkSession::run).
    pub time: Duration,
}

impl AddAssign for OperationStats {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.refused += other.refused;
        self.time += other.time;
    }
}
