//! Container formats of encrypted files, and a pipeline from any file or stream to any other.
//!
//! ```text
//! age/          age v1: header, recipients and identities (the `age` crate's), payload in chunks
//! openssl_enc/  files of `openssl enc`: salt, key and IV from a passphrase, CTR, CBC, ChaCha20
//! pipeline/     reader -> workers -> writer: any input to any output, in order, in bounded memory
//! waiting.rs    an end of a file, read or written byte by byte, that a watch can stop
//! ```
//!
//! A format transforms one chunk ([`Format`]). The pipeline reads, lets the workers of an
//! [`oarlock::Accelerator`] transform chunks in parallel, and writes them in order.

pub mod age;
mod bytes;
mod error;
pub mod openssl_enc;
mod pipeline;
mod waiting;
mod words;

pub use error::Error;
pub use oarlock::Direction;
pub use pipeline::{Cache, Done, Ends, Format, Range, Run, Workspace, run, run_alone, run_range};
pub use waiting::{Waiting, Watch};
