//! What calls are made of: the functions of libcrypto, each with objects that are freed when they go.

use std::ffi::{CStr, c_char, c_int, c_long, c_uchar, c_void};
use std::ptr::{null, null_mut};

use oarlock_engine::Primitive;

use super::super::library::Param;
use super::{
    Call, Caller, EXPAND_ONLY, EXTRACT_ONLY, KEY, MESSAGE, OUTPUT_BYTES, Once, Owned, SHORT_BYTES,
    SIGNED_BYTES, What, name_of,
};

impl Caller {
    pub(super) fn derives<'a>(&'a self, call: Call) -> Once<'a> {
        let digest = Param::utf8(c"digest", call.digest);
        let secret = &MESSAGE[..call.digest_bytes()];
        let (name, params, bytes) = match (call.primitive, call.at) {
            (Primitive::Tls13Kdf, 0) => {
                let params = vec![
                    Param::int(c"mode", &EXTRACT_ONLY),
                    digest,
                    Param::octets(c"key", secret),
                    Param::octets(c"salt", secret),
                    Param::octets(c"prefix", b"tls13 "),
                    Param::octets(c"label", b"derived"),
                    Param::END,
                ];
                (c"TLS13-KDF", params, secret.len())
            }
            (Primitive::Tls13Kdf, _) => {
                let params = vec![
                    Param::int(c"mode", &EXPAND_ONLY),
                    digest,
                    Param::octets(c"key", secret),
                    Param::octets(c"prefix", b"tls13 "),
                    Param::octets(c"label", b"c hs traffic"),
                    Param::octets(c"data", secret),
                    Param::END,
                ];
                (c"TLS13-KDF", params, secret.len())
            }
            (Primitive::Hkdf, _) => {
                let params = vec![
                    digest,
                    Param::octets(c"key", secret),
                    Param::octets(c"salt", secret),
                    Param::octets(c"info", b"a purpose"),
                    Param::END,
                ];
                (c"HKDF", params, 32)
            }
            _ => {
                let params = vec![
                    digest,
                    Param::octets(c"secret", &MESSAGE[..48]),
                    Param::octets(c"seed", b"master secret"),
                    Param::octets(c"seed", &MESSAGE[..32]),
                    Param::octets(c"seed", &MESSAGE[..32]),
                    Param::END,
                ];
                (c"TLS1-PRF", params, 48)
            }
        };
        Box::new(move |output| {
            let calls = &self.calls;
            // SAFETY: the library context is live; texts and the array of parameters end as they have to, and what the
            // array points to is static; the output is longer than what is asked for.
            unsafe {
                let kdf = (calls.EVP_KDF_fetch)(self.world.ctx(), name.as_ptr(), null());
                let kdf = Owned::new(kdf, calls.EVP_KDF_free)?;
                let context = Owned::new(
                    (calls.EVP_KDF_CTX_new)(kdf.object()),
                    calls.EVP_KDF_CTX_free,
                )?;
                let to = output.as_mut_ptr();
                ((calls.EVP_KDF_derive)(context.object(), to, bytes, params.as_ptr()) == 1)
                    .then_some(bytes)
            }
        })
    }

    pub(super) fn mac(
        &self,
        digest: &'static CStr,
        message: &[u8],
        output: &mut [u8; OUTPUT_BYTES],
    ) -> Option<usize> {
        let mut bytes = 0;
        // SAFETY: the library context is live, texts end with a zero, and lengths are those of their buffers.
        let made = unsafe {
            (self.calls.EVP_Q_mac)(
                self.world.ctx(),
                c"HMAC".as_ptr(),
                null(),
                digest.as_ptr(),
                null(),
                KEY.as_ptr().cast(),
                KEY.len(),
                message.as_ptr(),
                message.len(),
                output.as_mut_ptr(),
                output.len(),
                &mut bytes,
            )
        };
        (!made.is_null()).then_some(bytes)
    }

    /// In a context that is kept.
    pub(super) fn macs(&self, call: Call) -> Option<Once<'_>> {
        let calls = &self.calls;
        let params = [Param::utf8(c"digest", call.digest), Param::END];
        // SAFETY: the library context is live, texts and the array of parameters end as they have to, and the key has
        // this length.
        let kept = unsafe {
            let mac = (calls.EVP_MAC_fetch)(self.world.ctx(), c"HMAC".as_ptr(), null());
            let mac = Owned::new(mac, calls.EVP_MAC_free)?;
            let kept = Owned::new(
                (calls.EVP_MAC_CTX_new)(mac.object()),
                calls.EVP_MAC_CTX_free,
            )?;
            let init = calls.EVP_MAC_init;
            (init(kept.object(), KEY.as_ptr(), KEY.len(), params.as_ptr()) == 1).then_some(kept)?
        };
        let one = move |context: &Owned, output: &mut [u8; OUTPUT_BYTES]| {
            let mut bytes = 0;
            let (message, to) = (MESSAGE.as_ptr(), output.as_mut_ptr());
            // SAFETY: the context is live and has its key; both buffers have these lengths.
            let done = unsafe {
                (calls.EVP_MAC_update)(context.object(), message, SHORT_BYTES) == 1
                    && (calls.EVP_MAC_final)(context.object(), to, &mut bytes, OUTPUT_BYTES) == 1
            };
            done.then_some(bytes)
        };
        Some(match call.what {
            What::MacCopied => Box::new(move |output| {
                // SAFETY: the context is live.
                let copy = unsafe { (calls.EVP_MAC_CTX_dup)(kept.object()) };
                one(&Owned::new(copy, calls.EVP_MAC_CTX_free)?, output)
            }),
            what => {
                let key = match what {
                    What::MacAgain => KEY,
                    _ => &[],
                };
                // Null stands for the key that is there.
                let at = if key.is_empty() { null() } else { key.as_ptr() };
                Box::new(move |output| {
                    let (init, context) = (calls.EVP_MAC_init, kept.object());
                    // SAFETY: the context is live; the key has this length, or is not given.
                    let begun = unsafe { init(context, at, key.len(), null()) };
                    (begun == 1).then(|| one(&kept, output)).flatten()
                })
            }
        })
    }

    /// As libssl computes a binder.
    pub(super) fn mac_by_key(
        &self,
        digest: &'static CStr,
        output: &mut [u8; OUTPUT_BYTES],
    ) -> Option<usize> {
        let calls = &self.calls;
        // SAFETY: the library context is live, the name ends with a zero, and the key has this length.
        let key = unsafe {
            let new = calls.EVP_PKEY_new_raw_private_key_ex;
            let (ctx, name) = (self.world.ctx(), c"HMAC".as_ptr());
            new(ctx, name, null(), KEY.as_ptr(), KEY.len())
        };
        self.signed(&Owned::new(key, calls.EVP_PKEY_free)?, digest, output)
    }

    pub(super) fn context_of(&self, key: &Owned) -> Option<Owned> {
        let calls = &self.calls;
        let (new, ctx) = (calls.EVP_PKEY_CTX_new_from_pkey, self.world.ctx());
        // SAFETY: the library context and the key are live.
        let context = unsafe { new(ctx, key.object(), null()) };
        Owned::new(context, calls.EVP_PKEY_CTX_free)
    }

    pub(super) fn context_named(&self, name: &'static CStr) -> Option<Owned> {
        let calls = &self.calls;
        let (new, ctx) = (calls.EVP_PKEY_CTX_new_from_name, self.world.ctx());
        // SAFETY: the library context is live, and the name ends with a zero.
        let context = unsafe { new(ctx, name.as_ptr(), null()) };
        Owned::new(context, calls.EVP_PKEY_CTX_free)
    }

    pub(super) fn generated(&self, primitive: Primitive) -> Option<Owned> {
        let (name, group) = name_of(primitive)?;
        let context = self.context_named(name)?;
        let calls = &self.calls;
        let mut key = null_mut();
        // SAFETY: the context is live, and the group's name ends with a zero; the place takes a key.
        let made = unsafe {
            (calls.EVP_PKEY_keygen_init)(context.object()) == 1
                && group.is_none_or(|group| {
                    (calls.EVP_PKEY_CTX_set_group_name)(context.object(), group.as_ptr()) == 1
                })
                && (calls.EVP_PKEY_keygen)(context.object(), &mut key) == 1
        };
        made.then(|| Owned::new(key, calls.EVP_PKEY_free)).flatten()
    }

    /// The public half as TLS has it in a share.
    pub(super) fn encoded(&self, key: &Owned) -> Option<Vec<u8>> {
        let mut encoded = null_mut();
        // SAFETY: the key is live; the bytes are OpenSSL's own until they are freed, once.
        unsafe {
            let bytes = (self.calls.EVP_PKEY_get1_encoded_public_key)(key.object(), &mut encoded);
            if bytes == 0 {
                return None;
            }
            let copy = std::slice::from_raw_parts(encoded, bytes).to_vec();
            (self.calls.CRYPTO_free)(encoded.cast(), c"".as_ptr(), 0);
            Some(copy)
        }
    }

    /// As libssl makes a key of a peer's share: of a blank one.
    pub(super) fn shared(&self, primitive: Primitive, share: &[u8]) -> Option<Owned> {
        let (name, _) = name_of(primitive)?;
        let context = self.context_named(name)?;
        let calls = &self.calls;
        let mut key = null_mut();
        // SAFETY: the context is live; the place takes a key.
        let made = unsafe {
            (calls.EVP_PKEY_paramgen_init)(context.object()) == 1
                && (calls.EVP_PKEY_paramgen)(context.object(), &mut key) == 1
        };
        let key = made
            .then(|| Owned::new(key, calls.EVP_PKEY_free))
            .flatten()?;
        let set = calls.EVP_PKEY_set1_encoded_public_key;
        // SAFETY: the key is live, and the share has this length.
        let is_set = unsafe { set(key.object(), share.as_ptr(), share.len()) } == 1;
        is_set.then_some(key)
    }

    /// The same on both sides, so that they agree on the same.
    pub(super) fn own_x25519(&self) -> Option<Owned> {
        let calls = &self.calls;
        let (ctx, name) = (self.world.ctx(), c"X25519".as_ptr());
        // SAFETY: the library context is live, the name ends with a zero, and the key has this length.
        let key = unsafe {
            (calls.EVP_PKEY_new_raw_private_key_ex)(ctx, name, null(), KEY.as_ptr(), KEY.len())
        };
        Owned::new(key, calls.EVP_PKEY_free)
    }

    pub(super) fn agreed(&self, own: &Owned, peer: &Owned, output: &mut [u8]) -> Option<usize> {
        let calls = &self.calls;
        let context = self.context_of(own)?;
        let mut bytes = 0;
        // SAFETY: all are live; the length is asked for first, and the output is longer than any.
        let done = unsafe {
            (calls.EVP_PKEY_derive_init)(context.object()) == 1
                && (calls.EVP_PKEY_derive_set_peer)(context.object(), peer.object()) == 1
                && (calls.EVP_PKEY_derive)(context.object(), null_mut(), &mut bytes) == 1
                && bytes <= output.len()
                && (calls.EVP_PKEY_derive)(context.object(), output.as_mut_ptr(), &mut bytes) == 1
        };
        done.then_some(bytes)
    }

    pub(super) fn signed(
        &self,
        key: &Owned,
        digest: &'static CStr,
        output: &mut [u8; OUTPUT_BYTES],
    ) -> Option<usize> {
        let calls = &self.calls;
        let (world, digest, none) = (self.world.ctx(), digest.as_ptr(), null_mut());
        let (init, sign) = (calls.EVP_DigestSignInit_ex, calls.EVP_DigestSign);
        let mut bytes = output.len();
        // SAFETY: the library context and the key are live, and lengths are those of their buffers.
        unsafe {
            let context = Owned::new((calls.EVP_MD_CTX_new)(), calls.EVP_MD_CTX_free)?;
            let (to, message) = (output.as_mut_ptr(), MESSAGE.as_ptr());
            let done = init(
                context.object(),
                none,
                digest,
                world,
                null(),
                key.object(),
                null(),
            ) == 1
                && sign(context.object(), to, &mut bytes, message, SIGNED_BYTES) == 1;
            done.then_some(bytes)
        }
    }

    pub(super) fn verified(
        &self,
        key: &Owned,
        digest: &'static CStr,
        signature: &[u8],
    ) -> Option<usize> {
        let calls = &self.calls;
        let (world, digest, none) = (self.world.ctx(), digest.as_ptr(), null_mut());
        let (init, verify) = (calls.EVP_DigestVerifyInit_ex, calls.EVP_DigestVerify);
        let (from, bytes) = (signature.as_ptr(), signature.len());
        // SAFETY: the library context and the key are live, and lengths are those of their buffers.
        unsafe {
            let context = Owned::new((calls.EVP_MD_CTX_new)(), calls.EVP_MD_CTX_free)?;
            let done = init(
                context.object(),
                none,
                digest,
                world,
                null(),
                key.object(),
                null(),
            ) == 1
                && verify(
                    context.object(),
                    from,
                    bytes,
                    MESSAGE.as_ptr(),
                    SIGNED_BYTES,
                ) == 1;
            done.then_some(0)
        }
    }

    /// The length of the secret, and what the peer needs to find it.
    pub(super) fn encapsulated(&self, peer: &Owned, secret: &mut [u8]) -> Option<(usize, Vec<u8>)> {
        let calls = &self.calls;
        let context = self.context_of(peer)?;
        let encapsulate = calls.EVP_PKEY_encapsulate;
        let (mut wrapped_bytes, mut bytes) = (0, 0);
        // SAFETY: the context is live; lengths are asked for first.
        let is_begun = unsafe {
            (calls.EVP_PKEY_encapsulate_init)(context.object(), null()) == 1
                && encapsulate(
                    context.object(),
                    null_mut(),
                    &mut wrapped_bytes,
                    null_mut(),
                    &mut bytes,
                ) == 1
        };
        if !is_begun || bytes > secret.len() {
            return None;
        }
        let mut wrapped = vec![0; wrapped_bytes];
        // SAFETY: the context is live, and both places have the lengths that it has told.
        let done = unsafe {
            let (to, secret) = (wrapped.as_mut_ptr(), secret.as_mut_ptr());
            encapsulate(context.object(), to, &mut wrapped_bytes, secret, &mut bytes) == 1
        };
        done.then_some((bytes, wrapped))
    }

    pub(super) fn decapsulated(
        &self,
        own: &Owned,
        wrapped: &[u8],
        secret: &mut [u8],
    ) -> Option<usize> {
        let calls = &self.calls;
        let context = self.context_of(own)?;
        let mut bytes = secret.len();
        // SAFETY: the context is live, and both buffers have these lengths.
        let done = unsafe {
            let (to, from) = (secret.as_mut_ptr(), wrapped.as_ptr());
            (calls.EVP_PKEY_decapsulate_init)(context.object(), null()) == 1
                && (calls.EVP_PKEY_decapsulate)(
                    context.object(),
                    to,
                    &mut bytes,
                    from,
                    wrapped.len(),
                ) == 1
        };
        done.then_some(bytes)
    }

    pub(super) fn decoded(&self, decode: Decode, der: &[u8]) -> Option<Owned> {
        let bytes = c_long::try_from(der.len()).ok()?;
        let (ctx, mut at) = (self.world.ctx(), der.as_ptr());
        // SAFETY: there are as many bytes as are said; null asks for a new key; the library context is live.
        let key = unsafe { decode(null_mut(), &mut at, bytes, ctx, null()) };
        Owned::new(key, self.calls.EVP_PKEY_free)
    }

    /// Without what OpenSSL has cached with the key.
    pub(super) fn copied(&self, key: &Owned) -> Option<Owned> {
        // SAFETY: `key` owns a live key.
        let copy = unsafe { (self.calls.EVP_PKEY_dup)(key.object()) };
        Owned::new(copy, self.calls.EVP_PKEY_free)
    }

    pub(super) fn der(&self, key: &Owned, encode: Encode) -> Option<Vec<u8>> {
        let mut der = vec![0; OUTPUT_BYTES];
        // SAFETY: the key is live, and no key of these types takes as many bytes as there are.
        let bytes = unsafe { encode(key.object(), &mut der.as_mut_ptr()) };
        der.truncate(usize::try_from(bytes).ok()?);
        Some(der)
    }
}

type Decode = unsafe extern "C" fn(
    *mut *mut c_void,
    *mut *const c_uchar,
    c_long,
    *mut c_void,
    *const c_char,
) -> *mut c_void;
type Encode = unsafe extern "C" fn(*const c_void, *mut *mut c_uchar) -> c_int;
