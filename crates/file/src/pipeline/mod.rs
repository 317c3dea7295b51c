//! The pipeline from an input to an output: it reads chunks, processes them on several threads, and writes them in order.
//!
//! ```text
//! regular.rs   both ends are regular files: every thread reads, processes and writes chunks of its
//!              own, except the last ones
//! ordered.rs   everything else: a thread takes a ticket to read, and writes when its turn comes
//! shared.rs    the state that the threads of a run share: both ends, the format, the first failure
//! buffer.rs    chunks in slots, each with room for its tag
//! format.rs    what a container format does with chunks
//! ends.rs      input and output
//! ```
//!
//! A chunk is the unit that a [`Format`] seals or opens by itself: 64 KiB in an age file, a block in CBC, a byte for a
//! stream cipher.
//!
//! Every thread has one buffer of about 1 MiB. No other memory is used, however long the file is. Many files at a time take
//! one thread each ([`run_alone`]).

mod buffer;
mod ends;
mod format;
mod ordered;
mod regular;
mod shared;

use oarlock::Accelerator;

use self::buffer::Buffer;
use self::shared::{Helpers, Shared};
use crate::Error;
use crate::waiting::Watch;

pub use ends::{Cache, Ends};
pub use format::{Done, Format, Run};
pub use ordered::Range;
#[cfg(feature = "age")]
pub(crate) use shared::lock;

/// The buffer of one thread, about 1 MiB, which serves one file after the other. It is wiped on drop.
#[derive(Default)]
pub struct Workspace(Option<Buffer>);

/// Processes all chunks of the input on this thread and up to `helpers` of the accelerator's. Afterwards both files are
/// positioned after the bytes that were read and written.
///
/// # Errors
/// The first failure. An output that is not positional has received all authentic chunks before it, and nothing more.
pub fn run(
    accelerator: &Accelerator,
    helpers: usize,
    ends: &Ends<'_>,
    format: &impl Format,
    watch: &impl Watch,
) -> Result<(), Error> {
    let shared = Shared::new(ends, format, watch);
    let helpers = Helpers {
        accelerator,
        count: helpers,
    };
    let chunks = regular::run(&shared, &helpers)?;
    ordered::run(&shared, &helpers, ordered::Span::from_chunk(chunks))
}

/// Processes all chunks on this thread alone, for many files at once with one thread each.
///
/// # Errors
/// Those of [`run`].
pub fn run_alone(
    workspace: &mut Workspace,
    ends: &Ends<'_>,
    format: &impl Format,
    watch: &impl Watch,
) -> Result<(), Error> {
    let shared = Shared::new(ends, format, watch);
    let buffer = match &mut workspace.0 {
        Some(buffer) if buffer.fits(format) => buffer,
        other => other.insert(Buffer::new(format)),
    };
    ordered::run_alone(&shared, buffer)
}

/// Opens only the chunks that contain `range`, and writes that part of the plaintext. The input must be positioned at the
/// chunk with its first byte.
///
/// # Errors
/// Those of [`run`].
pub fn run_range(
    accelerator: &Accelerator,
    helpers: usize,
    ends: &Ends<'_>,
    format: &impl Format,
    watch: &impl Watch,
    range: Range,
) -> Result<(), Error> {
    let shared = Shared::new(ends, format, watch);
    let helpers = Helpers {
        accelerator,
        count: helpers,
    };
    let span = ordered::Span::of_range(range, format);
    ordered::run(&shared, &helpers, span)
}
