//! The header: the file key, wrapped for each recipient.

use std::collections::HashSet;
use std::io::Read;

use ::age::Recipient;
use age_core::format::{FileKey, Stanza, grease_the_joint, is_arbitrary_string, read, write};
use age_core::primitives::hkdf;
use age_core::secrecy::ExposeSecret as _;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use zeroize::Zeroizing;

use super::hybrid::POST_QUANTUM_LABEL;
use crate::Error;
use crate::bytes::read_exact;

/// The first line of every file of this version.
pub const VERSION_LINE: &[u8] = b"age-encryption.org/v1\n";

/// A header that was read or made.
pub struct Header {
    /// The bytes in the file, up to the line break behind the MAC.
    pub encoded: Vec<u8>,
    /// The wrapped file keys, at least one.
    pub stanzas: Vec<Stanza>,
    mac: [u8; MAC_BYTES],
}

impl Header {
    pub(super) fn new(recipients: &[&dyn Recipient], file_key: &FileKey) -> Result<Self, Error> {
        let mut stanzas = wrap(recipients, file_key)?;
        if !is_scrypt(&stanzas) {
            // Readers that trip over a stanza that they do not know are found out early.
            stanzas.push(grease_the_joint());
        }
        let mut encoded = VERSION_LINE.to_vec();
        for stanza in &stanzas {
            let Stanza { tag, args, body } = stanza;
            let written = cookie_factory::gen_simple(
                write::age_stanza(tag, args, body),
                std::mem::take(&mut encoded),
            );
            encoded = written.map_err(|_| Error::Header("a stanza cannot be written"))?;
        }
        encoded.extend(MAC_PREFIX);
        let mac = mac_key(file_key).chain_update(&encoded).finalize();
        let mac: [u8; MAC_BYTES] = mac.into_bytes().into();
        encoded.push(b' ');
        encoded.extend(BASE64_STANDARD_NO_PAD.encode(mac).bytes());
        encoded.push(b'\n');
        Ok(Self {
            encoded,
            stanzas,
            mac,
        })
    }

    /// Reads a header, and no byte behind it.
    ///
    /// # Errors
    /// [`Error::Header`] for what is not a header, or one of more than 16 MiB; [`Error::Truncated`],
    /// [`Error::Read`].
    pub fn read(input: &mut impl Read) -> Result<Self, Error> {
        let mut encoded = Vec::new();
        // Line by line; the beginning of a line tells its kind.
        let line = read_line(input, &mut encoded)?;
        if line != VERSION_LINE {
            return Err(Error::Header(if line.starts_with(b"age-encryption.org/") {
                "its version is not v1"
            } else {
                "it does not begin with `age-encryption.org/v1`"
            }));
        }
        let mut stanzas = Vec::new();
        loop {
            let start = encoded.len();
            let line = read_line(input, &mut encoded)?;
            if let Some(mac) = line.strip_prefix(MAC_PREFIX) {
                let mac = parse_mac(mac).ok_or(Error::Header("malformed MAC"))?;
                if stanzas.is_empty() {
                    return Err(Error::Header("it has no recipient"));
                }
                if stanzas.len() > 1 && is_scrypt(&stanzas) {
                    return Err(Error::Header("a passphrase beside other recipients"));
                }
                return Ok(Self {
                    encoded,
                    stanzas,
                    mac,
                });
            }
            // The first line, and lines of the body up to one that is not full.
            while read_line(input, &mut encoded)?.len() == BODY_LINE_BYTES + 1 {}
            match read::age_stanza(&encoded[start..]) {
                Ok(([], stanza)) => stanzas.push(stanza.into()),
                _ => return Err(Error::Header("malformed stanza")),
            }
        }
    }

    /// # Errors
    /// [`Error::HeaderMac`].
    pub(super) fn verify(&self, file_key: &FileKey) -> Result<(), Error> {
        let end = self.encoded.len() - ENCODED_MAC_BYTES - 2;
        mac_key(file_key)
            .chain_update(&self.encoded[..end])
            .verify(&self.mac.into())
            .map_err(|_| Error::HeaderMac)
    }

    /// Its length in bytes.
    pub fn bytes(&self) -> u64 {
        self.encoded.len() as u64
    }

    /// For a passphrase, the binary logarithm of scrypt's rounds; `None` without a passphrase, or if it is
    /// not a number of one or two digits.
    pub fn work_factor(&self) -> Option<u8> {
        let stanza = self.stanzas.iter().find(|stanza| stanza.tag == "scrypt")?;
        let text = stanza.args.get(1)?;
        let is_number = text.len() <= 2 && text.bytes().all(|digit| digit.is_ascii_digit());
        is_number.then(|| text.parse().ok())?
    }

    /// Whether a passphrase opens it.
    pub fn is_scrypt(&self) -> bool {
        is_scrypt(&self.stanzas)
    }
}

/// All stanzas of all recipients, which must agree on their labels (age v1, "Recipient labels" of its
/// plugin protocol), because some kinds must stand alone.
fn wrap(recipients: &[&dyn Recipient], file_key: &FileKey) -> Result<Vec<Stanza>, Error> {
    let mut all = Vec::new();
    let mut labels: Option<HashSet<String>> = None;
    for recipient in recipients {
        let (stanzas, its_labels) = recipient
            .wrap_file_key(file_key)
            .map_err(Error::Recipient)?;
        if !its_labels.iter().all(is_arbitrary_string) {
            let error = ::age::EncryptError::InvalidRecipientLabels(its_labels);
            return Err(Error::Recipient(error));
        }
        all.extend(stanzas);
        match labels.take() {
            Some(labels) if labels != its_labels => {
                let has_label = |labels: &HashSet<String>| labels.contains(POST_QUANTUM_LABEL);
                if !is_scrypt(&all) && has_label(&labels) != has_label(&its_labels) {
                    return Err(Error::MixedPostQuantum);
                }
                return Err(Error::Recipient(if is_scrypt(&all) {
                    ::age::EncryptError::MixedRecipientAndPassphrase
                } else {
                    ::age::EncryptError::IncompatibleRecipients {
                        l_labels: labels,
                        r_labels: its_labels,
                    }
                }));
            }
            _ => labels = Some(its_labels),
        }
    }
    if all.is_empty() {
        return Err(Error::NoRecipient);
    }
    if all.len() > 1 && is_scrypt(&all) {
        let error = ::age::EncryptError::MixedRecipientAndPassphrase;
        return Err(Error::Recipient(error));
    }
    Ok(all)
}

fn is_scrypt(stanzas: &[Stanza]) -> bool {
    stanzas.iter().any(|stanza| stanza.tag == "scrypt")
}

fn mac_key(file_key: &FileKey) -> Hmac<Sha256> {
    let key = Zeroizing::new(hkdf(&[], b"header", file_key.expose_secret()));
    // HMAC takes keys of any length.
    #[expect(clippy::expect_used, reason = "it takes every length")]
    Hmac::new_from_slice(&key[..]).expect("HMAC takes keys of any length")
}

/// A space, the MAC and a line break.
fn parse_mac(text: &[u8]) -> Option<[u8; MAC_BYTES]> {
    let text = text.strip_prefix(b" ")?.strip_suffix(b"\n")?;
    let mac = BASE64_STANDARD_NO_PAD.decode(text).ok()?;
    mac.try_into().ok()
}

/// Appends a line to `encoded`, with its line break, and returns it.
fn read_line<'a>(input: &mut impl Read, encoded: &'a mut Vec<u8>) -> Result<&'a [u8], Error> {
    let start = encoded.len();
    loop {
        if encoded.len() >= HEADER_BYTES_MAX {
            return Err(Error::Header("it is longer than 16 MiB"));
        }
        let mut byte = [0];
        match read_exact(input, &mut byte, encoded.len() as u64) {
            Err(Error::Truncated { at: 0 }) => return Err(Error::Header("the file is empty")),
            other => other?,
        }
        encoded.push(byte[0]);
        let line = &encoded[start..];
        if byte[0] == b'\n' {
            return Ok(&encoded[start..]);
        }
        // What is not a header may have no line for gigabytes.
        if start == 0 && !VERSION_LINE.starts_with(line) && line.len() > VERSION_LINE.len() {
            return Err(Error::Header(
                "it does not begin with `age-encryption.org/v1`",
            ));
        }
    }
}

const MAC_PREFIX: &[u8] = b"---";
const MAC_BYTES: usize = 32;
/// In base64 without padding.
const ENCODED_MAC_BYTES: usize = 43;
/// Columns of a full line of a stanza's body.
const BODY_LINE_BYTES: usize = 64;
const HEADER_BYTES_MAX: usize = 16 << 20;
