//! Identities and recipients in strings.

use age::secrecy::SecretString;
use age::{Identity, Recipient, scrypt, ssh, x25519};
use oarlock_file::age::{Passphrase, WORK_FACTOR, hybrid};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use zeroize::Zeroizing;

use crate::signals::go_on;

/// Returns the identities of texts: lines of identity files, or SSH private keys without a passphrase.
///
/// # Errors
/// `ValueError`, which does not show the text.
pub fn identities(
    texts: Vec<String>,
    passphrase: Option<Zeroizing<String>>,
) -> PyResult<Vec<Box<dyn Identity + Send + Sync>>> {
    let mut identities: Vec<Box<dyn Identity + Send + Sync>> = Vec::new();
    for text in texts.into_iter().map(Zeroizing::new) {
        if text.trim_start().starts_with("-----BEGIN") {
            identities.push(ssh_identity(&text)?);
            continue;
        }
        let mut is_empty = true;
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            is_empty = false;
            if let Ok(identity) = line.parse::<hybrid::Identity>() {
                identities.push(Box::new(identity));
            } else if let Ok(identity) = line.parse::<x25519::Identity>() {
                identities.push(Box::new(identity));
            } else {
                return Err(PyValueError::new_err(format!(
                    "line {number} of an identity is neither AGE-SECRET-KEY-1... nor AGE-SECRET-KEY-PQ-1..."
                )));
            }
        }
        if is_empty {
            return Err(PyValueError::new_err(
                "an identity file contains no identity",
            ));
        }
    }
    if let Some(passphrase) = passphrase {
        identities.push(Box::new(Passphrase::new(secret(&passphrase), go_on)));
    }
    Ok(identities)
}

fn ssh_identity(text: &str) -> PyResult<Box<dyn Identity + Send + Sync>> {
    match ssh::Identity::from_buffer(text.as_bytes(), None) {
        Ok(identity @ ssh::Identity::Unencrypted(_)) => Ok(Box::new(identity)),
        Ok(ssh::Identity::Encrypted(_)) => Err(PyValueError::new_err(
            "the SSH key has a passphrase: remove it from a copy with ssh-keygen -p, or use `oarlock decrypt`",
        )),
        _ => Err(PyValueError::new_err(
            "invalid or unsupported SSH private key: Ed25519 and RSA are supported",
        )),
    }
}

/// Returns the recipients of strings: `age1...`, `age1pq1...`, `ssh-ed25519 ...` and `ssh-rsa ...`.
///
/// # Errors
/// `ValueError`, with the number of the string.
pub fn recipients(
    texts: &[String],
    passphrase: Option<Zeroizing<String>>,
) -> PyResult<Vec<Box<dyn Recipient + Send + Sync>>> {
    let mut recipients: Vec<Box<dyn Recipient + Send + Sync>> = Vec::new();
    for (number, text) in (1..).zip(texts) {
        let text = text.trim();
        if is_secret(text) {
            return Err(PyValueError::new_err(format!(
                "recipient {number} is an identity, which is secret: give its recipient, age1..."
            )));
        }
        if let Ok(recipient) = text.parse::<hybrid::Recipient>() {
            recipients.push(Box::new(recipient));
        } else if let Ok(recipient) = text.parse::<x25519::Recipient>() {
            recipients.push(Box::new(recipient));
        } else if let Ok(recipient) = text.parse::<ssh::Recipient>() {
            recipients.push(Box::new(recipient));
        } else {
            // It is not shown: it might be secret.
            return Err(PyValueError::new_err(format!(
                "recipient {number} is none: age1..., age1pq1..., ssh-ed25519 ... or ssh-rsa ..."
            )));
        }
    }
    if let Some(passphrase) = passphrase {
        let mut recipient = scrypt::Recipient::new(secret(&passphrase));
        recipient.set_work_factor(WORK_FACTOR);
        recipients.push(Box::new(recipient));
    }
    Ok(recipients)
}

/// Whether a text has an identity in it.
#[pyfunction]
pub fn is_secret(text: &str) -> bool {
    text.contains("-----BEGIN") || text.to_ascii_uppercase().contains("AGE-SECRET-KEY-")
}

fn secret(passphrase: &str) -> SecretString {
    SecretString::from(passphrase.to_owned())
}
