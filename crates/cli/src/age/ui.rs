//! Messages and questions of plugins and of the `age` crate. Their text may come from anybody.

use age::Callbacks;
use age::secrecy::SecretString;

use crate::failure::{note, printable};
use crate::passphrase::Passphrase;
use crate::terminal::Asker;

#[derive(Clone)]
pub(super) struct Ui {
    asker: Asker,
    /// The passphrase of encrypted keys; `None` asks for it.
    passphrase: Option<Passphrase>,
}

impl Ui {
    /// Uses `passphrase` for encrypted keys, or asks for theirs.
    pub(super) fn new(asker: Asker, passphrase: Option<Passphrase>) -> Self {
        Self { asker, passphrase }
    }

    /// Returns a copy for plugins, which does not answer with the passphrase: their secrets are different.
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
