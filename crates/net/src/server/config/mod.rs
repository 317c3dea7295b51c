//! The configuration file of the server. docs/cryptoserver.md describes every field.
//!
//! It is checked in two passes. [`toml`] finds bad syntax, unknown keys and wrong types
//! (`read.rs`). Then `check.rs` finds what is wrong only in combination or only on this machine.
//! Every error names file, line and column.

mod check;
mod model;
mod read;

pub use self::model::{
    AuditConfig, ClientConfig, Config, DeviceConfig, DeviceEntry, KeyConfig, Limits, Operation,
    Pattern, Secret, Simulation, TlsConfig, TokenKey,
};
pub(super) use self::model::{DEVICES_MAX, ID_BYTES_MAX, id_of_file, is_id};
pub use self::read::ConfigError;
