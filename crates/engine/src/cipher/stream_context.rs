//! Stream ciphers with separate key and position.

use std::fmt;
use std::mem::MaybeUninit;
use std::sync::Arc;

use cipher::StreamCipher;
use inout::InOutBuf;
use oarlock_kernels::aes::{Backend, Ctr};
use oarlock_kernels::chacha20::{self, ChaCha20};
use oarlock_kernels::cpu::Cpu;

use super::algorithm::{AnyStream, StreamKind};
use super::ctr::AcceleratedCtr;
use crate::Error;
use crate::costs::lookup::kernel_backend;
use crate::device::keyed::begun::{Ahead, Begun};
use crate::device::keyed::keystream::Keystream;
use crate::device::keyed::stream::keystream;
use crate::options::Strategy;
use crate::plan::engine::Engine;
use crate::plan::first_look::FirstLook;
use crate::plan::shared_key::{Kernel, SharedKey};
use crate::work::algorithm::{Algorithm, Direction, Kind};
use crate::work::counter::advanced_within;
use crate::work::key_bytes;

/// A stream cipher whose key and position are set separately.
///
/// ```
/// use oarlock::{Accelerator, Algorithm};
/// use oarlock_engine::cipher::StreamContext;
///
/// let accelerator = Accelerator::builder().build()?;
/// let mut cipher = StreamContext::new(accelerator.as_ref(), Algorithm::Aes128Ctr, &[7; 16])?;
/// let mut data = *b"attack at dawn";
/// cipher.apply((&mut data[..]).into());
/// cipher.set_counter(0, 0);
/// cipher.apply((&mut data[..]).into());
/// assert_eq!(&data, b"attack at dawn");
/// # Ok::<(), oarlock::Error>(())
/// ```
///
/// Key, schedule and keystream are wiped on drop.
pub struct StreamContext {
    key: SharedKey<Keyed>,
    algorithm: Algorithm,
    kind: AnyStream,
    /// The counter block of the next byte; `skip` bytes of it are used.
    counter: u128,
    skip: usize,
    /// Prefetched keystream, for ciphers that are slow with single blocks. AES has none, so its contexts stay small
    /// enough to be moved in registers.
    begun: Option<Box<Begun>>,
    /// Shorter requests are computed by the kernel, even if there is a session.
    short_bytes: usize,
    /// Shorter requests are computed on the calling thread, even by a session.
    helped_bytes: usize,
    /// Bytes that the kernel may still serve before a session is opened.
    kernel_bytes_left: usize,
    /// The session for long requests. Its own position is that of the last one.
    session: Option<Box<AcceleratedCtr<AnyStream>>>,
}

/// A kernel and its key.
// A box would cost as much as the key that is put there.
#[allow(clippy::large_enum_variant)]
enum Keyed {
    Aes(Ctr),
    ChaCha20(ChaCha20),
    Other(Arc<dyn Keystream>),
}

impl Kernel for Keyed {
    /// Creates a kernel without a key. One that cannot exist without a key is copied with it.
    #[inline(always)]
    fn unkeyed_in<'a>(&self, _: &Engine, place: &'a mut MaybeUninit<Self>) -> &'a mut Self {
        place.write(match self {
            Self::Aes(ctr) => Self::Aes(Ctr::unkeyed(ctr.backend())),
            Self::ChaCha20(chacha) => Self::ChaCha20(ChaCha20::unkeyed(chacha.backend())),
            Self::Other(kernel) => Self::Other(Arc::clone(kernel)),
        })
    }

    #[inline(always)]
    fn set_key(&mut self, engine: &Engine, algorithm: Algorithm, key: &[u8]) -> Result<(), Error> {
        match self {
            Self::Aes(ctr) => ctr.set_key(key).map_err(key_bytes::refused),
            Self::ChaCha20(chacha) => chacha.set_key(key).map_err(key_bytes::refused),
            Self::Other(kernel) => {
                *kernel = other(engine.cpu, algorithm, key)?;
                Ok(())
            }
        }
    }
}

impl StreamContext {
    /// Creates a context under `key`, at the start of the stream for an IV of zeros.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] unless `algorithm` is a built-in stream cipher; [`Error::InvalidKey`] unless `key` has
    /// [`Algorithm::key_bytes`].
    pub fn new(engine: &Arc<Engine>, algorithm: Algorithm, key: &[u8]) -> Result<Self, Error> {
        let (key, kind) = keyed(engine, algorithm, key)?;
        Ok(Self::with_key(key, kind))
    }

    /// Does the same as [`new`](Self::new), but creates the context in `place`: moving one takes as long as encrypting
    /// a block.
    ///
    /// # Errors
    /// Those of [`new`](Self::new); `place` is then empty.
    #[inline(always)]
    pub fn put(
        place: &mut Option<Self>,
        engine: &Arc<Engine>,
        algorithm: Algorithm,
        key: &[u8],
    ) -> Result<(), Error> {
        *place = None;
        let (key, kind) = keyed(engine, algorithm, key)?;
        // `insert` would create it elsewhere and copy it.
        place.get_or_insert_with(|| Self::with_key(key, kind));
        Ok(())
    }

    /// Creates a copy in `place`, which is faster than moving it there.
    #[inline(always)]
    pub fn clone_in(&self, place: &mut Option<Self>) {
        *place = None;
        let copy = place.get_or_insert_with(|| Self::with_key(self.key.clone(), self.kind));
        (copy.counter, copy.skip) = (self.counter, self.skip);
    }

    /// Creates a context at position 0.
    #[inline(always)]
    fn with_key(key: SharedKey<Keyed>, kind: AnyStream) -> Self {
        let algorithm = key.algorithm();
        let first_look = first_look(&key);
        let begun = begun(&key);
        Self {
            key,
            algorithm,
            kind,
            counter: 0,
            skip: 0,
            begun,
            short_bytes: first_look.short_bytes,
            helped_bytes: first_look.helped_bytes,
            kernel_bytes_left: first_look.kernel_bytes,
            session: None,
        }
    }

    /// Replaces the key with `key`, of [`Algorithm::key_bytes`]. The position stays.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] for another length; nothing is changed then.
    #[inline]
    pub fn set_key(&mut self, key: &[u8]) -> Result<(), Error> {
        self.key.set(key)?;
        self.session = None;
        if let Some(begun) = &mut self.begun {
            begun.forget();
        }
        let first_look = first_look(&self.key);
        self.short_bytes = first_look.short_bytes;
        self.helped_bytes = first_look.helped_bytes;
        self.kernel_bytes_left = first_look.kernel_bytes;
        Ok(())
    }

    /// Moves to byte `skip` of the block made from `counter`. For AES and other block ciphers, `counter` is the
    /// big-endian counter block, in the low bits if a block is shorter. For ChaCha20, the upper 96 bits are the nonce,
    /// big-endian, and the low 32 are the block counter.
    ///
    /// # Panics
    /// If `skip` is not less than the length of a block.
    pub fn set_counter(&mut self, counter: u128, skip: usize) {
        assert!(
            skip < self.block_bytes(),
            "skip addresses a byte within a block of {} bytes, not {skip}",
            self.block_bytes()
        );
        (self.counter, self.skip) = (counter, skip);
        if let Some(begun) = &mut self.begun {
            begun.seek(counter, skip);
        }
    }

    /// Returns the position of the next byte, in the form that [`set_counter`](Self::set_counter) takes.
    pub fn counter(&self) -> (u128, usize) {
        (self.counter, self.skip)
    }

    /// XORs keystream onto `data` and advances past it. The counter wraps. ChaCha20's counter carries into the nonce's
    /// first word, as in OpenSSL.
    pub fn apply(&mut self, mut data: InOutBuf<'_, '_, u8>) {
        if self.algorithm == Algorithm::ChaCha20 {
            let blocks_left = (1 << 32) - u64::from(self.counter as u32);
            let bytes_left = blocks_left * CHACHA_BLOCK_BYTES - self.skip as u64;
            if data.len() as u64 >= bytes_left {
                let (before, after) = data.split_at(bytes_left as usize);
                self.run(before);
                let (word, rest) = (self.counter >> 96, self.counter & (u128::MAX >> 32));
                let carried = (word as u32).swap_bytes().wrapping_add(1).swap_bytes();
                self.set_counter(u128::from(carried) << 96 | rest, 0);
                data = after;
            }
        }
        self.run(data);
    }

    #[inline(always)]
    fn run(&mut self, data: InOutBuf<'_, '_, u8>) {
        let bytes = data.len();
        if bytes < self.short_bytes
            && let Keyed::Aes(ctr) = &*self.key
        {
            ctr.apply(self.counter, self.skip, data);
            self.advance(bytes);
            self.show(bytes);
        } else if bytes < self.short_bytes || bytes <= self.kernel_bytes_left {
            self.kernel_bytes_left = self.kernel_bytes_left.saturating_sub(bytes);
            self.run_by_kernel(data);
        } else {
            self.run_by_session(data);
        }
    }

    fn run_by_kernel(&mut self, data: InOutBuf<'_, '_, u8>) {
        let bytes = data.len();
        let (counter, skip) = (self.counter, self.skip);
        match (&*self.key, &mut self.begun) {
            (Keyed::Aes(ctr), _) => ctr.apply(counter, skip, data),
            (Keyed::ChaCha20(chacha), Some(begun)) => begun.apply(chacha, counter, skip, data),
            (Keyed::ChaCha20(chacha), None) => chacha.apply(counter, skip, data),
            (Keyed::Other(kernel), Some(begun)) => begun.apply(&**kernel, counter, skip, data),
            (Keyed::Other(kernel), None) => kernel.apply(counter, skip, data),
        }
        self.advance(bytes);
        self.show(bytes);
    }

    #[cold]
    #[inline(never)]
    fn run_by_session(&mut self, data: InOutBuf<'_, '_, u8>) {
        self.kernel_bytes_left = 0;
        let bytes = data.len();
        if self.algorithm == Algorithm::ChaCha20
            && bytes < self.helped_bytes
            && matches!(
                self.key.engine().options().strategy,
                Strategy::Auto | Strategy::Inline
            )
        {
            // An inline session would add nothing to the kernel.
            self.short_bytes = self.helped_bytes;
            return self.run_by_kernel(data);
        }
        if self.session.is_none() {
            self.open_session();
        }
        match &mut self.session {
            Some(session) => {
                if self.helped_bytes > 0 {
                    let is_helped = bytes >= self.helped_bytes;
                    session.keep_inline(!is_helped);
                }
                if session.position() != (self.counter, self.skip) {
                    session.begin_at(self.counter, self.skip);
                }
                session.unchecked_apply_keystream_inout(data);
                self.advance(bytes);
                if let Some(begun) = &mut self.begun {
                    begun.seek(self.counter, self.skip);
                }
            }
            None => self.run_by_kernel(data),
        }
    }

    /// Opens the session. If that fails, as under `reservation=exclusive`, the kernel continues.
    fn open_session(&mut self) {
        let Kind::Stream { iv_bytes, .. } = self.algorithm.kind() else {
            return;
        };
        let iv = &[0; 16][..iv_bytes];
        let (engine, algorithm) = (self.key.engine(), self.algorithm);
        let open = |key: &[u8]| AcceleratedCtr::open_stream(engine, algorithm, key, iv);
        self.session = self.key.with_bytes(open).ok().map(Box::new);
    }

    #[inline(always)]
    fn advance(&mut self, bytes: usize) {
        let end = self.skip + bytes;
        let blocks = (end >> self.kind.block_shift()) as u128;
        self.counter = advanced_within(self.counter, blocks, self.kind.counter_mask());
        self.skip = end & (self.block_bytes() - 1);
    }

    #[inline(always)]
    fn block_bytes(&self) -> usize {
        1 << self.kind.block_shift()
    }

    /// Counts a kernel's request for the published statistics. A session counts its own.
    #[inline(always)]
    fn show(&self, bytes: usize) {
        let shown = self.key.engine().shown;
        shown.count(self.algorithm, Direction::Encrypt, bytes);
    }
}

impl Clone for StreamContext {
    /// Shares the key. The copy has the position but no session yet.
    fn clone(&self) -> Self {
        let mut copy = Self::with_key(self.key.clone(), self.kind);
        (copy.counter, copy.skip) = (self.counter, self.skip);
        copy
    }
}

impl fmt::Debug for StreamContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamContext")
            .field("algorithm", &self.algorithm)
            .finish_non_exhaustive()
    }
}

/// Returns the limits up to which the kernel serves a new key without a session.
#[inline(always)]
fn first_look(key: &SharedKey<Keyed>) -> FirstLook {
    match &**key {
        Keyed::Aes(ctr) => FirstLook::aes_ctr(ctr.backend()),
        Keyed::ChaCha20(_) => FirstLook::CHACHA20,
        // A kernel of ours, which computes many blocks at once.
        Keyed::Other(_) if kernel_backend(key.engine().cpu, key.algorithm()) != "rustcrypto" => {
            FirstLook::LEGACY
        }
        Keyed::Other(_) => FirstLook::OTHER_STREAM,
    }
}

#[inline(always)]
fn begun(key: &SharedKey<Keyed>) -> Option<Box<Begun>> {
    match &**key {
        Keyed::Aes(_) => None,
        _ => Some(new_begun(key.engine().cpu, key.algorithm())),
    }
}

#[inline(never)]
fn new_begun(cpu: Cpu, algorithm: Algorithm) -> Box<Begun> {
    Box::new(Begun::new(cpu, algorithm, Ahead::of(cpu, algorithm)))
}

/// Creates the kernel of `algorithm` with `key`.
#[inline(always)]
fn keyed(
    engine: &Arc<Engine>,
    algorithm: Algorithm,
    key: &[u8],
) -> Result<(SharedKey<Keyed>, AnyStream), Error> {
    let kind = stream_kind(algorithm)?;
    // Each kernel is created in place: a choice among values would copy the chosen one.
    let key = match algorithm {
        Algorithm::Aes128Ctr | Algorithm::Aes192Ctr | Algorithm::Aes256Ctr => {
            let backend = Backend::preferred(engine.cpu);
            SharedKey::new(engine, algorithm, key, |place| {
                place.write(Keyed::Aes(Ctr::unkeyed(backend)))
            })
        }
        Algorithm::ChaCha20 => {
            let backend = chacha20::Backend::preferred(engine.cpu);
            SharedKey::new(engine, algorithm, key, |place| {
                place.write(Keyed::ChaCha20(ChaCha20::unkeyed(backend)))
            })
        }
        _ => {
            let kernel = other(engine.cpu, algorithm, key)?;
            SharedKey::of_keyed(engine, algorithm, key, Keyed::Other(kernel))
        }
    }?;
    Ok((key, kind))
}

#[inline(always)]
fn stream_kind(algorithm: Algorithm) -> Result<AnyStream, Error> {
    match AnyStream::of(algorithm) {
        Some(kind) if algorithm.is_built_in() => Ok(kind),
        _ => Err(Error::InvalidInput(format!(
            "{algorithm} is not a stream cipher that is built in"
        ))),
    }
}

fn other(cpu: Cpu, algorithm: Algorithm, key: &[u8]) -> Result<Arc<dyn Keystream>, Error> {
    key_bytes::check(algorithm, key)?;
    keystream(cpu, algorithm, key).map_err(|error| Error::InvalidKey(error.0.to_string()))
}

const CHACHA_BLOCK_BYTES: u64 = 64;
