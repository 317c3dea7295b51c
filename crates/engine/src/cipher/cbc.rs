//! AES in cipher block chaining mode: inline, or in stripes when it decrypts.
//!
//! Decrypting a block takes the ciphertext block before it, so a stripe needs the last ciphertext block of the previous
//! stripe, which another thread overwrites if it works in place. These blocks are copied before the stripes are posted.

use std::fmt;
use std::sync::Arc;

use inout::InOutBuf;
use oarlock_kernels::aes::BLOCK_BYTES;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::Error;
use crate::device::keyed::cbc::{BlockChain, CbcKey};
use crate::device::session::Session;
use crate::options::Strategy;
use crate::plan::engine::Engine;
use crate::plan::long::LongRequest;
use crate::plan::route::{self, Route};
use crate::work::algorithm::{Algorithm, Direction};
use oarlock_threads::pool::Stripes;

/// AES-CBC (SP 800-38A, 6.2), from `Accelerator::cbc`, which has an example: a chain of blocks that continues from call
/// to call. Output is that of RustCrypto's `cbc` and of `openssl enc -aes-128-cbc` (`-nopad` without padding).
///
/// Encryption takes each block with the previous ciphertext block, so it always runs on the calling thread, block after
/// block. Decryption runs there or with the pool's help. It makes no keystream, so [`Strategy::Prefetch`] means inline.
/// A request is done when the call returns.
///
/// CBC does not authenticate. An attacker that can alter ciphertext alters the plaintext, and one that also learns
/// whether decryption succeeded can read it: see [`decrypt_padded`](Self::decrypt_padded). An IV must not be
/// predictable (SP 800-38A, appendix C): use a fresh random one for each message.
///
/// Key and schedules are wiped on drop.
pub struct AcceleratedCbc {
    route: Route,
    chain: Chain,
}

/// Everything but the route, which a long request borrows while it changes the rest.
struct Chain {
    session: Session<CbcKey>,
    /// The previous ciphertext block.
    iv: Chained,
    /// The message has ended with its padding: nothing can follow.
    has_ended: bool,
    /// The ciphertext blocks before stripes, kept so that a long request need not allocate.
    before_stripes: Vec<[u8; BLOCK_BYTES]>,
}

/// A block that each request takes from the previous one. It is aligned, because a store across two cache lines is not
/// forwarded to the next load: 16 bytes would take 1.5 times as long (Zen 5) wherever the allocator places it so.
#[derive(Clone, Copy)]
#[repr(align(16))]
pub(super) struct Chained(pub(super) [u8; BLOCK_BYTES]);

impl AcceleratedCbc {
    #[doc(hidden)]
    pub fn open(engine: &Arc<Engine>, key: &[u8], iv: &[u8]) -> Result<Self, Error> {
        let algorithm = aes_cbc(key)?;
        let iv = block(iv)?;
        let (session, route) = route::open(engine, algorithm, key, BLOCK_BYTES)?;
        route.follow_options();
        let chain = Chain {
            session,
            iv: Chained(iv),
            has_ended: false,
            before_stripes: Vec::new(),
        };
        Ok(Self { route, chain })
    }

    /// Encrypts the next blocks of the message, in place or from one buffer to another.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] unless `data` is whole blocks of 16 bytes, or if the message has
    /// [ended](Self::encrypt_padded); nothing is changed then.
    #[inline]
    pub fn encrypt(&mut self, data: InOutBuf<'_, '_, u8>) -> Result<(), Error> {
        self.chain.check(data.len())?;
        self.chain
            .crypt_inline(&self.route, Direction::Encrypt, data);
        Ok(())
    }

    /// Decrypts the next blocks of the message, in place or from one buffer to another.
    ///
    /// # Errors
    /// Those of [`encrypt`](Self::encrypt).
    #[inline]
    pub fn decrypt(&mut self, data: InOutBuf<'_, '_, u8>) -> Result<(), Error> {
        self.chain.check(data.len())?;
        self.decrypt_blocks(data);
        Ok(())
    }

    /// Pads the rest of the message with 1 to 16 bytes as in PKCS #7 (RFC 5652, 6.3), and encrypts it. This ends the
    /// message: [`set_iv`](Self::set_iv) or [`set_key`](Self::set_key) begins the next.
    ///
    /// If `data` has no room for the padding, it is reallocated, and the plaintext in the old memory is wiped.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if the message has ended already; nothing is changed then.
    pub fn encrypt_padded(&mut self, data: &mut Vec<u8>) -> Result<(), Error> {
        self.chain.check(0)?;
        let padding_bytes = BLOCK_BYTES - data.len() % BLOCK_BYTES;
        let padded_bytes = data.len() + padding_bytes;
        if data.capacity() < padded_bytes {
            let mut moved = Vec::with_capacity(padded_bytes);
            moved.extend_from_slice(data);
            std::mem::replace(data, moved).zeroize();
        }
        data.resize(padded_bytes, padding_bytes as u8);
        self.chain
            .crypt_inline(&self.route, Direction::Encrypt, data.as_mut_slice().into());
        self.chain.has_ended = true;
        Ok(())
    }

    /// Decrypts the rest of the message and removes its padding. This ends the message, like
    /// [`encrypt_padded`](Self::encrypt_padded).
    ///
    /// **Padding oracles.** An attacker that can send chosen ciphertexts, and learns from an answer or its time whether
    /// their padding was valid, can decrypt any message block by block (Vaudenay, "Security Flaws Induced by CBC
    /// Padding", EUROCRYPT 2002). The padding is checked in constant time, but the result and the length of the
    /// plaintext reveal it. So authenticate the ciphertext and decrypt none that fails to verify, or use an AEAD.
    ///
    /// # Errors
    /// [`Error::InvalidPadding`] if the padding is wrong: the plaintext is wiped, `data` is empty and the message has
    /// ended. [`Error::InvalidInput`] unless `data` is one or more whole blocks, or if the message has ended already;
    /// nothing is changed then.
    pub fn decrypt_padded(&mut self, data: &mut Vec<u8>) -> Result<(), Error> {
        self.chain.check(data.len())?;
        if data.is_empty() {
            return Err(Error::InvalidInput(
                "a padded message has at least one block of 16 bytes".into(),
            ));
        }
        self.decrypt_blocks(data.as_mut_slice().into());
        self.chain.has_ended = true;
        let padding_bytes = data.last_chunk().and_then(padding_bytes);
        let Some(padding_bytes) = padding_bytes else {
            data.zeroize();
            return Err(Error::InvalidPadding);
        };
        data.truncate(data.len() - padding_bytes);
        Ok(())
    }

    /// Begins a message with the same key at `iv`, 16 bytes. It never waits.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for another length; nothing is changed then.
    pub fn set_iv(&mut self, iv: &[u8]) -> Result<(), Error> {
        self.chain.iv.0 = block(iv)?;
        self.chain.has_ended = false;
        Ok(())
    }

    /// Begins a message with another key, of 16, 24 or 32 bytes, at `iv`, 16 bytes. The old key is wiped.
    ///
    /// # Errors
    /// Those of `Accelerator::cbc`; nothing is changed then.
    pub fn set_key(&mut self, key: &[u8], iv: &[u8]) -> Result<(), Error> {
        let algorithm = aes_cbc(key)?;
        let iv = block(iv)?;
        let session = self.route.reopen(algorithm, key)?;
        self.hand_in_stats();
        self.route.begin_anew(session.cost);
        self.chain.session = session;
        self.chain.iv.0 = iv;
        self.chain.has_ended = false;
        self.route.look_again();
        Ok(())
    }

    /// Sets the strategy for requests, which overrides the accelerator's options. Encryption is always inline.
    pub fn set_strategy(&mut self, strategy: Strategy) {
        self.route.set_strategy(strategy);
    }

    /// Returns the name of the session's device.
    pub fn device(&self) -> &'static str {
        self.chain.session.device()
    }

    /// Adds the counts since the last call to `Accelerator::stats`.
    pub fn hand_in_stats(&mut self) {
        self.chain.hand_in(&self.route);
    }

    /// Decrypts whole blocks.
    #[inline(always)]
    fn decrypt_blocks(&mut self, data: InOutBuf<'_, '_, u8>) {
        if self.route.is_short(data.len()) {
            self.chain
                .crypt_inline(&self.route, Direction::Decrypt, data);
        } else {
            self.chain.decrypt_long(&self.route, data);
        }
    }
}

#[cold]
pub(super) fn no_whole_blocks(bytes: usize) -> Error {
    Error::InvalidInput(format!(
        "CBC takes whole blocks of 16 bytes, not {bytes} bytes: pad them"
    ))
}

impl Chain {
    #[inline(always)]
    fn check(&self, bytes: usize) -> Result<(), Error> {
        if bytes.is_multiple_of(BLOCK_BYTES) && !self.has_ended {
            Ok(())
        } else {
            Err(self.refusal(bytes))
        }
    }

    #[cold]
    fn refusal(&self, bytes: usize) -> Error {
        if !self.has_ended {
            return no_whole_blocks(bytes);
        }
        Error::InvalidInput(
            "the message has ended with its padding: begin the next one by set_iv".into(),
        )
    }

    /// Processes a whole request on this thread.
    #[inline(always)]
    fn crypt_inline(&mut self, route: &Route, direction: Direction, data: InOutBuf<'_, '_, u8>) {
        let bytes = data.len();
        self.session.keyed.crypt(direction, &mut self.iv.0, data);
        let algorithm = self.session.algorithm();
        route.count(algorithm, direction, 1, bytes);
    }

    fn hand_in(&self, route: &Route) {
        route.hand_in(self.session.device(), self.session.algorithm());
    }

    /// Decrypts a request that may gain from help.
    #[cold]
    #[inline(never)]
    fn decrypt_long(&mut self, route: &Route, data: InOutBuf<'_, '_, u8>) {
        route.follow_options();
        route.run(
            data.len(),
            LongRequest::helpers_max,
            (&mut *self, data),
            |(chain, data)| chain.crypt_inline(route, Direction::Decrypt, data),
            |(chain, data), request| chain.decrypt_in_stripes(route, request, data),
        );
        if route.has_shared() {
            self.hand_in(route);
        }
    }

    fn decrypt_in_stripes(
        &mut self,
        route: &Route,
        request: &LongRequest<'_>,
        data: InOutBuf<'_, '_, u8>,
    ) {
        let bytes = data.len();
        if bytes <= request.stripe_bytes() {
            return self.crypt_inline(route, Direction::Decrypt, data);
        }
        let keyed = self.session.keyed.shared();
        let before_stripes = &mut self.before_stripes;
        decrypt_in_stripes(request, keyed, &mut self.iv.0, before_stripes, data);
        route.count(self.session.algorithm(), Direction::Decrypt, 1, bytes);
    }
}

/// Decrypts whole blocks with `keyed` in the stripes of `request`. `before_stripes` is room for the blocks before them.
pub(super) fn decrypt_in_stripes(
    request: &LongRequest<'_>,
    keyed: &dyn BlockChain,
    iv: &mut [u8; BLOCK_BYTES],
    before_stripes: &mut Vec<[u8; BLOCK_BYTES]>,
    data: InOutBuf<'_, '_, u8>,
) {
    let stripe_bytes = Stripes::stripe_bytes_within(data.len(), request.stripe_bytes());
    let ciphertext = data.get_in();
    before_stripes.clear();
    before_stripes.push(*iv);
    before_stripes.extend(
        ciphertext
            .chunks(stripe_bytes)
            .filter_map(|stripe| stripe.last_chunk()),
    );
    let before_stripes = &**before_stripes;
    let stripes = Stripes::cut(data, stripe_bytes);
    request.share(&stripes, &|number, stripe| {
        let mut iv = before_stripes[number as usize];
        keyed.decrypt(&mut iv, stripe);
    });
    // The last block before the next request.
    if let Some(block) = before_stripes.last() {
        *iv = *block;
    }
}

impl ZeroizeOnDrop for AcceleratedCbc {}

impl Drop for AcceleratedCbc {
    fn drop(&mut self) {
        self.hand_in_stats();
    }
}

impl fmt::Debug for AcceleratedCbc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AcceleratedCbc")
            .field("algorithm", &self.chain.session.algorithm())
            .field("device", &self.device())
            .finish_non_exhaustive()
    }
}

/// Returns the number of padding bytes in the last block of a message, or `None` if the padding is wrong. The time does
/// not depend on the block's content.
fn padding_bytes(last: &[u8; BLOCK_BYTES]) -> Option<usize> {
    let count = last[BLOCK_BYTES - 1];
    let mut wrong = all_ones_if_below(16, count) | all_ones_if_below(count, 1);
    for (before_end, byte) in (0..).zip(last.iter().rev()) {
        wrong |= all_ones_if_below(before_end, count) & (byte ^ count);
    }
    // Keeps the compiler from ending the loop early.
    (std::hint::black_box(wrong) == 0).then_some(count.into())
}

/// Returns 0xff if `a` is less than `b`, else 0, without a branch.
fn all_ones_if_below(a: u8, b: u8) -> u8 {
    ((u16::from(a).wrapping_sub(b.into())) >> 8) as u8
}

fn aes_cbc(key: &[u8]) -> Result<Algorithm, Error> {
    Algorithm::aes_cbc(key.len()).ok_or_else(|| {
        Error::InvalidKey(format!(
            "an AES key has 16, 24 or 32 bytes, this one has {}",
            key.len()
        ))
    })
}

fn block(iv: &[u8]) -> Result<[u8; BLOCK_BYTES], Error> {
    iv.try_into().map_err(|_| {
        Error::InvalidInput(format!(
            "an IV of AES-CBC has 16 bytes, this one has {}",
            iv.len()
        ))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::testing::Accelerator;

    #[test]
    fn padding_is_that_of_rfc_5652_and_no_other() {
        for count in 0..=255u8 {
            for others in 0..=17 {
                let mut block = [others; BLOCK_BYTES];
                let end = BLOCK_BYTES.saturating_sub(count.into());
                block[end..].fill(count);
                block[BLOCK_BYTES - 1] = count;
                let expected = (1..=16).contains(&count).then_some(count.into());
                assert_eq!(padding_bytes(&block), expected, "{count} {others}");
                for at in end..BLOCK_BYTES - 1 {
                    for bit in 0..8 {
                        let mut corrupted = block;
                        corrupted[at] ^= 1 << bit;
                        assert_eq!(padding_bytes(&corrupted), None, "{count} {at} {bit}");
                    }
                }
            }
        }
    }

    #[test]
    fn inline_requests_take_no_lock() {
        for mask in ["", "-avx512", "-aes"] {
            let accelerator = Accelerator::builder().cpu_mask(mask).build().unwrap();
            let mut cipher = accelerator.cbc(&[0x2b; 16], &[0xf0; 16]).unwrap();
            let mut forced = accelerator.cbc(&[0x2b; 16], &[0xf0; 16]).unwrap();
            forced.set_strategy(Strategy::Inline);
            // The pool exists, so that its locks could be taken.
            accelerator.0.pool();
            let (done, wait) = mpsc::channel();
            let requests = accelerator.0.with_every_lock_held(|| {
                std::thread::spawn(move || {
                    let mut data = vec![0; 3_000_000];
                    // Without AES instructions, 16 KiB take so long that a helper may pay.
                    let longest = if mask == "-aes" { 4096 } else { 16_384 };
                    for bytes in [0, 16, 64, 1008, longest] {
                        cipher.encrypt((&mut data[..bytes]).into()).unwrap();
                        cipher.decrypt((&mut data[..bytes]).into()).unwrap();
                        cipher.set_iv(&[1; 16]).unwrap();
                    }
                    // Long enough to check clock and pool, but not for a helper.
                    let long_bytes = cipher.route.long_bytes().next_multiple_of(16);
                    for _ in 0..2 {
                        cipher.decrypt((&mut data[..long_bytes]).into()).unwrap();
                    }
                    forced.encrypt((&mut data[..]).into()).unwrap();
                    forced.decrypt((&mut data[..]).into()).unwrap();
                    done.send((cipher, forced)).unwrap();
                });
                wait.recv_timeout(oarlock_testing::LIMIT)
            });
            assert!(
                requests.is_ok(),
                "{mask}: an inline request waits for a lock"
            );
        }
    }
}
