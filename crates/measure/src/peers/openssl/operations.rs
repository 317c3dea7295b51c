//! Operations other than ciphers, as libssl calls them: each with what it fetches and makes for one, and frees.

use std::ffi::{CStr, c_char, c_int, c_long, c_uchar, c_void};
use std::fmt;
use std::ptr;
use std::rc::Rc;

use super::library::{Param, World};
use crate::error::Error;

/// What is done once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// A secret of 32 bytes by a label of TLS 1.3 (`tls13_hkdf_expand`).
    Label,
    /// What one end of a handshake of TLS 1.3 derives: three secrets extracted, nineteen expanded.
    KeySchedule,
    /// 64 bytes by HKDF, extracted and expanded.
    Hkdf,
    /// An HMAC of 64 bytes, in a context that is made for it, or with the same key again in one that is kept.
    Hmac {
        /// Whether the context is kept.
        is_kept: bool,
    },
    /// The binder of a session (`tls_psk_do_binder`): an HMAC by a key of its own.
    Binder,
    /// A key for this agreement, as a client makes one (`ssl_generate_pkey_group`).
    Generate(Agreement),
    /// The same by a context that is kept.
    GenerateAgain(Agreement),
    /// The other end's share, read into a key (`tls_parse_ctos_key_share`).
    Share(Agreement),
    /// The secret of a key and the other end's (`ssl_derive`).
    Derive(Agreement),
    /// The same by a context that is kept with both keys.
    DeriveAgain(Agreement),
    /// A secret and what tells it to the owner of a share (`ssl_encapsulate`), with the share read.
    Encapsulate(Agreement),
    /// The secret that was told (`ssl_decapsulate`).
    Decapsulate(Agreement),
    /// A signature by a key that is kept (`tls_construct_cert_verify`).
    Sign(SigningKey),
    /// The same of a digest, by a context that is kept.
    SignAgain(SigningKey),
    /// A signature verified by a key that is kept (`tls_process_cert_verify`).
    Verify(SigningKey),
    /// The same of a digest, by a context that is kept.
    VerifyAgain(SigningKey),
    /// A public key read from a certificate (`d2i_PUBKEY`).
    ReadPublic(SigningKey),
}

/// A key agreement, or a key encapsulation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Agreement {
    /// RFC 7748.
    X25519,
    /// ECDH of P-256.
    P256,
    /// ML-KEM-768 alone (FIPS 203).
    MlKem768,
    /// With ML-KEM-768, as TLS has it.
    X25519MlKem768,
}

/// A key for signatures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SigningKey {
    /// ECDSA with SHA-256.
    P256,
    /// ECDSA with SHA-384.
    P384,
    /// PKCS#1 v1.5 with SHA-256.
    Rsa2048,
    /// RFC 8032.
    Ed25519,
}

impl Agreement {
    /// The names of the key and of its group.
    fn names(self) -> (&'static CStr, Option<&'static CStr>) {
        match self {
            Self::X25519 => (c"X25519", Some(c"x25519")),
            Self::P256 => (c"EC", Some(c"prime256v1")),
            Self::MlKem768 => (c"ML-KEM-768", None),
            Self::X25519MlKem768 => (c"X25519MLKEM768", None),
        }
    }

    fn is_kem(self) -> bool {
        matches!(self, Self::MlKem768 | Self::X25519MlKem768)
    }
}

/// As in names of cases.
impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::X25519 => "x25519",
            Self::P256 => "ecdh-p256",
            Self::MlKem768 => "ml-kem-768",
            Self::X25519MlKem768 => "hybrid",
        })
    }
}

impl SigningKey {
    /// The names of the key and of its group, and of the digest.
    fn names(self) -> (&'static CStr, Option<&'static CStr>, Option<&'static CStr>) {
        match self {
            Self::P256 => (c"EC", Some(c"P-256"), Some(c"SHA256")),
            Self::P384 => (c"EC", Some(c"P-384"), Some(c"SHA384")),
            Self::Rsa2048 => (c"RSA", None, Some(c"SHA256")),
            Self::Ed25519 => (c"ED25519", None, None),
        }
    }

    /// The digest of some message.
    fn digest(self) -> &'static [u8] {
        match self {
            Self::P384 => &[3; 48],
            _ => &[3; 32],
        }
    }
}

/// As in names of cases.
impl fmt::Display for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::P256 => "p256",
            Self::P384 => "p384",
            Self::Rsa2048 => "rsa-2048",
            Self::Ed25519 => "ed25519",
        })
    }
}

functions! {
    CRYPTO_free: fn(*mut c_void, *const c_char, c_int);
    EVP_KDF_fetch: fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    EVP_KDF_free: fn(*mut c_void);
    EVP_KDF_CTX_new: fn(*mut c_void) -> *mut c_void;
    EVP_KDF_CTX_free: fn(*mut c_void);
    EVP_KDF_derive: fn(*mut c_void, *mut c_uchar, usize, *const Param) -> c_int;
    EVP_MAC_fetch: fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    EVP_MAC_free: fn(*mut c_void);
    EVP_MAC_CTX_new: fn(*mut c_void) -> *mut c_void;
    EVP_MAC_CTX_free: fn(*mut c_void);
    EVP_MAC_init: fn(*mut c_void, *const c_uchar, usize, *const Param) -> c_int;
    EVP_MAC_update: fn(*mut c_void, *const c_uchar, usize) -> c_int;
    EVP_MAC_final: fn(*mut c_void, *mut c_uchar, *mut usize, usize) -> c_int;
    EVP_PKEY_free: fn(*mut c_void);
    EVP_PKEY_new_raw_private_key_ex: fn(*mut c_void, *const c_char, *const c_char, *const c_uchar, usize) -> *mut c_void;
    EVP_PKEY_get1_encoded_public_key: fn(*mut c_void, *mut *mut c_uchar) -> usize;
    EVP_PKEY_set1_encoded_public_key: fn(*mut c_void, *const c_uchar, usize) -> c_int;
    EVP_PKEY_CTX_new_from_name: fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    EVP_PKEY_CTX_new_from_pkey: fn(*mut c_void, *mut c_void, *const c_char) -> *mut c_void;
    EVP_PKEY_CTX_free: fn(*mut c_void);
    EVP_PKEY_CTX_set_group_name: fn(*mut c_void, *const c_char) -> c_int;
    EVP_PKEY_keygen_init: fn(*mut c_void) -> c_int;
    EVP_PKEY_keygen: fn(*mut c_void, *mut *mut c_void) -> c_int;
    EVP_PKEY_paramgen_init: fn(*mut c_void) -> c_int;
    EVP_PKEY_paramgen: fn(*mut c_void, *mut *mut c_void) -> c_int;
    EVP_PKEY_derive_init: fn(*mut c_void) -> c_int;
    EVP_PKEY_derive_set_peer: fn(*mut c_void, *mut c_void) -> c_int;
    EVP_PKEY_derive: fn(*mut c_void, *mut c_uchar, *mut usize) -> c_int;
    EVP_PKEY_encapsulate_init: fn(*mut c_void, *const Param) -> c_int;
    EVP_PKEY_encapsulate: fn(*mut c_void, *mut c_uchar, *mut usize, *mut c_uchar, *mut usize) -> c_int;
    EVP_PKEY_decapsulate_init: fn(*mut c_void, *const Param) -> c_int;
    EVP_PKEY_decapsulate: fn(*mut c_void, *mut c_uchar, *mut usize, *const c_uchar, usize) -> c_int;
    EVP_PKEY_sign_init: fn(*mut c_void) -> c_int;
    EVP_PKEY_sign: fn(*mut c_void, *mut c_uchar, *mut usize, *const c_uchar, usize) -> c_int;
    EVP_PKEY_verify_init: fn(*mut c_void) -> c_int;
    EVP_PKEY_verify: fn(*mut c_void, *const c_uchar, usize, *const c_uchar, usize) -> c_int;
    EVP_MD_CTX_new: fn() -> *mut c_void;
    EVP_MD_CTX_free: fn(*mut c_void);
    EVP_DigestSignInit_ex: fn(*mut c_void, *mut *mut c_void, *const c_char, *mut c_void, *const c_char, *mut c_void, *const c_void) -> c_int;
    EVP_DigestSignUpdate: fn(*mut c_void, *const c_void, usize) -> c_int;
    EVP_DigestSignFinal: fn(*mut c_void, *mut c_uchar, *mut usize) -> c_int;
    EVP_DigestSign: fn(*mut c_void, *mut c_uchar, *mut usize, *const c_uchar, usize) -> c_int;
    EVP_DigestVerifyInit_ex: fn(*mut c_void, *mut *mut c_void, *const c_char, *mut c_void, *const c_char, *mut c_void, *const c_void) -> c_int;
    EVP_DigestVerify: fn(*mut c_void, *const c_uchar, usize, *const c_uchar, usize) -> c_int;
    d2i_PUBKEY_ex: fn(*mut *mut c_void, *mut *const c_uchar, c_long, *mut c_void, *const c_char) -> *mut c_void;
    i2d_PUBKEY: fn(*const c_void, *mut *mut c_uchar) -> c_int;
}

/// Operations of one kind in a library context, with the keys that they take.
pub struct Operations {
    operation: Operation,
    calls: Rc<Functions>,
    /// What is kept from one to the next: keys, or a context.
    kept: Vec<Made>,
    /// A share, a signature, what tells a secret, or a public key in DER.
    data: Vec<u8>,
    /// They go before it.
    world: Rc<World>,
}

/// An object of libcrypto, freed when it goes.
struct Made {
    object: *mut c_void,
    free: unsafe extern "C" fn(*mut c_void),
}

impl Drop for Made {
    fn drop(&mut self) {
        // SAFETY: it came from the function that belongs to this one, and is freed once. Null is nothing.
        unsafe { (self.free)(self.object) }
    }
}

impl Operations {
    /// Makes what they take, and does one.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where `world` does not have it.
    pub(crate) fn new(world: &Rc<World>, operation: Operation) -> Result<Self, Error> {
        let mut made = Self {
            operation,
            calls: Rc::new(Functions::of(world.libcrypto().library())?),
            kept: Vec::new(),
            data: Vec::new(),
            world: Rc::clone(world),
        };
        let is_there = made.prepare() && made.run();
        is_there
            .then_some(made)
            .ok_or_else(|| Error::Unavailable(format!("OpenSSL does not do this: {operation:?}")))
    }

    /// Whether it has what is kept.
    fn prepare(&mut self) -> bool {
        let calls = Rc::clone(&self.calls);
        // SAFETY: objects are live, and names end with a zero.
        unsafe {
            match self.operation {
                Operation::Label | Operation::KeySchedule | Operation::Hkdf | Operation::Binder => {
                    true
                }
                Operation::Hmac { .. } => {
                    let name = c"HMAC".as_ptr();
                    let mac = (calls.EVP_MAC_fetch)(self.world.ctx(), name, ptr::null());
                    let context = (calls.EVP_MAC_CTX_new)(mac);
                    self.keep(mac, calls.EVP_MAC_free);
                    self.keep(context, calls.EVP_MAC_CTX_free);
                    self.is_kept() && self.hmac_in(context, true)
                }
                Operation::Generate(_) => true,
                Operation::GenerateAgain(agreement) => {
                    let (name, group) = agreement.names();
                    let init = calls.EVP_PKEY_keygen_init;
                    self.kept = vec![self.context_by_name(name, group, init)];
                    self.is_kept()
                }
                Operation::Share(agreement)
                | Operation::Derive(agreement)
                | Operation::DeriveAgain(agreement)
                | Operation::Encapsulate(agreement)
                | Operation::Decapsulate(agreement) => {
                    let [own, other] = [self.generate(agreement), self.generate(agreement)];
                    if own.object.is_null() || other.object.is_null() {
                        return false;
                    }
                    self.data = self.share_of(&other);
                    match self.operation {
                        Operation::Decapsulate(_) => {
                            // The first is what tells the secret to the second.
                            let Some((told, _)) = self.encapsulate(agreement) else {
                                return false;
                            };
                            self.data = told;
                            self.kept = vec![other];
                        }
                        Operation::DeriveAgain(_) => {
                            let context = self.context_of(&own);
                            let is_set = (calls.EVP_PKEY_derive_init)(context.object) == 1
                                && (calls.EVP_PKEY_derive_set_peer)(context.object, other.object)
                                    == 1;
                            self.kept = vec![context, own, other];
                            return is_set;
                        }
                        _ => self.kept = vec![own, other],
                    }
                    true
                }
                Operation::Sign(kind)
                | Operation::SignAgain(kind)
                | Operation::Verify(kind)
                | Operation::VerifyAgain(kind)
                | Operation::ReadPublic(kind) => {
                    let (name, group, _) = kind.names();
                    let key = self.generate_by_name(name, group);
                    if key.object.is_null() {
                        return false;
                    }
                    self.kept = vec![key];
                    self.prepare_signatures(kind)
                }
            }
        }
    }

    /// # Safety
    /// A key of this kind is kept.
    unsafe fn prepare_signatures(&mut self, kind: SigningKey) -> bool {
        let calls = Rc::clone(&self.calls);
        let key = self.kept[0].object;
        // SAFETY: the key is live, and a place is as long as is said.
        unsafe {
            let init = match self.operation {
                Operation::ReadPublic(_) => {
                    self.data = vec![0; BYTES_MAX];
                    let bytes = (calls.i2d_PUBKEY)(key, &mut self.data.as_mut_ptr());
                    self.data
                        .truncate(usize::try_from(bytes).unwrap_or_default());
                    return !self.data.is_empty();
                }
                Operation::SignAgain(_) => calls.EVP_PKEY_sign_init,
                Operation::VerifyAgain(_) => calls.EVP_PKEY_verify_init,
                _ => {
                    let Some(signature) = self.sign(kind) else {
                        return false;
                    };
                    self.data = signature;
                    return true;
                }
            };
            let digest = kind.digest();
            let signing = self.context_of(&self.kept[0]);
            let mut signature = [0; BYTES_MAX];
            let mut bytes = signature.len();
            let signed = (calls.EVP_PKEY_sign_init)(signing.object) == 1
                && (calls.EVP_PKEY_sign)(
                    signing.object,
                    signature.as_mut_ptr(),
                    &mut bytes,
                    digest.as_ptr(),
                    digest.len(),
                ) == 1;
            self.data = signature[..bytes.min(BYTES_MAX)].to_vec();
            let context = self.context_of(&self.kept[0]);
            let is_set = signed && init(context.object) == 1;
            self.kept.insert(0, context);
            is_set
        }
    }

    /// Does one; whether it was done.
    pub fn run(&mut self) -> bool {
        // SAFETY: `prepare` has made what each of them takes.
        unsafe {
            match self.operation {
                Operation::Label => self.label(&LABEL),
                Operation::KeySchedule => SCHEDULE.iter().all(|label| self.label(label)),
                Operation::Hkdf => self.hkdf(),
                Operation::Hmac { is_kept: true } => self.hmac_in(self.kept[1].object, false),
                Operation::Hmac { is_kept: false } => {
                    let context = Made {
                        object: (self.calls.EVP_MAC_CTX_new)(self.kept[0].object),
                        free: self.calls.EVP_MAC_CTX_free,
                    };
                    self.hmac_in(context.object, true)
                }
                Operation::Binder => self.binder(),
                Operation::Generate(agreement) => !self.generate(agreement).object.is_null(),
                Operation::GenerateAgain(_) => {
                    let key = self.made_in(&self.kept[0], self.calls.EVP_PKEY_keygen);
                    !key.object.is_null()
                }
                Operation::Share(agreement) => self.read_share(agreement).is_some(),
                Operation::Derive(_) => self.derive(),
                Operation::DeriveAgain(_) => self.derive_in(self.kept[0].object),
                Operation::Encapsulate(agreement) => self.encapsulate(agreement).is_some(),
                Operation::Decapsulate(_) => self.decapsulate(),
                Operation::Sign(kind) => self.sign(kind).is_some(),
                Operation::SignAgain(kind) => self.sign_again(kind),
                Operation::Verify(kind) => self.verify(kind),
                Operation::VerifyAgain(kind) => self.verify_again(kind),
                Operation::ReadPublic(_) => self.read_public(),
            }
        }
    }

    fn keep(&mut self, object: *mut c_void, free: unsafe extern "C" fn(*mut c_void)) {
        self.kept.push(Made { object, free });
    }

    fn is_kept(&self) -> bool {
        self.kept.iter().all(|made| !made.object.is_null())
    }

    fn key(&self, object: *mut c_void) -> Made {
        Made {
            object,
            free: self.calls.EVP_PKEY_free,
        }
    }

    /// # Safety
    /// None but that the world is live, which `self` keeps.
    unsafe fn derived(&self, name: &CStr, params: &[Param], bytes: usize) -> bool {
        let calls = &self.calls;
        let mut secret = [0; BYTES_MAX];
        // SAFETY: the world is live; the name ends with a zero and the parameters with an entry without a key.
        unsafe {
            let kdf = (calls.EVP_KDF_fetch)(self.world.ctx(), name.as_ptr(), ptr::null());
            let context = Made {
                object: (calls.EVP_KDF_CTX_new)(kdf),
                free: calls.EVP_KDF_CTX_free,
            };
            (calls.EVP_KDF_free)(kdf);
            !context.object.is_null()
                && (calls.EVP_KDF_derive)(
                    context.object,
                    secret.as_mut_ptr(),
                    bytes,
                    params.as_ptr(),
                ) == 1
        }
    }

    /// # Safety
    /// As [`derived`](Self::derived).
    unsafe fn label(&self, label: &Label) -> bool {
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
            } => [
                mode,
                digest,
                key,
                prefix,
                name,
                Param::octets(c"data", data),
                Param::END,
            ],
            _ => [mode, digest, key, prefix, name, Param::END, Param::END],
        };
        // SAFETY: as the caller says.
        unsafe { self.derived(c"TLS13-KDF", &params, label.bytes) }
    }

    /// # Safety
    /// As [`derived`](Self::derived).
    unsafe fn hkdf(&self) -> bool {
        let params = [
            Param::utf8(c"digest", c"SHA256"),
            Param::octets(c"key", &SECRET),
            Param::octets(c"salt", &SECRET),
            Param::octets(c"info", b"about"),
            Param::END,
        ];
        // SAFETY: as the caller says.
        unsafe { self.derived(c"HKDF", &params, 64) }
    }

    /// # Safety
    /// `context` is one of EVP_MAC, live, or null; it has a digest unless `is_new`.
    unsafe fn hmac_in(&self, context: *mut c_void, is_new: bool) -> bool {
        let calls = &self.calls;
        let digest = [Param::utf8(c"digest", c"SHA256"), Param::END];
        let params = if is_new { digest.as_ptr() } else { ptr::null() };
        let (mut tag, mut bytes) = ([0; 64], 0);
        // SAFETY: the caller says what the context is; lengths are those of their places.
        unsafe {
            !context.is_null()
                && (calls.EVP_MAC_init)(context, SECRET.as_ptr(), SECRET.len(), params) == 1
                && (calls.EVP_MAC_update)(context, MESSAGE.as_ptr(), MESSAGE.len()) == 1
                && (calls.EVP_MAC_final)(context, tag.as_mut_ptr(), &mut bytes, tag.len()) == 1
        }
    }

    /// # Safety
    /// As [`derived`](Self::derived).
    unsafe fn binder(&self) -> bool {
        let (calls, world) = (&self.calls, self.world.ctx());
        let (no_context, none) = (ptr::null_mut(), ptr::null());
        let (mut tag, mut bytes) = ([0; 64], 64);
        // SAFETY: the world is live, names end with a zero, lengths are those of their places.
        unsafe {
            let (secret, length) = (SECRET.as_ptr(), SECRET.len());
            let name = c"HMAC".as_ptr();
            let key = self.key((calls.EVP_PKEY_new_raw_private_key_ex)(
                world, name, none, secret, length,
            ));
            let context = self.digest_context();
            let digest = c"SHA256".as_ptr();
            let init = calls.EVP_DigestSignInit_ex;
            !key.object.is_null()
                && init(
                    context.object,
                    no_context,
                    digest,
                    world,
                    none,
                    key.object,
                    ptr::null(),
                ) == 1
                && (calls.EVP_DigestSignUpdate)(context.object, secret.cast(), length) == 1
                && (calls.EVP_DigestSignFinal)(context.object, tag.as_mut_ptr(), &mut bytes) == 1
        }
    }

    /// A context of EVP_MD_CTX.
    fn digest_context(&self) -> Made {
        Made {
            // SAFETY: takes nothing.
            object: unsafe { (self.calls.EVP_MD_CTX_new)() },
            free: self.calls.EVP_MD_CTX_free,
        }
    }

    /// A context for this key, or null.
    ///
    /// # Safety
    /// The key is live.
    unsafe fn context_of(&self, key: &Made) -> Made {
        let (new, world) = (self.calls.EVP_PKEY_CTX_new_from_pkey, self.world.ctx());
        Made {
            // SAFETY: the world is live, and the caller says so of the key.
            object: unsafe { new(world, key.object, ptr::null()) },
            free: self.calls.EVP_PKEY_CTX_free,
        }
    }

    /// # Safety
    /// As [`derived`](Self::derived).
    unsafe fn generate(&self, agreement: Agreement) -> Made {
        let (name, group) = agreement.names();
        // SAFETY: as the caller says.
        unsafe { self.generate_by_name(name, group) }
    }

    /// A new key, or null.
    ///
    /// # Safety
    /// As [`derived`](Self::derived).
    unsafe fn generate_by_name(&self, name: &CStr, group: Option<&CStr>) -> Made {
        let calls = &self.calls;
        // SAFETY: as the caller says.
        unsafe {
            let context = self.context_by_name(name, group, calls.EVP_PKEY_keygen_init);
            self.made_in(&context, calls.EVP_PKEY_keygen)
        }
    }

    /// A context that makes keys of this name, or null.
    ///
    /// # Safety
    /// As [`derived`](Self::derived); the function takes a new context.
    unsafe fn context_by_name(
        &self,
        name: &CStr,
        group: Option<&CStr>,
        init: unsafe extern "C" fn(*mut c_void) -> c_int,
    ) -> Made {
        let calls = &self.calls;
        // SAFETY: the world is live; names end with a zero.
        unsafe {
            let (new, set) = (
                calls.EVP_PKEY_CTX_new_from_name,
                calls.EVP_PKEY_CTX_set_group_name,
            );
            let mut context = Made {
                object: new(self.world.ctx(), name.as_ptr(), ptr::null()),
                free: calls.EVP_PKEY_CTX_free,
            };
            let is_set = !context.object.is_null()
                && init(context.object) == 1
                && group.is_none_or(|group| set(context.object, group.as_ptr()) == 1);
            if !is_set {
                (context.free)(context.object);
                context.object = ptr::null_mut();
            }
            context
        }
    }

    /// A key that this context makes, or null.
    ///
    /// # Safety
    /// The context is live or null, and was made ready for this function.
    unsafe fn made_in(
        &self,
        context: &Made,
        make: unsafe extern "C" fn(*mut c_void, *mut *mut c_void) -> c_int,
    ) -> Made {
        let mut key = ptr::null_mut();
        // SAFETY: the caller says so. A key that was not made stays null.
        if !context.object.is_null() && unsafe { make(context.object, &mut key) } != 1 {
            key = ptr::null_mut();
        }
        self.key(key)
    }

    /// # Safety
    /// The key is live.
    unsafe fn share_of(&self, key: &Made) -> Vec<u8> {
        let mut place = ptr::null_mut();
        // SAFETY: the caller says that the key is live; what was made has as many bytes and is freed once.
        unsafe {
            let bytes = (self.calls.EVP_PKEY_get1_encoded_public_key)(key.object, &mut place);
            let share = match place.is_null() {
                true => Vec::new(),
                false => std::slice::from_raw_parts(place, bytes).to_vec(),
            };
            (self.calls.CRYPTO_free)(place.cast(), c"".as_ptr(), 0);
            share
        }
    }

    /// # Safety
    /// As [`derived`](Self::derived).
    unsafe fn read_share(&self, agreement: Agreement) -> Option<Made> {
        let (name, group) = agreement.names();
        let calls = &self.calls;
        // SAFETY: the world is live, and the share has its length.
        unsafe {
            let context = self.context_by_name(name, group, calls.EVP_PKEY_paramgen_init);
            let blank = self.made_in(&context, calls.EVP_PKEY_paramgen);
            let set = calls.EVP_PKEY_set1_encoded_public_key;
            let is_set = !blank.object.is_null()
                && set(blank.object, self.data.as_ptr(), self.data.len()) == 1;
            is_set.then_some(blank)
        }
    }

    /// # Safety
    /// Two keys are kept.
    unsafe fn derive(&self) -> bool {
        let calls = &self.calls;
        // SAFETY: the keys are live.
        unsafe {
            let context = self.context_of(&self.kept[0]);
            !context.object.is_null()
                && (calls.EVP_PKEY_derive_init)(context.object) == 1
                && (calls.EVP_PKEY_derive_set_peer)(context.object, self.kept[1].object) == 1
                && (calls.EVP_PKEY_derive)(context.object, ptr::null_mut(), &mut 0) == 1
                && self.derive_in(context.object)
        }
    }

    /// # Safety
    /// The context has both keys.
    unsafe fn derive_in(&self, context: *mut c_void) -> bool {
        let mut secret = [0; 64];
        // SAFETY: the context is live; the place has as many bytes as are said.
        unsafe {
            (self.calls.EVP_PKEY_derive)(context, secret.as_mut_ptr(), &mut secret.len()) == 1
        }
    }

    /// Gives what tells the secret, and the secret.
    ///
    /// # Safety
    /// As [`derived`](Self::derived).
    unsafe fn encapsulate(&self, agreement: Agreement) -> Option<(Vec<u8>, Vec<u8>)> {
        let calls = &self.calls;
        let encapsulate = calls.EVP_PKEY_encapsulate;
        // SAFETY: the key is live, and places are as long as they were asked to be.
        unsafe {
            if !agreement.is_kem() {
                return None;
            }
            let share = self.read_share(agreement)?;
            let context = self.context_of(&share);
            let (nowhere, mut told_bytes, mut secret_bytes) = (ptr::null_mut(), 0, 0);
            if context.object.is_null()
                || (calls.EVP_PKEY_encapsulate_init)(context.object, ptr::null()) != 1
                || encapsulate(
                    context.object,
                    nowhere,
                    &mut told_bytes,
                    nowhere,
                    &mut secret_bytes,
                ) != 1
            {
                return None;
            }
            let (mut told, mut secret) = (vec![0; told_bytes], vec![0; secret_bytes]);
            let done = encapsulate(
                context.object,
                told.as_mut_ptr(),
                &mut told_bytes,
                secret.as_mut_ptr(),
                &mut secret_bytes,
            );
            (done == 1).then_some((told, secret))
        }
    }

    /// # Safety
    /// A key is kept, and the data tell it a secret.
    unsafe fn decapsulate(&self) -> bool {
        let calls = &self.calls;
        let decapsulate = calls.EVP_PKEY_decapsulate;
        let (told, told_bytes) = (self.data.as_ptr(), self.data.len());
        // SAFETY: the key is live, and places are as long as they were asked to be.
        unsafe {
            let context = self.context_of(&self.kept[0]);
            let mut bytes = 0;
            if context.object.is_null()
                || (calls.EVP_PKEY_decapsulate_init)(context.object, ptr::null()) != 1
                || decapsulate(
                    context.object,
                    ptr::null_mut(),
                    &mut bytes,
                    told,
                    told_bytes,
                ) != 1
            {
                return false;
            }
            let mut secret = vec![0; bytes];
            decapsulate(
                context.object,
                secret.as_mut_ptr(),
                &mut bytes,
                told,
                told_bytes,
            ) == 1
        }
    }

    /// # Safety
    /// A key of this kind is kept.
    unsafe fn sign(&self, kind: SigningKey) -> Option<Vec<u8>> {
        let (calls, world) = (&self.calls, self.world.ctx());
        let mut bytes = 0;
        let (no_context, none) = (ptr::null_mut(), ptr::null());
        let digest = kind.names().2.map_or(ptr::null(), CStr::as_ptr);
        let (init, sign) = (calls.EVP_DigestSignInit_ex, calls.EVP_DigestSign);
        let (message, length) = (SIGNED.as_ptr(), SIGNED.len());
        // SAFETY: the key is live, and the place is as long as it was asked to be.
        unsafe {
            let context = self.digest_context();
            let key = self.kept[0].object;
            if init(
                context.object,
                no_context,
                digest,
                world,
                none,
                key,
                ptr::null(),
            ) != 1
                || sign(context.object, ptr::null_mut(), &mut bytes, message, length) != 1
            {
                return None;
            }
            let mut signature = vec![0; bytes];
            let signed = sign(
                context.object,
                signature.as_mut_ptr(),
                &mut bytes,
                message,
                length,
            );
            signature.truncate(bytes);
            (signed == 1).then_some(signature)
        }
    }

    /// # Safety
    /// A context that signs is kept.
    unsafe fn sign_again(&self, kind: SigningKey) -> bool {
        let digest = kind.digest();
        let mut signature = [0; BYTES_MAX];
        let mut bytes = signature.len();
        // SAFETY: the context is live; lengths are those of their places.
        unsafe {
            let context = self.kept[0].object;
            let (place, from) = (signature.as_mut_ptr(), digest.as_ptr());
            (self.calls.EVP_PKEY_sign)(context, place, &mut bytes, from, digest.len()) == 1
        }
    }

    /// # Safety
    /// A key of this kind is kept, and the data are a signature.
    unsafe fn verify(&self, kind: SigningKey) -> bool {
        let (calls, world) = (&self.calls, self.world.ctx());
        let (no_context, none) = (ptr::null_mut(), ptr::null());
        let digest = kind.names().2.map_or(ptr::null(), CStr::as_ptr);
        let (init, verify) = (calls.EVP_DigestVerifyInit_ex, calls.EVP_DigestVerify);
        let (signature, bytes) = (self.data.as_ptr(), self.data.len());
        // SAFETY: the key is live; lengths are those of their places.
        unsafe {
            let context = self.digest_context();
            let key = self.kept[0].object;
            init(
                context.object,
                no_context,
                digest,
                world,
                none,
                key,
                ptr::null(),
            ) == 1
                && verify(
                    context.object,
                    signature,
                    bytes,
                    SIGNED.as_ptr(),
                    SIGNED.len(),
                ) == 1
        }
    }

    /// # Safety
    /// A context that verifies is kept, and the data are a signature.
    unsafe fn verify_again(&self, kind: SigningKey) -> bool {
        let digest = kind.digest();
        let (signature, bytes) = (self.data.as_ptr(), self.data.len());
        let verify = self.calls.EVP_PKEY_verify;
        // SAFETY: the context is live; lengths are those of their places.
        unsafe {
            verify(
                self.kept[0].object,
                signature,
                bytes,
                digest.as_ptr(),
                digest.len(),
            ) == 1
        }
    }

    /// # Safety
    /// The data are a public key.
    unsafe fn read_public(&self) -> bool {
        let mut from = self.data.as_ptr();
        let bytes = c_long::try_from(self.data.len()).unwrap_or_default();
        let (none, world) = (ptr::null_mut(), self.world.ctx());
        // SAFETY: there are as many bytes as are said.
        let key = unsafe { (self.calls.d2i_PUBKEY_ex)(none, &mut from, bytes, world, ptr::null()) };
        !self.key(key).object.is_null()
    }
}

/// What is derived by the label `name`.
struct Label {
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

const LABEL: Label = expanded(b"s hs traffic", Some(&SECRET), 32);
const EXTRACTED: Label = Label {
    is_extracted: true,
    ..expanded(b"derived", None, 32)
};
const FINISHED: Label = expanded(b"finished", None, 32);
const KEY: Label = expanded(b"key", None, 16);
const IV: Label = expanded(b"iv", None, 12);
const TICKET: Label = expanded(b"resumption", Some(&[0; 8]), 32);
/// In no order that matters (RFC 8446, 7.1).
const SCHEDULE: [Label; 22] = [
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
/// As long as what a server of TLS 1.3 signs with SHA-256 (RFC 8446, 4.4.3).
const SIGNED: [u8; 130] = [6; 130];
/// The most bytes of a signature, of a public key in DER, and of a secret.
const BYTES_MAX: usize = 1024;
/// EVP_KDF_HKDF_MODE_EXTRACT_ONLY, EVP_KDF_HKDF_MODE_EXPAND_ONLY.
const EXTRACT_ONLY: c_int = 1;
const EXPAND_ONLY: c_int = 2;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::library::Libcrypto;
    use super::*;

    /// Stock, whatever release it is: only ML-KEM may be missing.
    #[test]
    fn openssl_does_every_operation() {
        let world = World::new(&Arc::new(Libcrypto::load().unwrap()), None).unwrap();
        let of_agreement = |agreement| {
            [
                Operation::Generate(agreement),
                Operation::GenerateAgain(agreement),
                Operation::Share(agreement),
                Operation::Derive(agreement),
                Operation::DeriveAgain(agreement),
                Operation::Encapsulate(agreement),
                Operation::Decapsulate(agreement),
            ]
        };
        let of_key = |kind| {
            [
                Operation::Sign(kind),
                Operation::Verify(kind),
                Operation::ReadPublic(kind),
            ]
        };
        let mut all = vec![
            Operation::Label,
            Operation::KeySchedule,
            Operation::Hkdf,
            Operation::Hmac { is_kept: false },
            Operation::Hmac { is_kept: true },
            Operation::Binder,
            Operation::SignAgain(SigningKey::P256),
            Operation::VerifyAgain(SigningKey::P256),
        ];
        for agreement in [Agreement::X25519, Agreement::P256] {
            // Neither is a KEM as libssl takes one.
            all.extend(&of_agreement(agreement)[..5]);
            for operation in &of_agreement(agreement)[5..] {
                assert!(
                    Operations::new(&world, *operation).is_err(),
                    "{operation:?}"
                );
            }
        }
        for kind in [
            SigningKey::P256,
            SigningKey::P384,
            SigningKey::Rsa2048,
            SigningKey::Ed25519,
        ] {
            all.extend(of_key(kind));
        }
        if Operations::new(&world, Operation::Generate(Agreement::MlKem768)).is_ok() {
            for agreement in [Agreement::MlKem768, Agreement::X25519MlKem768] {
                let kem = of_agreement(agreement);
                all.extend([kem[0], kem[1], kem[2], kem[5], kem[6]]);
            }
        }
        for operation in all {
            let mut operations = Operations::new(&world, operation).unwrap();
            assert!(operations.run() && operations.run(), "{operation:?}");
        }
    }
}
