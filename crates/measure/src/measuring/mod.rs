//! The method of measurement: outputs are compared, then samples are taken alternately.
//!
//! ```text
//! verify.rs      outputs, before anything is timed
//! turns.rs       two contestants alternately        load.rs       threads with requests in flight
//! consumer.rs    one that is busy with more         statistics.rs medians and percentiles of samples
//! buffer.rs      the memory that all of them work on
//! ```

mod buffer;
mod consumer;
mod load;
mod statistics;
mod turns;
mod verify;

pub(crate) use buffer::Buffer;
pub(crate) use consumer::then_hmac;
pub(crate) use load::{CpuBinding, LoadSamples, Loop, sample};
pub(crate) use statistics::Latency;
pub use statistics::Summary;
pub(crate) use turns::{Contestant, Mode, Work, in_turn};
pub(crate) use verify::compare;
