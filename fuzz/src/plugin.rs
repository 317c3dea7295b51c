//! What plugins of age say, from arbitrary bytes: no panic and no end to wait for, bounds on what a user is shown, and
//! of a file key and of stanzas what the plugin sent.

use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::sync::{Arc, Mutex};

use age::secrecy::SecretString;
use age::{Callbacks, Identity as _, Recipient as _};
use age_core::format::{FileKey, Stanza};
use age_core::secrecy::ExposeSecret as _;
use arbitrary::Arbitrary;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use oarlock_file::age::plugin::Plugin;

use crate::files::{Never, memory};

fuzz_target!(|input: Input| {
    let said = match input.said {
        Said::Any(bytes) => bytes,
        Said::Commands(commands) => commands.iter().flat_map(Command::bytes).collect(),
    };
    if input.wraps {
        wrap(&said);
    } else {
        unwrap(&said);
    }
});

#[derive(Arbitrary, Debug)]
struct Input {
    wraps: bool,
    said: Said,
}

#[derive(Arbitrary, Debug)]
enum Said {
    Any(Vec<u8>),
    Commands(Vec<Command>),
}

/// A command in the right form, whatever it says.
#[derive(Arbitrary, Debug)]
enum Command {
    Done,
    Stanza(bool, u8, Vec<u8>),
    FileKey(bool, [u8; 16], Option<u8>),
    Labels(Vec<u8>),
    Ask(u8, Vec<u8>, Option<Vec<u8>>, Option<Vec<u8>>),
    Error(Vec<u8>),
    Unknown(u8),
    /// Between the others.
    Noise(Vec<u8>),
}

impl Command {
    fn bytes(&self) -> Vec<u8> {
        let line = |words: &str, body: &[u8]| {
            let mut text = format!("-> {words}\n");
            let body = BASE64_STANDARD_NO_PAD.encode(body);
            let mut rest = &body[..];
            while rest.len() >= 64 {
                let (line, after) = rest.split_at(64);
                text.push_str(line);
                text.push('\n');
                rest = after;
            }
            text.push_str(rest);
            text.push('\n');
            text.into_bytes()
        };
        let word = |bytes: &Option<Vec<u8>>| {
            let coded = bytes.as_ref().map(|it| BASE64_STANDARD_NO_PAD.encode(it));
            coded.map_or(String::new(), |it| format!(" {it}"))
        };
        match self {
            Self::Done => line("done", b""),
            Self::Stanza(is_of_first, tag, body) => {
                let file = if *is_of_first { "0" } else { "1" };
                line(&format!("recipient-stanza {file} tag{tag} word"), body)
            }
            Self::FileKey(is_of_first, key, cut) => {
                let file = if *is_of_first { "0" } else { "1" };
                let bytes = cut.map_or(key.len(), |cut| usize::from(cut) % 17);
                line(&format!("file-key {file}"), &key[..bytes])
            }
            Self::Labels(labels) => {
                let labels = labels.iter().map(|label| format!(" label{label}"));
                line(&format!("labels{}", labels.collect::<String>()), b"")
            }
            Self::Ask(what, text, first, second) => {
                let what = ASKS[usize::from(*what) % ASKS.len()];
                line(&format!("{what}{}{}", word(first), word(second)), text)
            }
            Self::Error(text) => line("error internal", text),
            Self::Unknown(number) => line(&format!("unknown-{number}"), b""),
            Self::Noise(bytes) => bytes.clone(),
        }
    }
}

fn wrap(said: &[u8]) {
    let told = Arc::new(Mutex::new(Told::default()));
    let mut plugin = plugin(said, &told);
    plugin.add_recipient("age1fuzz1");
    let key = FileKey::new(Box::new([7; 16]));
    match plugin.wrap_file_key(&key) {
        Ok((stanzas, labels)) => {
            assert!(!stanzas.is_empty());
            for stanza in stanzas {
                // As it came, in one piece.
                let line = std::iter::once(&stanza.tag).chain(&stanza.args);
                let line = line.map(String::as_str).collect::<Vec<_>>().join(" ");
                assert!(holds(
                    said,
                    format!("-> recipient-stanza 0 {line}\n").as_bytes()
                ));
            }
            for label in labels {
                assert!(holds(said, format!(" {label}").as_bytes()));
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    told.lock().unwrap().check();
}

fn unwrap(said: &[u8]) {
    let told = Arc::new(Mutex::new(Told::default()));
    let mut plugin = plugin(said, &told);
    plugin.add_identity("AGE-PLUGIN-FUZZ-1");
    let stanza = Stanza {
        tag: "fuzz".into(),
        args: vec!["word".into()],
        body: vec![1; 100],
    };
    match plugin.unwrap_stanza(&stanza) {
        Some(Ok(key)) => {
            let key = BASE64_STANDARD_NO_PAD.encode(key.expose_secret());
            assert!(holds(said, format!("-> file-key 0\n{key}\n").as_bytes()));
        }
        Some(Err(error)) => assert!(!error.to_string().is_empty()),
        None => {}
    }
    told.lock().unwrap().check();
}

fn holds(said: &[u8], part: &[u8]) -> bool {
    said.windows(part.len()).any(|window| window == part)
}

thread_local! {
    static NOWHERE: RefCell<Option<File>> = const { RefCell::new(None) };
}

fn plugin(said: &[u8], told: &Arc<Mutex<Told>>) -> Plugin<User, Never> {
    let nowhere = || OpenOptions::new().write(true).open("/dev/null").unwrap();
    let to = NOWHERE.with_borrow_mut(|file| file.get_or_insert_with(nowhere).try_clone().unwrap());
    Plugin::new("fuzz", User(Arc::clone(told)), Never).connected(to, memory(said))
}

/// What a user has seen.
#[derive(Default)]
struct Told {
    times: usize,
    longest: usize,
}

impl Told {
    fn add(&mut self, text: &str) {
        self.times += 1;
        self.longest = self.longest.max(text.len());
    }

    fn check(&self) {
        assert!(self.times <= 100, "{}", self.times);
        assert!(self.longest <= 4096, "{}", self.longest);
    }
}

#[derive(Clone)]
struct User(Arc<Mutex<Told>>);

impl Callbacks for User {
    fn display_message(&self, message: &str) {
        self.0.lock().unwrap().add(message);
    }

    fn confirm(&self, message: &str, yes: &str, no: Option<&str>) -> Option<bool> {
        self.0.lock().unwrap().add(message);
        (!message.is_empty()).then_some(yes.len() > no.map_or(0, str::len))
    }

    fn request_public_string(&self, description: &str) -> Option<String> {
        self.0.lock().unwrap().add(description);
        (!description.is_empty()).then(|| description.to_owned())
    }

    fn request_passphrase(&self, description: &str) -> Option<SecretString> {
        self.0.lock().unwrap().add(description);
        (!description.is_empty()).then(|| description.to_owned().into())
    }
}

const ASKS: [&str; 4] = ["msg", "confirm", "request-public", "request-secret"];
