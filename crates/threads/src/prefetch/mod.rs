//! Memory that threads fill ahead of its use: keystream, in streams that a cipher keeps.
//!
//! The streams lie in a [`Ring`], which has one [`Reader`]. Pool threads fill them, or a thread of the idle class on the
//! reader's own CPU, or the session's owner when it chooses to.

mod budget;
mod reader;
mod ring;
mod slots;

pub use self::budget::Budget;
pub use self::reader::Reader;
pub use self::ring::{Ring, RingSize, Source};
