//! A signature context: what was begun with it, and how the default provider takes over.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;

use oarlock_engine::Primitive;
use oarlock_engine::costs::Performed;
use oarlock_engine::ec::{Curve, SIGNATURE_BYTES_MAX};
use oarlock_engine::hash::{DIGEST_BYTES_MAX, Digest, Hash};

use super::ours::EcKey;
use crate::abi::Param;
use crate::boxed::Copied;
use crate::default_provider::DefaultAlgorithm;
use crate::default_provider::functions::SignatureFunctions;
use crate::default_provider::rsa::named;
use crate::exported::{Inner, Key, Managed as _, Place};
use crate::provider::Provider;

/// A context that OpenSSL holds.
pub(super) struct Context {
    /// The core does not tear down a provider that has a context.
    pub(super) provider: *const Provider,
    /// The query for hash functions.
    pub(super) properties: Option<CString>,
    pub(super) key: Option<Arc<Key<EcKey>>>,
    pub(super) state: State,
}

/// The operation in progress.
pub(super) enum State {
    /// Nothing yet.
    Idle,
    /// Signing or verifying digests; if a hash function is set, they must have its length.
    Digests(Purpose, Option<HashName>),
    /// Signing or verifying a message.
    Message(Box<Message>),
    /// The default provider has taken over.
    Elsewhere(Inner),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Sign,
    Verify,
}

impl Purpose {
    pub(super) fn of(signs: bool) -> Self {
        match signs {
            true => Self::Sign,
            false => Self::Verify,
        }
    }
}

/// A message in progress.
pub(super) struct Message {
    pub(super) purpose: Purpose,
    pub(super) hash: HashName,
    /// `None` once the message has ended.
    pub(super) digest: Option<Digest>,
    pub(super) has_begun: bool,
    /// Whether the default provider would accept another hash function by now, because the size of a signature was
    /// queried or the message has ended.
    pub(super) takes_hash: bool,
    /// The default provider's context, without the message, if parameters were set in the middle of the message.
    pub(super) aside: Option<Inner>,
}

impl Message {
    pub(super) fn new(purpose: Purpose, hash: HashName) -> Self {
        Self {
            purpose,
            hash,
            digest: Some(Digest::new(hash.hash)),
            has_begun: false,
            takes_hash: false,
            aside: None,
        }
    }

    /// Ends the message. Returns its digest, and the length of that.
    pub(super) fn end(&mut self) -> Option<([u8; DIGEST_BYTES_MAX], usize)> {
        let digest = self.digest.take()?;
        self.takes_hash = true;
        let mut output = [0; DIGEST_BYTES_MAX];
        let bytes = digest.finish(&mut output);
        Some((output, bytes))
    }
}

/// A hash function, with the name that selected it.
#[derive(Clone, Copy)]
pub(super) struct HashName {
    pub(super) hash: Hash,
    /// Ends with a zero.
    name: [u8; NAME_BYTES],
}

impl HashName {
    /// Finds the hash function of a name. Returns `None` if the engine does not have it.
    pub(super) fn of(name: &[u8]) -> Option<Self> {
        let hash = named(name)?;
        let mut copy = [0; NAME_BYTES];
        copy[..NAME_BYTES - 1]
            .get_mut(..name.len())?
            .copy_from_slice(name);
        Some(Self { hash, name: copy })
    }

    pub(super) fn is(&self, name: &[u8]) -> bool {
        self.text().eq_ignore_ascii_case(name)
    }

    fn text(&self) -> &[u8] {
        self.name
            .split(|byte| *byte == 0)
            .next()
            .unwrap_or_default()
    }

    fn as_ptr(&self) -> *const c_char {
        self.name.as_ptr().cast()
    }
}

impl Copied for Context {
    fn copy(&self) -> Option<Self> {
        let state = match &self.state {
            State::Idle => State::Idle,
            State::Digests(purpose, hash) => State::Digests(*purpose, *hash),
            State::Message(message) => State::Message(Box::new(Message {
                digest: message.digest.clone(),
                aside: match &message.aside {
                    Some(aside) => Some(aside.copy()?),
                    None => None,
                },
                ..**message
            })),
            State::Elsewhere(inner) => State::Elsewhere(inner.copy()?),
        };
        Some(Self {
            provider: self.provider,
            properties: self.properties.clone(),
            key: self.key.clone(),
            state,
        })
    }
}

impl Context {
    pub(super) fn ours(&self) -> Option<&EcKey> {
        self.key.as_ref()?.ours()
    }

    fn default(&self) -> Option<&DefaultAlgorithm<SignatureFunctions>> {
        // SAFETY: the core tears the provider down after its last signature context, and this one is in use.
        unsafe { (*self.provider).defaults.get()?.ecdsa.as_ref() }
    }

    /// Creates an empty context of the default provider.
    fn empty(&self) -> Option<Inner> {
        Inner::new(self.default()?, self.properties.as_deref())
    }

    /// Returns the default provider's key.
    fn inner_key(&self) -> Option<*mut c_void> {
        self.key.as_ref()?.inner()
    }

    /// Returns a new context of the default provider in the same state as this one, except for the bytes of a message.
    /// Returns `None` if the default provider has taken over already, or on failure.
    pub(super) fn replayed(&self) -> Option<Inner> {
        let inner = self.empty()?;
        let functions = inner.functions();
        // SAFETY: the default provider's functions get its own context and key, names that end with a zero, and arrays
        // that end.
        let is_there = unsafe {
            match &self.state {
                State::Idle => 1,
                State::Elsewhere(_) => return None,
                State::Digests(purpose, hash) => {
                    let params = [
                        match hash {
                            Some(hash) => Param::giving_text(c"digest", hash.text()),
                            None => Param::END,
                        },
                        Param::END,
                    ];
                    let init = match purpose {
                        Purpose::Sign => functions.sign_init?,
                        Purpose::Verify => functions.verify_init?,
                    };
                    init(inner.at(), self.inner_key()?, params.as_ptr())
                }
                State::Message(message) => {
                    let (name, key) = (message.hash.as_ptr(), self.inner_key()?);
                    let init = match message.purpose {
                        Purpose::Sign => functions.digest_sign_init?,
                        Purpose::Verify => functions.digest_verify_init?,
                    };
                    let is_begun = init(inner.at(), name, key, null());
                    if message.takes_hash && message.purpose == Purpose::Sign {
                        let mut bytes = 0;
                        functions.digest_sign_final?(inner.at(), null_mut(), &mut bytes, 0);
                    }
                    is_begun
                }
            }
        };
        (is_there == 1).then_some(inner)
    }

    /// Calls `call` with a context of the default provider in the same state as this one.
    pub(super) fn aside<T>(
        &self,
        call: impl FnOnce(&SignatureFunctions, *mut c_void) -> Option<T>,
    ) -> Option<T> {
        let made;
        let inner = match &self.state {
            State::Elsewhere(inner) => inner,
            State::Message(message) if message.aside.is_some() => message.aside.as_ref()?,
            _ => {
                made = self.replayed()?;
                &made
            }
        };
        call(inner.functions(), inner.at())
    }

    /// Has the default provider take over, which loses the bytes of a message that has begun.
    pub(super) fn leave(&mut self) -> Option<&Inner> {
        let aside = match &mut self.state {
            State::Message(message) => message.aside.take(),
            _ => None,
        };
        if !matches!(self.state, State::Elsewhere(_)) {
            self.state = State::Elsewhere(aside.or_else(|| self.replayed())?);
        }
        match &self.state {
            State::Elsewhere(inner) => Some(inner),
            _ => None,
        }
    }

    /// Signs a digest. Returns `None` if the default provider should do so, or refuse.
    pub(super) fn sign(&self, digest: &[u8], place: Place) -> Option<c_int> {
        if let Some(remote) = self.ours()?.remote() {
            return Some(self.sign_remotely(remote, digest, place));
        }
        let key = self.ours()?.private()?;
        let most = key.public_key().curve().signature_bytes_max();
        if digest.is_empty() || place.room < most {
            return None;
        }
        let mut signature = [0; SIGNATURE_BYTES_MAX];
        let bytes = key.sign(digest, &mut signature).ok()?;
        let signature = signature.get(..bytes).filter(|_| bytes <= most)?;
        // SAFETY: the buffer was checked to have room for the longest signature, and the caller has a place for its
        // length.
        unsafe { place.set(signature) };
        self.count(key.public_key().curve(), Performed::Signed);
        Some(1)
    }

    /// Has the default provider sign a message's digest, or refuse, with the parameters set in the middle of the
    /// message.
    pub(super) fn sign_by_default(&self, digest: &[u8], place: Place) -> Option<c_int> {
        let State::Message(message) = &self.state else {
            return None;
        };
        let mut nonce_type: c_uint = 0;
        let mut digest_bytes = digest.len();
        if let Some(aside) = &message.aside {
            let mut params = [
                Param::asking_for_uint(c"nonce-type", &mut nonce_type),
                Param::asking_for_size(c"digest-size", &mut digest_bytes),
                Param::END,
            ];
            // SAFETY: the default provider's function gets its own context, and an array of places that ends. A release
            // that does not know a parameter leaves its place unchanged.
            unsafe { aside.functions().get_ctx_params?(aside.at(), params.as_mut_ptr()) };
        }
        let mut params = [
            Param::giving_text(c"digest", message.hash.text()),
            Param::asking_for_size(c"digest-size", &mut digest_bytes),
            Param::END,
            Param::END,
        ];
        if nonce_type != 0 {
            params[2] = Param::asking_for_uint(c"nonce-type", &mut nonce_type);
        }
        let inner = self.empty()?;
        let functions = inner.functions();
        // SAFETY: the default provider's functions get its own context and key and an array that ends; the caller
        // vouches for the buffer, and `digest` is passed with its length.
        unsafe {
            let init = functions.sign_init?;
            if init(inner.at(), self.inner_key()?, params.as_ptr()) != 1 {
                return None;
            }
            Some(functions.sign?(
                inner.at(),
                place.octets,
                place.bytes,
                place.room,
                digest.as_ptr(),
                digest.len(),
            ))
        }
    }

    /// Verifies a signature of a digest. Returns `None` if the default provider should do so, or refuse.
    pub(super) fn verify(&self, digest: &[u8], signature: &[u8]) -> Option<c_int> {
        if digest.is_empty() {
            return None;
        }
        let ours = self.ours()?;
        ours.verify(digest, signature)?;
        self.count(ours.curve(), Performed::Verified);
        Some(1)
    }

    fn count(&self, curve: Curve, performed: Performed) {
        let primitive = match curve {
            Curve::P256 => Primitive::EcP256,
            Curve::P384 => Primitive::EcP384,
            Curve::P521 => Primitive::EcP521,
        };
        // SAFETY: the core tears the provider down after its last ECDSA context, and this one is in use.
        unsafe { &*self.provider }.count(primitive, performed);
    }

    /// Has the default provider verify a signature of a message's digest, or refuse it.
    pub(super) fn verify_by_default(&self, digest: &[u8], signature: &[u8]) -> Option<c_int> {
        if signature.is_empty() {
            // An empty signature is never valid. Some releases report this in their own way before they read the
            // message.
            // SAFETY: the default provider's function gets its own context, and a signature of no bytes.
            return self.aside(|functions, inner| unsafe {
                Some(functions.digest_verify_final?(inner, signature.as_ptr(), 0))
            });
        }
        let inner = self.empty()?;
        let functions = inner.functions();
        // SAFETY: the default provider's functions get its own context and key, and both slices with their lengths.
        unsafe {
            if functions.verify_init?(inner.at(), self.inner_key()?, null()) != 1 {
                return None;
            }
            Some(functions.verify?(
                inner.at(),
                signature.as_ptr(),
                signature.len(),
                digest.as_ptr(),
                digest.len(),
            ))
        }
    }

    /// Returns the length of the longest signature.
    pub(super) fn signature_bytes_max(&self) -> Option<usize> {
        Some(self.ours()?.curve().signature_bytes_max())
    }
}

/// Room for the longest name of these hash functions, a dotted object identifier.
const NAME_BYTES: usize = 24;
