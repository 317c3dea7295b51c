//! What comes out: lines of JSON, a table, a record.
//!
//! ```text
//! record.rs   bench/records/, a line for the machine (machine.rs), then every line of a run
//! table.rs    for people
//! lines.rs    rates and ratios, as JSON has them
//! ```

mod lines;
mod machine;
mod record;
mod table;
mod text;

pub use lines::{Conditions, Line, Rate, Ratio, of_programs};
pub(crate) use lines::{MIXED, Point, PublicKeyMode, PublicKeyPoint, Row};
pub(crate) use machine::Machine;
pub use record::Record;
pub(crate) use table::Table;
pub use text::{json, write_out};
