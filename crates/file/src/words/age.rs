//! Rewrites the `age` crate's errors in one line each. Its messages have several lines, direction marks and the name of its
//! own command.

use std::collections::HashSet;
use std::fmt;

use ::age::{DecryptError, EncryptError};

use super::{HEADER_CHANGED, NO_IDENTITY_FITS, NO_RECIPIENT, reason};

/// Returns why an identity failed.
pub(crate) fn of_identity(error: &DecryptError) -> String {
    match error {
        DecryptError::DecryptionFailed => {
            "what it holds for this identity does not open: the file was changed".into()
        }
        DecryptError::ExcessiveWork { required, .. } => format!(
            "its passphrase takes 2^{required} rounds of scrypt, more than are allowed: the file is damaged or malicious"
        ),
        DecryptError::InvalidHeader => {
            "not an age file, or a damaged one: what it holds for a recipient is malformed".into()
        }
        DecryptError::InvalidMac => HEADER_CHANGED.into(),
        DecryptError::Io(error) => reason(error),
        DecryptError::KeyDecryptionFailed => {
            "the passphrase of the identity is wrong, or the identity is damaged".into()
        }
        DecryptError::MissingPlugin { binary_name } => missing(binary_name),
        DecryptError::NoMatchingKeys => NO_IDENTITY_FITS.into(),
        DecryptError::Plugin(errors) => of_plugins(errors),
        DecryptError::UnknownFormat => {
            "a version of the age format that is not known: a newer program may read it".into()
        }
    }
}

/// Returns why a recipient failed.
pub(crate) fn of_recipient(error: &EncryptError) -> String {
    match error {
        EncryptError::EncryptedIdentities(error) => of_identity(error),
        EncryptError::IncompatibleRecipients { l_labels, r_labels } => {
            let mut labels: Vec<&String> = l_labels.symmetric_difference(r_labels).collect();
            labels.sort();
            let labels: Vec<&str> = labels.into_iter().map(String::as_str).collect();
            format!(
                "recipients with the label {} are mixed with others without it: give those of one kind only",
                labels.join(", ")
            )
        }
        EncryptError::InvalidRecipientLabels(labels) => {
            format!("a recipient has an invalid label: {}", sorted(labels))
        }
        EncryptError::Io(error) => reason(error),
        EncryptError::MissingPlugin { binary_name } => missing(binary_name),
        EncryptError::MissingRecipients => NO_RECIPIENT.into(),
        EncryptError::MixedRecipientAndPassphrase => {
            "a passphrase and other recipients exclude each other: give one or the other".into()
        }
        EncryptError::Plugin(errors) => of_plugins(errors),
    }
}

fn missing(program: &str) -> String {
    format!("{program}: not found in the folders of PATH: install this plugin")
}

/// Joins errors of the crate's own plugin client, which ours replaces.
fn of_plugins(errors: &[impl fmt::Display]) -> String {
    let each = errors.iter().map(|error| {
        let text = error.to_string();
        text.replace(['\u{2068}', '\u{2069}'], "")
    });
    each.collect::<Vec<_>>().join("; ")
}

fn sorted(labels: &HashSet<String>) -> String {
    let mut labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    labels.sort_unstable();
    labels.join(", ")
}
