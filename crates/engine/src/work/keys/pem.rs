//! Parses keys in text form.

use pkcs8::der::pem;
use zeroize::Zeroizing;

use super::der::elements;
use super::invalid;
use crate::Error;
use crate::work::rsa::key::has_headers;

/// Returns the text of a key, or `None` if it is DER. PEM may have other text before its first line.
///
/// Searches no secret: the search for a line ends before the key's data, and is left out if `key` is DER as a whole.
pub(super) fn text(key: &[u8], is_text: impl FnOnce(&[u8]) -> bool) -> Result<Option<&str>, Error> {
    if elements(key).is_ok() {
        return Ok(None);
    }
    let is_pem = key.windows(BEGIN.len()).any(|here| here == BEGIN);
    if !is_pem && !is_text(key) {
        return Ok(None);
    }
    // A trailing NUL, as in C strings, is not part of the text.
    let text = key.strip_suffix(b"\0").unwrap_or(key);
    let text = std::str::from_utf8(text)
        .map_err(|_| invalid("the key begins as text and has bytes that are none"))?;
    Ok(Some(text.trim()))
}

/// Returns the label of a PEM text and the decoded bytes.
pub(super) fn decoded(text: &str) -> Result<(&str, Zeroizing<Vec<u8>>), Error> {
    let text = without_parameters(text);
    if has_headers(text) {
        return Err(encrypted());
    }
    let not_pem = |error: pem::Error| invalid(format!("not a key in PEM: {error}"));
    // OpenSSH's lines are longer than RFC 7468 permits.
    let mut decoder = pem::Decoder::new_detect_wrap(text.as_bytes()).map_err(not_pem)?;
    let mut bytes = Zeroizing::new(Vec::new());
    let label = decoder.type_label();
    decoder.decode_to_end(&mut bytes).map_err(not_pem)?;
    Ok((label, bytes))
}

/// Skips a curve's parameters, which `openssl ecparam -genkey` writes before the key. The key repeats them.
fn without_parameters(text: &str) -> &str {
    let Some((_, block)) = text.split_once("-----BEGIN ") else {
        return text;
    };
    match block.strip_prefix(PARAMETERS_LABEL) {
        Some(parameters) => match parameters.split_once(PARAMETERS_END) {
            Some((_, after)) => after.trim_start(),
            None => text,
        },
        None => text,
    }
}

pub(super) fn encrypted() -> Error {
    invalid("the private key is encrypted: decrypt it first, as with openssl pkey or ssh-keygen -p")
}

pub(super) fn unknown_label(label: &str, known: &str) -> Error {
    invalid(format!("PEM of {label:?}: expected {known}"))
}

const BEGIN: &[u8] = b"-----BEGIN ";
const PARAMETERS_LABEL: &str = "EC PARAMETERS-----";
const PARAMETERS_END: &str = "-----END EC PARAMETERS-----";
