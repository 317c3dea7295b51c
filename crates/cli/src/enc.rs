//! The `oarlock enc` and `oarlock dec` subcommands: files of `openssl enc`.

use std::io::Write as _;
use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use oarlock::Algorithm;
use oarlock::{Accelerator, Reservation};
use oarlock_file::openssl_enc::{
    Body, Derivation, Digest, Header, ITERATIONS, IV_BYTES, KeyAndIv, derive,
};
use oarlock_file::{Direction, Error};
use zeroize::Zeroizing;

use crate::failure::{Failure, note, without_keys};
use crate::input::Input;
use crate::interrupt::Interrupt;
use crate::job::{Job, Threads, refused};
use crate::keys::{self, Secret};
use crate::options;
use crate::output::{Needed, Target};
use crate::passphrase::{self, Given, Source};
use crate::progress::{Progress, When};
use crate::terminal::Asker;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Algorithm and key size
    #[arg(long, value_name = "NAME", value_parser = ciphers())]
    cipher: Algorithm,

    /// Take the passphrase from `file:PATH` (its first line), `env:NAME` or `stdin`, as -pass of
    /// openssl does. Without this and without a key it is asked for on the terminal, twice for a new file
    #[arg(long, value_name = "SOURCE", value_parser = Source::parse, conflicts_with_all = OTHERS)]
    pass: Option<Source>,

    #[command(flatten)]
    given: Given,

    /// Rounds of PBKDF2, which make each guess at the passphrase slower; not kept in the file
    #[arg(long, value_name = "N", default_value_t = ITERATIONS, value_parser = iterations, conflicts_with_all = RAW)]
    iter: NonZeroU32,

    /// Hash that derives the key from the passphrase; not kept in the file
    #[arg(long, value_name = "NAME", default_value = "sha256", value_parser = digests(), conflicts_with_all = RAW)]
    md: Digest,

    /// The key in hexadecimal. Other users can see it in the process list; --key-file hides it
    #[arg(short = 'K', long, value_name = "HEX", value_parser = Secret::parse,
          conflicts_with = "key_file", requires = "iv")]
    key: Option<Secret>,

    /// Read the key, in hexadecimal, from FILE; `-` reads it from standard input
    #[arg(long, value_name = "FILE", requires = "iv")]
    key_file: Option<PathBuf>,

    /// With a key, the IV in hexadecimal: 32 digits, in counter mode the first counter block. Never
    /// use an IV twice with the same key
    #[arg(long, value_name = "HEX")]
    iv: Option<String>,

    /// File to read; standard input if absent or `-`
    #[arg(value_name = "INPUT")]
    input: Option<PathBuf>,

    /// File to write; standard output if absent or `-`. It is replaced only on success, and may be the
    /// same as INPUT. The new one has the owner, group, mode and ACL of the old one; where that is not
    /// permitted, fewer users may use it
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Number of threads, at most one for each CPU; `auto` takes all CPUs
    #[arg(short = 'T', long, value_name = "N", default_value = "auto", value_parser = Threads::parse)]
    threads: Threads,

    /// Options of the accelerator, as in "max_threads=4,cipher_threads=2" (`oarlock devices` shows
    /// those in force)
    #[arg(
        long,
        value_name = "NAME=VALUE,...",
        default_value = "",
        hide_default_value = true
    )]
    options: String,

    /// Whether to draw a progress bar on stderr
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    progress: When,
}

#[derive(clap::Args)]
pub(crate) struct DecArgs {
    #[command(flatten)]
    args: Args,

    /// The file was made without -pbkdf2: derive the key with one round of --md (sha256, or md5
    /// before openssl 1.1)
    #[arg(long, conflicts_with_all = ["iter", "key", "key_file", "iv"])]
    no_pbkdf2: bool,
}

pub(crate) const EXAMPLES: &str = "\
Examples:
  oarlock enc --cipher aes-256-cbc disk.img -o disk.enc
  openssl enc -d -aes-256-cbc -pbkdf2 -in disk.enc -out disk.img

  oarlock enc --cipher aes-256-ctr --pass file:secret.txt --iter 600000 disk.img -o disk.enc
  openssl enc -d -aes-256-ctr -pass file:secret.txt -iter 600000 -in disk.enc -out disk.img

  tar c photos | oarlock enc --cipher aes-128-ctr -K $KEY --iv $IV > backup
  openssl enc -d -aes-128-ctr -K $KEY -iv $IV < backup | tar x

These files have no authentication; files of `oarlock encrypt` have.";

pub(crate) fn encrypt(args: &Args) -> Result<(), Failure> {
    run(args, Direction::Encrypt, false)
}

pub(crate) fn decrypt(args: &DecArgs) -> Result<(), Failure> {
    run(&args.args, Direction::Decrypt, args.no_pbkdf2)
}

fn run(args: &Args, direction: Direction, is_legacy: bool) -> Result<(), Failure> {
    let accelerator = accelerator(args)?;
    let source = args.source()?;
    let is_raw = args.is_raw(source.as_ref())?;
    let raw = is_raw.then(|| raw(args)).transpose()?;
    let input = Input::open(args.input.as_deref())?;
    // Files whose opening may block are opened before signals are caught. Files that must be removed are opened afterwards.
    let target = Target::find(args.output.as_deref())?;
    target.check_apart(&args.needed(source.as_ref()))?;
    if direction == Direction::Encrypt {
        target.check_takes_ciphertext()?;
    }
    let interrupt = Interrupt::catch(target.is_direct())?;
    let progress = Progress::new(args.progress, input.size, args.writes_stdout());
    let (header, KeyAndIv { key, iv }) = match raw {
        Some(raw) => (None, raw),
        None => {
            let header = match direction {
                Direction::Encrypt => Header::new(),
                Direction::Decrypt => Header::read(&mut &input.file),
            };
            let header = header.map_err(|error| refused(&input.name, error))?;
            let asker = Asker::new(&interrupt, &progress);
            let passphrase = match (source, direction) {
                (Some(source), _) => source.read(),
                (None, Direction::Encrypt) => passphrase::ask_for_new(&asker),
                (None, Direction::Decrypt) => passphrase::ask(&asker),
            }?;
            warn(direction);
            let derivation = match is_legacy {
                true => Derivation::BytesToKey,
                false => Derivation::Pbkdf2 {
                    iterations: args.iter,
                },
            };
            let (cipher, salt) = (args.cipher, &header.salt);
            let made = derive(cipher, passphrase.bytes(), salt, derivation, args.md);
            (Some(header), made)
        }
    };
    let body = Body::new(&accelerator, args.cipher, &key, &iv, direction)
        .map_err(|error| Failure::new(error.to_string()))?;
    let job = Job::begin(
        accelerator,
        args.threads,
        progress,
        interrupt,
        input,
        target,
    )?;
    let begun = match header {
        Some(header) if direction == Direction::Encrypt => job
            .output
            .file()
            .write_all(&header.encoded())
            .map_err(|error| job.failed(Error::Write { at: 0, error })),
        _ => Ok(()),
    };
    let result = begun.and_then(|()| job.run(&body));
    job.end(result)
}

impl Args {
    fn reads_stdin(&self) -> bool {
        let path = self.input.as_deref();
        path.is_none_or(|path| path.as_os_str() == "-")
    }

    fn writes_stdout(&self) -> bool {
        let path = self.output.as_deref();
        path.is_none_or(|path| path.as_os_str() == "-")
    }

    /// Returns the source of the passphrase, unless it is to be asked for.
    fn source(&self) -> Result<Option<Source>, Failure> {
        let reads_stdin = self.reads_stdin();
        if reads_stdin && self.pass.as_ref().is_some_and(Source::is_stdin) {
            return Err(Failure::usage(
                "--pass stdin: standard input cannot be both the passphrase and INPUT",
            ));
        }
        match &self.pass {
            Some(source) => Ok(Some(source.clone())),
            None => self.given.source(reads_stdin),
        }
    }

    /// Whether key and IV are given.
    fn is_raw(&self, passphrase: Option<&Source>) -> Result<bool, Failure> {
        let has_key = self.key.is_some() || self.key_file.is_some();
        if has_key && passphrase.is_some() {
            return Err(Failure::usage(
                "both a key and a passphrase: leave one of them out",
            ));
        }
        if self.iv.is_some() && !has_key {
            return Err(self.no_key());
        }
        Ok(has_key)
    }

    fn no_key(&self) -> Failure {
        Failure::usage(
            "a key is missing: give -K (--key) or --key-file, or leave --iv out for a passphrase",
        )
    }

    /// Returns the files of the key and the passphrase.
    fn needed(&self, passphrase: Option<&Source>) -> Vec<Needed> {
        let key = self.key_file.as_ref();
        let key = key.map(|path| Needed::new("the key file", path));
        key.into_iter()
            .chain(passphrase.and_then(Source::needed))
            .collect()
    }
}

/// Builds the accelerator of this process.
fn accelerator(args: &Args) -> Result<Accelerator, Failure> {
    let mut options = options::parse(&args.options)?;
    // A single cipher has no other to reserve threads against. But each thread opens a session of its own, which would look
    // like several ciphers.
    options.reservation = Reservation::Shared;
    options::build_calibrated(options)
}

/// Returns the key and IV of the arguments.
fn raw(args: &Args) -> Result<KeyAndIv, Failure> {
    let text = args.iv.as_deref().unwrap_or_default();
    let decoded = keys::decode("--iv", text, IV_BYTES, args.cipher)?;
    let mut iv = Zeroizing::new([0; IV_BYTES]);
    iv.copy_from_slice(&decoded);
    let bytes = args.cipher.key_bytes();
    let key = match (&args.key, &args.key_file) {
        (Some(key), _) => keys::decode("-K", key.text(), bytes, args.cipher),
        (None, Some(path)) => {
            if path.as_os_str() == "-" && args.reads_stdin() {
                return Err(Failure::usage(
                    "--key-file -: standard input cannot be both the key and INPUT",
                ));
            }
            let text = keys::read_key_file(path)?;
            let what = format!("key file {}", without_keys(&path.display().to_string()));
            keys::decode(&what, text.text(), bytes, args.cipher)
        }
        (None, None) => Err(args.no_key()),
    }?;
    Ok(KeyAndIv { key, iv })
}

/// Warns a user with a passphrase that the format has no authentication.
fn warn(direction: Direction) {
    let text = match direction {
        Direction::Encrypt => {
            "this format has no authentication, so changes to the file go unnoticed; \
             `oarlock encrypt -p` detects them"
        }
        Direction::Decrypt => {
            "this format has no authentication: nothing shows whether the file was changed"
        }
    };
    note(&format!("warning: {text}"));
}

fn iterations(text: &str) -> Result<NonZeroU32, String> {
    let number = text.parse();
    number.map_err(|_| format!("give a whole number from 1 to {}", u32::MAX))
}

fn ciphers() -> impl TypedValueParser<Value = Algorithm> {
    PossibleValuesParser::new(CIPHERS.map(Algorithm::name)).try_map(|name| {
        CIPHERS
            .into_iter()
            .find(|operation| operation.name() == name)
            .ok_or("not a cipher")
    })
}

fn digests() -> impl TypedValueParser<Value = Digest> {
    PossibleValuesParser::new(DIGESTS.map(|(name, _)| name)).try_map(|name| {
        let found = DIGESTS.into_iter().find(|(known, _)| *known == name);
        found.map(|(_, digest)| digest).ok_or("not a hash")
    })
}

const CIPHERS: [Algorithm; 7] = [
    Algorithm::Aes128Ctr,
    Algorithm::Aes192Ctr,
    Algorithm::Aes256Ctr,
    Algorithm::Aes128Cbc,
    Algorithm::Aes192Cbc,
    Algorithm::Aes256Cbc,
    Algorithm::ChaCha20,
];

const DIGESTS: [(&str, Digest); 6] = [
    ("md5", Digest::Md5),
    ("sha1", Digest::Sha1),
    ("sha224", Digest::Sha224),
    ("sha256", Digest::Sha256),
    ("sha384", Digest::Sha384),
    ("sha512", Digest::Sha512),
];

/// Options that go with a key, not a passphrase.
const RAW: [&str; 3] = ["key", "key_file", "iv"];
/// The alternatives to --pass.
const OTHERS: [&str; 5] = ["key", "key_file", "iv", "passphrase_file", "passphrase_fd"];
