//! age files, which age and rage read and write too: `encrypt`, `decrypt`, `keygen`.
//!
//! ```text
//! encrypt.rs    to recipients or a passphrase        decrypt.rs   with identities or a passphrase
//! keygen.rs     a new identity                       inspect.rs   what a file shows without a key
//! keys.rs       recipients and identities, in arguments and files
//! job.rs        one file: ends, signals, bar         many.rs      files side by side
//! walk.rs       what the command line names          outputs.rs   the directory for the outputs
//! report.rs     what became of a file            ui.rs        what plugins tell and ask
//! ```

pub(crate) mod decrypt;
pub(crate) mod encrypt;
pub(crate) mod inspect;
mod job;
pub(crate) mod keygen;
mod keys;
mod many;
mod outputs;
mod report;
mod ui;
mod walk;

use age::cli_common::ReadError;

use crate::failure::{Failure, reason};
use crate::job::one_line;

/// What was wrong with a recipient or an identity.
fn unreadable(error: ReadError) -> Failure {
    Failure::usage(match error {
        ReadError::Io(error) => reason(&error),
        ReadError::InvalidRecipient(text) => format!(
            "{text}: invalid recipient: give `age1...`, `age1pq1...`, `ssh-ed25519 ...`, `ssh-rsa ...`, or -R for a file of them"
        ),
        other => one_line(&other.to_string()),
    })
}

/// The extension of encrypted files.
const EXTENSION: &str = "age";
