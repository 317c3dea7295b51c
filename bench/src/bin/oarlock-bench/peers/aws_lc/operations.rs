//! The operations of a handshake with aws-lc, without EVP.

use std::os::raw::c_int;
use std::ptr;

use aws_lc_sys::{
    EC_KEY, EC_KEY_free, EC_KEY_generate_key, EC_KEY_new_by_curve_name, ECDSA_sign, ECDSA_verify,
    ED25519_keypair, ED25519_sign, ED25519_verify, EVP_PKEY, EVP_PKEY_CTX, EVP_PKEY_CTX_free,
    EVP_PKEY_CTX_kem_set_params, EVP_PKEY_CTX_new, EVP_PKEY_CTX_new_id, EVP_PKEY_KEM,
    EVP_PKEY_decapsulate, EVP_PKEY_encapsulate, EVP_PKEY_free, EVP_PKEY_get_raw_public_key,
    EVP_PKEY_kem_new_raw_public_key, EVP_PKEY_keygen, EVP_PKEY_keygen_init, EVP_sha256, HKDF, HMAC,
    NID_MLKEM768, NID_X9_62_prime256v1, NID_secp384r1, X25519, X25519_keypair,
};
use oarlock_measure::peers::openssl::{Agreement, Operation, SigningKey};

/// A closure that performs one operation per call, and returns whether it succeeded.
pub(crate) type Direct = Box<dyn FnMut() -> bool>;

/// Returns aws-lc's call for `operation`, if the two are compared.
pub(crate) fn direct(operation: Operation) -> Option<Direct> {
    match operation {
        Operation::Hkdf { .. } => Some(Box::new(hkdf)),
        Operation::Hmac { .. } => Some(Box::new(hmac)),
        Operation::Generate(Agreement::X25519) | Operation::GenerateAgain(Agreement::X25519) => {
            Some(Box::new(|| {
                let _pair = x25519_pair();
                true
            }))
        }
        Operation::Derive(Agreement::X25519) | Operation::DeriveAgain(Agreement::X25519) => {
            let ([private, _], [_, public]) = (x25519_pair(), x25519_pair());
            Some(Box::new(move || agree(&private, &public)))
        }
        Operation::Generate(Agreement::X25519MlKem768)
        | Operation::GenerateAgain(Agreement::X25519MlKem768) => Some(Box::new(|| {
            let _pair = x25519_pair();
            ml_kem_key().is_some()
        })),
        Operation::Encapsulate(Agreement::X25519MlKem768) => {
            let share = raw_public(&ml_kem_key()?)?;
            let [_, public] = x25519_pair();
            Some(Box::new(move || {
                let [private, _] = x25519_pair();
                let told = read_public(&share).and_then(|key| encapsulate(&key));
                told.is_some() && agree(&private, &public)
            }))
        }
        Operation::Decapsulate(Agreement::X25519MlKem768) => {
            let key = ml_kem_key()?;
            let told = encapsulate(&key)?;
            let ([private, _], [_, public]) = (x25519_pair(), x25519_pair());
            Some(Box::new(move || {
                decapsulate(&key, &told) && agree(&private, &public)
            }))
        }
        Operation::Generate(Agreement::MlKem768)
        | Operation::GenerateAgain(Agreement::MlKem768) => {
            Some(Box::new(|| ml_kem_key().is_some()))
        }
        Operation::Encapsulate(Agreement::MlKem768) => {
            let key = ml_kem_key()?;
            Some(Box::new(move || encapsulate(&key).is_some()))
        }
        Operation::Decapsulate(Agreement::MlKem768) => {
            let key = ml_kem_key()?;
            let told = encapsulate(&key)?;
            Some(Box::new(move || decapsulate(&key, &told)))
        }
        Operation::Sign(kind) | Operation::SignAgain(kind) => {
            let key = signing(kind)?;
            Some(Box::new(move || key.sign().is_some()))
        }
        Operation::Verify(kind) | Operation::VerifyAgain(kind) => {
            let key = signing(kind)?;
            let signature = key.sign()?;
            Some(Box::new(move || key.verify(&signature)))
        }
        _ => None,
    }
}

fn hkdf() -> bool {
    let mut out = [0; 64];
    let (secret, info) = ([7_u8; 32], b"about");
    // SAFETY: all lengths are those of their buffers.
    unsafe {
        let (from, bytes) = (secret.as_ptr(), secret.len());
        let (place, length) = (out.as_mut_ptr(), out.len());
        HKDF(
            place,
            length,
            EVP_sha256(),
            from,
            bytes,
            from,
            bytes,
            info.as_ptr(),
            info.len(),
        ) == 1
    }
}

fn hmac() -> bool {
    let mut tag = [0; 64];
    let mut bytes = 0;
    let (secret, message) = ([7_u8; 32], [5_u8; 64]);
    // SAFETY: all lengths are those of their buffers; a tag fits its buffer.
    let done = unsafe {
        let (key, length) = (secret.as_ptr().cast(), secret.len());
        let (data, size) = (message.as_ptr(), message.len());
        HMAC(
            EVP_sha256(),
            key,
            length,
            data,
            size,
            tag.as_mut_ptr(),
            &mut bytes,
        )
    };
    !done.is_null()
}

/// Returns a private and a public key.
fn x25519_pair() -> [[u8; 32]; 2] {
    let (mut private, mut public) = ([0; 32], [0; 32]);
    // SAFETY: both buffers have 32 bytes.
    unsafe { X25519_keypair(public.as_mut_ptr(), private.as_mut_ptr()) };
    [private, public]
}

fn agree(private: &[u8; 32], public: &[u8; 32]) -> bool {
    let mut secret = [0; 32];
    // SAFETY: the output has 32 bytes, and so do both inputs.
    unsafe { X25519(secret.as_mut_ptr(), private.as_ptr(), public.as_ptr()) == 1 }
}

struct Kem(*mut EVP_PKEY);

impl Drop for Kem {
    fn drop(&mut self) {
        // SAFETY: the key is owned by this value and freed once.
        unsafe { EVP_PKEY_free(self.0) }
    }
}

/// A context, freed on drop.
struct Context(*mut EVP_PKEY_CTX);

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context is owned by this value and freed once; null is allowed.
        unsafe { EVP_PKEY_CTX_free(self.0) }
    }
}

fn ml_kem_key() -> Option<Kem> {
    let mut key = ptr::null_mut();
    // SAFETY: the context is live; a key that was not generated stays null.
    unsafe {
        let context = Context(EVP_PKEY_CTX_new_id(EVP_PKEY_KEM, ptr::null_mut()));
        let done = EVP_PKEY_CTX_kem_set_params(context.0, NID_MLKEM768) == 1
            && EVP_PKEY_keygen_init(context.0) == 1
            && EVP_PKEY_keygen(context.0, &mut key) == 1;
        done.then_some(Kem(key))
    }
}

fn raw_public(key: &Kem) -> Option<Vec<u8>> {
    let mut public = vec![0; ML_KEM_768_PUBLIC_BYTES];
    let mut bytes = public.len();
    // SAFETY: the key is live, and `bytes` is the length of the output buffer.
    let done = unsafe { EVP_PKEY_get_raw_public_key(key.0, public.as_mut_ptr(), &mut bytes) };
    (done == 1 && bytes == public.len()).then_some(public)
}

fn read_public(public: &[u8]) -> Option<Kem> {
    let (first, bytes) = (public.as_ptr(), public.len());
    // SAFETY: the slice has `bytes` bytes from `first` on; aws-lc copies them, and returns null if it refuses them.
    let key = unsafe { EVP_PKEY_kem_new_raw_public_key(NID_MLKEM768, first, bytes) };
    (!key.is_null()).then_some(Kem(key))
}

fn encapsulate(key: &Kem) -> Option<Vec<u8>> {
    let (mut told, mut secret) = (vec![0; ML_KEM_768_BYTES], [0; 32]);
    let (mut bytes, mut secret_bytes) = (told.len(), secret.len());
    // SAFETY: the key is live; lengths are those of their outputs.
    unsafe {
        let context = Context(EVP_PKEY_CTX_new(key.0, ptr::null_mut()));
        let (place, shared) = (told.as_mut_ptr(), secret.as_mut_ptr());
        let done = EVP_PKEY_encapsulate(context.0, place, &mut bytes, shared, &mut secret_bytes);
        (done == 1).then_some(told)
    }
}

fn decapsulate(key: &Kem, told: &[u8]) -> bool {
    let mut secret = [0; 32];
    let mut bytes = secret.len();
    // SAFETY: the key is live; lengths are those of the input and the output.
    unsafe {
        let context = Context(EVP_PKEY_CTX_new(key.0, ptr::null_mut()));
        let shared = secret.as_mut_ptr();
        EVP_PKEY_decapsulate(context.0, shared, &mut bytes, told.as_ptr(), told.len()) == 1
    }
}

/// A signing key.
enum Signing {
    Ec(*mut EC_KEY),
    Ed25519([u8; 32], [u8; 64]),
}

impl Drop for Signing {
    fn drop(&mut self) {
        if let Self::Ec(key) = self {
            // SAFETY: the key is owned by this value and freed once; null is allowed.
            unsafe { EC_KEY_free(*key) }
        }
    }
}

fn signing(kind: SigningKey) -> Option<Signing> {
    let curve = match kind {
        SigningKey::P256 => NID_X9_62_prime256v1,
        SigningKey::P384 => NID_secp384r1,
        SigningKey::Ed25519 => {
            let (mut public, mut private) = ([0; 32], [0; 64]);
            // SAFETY: the buffers have 32 and 64 bytes.
            unsafe { ED25519_keypair(public.as_mut_ptr(), private.as_mut_ptr()) };
            return Some(Signing::Ed25519(public, private));
        }
        SigningKey::Rsa2048 => return None,
    };
    ec_key(curve)
}

fn ec_key(curve: c_int) -> Option<Signing> {
    // SAFETY: the key is live unless it is null, which the second function accepts.
    unsafe {
        let key = EC_KEY_new_by_curve_name(curve);
        let made = Signing::Ec(key);
        (!key.is_null() && EC_KEY_generate_key(key) == 1).then_some(made)
    }
}

impl Signing {
    fn sign(&self) -> Option<Vec<u8>> {
        let mut signature = vec![0; SIGNATURE_BYTES_MAX];
        // SAFETY: the key is live; a signature fits its buffer.
        let bytes = unsafe {
            let place = signature.as_mut_ptr();
            match self {
                Self::Ec(key) => {
                    let mut bytes = 0;
                    let signed =
                        ECDSA_sign(0, DIGEST.as_ptr(), DIGEST.len(), place, &mut bytes, *key);
                    (signed == 1).then_some(bytes as usize)
                }
                Self::Ed25519(_, private) => {
                    let (from, length) = (SIGNED.as_ptr(), SIGNED.len());
                    (ED25519_sign(place, from, length, private.as_ptr()) == 1).then_some(64)
                }
            }
        }?;
        signature.truncate(bytes);
        Some(signature)
    }

    fn verify(&self, signature: &[u8]) -> bool {
        let (from, bytes) = (signature.as_ptr(), signature.len());
        // SAFETY: the key is live; lengths are those of digest and signature.
        unsafe {
            match self {
                Self::Ec(key) => {
                    ECDSA_verify(0, DIGEST.as_ptr(), DIGEST.len(), from, bytes, *key) == 1
                }
                Self::Ed25519(public, _) => {
                    ED25519_verify(SIGNED.as_ptr(), SIGNED.len(), from, public.as_ptr()) == 1
                }
            }
        }
    }
}

/// The length of a ciphertext (FIPS 203, table 3).
const ML_KEM_768_BYTES: usize = 1088;
const ML_KEM_768_PUBLIC_BYTES: usize = 1184;
const SIGNATURE_BYTES_MAX: usize = 128;
const DIGEST: [u8; 32] = [3; 32];
const SIGNED: [u8; 130] = [6; 130];
