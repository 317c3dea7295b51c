//! Container formats of encrypted files, a pipeline from any file or stream to any other, and files over
//! TLS.
//!
//! ```text
//! age/          age v1: header, recipients and identities (the `age` crate's), payload in chunks
//! openssl_enc/  files of `openssl enc`: salt, key and IV from a passphrase, CTR, CBC, ChaCha20
//! pipeline/     reader -> workers -> writer: any input to any output, in order, in bounded memory
//! tls/          a range of a file to a socket as records of TLS 1.3, in one call
//! waiting.rs    an end of a file, read or written byte by byte, that a watch can stop
//! ```
//!
//! A format transforms one chunk ([`Format`]). The pipeline reads chunks, has the workers of an [`oarlock::Accelerator`]
//! transform them in parallel, and writes them in order.

#[cfg(feature = "age")]
pub mod age;
mod bytes;
mod error;
pub mod openssl_enc;
mod pipeline;
pub mod tls;
mod waiting;
mod words;

pub use error::Error;
pub use oarlock::Direction;
pub use pipeline::{Cache, Done, Ends, Format, Range, Run, Workspace, run, run_alone, run_range};
pub use waiting::{Waiting, Watch};
