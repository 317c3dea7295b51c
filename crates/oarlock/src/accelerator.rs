//! The accelerator's handle.

use std::fmt;
use std::sync::Arc;

use cipher::{BlockCipherEncrypt, KeyInit};
use oarlock_kernels::cpu::Cpu;

use oarlock_engine::aead::{AcceleratedAead, NonceSequence, SequencedAead};
use oarlock_engine::cipher::{AcceleratedCbc, AcceleratedCtr, AnyAes, AnyStream};
use oarlock_engine::costs::{Calibration, CostSource, MachineCosts, Stats};
use oarlock_engine::device::CipherOffer;
#[cfg(feature = "rsa")]
use oarlock_engine::keys::{AcceleratedKey, AcceleratedPublicKey, PrivateKey, PublicKey};
use oarlock_engine::plan::{Engine, PlanReport};
#[cfg(feature = "rsa")]
use oarlock_engine::rsa::{
    AcceleratedModExp, AcceleratedRsa, AcceleratedRsaPublic, ByteOrder, RsaPrivateKey, RsaPublicKey,
};
use oarlock_engine::{Algorithm, Error, Options, measure};
use oarlock_packet::{esp, srtp, tls};

/// A handle to a thread pool, a plan and the figures that it decides by. Clones share all of them, and threads may share
/// one handle. Open sessions keep the engine alive: its threads end when the last clone and the last session are dropped.
///
/// ```
/// use oarlock::{Accelerator, Algorithm};
///
/// let accelerator = Accelerator::builder().max_threads(4).build()?;
/// let aead = accelerator.aead(Algorithm::Aes256Gcm, &[7; 32])?;
/// let mut message = b"attack at dawn".to_vec();
/// let tag = aead.seal(&[1; 12], b"header", message.as_mut_slice().into())?;
/// aead.open(&[1; 12], b"header", message.as_mut_slice().into(), &tag)?;
/// assert_eq!(message, b"attack at dawn");
/// # Ok::<(), oarlock::Error>(())
/// ```
#[derive(Clone)]
pub struct Accelerator(pub(crate) Arc<Engine>);

impl Accelerator {
    /// Opens AES-CTR (SP 800-38A, 6.5) with a 128-bit big-endian counter that starts at `iv`: the stream of
    /// `ctr::Ctr128BE<Aes128>` and of `openssl enc -aes-128-ctr`, and the same for 192 and 256 bits. No two messages under
    /// one key may use the same counter block.
    ///
    /// ```
    /// use oarlock::cipher::{StreamCipher, StreamCipherSeek};
    ///
    /// let accelerator = oarlock::Accelerator::builder().build()?;
    /// let mut cipher = accelerator.ctr(&[7; 32], &[9; 16])?;
    /// let mut data = *b"attack at dawn";
    /// cipher.apply_keystream(&mut data);
    /// cipher.seek(0);
    /// cipher.apply_keystream(&mut data);
    /// assert_eq!(&data, b"attack at dawn");
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidKey`] unless `key` has 16, 24 or 32 bytes, [`Error::InvalidInput`] unless
    /// `iv` has 16; [`Error::NoThreadsFree`] under [`Reservation::Exclusive`](crate::Reservation::Exclusive).
    pub fn ctr(&self, key: &[u8], iv: &[u8]) -> Result<AcceleratedCtr<AnyAes>, Error> {
        AcceleratedCtr::open(&self.0, key, iv)
    }

    /// Opens the stream cipher `algorithm` at `iv`: 16 bytes for ciphers with 16-byte blocks, 8 for those with 8-byte blocks
    /// (CAST-128, Blowfish, Triple DES), 12 for ChaCha20, whose block counter starts at 0.
    ///
    /// ```
    /// use oarlock::cipher::StreamCipher;
    /// use oarlock::{Accelerator, Algorithm};
    ///
    /// let accelerator = Accelerator::builder().build()?;
    /// let mut cipher = accelerator.stream(Algorithm::Camellia128Ctr, &[7; 16], &[0; 16])?;
    /// cipher.apply_keystream(&mut [0; 100]);
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidKey`] unless `key` has [`Algorithm::key_bytes`]; [`Error::InvalidInput`] if the length of `iv` is not
    /// the one in [`Kind::Stream`](crate::Kind::Stream), for an algorithm that is not a stream cipher, and for a legacy
    /// cipher without the feature `legacy`; [`Error::DeviceFailed`] if no device offers it; [`Error::NoThreadsFree`] under
    /// [`Reservation::Exclusive`](crate::Reservation::Exclusive).
    pub fn stream(
        &self,
        algorithm: Algorithm,
        key: &[u8],
        iv: &[u8],
    ) -> Result<AcceleratedCtr<AnyStream>, Error> {
        AcceleratedCtr::open_stream(&self.0, algorithm, key, iv)
    }

    /// Opens the AEAD `algorithm`: AES-GCM (SP 800-38D) with a key of 16, 24 or 32 bytes, or ChaCha20-Poly1305 (RFC 8439)
    /// with one of 32. [`AcceleratedAead`] has an example.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] unless `key` has [`Algorithm::key_bytes`], [`Error::InvalidInput`]
    /// for an algorithm that is not an AEAD; [`Error::DeviceFailed`] if no device offers it;
    /// [`Error::NoThreadsFree`] under [`Reservation::Exclusive`](crate::Reservation::Exclusive).
    pub fn aead(&self, algorithm: Algorithm, key: &[u8]) -> Result<AcceleratedAead, Error> {
        AcceleratedAead::open_session(&self.0, algorithm, key)
    }

    /// Opens the AEAD `algorithm` for messages whose nonces form a sequence that starts with number 0, so that keystream of
    /// the next messages can be prefetched. This covers messages of up to `record_bytes_max` bytes; longer ones are sealed
    /// and opened without prefetched keystream.
    ///
    /// ```
    /// use oarlock::{Accelerator, Algorithm};
    /// use oarlock::aead::NonceSequence;
    ///
    /// let accelerator = Accelerator::builder().build()?;
    /// let nonces = NonceSequence::Xor { iv: [9; 12] };
    /// let mut tls = accelerator.sequenced_aead(Algorithm::ChaCha20Poly1305, &[7; 32], nonces, 16 << 10)?;
    /// let mut record = *b"a record";
    /// let tag = tls.seal_next(b"header", (&mut record[..]).into())?;
    ///
    /// let plain = accelerator.aead(Algorithm::ChaCha20Poly1305, &[7; 32])?;
    /// plain.open(&nonces.nonce(0), b"header", (&mut record[..]).into(), &tag)?;
    /// assert_eq!(&record, b"a record");
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    ///
    /// # Errors
    /// The same as for [`aead`](Self::aead).
    pub fn sequenced_aead(
        &self,
        algorithm: Algorithm,
        key: &[u8],
        nonces: NonceSequence,
        record_bytes_max: usize,
    ) -> Result<SequencedAead, Error> {
        SequencedAead::open_session(&self.0, algorithm, key, nonces, record_bytes_max)
    }

    /// Opens the caller's block cipher in counter mode (SP 800-38A, 6.5), with blocks of 16 or 8 bytes and an `iv` as long
    /// as a block; the whole block is the counter. The session does not wipe `C`, so choose a cipher that wipes itself on
    /// drop. The bounds are traits of [`rustcrypto::cipher`](crate::rustcrypto::cipher).
    ///
    /// ```
    /// // With `aes = "0.9"` in Cargo.toml.
    /// let accelerator = oarlock::Accelerator::builder().build()?;
    /// let cipher = accelerator.block_ctr::<aes::Aes128>(&[7; 16], &[0; 16])?;
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidKey`] if the cipher refuses the key; [`Error::InvalidInput`] for blocks or an
    /// `iv` of another length; [`Error::NoThreadsFree`] under [`Reservation::Exclusive`](crate::Reservation::Exclusive).
    pub fn block_ctr<C>(&self, key: &[u8], iv: &[u8]) -> Result<AcceleratedCtr<AnyStream>, Error>
    where
        C: BlockCipherEncrypt + KeyInit + Send + Sync + 'static,
    {
        AcceleratedCtr::open_block::<C>(&self.0, key, iv)
    }

    /// Opens AES-CBC (SP 800-38A, 6.2) that begins at `iv`: the blocks of `cbc::Encryptor<Aes128>` and of
    /// `openssl enc -aes-128-cbc`, and the same for 192 and 256 bits.
    ///
    /// ```
    /// let accelerator = oarlock::Accelerator::builder().build()?;
    /// let mut cipher = accelerator.cbc(&[0x42; 16], &[0x24; 16])?;
    /// let mut message = b"attack at dawn".to_vec();
    /// cipher.encrypt_padded(&mut message)?;
    /// assert_eq!(message.len(), 16);
    /// cipher.set_iv(&[0x24; 16])?;
    /// cipher.decrypt_padded(&mut message)?;
    /// assert_eq!(message, b"attack at dawn");
    ///
    /// // Whole blocks, in as many pieces as there are.
    /// cipher.set_iv(&[0x25; 16])?;
    /// let mut data = vec![0; 1 << 20];
    /// for piece in data.chunks_mut(4096) {
    ///     cipher.encrypt(piece.into())?;
    /// }
    /// cipher.set_iv(&[0x25; 16])?;
    /// cipher.decrypt(data.as_mut_slice().into())?;
    /// assert!(data.iter().all(|byte| *byte == 0));
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidKey`] unless `key` has 16, 24 or 32 bytes, [`Error::InvalidInput`] unless
    /// `iv` has 16; [`Error::NoThreadsFree`] under [`Reservation::Exclusive`](crate::Reservation::Exclusive).
    pub fn cbc(&self, key: &[u8], iv: &[u8]) -> Result<AcceleratedCbc, Error> {
        AcceleratedCbc::open(&self.0, key, iv)
    }

    /// Opens the sender's side of an IPsec association; [`packet::esp`](crate::packet::esp) has an example.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] unless the keying material has [`Suite::key_bytes`](esp::Suite::key_bytes);
    /// [`Error::InvalidInput`] for an SPI of 0; [`Error::NoThreadsFree`] under
    /// [`Reservation::Exclusive`](crate::Reservation::Exclusive).
    pub fn esp_outbound(&self, association: &esp::Association<'_>) -> Result<esp::Outbound, Error> {
        esp::Outbound::open(&self.0, association)
    }

    /// Opens the receiver's side of an IPsec association.
    ///
    /// # Errors
    /// The same as for [`esp_outbound`](Self::esp_outbound).
    pub fn esp_inbound(&self, association: &esp::Association<'_>) -> Result<esp::Inbound, Error> {
        esp::Inbound::open_association(&self.0, association)
    }

    /// Opens the sender's side of a TLS 1.3 connection; [`packet::tls`](crate::packet::tls) has an example.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] unless the secret or key has the suite's length; [`Error::NoThreadsFree`] under
    /// [`Reservation::Exclusive`](crate::Reservation::Exclusive).
    pub fn tls_outbound(&self, keys: &tls::Keys<'_>) -> Result<tls::Outbound, Error> {
        tls::Outbound::open(&self.0, keys)
    }

    /// Opens the receiver's side of a TLS 1.3 connection.
    ///
    /// # Errors
    /// The same as for [`tls_outbound`](Self::tls_outbound).
    pub fn tls_inbound(&self, keys: &tls::Keys<'_>) -> Result<tls::Inbound, Error> {
        tls::Inbound::open_connection(&self.0, keys)
    }

    /// Opens the sender's side of a DTLS 1.3 connection in the epoch `epoch`, 1 or more;
    /// [`packet::tls::dtls`](crate::packet::tls::dtls) has an example.
    ///
    /// # Errors
    /// The same as for [`tls_outbound`](Self::tls_outbound), and [`Error::InvalidInput`] for epoch 0 and for keys without
    /// their secret.
    pub fn dtls_outbound(
        &self,
        epoch: u64,
        keys: &tls::Keys<'_>,
    ) -> Result<tls::dtls::Outbound, Error> {
        tls::dtls::Outbound::open(&self.0, epoch, keys)
    }

    /// Opens the receiver's side of a DTLS 1.3 connection.
    ///
    /// # Errors
    /// The same as for [`dtls_outbound`](Self::dtls_outbound).
    pub fn dtls_inbound(
        &self,
        epoch: u64,
        keys: &tls::Keys<'_>,
    ) -> Result<tls::dtls::Inbound, Error> {
        tls::dtls::Inbound::open_connection(&self.0, epoch, keys)
    }

    /// Opens the sender's side of SRTP and SRTCP; [`packet::srtp`](crate::packet::srtp) has an example.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] unless each master key has [`Suite::key_bytes`](srtp::Suite::key_bytes);
    /// [`Error::InvalidInput`] without a key, for more than [`Policy::KEYS_MAX`](srtp::Policy::KEYS_MAX), and for MKIs that
    /// are empty, too long, equal or of different lengths; [`Error::NoThreadsFree`] under
    /// [`Reservation::Exclusive`](crate::Reservation::Exclusive).
    pub fn srtp_outbound(&self, policy: &srtp::Policy<'_>) -> Result<srtp::Outbound, Error> {
        srtp::Outbound::open(&self.0, policy)
    }

    /// Opens the receiver's side of SRTP and SRTCP.
    ///
    /// # Errors
    /// The same as for [`srtp_outbound`](Self::srtp_outbound).
    pub fn srtp_inbound(&self, policy: &srtp::Policy<'_>) -> Result<srtp::Inbound, Error> {
        srtp::Inbound::open(&self.0, policy)
    }

    /// Returns a session of an RSA private key (RFC 8017), which signs and decrypts.
    ///
    /// ```
    /// use oarlock::Accelerator;
    /// use oarlock::rsa::{Hash, RsaPrivateKey, SignatureScheme};
    ///
    /// let accelerator = Accelerator::builder().build()?;
    /// let key = RsaPrivateKey::from_pem(include_str!("../tests/keys/rsa2048.pem"))?;
    /// let rsa = accelerator.rsa(&key);
    /// let scheme = SignatureScheme::Pss(Hash::Sha256);
    /// let signature = rsa.sign(scheme, b"message")?;
    /// rsa.public().verify(scheme, b"message", &signature)?;
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    #[cfg(feature = "rsa")]
    pub fn rsa(&self, key: &RsaPrivateKey) -> AcceleratedRsa {
        AcceleratedRsa::new(&self.0, key)
    }

    /// Returns a session of an RSA public key (RFC 8017), which verifies and encrypts; [`AcceleratedRsaPublic`] has an
    /// example.
    #[cfg(feature = "rsa")]
    pub fn rsa_public(&self, key: &RsaPublicKey) -> AcceleratedRsaPublic {
        AcceleratedRsaPublic::new(&self.0, key)
    }

    /// Returns a session of a private key of any type: RSA, ECDSA and ECDH, Ed25519, X25519, ML-KEM or ML-DSA.
    ///
    /// ```
    /// use oarlock::Accelerator;
    /// use oarlock::keys::{Curve, KeyType, PrivateKey, Scheme};
    ///
    /// let accelerator = Accelerator::builder().build()?;
    /// let key_type = KeyType::Ec(Curve::P256);
    /// let key = accelerator.key(&PrivateKey::generate(key_type)?);
    /// let scheme = Scheme::usual(key_type).expect("the keys of a curve sign");
    /// let signature = key.sign(&scheme, b"message")?;
    /// key.public().verify(&scheme, b"message", &signature)?;
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    #[cfg(feature = "rsa")]
    pub fn key(&self, key: &PrivateKey) -> AcceleratedKey {
        AcceleratedKey::new(&self.0, key)
    }

    /// Returns a session of a public key of any type; [`AcceleratedPublicKey`] has an example.
    #[cfg(feature = "rsa")]
    pub fn public_key(&self, key: &PublicKey) -> AcceleratedPublicKey {
        AcceleratedPublicKey::new(&self.0, key)
    }

    /// Sets up modular exponentiation for one modulus. `order` is the byte order of the modulus and of every base, exponent
    /// and result.
    ///
    /// ```
    /// use oarlock::Accelerator;
    /// use oarlock::rsa::{Base, ByteOrder};
    ///
    /// let accelerator = Accelerator::builder().build()?;
    /// let modulus = accelerator.modexp(&[13], ByteOrder::BigEndian)?;
    /// assert_eq!(**modulus.power(Base::from(&[2]), &[5])?, [6]);
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidInput`] unless the modulus is odd and has 2 to 4096 bits; leading zeros do not
    /// count.
    #[cfg(feature = "rsa")]
    pub fn modexp(&self, modulus: &[u8], order: ByteOrder) -> Result<AcceleratedModExp, Error> {
        AcceleratedModExp::new(&self.0, modulus, order)
    }

    /// Returns the options in force.
    pub fn options(&self) -> Options {
        self.0.options()
    }

    /// Changes the options of a running accelerator. Sessions adopt them with their next long request, except for a strategy
    /// set on the session itself and the shape of existing prefetch streams. Surplus threads end after they have been idle
    /// for a while. A request in progress finishes as it began.
    ///
    /// ```
    /// let accelerator = oarlock::Accelerator::builder().max_threads(1).build()?;
    /// let mut options = accelerator.options();
    /// options.set("max_threads", "8")?;
    /// accelerator.set_options(options)?;
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Options`] for a value outside its range, or values that contradict each other; the options are then
    /// unchanged.
    pub fn set_options(&self, options: Options) -> Result<(), Error> {
        options.validate()?;
        self.0.set_options(options);
        Ok(())
    }

    /// Returns the bytes of memory that the prefetch streams of all sessions hold now; at most [`Options::prefetch_bytes`].
    pub fn prefetch_bytes(&self) -> usize {
        self.0.prefetch_bytes()
    }

    /// Returns the CPU's features, without those that a mask hides.
    #[inline]
    pub fn cpu(&self) -> Cpu {
        self.0.cpu()
    }

    /// Returns what the devices `cpu` and `software` offer for `algorithm`. A new session opens on the first.
    ///
    /// ```
    /// use oarlock::{Accelerator, Algorithm};
    ///
    /// let accelerator = Accelerator::builder().build()?;
    /// let session = accelerator.aead(Algorithm::Aes256Gcm, &[7; 32])?;
    /// let offers = accelerator.offers(Algorithm::Aes256Gcm);
    /// assert_eq!(offers[0].device.name(), session.device());
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    pub fn offers(&self, algorithm: Algorithm) -> Vec<CipherOffer> {
        self.0.offers(algorithm)
    }

    /// Measures the costs that the plan decides by: every algorithm of the devices `cpu` and `software` and, if helpers may
    /// run, the strategies that use several cores. It takes up to 20 ms; other work on the machine in that time distorts the
    /// result. It does not change this accelerator: pass the result to
    /// [`Builder::calibration`](crate::Builder::calibration).
    ///
    /// ```
    /// use oarlock::Accelerator;
    ///
    /// let calibration = Accelerator::builder().build()?.calibrate();
    /// let accelerator = Accelerator::builder().calibration(calibration).build()?;
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    pub fn calibrate(&self) -> Calibration {
        measure(&self.0)
    }

    /// Returns the plan that a new session of `algorithm` would get now, under the options in force.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] if no device offers it.
    pub fn plan(&self, algorithm: Algorithm) -> Result<PlanReport, Error> {
        PlanReport::of(&self.0, algorithm)
    }

    /// Returns the costs of sharing work between cores as far as they are known, and the source of the figures.
    pub fn machine_costs(&self) -> (MachineCosts, CostSource) {
        self.0.machine_costs()
    }

    /// Returns counts of requests by device and algorithm. Sessions keep counts of their own and merge them later: see
    /// [`Stats`].
    pub fn stats(&self) -> Stats {
        self.0.stats()
    }

    /// Returns the backend that computes several public-key requests at once, and its number of lanes. `None` on CPUs with
    /// neither AVX-512 IFMA nor FMA.
    #[cfg(feature = "rsa")]
    pub fn lanes(&self) -> Option<(&'static str, usize)> {
        self.0.lanes()
    }

    /// Returns the number of pool threads that exist now.
    pub fn threads(&self) -> usize {
        self.0.threads()
    }

    /// Returns the most threads that can work at once for one caller: its own, and pool threads up to `max_threads`, limited
    /// by the available CPUs.
    pub fn parallelism(&self) -> usize {
        1 + self.0.helpers_max()
    }

    /// Runs `work` on the calling thread and on up to `helpers` pool threads at once, and returns when every thread that
    /// began it has ended. `work` divides itself, for example with an atomic counter, and must complete even if only the
    /// caller runs it. It may call `work_together` itself. It must not fork and return in the child, which would wait for
    /// helpers that exist only in the parent. A pool thread has 256 KiB of stack.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    ///
    /// let (next, sum) = (AtomicU64::new(0), AtomicU64::new(0));
    /// oarlock::Accelerator::builder().build()?.work_together(3, &|| {
    ///     while let number @ 0..100 = next.fetch_add(1, Relaxed) {
    ///         sum.fetch_add(number, Relaxed);
    ///     }
    /// });
    /// assert_eq!(sum.into_inner(), 4950);
    /// # Ok::<(), oarlock::Error>(())
    /// ```
    ///
    /// # Panics
    /// The first panic of `work` is resumed on the caller after all threads have ended.
    pub fn work_together(&self, helpers: usize, work: &(dyn Fn() + Sync)) {
        match helpers.min(self.0.helpers_max()) {
            0 => work(),
            helpers => self.0.pool().run(helpers, &|_| work()),
        }
    }
}

impl fmt::Debug for Accelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Accelerator")
            .field("options", &self.options())
            .field("cpu", &self.0.cpu())
            .finish_non_exhaustive()
    }
}

impl AsRef<Arc<Engine>> for Accelerator {
    fn as_ref(&self) -> &Arc<Engine> {
        &self.0
    }
}

#[cfg(feature = "rsa")]
impl From<&AcceleratedRsa> for Accelerator {
    /// Returns the accelerator that the key is used with.
    fn from(key: &AcceleratedRsa) -> Self {
        Self(Arc::clone(key.engine()))
    }
}
