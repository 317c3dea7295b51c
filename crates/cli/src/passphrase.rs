//! Sources of a passphrase: the terminal, a file, a descriptor, or a source in openssl's notation.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

#[cfg(feature = "age")]
use age::{
    cli_common::Passphrase as OfWords,
    secrecy::{ExposeSecret as _, SecretString},
};
#[cfg(feature = "age")]
use rand_core::OsRng;
use rustix::fs::OFlags;
use zeroize::Zeroizing;

use crate::failure::{Failure, reason};
use crate::output::Needed;
use crate::terminal::{Asker, NoAnswer};

/// Options that give a passphrase to scripts.
#[derive(Clone, clap::Args)]
pub(crate) struct Given {
    /// Read the passphrase from FILE, its first line, instead of asking for it; `-` reads it from standard
    /// input
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,

    /// Read the passphrase from the open descriptor N, up to the end of a line, instead of asking for it
    #[arg(long, value_name = "N", conflicts_with = "passphrase_file", value_parser = Number::parse)]
    passphrase_fd: Option<Number>,
}

/// The number of a descriptor; `None` if it is another word.
#[derive(Clone, Copy)]
struct Number(Option<u32>);

impl Number {
    /// Parses a number, for clap. It never fails: clap prints the input of a parser that does, and that may be the
    /// passphrase.
    fn parse(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.parse().ok()))
    }
}

impl Given {
    /// Returns the source that the options name. `reads_stdin` means that standard input is data.
    pub(crate) fn source(&self, reads_stdin: bool) -> Result<Option<Source>, Failure> {
        let source = match (&self.passphrase_file, self.passphrase_fd) {
            (Some(path), _) if path.as_os_str() == "-" => Source::Stdin,
            (Some(path), _) => Source::File(path.clone()),
            (None, Some(Number(Some(0)))) => Source::Stdin,
            (None, Some(Number(Some(number)))) => Source::Descriptor(number),
            (None, Some(Number(None))) => {
                return Err(Failure::usage(
                    "--passphrase-fd: not a number: give that of an open descriptor, as in --passphrase-fd 3 3< FILE",
                ));
            }
            (None, None) => return Ok(None),
        };
        if source.is_stdin() && reads_stdin {
            return Err(Failure::usage(
                "standard input cannot be both the passphrase and the data: name a file for one of them",
            ));
        }
        Ok(Some(source))
    }

    pub(crate) fn read(&self, reads_stdin: bool) -> Result<Option<Passphrase>, Failure> {
        let source = self.source(reads_stdin)?;
        source.map(|source| source.read()).transpose()
    }
}

/// A passphrase, which is wiped on drop.
#[derive(Clone)]
pub(crate) struct Passphrase(Zeroizing<Vec<u8>>);

impl Passphrase {
    pub(crate) fn new(bytes: Zeroizing<Vec<u8>>) -> Self {
        Self(bytes)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the passphrase as text, as age requires.
    #[cfg(feature = "age")]
    pub(crate) fn secret(&self) -> Result<SecretString, Failure> {
        let text = std::str::from_utf8(&self.0);
        let text = text.map_err(|_| Failure::usage("the passphrase: is not UTF-8 text"))?;
        Ok(SecretString::from(text))
    }
}

/// A source, as `-pass` of openssl names it.
#[derive(Clone)]
pub(crate) enum Source {
    File(PathBuf),
    Environment(OsString),
    Descriptor(u32),
    Stdin,
    /// Any other source, with advice.
    Wrong(&'static str),
}

impl Source {
    /// Parses a source, for clap. It never fails: clap prints the input of a parser that does, and that may be the
    /// passphrase.
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

    /// Returns the file of the passphrase, also that of a descriptor.
    pub(crate) fn needed(&self) -> Option<Needed> {
        let path = match self {
            Self::File(path) => path.clone(),
            Self::Descriptor(number) => format!("/dev/fd/{number}").into(),
            Self::Stdin => "-".into(),
            Self::Environment(_) | Self::Wrong(_) => return None,
        };
        Some(Needed::new("the passphrase file", path))
    }

    pub(crate) fn is_stdin(&self) -> bool {
        matches!(self, Self::Stdin)
    }

    /// Reads the first line of a file, or all of a variable.
    pub(crate) fn read(&self) -> Result<Passphrase, Failure> {
        let (name, passphrase) = match self {
            Self::File(path) => {
                let name = format!("passphrase file {}", path.display());
                let line = File::open(path).and_then(|mut file| first_line(&mut file));
                (name, line)
            }
            Self::Descriptor(number) => {
                let name = format!("descriptor {number}");
                if !was_passed_on(*number) {
                    return Err(Failure::usage(format!("{name}: is not open")));
                }
                let line = File::open(format!("/dev/fd/{number}"));
                (name, line.and_then(|mut file| first_line(&mut file)))
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
        Ok(Passphrase(passphrase))
    }
}

/// Asks for the passphrase of existing data.
pub(crate) fn ask(asker: &Asker) -> Result<Passphrase, Failure> {
    let passphrase = asker.secret("Passphrase: ").map_err(none)?;
    check("the passphrase", &passphrase)?;
    Ok(Passphrase(passphrase))
}

/// Asks twice for a new passphrase. With an empty answer it generates one of ten random words, as age does.
pub(crate) fn ask_for_new(asker: &Asker) -> Result<Passphrase, Failure> {
    let question = match cfg!(feature = "age") {
        true => "Passphrase (leave it empty to get one of random words): ",
        false => "Passphrase: ",
    };
    let passphrase = asker.secret(question).map_err(none)?;
    #[cfg(feature = "age")]
    if passphrase.is_empty() {
        let (OfWords::Typed(words) | OfWords::Generated(words)) = OfWords::random(OsRng);
        let words = words.expose_secret();
        asker
            .tell(&format!("Your passphrase is: {words}"))
            .map_err(none)?;
        return Ok(Passphrase(Zeroizing::new(words.as_bytes().to_vec())));
    }
    check("the passphrase", &passphrase)?;
    if asker.secret("Passphrase again: ").map_err(none)? != passphrase {
        return Err(Failure::new(
            "the two passphrases differ: nothing was encrypted",
        ));
    }
    Ok(Passphrase(passphrase))
}

fn none(why: NoAnswer) -> Failure {
    match why {
        NoAnswer::Failed(failure) => failure,
        NoAnswer::NoTerminal => Failure::new(
            "no passphrase: there is no terminal to ask on: give --passphrase-file FILE or --passphrase-fd N",
        ),
    }
}

/// Whether the parent process passed on the descriptor. Those that this process opens itself are closed on exec.
fn was_passed_on(number: u32) -> bool {
    std::fs::read_to_string(format!("/proc/self/fdinfo/{number}")).is_ok_and(|info| {
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
        flags.is_some_and(|flags| flags & OFlags::CLOEXEC.bits() == 0)
    })
}

/// Reads the first line, without its line break.
fn first_line(source: &mut dyn Read) -> io::Result<Zeroizing<Vec<u8>>> {
    // One byte more, to detect a longer line. Reserve it at once, so that no reallocation leaves a copy behind.
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

/// Refuses passphrases that openssl would read differently. The limits also apply to age files.
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

/// openssl's `APP_PASS_LEN`, less one for the final zero.
const BYTES_MAX: usize = 1023;
