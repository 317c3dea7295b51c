//! Secrets derived, and MACs.

use std::ffi::{CStr, c_int};
use std::ptr;
use std::rc::Rc;

use super::super::library::Param;
use super::tools::{KdfContext, Key, Mac, MacContext, Made, Tools};

impl Tools {
    /// A context of the KDF of this name.
    pub(super) fn kdf_context(self: &Rc<Self>, name: &CStr) -> Option<Made<KdfContext>> {
        let calls = &self.calls;
        // SAFETY: the library context is live and the name ends with a zero; the context holds its KDF.
        unsafe {
            let kdf = (calls.EVP_KDF_fetch)(self.ctx(), name.as_ptr(), ptr::null());
            let context = (calls.EVP_KDF_CTX_new)(kdf);
            (calls.EVP_KDF_free)(kdf);
            self.made(context, calls.EVP_KDF_CTX_free)
        }
    }

    /// Derives up to 64 bytes.
    fn derived(
        &self,
        context: &Made<KdfContext>,
        params: &[Param],
        bytes: usize,
    ) -> Option<[u8; 64]> {
        let mut secret = [0; 64];
        let (derive, bytes) = (self.calls.EVP_KDF_derive, bytes.min(secret.len()));
        // SAFETY: the context is live; the parameters end with an entry without a key; the place has as many bytes.
        let derived = unsafe {
            let place = secret.as_mut_ptr();
            derive(context.object(), place, bytes, params.as_ptr())
        };
        (derived == 1).then_some(secret)
    }

    pub(super) fn label(self: &Rc<Self>, label: &Label) -> bool {
        let mode = if label.is_extracted {
            EXTRACT_ONLY
        } else {
            EXPAND_ONLY
        };
        let [mode, digest] = [
            Param::int(c"mode", &mode),
            Param::utf8(c"digest", c"SHA256"),
        ];
        let key = Param::octets(c"key", &SECRET);
        let prefix = Param::octets(c"prefix", b"tls13 ");
        let name = Param::octets(c"label", label.name);
        let params = match label {
            Label {
                is_extracted: true, ..
            } => {
                let salt = Param::octets(c"salt", &SECRET);
                [mode, digest, key, salt, prefix, name, Param::END]
            }
            Label {
                data: Some(data), ..
            } => {
                let data = Param::octets(c"data", data);
                [mode, digest, key, prefix, name, data, Param::END]
            }
            _ => [mode, digest, key, prefix, name, Param::END, Param::END],
        };
        let context = self.kdf_context(c"TLS13-KDF");
        context.is_some_and(|context| self.derived(&context, &params, label.bytes).is_some())
    }

    pub(super) fn hkdf(&self, context: &Made<KdfContext>) -> Option<[u8; 64]> {
        let params = [
            Param::utf8(c"digest", c"SHA256"),
            Param::octets(c"key", &SECRET),
            Param::octets(c"salt", &SECRET),
            Param::octets(c"info", b"about"),
            Param::END,
        ];
        self.derived(context, &params, 64)
    }

    pub(super) fn hmac(self: &Rc<Self>) -> Option<Made<Mac>> {
        // SAFETY: the library context is live and the name ends with a zero; it makes a new reference.
        unsafe {
            let mac = (self.calls.EVP_MAC_fetch)(self.ctx(), c"HMAC".as_ptr(), ptr::null());
            self.made(mac, self.calls.EVP_MAC_free)
        }
    }

    pub(super) fn mac_context(self: &Rc<Self>, mac: &Made<Mac>) -> Option<Made<MacContext>> {
        // SAFETY: the MAC is live; it makes a new context.
        unsafe {
            let context = (self.calls.EVP_MAC_CTX_new)(mac.object());
            self.made(context, self.calls.EVP_MAC_CTX_free)
        }
    }

    /// With a key, and a digest if the context `is_new`.
    pub(super) fn tag(&self, context: &Made<MacContext>, is_new: bool) -> Option<[u8; 64]> {
        let (calls, context) = (&self.calls, context.object());
        let digest = [Param::utf8(c"digest", c"SHA256"), Param::END];
        let params = if is_new { digest.as_ptr() } else { ptr::null() };
        let (mut tag, mut bytes) = ([0; 64], 0);
        // SAFETY: the context is live; lengths are those of their places.
        let done = unsafe {
            (calls.EVP_MAC_init)(context, SECRET.as_ptr(), SECRET.len(), params) == 1
                && (calls.EVP_MAC_update)(context, MESSAGE.as_ptr(), MESSAGE.len()) == 1
                && (calls.EVP_MAC_final)(context, tag.as_mut_ptr(), &mut bytes, tag.len()) == 1
        };
        done.then_some(tag)
    }

    pub(super) fn binder(self: &Rc<Self>) -> Option<[u8; 64]> {
        let (calls, none) = (&self.calls, ptr::null());
        let (secret, length) = (SECRET.as_ptr(), SECRET.len());
        let (mut tag, mut bytes) = ([0; 64], 64);
        // SAFETY: the library context is live, names end with a zero, lengths are those of their places.
        unsafe {
            let new = calls.EVP_PKEY_new_raw_private_key_ex;
            let key = new(self.ctx(), c"HMAC".as_ptr(), none, secret, length);
            let key: Made<Key> = self.made(key, calls.EVP_PKEY_free)?;
            let context = self.digest_context()?;
            let (context, digest) = (context.object(), c"SHA256".as_ptr());
            let (nowhere, init) = (ptr::null_mut(), calls.EVP_DigestSignInit_ex);
            let done = init(
                context,
                nowhere,
                digest,
                self.ctx(),
                none,
                key.object(),
                ptr::null(),
            ) == 1
                && (calls.EVP_DigestSignUpdate)(context, secret.cast(), length) == 1
                && (calls.EVP_DigestSignFinal)(context, tag.as_mut_ptr(), &mut bytes) == 1;
            done.then_some(tag)
        }
    }
}

/// What is derived by the label `name`.
pub(super) struct Label {
    /// From a secret and a salt, or expanded from a secret.
    is_extracted: bool,
    name: &'static [u8],
    data: Option<&'static [u8]>,
    bytes: usize,
}

const fn expanded(name: &'static [u8], data: Option<&'static [u8]>, bytes: usize) -> Label {
    Label {
        is_extracted: false,
        name,
        data,
        bytes,
    }
}

pub(super) const LABEL: Label = expanded(b"s hs traffic", Some(&SECRET), 32);
const EXTRACTED: Label = Label {
    is_extracted: true,
    ..expanded(b"derived", None, 32)
};
const FINISHED: Label = expanded(b"finished", None, 32);
const KEY: Label = expanded(b"key", None, 16);
const IV: Label = expanded(b"iv", None, 12);
const TICKET: Label = expanded(b"resumption", Some(&[0; 8]), 32);
/// In no order that matters (RFC 8446, 7.1).
pub(super) const SCHEDULE: [Label; 22] = [
    EXTRACTED,
    EXTRACTED,
    EXTRACTED,
    expanded(b"c hs traffic", Some(&SECRET), 32),
    expanded(b"s hs traffic", Some(&SECRET), 32),
    FINISHED,
    FINISHED,
    FINISHED,
    KEY,
    IV,
    KEY,
    IV,
    expanded(b"c ap traffic", Some(&SECRET), 32),
    expanded(b"s ap traffic", Some(&SECRET), 32),
    expanded(b"exp master", Some(&SECRET), 32),
    KEY,
    IV,
    KEY,
    IV,
    expanded(b"res master", Some(&SECRET), 32),
    TICKET,
    TICKET,
];
const SECRET: [u8; 32] = [7; 32];
const MESSAGE: [u8; 64] = [5; 64];
/// EVP_KDF_HKDF_MODE_EXTRACT_ONLY, EVP_KDF_HKDF_MODE_EXPAND_ONLY.
const EXTRACT_ONLY: c_int = 1;
const EXPAND_ONLY: c_int = 2;
