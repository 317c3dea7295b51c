//! Messages for the `age` crate's errors about recipients and identities. The crate's own messages have several lines,
//! direction marks, and the name of its own command.

use age::cli_common::ReadError;
use age::ssh::{ParseRecipientKeyError, UnsupportedKey};

use crate::failure::reason;

/// Returns what was wrong with a recipient or an identity.
pub(super) fn unreadable(error: ReadError) -> String {
    match error {
        ReadError::EncryptedIdentities(error) => of_identity(error),
        ReadError::IdentityEncryptedWithoutPassphrase(name) => {
            format!("{name}: it is encrypted, and not with a passphrase: decrypt it first")
        }
        ReadError::IdentityNotFound(name) => format!("{name}: no such identity file"),
        ReadError::InvalidRecipient(text) => format!(
            "{text}: invalid recipient: give `age1...`, `age1pq1...`, `ssh-ed25519 ...`, `ssh-rsa ...`, or -R for a file of them"
        ),
        ReadError::InvalidRecipientsFile {
            filename,
            line_number,
        } => format!("{filename}: line {line_number}: invalid recipient"),
        ReadError::Io(error) => reason(&error),
        ReadError::MissingPlugin { binary_name } => {
            of_recipient(age::EncryptError::MissingPlugin { binary_name })
        }
        ReadError::MissingRecipientsFile(name) => format!("{name}: no such file of recipients"),
        ReadError::MultipleStdin => {
            "standard input cannot be read for two purposes: name a file for one of them".into()
        }
        ReadError::RsaModulusTooLarge => format!("unsupported SSH key: {RSA_TOO_LONG}"),
        ReadError::RsaModulusTooSmall => format!("unsupported SSH key: {RSA_TOO_SHORT}"),
        ReadError::UnsupportedKey(name, key) if name.is_empty() => of_ssh_key(&key),
        ReadError::UnsupportedKey(name, key) => format!("{name}: {}", of_ssh_key(&key)),
    }
}

/// Returns why age cannot use this SSH key.
pub(super) fn of_ssh_key(key: &UnsupportedKey) -> String {
    match key {
        UnsupportedKey::EncryptedPem => "unsupported SSH key: encrypted in the old PEM format: \
             `ssh-keygen -o -p -f FILE` stores it in the new one"
            .into(),
        UnsupportedKey::EncryptedSsh(cipher) => format!(
            "unsupported SSH key: encrypted with {cipher}: \
             `ssh-keygen -p -Z aes256-ctr -f FILE` changes that"
        ),
        UnsupportedKey::Hardware(kind) => format!(
            "unsupported SSH key: {kind} is on a hardware token, which only signs: use ssh-ed25519 or ssh-rsa"
        ),
        UnsupportedKey::Type(kind) => {
            format!("unsupported SSH key: of the type {kind}: use ssh-ed25519 or ssh-rsa")
        }
    }
}

/// Returns why an SSH key has no recipient.
pub(super) fn of_ssh_recipient(error: &ParseRecipientKeyError) -> String {
    use ParseRecipientKeyError as Error;
    match error {
        Error::RsaModulusTooLarge => format!("unsupported SSH key: {RSA_TOO_LONG}"),
        Error::RsaModulusTooSmall => format!("unsupported SSH key: {RSA_TOO_SHORT}"),
        Error::Unsupported(kind) => of_ssh_key(&UnsupportedKey::Type(kind.clone())),
        Error::Ignore | Error::Invalid(_) => {
            "unsupported SSH key: use ssh-ed25519 or ssh-rsa".into()
        }
    }
}

pub(super) fn of_identity(error: age::DecryptError) -> String {
    oarlock_file::Error::Identity(error).to_string()
}

pub(super) fn of_recipient(error: age::EncryptError) -> String {
    oarlock_file::Error::Recipient(error).to_string()
}

const RSA_TOO_LONG: &str =
    "it has more than 4096 bits, the most that this command takes; age itself takes longer ones";
const RSA_TOO_SHORT: &str = "it has less than 2048 bits";
