//! What plugins and the `age` crate tell and ask the user. The text may be anybody's.

use age::Callbacks;
use age::cli_common::UiCallbacks;
use age::secrecy::SecretString;

use crate::failure::{note, printable};

#[derive(Clone, Copy)]
pub(super) struct Ui;

impl Callbacks for Ui {
    fn display_message(&self, message: &str) {
        note(message);
    }

    fn confirm(&self, message: &str, yes: &str, no: Option<&str>) -> Option<bool> {
        let no = no.map(printable);
        UiCallbacks.confirm(&printable(message), &printable(yes), no.as_deref())
    }

    fn request_public_string(&self, description: &str) -> Option<String> {
        UiCallbacks.request_public_string(&printable(description))
    }

    fn request_passphrase(&self, description: &str) -> Option<SecretString> {
        UiCallbacks.request_passphrase(&printable(description))
    }
}
