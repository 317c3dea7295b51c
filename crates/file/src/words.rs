//! Texts that several errors share.

#[cfg(feature = "age")]
pub(crate) mod age;

use std::io;

pub(crate) fn excessive(most: u8) -> String {
    format!(
        "its passphrase takes more than 2^{most} rounds of scrypt: the file is damaged or malicious"
    )
}

/// Returns the text of an error without Rust's "(os error N)".
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error ") {
        Some(at) => text[..at].into(),
        None => text,
    }
}

pub(crate) const HEADER_CHANGED: &str = "the header was changed after it was made";
pub(crate) const NO_IDENTITY_FITS: &str = "none of the identities can decrypt it";
pub(crate) const NO_RECIPIENT: &str = "no recipient to encrypt to";
