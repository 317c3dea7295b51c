//! Recipients, identities and stanzas of the post-quantum type of age: no panic, what is accepted is written as it was
//! read, and no stanza that was changed opens.

use std::sync::LazyLock;

use age::secrecy::ExposeSecret as _;
use age::{Identity as _, Recipient as _};
use age_core::format::{FileKey, Stanza};
use arbitrary::Arbitrary;
use oarlock_file::age::hybrid::{Identity, Recipient, STANZA_TAG};

use crate::files::edited;

fuzz_target!(|input: Input| {
    match &input {
        Input::Text(text) => check(text),
        Input::Recipient(edits) => check_bytes(&edited(EXAMPLE.recipient.as_bytes(), edits)),
        Input::Identity(edits) => check_bytes(&edited(EXAMPLE.identity.as_bytes(), edits)),
        Input::Stanza(stanza) => {
            let opened = EXAMPLE.key.unwrap_stanza(&stanza.clone().into());
            assert!(opened.is_none_or(|opened| opened.is_err()), "{stanza:?}");
        }
        Input::EditedStanza(words, body, more) => edited_stanza(words, body, more),
    }
});

#[derive(Arbitrary, Debug)]
enum Input {
    Text(String),
    Recipient(Vec<(u16, u8)>),
    Identity(Vec<(u16, u8)>),
    Stanza(Any),
    /// Edits of its word, edits of its body, and words that follow.
    EditedStanza(Vec<(u16, u8)>, Vec<(u16, u8)>, Vec<String>),
}

#[derive(Arbitrary, Clone, Debug)]
struct Any {
    is_ours: bool,
    args: Vec<String>,
    body: Vec<u8>,
}

impl From<Any> for Stanza {
    fn from(any: Any) -> Self {
        Self {
            tag: if any.is_ours { STANZA_TAG } else { "other" }.into(),
            args: any.args,
            body: any.body,
        }
    }
}

fn check_bytes(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        check(text);
    }
}

fn check(text: &str) {
    match text.parse::<Recipient>() {
        Ok(recipient) => assert_eq!(recipient.to_string(), text),
        Err(error) => assert!(!error.to_string().contains(char::is_control)),
    }
    match text.parse::<Identity>() {
        Ok(identity) => {
            assert_eq!(identity.to_string().expose_secret(), text);
            let recipient = identity.to_public().to_string();
            assert_eq!(recipient.parse(), Ok(identity.to_public()));
        }
        // It says nothing of what may be a secret.
        Err(error) => assert!(text.len() < 20 || !error.to_string().contains(text)),
    }
}

fn edited_stanza(word: &[(u16, u8)], body: &[(u16, u8)], more: &[String]) {
    let Ok(word) = String::from_utf8(edited(EXAMPLE.stanza.args[0].as_bytes(), word)) else {
        return;
    };
    let stanza = Stanza {
        tag: STANZA_TAG.into(),
        args: std::iter::once(word).chain(more.iter().cloned()).collect(),
        body: edited(&EXAMPLE.stanza.body, body),
    };
    let is_same = (&stanza.args, &stanza.body) == (&EXAMPLE.stanza.args, &EXAMPLE.stanza.body);
    match EXAMPLE.key.unwrap_stanza(&stanza) {
        Some(Ok(key)) => assert!(is_same && *key.expose_secret() == FILE_KEY, "{stanza:?}"),
        Some(Err(_)) | None => assert!(!is_same),
    }
}

struct Example {
    key: Identity,
    identity: String,
    recipient: String,
    stanza: Stanza,
}

/// A key and stanza of an identity that is the same in each run; the stanza has other random numbers.
static EXAMPLE: LazyLock<Example> = LazyLock::new(|| {
    let identity = IDENTITY.to_owned();
    let key: Identity = identity.parse().unwrap();
    let public = key.to_public();
    let file_key = FileKey::new(Box::new(FILE_KEY));
    let (mut stanzas, _) = public.wrap_file_key(&file_key).unwrap();
    Example {
        recipient: public.to_string(),
        stanza: stanzas.remove(0),
        identity,
        key,
    }
});

const FILE_KEY: [u8; 16] = *b"YELLOW SUBMARINE";
/// The bytes 0 to 31, a secret of nobody.
const IDENTITY: &str =
    "AGE-SECRET-KEY-PQ-1QQQSYQCYQ5RQWZQFPG9SCRGWPUGPZYSNZS23V9CCRYDPK8QARC0S5DYVQQ";
