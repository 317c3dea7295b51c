//! age files, which age and rage read and write too: `encrypt`, `decrypt`, `keygen`.
//!
//! ```text
//! encrypt.rs    to recipients or a passphrase        decrypt.rs   with identities or a passphrase
//! keygen.rs     a new identity                       inspect.rs   what a file shows without a key
//! keys.rs       recipients and identities, in arguments and files
//! job.rs        one file: ends, signals, bar         many.rs      files side by side, directories
//! report.rs     what became of a file            ui.rs        what plugins tell and ask
//! protected.rs  SSH keys with a passphrase       words.rs     what the `age` crate's errors mean
//! ```

pub(crate) mod decrypt;
pub(crate) mod encrypt;
pub(crate) mod inspect;
mod job;
pub(crate) mod keygen;
mod keys;
mod many;
mod protected;
mod report;
mod ui;
mod words;

use crate::failure::Failure;
use crate::passphrase::why_none;

/// What pinentry or the terminal said.
fn no_passphrase(error: &impl std::fmt::Display) -> Failure {
    Failure::new(format!("no passphrase: {}", why_none(error)))
}

/// The extension of encrypted files.
const EXTENSION: &str = "age";
