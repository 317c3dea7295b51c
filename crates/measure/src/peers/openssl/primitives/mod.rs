//! Key derivation, MACs, key exchange, signatures and KEMs, call by call as libssl and other programs make them.

mod steps;

use std::ffi::{CStr, CString, c_char, c_int, c_long, c_uchar, c_void};
use std::rc::Rc;
use std::time::{Duration, Instant};

use oarlock_engine::Primitive;

use super::library::{Param, World};
use crate::error::Error;

/// What a program calls for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    primitive: Primitive,
    /// Its place among [`Primitive::calls`].
    pub at: usize,
    what: What,
    digest: &'static CStr,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    /// A KDF is fetched, and derives in a context of its own.
    Derive,
    /// A MAC is fetched for one message of as many bytes (EVP_Q_mac).
    Mac(usize),
    /// A context that is kept gets its key again.
    MacAgain,
    /// A context that is kept goes on with its key.
    MacOn,
    /// A context that is kept is copied.
    MacCopied,
    /// A MAC by an EVP_PKEY that is made of the key.
    MacPkey,
    /// A key pair, and its public half in bytes.
    Generate,
    /// A peer's key of its bytes, and the secret shared with it.
    Agree,
    /// A signature by a key that is kept.
    Sign,
    /// The verification of one.
    Verify,
    /// A signature by the copy of a key, which has not been used before.
    FirstSign,
    /// A verification by such a copy.
    FirstVerify,
    /// A peer's key of its bytes, and a secret for it.
    Encapsulate,
    /// The secret that a peer has made.
    Decapsulate,
}

impl Call {
    /// All calls that are measured of `primitive`. The slowest one of a kind counts.
    pub fn all(primitive: Primitive) -> Vec<Self> {
        use What::*;
        let calls: &[(usize, What)] = match primitive {
            Primitive::Tls13Kdf => &[(0, Derive), (1, Derive)],
            Primitive::Hkdf | Primitive::Tls1Prf => &[(0, Derive)],
            Primitive::Hmac => &[
                (0, Mac(SHORT_BYTES)),
                (1, MacAgain),
                (1, MacOn),
                (1, MacCopied),
                (2, Mac(LONG_BYTES)),
                (3, MacPkey),
            ],
            Primitive::X25519 => &[(0, Generate), (1, Agree)],
            Primitive::EcP256 | Primitive::EcP384 | Primitive::EcP521 => {
                &[(0, Sign), (1, Verify), (2, FirstSign), (3, FirstVerify)]
            }
            Primitive::X25519MlKem768
            | Primitive::SecP256r1MlKem768
            | Primitive::SecP384r1MlKem1024 => &[(0, Generate), (1, Encapsulate), (2, Decapsulate)],
        };
        // Suites of TLS have two.
        let digests: &[&CStr] = match primitive.is_hash() {
            true => &[c"SHA256", c"SHA384"],
            false => &[c"SHA256"],
        };
        let of_digest = |digest: &&'static CStr| {
            let digest = *digest;
            calls.iter().map(move |&(at, what)| Self {
                primitive,
                at,
                what,
                digest,
            })
        };
        digests.iter().flat_map(of_digest).collect()
    }

    /// Whether both sides must make the same.
    pub(crate) fn is_determined(self) -> bool {
        !matches!(
            self.what,
            What::Generate | What::Encapsulate | What::Sign | What::FirstSign
        )
    }
}

functions! {
    EVP_KEYMGMT_fetch: fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    EVP_KEYMGMT_free: fn(*mut c_void);
    EVP_SIGNATURE_fetch: fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    EVP_SIGNATURE_free: fn(*mut c_void);
    CRYPTO_free: fn(*mut c_void, *const c_char, c_int);
    EVP_KDF_fetch: fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    EVP_KDF_free: fn(*mut c_void);
    EVP_KDF_CTX_new: fn(*mut c_void) -> *mut c_void;
    EVP_KDF_CTX_free: fn(*mut c_void);
    EVP_KDF_derive: fn(*mut c_void, *mut c_uchar, usize, *const Param) -> c_int;
    EVP_Q_mac: fn(*mut c_void, *const c_char, *const c_char, *const c_char, *const Param, *const c_void, usize, *const c_uchar, usize, *mut c_uchar, usize, *mut usize) -> *mut c_uchar;
    EVP_MAC_fetch: fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    EVP_MAC_free: fn(*mut c_void);
    EVP_MAC_CTX_new: fn(*mut c_void) -> *mut c_void;
    EVP_MAC_CTX_free: fn(*mut c_void);
    EVP_MAC_CTX_dup: fn(*const c_void) -> *mut c_void;
    EVP_MAC_init: fn(*mut c_void, *const c_uchar, usize, *const Param) -> c_int;
    EVP_MAC_update: fn(*mut c_void, *const c_uchar, usize) -> c_int;
    EVP_MAC_final: fn(*mut c_void, *mut c_uchar, *mut usize, usize) -> c_int;
    EVP_MD_CTX_new: fn() -> *mut c_void;
    EVP_MD_CTX_free: fn(*mut c_void);
    EVP_DigestSignInit_ex: fn(*mut c_void, *mut *mut c_void, *const c_char, *mut c_void, *const c_char, *mut c_void, *const c_void) -> c_int;
    EVP_DigestSign: fn(*mut c_void, *mut c_uchar, *mut usize, *const c_uchar, usize) -> c_int;
    EVP_DigestVerifyInit_ex: fn(*mut c_void, *mut *mut c_void, *const c_char, *mut c_void, *const c_char, *mut c_void, *const c_void) -> c_int;
    EVP_DigestVerify: fn(*mut c_void, *const c_uchar, usize, *const c_uchar, usize) -> c_int;
    EVP_PKEY_new_raw_private_key_ex: fn(*mut c_void, *const c_char, *const c_char, *const c_uchar, usize) -> *mut c_void;
    EVP_PKEY_free: fn(*mut c_void);
    EVP_PKEY_dup: fn(*mut c_void) -> *mut c_void;
    EVP_PKEY_CTX_new_from_name: fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    EVP_PKEY_CTX_new_from_pkey: fn(*mut c_void, *mut c_void, *const c_char) -> *mut c_void;
    EVP_PKEY_CTX_free: fn(*mut c_void);
    EVP_PKEY_CTX_set_group_name: fn(*mut c_void, *const c_char) -> c_int;
    EVP_PKEY_keygen_init: fn(*mut c_void) -> c_int;
    EVP_PKEY_keygen: fn(*mut c_void, *mut *mut c_void) -> c_int;
    EVP_PKEY_paramgen_init: fn(*mut c_void) -> c_int;
    EVP_PKEY_paramgen: fn(*mut c_void, *mut *mut c_void) -> c_int;
    EVP_PKEY_get1_encoded_public_key: fn(*mut c_void, *mut *mut c_uchar) -> usize;
    EVP_PKEY_set1_encoded_public_key: fn(*mut c_void, *const c_uchar, usize) -> c_int;
    EVP_PKEY_derive_init: fn(*mut c_void) -> c_int;
    EVP_PKEY_derive_set_peer: fn(*mut c_void, *mut c_void) -> c_int;
    EVP_PKEY_derive: fn(*mut c_void, *mut c_uchar, *mut usize) -> c_int;
    EVP_PKEY_encapsulate_init: fn(*mut c_void, *const Param) -> c_int;
    EVP_PKEY_encapsulate: fn(*mut c_void, *mut c_uchar, *mut usize, *mut c_uchar, *mut usize) -> c_int;
    EVP_PKEY_decapsulate_init: fn(*mut c_void, *const Param) -> c_int;
    EVP_PKEY_decapsulate: fn(*mut c_void, *mut c_uchar, *mut usize, *const c_uchar, usize) -> c_int;
    d2i_AutoPrivateKey_ex: fn(*mut *mut c_void, *mut *const c_uchar, c_long, *mut c_void, *const c_char) -> *mut c_void;
    d2i_PUBKEY_ex: fn(*mut *mut c_void, *mut *const c_uchar, c_long, *mut c_void, *const c_char) -> *mut c_void;
    i2d_PrivateKey: fn(*const c_void, *mut *mut c_uchar) -> c_int;
    i2d_PUBKEY: fn(*const c_void, *mut *mut c_uchar) -> c_int;
}

/// What both sides are given, made by OpenSSL as it comes.
#[derive(Default)]
pub(crate) struct Material {
    /// In DER.
    private: Vec<u8>,
    /// In DER, or as TLS has shares.
    public: Vec<u8>,
    signature: Vec<u8>,
}

/// A library context with functions to call.
pub(crate) struct Caller {
    calls: Functions,
    world: Rc<World>,
}

/// One call, on objects of its own, that writes what it makes to the buffer and returns how much that is; `None` if
/// OpenSSL refuses.
type Once<'a> = Box<dyn FnMut(&mut [u8; OUTPUT_BYTES]) -> Option<usize> + 'a>;

/// An object of OpenSSL's, freed when it goes.
struct Owned(*mut c_void, unsafe extern "C" fn(*mut c_void));

impl Owned {
    /// By reference, so that a closure that asks for it keeps the whole value.
    fn object(&self) -> *mut c_void {
        self.0
    }

    fn new(object: *mut c_void, free: unsafe extern "C" fn(*mut c_void)) -> Option<Self> {
        (!object.is_null()).then_some(Self(object, free))
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: it was made by a function that gives it to its caller, and is freed once, by the function for it.
        unsafe { (self.1)(self.0) };
    }
}

impl Caller {
    pub(crate) fn new(world: &Rc<World>) -> Result<Self, Error> {
        Ok(Self {
            calls: Functions::of(world.libcrypto().library())?,
            world: Rc::clone(world),
        })
    }

    /// Whether the provider of that name has `primitive`, and not another one.
    pub(crate) fn has(&self, primitive: Primitive, provider: &str) -> bool {
        let calls = &self.calls;
        let (name, fetch, free): (&CStr, Fetch, _) = match primitive {
            Primitive::Tls13Kdf => (c"TLS13-KDF", calls.EVP_KDF_fetch, calls.EVP_KDF_free),
            Primitive::Hkdf => (c"HKDF", calls.EVP_KDF_fetch, calls.EVP_KDF_free),
            Primitive::Tls1Prf => (c"TLS1-PRF", calls.EVP_KDF_fetch, calls.EVP_KDF_free),
            Primitive::Hmac => (c"HMAC", calls.EVP_MAC_fetch, calls.EVP_MAC_free),
            Primitive::EcP256 | Primitive::EcP384 | Primitive::EcP521 => {
                let (fetch, free) = (calls.EVP_SIGNATURE_fetch, calls.EVP_SIGNATURE_free);
                (c"ECDSA", fetch, free)
            }
            Primitive::X25519
            | Primitive::X25519MlKem768
            | Primitive::SecP256r1MlKem768
            | Primitive::SecP384r1MlKem1024 => {
                let name = name_of(primitive).map_or(c"", |(name, _)| name);
                (name, calls.EVP_KEYMGMT_fetch, calls.EVP_KEYMGMT_free)
            }
        };
        let properties = CString::new(format!("provider={provider}")).unwrap_or_default();
        // SAFETY: the library context is live, and both texts end with a zero.
        let fetched = unsafe { fetch(self.world.ctx(), name.as_ptr(), properties.as_ptr()) };
        Owned::new(fetched, free).is_some()
    }

    /// What `call` needs.
    ///
    /// # Errors
    /// [`Error::Unavailable`] for what this OpenSSL does not have.
    pub(crate) fn material(&self, call: Call) -> Result<Material, Error> {
        let made = || match call.what {
            What::Agree | What::Encapsulate => {
                let key = self.generated(call.primitive)?;
                let public = self.encoded(&key)?;
                Some(Material {
                    public,
                    ..Material::default()
                })
            }
            What::Sign | What::Verify | What::FirstSign | What::FirstVerify => {
                let key = self.generated(call.primitive)?;
                let mut output = [0; OUTPUT_BYTES];
                let bytes = self.signed(&key, call.digest, &mut output)?;
                Some(Material {
                    private: self.der(&key, self.calls.i2d_PrivateKey)?,
                    public: self.der(&key, self.calls.i2d_PUBKEY)?,
                    signature: output[..bytes].to_vec(),
                })
            }
            _ => Some(Material::default()),
        };
        made().ok_or_else(|| unavailable(call))
    }

    /// What the first call makes.
    ///
    /// # Errors
    /// [`Error::Unavailable`] for what this OpenSSL does not have.
    pub(crate) fn made(&self, call: Call, material: &Material) -> Result<Vec<u8>, Error> {
        let mut output = [0; OUTPUT_BYTES];
        let mut once = self
            .prepared(call, material)
            .ok_or_else(|| unavailable(call))?;
        let bytes = once(&mut output).ok_or_else(|| unavailable(call))?;
        Ok(output[..bytes].to_vec())
    }

    /// The time that `calls` calls take, after `warm` others on the same objects.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where OpenSSL refuses a call.
    pub(crate) fn timed(
        &self,
        call: Call,
        material: &Material,
        warm: usize,
        calls: usize,
    ) -> Result<Duration, Error> {
        let mut output = [0; OUTPUT_BYTES];
        let mut once = self
            .prepared(call, material)
            .ok_or_else(|| unavailable(call))?;
        let mut several = |count| (0..count).all(|_| once(&mut output).is_some());
        let is_warm = several(warm);
        let began = Instant::now();
        match is_warm && several(calls) {
            true => Ok(began.elapsed()),
            false => Err(unavailable(call)),
        }
    }

    fn prepared<'a>(&'a self, call: Call, material: &'a Material) -> Option<Once<'a>> {
        let Call {
            primitive, digest, ..
        } = call;
        let key = || self.decoded(self.calls.d2i_AutoPrivateKey_ex, &material.private);
        let public = || self.decoded(self.calls.d2i_PUBKEY_ex, &material.public);
        let share = move || self.shared(primitive, &material.public);
        Some(match call.what {
            What::Derive => self.derives(call),
            What::Mac(bytes) => Box::new(move |output| self.mac(digest, &MESSAGE[..bytes], output)),
            What::MacAgain | What::MacOn | What::MacCopied => self.macs(call)?,
            What::MacPkey => Box::new(move |output| self.mac_by_key(digest, output)),
            What::Generate => Box::new(move |output| {
                let key = self.generated(primitive)?;
                fill(output, &self.encoded(&key)?)
            }),
            What::Agree => {
                let own = self.own_x25519()?;
                Box::new(move |output| self.agreed(&own, &share()?, output))
            }
            What::Sign => {
                let key = key()?;
                Box::new(move |output| self.signed(&key, digest, output))
            }
            What::FirstSign => {
                let key = key()?;
                Box::new(move |output| self.signed(&self.copied(&key)?, digest, output))
            }
            What::Verify => {
                let public = public()?;
                Box::new(move |_| self.verified(&public, digest, &material.signature))
            }
            What::FirstVerify => {
                let public = public()?;
                Box::new(move |_| {
                    self.verified(&self.copied(&public)?, digest, &material.signature)
                })
            }
            What::Encapsulate => {
                Box::new(move |output| self.encapsulated(&share()?, output).map(|it| it.0))
            }
            What::Decapsulate => {
                let own = self.generated(primitive)?;
                let peer = self.shared(primitive, &self.encoded(&own)?)?;
                let mut secret = [0; OUTPUT_BYTES];
                let (bytes, wrapped) = self.encapsulated(&peer, &mut secret)?;
                Box::new(move |output| {
                    let found = self.decapsulated(&own, &wrapped, output)?;
                    // Every key has a secret of its own: nothing that both sides could compare.
                    (output[..found] == secret[..bytes]).then_some(0)
                })
            }
        })
    }
}

impl Call {
    fn digest_bytes(self) -> usize {
        match self.digest.to_bytes() {
            b"SHA384" => 48,
            _ => 32,
        }
    }
}

fn fill(output: &mut [u8; OUTPUT_BYTES], bytes: &[u8]) -> Option<usize> {
    output.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(bytes.len())
}

/// The type of its keys, and the group of those that have one.
fn name_of(primitive: Primitive) -> Option<(&'static CStr, Option<&'static CStr>)> {
    Some(match primitive {
        Primitive::X25519 => (c"X25519", None),
        Primitive::EcP256 => (c"EC", Some(c"P-256")),
        Primitive::EcP384 => (c"EC", Some(c"P-384")),
        Primitive::EcP521 => (c"EC", Some(c"P-521")),
        Primitive::X25519MlKem768 => (c"X25519MLKEM768", None),
        Primitive::SecP256r1MlKem768 => (c"SecP256r1MLKEM768", None),
        Primitive::SecP384r1MlKem1024 => (c"SecP384r1MLKEM1024", None),
        Primitive::Tls13Kdf | Primitive::Hkdf | Primitive::Tls1Prf | Primitive::Hmac => {
            return None;
        }
    })
}

fn unavailable(call: Call) -> Error {
    let (primitive, kind) = (call.primitive, call.primitive.calls()[call.at]);
    Error::Unavailable(format!("openssl does not do {primitive}: {kind}"))
}

type Fetch = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
/// EVP_KDF_HKDF_MODE_EXTRACT_ONLY and EVP_KDF_HKDF_MODE_EXPAND_ONLY.
static EXTRACT_ONLY: c_int = 1;
static EXPAND_ONLY: c_int = 2;
static MESSAGE: [u8; LONG_BYTES] = [0x5a; LONG_BYTES];
const KEY: &[u8] = &[7; 32];
const SHORT_BYTES: usize = 64;
const LONG_BYTES: usize = 16384;
/// As long as what a certificate's key signs in TLS 1.3.
const SIGNED_BYTES: usize = 130;
/// More than a share of SecP384r1MLKEM1024 has, 1665.
const OUTPUT_BYTES: usize = 2048;
