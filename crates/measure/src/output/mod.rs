//! The output of a run: lines of JSON, a table, a record.
//!
//! ```text
//! record.rs    bench/records/, a line for the machine (machine.rs), then every line of a run
//! table.rs     the table
//! entries.rs   rates and ratios, as lines of JSON
//! ```

mod entries;
mod machine;
mod record;
mod table;
mod text;

pub use entries::{Conditions, Entry, Rate, Ratio, of_programs};
pub(crate) use entries::{MIXED, Point, PublicKeyMode, PublicKeyPoint, Row};
pub(crate) use machine::Machine;
pub use machine::today;
pub use record::Record;
pub(crate) use table::Table;
pub use text::{json, write_out};
