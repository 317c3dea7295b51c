//! Container formats of encrypted files, and the way from one file or stream to another.
//!
//! ```text
//! age/        age v1: header, recipients and identities (the `age` crate's), payload in chunks
//! pipeline/   reader -> workers -> writer: any input to any output, in order, in bounded memory
//! ```
//!
//! A format says what becomes of a chunk ([`Format`]); the pipeline reads, has the workers of an
//! [`oarlock::Accelerator`] do chunks side by side, and writes them in order.

pub mod age;
mod error;
mod pipeline;

pub use error::Error;
pub use pipeline::{
    Direction, Done, Ends, Format, Range, Run, Watch, Workspace, run, run_alone, run_range,
};
