//! Stream ciphers with RustCrypto's traits.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use cipher::consts::{U16, U24, U32};
use cipher::{
    BlockCipherEncrypt, Iv, IvSizeUser, Key, KeyInit, KeyIvInit, KeySizeUser, OverflowError,
    SeekNum, StreamCipher, StreamCipherError, StreamCipherSeek,
};
use inout::InOutBuf;
use oarlock_kernels::aes::BLOCK_BYTES;
use zeroize::ZeroizeOnDrop;

use super::algorithm::{Aes128, Aes192, Aes256, AnyAes, AnyStream, StreamKind};
use super::stream::Stream;
use crate::Error;
use crate::costs::lookup::kernel_cost;
use crate::device::keyed::begun::Ahead;
use crate::device::keyed::block::BlockCtr;
use crate::device::keyed::stream::StreamKey;
use crate::device::session::Session;
use crate::options::Strategy;
use crate::plan::engine::Engine;
use crate::plan::route::{self, Route};
use crate::work::algorithm::{Algorithm, Kind};
use crate::work::counter::advanced;

/// A stream cipher: AES in counter mode (SP 800-38A, 6.5), from `Accelerator::ctr`, or any other, from
/// `Accelerator::stream`. Output is that of RustCrypto's `ctr::Ctr128BE` (`ctr::Ctr64BE` for blocks of 8 bytes,
/// `chacha20::ChaCha20`), and it implements the same traits: [`StreamCipher`] and [`StreamCipherSeek`].
///
/// A request is done when the call returns, on the calling thread alone or with the pool's help. Key, schedule, tables
/// and keystream are wiped on drop.
///
/// With a key size, as in `AcceleratedCtr<Aes128>`, it implements [`KeyIvInit`] too, for generic code; it then belongs
/// to no accelerator and is always inline.
///
/// ```
/// use oarlock::cipher::{AcceleratedCtr, Aes128, KeyIvInit, StreamCipher};
///
/// fn encrypted<C: KeyIvInit + StreamCipher>(key: &[u8], iv: &[u8], data: &mut [u8]) -> Option<()> {
///     C::new_from_slices(key, iv).ok()?.try_apply_keystream(data).ok()
/// }
///
/// let (mut ours, mut accelerated) = ([5; 1000], [5; 1000]);
/// encrypted::<AcceleratedCtr<Aes128>>(&[7; 16], &[9; 16], &mut ours).expect("lengths fit");
/// let accelerator = oarlock::Accelerator::builder().build()?;
/// accelerator.ctr(&[7; 16], &[9; 16])?.apply_keystream(&mut accelerated);
/// assert_eq!(ours, accelerated);
/// # Ok::<(), oarlock::Error>(())
/// ```
pub struct AcceleratedCtr<A: StreamKind = AnyAes> {
    pub(super) stream: Stream<A>,
    pub(super) route: Route,
}

impl AcceleratedCtr<AnyAes> {
    #[doc(hidden)]
    pub fn open(engine: &Arc<Engine>, key: &[u8], iv: &[u8]) -> Result<Self, Error> {
        let algorithm = aes_ctr(key)?;
        let iv = counter_block(algorithm, iv)?;
        let (session, route) = open(engine, algorithm, key)?;
        Ok(Self::of(session, route, AnyAes(()), iv))
    }

    /// Restarts with another key, of 16, 24 or 32 bytes, at `iv`, 16 bytes. The old key is wiped.
    ///
    /// # Errors
    /// Those of `Accelerator::ctr`; nothing is changed then.
    pub fn set_key(&mut self, key: &[u8], iv: &[u8]) -> Result<(), Error> {
        let algorithm = aes_ctr(key)?;
        let iv = counter_block(algorithm, iv)?;
        let session = self.route.reopen(algorithm, key)?;
        self.stream.replace(&self.route, session, iv);
        Ok(())
    }
}

impl AcceleratedCtr<AnyStream> {
    #[doc(hidden)]
    pub fn open_stream(
        engine: &Arc<Engine>,
        algorithm: Algorithm,
        key: &[u8],
        iv: &[u8],
    ) -> Result<Self, Error> {
        let Some(kind) = AnyStream::of(algorithm).filter(|_| algorithm.is_built_in()) else {
            return Err(Error::InvalidInput(format!(
                "{algorithm} is not a stream cipher that is built in"
            )));
        };
        if key.len() != algorithm.key_bytes() {
            return Err(Error::InvalidKey(format!(
                "a key of {algorithm} has {} bytes, this one has {}",
                algorithm.key_bytes(),
                key.len()
            )));
        }
        let iv = counter_block(algorithm, iv)?;
        let (session, route) = open(engine, algorithm, key)?;
        Ok(Self::of(session, route, kind, iv))
    }

    #[doc(hidden)]
    pub fn open_block<C>(engine: &Arc<Engine>, key: &[u8], iv: &[u8]) -> Result<Self, Error>
    where
        C: BlockCipherEncrypt + KeyInit + Send + Sync + 'static,
    {
        let algorithm = match C::block_size() {
            16 => Algorithm::OtherCtr,
            8 => Algorithm::OtherCtr64,
            other => {
                return Err(Error::InvalidInput(format!(
                    "counter mode is built for blocks of 16 and 8 bytes, not of {other}"
                )));
            }
        };
        let iv = counter_block(algorithm, iv)?;
        let cipher = BlockCtr::<C>::new(key).ok_or_else(|| {
            Error::InvalidKey(format!("the cipher takes no key of {} bytes", key.len()))
        })?;
        let reserved = engine.reserve()?;
        let ahead = Ahead::of(engine.cpu, algorithm);
        let session = Session::settled(
            StreamKey::kept(engine.cpu, algorithm, Arc::new(cipher), ahead),
            algorithm,
            &[],
            kernel_cost(&engine.ciphers.costs, engine.cpu, algorithm),
        );
        // `algorithm` is one of two stream ciphers.
        let Some(kind) = AnyStream::of(algorithm) else {
            return Err(Error::InvalidInput(format!("{algorithm} is no stream")));
        };
        let route = Route::new(Some(reserved), session.cost, C::block_size());
        Ok(Self::of(session, route, kind, iv))
    }
}

impl<A: StreamKind> AcceleratedCtr<A> {
    fn of(session: Session<StreamKey>, route: Route, kind: A, iv: u128) -> Self {
        let mut stream = Stream::new(session, kind, iv);
        stream.follow_options(&route);
        Self { stream, route }
    }

    /// Returns the name of the session's device.
    pub fn device(&self) -> &'static str {
        self.stream.session.device()
    }

    /// Sets the strategy for requests, which overrides the accelerator's options. Requests stay inline without an
    /// accelerator.
    pub fn set_strategy(&mut self, strategy: Strategy) {
        self.stream.set_strategy(&self.route, strategy);
    }

    /// Prefetches keystream on the calling thread for up to `budget`, from the next byte on: for a caller that has time
    /// before it has data. The next requests use it under any strategy. Returns the number of bytes made, which is 0 if
    /// [`Options::prefetch_bytes`](crate::Options) leaves no room or the streams are full.
    ///
    /// ```
    /// use oarlock::cipher::StreamCipher;
    /// use std::time::Duration;
    ///
    /// let accelerator = oarlock::Accelerator::builder().build()?;
    /// let mut cipher = accelerator.ctr(&[7; 16], &[0; 16])?;
    /// assert!(cipher.prefill(Duration::from_secs(1)) > 0); // sooner, if the streams are full
    /// cipher.apply_keystream(&mut [0; 100]);
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    pub fn prefill(&mut self, budget: Duration) -> usize {
        self.stream.prefill(&self.route, budget)
    }

    /// Returns the bytes that this session's prefetch streams occupy.
    pub fn prefetch_bytes(&self) -> usize {
        self.stream.prefetch_bytes()
    }

    /// Restarts with the same key at `iv`: 16 bytes for AES, otherwise the length in
    /// [`Kind::Stream`](crate::Kind::Stream). It never waits.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for another length; nothing is changed then.
    pub fn set_iv(&mut self, iv: &[u8]) -> Result<(), Error> {
        let algorithm = self.stream.session.algorithm();
        self.begin_at(counter_block(algorithm, iv)?, 0);
        Ok(())
    }

    /// XORs the keystream that begins at `iv` onto `data`: [`set_iv`](Self::set_iv) and a request in one call. The
    /// stream continues from there.
    ///
    /// # Errors
    /// Those of [`set_iv`](Self::set_iv).
    pub fn apply_keystream_with_iv(&mut self, iv: &[u8], data: &mut [u8]) -> Result<(), Error> {
        self.set_iv(iv)?;
        self.apply_keystream(data);
        Ok(())
    }

    /// Adds the counts since the last call to `Accelerator::stats`.
    pub fn hand_in_stats(&mut self) {
        self.stream.hand_in(&self.route);
    }

    /// Sets whether all requests are inline from now on, if the options leave the strategy open.
    pub(crate) fn keep_inline(&mut self, is_inline: bool) {
        let strategy = match (self.route.strategy(), is_inline) {
            (Strategy::Auto, true) => Strategy::Inline,
            (Strategy::Inline, false) if self.route.is_strategy_set() => Strategy::Auto,
            _ => return,
        };
        self.set_strategy(strategy);
    }

    /// Returns the counter block of the next byte, and how many bytes of it are used.
    pub(crate) fn position(&self) -> (u128, usize) {
        (self.stream.counter, self.stream.skip)
    }

    /// Restarts with the same key at byte `skip` of the block at `counter`.
    pub(crate) fn begin_at(&mut self, counter: u128, skip: usize) {
        self.stream.iv = counter;
        self.stream.place(&self.route, counter, skip);
    }
}

impl<A: StreamKind> StreamCipher for AcceleratedCtr<A> {
    #[inline(always)]
    fn check_remaining(&self, data_len: usize) -> Result<(), StreamCipherError> {
        self.stream.check_remaining(data_len)
    }

    #[inline(always)]
    fn unchecked_apply_keystream_inout(&mut self, data: InOutBuf<'_, '_, u8>) {
        self.stream.apply(&self.route, data);
    }

    fn unchecked_write_keystream(&mut self, data: &mut [u8]) {
        data.fill(0);
        self.unchecked_apply_keystream_inout(data.into());
    }
}

impl<A: StreamKind> StreamCipherSeek for AcceleratedCtr<A> {
    fn try_current_pos<T: SeekNum>(&self) -> Result<T, OverflowError> {
        let (block, block_bytes) = (self.stream.block(), self.stream.block_bytes() as u8);
        // `SeekNum` counts bytes back from the end of a partly used block.
        match self.stream.skip {
            0 => T::from_block_byte(block, block_bytes, block_bytes),
            skip => {
                let next = block.checked_add(1).ok_or(OverflowError)?;
                T::from_block_byte(next, skip as u8, block_bytes)
            }
        }
    }

    fn try_seek<T: SeekNum>(&mut self, position: T) -> Result<(), StreamCipherError> {
        let (block, byte) = position.into_block_byte::<u128>(self.stream.block_bytes() as u8)?;
        if block > self.stream.last_block() || byte != 0 && block == self.stream.last_block() {
            return Err(StreamCipherError);
        }
        let counter = advanced(self.stream.iv, block, self.stream.kind.counter_bits());
        self.stream.place(&self.route, counter, byte.into());
        Ok(())
    }
}

macro_rules! sized_key {
    ($size:ident, $bytes:ty, $algorithm:ident) => {
        impl KeySizeUser for AcceleratedCtr<$size> {
            type KeySize = $bytes;
        }

        impl IvSizeUser for AcceleratedCtr<$size> {
            type IvSize = U16;
        }

        impl KeyIvInit for AcceleratedCtr<$size> {
            fn new(key: &Key<Self>, iv: &Iv<Self>) -> Self {
                let session = Session::on_kernels(Algorithm::$algorithm, key);
                let iv = u128::from_be_bytes((*iv).into());
                let route = Route::new(None, session.cost, BLOCK_BYTES);
                Self::of(session, route, $size(()), iv)
            }
        }
    };
}

sized_key!(Aes128, U16, Aes128Ctr);
sized_key!(Aes192, U24, Aes192Ctr);
sized_key!(Aes256, U32, Aes256Ctr);

impl<A: StreamKind> ZeroizeOnDrop for AcceleratedCtr<A> {}

impl<A: StreamKind> Drop for AcceleratedCtr<A> {
    fn drop(&mut self) {
        self.hand_in_stats();
    }
}

impl<A: StreamKind> fmt::Debug for AcceleratedCtr<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AcceleratedCtr")
            .field("algorithm", &self.stream.session.algorithm())
            .field("device", &self.device())
            .finish_non_exhaustive()
    }
}

fn open(
    engine: &Arc<Engine>,
    algorithm: Algorithm,
    key: &[u8],
) -> Result<(Session<StreamKey>, Route), Error> {
    let stripe_bytes_min = match algorithm.kind() {
        Kind::Stream { block_bytes, .. } => block_bytes,
        _ => BLOCK_BYTES,
    };
    route::open(engine, algorithm, key, stripe_bytes_min)
}

fn aes_ctr(key: &[u8]) -> Result<Algorithm, Error> {
    Algorithm::aes_ctr(key.len()).ok_or_else(|| {
        Error::InvalidKey(format!(
            "an AES key has 16, 24 or 32 bytes, this one has {}",
            key.len()
        ))
    })
}

/// Returns the counter block at which a stream begins: the big-endian IV, followed by zeros for the counter bits that
/// are not part of it.
fn counter_block(algorithm: Algorithm, iv: &[u8]) -> Result<u128, Error> {
    let Kind::Stream {
        iv_bytes,
        counter_bits,
        ..
    } = algorithm.kind()
    else {
        return Err(Error::InvalidInput(format!("{algorithm} is no stream")));
    };
    if iv.len() != iv_bytes {
        return Err(Error::InvalidInput(format!(
            "an IV of {algorithm} has {iv_bytes} bytes, this one has {}",
            iv.len()
        )));
    }
    // By words, because all IV lengths are multiples of 4: byte by byte it would take 4 ns longer.
    let (words, _) = iv.as_chunks::<4>();
    let number = words.iter().fold(0, |number, word| {
        number << 32 | u128::from(u32::from_be_bytes(*word))
    });
    Ok(if counter_bits == 32 {
        number << 32
    } else {
        number
    })
}
