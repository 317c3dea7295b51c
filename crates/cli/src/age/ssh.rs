//! SSH private keys that the `age` crate does not read itself: those in PKCS#8, as `openssl genpkey` and
//! `ssh-keygen -m PKCS8` write them. They are rewritten in a form that it reads.

use age::ssh::{Identity, UnsupportedKey};
use curve25519_dalek::EdwardsPoint;
use pkcs8::der::asn1::OctetStringRef;
use pkcs8::der::pem::{LineEnding, encode_string};
use pkcs8::der::{Decode as _, SecretDocument};
use pkcs8::{ObjectIdentifier, PrivateKeyInfoRef};
use sha2::{Digest as _, Sha512};
use zeroize::Zeroizing;

use super::words;

/// Parses a private key from the file `name`. An error says what is wrong with it.
pub(super) fn identity(text: &[u8], name: Option<&str>) -> Result<Identity, String> {
    let read = |text: &[u8]| {
        let name = name.map(str::to_owned);
        Identity::from_buffer(text, name).map_err(|_| INVALID.to_owned())
    };
    let unsupported = |kind: &str| Err(words::of_ssh_key(&UnsupportedKey::Type(kind.into())));
    match label(text) {
        Some("PRIVATE KEY") => match rewritten(text).ok_or(INVALID)? {
            Rewritten::Text(text) => read(text.as_bytes()),
            Rewritten::Unsupported(kind) => unsupported(kind),
        },
        Some("ENCRYPTED PRIVATE KEY") => Err(ENCRYPTED.into()),
        Some("EC PRIVATE KEY") => unsupported(ECDSA),
        Some("DSA PRIVATE KEY") => unsupported("ssh-dss"),
        _ => read(text),
    }
}

/// Returns the label in the first line, `-----BEGIN LABEL-----`.
fn label(text: &[u8]) -> Option<&str> {
    let line = text.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?.trim_end();
    line.strip_prefix("-----BEGIN ")?.strip_suffix("-----")
}

enum Rewritten {
    Text(Zeroizing<String>),
    Unsupported(&'static str),
}

/// Converts a key into a form that the crate reads; `None` if it is malformed.
fn rewritten(text: &[u8]) -> Option<Rewritten> {
    let text = std::str::from_utf8(text.trim_ascii_end()).ok()?;
    let (_, document) = SecretDocument::from_pem(text).ok()?;
    let key: PrivateKeyInfoRef<'_> = document.decode_msg().ok()?;
    let private = key.private_key.as_bytes();
    let (label, bytes) = match key.algorithm.oid {
        RSA => ("RSA PRIVATE KEY", Zeroizing::new(private.to_vec())),
        ED25519 => {
            let seed = <&OctetStringRef>::from_der(private).ok()?.as_bytes();
            ("OPENSSH PRIVATE KEY", openssh(seed.try_into().ok()?))
        }
        EC => return Some(Rewritten::Unsupported(ECDSA)),
        _ => return Some(Rewritten::Unsupported("that SSH does not have")),
    };
    let text = encode_string(label, LineEnding::LF, &bytes).ok()?;
    Some(Rewritten::Text(Zeroizing::new(text)))
}

/// Encodes an Ed25519 key as OpenSSH stores it without a passphrase (its PROTOCOL.key).
fn openssh(seed: &[u8; 32]) -> Zeroizing<Vec<u8>> {
    let mut scalar = Zeroizing::new([0; 32]);
    scalar.copy_from_slice(&Zeroizing::new(Sha512::digest(seed))[..32]);
    let point = EdwardsPoint::mul_base_clamped(*scalar)
        .compress()
        .to_bytes();
    let public = [&string(b"ssh-ed25519")[..], &string(&point)].concat();
    let pair = Zeroizing::new([&seed[..], &point].concat());
    let mut private = Zeroizing::new(Vec::with_capacity(PRIVATE_BYTES));
    // OpenSSH stores the same number twice, to detect a wrong passphrase.
    private.extend([0; 8]);
    private.extend(&public);
    private.extend(&*string(&pair));
    private.extend(&*string(b""));
    let padding = private.len().next_multiple_of(8) - private.len();
    private.extend((1..).take(padding));
    let mut all = Zeroizing::new(Vec::with_capacity(2 * PRIVATE_BYTES));
    all.extend(b"openssh-key-v1\0");
    for text in [&b"none"[..], b"none", b""] {
        all.extend(&*string(text));
    }
    // The number of keys.
    all.extend(1_u32.to_be_bytes());
    all.extend(&*string(&public));
    all.extend(&*string(&private));
    all
}

/// Returns `bytes` after their length, which is 32 bits, big-endian.
fn string(bytes: &[u8]) -> Zeroizing<Vec<u8>> {
    // Everything encoded here is short.
    let length = bytes.len() as u32;
    Zeroizing::new([&length.to_be_bytes()[..], bytes].concat())
}

const INVALID: &str = "invalid SSH private key";
const ENCRYPTED: &str = "unsupported SSH key: encrypted as PKCS#8: \
     `ssh-keygen -p -f FILE` stores it in OpenSSH's own format";
const ECDSA: &str = "ecdsa";
/// An upper bound for the length of a key's private part.
const PRIVATE_BYTES: usize = 256;
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");
