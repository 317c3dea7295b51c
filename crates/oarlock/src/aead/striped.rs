//! One message over several threads.
//!
//! ```text
//! begin       nonce and associated data                            the caller
//! stripes     encrypt, and the MAC of the stripe's ciphertext      who takes the ticket
//! append      y = y * H^blocks + stripe (Poly1305: r), in order    the caller
//! finish      lengths, tag                                         the caller
//! ```
//!
//! On open the stripes are decrypted before the tag is known. Where it turns out wrong all of it is
//! taken back before the call returns.

use std::sync::{Mutex, PoisonError};

use inout::InOutBuf;
use oarlock_kernels::aead::{AeadError, TAG_BYTES, tags_match};

use super::key::{InParts, is_in_place};
use crate::pool::{Pool, Role, Stripes, Tickets};

/// How a message is cut, and who helps.
pub(super) struct Cut<'a> {
    pub(super) pool: &'a Pool,
    pub(super) helpers: usize,
    /// A multiple of 64.
    pub(super) stripe_bytes: usize,
    /// Told when a helper's first stripe begins.
    pub(super) joined: &'a (dyn Fn() + Sync),
}

/// What the threads did.
#[derive(Default)]
pub(super) struct Done {
    pub(super) helper_stripes: u64,
}

impl Cut<'_> {
    pub(super) fn seal<K: InParts>(
        &self,
        key: &K,
        nonce: &[u8],
        aad: &[u8],
        data: InOutBuf<'_, '_, u8>,
    ) -> Result<([u8; TAG_BYTES], Done), AeadError> {
        let mut message = begin(key, nonce, aad, data.len())?;
        let stripe = |message: &K::Message, offset, data: InOutBuf<'_, '_, u8>| {
            key.seal_stripe(message, offset, data)
        };
        let done = self.each(key, &mut message, data, &stripe);
        Ok((key.finish(message), done))
    }

    pub(super) fn open<K: InParts>(
        &self,
        key: &K,
        nonce: &[u8],
        aad: &[u8],
        mut data: InOutBuf<'_, '_, u8>,
        tag: &[u8; TAG_BYTES],
    ) -> Result<Done, AeadError> {
        let mut message = begin(key, nonce, aad, data.len())?;
        let stripe = |message: &K::Message, offset, data: InOutBuf<'_, '_, u8>| {
            key.open_stripe(message, offset, data)
        };
        let done = self.each(key, &mut message, data.reborrow(), &stripe);
        if tags_match(&key.finish(message), tag) {
            return Ok(done);
        }
        if is_in_place(&mut data) {
            key.crypt_stripe(&key.begin(nonce, aad)?, 0, data);
        } else {
            data.get_out().fill(0);
        }
        Err(AeadError::AuthenticationFailed)
    }

    /// Lets `stripe` do each stripe of `data`, and puts together what it returns.
    fn each<K: InParts>(
        &self,
        key: &K,
        message: &mut K::Message,
        data: InOutBuf<'_, '_, u8>,
        stripe: &(dyn Fn(&K::Message, u64, InOutBuf<'_, '_, u8>) -> K::Partial + Sync),
    ) -> Done {
        let bytes = data.len() as u64;
        let stripes = Stripes::cut(data, self.stripe_bytes);
        let stripe_bytes = stripes.stripe_bytes() as u64;
        let tickets = Tickets::new(stripes.count());
        let partials = Mutex::new((
            Vec::with_capacity(stripes.count() as usize),
            Done::default(),
        ));
        let shared = &*message;
        self.pool.run(self.helpers, &|role| {
            let mut mine = Vec::new();
            while let Some(ticket) = tickets.take(role) {
                if role == Role::Helper && mine.is_empty() {
                    (self.joined)();
                }
                // SAFETY: the tickets are `count`, so the number is below it, and each comes once.
                let data = unsafe { stripes.stripe(ticket) };
                let partial = stripe(shared, u64::from(ticket) * stripe_bytes, data);
                mine.push((ticket, partial));
            }
            let mut all = partials.lock().unwrap_or_else(PoisonError::into_inner);
            if role == Role::Helper {
                all.1.helper_stripes += mine.len() as u64;
            }
            all.0.append(&mut mine);
        });
        let (mut partials, done) = partials
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        partials.sort_unstable_by_key(|(ticket, _)| *ticket);
        for (ticket, partial) in partials {
            let offset = u64::from(ticket) * stripe_bytes;
            key.append(message, partial, stripe_bytes.min(bytes - offset));
        }
        done
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
    let mut message = key.begin(nonce, aad)?;
    key.prepare(&mut message, bytes as u64);
    Ok(message)
}
