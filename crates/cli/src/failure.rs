//! Failures: one line on stderr, and an exit status.

use std::fmt;
use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::builder::styling::Style;

use crate::colours;

/// An error that ends the command.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    status: u8,
}

impl Failure {
    /// Returns a failure of the work: exit status 1.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            status: 1,
        }
    }

    /// Returns a failure of the arguments: exit status 2.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            status: 2,
        }
    }

    /// Replaces the exit status.
    pub(crate) fn with_status(self, status: u8) -> Self {
        Self { status, ..self }
    }

    /// Returns the failure for a signal, with the exit status that a shell uses for it.
    pub(crate) fn interrupted(signal: u8) -> Self {
        Self {
            message: "interrupted: a file named with -o is unchanged".into(),
            status: 128 + signal,
        }
    }

    /// Prints the message on one line, whatever characters a file name has, and returns the exit status.
    pub(crate) fn report(self) -> ExitCode {
        say(&self.message, colours::ERROR);
        ExitCode::from(self.status)
    }
}

/// Prints a note on stderr; the command continues.
pub(crate) fn note(message: &str) {
    say(message, colours::NOTE);
}

fn say(message: &str, style: Style) {
    let line = printable(&without_secrets(&without_numbers(message)));
    let name = colours::styled_on_stderr("oarlock:", style);
    // If stderr is closed, nobody can be told.
    let _ = writeln!(io::stderr(), "{name} {line}");
}

/// Replaces characters that a terminal acts on instead of showing them: control characters, and those that are invisible or
/// change the direction of text.
pub(crate) fn printable(text: &str) -> String {
    let acts = |c: char| {
        c.is_control()
            || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
            || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
    };
    text.chars()
        .map(|c| if acts(c) { '?' } else { c })
        .collect()
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Returns the text of an I/O error without Rust's "(os error N)" and what crates append to it, such as a path that means
/// nothing to the user.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(OS_ERROR) {
        Some(at) => text[..at].into(),
        None => text,
    }
}

/// Returns `text` without possible keys, such as one after the wrong option.
pub(crate) fn without_keys(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_hexdigit())
            .unwrap_or(rest.len());
        if digits < KEY_DIGITS_MIN {
            shown.push_str(&rest[..digits]);
        } else {
            shown.push_str("(hexadecimal digits, not shown: they may be a key)");
        }
        rest = &rest[digits..];
        let other = rest
            .find(|c: char| c.is_ascii_hexdigit())
            .unwrap_or(rest.len());
        shown.push_str(&rest[..other]);
        rest = &rest[other..];
    }
    shown
}

/// Returns `text` without each "(os error N)" that Rust appends to the system's message.
fn without_numbers(text: &str) -> String {
    let mut pieces = text.split(OS_ERROR);
    let mut shown = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match piece.split_once(')') {
            Some((number, rest)) if number.bytes().all(|digit| digit.is_ascii_digit()) => {
                shown.push_str(rest);
            }
            _ => shown.extend([OS_ERROR, piece]),
        }
    }
    shown
}

/// Returns `text` without private keys and identities, such as one given in place of its file's name.
pub(crate) fn without_secrets(text: &str) -> String {
    without_identities(&without_private_keys(text))
}

/// Returns an argument for a message. A long one is not shown: no option, command or number is so long, but a key is.
pub(crate) fn shown(argument: &str) -> String {
    let masked = without_secrets(argument);
    match masked.chars().count() {
        0..=SHOWN_CHARACTERS => masked,
        count => format!("({count} characters, not shown: they may be a key)"),
    }
}

/// Whether `text` has the beginning of a private key as a file holds it, as in `-----BEGIN OPENSSH PRIVATE KEY-----`.
pub(crate) fn has_private_key(text: &str) -> bool {
    first_private_key(text).is_some()
}

/// Returns `text` without what stands between the first and the last line of private keys. What has no last line may be a
/// key to its end.
fn without_private_keys(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((begin, label)) = first_private_key(rest) {
        shown.push_str(&rest[..begin]);
        shown.push_str("...");
        let last = format!("END {label}");
        rest = &rest[begin..];
        rest = rest.find(&last).map_or("", |end| &rest[end..]);
    }
    shown + rest
}

/// Returns where the first private key begins, behind the label of its first line, and that label.
fn first_private_key(text: &str) -> Option<(usize, &str)> {
    let mut from = 0;
    while let Some(at) = text[from..].find(BEGIN) {
        let label = from + at + BEGIN.len();
        let is_of_label = |c: char| c == ' ' || c.is_ascii_uppercase() || c.is_ascii_digit();
        let end = text[label..].find(|c: char| !is_of_label(c));
        let end = end.map_or(text.len(), |end| label + end);
        if text[label..end].contains(PRIVATE_KEY) {
            return Some((end, text[label..end].trim_end()));
        }
        from = label;
    }
    None
}

/// Returns `text` without the secret part of identities, such as one given as a recipient.
fn without_identities(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((at, begin)) = first_identity(rest) {
        let (before, secret) = rest.split_at(at + begin);
        shown.push_str(before);
        let end = secret.find(|c: char| !c.is_ascii_alphanumeric());
        rest = &secret[end.unwrap_or(secret.len())..];
        if end != Some(0) {
            shown.push_str("...");
        }
    }
    shown + rest
}

/// Returns the start of the first identity, and the length of the prefix that is common to its kind.
fn first_identity(text: &str) -> Option<(usize, usize)> {
    let text = text.to_ascii_uppercase();
    let found = IDENTITIES.iter().filter_map(|begin| {
        let at = text.find(begin)?;
        Some((at, begin.len()))
    });
    found.min_by_key(|(at, _)| *at)
}

const BEGIN: &str = "BEGIN ";
const PRIVATE_KEY: &str = "PRIVATE KEY";
/// The longest argument that messages repeat, if it is no file's name.
const SHOWN_CHARACTERS: usize = 32;
const OS_ERROR: &str = " (os error ";

/// The prefixes of identities.
const IDENTITIES: [&str; 2] = ["AGE-SECRET-KEY-1", "AGE-SECRET-KEY-PQ-1"];

/// The digits of an AES-128 key, less some that may have been lost in copying.
const KEY_DIGITS_MIN: usize = 24;
