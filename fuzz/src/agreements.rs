//! ML-KEM by RustCrypto, X25519 by curve25519-dalek, curves of NIST by OpenSSL's default provider, and hybrids of these as the
//! draft puts them together (draft-ietf-tls-ecdhe-mlkem): what shares, ciphertexts and secrets are compared with.

use std::ffi::CStr;

use arbitrary::Arbitrary;
use ml_kem::{Decapsulate as _, KeyExport as _};
use oarlock_engine::agreement::{Hybrid, ML_KEM_SEED_BYTES, MlKem, X25519_BYTES};
use oarlock_engine::ec::Curve;

use crate::evp::{PAIR, PUBLIC, Pkey, Values};
use crate::rsa_keys::{Edit, edited};

/// Bytes in place of some that are right.
#[derive(Arbitrary, Debug)]
pub(crate) enum Given {
    Edited(Vec<Edit>),
    Any(Vec<u8>),
    /// Cut after so many bytes, or filled up to that length.
    Long(u16),
    /// Every byte the same.
    Same(u8),
}

impl Given {
    pub(crate) fn get(&self, right: &[u8]) -> Vec<u8> {
        match self {
            Self::Edited(edits) => edited(right, edits),
            Self::Any(bytes) => bytes.clone(),
            Self::Long(bytes) => {
                let mut given = right.to_vec();
                given.resize(usize::from(*bytes) % 4096, 0);
                given
            }
            Self::Same(byte) => vec![*byte; right.len()],
        }
    }
}

/// The seed of a key of ML-KEM, and the bytes of a key of a curve.
#[derive(Arbitrary, Debug)]
pub(crate) enum Seed {
    Same(u8),
    Any([u8; ML_KEM_SEED_BYTES]),
}

impl Seed {
    pub(crate) fn get(&self) -> [u8; ML_KEM_SEED_BYTES] {
        match self {
            Self::Same(byte) => [*byte; ML_KEM_SEED_BYTES],
            Self::Any(bytes) => *bytes,
        }
    }
}

/// Evaluates an expression with RustCrypto's type of a parameter set.
macro_rules! with_set {
    ($set:expr, $of:ident => $run:expr) => {
        match $set {
            MlKem::MlKem512 => {
                type $of = ml_kem::MlKem512;
                $run
            }
            MlKem::MlKem768 => {
                type $of = ml_kem::MlKem768;
                $run
            }
            MlKem::MlKem1024 => {
                type $of = ml_kem::MlKem1024;
                $run
            }
        }
    };
}

/// The public key and the expanded private key of a seed.
#[allow(deprecated)] // Keys of TLS and of the provider have the expanded form.
pub(crate) fn ml_kem_pair(set: MlKem, seed: &[u8; ML_KEM_SEED_BYTES]) -> (Vec<u8>, Vec<u8>) {
    use ml_kem::ExpandedKeyEncoding as _;
    with_set!(set, Of => {
        let key = ml_kem::DecapsulationKey::<Of>::from_seed((*seed).into());
        let public = key.encapsulation_key().to_bytes().to_vec();
        (public, key.to_expanded_bytes().to_vec())
    })
}

/// Whether bytes are a public key.
pub(crate) fn ml_kem_takes(set: MlKem, public: &[u8]) -> bool {
    with_set!(set, Of => {
        let public = public.try_into().ok();
        public.is_some_and(|public| ml_kem::EncapsulationKey::<Of>::new(public).is_ok())
    })
}

/// A ciphertext for a public key that is right, and its secret, which are those of a message.
pub(crate) fn ml_kem_sealed(set: MlKem, public: &[u8], message: u8) -> (Vec<u8>, Vec<u8>) {
    with_set!(set, Of => {
        let public = public.try_into().expect("a public key");
        let key = ml_kem::EncapsulationKey::<Of>::new(public).expect("a public key");
        let (ciphertext, secret) = key.encapsulate_deterministic(&[message; 32].into());
        (ciphertext.to_vec(), secret.to_vec())
    })
}

/// The secret of a ciphertext; `None` where the expanded key is refused, or the ciphertext for its length.
#[allow(deprecated)] // Keys of TLS and of the provider have the expanded form.
pub(crate) fn ml_kem_opened(set: MlKem, private: &[u8], ciphertext: &[u8]) -> Option<Vec<u8>> {
    with_set!(set, Of => {
        let private = private.try_into().ok()?;
        let key = ml_kem::DecapsulationKey::<Of>::from_expanded(private).ok()?;
        Some(key.decapsulate_slice(ciphertext).ok()?.to_vec())
    })
}

/// The secret of X25519; `None` for a point of small order, or of another length.
pub(crate) fn x25519(private: &[u8; X25519_BYTES], peer: &[u8]) -> Option<Vec<u8>> {
    let secret = x25519_dalek::x25519(*private, peer.try_into().ok()?);
    (secret != [0; X25519_BYTES]).then(|| secret.to_vec())
}

/// The public key of X25519.
pub(crate) fn x25519_public(private: &[u8; X25519_BYTES]) -> Vec<u8> {
    x25519_dalek::x25519(*private, x25519_dalek::X25519_BASEPOINT_BYTES).to_vec()
}

/// A provider's key of a point; `None` where it is refused.
pub(crate) fn ec_public(curve: Curve, side: usize, point: &[u8]) -> Option<Pkey> {
    let values = Values::default()
        .text(c"group", group(curve))
        .octets(c"pub", point);
    Pkey::of_data(c"EC", side, PUBLIC, &values)
}

/// A provider's key of a scalar and its point.
pub(crate) fn ec_private(curve: Curve, side: usize, scalar: &[u8], point: &[u8]) -> Option<Pkey> {
    let little: Vec<u8> = scalar.iter().rev().copied().collect();
    let values = Values::default()
        .text(c"group", group(curve))
        .octets(c"pub", point)
        .number(c"priv", &little);
    Pkey::of_data(c"EC", side, PAIR, &values)
}

fn group(curve: Curve) -> &'static [u8] {
    match curve {
        Curve::P256 => b"prime256v1",
        Curve::P384 => b"secp384r1",
        Curve::P521 => b"secp521r1",
    }
}

/// A hybrid as the draft defines it.
pub(crate) struct HybridKey {
    pub(crate) hybrid: Hybrid,
    pub(crate) public: Vec<u8>,
    pub(crate) private: Vec<u8>,
    scalar: Vec<u8>,
    point: Vec<u8>,
    ml_kem: Vec<u8>,
}

/// The curve of a hybrid, if it is not X25519.
pub(crate) fn curve_of(hybrid: Hybrid) -> Option<Curve> {
    match hybrid {
        Hybrid::X25519MlKem768 => None,
        Hybrid::SecP256r1MlKem768 => Some(Curve::P256),
        Hybrid::SecP384r1MlKem1024 => Some(Curve::P384),
    }
}

/// The name of its keys in OpenSSL.
pub(crate) fn name_of(hybrid: Hybrid) -> &'static CStr {
    match hybrid {
        Hybrid::X25519MlKem768 => c"X25519MLKEM768",
        Hybrid::SecP256r1MlKem768 => c"SecP256r1MLKEM768",
        Hybrid::SecP384r1MlKem1024 => c"SecP384r1MLKEM1024",
    }
}

/// The hybrid of a number, counted modulo how many there are.
pub(crate) fn hybrid_of(number: u8) -> Hybrid {
    Hybrid::ALL[usize::from(number) % Hybrid::ALL.len()]
}

/// The parts of a whole in their order: ML-KEM comes first with X25519, the curve otherwise.
fn joined(hybrid: Hybrid, ml_kem: &[u8], curve: &[u8]) -> Vec<u8> {
    match curve_of(hybrid) {
        None => [ml_kem, curve].concat(),
        Some(_) => [curve, ml_kem].concat(),
    }
}

/// The parts of ML-KEM and of the curve, of which the first has so many bytes; `None` where the whole is shorter.
fn split(hybrid: Hybrid, whole: &[u8], ml_kem_bytes: usize) -> Option<(&[u8], &[u8])> {
    let curve_bytes = whole.len().checked_sub(ml_kem_bytes)?;
    Some(match curve_of(hybrid) {
        None => whole.split_at(ml_kem_bytes),
        Some(_) => {
            let (curve, ml_kem) = whole.split_at(curve_bytes);
            (ml_kem, curve)
        }
    })
}

/// Whether bytes are a share of the curve. That a point of X25519 is of small order shows when it is used.
fn takes_share(hybrid: Hybrid, share: &[u8]) -> bool {
    match curve_of(hybrid) {
        None => share.len() == X25519_BYTES,
        Some(curve) => {
            share.len() == 1 + 2 * curve.bytes()
                && share[0] == 4
                && ec_public(curve, 0, share).is_some()
        }
    }
}

/// Whether bytes are a public key of a hybrid.
pub(crate) fn hybrid_takes(hybrid: Hybrid, public: &[u8]) -> bool {
    let set = hybrid.ml_kem();
    split(hybrid, public, set.public_key_bytes())
        .is_some_and(|(ml_kem, curve)| takes_share(hybrid, curve) && ml_kem_takes(set, ml_kem))
}

impl HybridKey {
    /// The key pair of a seed; its scalar is less than the order of each curve.
    pub(crate) fn new(hybrid: Hybrid, seed: &[u8; ML_KEM_SEED_BYTES]) -> Self {
        let (ml_kem_public, ml_kem) = ml_kem_pair(hybrid.ml_kem(), seed);
        let (scalar, point) = match curve_of(hybrid) {
            None => {
                let scalar: [u8; X25519_BYTES] = std::array::from_fn(|at| seed[at]);
                (scalar.to_vec(), x25519_public(&scalar))
            }
            Some(curve) => {
                let mut scalar = vec![0; curve.bytes()];
                scalar[1..32].copy_from_slice(&seed[1..32]);
                scalar[31] |= 1;
                let point = ec_point(curve, &scalar);
                (scalar, point)
            }
        };
        Self {
            hybrid,
            public: joined(hybrid, &ml_kem_public, &point),
            private: joined(hybrid, &ml_kem, &scalar),
            scalar,
            point,
            ml_kem,
        }
    }

    /// A ciphertext and its secret, by a message and the scalar of a peer.
    pub(crate) fn sealed(&self, message: u8) -> (Vec<u8>, Vec<u8>) {
        let set = self.hybrid.ml_kem();
        let (public, _) =
            split(self.hybrid, &self.public, set.public_key_bytes()).expect("a public key");
        let (ciphertext, ml_kem_secret) = ml_kem_sealed(set, public, message);
        let peer = Self::new(self.hybrid, &[message.max(1); ML_KEM_SEED_BYTES]);
        let secret = peer.curve_secret(&self.point).expect("a share");
        (
            joined(self.hybrid, &ciphertext, &peer.point),
            joined(self.hybrid, &ml_kem_secret, &secret),
        )
    }

    /// The secret of a ciphertext; `None` where a part is refused.
    pub(crate) fn opened(&self, ciphertext: &[u8]) -> Option<Vec<u8>> {
        let set = self.hybrid.ml_kem();
        let (ml_kem, share) = split(self.hybrid, ciphertext, set.ciphertext_bytes())?;
        if !takes_share(self.hybrid, share) {
            return None;
        }
        let secret = self.curve_secret(share)?;
        let ml_kem_secret = ml_kem_opened(set, &self.ml_kem, ml_kem)?;
        Some(joined(self.hybrid, &ml_kem_secret, &secret))
    }

    fn curve_secret(&self, share: &[u8]) -> Option<Vec<u8>> {
        match curve_of(self.hybrid) {
            None => x25519(self.scalar.as_slice().try_into().ok()?, share),
            Some(curve) => {
                let own = ec_private(curve, 0, &self.scalar, &self.point)?;
                own.derive(&ec_public(curve, 0, share)?)
            }
        }
    }
}

/// The point of a scalar, uncompressed, by the engine; that it is the right one shows where others verify with it.
pub(crate) fn ec_point(curve: Curve, scalar: &[u8]) -> Vec<u8> {
    let key = oarlock_engine::ec::EcPrivateKey::new(curve, scalar).expect("a private key");
    let mut place = [0; oarlock_engine::ec::POINT_BYTES_MAX];
    key.public_key().point(&mut place).to_vec()
}
