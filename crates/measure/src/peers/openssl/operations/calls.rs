//! Key derivation, MACs, key exchange, signatures and KEMs, call by call as libssl and other programs make them.

use std::ffi::{CStr, CString};
use std::rc::Rc;
use std::time::{Duration, Instant};

use oarlock_engine::Primitive;

use super::super::library::World;
use super::derivation::{Derivation, EXTRACTED, TRAFFIC};
use super::tools::{Fetch, Names, OUTPUT_BYTES, Once, Output, Tools};
use crate::error::Error;

/// A call as programs make it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    primitive: Primitive,
    /// Its index in [`Primitive::calls`].
    pub at: usize,
    what: What,
    /// The name of the digest; empty for none.
    digest: &'static CStr,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    /// Fetches a KDF, which derives in a new context.
    Derive,
    /// Fetches a MAC for one message of this length (EVP_Q_mac).
    Mac(usize),
    /// Sets the key again in a kept context.
    MacAgain,
    /// Reuses the key in a kept context.
    MacOn,
    /// Copies a kept context.
    MacCopied,
    /// Computes a MAC with an EVP_PKEY created from the key.
    MacPkey,
    /// Generates a key pair, and encodes its public half.
    Generate,
    /// Decodes a peer's key, and derives the shared secret.
    Agree,
    /// Signs with a kept key.
    Sign,
    /// Verifies with a kept key.
    Verify,
    /// Signs with a copy of a key that has not been used before.
    FirstSign,
    /// Verifies with such a copy.
    FirstVerify,
    /// Decodes a peer's key, and encapsulates a secret for it.
    Encapsulate,
    /// Decapsulates the secret of a peer.
    Decapsulate,
}

impl Call {
    /// Returns all measured calls of `primitive`. The slowest one of a kind counts.
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
            Primitive::EcP256
            | Primitive::EcP384
            | Primitive::EcP521
            | Primitive::Ed25519
            | Primitive::MlDsa44
            | Primitive::MlDsa65
            | Primitive::MlDsa87 => &[(0, Sign), (1, Verify), (2, FirstSign), (3, FirstVerify)],
            Primitive::MlKem512
            | Primitive::MlKem768
            | Primitive::MlKem1024
            | Primitive::X25519MlKem768
            | Primitive::SecP256r1MlKem768
            | Primitive::SecP384r1MlKem1024 => &[(0, Generate), (1, Encapsulate), (2, Decapsulate)],
        };
        // Suites of TLS have two digests. Schemes that sign whole messages have none.
        let digests: &[&CStr] = match primitive {
            _ if primitive.is_hash() => &[c"SHA256", c"SHA384"],
            Primitive::Ed25519 | Primitive::MlDsa44 | Primitive::MlDsa65 | Primitive::MlDsa87 => {
                &[c""]
            }
            _ => &[c"SHA256"],
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

    /// Returns the name of the hash function that it signs with.
    fn hash(self) -> Option<&'static CStr> {
        (!self.digest.is_empty()).then_some(self.digest)
    }

    /// Whether both sides must produce the same output.
    pub(crate) fn is_determined(self) -> bool {
        !matches!(
            self.what,
            What::Generate | What::Encapsulate | What::Sign | What::FirstSign
        )
    }
}

/// The keys and the signature for both sides, created by stock OpenSSL.
#[derive(Clone, Default)]
pub(crate) struct Material {
    /// The private key in DER.
    private: Vec<u8>,
    /// The public key in DER, or as a TLS key share.
    public: Vec<u8>,
    signature: Vec<u8>,
}

/// A library context with functions to call.
pub(crate) struct Caller(Rc<Tools>);

impl Caller {
    pub(crate) fn new(world: &Rc<World>) -> Result<Self, Error> {
        Tools::new(world).map(Self)
    }

    /// Whether the provider of that name, and not another one, has `primitive`.
    pub(crate) fn has(&self, primitive: Primitive, provider: &str) -> bool {
        let calls = &self.0.calls;
        let (name, fetch, free): (&CStr, Fetch, _) = match primitive {
            Primitive::Tls13Kdf => (c"TLS13-KDF", calls.EVP_KDF_fetch, calls.EVP_KDF_free),
            Primitive::Hkdf => (c"HKDF", calls.EVP_KDF_fetch, calls.EVP_KDF_free),
            Primitive::Tls1Prf => (c"TLS1-PRF", calls.EVP_KDF_fetch, calls.EVP_KDF_free),
            Primitive::Hmac => (c"HMAC", calls.EVP_MAC_fetch, calls.EVP_MAC_free),
            Primitive::EcP256
            | Primitive::EcP384
            | Primitive::EcP521
            | Primitive::Ed25519
            | Primitive::MlDsa44
            | Primitive::MlDsa65
            | Primitive::MlDsa87 => {
                let (fetch, free) = (calls.EVP_SIGNATURE_fetch, calls.EVP_SIGNATURE_free);
                let name = match names(primitive) {
                    Some((name, None)) => name,
                    _ => c"ECDSA",
                };
                (name, fetch, free)
            }
            Primitive::X25519
            | Primitive::MlKem512
            | Primitive::MlKem768
            | Primitive::MlKem1024
            | Primitive::X25519MlKem768
            | Primitive::SecP256r1MlKem768
            | Primitive::SecP384r1MlKem1024 => {
                let name = names(primitive).map_or(c"", |(name, _)| name);
                (name, calls.EVP_KEYMGMT_fetch, calls.EVP_KEYMGMT_free)
            }
        };
        let properties = CString::new(format!("provider={provider}")).unwrap_or_default();
        // SAFETY: the library context is live, and both texts end with a zero; the fetched object is freed by its
        // function.
        unsafe {
            let fetched = fetch(self.0.ctx(), name.as_ptr(), properties.as_ptr());
            self.0.made::<()>(fetched, free).is_some()
        }
    }

    /// Creates the keys and the signature that `call` needs.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if this OpenSSL lacks something.
    pub(crate) fn material(&self, call: Call) -> Result<Material, Error> {
        let tools = &self.0;
        let made = || match call.what {
            What::Agree | What::Encapsulate => {
                let key = tools.generate(names(call.primitive)?)?;
                let public = tools.share_of(&key)?;
                Some(Material {
                    public,
                    ..Material::default()
                })
            }
            What::Sign | What::Verify | What::FirstSign | What::FirstVerify => {
                let key = tools.generate(names(call.primitive)?)?;
                let mut output = EMPTY;
                let bytes = tools.sign(call.hash(), &key, &mut output)?;
                Some(Material {
                    private: tools.der(&key, tools.calls.i2d_PrivateKey)?,
                    public: tools.der(&key, tools.calls.i2d_PUBKEY)?,
                    signature: output[..bytes].to_vec(),
                })
            }
            _ => Some(Material::default()),
        };
        made().ok_or_else(|| unavailable(call))
    }

    /// Returns the output of the first call.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if this OpenSSL lacks something.
    pub(crate) fn made(&self, call: Call, material: &Material) -> Result<Vec<u8>, Error> {
        let mut output = EMPTY;
        let mut made = || self.prepared(call, material)?(&mut output);
        let bytes = made().ok_or_else(|| unavailable(call))?;
        Ok(output[..bytes].to_vec())
    }

    /// Returns the time of `calls` calls, after `warm` others on the same objects.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if OpenSSL refuses a call.
    pub(crate) fn timed(
        &self,
        call: Call,
        material: &Material,
        warm: usize,
        calls: usize,
    ) -> Result<Duration, Error> {
        let mut output = EMPTY;
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

    fn prepared(&self, call: Call, material: &Material) -> Option<Once> {
        let tools = Rc::clone(&self.0);
        let (digest, material) = (call.digest, material.clone());
        Some(match call.what {
            What::Derive => {
                let derivation = call.derivation();
                Box::new(move |output| tools.derive_once(&derivation, output))
            }
            What::Mac(bytes) => {
                Box::new(move |output| tools.quick_mac(digest, KEY, &MESSAGE[..bytes], output))
            }
            What::MacAgain | What::MacOn | What::MacCopied => {
                let kept = tools.mac_context(&tools.hmac()?)?;
                tools.begin(&kept, Some(KEY), Some(digest))?;
                let message = &MESSAGE[..SHORT_BYTES];
                let key = (call.what == What::MacAgain).then_some(KEY);
                match call.what {
                    What::MacCopied => Box::new(move |output| {
                        tools.tag(&tools.mac_copied(&kept)?, message, output)
                    }),
                    _ => Box::new(move |output| {
                        tools.begin(&kept, key, None)?;
                        tools.tag(&kept, message, output)
                    }),
                }
            }
            What::MacPkey => Box::new(move |output| tools.binder(digest, KEY, output)),
            What::Generate => {
                let names = names(call.primitive)?;
                Box::new(move |output| {
                    let share = tools.share_of(&tools.generate(names)?)?;
                    output.get_mut(..share.len())?.copy_from_slice(&share);
                    Some(share.len())
                })
            }
            What::Agree => {
                let names = names(call.primitive)?;
                // The key is the same on both sides, so that both derive the same secret.
                let own = tools.raw_key(c"X25519", KEY)?;
                Box::new(move |output| {
                    let peer = tools.read_share(names, &material.public)?;
                    tools.agree(&own, &peer, output)
                })
            }
            What::Sign | What::FirstSign => {
                let key = tools.read(tools.calls.d2i_AutoPrivateKey_ex, &material.private)?;
                match call.what {
                    What::Sign => Box::new(move |output| tools.sign(call.hash(), &key, output)),
                    _ => Box::new(move |output| {
                        tools.sign(call.hash(), &tools.copied(&key)?, output)
                    }),
                }
            }
            What::Verify | What::FirstVerify => {
                let key = tools.read(tools.calls.d2i_PUBKEY_ex, &material.public)?;
                let signature = material.signature;
                match call.what {
                    What::Verify => Box::new(move |_| tools.verify(call.hash(), &key, &signature)),
                    _ => Box::new(move |_| {
                        tools.verify(call.hash(), &tools.copied(&key)?, &signature)
                    }),
                }
            }
            What::Encapsulate => {
                let names = names(call.primitive)?;
                Box::new(move |output| {
                    let made = tools.encapsulate(names, &material.public, output);
                    made.map(|(bytes, _)| bytes)
                })
            }
            What::Decapsulate => {
                let names = names(call.primitive)?;
                let own = tools.generate(names)?;
                let mut secret = EMPTY;
                let (bytes, told) =
                    tools.encapsulate(names, &tools.share_of(&own)?, &mut secret)?;
                Box::new(move |output| {
                    let found = tools.decapsulate(&own, &told, output)?;
                    // Every key has its own secret, so there is no output that both sides could compare.
                    (output[..found] == secret[..bytes]).then_some(0)
                })
            }
        })
    }
}

impl Call {
    fn derivation(self) -> Derivation {
        let secret = match self.digest.to_bytes() {
            b"SHA384" => &MESSAGE[..48],
            _ => &MESSAGE[..32],
        };
        match (self.primitive, self.at) {
            (Primitive::Tls13Kdf, 0) => Derivation::labelled(&EXTRACTED, self.digest, secret),
            (Primitive::Tls13Kdf, _) => Derivation::labelled(&TRAFFIC, self.digest, secret),
            (Primitive::Hkdf, _) => Derivation::hkdf(self.digest, secret, 32),
            _ => Derivation::master_secret(self.digest, &PREMASTER),
        }
    }
}

/// Returns the key type of a primitive, and its group if the type has groups.
fn names(primitive: Primitive) -> Option<Names> {
    Some(match primitive {
        Primitive::X25519 => (c"X25519", None),
        Primitive::EcP256 => (c"EC", Some(c"P-256")),
        Primitive::EcP384 => (c"EC", Some(c"P-384")),
        Primitive::EcP521 => (c"EC", Some(c"P-521")),
        Primitive::Ed25519 => (c"ED25519", None),
        Primitive::MlDsa44 => (c"ML-DSA-44", None),
        Primitive::MlDsa65 => (c"ML-DSA-65", None),
        Primitive::MlDsa87 => (c"ML-DSA-87", None),
        Primitive::MlKem512 => (c"ML-KEM-512", None),
        Primitive::MlKem768 => (c"ML-KEM-768", None),
        Primitive::MlKem1024 => (c"ML-KEM-1024", None),
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

static MESSAGE: [u8; LONG_BYTES] = [0x5a; LONG_BYTES];
static PREMASTER: [u8; 48] = [0x5a; 48];
const KEY: &[u8] = &[7; 32];
const SHORT_BYTES: usize = 64;
const LONG_BYTES: usize = 16384;
const EMPTY: Output = [0; OUTPUT_BYTES];
