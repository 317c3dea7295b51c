//! Key derivation and MACs.

use std::ffi::{CStr, c_int};
use std::ptr;
use std::rc::Rc;

use super::super::library::Param;
use super::tools::{KdfContext, Mac, MacContext, Made, Output, Tools};

/// A derivation: its KDF, its inputs, and the length of its output.
pub(super) struct Derivation {
    name: &'static CStr,
    params: Vec<Param>,
    bytes: usize,
}

impl Derivation {
    /// Returns the derivation of a TLS 1.3 secret with a label. `secret` is its input, and also the label's data for
    /// [`Data::Secret`].
    pub(super) fn labelled(label: &Label, digest: &'static CStr, secret: &'static [u8]) -> Self {
        let mut params = vec![
            Param::int(
                c"mode",
                if label.is_extracted {
                    &EXTRACT_ONLY
                } else {
                    &EXPAND_ONLY
                },
            ),
            Param::utf8(c"digest", digest),
            Param::octets(c"key", secret),
            Param::octets(c"prefix", b"tls13 "),
            Param::octets(c"label", label.name),
        ];
        if label.is_extracted {
            params.push(Param::octets(c"salt", secret));
        }
        match label.data {
            Data::None => {}
            Data::Secret => params.push(Param::octets(c"data", secret)),
            Data::Octets(data) => params.push(Param::octets(c"data", data)),
        }
        params.push(Param::END);
        Self {
            name: c"TLS13-KDF",
            params,
            bytes: label.bytes.unwrap_or(secret.len()),
        }
    }

    /// Returns a derivation with HKDF, extracted and expanded.
    pub(super) fn hkdf(digest: &'static CStr, secret: &'static [u8], bytes: usize) -> Self {
        let params = vec![
            Param::utf8(c"digest", digest),
            Param::octets(c"key", secret),
            Param::octets(c"salt", secret),
            Param::octets(c"info", b"a purpose"),
            Param::END,
        ];
        Self {
            name: c"HKDF",
            params,
            bytes,
        }
    }

    /// Returns the derivation of a TLS 1.2 master secret.
    pub(super) fn master_secret(digest: &'static CStr, secret: &'static [u8; 48]) -> Self {
        let params = vec![
            Param::utf8(c"digest", digest),
            Param::octets(c"secret", secret),
            Param::octets(c"seed", b"master secret"),
            Param::octets(c"seed", &secret[..32]),
            Param::octets(c"seed", &secret[..32]),
            Param::END,
        ];
        Self {
            name: c"TLS1-PRF",
            params,
            bytes: 48,
        }
    }
}

impl Tools {
    /// Creates a context of the KDF.
    pub(super) fn kdf_context(
        self: &Rc<Self>,
        derivation: &Derivation,
    ) -> Option<Made<KdfContext>> {
        let calls = &self.calls;
        // SAFETY: the library context is live and the name ends with a zero; the context holds its KDF.
        unsafe {
            let kdf = (calls.EVP_KDF_fetch)(self.ctx(), derivation.name.as_ptr(), ptr::null());
            let context = (calls.EVP_KDF_CTX_new)(kdf);
            (calls.EVP_KDF_free)(kdf);
            self.made(context, calls.EVP_KDF_CTX_free)
        }
    }

    pub(super) fn derive_in(
        &self,
        context: &Made<KdfContext>,
        derivation: &Derivation,
        output: &mut Output,
    ) -> Option<usize> {
        let derive = self.calls.EVP_KDF_derive;
        let place = output.get_mut(..derivation.bytes)?;
        // SAFETY: the context is live; the parameters end with an entry without a key, and point to static data; the
        // place has the length that is passed.
        let derived = unsafe {
            let (place, bytes) = (place.as_mut_ptr(), place.len());
            derive(context.object(), place, bytes, derivation.params.as_ptr())
        };
        (derived == 1).then_some(derivation.bytes)
    }

    /// Derives in a new context.
    pub(super) fn derive_once(
        self: &Rc<Self>,
        derivation: &Derivation,
        output: &mut Output,
    ) -> Option<usize> {
        self.derive_in(&self.kdf_context(derivation)?, derivation, output)
    }

    pub(super) fn hmac(self: &Rc<Self>) -> Option<Made<Mac>> {
        // SAFETY: the library context is live and the name ends with a zero; the call returns a new reference.
        unsafe {
            let mac = (self.calls.EVP_MAC_fetch)(self.ctx(), c"HMAC".as_ptr(), ptr::null());
            self.made(mac, self.calls.EVP_MAC_free)
        }
    }

    pub(super) fn mac_context(self: &Rc<Self>, mac: &Made<Mac>) -> Option<Made<MacContext>> {
        // SAFETY: the MAC is live; the call creates a new context.
        unsafe {
            let context = (self.calls.EVP_MAC_CTX_new)(mac.object());
            self.made(context, self.calls.EVP_MAC_CTX_free)
        }
    }

    pub(super) fn mac_copied(
        self: &Rc<Self>,
        context: &Made<MacContext>,
    ) -> Option<Made<MacContext>> {
        // SAFETY: the context is live; the call creates a new one.
        unsafe {
            let copy = (self.calls.EVP_MAC_CTX_dup)(context.object());
            self.made(copy, self.calls.EVP_MAC_CTX_free)
        }
    }

    /// Begins a message: with `key` or the one in the context, and with a digest if the context is new.
    pub(super) fn begin(
        &self,
        context: &Made<MacContext>,
        key: Option<&[u8]>,
        digest: Option<&CStr>,
    ) -> Option<()> {
        let named = digest.map(|digest| [Param::utf8(c"digest", digest), Param::END]);
        let params = named.as_ref().map_or(ptr::null(), |params| params.as_ptr());
        let (from, bytes) = key.map_or((ptr::null(), 0), |key| (key.as_ptr(), key.len()));
        // SAFETY: the context is live; the key has its length, or is null; the parameter array is terminated.
        let begun = unsafe { (self.calls.EVP_MAC_init)(context.object(), from, bytes, params) };
        (begun == 1).then_some(())
    }

    /// Computes the tag of a message that was begun.
    pub(super) fn tag(
        &self,
        context: &Made<MacContext>,
        message: &[u8],
        output: &mut Output,
    ) -> Option<usize> {
        let (calls, context, mut bytes) = (&self.calls, context.object(), 0);
        // SAFETY: the context is live; lengths are those of their buffers.
        let done = unsafe {
            (calls.EVP_MAC_update)(context, message.as_ptr(), message.len()) == 1
                && (calls.EVP_MAC_final)(context, output.as_mut_ptr(), &mut bytes, output.len())
                    == 1
        };
        done.then_some(bytes)
    }

    /// Computes the tag of one message with one call.
    pub(super) fn quick_mac(
        &self,
        digest: &CStr,
        key: &[u8],
        message: &[u8],
        output: &mut Output,
    ) -> Option<usize> {
        let (none, mut bytes) = (ptr::null(), 0);
        // SAFETY: the library context is live, texts end with a zero, and lengths are those of their buffers.
        let made = unsafe {
            (self.calls.EVP_Q_mac)(
                self.ctx(),
                c"HMAC".as_ptr(),
                none,
                digest.as_ptr(),
                ptr::null(),
                key.as_ptr().cast(),
                key.len(),
                message.as_ptr(),
                message.len(),
                output.as_mut_ptr(),
                output.len(),
                &mut bytes,
            )
        };
        (!made.is_null()).then_some(bytes)
    }

    /// Computes the binder of a session as libssl does, with a key created for it.
    pub(super) fn binder(
        self: &Rc<Self>,
        digest: &'static CStr,
        secret: &[u8],
        output: &mut Output,
    ) -> Option<usize> {
        let key = self.raw_key(c"HMAC", secret)?;
        let context = self.signing_context(Some(digest), &key)?;
        let (calls, context, mut bytes) = (&self.calls, context.object(), output.len());
        let (from, length) = (secret.as_ptr().cast(), secret.len());
        // SAFETY: the context is live and signs; lengths are those of the buffers passed.
        let done = unsafe {
            (calls.EVP_DigestSignUpdate)(context, from, length) == 1
                && (calls.EVP_DigestSignFinal)(context, output.as_mut_ptr(), &mut bytes) == 1
        };
        done.then_some(bytes)
    }
}

/// The label of a derivation.
pub(super) struct Label {
    /// Whether the secret is extracted from a secret and a salt, or expanded from a secret.
    is_extracted: bool,
    name: &'static [u8],
    data: Data,
    /// The length of the output in bytes; `None` for that of the secret.
    bytes: Option<usize>,
}

enum Data {
    None,
    /// The secret, which is as long as a digest.
    Secret,
    Octets(&'static [u8]),
}

const fn expanded(name: &'static [u8], data: Data, bytes: Option<usize>) -> Label {
    Label {
        is_extracted: false,
        name,
        data,
        bytes,
    }
}

/// The traffic secret of one end.
pub(super) const TRAFFIC: Label = expanded(b"s hs traffic", Data::Secret, None);
/// The secret that is extracted from the previous one.
pub(super) const EXTRACTED: Label = Label {
    is_extracted: true,
    ..expanded(b"derived", Data::None, None)
};
const FINISHED: Label = expanded(b"finished", Data::None, None);
const KEY: Label = expanded(b"key", Data::None, Some(16));
const IV: Label = expanded(b"iv", Data::None, Some(12));
const TICKET: Label = expanded(b"resumption", Data::Octets(&[0; 8]), None);
/// All derivations of a handshake, in no particular order (RFC 8446, 7.1).
pub(super) const SCHEDULE: [Label; 22] = [
    EXTRACTED,
    EXTRACTED,
    EXTRACTED,
    expanded(b"c hs traffic", Data::Secret, None),
    expanded(b"s hs traffic", Data::Secret, None),
    FINISHED,
    FINISHED,
    FINISHED,
    KEY,
    IV,
    KEY,
    IV,
    expanded(b"c ap traffic", Data::Secret, None),
    expanded(b"s ap traffic", Data::Secret, None),
    expanded(b"exp master", Data::Secret, None),
    KEY,
    IV,
    KEY,
    IV,
    expanded(b"res master", Data::Secret, None),
    TICKET,
    TICKET,
];
/// EVP_KDF_HKDF_MODE_EXTRACT_ONLY, EVP_KDF_HKDF_MODE_EXPAND_ONLY.
static EXTRACT_ONLY: c_int = 1;
static EXPAND_ONLY: c_int = 2;
