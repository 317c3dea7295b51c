//! age files, which age and rage read and write too: `encrypt`, `decrypt`, `keygen`.
//!
//! ```text
//! encrypt.rs    to recipients or a passphrase        decrypt.rs   with identities or a passphrase
//! keygen.rs     a new identity or key                 inspect.rs   what a file shows without a key
//! keys.rs       recipients and identities, in arguments and files
//! job.rs        one file: ends, signals, bar         many.rs      files side by side
//! walk.rs       what the command line names          outputs.rs   the directory for the outputs
//! report.rs     what became of a file            ui.rs        what plugins tell and ask
//! protected.rs  SSH keys with a passphrase       words.rs     what the `age` crate's errors mean
//! ssh.rs        SSH keys in PKCS#8
//! ```

pub(crate) mod decrypt;
pub(crate) mod encrypt;
pub(crate) mod inspect;
mod job;
pub(crate) mod keygen;
mod keys;
mod many;
mod outputs;
mod protected;
mod report;
mod ssh;
mod ui;
mod walk;
mod words;

/// The extension of encrypted files.
const EXTENSION: &str = "age";
