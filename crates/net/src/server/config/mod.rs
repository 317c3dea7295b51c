//! The configuration file of the server. docs/cryptoserver.md describes every field.
//!
//! It is read twice over: [`toml`] finds what is no TOML, no known key or of the wrong type
//! (`read.rs`); then what it made is looked through for what is only wrong together or on this machine
//! (`check.rs`). Either way an error names file, line and column.

mod check;
mod model;
mod read;

pub use self::model::{
    AuditConfig, ClientConfig, Config, DeviceConfig, DeviceEntry, KeyConfig, Limits, Operation,
    Pattern, Secret, Simulation, TlsConfig, TokenKey,
};
pub(super) use self::model::{id_of_file, is_id};
pub use self::read::ConfigError;
