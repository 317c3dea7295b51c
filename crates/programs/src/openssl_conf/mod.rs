//! OpenSSL's configuration: the user's own, and the additions that make programs use the provider.
//!
//! ```text
//! reader.rs     parses the user's configuration as OpenSSL does
//! additions.rs  decides what to add, and whether that is allowed
//! files.rs      the files of such a configuration, which hide the additions from older libraries
//! ```
//!
//! The idea: include the user's file and open its sections again. OpenSSL merges sections of one name, and the later of two
//! values of one name counts. So everything of the user's stays, and the additions follow it.

mod additions;
mod files;
mod reader;

pub use self::additions::{
    Additions, Daemons, PostQuantum, ProviderSection, SECTION, Untouched, excludes_oarlock,
    fits_a_line, groups_of, quoted,
};
pub use self::files::{Files, OLDER_TEXT, Source, Written, newer_alone, newer_name, older_name};
pub use self::reader::{Broken, Conf, contents};
