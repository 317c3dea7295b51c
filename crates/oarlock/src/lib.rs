//! Cryptography on every SIMD lane and CPU core of the machine, or on an accelerator. The output is bit for bit that of the
//! plain implementation.
//!
//! ```
//! use oarlock::Accelerator;
//! use oarlock::cipher::{StreamCipher, StreamCipherSeek};
//!
//! let accelerator = Accelerator::builder().build()?;
//! let mut cipher = accelerator.ctr(&[0x42; 16], &[0x24; 16])?; // key, IV
//! let mut data = vec![0u8; 1 << 20];
//! cipher.apply_keystream(&mut data);
//! cipher.seek(0);
//! cipher.apply_keystream(&mut data);
//! assert!(data.iter().all(|byte| *byte == 0));
//! # Ok::<(), oarlock::Error>(())
//! ```
//!
//! An [`Accelerator`] is a handle: there is no hidden global one. Setting up a key with it opens a session, such as
//! [`cipher::AcceleratedCtr`] or [`aead::AcceleratedAead`], on the device that is expected to finish first. Each request
//! then uses the strategy that the plan finds cheapest: on the calling thread, in stripes over the pool, or with prefetched
//! keystream. No thread is created before a request gains from one.
//!
//! # Where to start
//!
//! | task | begin with | example |
//! |---|---|---|
//! | encrypt and authenticate messages | [`Accelerator::aead`] | `seal` |
//! | numbered records, as in TLS, QUIC or ESP | [`Accelerator::sequenced_aead`] | |
//! | encrypt a stream, seek in it | [`Accelerator::ctr`], [`Accelerator::stream`] | |
//! | use idle time before data arrives | [`AcceleratedCtr::prefill`](cipher::AcceleratedCtr::prefill) | `prefetch` |
//! | packets of IPsec (ESP) or RTP (SRTP), many in a call | [`packet`] | |
//! | AES-CBC for existing formats | [`Accelerator::cbc`] | |
//! | RSA signatures, encryption, keys | [`Accelerator::rsa`] | `sign` |
//! | ECDSA, ECDH, Ed25519, X25519, ML-KEM, ML-DSA; keys of any type | [`Accelerator::key`], [`keys`] | |
//! | many requests of keys in flight, async code | [`job::Job`] | `async_sign` |
//! | any request on whatever does it first: cores, boards, tokens | [`framework::Framework`] | |
//! | a device of one's own, whose calls block | [`device::BlockingDevice`] | `own_device` |
//! | a device of one's own with a queue | [`framework::Device`] | |
//! | many packets in one call, IPsec | [`packet::esp`] | `tunnel` |
//! | keys on a cryptoserver | the crate `oarlock-net` | `remote_device`, `remote_sign` |
//! | replace `ctr::Ctr128BE<Aes128>` in generic code | [`cipher::AcceleratedCtr<cipher::Aes128>`](cipher::AcceleratedCtr) | |
//!
//! The examples are in `examples/` of this crate, and the last two in `examples/` of `crates/net`:
//! `cargo run --release --package oarlock --example seal`.
//!
//! # Features
//!
//! | feature | brings | costs |
//! |---|---|---|
//! | `legacy` (default) | Camellia, Twofish, Serpent, ARIA, SM4, CAST-128, Blowfish and Triple DES in counter mode | 6 more crates |
//! | `rsa` (default) | the modules [`rsa`], [`keys`], [`job`] and [`framework`]: RSA keys, signatures, encryption, modular exponentiation; keys of elliptic curves, ML-KEM and ML-DSA; jobs. Includes `aws-lc` | 28 more crates, a C compiler, most of the build time |
//! | `ssh` (default) | keys as OpenSSH keeps them. Includes `rsa` | nothing in addition to `rsa` |
//! | `aws-lc` | the device `software`: AES and ChaCha20-Poly1305 by aws-lc, for CPUs that lack the instructions of our kernels | 7 more crates, a C compiler |
//! | `pkcs11` | `device::Pkcs11Device`: keys on PKCS#11 tokens. Includes `rsa` | 4 crates in addition to those of `rsa` |
//! | `library` | `device::LibraryDevice`: devices in shared libraries, behind a C interface. Includes `rsa` | 1 crate in addition to those of `rsa` |
//! | `simulated` | `device::SimulatedDevice`: accelerator boards with the latency and throughput of those of 2000, to try schedules with. Includes `rsa` | nothing in addition to `rsa` |
//!
//! Without any feature there are AES in CTR, CBC and GCM, ChaCha20, ChaCha20-Poly1305 and
//! [`Accelerator::block_ctr`], in 19 crates and without a C compiler:
//! `oarlock = { path = "...", default-features = false }`.
//!
//! # In your project
//!
//! Without optimization the kernels are tens to hundreds of times slower, so optimize them in debug builds, too. Also,
//! aws-lc spends some 24 ms on jitter entropy before the first RSA operation of a process, unless it is built with the
//! variable below.
//! ```toml
//! # Cargo.toml
//! [profile.dev.package]
//! oarlock-engine.opt-level = 3
//! oarlock-packet.opt-level = 3
//! oarlock-threads.opt-level = 3
//! oarlock-kernels.opt-level = 3
//!
//! # .cargo/config.toml
//! [env]
//! AWS_LC_SYS_NO_JITTER_ENTROPY = "1"
//! ```
//!
//! The sessions implement RustCrypto's traits, those of `cipher` 0.5, `aead` 0.6 and `signature` 3. [`cipher`], [`aead`] and
//! [`rsa`] re-export them, and [`rustcrypto`] re-exports the crates. If the compiler finds no method `apply_keystream`, or
//! reports that `StreamCipher` is not implemented although it is, the trait is not imported or comes from another version of
//! `cipher`: import it from here.
//!
//! # Errors
//!
//! Every fallible call returns [`Error`], whose variants say who has to act. [`job::QueueFull`] converts to it. No call
//! panics on an invalid key, length or file; RustCrypto's traits panic where their documentation says so.

// The documentation links to items of the default features.
#![cfg_attr(not(feature = "rsa"), allow(rustdoc::broken_intra_doc_links))]

mod accelerator;
mod builder;

pub use accelerator::Accelerator;
pub use builder::Builder;
pub use oarlock_engine::{
    Algorithm, Direction, Error, Kind, LaneUse, Offer, Options, OptionsError, PrefetchWorker,
    Reservation, Strategy, Threads,
};
#[cfg(feature = "rsa")]
pub use oarlock_engine::{framework, keys, rsa};
pub use oarlock_packet as packet;

/// Jobs: requests that are submitted now and waited for later.
#[cfg(feature = "rsa")]
pub mod job {
    pub use oarlock_threads::job::{
        CompletionQueue, Job, JobOptions, Order, Priority, QueueFull, Start,
    };
}

/// Authenticated encryption behind RustCrypto's traits: whole messages, messages in pieces, and records with
/// consecutive nonces.
pub mod aead {
    pub use oarlock_engine::aead::{
        AcceleratedAead, Aead, AeadInOut, Aes128Gcm, Aes192Gcm, Aes256Gcm, AnyAead, Buffer,
        ChaCha20Poly1305, InOutBuf, KeyInit, Nonce, NonceSequence, Opener, Payload, Sealer,
        SequencedAead, TAG_BYTES,
    };
}

/// Ciphers without authentication: stream ciphers behind RustCrypto's traits, and AES-CBC.
///
/// The traits are re-exported here, so `use oarlock::cipher::{StreamCipher, StreamCipherSeek}` needs no dependency on the
/// crate `cipher`, and always names the version of it that these types implement.
pub mod cipher {
    pub use oarlock_engine::cipher::{
        AcceleratedCbc, AcceleratedCtr, Aes128, Aes192, Aes256, AnyAes, AnyStream, InOutBuf,
        KeyIvInit, StreamCipher, StreamCipherError, StreamCipherSeek, StreamKind,
    };
}

/// Costs and counts: calibrations, and the totals of an accelerator.
pub mod costs {
    pub use oarlock_engine::costs::{
        AlgorithmCost, AlgorithmStats, Calibration, CostSource, MachineCosts, PublicKeyStats, Stats,
    };
}

/// Devices, which compute requests.
///
/// A session of a cipher opens on the fastest [`CipherDevice`](device::CipherDevice). `docs/devices.md` explains how to write
/// devices for public keys and for the framework.
pub mod device {
    #[cfg(feature = "library")]
    pub use oarlock_engine::device::LibraryDevice;
    #[cfg(feature = "rsa")]
    pub use oarlock_engine::device::{
        Answer, BlockingDevice, CpuDevice, PublicKeyOffer, PublicKeyOperation, PublicKeyRequest,
        Shape, SoftwareDevice, complete,
    };
    pub use oarlock_engine::device::{
        CipherDevice, CipherOffer, Cpu, DeviceError, Feature, visible_cpu,
    };
    #[cfg(feature = "simulated")]
    pub use oarlock_engine::device::{
        EngineBoard, Fault, Host, Injection, Pauses, SimulatedBoard, SimulatedDevice,
        SimulatedEngine, When,
    };
    #[cfg(feature = "pkcs11")]
    pub use oarlock_engine::device::{Pkcs11Device, Pkcs11Options, TokenKey, TokenName};
}

/// The plan of a session, as [`Accelerator::plan`] reports it.
pub mod plan {
    pub use oarlock_engine::plan::{MadeAhead, PlanReport};
}

/// The RustCrypto crates whose traits and types are in this crate's interface, in the versions that it uses. They provide
/// what [`cipher`], [`aead`] and [`rsa`] do not re-export.
///
/// ```
/// use oarlock::rustcrypto::cipher::{BlockCipherEncrypt, KeyInit};
///
/// fn counter_mode<C: BlockCipherEncrypt + KeyInit + Send + Sync + 'static>(
///     key: &[u8],
/// ) -> Result<oarlock::cipher::AcceleratedCtr<oarlock::cipher::AnyStream>, oarlock::Error> {
///     oarlock::Accelerator::builder().build()?.block_ctr::<C>(key, &[0; 16])
/// }
/// # counter_mode::<aes::Aes128>(&[7; 16])?;
/// # Ok::<(), oarlock::Error>(())
/// ```
pub mod rustcrypto {
    pub use ::aead;
    pub use ::cipher;
    #[cfg(feature = "rsa")]
    pub use ::pkcs8;
    #[cfg(feature = "rsa")]
    pub use ::signature;
}

/// The examples of the pages that document this crate, compiled and run as doctests.
#[cfg(all(doctest, feature = "rsa"))]
mod pages {
    #[doc = include_str!("../README.md")]
    struct Crate;
    #[doc = include_str!("../../../README.md")]
    struct Project;
    #[cfg(all(feature = "library", feature = "pkcs11"))]
    #[doc = include_str!("../../../docs/devices.md")]
    struct Devices;
}
