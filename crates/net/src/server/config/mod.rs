//! The configuration file of the server. docs/cryptoserver.md describes every field.
//!
//! It is checked in two passes. [`toml`] finds bad syntax, unknown keys and wrong types (`read.rs`; `words.rs` rewords its
//! messages). Then `check.rs` finds faults that exist only in combination or only on this machine. Every error names file,
//! line and column.

mod check;
mod model;
mod read;
mod words;

pub use self::model::{
    AuditConfig, AuditOutput, ClientConfig, Config, DeviceConfig, DeviceEntry, KeyConfig, Limits,
    Operation, Pattern, Secret, Simulation, TlsConfig, TokenKey,
};
pub(super) use self::model::{DEVICES_MAX, ID_BYTES_MAX, disabled, enabled, id_of_file, is_id};
pub use self::read::ConfigError;
