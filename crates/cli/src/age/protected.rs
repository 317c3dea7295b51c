//! SSH keys with a passphrase. If no passphrase is given, the `age` crate treats the key as one that does not match; here it
//! is an error of its own.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use age::secrecy::SecretString;
use age::{Callbacks, DecryptError, Identity, ssh};
use oarlock_file::age::{FileKey, Stanza};

/// An SSH key whose passphrase may be asked for.
pub(super) struct Protected {
    name: String,
    identity: Box<dyn Identity>,
    is_unanswered: Arc<AtomicBool>,
}

impl Protected {
    /// Wraps the identity in the file `name`; `callbacks` ask for the passphrase.
    pub(super) fn new(
        name: String,
        identity: ssh::Identity,
        callbacks: impl Callbacks + 'static,
    ) -> Self {
        let is_unanswered = Arc::new(AtomicBool::new(false));
        let noting = Noting {
            callbacks,
            is_unanswered: Arc::clone(&is_unanswered),
            question: format!("Passphrase of the SSH key {name}"),
        };
        Self {
            name,
            identity: Box::new(identity.with_callbacks(noting)),
            is_unanswered,
        }
    }

    fn noted(
        &self,
        result: Option<Result<FileKey, DecryptError>>,
    ) -> Option<Result<FileKey, DecryptError>> {
        match result {
            None if self.is_unanswered.load(Ordering::Relaxed) => Some(Err(unanswered(&self.name))),
            result => result,
        }
    }
}

/// Returns the error for the identity file `name` whose passphrase was not given.
pub(super) fn unanswered(name: &str) -> DecryptError {
    DecryptError::Io(io::Error::other(format!(
        "{name} has a passphrase, and none was given: run this on a terminal, where it is asked for, \
         or give it with --passphrase-file"
    )))
}

impl Identity for Protected {
    fn unwrap_stanza(&self, stanza: &Stanza) -> Option<Result<FileKey, DecryptError>> {
        self.noted(self.identity.unwrap_stanza(stanza))
    }

    fn unwrap_stanzas(&self, stanzas: &[Stanza]) -> Option<Result<FileKey, DecryptError>> {
        self.noted(self.identity.unwrap_stanzas(stanzas))
    }
}

/// Callbacks that record whether a passphrase was given.
#[derive(Clone)]
struct Noting<C> {
    callbacks: C,
    is_unanswered: Arc<AtomicBool>,
    question: String,
}

impl<C: Callbacks> Callbacks for Noting<C> {
    fn display_message(&self, message: &str) {
        self.callbacks.display_message(message);
    }

    fn confirm(&self, message: &str, yes: &str, no: Option<&str>) -> Option<bool> {
        self.callbacks.confirm(message, yes, no)
    }

    fn request_public_string(&self, description: &str) -> Option<String> {
        self.callbacks.request_public_string(description)
    }

    /// Asks with our own question: the crate's has direction marks around the name.
    fn request_passphrase(&self, _: &str) -> Option<SecretString> {
        let answer = self.callbacks.request_passphrase(&self.question);
        self.is_unanswered
            .store(answer.is_none(), Ordering::Relaxed);
        answer
    }
}
