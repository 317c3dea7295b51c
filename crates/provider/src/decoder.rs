//! Reads the files that stand for remote keys (provider-decoder(7)), in two steps: PEM with the label of [`Reference`]
//! to DER, and DER to a key. So OpenSSL finds the key both where it wants a key and where it lists the contents of a
//! file (OSSL_STORE).
//!
//! OpenSSL tries each decoder on the next block of a file, and the default provider's decoders too. So the first step
//! reads a whole block, whatever its label, as the default provider's does.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;

use oarlock::keys::KeyType;
use oarlock_local::relay::Reference;

use crate::abi::{Dispatch, Param, SELECT_PRIVATE_KEY, decoder_function};
use crate::caught::catching;
use crate::default_provider::functions::Callback;
use crate::error::Reason;
use crate::provider::{BioGets, BioRead, Provider};

/// Returns OpenSSL's table for the first step.
pub(crate) fn pem_table() -> Vec<Dispatch> {
    table(der_of_pem as *const c_void)
}

/// A key that a file stands for.
pub(crate) trait Referred {
    const NAME: &CStr;

    /// Frees a key that was not taken.
    const FREE: unsafe extern "C" fn(*mut c_void);

    /// Makes the key of a reference; returns null for a key of another type.
    fn made(provider: &Provider, reference: &Reference) -> *mut c_void;
}

/// Returns OpenSSL's table for the second step, which makes a key of one type.
pub(crate) fn der_table<K: Referred>() -> Vec<Dispatch> {
    table(key_of_der::<K> as *const c_void)
}

fn table(decode: *const c_void) -> Vec<Dispatch> {
    [
        (decoder_function::NEWCTX, newctx as *const c_void),
        (decoder_function::FREECTX, freectx as *const c_void),
        (
            decoder_function::DOES_SELECTION,
            does_selection as *const c_void,
        ),
        (decoder_function::DECODE, decode),
    ]
    .map(|(id, function)| Dispatch { id, function })
    .into_iter()
    .chain([Dispatch::END])
    .collect()
}

/// Returns the provider as the context: there is nothing to set.
extern "C" fn newctx(provider: *mut c_void) -> *mut c_void {
    provider
}

extern "C" fn freectx(_context: *mut c_void) {}

/// Whether a selection includes private keys, or is empty. Public keys have their own file format.
extern "C" fn does_selection(_provider: *mut c_void, selection: c_int) -> c_int {
    (selection == 0 || selection & SELECT_PRIVATE_KEY != 0).into()
}

/// # Safety
/// The core calls, with its provider, a BIO, and a callback that takes `argument`.
unsafe extern "C" fn der_of_pem(
    provider: *mut c_void,
    bio: *mut c_void,
    _selection: c_int,
    callback: Callback,
    argument: *mut c_void,
    _ask_passphrase: *const c_void,
    _passphrase_argument: *mut c_void,
) -> c_int {
    catching(0, || {
        // SAFETY: the core passes its provider, a BIO of its own, and a callback with its argument.
        unsafe {
            let provider = &*provider.cast::<Provider>();
            // To decode nothing is not an error: another decoder may accept the block.
            let Some(pem) = provider.bios.gets.and_then(|gets| block(gets, bio)) else {
                return 1;
            };
            // Everything is checked here, where the label tells what the block is meant to be.
            let read = Reference::der_of_pem(&pem)
                .and_then(|der| Reference::from_der(&der).map(|reference| (der, reference)));
            let (der, reference) = match read {
                Ok(read) => read,
                Err(why) => {
                    let said = format!("{}: {why}", Reference::LABEL);
                    provider.errors.raise_saying(Reason::InvalidData, &said);
                    return 0;
                }
            };
            let mut kind = OBJECT_PKEY;
            let name = match reference.key().key_type() {
                KeyType::Rsa => c"RSA",
                _ => c"EC",
            };
            let params = [
                Param::asking_for_int(c"type", &mut kind),
                Param::giving_text(c"data-type", name.to_bytes()),
                Param::giving_text(c"data-structure", STRUCTURE.to_bytes()),
                Param::giving_octets(c"data", &der),
                Param::END,
            ];
            callback(params.as_ptr(), argument)
        }
    })
}

/// Does the second step: reads the reference in a BIO, makes a key of it, and passes that to `callback`.
///
/// # Safety
/// The core calls, with its provider, a BIO, and a callback that takes `argument`.
unsafe extern "C" fn key_of_der<K: Referred>(
    provider: *mut c_void,
    bio: *mut c_void,
    _selection: c_int,
    callback: Callback,
    argument: *mut c_void,
    _ask_passphrase: *const c_void,
    _passphrase_argument: *mut c_void,
) -> c_int {
    catching(0, || {
        // SAFETY: the provider and the BIO are the core's, as are the callback and its argument; `made` returns null or
        // a key without another owner.
        unsafe {
            let provider = &*provider.cast::<Provider>();
            let Some(read) = provider.bios.read else {
                return 1;
            };
            // OpenSSL tries this on any DER of unknown content.
            let der = content(read, bio);
            let Some(Ok(reference)) = der.map(|der| Reference::from_der(&der)) else {
                return 1;
            };
            let mut key = K::made(provider, &reference);
            if key.is_null() {
                return 1;
            }
            let mut kind = OBJECT_PKEY;
            let place = &raw mut key;
            let params = [
                Param::asking_for_int(c"type", &mut kind),
                Param::giving_text(c"data-type", K::NAME.to_bytes()),
                // `load` writes to it.
                Param::giving_value(c"reference", place),
                Param::END,
            ];
            let is_taken = callback(params.as_ptr(), argument);
            // `load` leaves null here.
            (K::FREE)(place.read());
            is_taken
        }
    })
}

/// Takes over the key that [`key_of_der`] has made (OSSL_FUNC_keymgmt_load_fn).
///
/// # Safety
/// `place` is null or points to `bytes` bytes that [`key_of_der`] made, whose key has no other owner.
pub(crate) unsafe extern "C" fn load(place: *mut *mut c_void, bytes: usize) -> *mut c_void {
    if place.is_null() || bytes != size_of::<*mut c_void>() {
        return null_mut();
    }
    // SAFETY: the core passes on what `decode` gave it: a place with a key of ours, which now belongs to the caller.
    unsafe { place.replace(null_mut()) }
}

/// Returns everything in a BIO; `None` if that is longer than a reference can be.
///
/// # Safety
/// `bio` is the core's, and `read` reads from it.
unsafe fn content(read: BioRead, bio: *mut c_void) -> Option<Vec<u8>> {
    let mut content = vec![0; BYTES_MAX + 1];
    let mut there = 0;
    while there < content.len() {
        let (place, mut bytes) = (&mut content[there..], 0);
        // SAFETY: `place` has room for `place.len()` bytes.
        let is_more = unsafe { read(bio, place.as_mut_ptr().cast(), place.len(), &mut bytes) } == 1;
        if !is_more || bytes == 0 {
            break;
        }
        there += bytes;
    }
    content.truncate(there);
    (there > 0 && there <= BYTES_MAX).then_some(content)
}

/// Returns the next PEM block up to its end, if it has our label; `None` for another label or at the end of the file.
///
/// # Safety
/// `bio` is the core's, and `gets` reads a line of it.
unsafe fn block(gets: BioGets, bio: *mut c_void) -> Option<Vec<u8>> {
    let mut line = [0u8; LINE_BYTES];
    let mut pem = None;
    // In a line that exceeds the buffer, only the first part can start a block.
    let mut is_begin = true;
    loop {
        // SAFETY: `line` has room for that many bytes, including the final zero.
        let read = unsafe { gets(bio, line.as_mut_ptr().cast::<c_char>(), line.len() as c_int) };
        let read = usize::try_from(read).ok().filter(|read| *read > 0)?;
        let text = line.get(..read)?;
        let trimmed = text.trim_ascii_end();
        let was_begin = std::mem::replace(&mut is_begin, text.ends_with(b"\n"));
        match &mut pem {
            None if was_begin && trimmed.starts_with(BEGIN) => {
                let label = trimmed[BEGIN.len()..].strip_suffix(DASHES);
                let is_ours = label == Some(Reference::LABEL.as_bytes());
                pem = Some((is_ours, if is_ours { text.to_vec() } else { Vec::new() }));
            }
            None => {}
            Some((is_ours, pem)) => {
                if *is_ours {
                    pem.extend_from_slice(text);
                    if pem.len() > BYTES_MAX {
                        return None;
                    }
                }
                if was_begin && trimmed.starts_with(END) {
                    return is_ours.then(|| std::mem::take(pem));
                }
            }
        }
    }
}

/// The structure that the first step names for the second: part of [`DER_PROPERTIES`].
const STRUCTURE: &CStr = c"oarlock-remote-key";
/// The properties of the first step.
pub(crate) const PEM_PROPERTIES: &CStr = c"provider=oarlock,input=pem";
/// The properties of the second step.
pub(crate) const DER_PROPERTIES: &CStr = c"provider=oarlock,input=der,structure=oarlock-remote-key";
/// OSSL_OBJECT_PKEY.
const OBJECT_PKEY: c_int = 2;
const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"-----END ";
const DASHES: &[u8] = b"-----";
/// The limit of OpenSSL's own decoder: 255 characters.
const LINE_BYTES: usize = 256;
/// Ten times the size of the longest key with the longest name.
const BYTES_MAX: usize = 16 << 10;
