//! Keys (EVP_PKEY(3)), signatures, key exchange and encapsulation.

use std::ffi::{CStr, c_int, c_uint, c_void};
use std::ptr::{NonNull, null, null_mut};

use super::library::{PREFERRED, SIDES, errors, libcrypto};
use super::param::{Param, Values};

/// A key in one of the providers.
pub(crate) struct Pkey {
    key: NonNull<c_void>,
    side: usize,
}

/// EVP_PKEY_CTX, freed with this.
struct Context(NonNull<c_void>);

/// EVP_PKEY_KEYPAIR and EVP_PKEY_PUBLIC_KEY.
pub(crate) const PAIR: c_int = 0x87;
pub(crate) const PUBLIC: c_int = 0x86;

impl Pkey {
    /// Takes what an export gives.
    pub(crate) fn of_data(
        name: &CStr,
        side: usize,
        selection: c_int,
        values: &Values,
    ) -> Option<Self> {
        let context = Context::of_name(name, side);
        let mut key = null_mut();
        // SAFETY: a live context, a place for a key, and an array that ends.
        let done = values.with(|params| unsafe {
            let begun = (libcrypto().EVP_PKEY_fromdata_init)(context.0.as_ptr());
            assert_eq!(begun, 1, "{:?} {name:?}", SIDES[side]);
            let from = libcrypto().EVP_PKEY_fromdata;
            from(context.0.as_ptr(), &mut key, selection, params)
        });
        let made = Self::taken(key, side);
        assert!(done != 1 || made.is_some());
        made.filter(|_| done == 1)
    }

    /// A key without anything, as TLS makes it for a peer's share.
    pub(crate) fn blank(name: &CStr, side: usize) -> Self {
        let context = Context::of_name(name, side);
        let mut key = null_mut();
        // SAFETY: a live context, and a place for a key.
        let done = unsafe {
            assert_eq!((libcrypto().EVP_PKEY_paramgen_init)(context.0.as_ptr()), 1);
            (libcrypto().EVP_PKEY_generate)(context.0.as_ptr(), &mut key)
        };
        assert_eq!(done, 1, "{:?} {name:?}", SIDES[side]);
        Self::taken(key, side).expect("a blank key")
    }

    pub(crate) fn raw_public(name: &CStr, side: usize, bytes: &[u8]) -> Option<Self> {
        let (libcrypto, properties) = (libcrypto(), SIDES[side].as_ptr());
        // SAFETY: a live library context, texts that end with a zero, and so many bytes.
        let key = unsafe {
            let new = libcrypto.EVP_PKEY_new_raw_public_key_ex;
            let (first, length) = (bytes.as_ptr(), bytes.len());
            new(libcrypto.context, name.as_ptr(), properties, first, length)
        };
        Self::taken(key, side)
    }

    pub(crate) fn raw_private(name: &CStr, side: usize, bytes: &[u8]) -> Option<Self> {
        let (libcrypto, properties) = (libcrypto(), SIDES[side].as_ptr());
        // SAFETY: a live library context, texts that end with a zero, and so many bytes of a private key.
        let key = unsafe {
            let new = libcrypto.EVP_PKEY_new_raw_private_key_ex;
            let (first, length) = (bytes.as_ptr(), bytes.len());
            new(libcrypto.context, name.as_ptr(), properties, first, length)
        };
        Self::taken(key, side)
    }

    fn taken(key: *mut c_void, side: usize) -> Option<Self> {
        errors();
        NonNull::new(key).map(|key| Self { key, side })
    }

    /// Takes a peer's share into a blank key (EVP_PKEY_set1_encoded_public_key(3)).
    pub(crate) fn set_encoded(&self, share: &[u8]) -> bool {
        // SAFETY: a live key, and so many bytes.
        let done = unsafe {
            let set = libcrypto().EVP_PKEY_set1_encoded_public_key;
            set(self.key.as_ptr(), share.as_ptr(), share.len())
        };
        errors();
        done == 1
    }

    /// Sets parameters of the key.
    pub(crate) fn set(&self, values: &Values) -> bool {
        let (set, key) = (libcrypto().EVP_PKEY_set_params, self.key.as_ptr());
        // SAFETY: a live key, and an array that ends.
        let done = values.with(|params| unsafe { set(key, params) });
        errors();
        done == 1
    }

    /// Octets that the key has under a name, into a place of that many bytes.
    pub(crate) fn octets(&self, name: &CStr, room: usize) -> Option<Vec<u8>> {
        let (mut octets, mut bytes) = (vec![0xa5; room + MARK.len()], usize::MAX);
        octets[room..].copy_from_slice(&MARK);
        // SAFETY: a live key, a text that ends with a zero, a place of so many bytes, and one for a length.
        let done = unsafe {
            let get = libcrypto().EVP_PKEY_get_octet_string_param;
            let place = octets.as_mut_ptr();
            get(self.key.as_ptr(), name.as_ptr(), place, room, &mut bytes)
        };
        errors();
        assert!(
            octets.ends_with(&MARK),
            "{name:?}: written outside of its place"
        );
        (done == 1).then(|| {
            assert!(bytes <= room, "{name:?}: {bytes} bytes in {room}");
            octets.truncate(bytes);
            octets
        })
    }

    /// A number that the key has under a name, in a place of so many bytes.
    pub(crate) fn number(&self, name: &CStr, width: usize) -> Option<u64> {
        let mut place = 0_u64;
        let mut params = [Param::END, Param::END];
        params[0] = Param {
            key: name.as_ptr(),
            data_type: UNSIGNED_INTEGER,
            data: (&raw mut place).cast(),
            data_bytes: width.min(size_of::<u64>()),
            return_bytes: usize::MAX,
        };
        let (get, key) = (libcrypto().EVP_PKEY_get_params, self.key.as_ptr());
        // SAFETY: a live key, and an array that ends, whose place has as many bytes as it says.
        let done = unsafe { get(key, params.as_mut_ptr()) };
        errors();
        (done == 1 && params[0].return_bytes != usize::MAX).then_some(place)
    }

    /// Bits, security bits and the length of the longest output.
    pub(crate) fn sizes(&self) -> (c_int, c_int, c_int) {
        let (libcrypto, key) = (libcrypto(), self.key.as_ptr());
        // SAFETY: a live key, which tells its sizes.
        let sizes = unsafe {
            (
                (libcrypto.EVP_PKEY_get_bits)(key),
                (libcrypto.EVP_PKEY_get_security_bits)(key),
                (libcrypto.EVP_PKEY_get_size)(key),
            )
        };
        errors();
        sizes
    }

    /// Names and octets of an export.
    pub(crate) fn exported(&self, selection: c_int) -> Option<Vec<(String, Vec<u8>)>> {
        let mut params: *mut Param = null_mut();
        // SAFETY: a live key, and a place for an array, which is freed once; names end with a zero, and octets have their size.
        let exported = unsafe {
            let done = (libcrypto().EVP_PKEY_todata)(self.key.as_ptr(), selection, &mut params);
            let mut exported = Vec::new();
            let mut at: *const Param = params;
            while done == 1 && !(*at).key.is_null() {
                let name = CStr::from_ptr((*at).key).to_string_lossy().into_owned();
                let (first, bytes) = ((*at).data.cast::<u8>(), (*at).data_bytes);
                let octets = std::slice::from_raw_parts(first, bytes).to_vec();
                exported.push((name, octets));
                at = at.add(1);
            }
            (libcrypto().OSSL_PARAM_free)(params);
            (done == 1).then_some(exported)
        };
        errors();
        exported
    }

    pub(crate) fn copy(&self) -> Option<Self> {
        // SAFETY: a live key, which is read alone.
        let copy = unsafe { (libcrypto().EVP_PKEY_dup)(self.key.as_ptr()) };
        Self::taken(copy, self.side)
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let compare = libcrypto().EVP_PKEY_eq;
        // SAFETY: live keys, which are read alone.
        let is_same = unsafe { compare(self.key.as_ptr(), other.key.as_ptr()) } == 1;
        errors();
        is_same
    }

    /// Signs a digest.
    pub(crate) fn sign(&self, digest: &[u8]) -> Option<Vec<u8>> {
        let context = Context::of_key(self)?;
        let (mut signature, mut bytes) = (vec![0; ROOM], ROOM);
        // SAFETY: a live context, places with room, and a digest of so many bytes.
        let done = unsafe {
            let sign = libcrypto().EVP_PKEY_sign;
            let at = context.0.as_ptr();
            (libcrypto().EVP_PKEY_sign_init)(at) == 1
                && sign(
                    at,
                    signature.as_mut_ptr(),
                    &mut bytes,
                    digest.as_ptr(),
                    digest.len(),
                ) == 1
        };
        errors();
        signature.truncate(bytes);
        done.then_some(signature)
    }

    /// Whether a signature of a digest is valid; a hash function may be named, which fixes the digest's length.
    pub(crate) fn verifies(&self, hash: Option<&CStr>, digest: &[u8], signature: &[u8]) -> bool {
        let Some(context) = Context::of_key(self) else {
            return false;
        };
        let at = context.0.as_ptr();
        let values = hash.map_or_else(Values::default, |hash| {
            Values::default().text(c"digest", hash.to_bytes())
        });
        // SAFETY: a live context, an array that ends, and as many bytes as are said.
        let done = values.with(|params| unsafe {
            (libcrypto().EVP_PKEY_verify_init)(at) == 1
                && (hash.is_none() || (libcrypto().EVP_PKEY_CTX_set_params)(at, params) == 1)
                && (libcrypto().EVP_PKEY_verify)(
                    at,
                    signature.as_ptr(),
                    signature.len(),
                    digest.as_ptr(),
                    digest.len(),
                ) == 1
        });
        errors();
        done
    }

    /// Whether a signature of a message in pieces is valid.
    pub(crate) fn verifies_message(&self, hash: &CStr, pieces: &[&[u8]], signature: &[u8]) -> bool {
        let (libcrypto, properties) = (libcrypto(), PREFERRED[self.side].as_ptr());
        // SAFETY: a context that nobody else has and is freed once, a live key, texts that end with a zero, and as many bytes
        // as are said.
        let done = unsafe {
            let context = (libcrypto.EVP_MD_CTX_new)();
            let init = libcrypto.EVP_DigestVerifyInit_ex;
            let key = self.key.as_ptr();
            let of = libcrypto.context;
            let begun = init(
                context,
                null_mut(),
                hash.as_ptr(),
                of,
                properties,
                key,
                null(),
            );
            let done = begun == 1
                && pieces.iter().all(|piece| {
                    let (first, bytes) = (piece.as_ptr().cast(), piece.len());
                    (libcrypto.EVP_DigestVerifyUpdate)(context, first, bytes) == 1
                })
                && (libcrypto.EVP_DigestVerifyFinal)(context, signature.as_ptr(), signature.len())
                    == 1;
            (libcrypto.EVP_MD_CTX_free)(context);
            done
        };
        errors();
        done
    }

    /// The secret shared with a peer.
    pub(crate) fn derive(&self, peer: &Self) -> Option<Vec<u8>> {
        let context = Context::of_key(self)?;
        let (mut secret, mut bytes) = (vec![0; ROOM], ROOM);
        // SAFETY: a live context, a live key, and places with room.
        let done = unsafe {
            let at = context.0.as_ptr();
            (libcrypto().EVP_PKEY_derive_init)(at) == 1
                && (libcrypto().EVP_PKEY_derive_set_peer)(at, peer.key.as_ptr()) == 1
                && (libcrypto().EVP_PKEY_derive)(at, secret.as_mut_ptr(), &mut bytes) == 1
        };
        errors();
        secret.truncate(bytes);
        done.then_some(secret)
    }

    /// A ciphertext and the secret that it carries.
    pub(crate) fn encapsulate(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let context = Context::of_key(self)?;
        let (mut ciphertext, mut secret) = (vec![0; ROOM], vec![0; ROOM]);
        let (mut ciphertext_bytes, mut secret_bytes) = (ROOM, ROOM);
        // SAFETY: a live context, and places with room.
        let done = unsafe {
            let at = context.0.as_ptr();
            (libcrypto().EVP_PKEY_encapsulate_init)(at, null()) == 1
                && (libcrypto().EVP_PKEY_encapsulate)(
                    at,
                    ciphertext.as_mut_ptr(),
                    &mut ciphertext_bytes,
                    secret.as_mut_ptr(),
                    &mut secret_bytes,
                ) == 1
        };
        errors();
        ciphertext.truncate(ciphertext_bytes);
        secret.truncate(secret_bytes);
        done.then_some((ciphertext, secret))
    }

    /// The secret that a ciphertext carries, into a place of which `room` bytes are said to be there.
    pub(crate) fn decapsulate(&self, ciphertext: &[u8], room: usize) -> Option<Vec<u8>> {
        let context = Context::of_key(self)?;
        let (mut secret, mut bytes) = (vec![0; ROOM.max(room)], room);
        // SAFETY: a live context, places with room, and a ciphertext of so many bytes.
        let done = unsafe {
            let at = context.0.as_ptr();
            (libcrypto().EVP_PKEY_decapsulate_init)(at, null()) == 1
                && (libcrypto().EVP_PKEY_decapsulate)(
                    at,
                    secret.as_mut_ptr(),
                    &mut bytes,
                    ciphertext.as_ptr(),
                    ciphertext.len(),
                ) == 1
        };
        errors();
        assert!(!done || bytes <= room, "{bytes} bytes in {room}");
        secret.truncate(bytes);
        done.then_some(secret)
    }
}

impl Drop for Pkey {
    fn drop(&mut self) {
        // SAFETY: this reference to the key, which nobody else has.
        unsafe { (libcrypto().EVP_PKEY_free)(self.key.as_ptr()) };
    }
}

impl Context {
    fn of_name(name: &CStr, side: usize) -> Self {
        let (libcrypto, properties) = (libcrypto(), SIDES[side].as_ptr());
        // SAFETY: a live library context, and texts that end with a zero.
        let context = unsafe {
            let new = libcrypto.EVP_PKEY_CTX_new_from_name;
            new(libcrypto.context, name.as_ptr(), properties)
        };
        let context = NonNull::new(context);
        Self(context.unwrap_or_else(|| panic!("{:?} has no {name:?}", SIDES[side])))
    }

    fn of_key(key: &Pkey) -> Option<Self> {
        let (libcrypto, properties) = (libcrypto(), PREFERRED[key.side].as_ptr());
        // SAFETY: the library context is never freed, the key lives as long as `key`, and the properties end with a zero.
        let context = unsafe {
            let new = libcrypto.EVP_PKEY_CTX_new_from_pkey;
            new(libcrypto.context, key.key.as_ptr(), properties)
        };
        NonNull::new(context).map(Self)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: a context of `of_name` or `of_key`, freed here alone.
        unsafe { (libcrypto().EVP_PKEY_CTX_free)(self.0.as_ptr()) };
    }
}

const UNSIGNED_INTEGER: c_uint = 2;
/// More than any signature, secret or ciphertext has.
const ROOM: usize = 4096;
const MARK: [u8; 16] = [0xa7; 16];
