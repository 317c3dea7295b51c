//! age files, which age and rage also read and write: `encrypt`, `decrypt`, `keygen`, `inspect`.
//!
//! ```text
//! encrypt.rs    to recipients or a passphrase      decrypt.rs   with identities or a passphrase
//! keygen.rs     a new identity or key              inspect.rs   what a file reveals without a key
//! keys.rs       recipients and identities, in arguments and files
//! job.rs        one file, signals, progress bar    many.rs      many files in parallel
//! walk.rs       the entries to process             outputs.rs   the directory for the outputs
//! report.rs     a file's line of `--json`          ui.rs        messages and questions of plugins
//! protected.rs  SSH keys with a passphrase         words.rs     messages for the `age` crate's errors
//! ssh.rs        SSH keys in PKCS#8                  remote.rs    an identity that stays on a cryptoserver
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
#[cfg(feature = "servers")]
mod remote;
mod report;
mod ssh;
mod ui;
mod walk;
mod words;

/// The extension of encrypted files.
const EXTENSION: &str = "age";
