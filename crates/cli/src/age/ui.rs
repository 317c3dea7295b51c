//! What plugins and the `age` crate tell and ask the user. The text may be anybody's.

use age::Callbacks;
use age::secrecy::SecretString;

use crate::failure::{note, printable};
use crate::passphrase::Passphrase;
use crate::terminal::Asker;

#[derive(Clone)]
pub(super) struct Ui {
    asker: Asker,
    /// The passphrase of encrypted keys, in place of asking.
    passphrase: Option<Passphrase>,
}

impl Ui {
    /// For keys whose passphrase is `passphrase`, or is asked for.
    pub(super) fn new(asker: Asker, passphrase: Option<Passphrase>) -> Self {
        Self { asker, passphrase }
    }

    /// For plugins, whose secrets are others.
    pub(super) fn for_plugins(&self) -> Self {
        Self::new(self.asker.clone(), None)
    }
}

impl Callbacks for Ui {
    fn display_message(&self, message: &str) {
        note(message);
    }

    fn confirm(&self, message: &str, yes: &str, no: Option<&str>) -> Option<bool> {
        let no = no.map_or_else(String::new, |no| format!(", n: {}", printable(no)));
        let question = format!("{} (y: {}{no}) ", printable(message), printable(yes));
        loop {
            match self.asker.line(&question).ok()?.to_lowercase().as_str() {
                "y" | "yes" => return Some(true),
                "n" | "no" => return Some(false),
                _ => {}
            }
        }
    }

    fn request_public_string(&self, description: &str) -> Option<String> {
        let answer = self.asker.line(&format!("{description}: ")).ok()?;
        (!answer.is_empty()).then_some(answer)
    }

    fn request_passphrase(&self, description: &str) -> Option<SecretString> {
        match &self.passphrase {
            Some(passphrase) => passphrase.secret().ok(),
            None => {
                let typed = self.asker.secret(&format!("{description}: ")).ok()?;
                let typed = Passphrase::new(typed).secret().ok()?;
                use age::secrecy::ExposeSecret as _;
                (!typed.expose_secret().is_empty()).then_some(typed)
            }
        }
    }
}
