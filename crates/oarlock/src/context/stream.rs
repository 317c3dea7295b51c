//! Stream ciphers.

use std::fmt;
use std::sync::Arc;

use cipher::StreamCipher;
use inout::InOutBuf;
use oarlock_kernels::aes::{Backend, Ctr};
use oarlock_kernels::chacha20::{self, ChaCha20};
use zeroize::{Zeroize, Zeroizing};

use super::{KeyBytes, key_bytes};
use crate::cipher::ctr::AcceleratedCtr;
use crate::cipher::{AnyStream, Keystream, advanced, keystream};
use crate::device::{Kind, Operation};
use crate::{Accelerator, Error};

/// A stream cipher whose key and position are set apart, from [`Accelerator::stream_context`].
///
/// ```
/// use oarlock::{Accelerator, device::Operation};
///
/// let mut cipher = Accelerator::builder().build()?.stream_context(Operation::Aes128Ctr)?;
/// cipher.set_key(&[7; 16])?;
/// cipher.set_counter(0, 0);
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
    accelerator: Accelerator,
    operation: Operation,
    shape: AnyStream,
    key: KeyBytes,
    kernel: Kernel,
    /// Counter block of the next byte, and bytes of it that are used up.
    counter: u128,
    skip: usize,
    /// The keystream of the block at `begun_at`, of ciphers that take long to make one.
    begun: Zeroizing<[u8; 64]>,
    begun_at: Option<u128>,
    /// Bytes that the kernel may still serve before a session is opened.
    kernel_bytes_left: usize,
    session: Option<Box<AcceleratedCtr<AnyStream>>>,
}

enum Kernel {
    Unkeyed,
    Aes(Ctr),
    ChaCha20(ChaCha20),
    Other(Arc<dyn Keystream>),
}

impl StreamContext {
    pub(crate) fn new(accelerator: &Accelerator, operation: Operation) -> Result<Self, Error> {
        let Some(shape) = AnyStream::of(operation).filter(|_| operation.is_built_in()) else {
            return Err(Error::InvalidInput(format!(
                "{operation} is not a stream cipher that is built in"
            )));
        };
        Ok(Self {
            accelerator: accelerator.clone(),
            operation,
            shape,
            key: KeyBytes::default(),
            kernel: Kernel::Unkeyed,
            counter: 0,
            skip: 0,
            begun: Zeroizing::new([0; 64]),
            begun_at: None,
            kernel_bytes_left: 0,
            session: None,
        })
    }

    /// Takes `key`, of [`Operation::key_bytes`], in place of the one before. The position stays.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] for another length; nothing has changed then.
    pub fn set_key(&mut self, key: &[u8]) -> Result<(), Error> {
        self.key = key_bytes(self.operation, key)?;
        self.session = None;
        self.forget_begun();
        let cpu = self.accelerator.cpu();
        let invalid = |error: &dyn ToString| Error::InvalidKey(error.to_string());
        self.kernel_bytes_left = match self.operation {
            Operation::Aes128Ctr | Operation::Aes192Ctr | Operation::Aes256Ctr => {
                let backend = Backend::preferred(cpu);
                // In its place: a schedule that is moved leaves a copy behind.
                if !matches!(&self.kernel, Kernel::Aes(ctr) if ctr.backend() == backend) {
                    self.kernel = Kernel::Aes(Ctr::unkeyed(backend));
                }
                if let Kernel::Aes(ctr) = &mut self.kernel {
                    ctr.set_key(key).map_err(|error| invalid(&error))?;
                }
                // A session may know better than the portable kernel.
                if matches!(backend, Backend::Portable) {
                    0
                } else {
                    AES_BYTES_MAX
                }
            }
            Operation::ChaCha20 => {
                if !matches!(&self.kernel, Kernel::ChaCha20(_)) {
                    let backend = chacha20::Backend::preferred(cpu);
                    self.kernel = Kernel::ChaCha20(ChaCha20::unkeyed(backend));
                }
                if let Kernel::ChaCha20(chacha) = &mut self.kernel {
                    chacha.set_key(key).map_err(|error| invalid(&error))?;
                }
                CHACHA_BYTES_MAX
            }
            _ => {
                let kernel = keystream(cpu, self.operation, key);
                self.kernel = Kernel::Other(kernel.map_err(|error| invalid(&error.0))?);
                OTHER_BYTES_MAX
            }
        };
        Ok(())
    }

    /// Whether a key has been set.
    pub fn is_keyed(&self) -> bool {
        !matches!(self.kernel, Kernel::Unkeyed)
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
        if let Some(session) = &mut self.session {
            session.begin_at(counter, skip);
        }
    }

    /// The position of the next byte, as [`set_counter`](Self::set_counter) takes it.
    pub fn counter(&self) -> (u128, usize) {
        (self.counter, self.skip)
    }

    /// XORs keystream onto `data` and goes on behind it. The counter wraps: that of ChaCha20 into
    /// the first word of the nonce, as OpenSSL's does.
    ///
    /// Without a key the output is worthless.
    pub fn apply(&mut self, mut data: InOutBuf<'_, '_, u8>) {
        if self.operation == Operation::ChaCha20 {
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
        if bytes > self.kernel_bytes_left {
            return self.run_by_session(data);
        }
        self.kernel_bytes_left -= bytes;
        if let Kernel::Aes(ctr) = &self.kernel {
            ctr.apply(self.counter, self.skip, data);
            self.advance(bytes);
        } else {
            self.run_by_blocks(data);
        }
    }

    /// A block begun is made once.
    fn run_by_blocks(&mut self, mut data: InOutBuf<'_, '_, u8>) {
        let block_bytes = self.block_bytes();
        while !data.is_empty() {
            let whole = data.len() - data.len() % block_bytes;
            if self.skip == 0 && whole > 0 {
                let (blocks, rest) = data.split_at(whole);
                self.kernel.apply(self.counter, blocks);
                self.advance(whole);
                data = rest;
            } else {
                if self.begun_at != Some(self.counter) {
                    self.begun.zeroize();
                    let begun = &mut self.begun[..block_bytes];
                    self.kernel.apply(self.counter, begun.into());
                    self.begun_at = Some(self.counter);
                }
                let bytes = data.len().min(block_bytes - self.skip);
                let (mut head, rest) = data.split_at(bytes);
                head.xor_in2out(&self.begun[self.skip..self.skip + bytes]);
                self.advance(bytes);
                data = rest;
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn run_by_session(&mut self, data: InOutBuf<'_, '_, u8>) {
        self.kernel_bytes_left = 0;
        let bytes = data.len();
        if self.session.is_none() && self.is_keyed() {
            self.open_session();
        }
        match &mut self.session {
            Some(session) => {
                session.unchecked_apply_keystream_inout(data);
                self.advance(bytes);
            }
            None => self.run_by_blocks(data),
        }
    }

    /// Where none can be had, as under `reservation=exclusive`, the kernel goes on.
    fn open_session(&mut self) {
        let Kind::Stream { iv_bytes, .. } = self.operation.kind() else {
            return;
        };
        let key = &self.key[..self.operation.key_bytes()];
        let iv = &[0; 16][..iv_bytes];
        if let Ok(mut session) = self.accelerator.stream(self.operation, key, iv) {
            session.begin_at(self.counter, self.skip);
            self.session = Some(Box::new(session));
        }
    }

    #[inline(always)]
    fn advance(&mut self, bytes: usize) {
        use crate::cipher::Algorithm;
        let end = self.skip + bytes;
        let blocks = (end >> self.shape.block_shift()) as u128;
        self.counter = advanced(self.counter, blocks, self.shape.counter_bits());
        self.skip = end & (self.block_bytes() - 1);
    }

    #[inline(always)]
    fn block_bytes(&self) -> usize {
        use crate::cipher::Algorithm;
        1 << self.shape.block_shift()
    }

    fn forget_begun(&mut self) {
        self.begun.zeroize();
        self.begun_at = None;
    }
}

impl Clone for StreamContext {
    fn clone(&self) -> Self {
        let mut copy = Self {
            accelerator: self.accelerator.clone(),
            operation: self.operation,
            shape: self.shape,
            key: KeyBytes::default(),
            kernel: Kernel::Unkeyed,
            counter: self.counter,
            skip: self.skip,
            begun: Zeroizing::new([0; 64]),
            begun_at: None,
            kernel_bytes_left: 0,
            session: None,
        };
        if self.is_keyed() {
            // A key that was taken once is taken again.
            let _ = copy.set_key(&self.key[..self.operation.key_bytes()]);
        }
        copy
    }
}

impl fmt::Debug for StreamContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamContext")
            .field("operation", &self.operation)
            .finish_non_exhaustive()
    }
}

impl Kernel {
    /// From the start of a block on.
    fn apply(&self, counter: u128, data: InOutBuf<'_, '_, u8>) {
        match self {
            Self::Unkeyed => {}
            Self::Aes(ctr) => ctr.apply(counter, 0, data),
            Self::ChaCha20(chacha) => chacha.apply(counter, 0, data),
            Self::Other(cipher) => cipher.apply(counter, 0, data),
        }
    }
}

const CHACHA_BLOCK_BYTES: u64 = 64;
/// From 5 to 30 µs of work, of which a session costs one.
const AES_BYTES_MAX: usize = 128 << 10;
const CHACHA_BYTES_MAX: usize = 32 << 10;
const OTHER_BYTES_MAX: usize = 4 << 10;
