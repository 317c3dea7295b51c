//! Stream ciphers whose key and position are set apart.

use std::fmt;
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
use crate::work::algorithm::{Algorithm, Direction, Kind};
use crate::work::counter::advanced_within;
use crate::work::key_bytes::{self, KeyBytes};

/// A stream cipher whose key and position are set apart.
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
    engine: Arc<Engine>,
    algorithm: Algorithm,
    kind: AnyStream,
    key: KeyBytes,
    kernel: Kernel,
    /// Counter block of the next byte, and bytes of it that are used up.
    counter: u128,
    skip: usize,
    /// Keystream that was made ahead, for ciphers that are slow at single blocks.
    begun: Begun,
    /// A request of fewer bytes is computed by the kernel, even if there is a session.
    short_bytes: usize,
    /// A request of fewer bytes is computed on the calling thread, even if the session computes it.
    helped_bytes: usize,
    /// Bytes that the kernel may still serve before a session is opened.
    kernel_bytes_left: usize,
    /// Its own position is that of the last long request.
    session: Option<Box<AcceleratedCtr<AnyStream>>>,
}

// A box would cost as much as the key that is put there.
#[allow(clippy::large_enum_variant)]
enum Kernel {
    Aes(Ctr),
    ChaCha20(ChaCha20),
    Other(Arc<dyn Keystream>),
}

impl StreamContext {
    /// A stream cipher under `key`, at the beginning of the stream of an IV of zeros.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] unless `algorithm` is a stream cipher that is built in; [`Error::InvalidKey`] unless `key` has
    /// [`Algorithm::key_bytes`].
    pub fn new(engine: &Arc<Engine>, algorithm: Algorithm, key: &[u8]) -> Result<Self, Error> {
        let kind = stream_kind(algorithm)?;
        let other = Kernel::made_with_key(engine.cpu, algorithm, key)?;
        let kernel = Kernel::unkeyed(engine.cpu, algorithm, other);
        let mut context = Self::with_kernel(engine, algorithm, kind, kernel);
        context.take_key(key)?;
        Ok(context)
    }

    /// As [`new`](Self::new), but creates the context in `place`. Moving a context leaves a copy of its key behind; one
    /// that stays in its place leaves none.
    ///
    /// # Errors
    /// Those of [`new`](Self::new); `place` is empty then.
    pub fn put(
        place: &mut Option<Self>,
        engine: &Arc<Engine>,
        algorithm: Algorithm,
        key: &[u8],
    ) -> Result<(), Error> {
        *place = None;
        let kind = stream_kind(algorithm)?;
        let other = Kernel::made_with_key(engine.cpu, algorithm, key)?;
        let with = |kernel| Self::with_kernel(engine, algorithm, kind, kernel);
        let take_key = |context: &mut Self| context.take_key(key);
        // Each kernel is made where it stays: a choice among values would copy the chosen one.
        match other {
            Some(other) => key_bytes::put(place, || with(Kernel::Other(other)), take_key),
            None if algorithm == Algorithm::ChaCha20 => {
                let backend = chacha20::Backend::preferred(engine.cpu);
                let kernel = || Kernel::ChaCha20(ChaCha20::unkeyed(backend));
                key_bytes::put(place, || with(kernel()), take_key)
            }
            None => {
                let backend = Backend::preferred(engine.cpu);
                let kernel = || Kernel::Aes(Ctr::unkeyed(backend));
                key_bytes::put(place, || with(kernel()), take_key)
            }
        }
    }

    #[inline(always)]
    fn with_kernel(
        engine: &Arc<Engine>,
        algorithm: Algorithm,
        kind: AnyStream,
        kernel: Kernel,
    ) -> Self {
        Self {
            engine: Arc::clone(engine),
            algorithm,
            kind,
            key: KeyBytes::default(),
            kernel,
            counter: 0,
            skip: 0,
            begun: Begun::new(engine.cpu, algorithm, Ahead::of(engine.cpu, algorithm)),
            short_bytes: 0,
            helped_bytes: 0,
            kernel_bytes_left: 0,
            session: None,
        }
    }

    /// Takes `key`, of [`Algorithm::key_bytes`], in place of the one before. The position stays.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] for another length; nothing has changed then.
    pub fn set_key(&mut self, key: &[u8]) -> Result<(), Error> {
        if let Kernel::Other(kernel) = &mut self.kernel {
            *kernel = other(self.engine.cpu, self.algorithm, key)?;
        }
        self.take_key(key)
    }

    /// Makes a copy where it stays: one that is moved leaves its key behind.
    pub fn clone_in(&self, place: &mut Option<Self>) {
        *place = None;
        place.get_or_insert_with(|| self.unkeyed()).set_as(self);
    }

    /// Makes a context of the same algorithm without a key, except in a kernel that can only be made with one.
    #[inline(always)]
    fn unkeyed(&self) -> Self {
        let kernel = match &self.kernel {
            Kernel::Aes(ctr) => Kernel::Aes(Ctr::unkeyed(ctr.backend())),
            Kernel::ChaCha20(chacha) => Kernel::ChaCha20(ChaCha20::unkeyed(chacha.backend())),
            Kernel::Other(kernel) => Kernel::Other(Arc::clone(kernel)),
        };
        Self::with_kernel(&self.engine, self.algorithm, self.kind, kernel)
    }

    /// Takes the key and the position of another. `self` is [`unkeyed`](Self::unkeyed).
    fn set_as(&mut self, other: &Self) {
        (self.counter, self.skip) = (other.counter, other.skip);
        self.key.set_as(&other.key);
        match (&mut self.kernel, &other.kernel) {
            (Kernel::Aes(ctr), Kernel::Aes(other)) => ctr.set_key_of(other),
            (Kernel::ChaCha20(chacha), Kernel::ChaCha20(other)) => chacha.set_key_of(other),
            // It has its key.
            _ => {}
        }
        self.begin_first_look();
    }

    /// As [`set_key`](Self::set_key), where a kernel that is made with its key has it already.
    fn take_key(&mut self, key: &[u8]) -> Result<(), Error> {
        self.key.set(self.algorithm, key)?;
        self.session = None;
        self.begun.forget();
        match &mut self.kernel {
            Kernel::Aes(ctr) => ctr.set_key(key).map_err(key_bytes::refused)?,
            Kernel::ChaCha20(chacha) => chacha.set_key(key).map_err(key_bytes::refused)?,
            Kernel::Other(_) => {}
        }
        self.begin_first_look();
        Ok(())
    }

    /// With a new key: what the kernel may do before there is a session.
    fn begin_first_look(&mut self) {
        let first_look = match &self.kernel {
            Kernel::Aes(ctr) => FirstLook::aes_ctr(ctr.backend()),
            Kernel::ChaCha20(_) => FirstLook::CHACHA20,
            Kernel::Other(_) if self.has_lanes() => FirstLook::LEGACY,
            Kernel::Other(_) => FirstLook::OTHER_STREAM,
        };
        self.short_bytes = first_look.short_bytes;
        self.helped_bytes = first_look.helped_bytes;
        self.kernel_bytes_left = first_look.kernel_bytes;
    }

    /// Goes to byte `skip` of the block that is made of `counter`: for AES and other block ciphers
    /// the whole counter block, in its low bits where a block is shorter, big-endian; for ChaCha20
    /// the nonce in the upper 96 bits, big-endian, and the block counter in the low 32.
    ///
    /// # Panics
    /// When a block has not so many bytes.
    pub fn set_counter(&mut self, counter: u128, skip: usize) {
        assert!(
            skip < self.block_bytes(),
            "skip addresses a byte within a block of {} bytes, not {skip}",
            self.block_bytes()
        );
        (self.counter, self.skip) = (counter, skip);
        self.begun.seek(counter, skip);
    }

    /// The position of the next byte, as [`set_counter`](Self::set_counter) takes it.
    pub fn counter(&self) -> (u128, usize) {
        (self.counter, self.skip)
    }

    /// XORs keystream onto `data` and goes on behind it. The counter wraps: that of ChaCha20 into
    /// the first word of the nonce, as OpenSSL's does.
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
            && let Kernel::Aes(ctr) = &self.kernel
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
        match &self.kernel {
            Kernel::Aes(ctr) => ctr.apply(counter, skip, data),
            Kernel::ChaCha20(chacha) => self.begun.apply(chacha, counter, skip, data),
            Kernel::Other(kernel) => self.begun.apply(&**kernel, counter, skip, data),
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
                self.engine.options().strategy,
                Strategy::Auto | Strategy::Inline
            )
        {
            // A session that does it inline has nothing to add to the kernel.
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
                self.begun.seek(self.counter, self.skip);
            }
            None => self.run_by_kernel(data),
        }
    }

    /// Opens the session. Where none can be had, as under `reservation=exclusive`, the kernel goes on.
    fn open_session(&mut self) {
        let Kind::Stream { iv_bytes, .. } = self.algorithm.kind() else {
            return;
        };
        let iv = &[0; 16][..iv_bytes];
        let open = |key: &[u8]| AcceleratedCtr::open_stream(&self.engine, self.algorithm, key, iv);
        self.session = self.key.with(open).ok().map(Box::new);
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

    /// Counts what the kernel has done for others to see; a session counts for itself.
    #[inline(always)]
    fn show(&self, bytes: usize) {
        let shown = self.engine.shown;
        shown.count(self.algorithm, Direction::Encrypt, bytes);
    }

    /// Whether this is a kernel of ours that makes many blocks at once.
    fn has_lanes(&self) -> bool {
        kernel_backend(self.engine.cpu, self.algorithm) != "rustcrypto"
    }
}

impl Clone for StreamContext {
    fn clone(&self) -> Self {
        let mut copy = self.unkeyed();
        copy.set_as(self);
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

impl Kernel {
    /// The kernel of ciphers that have no place for a key before they get it.
    #[inline(always)]
    fn made_with_key(
        cpu: Cpu,
        algorithm: Algorithm,
        key: &[u8],
    ) -> Result<Option<Arc<dyn Keystream>>, Error> {
        match algorithm {
            Algorithm::Aes128Ctr
            | Algorithm::Aes192Ctr
            | Algorithm::Aes256Ctr
            | Algorithm::ChaCha20 => Ok(None),
            _ => other(cpu, algorithm, key).map(Some),
        }
    }

    /// For [`take_key`](StreamContext::take_key).
    #[inline(always)]
    fn unkeyed(cpu: Cpu, algorithm: Algorithm, other: Option<Arc<dyn Keystream>>) -> Self {
        match other {
            Some(kernel) => Self::Other(kernel),
            None if algorithm == Algorithm::ChaCha20 => {
                Self::ChaCha20(ChaCha20::unkeyed(chacha20::Backend::preferred(cpu)))
            }
            None => Self::Aes(Ctr::unkeyed(Backend::preferred(cpu))),
        }
    }
}

const CHACHA_BLOCK_BYTES: u64 = 64;
