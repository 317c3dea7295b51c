//! The native part of the Python package `oarlock`: buffers and objects in and out. The package's own Python code is in
//! `../oarlock/`.
//!
//! ```text
//! buffer.rs  region.rs   what calls read and write
//! engine.rs              the accelerator, and when the GIL is released
//! exclusive.rs           objects that one call at a time uses
//! origin.rs              objects that one process uses
//! failure.rs             errors as exceptions
//! numbers.rs             numbers and names as arguments
//! aead.rs                one message in a call
//! key.rs                 signatures, key agreement, key encapsulation, encryption
//! cipher.rs  hmac.rs     ciphers without authentication, and tags without encryption
//! columns.rs  columns/   a column of messages in a call
//! jobs.rs                jobs of an event loop
//! remote.rs  remote/     keys of cryptoservers
//! age.rs  age/           age files
//! packet.rs  packet/     packets and records, many in a call
//! ```

#![allow(unsafe_code)] // the interface to C

mod aead;
mod age;
mod buffer;
mod cipher;
mod columns;
mod engine;
mod exclusive;
mod failure;
mod hmac;
mod jobs;
mod key;
mod memory;
mod numbers;
mod origin;
mod packet;
mod random;
mod region;
mod remote;
mod signals;

use pyo3::pymodule;

#[pymodule]
mod _oarlock {
    use pyo3::prelude::*;

    use super::{failure, packet};

    #[pymodule_export]
    use super::aead::{AesGcm, ChaCha20Poly1305, generate_key};
    #[pymodule_export]
    use super::age::{
        AgeHeader, AgeIdentities, AgeKey, AgePayload, AgeReader, AgeWriter, is_secret,
    };
    #[pymodule_export]
    use super::cipher::{Cbc, Ctr};
    #[pymodule_export]
    use super::columns::{Column, ColumnResult, open_many, seal_many};
    #[pymodule_export]
    use super::hmac::KeyedHmac;
    #[pymodule_export]
    use super::jobs::Jobs;
    #[pymodule_export]
    use super::key::{PrivateKey, PublicKey};
    #[pymodule_export]
    use super::remote::{Cryptoserver, KeyEntry, RemoteIdentity, RemoteKey, RemoteSecretKey};

    #[pymodule_export]
    use super::packet::{
        DtlsInbound, DtlsOutbound, EspInbound, EspOutbound, SrtpInbound, SrtpOutbound, TlsInbound,
        TlsOutbound,
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        failure::add_to(module)?;
        packet::add_to(module)
    }
}
