//! Where a passphrase comes from: a terminal, or a source in openssl's notation.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use age::cli_common::read_secret;
use age::secrecy::ExposeSecret as _;
use zeroize::Zeroizing;

use crate::failure::{Failure, reason};

/// As `-pass` of openssl names it.
#[derive(Clone)]
pub(crate) enum Source {
    File(PathBuf),
    Environment(OsString),
    Stdin,
    /// Anything else, and what to do.
    Wrong(&'static str),
}

impl Source {
    /// For clap, which prints the input of a parser that fails, and it may be the passphrase; so this one
    /// never fails.
    pub(crate) fn parse(text: &str) -> Result<Self, Infallible> {
        Ok(match text.split_once(':') {
            Some(("file", path)) => Self::File(path.into()),
            Some(("env", name)) => Self::Environment(name.into()),
            None if text == "stdin" => Self::Stdin,
            Some(("pass", _)) => Self::Wrong(
                "other users see a passphrase in the command line: give file:PATH or env:NAME",
            ),
            Some(("fd", _)) => Self::Wrong("give descriptor N as file:/dev/fd/N"),
            _ => Self::Wrong("give file:PATH, env:NAME or stdin"),
        })
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            _ => None,
        }
    }

    pub(crate) fn is_stdin(&self) -> bool {
        matches!(self, Self::Stdin)
    }

    /// The first line of a file, or all of a variable.
    pub(crate) fn read(&self) -> Result<Zeroizing<Vec<u8>>, Failure> {
        let (name, passphrase) = match self {
            Self::File(path) => {
                let name = format!("passphrase file {}", path.display());
                let line = File::open(path).and_then(|mut file| first_line(&mut file));
                (name, line)
            }
            Self::Stdin => ("standard input".into(), first_line(&mut io::stdin())),
            Self::Wrong(advice) => return Err(Failure::usage(format!("--pass: {advice}"))),
            Self::Environment(name) => {
                let what = format!("variable {}", name.display());
                match std::env::var_os(name) {
                    Some(value) => (what, Ok(Zeroizing::new(value.as_bytes().to_vec()))),
                    None => return Err(Failure::usage(format!("{what}: is not set"))),
                }
            }
        };
        let passphrase =
            passphrase.map_err(|error| Failure::new(format!("{name}: {}", reason(&error))))?;
        check(&name, &passphrase)?;
        Ok(passphrase)
    }
}

/// Asks for it, twice if it `is_new`.
pub(crate) fn ask(is_new: bool) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let confirm = is_new.then_some("Passphrase again");
    let passphrase = read_secret("Passphrase", "Passphrase", confirm).map_err(|error| {
        let why = why_none(&error);
        Failure::new(format!(
            "no passphrase: {why}: without a terminal give --pass file:PATH or env:NAME"
        ))
    })?;
    let passphrase = Zeroizing::new(passphrase.expose_secret().as_bytes().to_vec());
    check("the passphrase", &passphrase)?;
    Ok(passphrase)
}

/// What pinentry or the terminal said, which come with a number and the name of a program.
pub(crate) fn why_none(error: &impl std::fmt::Display) -> String {
    let text = error.to_string();
    let said = text.strip_prefix("Code ").unwrap_or(&text);
    let said = said.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':' || c == ' ');
    let said = said.split(['<', '(']).next().unwrap_or_default().trim();
    match said {
        "No such device or address" | "Inappropriate ioctl for device" => {
            "there is no terminal to ask on".into()
        }
        _ if said.starts_with("Parsing Error") => "pinentry gave no answer".into(),
        _ => said.to_lowercase(),
    }
}

/// Without its line break.
fn first_line(source: &mut dyn Read) -> io::Result<Zeroizing<Vec<u8>>> {
    // One more, to see that it is too long; all at once, so that none moves and stays behind.
    let mut line = Zeroizing::new(Vec::with_capacity(BYTES_MAX + 1));
    let mut byte = Zeroizing::new([0]);
    while line.len() <= BYTES_MAX {
        match source.read(&mut byte[..]) {
            Ok(0) => break,
            Ok(_) if byte[0] == b'\n' => break,
            Ok(_) => line.push(byte[0]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(line)
}

/// Refuses passphrases that openssl would read differently.
fn check(name: &str, passphrase: &[u8]) -> Result<(), Failure> {
    let what = if passphrase.is_empty() {
        "is empty"
    } else if passphrase.len() > BYTES_MAX {
        "longer than 1023 bytes, where openssl cuts it off"
    } else if passphrase.contains(&0) {
        "has a byte 0, where openssl cuts it off"
    } else {
        return Ok(());
    };
    Err(Failure::usage(format!("{name}: {what}")))
}

/// `APP_PASS_LEN` of openssl, less one for its end.
const BYTES_MAX: usize = 1023;
