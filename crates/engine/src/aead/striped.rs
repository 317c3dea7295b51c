//! One message on several threads.
//!
//! ```text
//! begin       nonce and associated data                            the caller
//! stripes     encrypt, and the MAC of the stripe's ciphertext      the thread that takes the stripe
//! append      y = y * H^blocks + stripe (Poly1305: r), in order    the caller
//! finish      lengths, tag                                         the caller
//! ```
//!
//! On open, the stripes are decrypted before the tag is known. If it is wrong, all of them are encrypted again, or
//! zeroed in a separate output, before the call returns.

use std::sync::{Mutex, PoisonError};

use inout::InOutBuf;
use oarlock_kernels::aead::{AeadError, TAG_BYTES, tags_match};

use crate::device::keyed::aead::{InParts, is_in_place};
use crate::plan::long::LongRequest;
use crate::work::algorithm::Direction;
use oarlock_threads::pool::Stripes;

/// The function for a stripe, which takes the message and the stripe's offset and data.
type Each<'a, K> = dyn Fn(&<K as InParts>::Message, u64, InOutBuf<'_, '_, u8>) -> <K as InParts>::Partial
    + Sync
    + 'a;

pub(super) fn seal<K: InParts>(
    request: &LongRequest<'_>,
    key: &K,
    nonce: &[u8],
    aad: &[u8],
    data: InOutBuf<'_, '_, u8>,
) -> Result<[u8; TAG_BYTES], AeadError> {
    let mut message = begin(key, nonce, aad, data.len())?;
    next(request, key, &mut message, Direction::Encrypt, data);
    Ok(key.finish(message))
}

pub(super) fn open<K: InParts>(
    request: &LongRequest<'_>,
    key: &K,
    nonce: &[u8],
    aad: &[u8],
    mut data: InOutBuf<'_, '_, u8>,
    tag: &[u8; TAG_BYTES],
) -> Result<(), AeadError> {
    let mut message = begin(key, nonce, aad, data.len())?;
    next(
        request,
        key,
        &mut message,
        Direction::Decrypt,
        data.reborrow(),
    );
    if tags_match(&key.finish(message), tag) {
        return Ok(());
    }
    if is_in_place(&mut data) {
        key.crypt_stripe(&key.begin(nonce, aad)?, 0, data);
    } else {
        data.get_out().fill(0);
    }
    Err(AeadError::AuthenticationFailed)
}

/// Seals or opens the next part of `message`, within the cipher's limit. It begins at a multiple of
/// [`STRIPE_ALIGN`](oarlock_kernels::aead::STRIPE_ALIGN), and only the last part may end elsewhere.
pub(super) fn next<K: InParts>(
    request: &LongRequest<'_>,
    key: &K,
    message: &mut K::Message,
    direction: Direction,
    data: InOutBuf<'_, '_, u8>,
) {
    each(
        request,
        key,
        message,
        data,
        &|message, offset, data| match direction {
            Direction::Encrypt => key.seal_stripe(message, offset, data),
            Direction::Decrypt => key.open_stripe(message, offset, data),
        },
    );
}

/// Calls `stripe` for each stripe of `data`, and appends the results to `message`.
fn each<K: InParts>(
    request: &LongRequest<'_>,
    key: &K,
    message: &mut K::Message,
    data: InOutBuf<'_, '_, u8>,
    stripe: &Each<'_, K>,
) {
    let bytes = data.len() as u64;
    let begin = K::bytes(message);
    let stripes = Stripes::cut(data, request.stripe_bytes());
    let stripe_bytes = stripes.stripe_bytes() as u64;
    let partials = Mutex::new(Vec::with_capacity(stripes.count() as usize));
    let shared = &*message;
    request.share(&stripes, &|number, data| {
        let partial = stripe(shared, begin + u64::from(number) * stripe_bytes, data);
        let mut partials = partials.lock().unwrap_or_else(PoisonError::into_inner);
        partials.push((number, partial));
    });
    let mut partials = partials
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    partials.sort_unstable_by_key(|(number, _)| *number);
    for (number, partial) in partials {
        let offset = u64::from(number) * stripe_bytes;
        key.append(message, partial, stripe_bytes.min(bytes - offset));
    }
}

fn begin<K: InParts>(
    key: &K,
    nonce: &[u8],
    aad: &[u8],
    bytes: usize,
) -> Result<K::Message, AeadError> {
    if bytes as u64 > K::DATA_BYTES_MAX {
        return Err(AeadError::MessageTooLong {
            bytes_max: K::DATA_BYTES_MAX,
        });
    }
    key.begin(nonce, aad)
}
