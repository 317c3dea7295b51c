//! Recipients and identities in arguments and files: the kinds that the `age` crate knows, and the post-quantum ones that it
//! does not.
//!
//! A file is read once, since it may be a pipe. Its first bytes tell its kind: an identity file encrypted with a passphrase,
//! an SSH key, or a list of lines. The crate parses the lines that this module does not know.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};
use std::io::{self, BufReader, Read as _};
use std::iter;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use age::armor::ArmoredReader;
use age::cli_common::{ReadError, StdinGuard, read_recipients};
use age::{Callbacks as _, DecryptError, EncryptError, Identity, Recipient, scrypt, ssh, x25519};
use oarlock_file::age::plugin::Plugin;
use oarlock_file::age::{FileKey, Stanza, WORK_FACTOR_MAX, hybrid};
use zeroize::Zeroizing;

use super::protected::{Protected, unanswered};
use super::ssh::identity as ssh_identity;
use super::ui::Ui;
use super::words;
use crate::failure::{Failure, has_private_key, note, shown};
use crate::input::Input;
use crate::interrupt::Interrupt;

/// A recipient that several threads may share.
pub(super) type SharedRecipient = Box<dyn Recipient + Send + Sync>;

/// The arguments that name recipients.
pub(super) struct Recipients<'a> {
    /// Recipients given as strings.
    pub(super) strings: &'a [String],
    /// Names of files with recipients; `-` is standard input.
    pub(super) files: &'a [String],
    /// Names of files with identities, whose recipients are used.
    pub(super) identity_files: &'a [String],
}

impl Recipients<'_> {
    /// Reads all recipients. `reads_stdin` means that standard input is the data to encrypt.
    pub(super) fn read(
        &self,
        reads_stdin: bool,
        interrupt: &Interrupt,
        ui: &Ui,
    ) -> Result<Vec<SharedRecipient>, Failure> {
        let mut stdin = Stdin(reads_stdin);
        let mut recipients: Vec<SharedRecipient> = Vec::new();
        let mut plugins = Plugins::new(interrupt, ui);
        let mut others = Vec::new();
        for text in self.strings {
            if has_private_key(text) {
                return Err(Failure::usage(
                    "-r: this is a private key, which is secret: give its public key, which \
                     `ssh-keygen -y -f FILE` prints, or the name of its file with -i",
                ));
            }
            if has_identity(text) {
                return Err(Failure::usage(
                    "-r: this is an identity, which is secret: give its recipient, which \
                     `oarlock keygen -y FILE` prints, or the file of the identity with -i",
                ));
            }
            if text.starts_with(HYBRID_RECIPIENT) {
                let recipient: Result<hybrid::Recipient, _> = text.parse();
                let recipient = recipient.map_err(|error| {
                    Failure::usage(format!("{}: invalid recipient: {error}", shortened(text)))
                })?;
                recipients.push(Box::new(recipient));
            } else if let Ok(recipient) = text.parse::<x25519::Recipient>() {
                recipients.push(Box::new(recipient));
            } else if let Ok(recipient) = text.parse::<age::plugin::Recipient>() {
                plugins.of(recipient.plugin()).add_recipient(text);
            } else {
                others.push(KeyLine::argument(text));
            }
        }
        let mut files = Vec::new();
        for name in self.files {
            files.push((name, stdin.read(name, "no such file of recipients")?));
        }
        let mut identity_files = Vec::new();
        for name in self.identity_files {
            identity_files.push(IdentitySource::read(name, &mut stdin, interrupt, ui)?);
        }
        for (name, bytes) in &files {
            let (mut is_empty, mut is_usable, mut unsupported) = (true, false, Vec::new());
            for line in lines(name, bytes)? {
                is_empty = false;
                if let Some(why) = unsupported_ssh_key(&line) {
                    unsupported.push(why);
                    continue;
                }
                is_usable = true;
                if line.text.starts_with(HYBRID_RECIPIENT) {
                    let recipient: Result<hybrid::Recipient, _> = line.text.parse();
                    let recipient = recipient.map_err(|error| line.invalid("recipient", &error))?;
                    recipients.push(Box::new(recipient));
                } else if let Ok(recipient) = line.text.parse::<x25519::Recipient>() {
                    recipients.push(Box::new(recipient));
                } else if let Ok(recipient) = line.text.parse::<age::plugin::Recipient>() {
                    plugins.of(recipient.plugin()).add_recipient(line.text);
                } else {
                    others.push(line);
                }
            }
            if is_empty {
                return Err(Failure::usage(format!("{name}: contains no recipient")));
            }
            for why in unsupported {
                if !is_usable {
                    return Err(why);
                }
                note(&format!("warning: {why}: not encrypted to this key"));
            }
        }
        recipients.extend(other_recipients(&others)?);
        recipients.extend(plugins.into_recipients().map_err(recipient_failed)?);
        for source in identity_files {
            recipients.extend(source.into_recipients(interrupt, ui)?);
        }
        Ok(recipients)
    }
}

/// Reads the identities in the files `names`. `reads_stdin` means that standard input is the file to decrypt.
pub(super) fn identities(
    names: &[String],
    reads_stdin: bool,
    interrupt: &Interrupt,
    ui: &Ui,
) -> Result<Vec<Box<dyn Identity>>, Failure> {
    let mut stdin = Stdin(reads_stdin);
    let mut identities = Vec::new();
    for name in names {
        let source = IdentitySource::read(name, &mut stdin, interrupt, ui)?;
        identities.extend(source.into_identities(interrupt, ui)?);
    }
    Ok(identities)
}

/// Returns the recipient of a line of an identity file, if the identity is of one of age's own kinds.
pub(super) fn native_recipient(line: &str) -> Option<String> {
    if let Ok(identity) = line.parse::<hybrid::Identity>() {
        return Some(identity.to_public().to_string());
    }
    let identity: x25519::Identity = line.parse().ok()?;
    Some(identity.to_public().to_string())
}

/// Parses recipients with the `age` crate. It gets one line at a time, so that an error names the line.
fn other_recipients(lines: &[KeyLine<'_>]) -> Result<Vec<SharedRecipient>, Failure> {
    let mut recipients = Vec::new();
    for line in lines {
        let read = other_recipient(line).map_err(|error| line.unreadable(error))?;
        recipients.extend(read.into_iter().map(Locked::shared));
    }
    Ok(recipients)
}

fn other_recipient(line: &KeyLine<'_>) -> Result<Vec<Box<dyn Recipient + Send>>, ReadError> {
    let texts = vec![line.text.to_owned()];
    let mut nothing = StdinGuard::new(true);
    read_recipients(texts, Vec::new(), Vec::new(), None, &mut nothing)
}

/// Returns why a line is an SSH key that nobody can encrypt to. `https://github.com/NAME.keys` lists such keys among others.
/// As in age, they do not prevent the use of the others.
fn unsupported_ssh_key(line: &KeyLine<'_>) -> Option<Failure> {
    if !SSH_KINDS.iter().any(|kind| line.text.starts_with(kind)) {
        return None;
    }
    match other_recipient(line).err()? {
        // A key that is too long for this command is an error, since age would encrypt to it.
        error @ (ReadError::UnsupportedKey(..) | ReadError::RsaModulusTooSmall) => {
            Some(line.unreadable(error))
        }
        _ => None,
    }
}

/// Plugins by name. Each runs once for all of its recipients.
struct Plugins<'a> {
    by_name: BTreeMap<String, Plugin<Ui, Interrupt>>,
    interrupt: &'a Interrupt,
    ui: &'a Ui,
}

impl<'a> Plugins<'a> {
    fn new(interrupt: &'a Interrupt, ui: &'a Ui) -> Self {
        Self {
            by_name: BTreeMap::new(),
            interrupt,
            ui,
        }
    }

    fn of(&mut self, name: &str) -> &mut Plugin<Ui, Interrupt> {
        // The plugin must not outlive the command.
        self.interrupt.leaves_something();
        let plugin = || Plugin::new(name, self.ui.for_plugins(), self.interrupt.clone());
        self.by_name.entry(name.to_owned()).or_insert_with(plugin)
    }

    fn into_recipients(self) -> Result<Vec<SharedRecipient>, EncryptError> {
        let plugins = self.by_name.into_values().map(|plugin| {
            if !plugin.is_installed() {
                let binary_name = plugin.name().to_owned();
                return Err(EncryptError::MissingPlugin { binary_name });
            }
            Ok(Locked::shared(Box::new(plugin)))
        });
        plugins.collect()
    }
}

fn unreadable(error: ReadError) -> Failure {
    Failure::usage(words::unreadable(error))
}

fn recipient_failed(error: EncryptError) -> Failure {
    Failure::usage(words::of_recipient(error))
}

fn identity_failed(error: DecryptError) -> Failure {
    Failure::usage(words::of_identity(error))
}

/// A recipient behind a lock: a plugin answers one call at a time.
struct Locked(Mutex<Box<dyn Recipient + Send>>);

impl Locked {
    fn shared(recipient: Box<dyn Recipient + Send>) -> SharedRecipient {
        Box::new(Self(Mutex::new(recipient)))
    }
}

impl Recipient for Locked {
    fn wrap_file_key(
        &self,
        file_key: &FileKey,
    ) -> Result<(Vec<Stanza>, HashSet<String>), EncryptError> {
        let recipient = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        recipient.wrap_file_key(file_key)
    }
}

/// The content of an identity file.
enum IdentitySource {
    Encrypted(Encrypted),
    Ssh(String, ssh::Identity),
    Listed(Listed),
}

impl IdentitySource {
    fn read(
        name: &str,
        stdin: &mut Stdin,
        interrupt: &Interrupt,
        ui: &Ui,
    ) -> Result<Self, Failure> {
        let bytes = stdin.read(name, "no such identity file")?;
        let begin = bytes.trim_ascii_start();
        if begin.starts_with(ARMOR) || bytes.starts_with(VERSION) {
            return Encrypted::new(name, bytes, interrupt, ui).map(Self::Encrypted);
        }
        if begin.starts_with(b"-----BEGIN") {
            if bytes.len() > SSH_BYTES_MAX {
                return Err(Failure::usage(format!(
                    "{name}: longer than 16 KiB: not an SSH key"
                )));
            }
            return match ssh_identity(begin, Some(name)) {
                Ok(ssh::Identity::Unsupported(key)) => {
                    Err(unreadable(ReadError::UnsupportedKey(name.to_owned(), key)))
                }
                Ok(identity) => Ok(Self::Ssh(name.to_owned(), identity)),
                Err(why) => Err(Failure::usage(format!("{name}: {why}"))),
            };
        }
        Listed::of_lines(name, &bytes).map(Self::Listed)
    }

    fn into_identities(
        self,
        interrupt: &Interrupt,
        ui: &Ui,
    ) -> Result<Vec<Box<dyn Identity>>, Failure> {
        match self {
            Self::Encrypted(encrypted) => Ok(vec![Box::new(encrypted)]),
            Self::Ssh(name, identity) => {
                Ok(vec![Box::new(Protected::new(name, identity, ui.clone()))])
            }
            Self::Listed(listed) => listed
                .into_identities(interrupt, ui)
                .map_err(identity_failed),
        }
    }

    fn into_recipients(
        self,
        interrupt: &Interrupt,
        ui: &Ui,
    ) -> Result<Vec<SharedRecipient>, Failure> {
        let listed = match self {
            Self::Encrypted(encrypted) => encrypted.decrypt().map_err(|error| {
                let why = words::of_identity(error);
                Failure::new(format!("{}: {why}", encrypted.name))
            })?,
            Self::Ssh(name, identity) => {
                let recipient = ssh::Recipient::try_from(identity);
                let recipient = recipient.map_err(|error| {
                    Failure::usage(format!("{name}: {}", words::of_ssh_recipient(&error)))
                })?;
                return Ok(vec![Box::new(recipient)]);
            }
            Self::Listed(listed) => listed,
        };
        listed
            .into_recipients(interrupt, ui)
            .map_err(recipient_failed)
    }
}

/// The identities that an identity file lists.
#[derive(Default)]
struct Listed {
    hybrid: Vec<hybrid::Identity>,
    x25519: Vec<x25519::Identity>,
    of_plugins: Vec<age::plugin::Identity>,
}

impl Listed {
    fn of_lines(name: &str, bytes: &[u8]) -> Result<Self, Failure> {
        let mut listed = Self::default();
        let mut is_empty = true;
        for line in lines(name, bytes)? {
            is_empty = false;
            if line.text.starts_with(HYBRID_IDENTITY) {
                let identity: Result<hybrid::Identity, _> = line.text.parse();
                let identity = identity.map_err(|error| line.invalid("identity", &error))?;
                listed.hybrid.push(identity);
            } else if let Ok(identity) = line.text.parse() {
                listed.x25519.push(identity);
            } else if let Ok(identity) = line.text.parse() {
                listed.of_plugins.push(identity);
            } else if line.text.starts_with("age1") {
                return Err(line.invalid("identity", &"it is a recipient"));
            } else {
                return Err(line.invalid("identity", &"unknown kind of key"));
            }
        }
        if is_empty {
            return Err(Failure::usage(format!("{name}: contains no identity")));
        }
        Ok(listed)
    }

    fn into_identities(
        self,
        interrupt: &Interrupt,
        ui: &Ui,
    ) -> Result<Vec<Box<dyn Identity>>, DecryptError> {
        let mut identities: Vec<Box<dyn Identity>> = Vec::new();
        identities.extend(self.hybrid.into_iter().map(|one| Box::new(one) as _));
        identities.extend(self.x25519.into_iter().map(|one| Box::new(one) as _));
        for identity in self.of_plugins {
            interrupt.leaves_something();
            let mut plugin = Plugin::new(identity.plugin(), ui.for_plugins(), interrupt.clone());
            plugin.add_identity(identity.to_string());
            if !plugin.is_installed() {
                let binary_name = plugin.name().to_owned();
                return Err(DecryptError::MissingPlugin { binary_name });
            }
            identities.push(Box::new(plugin));
        }
        Ok(identities)
    }

    fn into_recipients(
        self,
        interrupt: &Interrupt,
        ui: &Ui,
    ) -> Result<Vec<SharedRecipient>, EncryptError> {
        let mut recipients: Vec<SharedRecipient> = Vec::new();
        recipients.extend(self.hybrid.iter().map(|one| Box::new(one.to_public()) as _));
        recipients.extend(self.x25519.iter().map(|one| Box::new(one.to_public()) as _));
        let mut plugins = Plugins::new(interrupt, ui);
        for identity in &self.of_plugins {
            let plugin = plugins.of(identity.plugin());
            plugin.add_identity(identity.to_string());
        }
        recipients.extend(plugins.into_recipients()?);
        Ok(recipients)
    }
}

/// An identity file that is itself an age file, encrypted with a passphrase. It is decrypted when the identities are needed.
/// The crate's own type does not support post-quantum identities.
struct Encrypted {
    name: String,
    bytes: Zeroizing<Vec<u8>>,
    /// Ends the plugins of the identities.
    interrupt: Interrupt,
    ui: Ui,
    opened: OnceCell<Result<Vec<Box<dyn Identity>>, DecryptError>>,
}

impl Encrypted {
    fn new(
        name: &str,
        bytes: Zeroizing<Vec<u8>>,
        interrupt: &Interrupt,
        ui: &Ui,
    ) -> Result<Self, Failure> {
        let decryptor = age::Decryptor::new(ArmoredReader::new(&bytes[..]));
        let decryptor = decryptor.map_err(|error| {
            let why = words::of_identity(error);
            Failure::usage(format!("{name}: {why}"))
        })?;
        if !decryptor.is_scrypt() {
            let name = name.to_owned();
            return Err(unreadable(ReadError::IdentityEncryptedWithoutPassphrase(
                name,
            )));
        }
        Ok(Self {
            name: name.to_owned(),
            bytes,
            interrupt: interrupt.clone(),
            ui: ui.clone(),
            opened: OnceCell::new(),
        })
    }

    fn decrypt(&self) -> Result<Listed, DecryptError> {
        let prompt = format!("Passphrase of the identity file {}", self.name);
        let passphrase = self.ui.request_passphrase(&prompt);
        let passphrase = passphrase.ok_or_else(|| unanswered(&self.name))?;
        let mut identity = scrypt::Identity::new(passphrase);
        identity.set_max_work_factor(WORK_FACTOR_MAX);
        let decryptor = age::Decryptor::new(ArmoredReader::new(&self.bytes[..]))?;
        let reader = decryptor.decrypt(iter::once(&identity as _));
        let reader = reader.map_err(|error| match error {
            DecryptError::DecryptionFailed => DecryptError::KeyDecryptionFailed,
            other => other,
        })?;
        let mut text = Zeroizing::new(Vec::with_capacity(self.bytes.len()));
        BufReader::new(reader).read_to_end(&mut text)?;
        let listed = Listed::of_lines(&self.name, &text);
        listed.map_err(|failure| DecryptError::Io(io::Error::other(failure.to_string())))
    }

    /// Returns the first answer of an identity in the file.
    fn find(
        &self,
        unwrap: impl Fn(&dyn Identity) -> Option<Result<FileKey, DecryptError>>,
    ) -> Option<Result<FileKey, DecryptError>> {
        let is_asked_now = self.opened.get().is_none();
        let opened = self
            .opened
            .get_or_init(|| self.decrypt()?.into_identities(&self.interrupt, &self.ui));
        let identities = match opened {
            Ok(identities) => identities,
            Err(error) => return Some(Err(error.clone())),
        };
        let found = identities.iter().find_map(|identity| unwrap(&**identity));
        if is_asked_now && found.is_none() {
            let name = &self.name;
            self.ui.display_message(&format!(
                "{name}: none of these identities can decrypt the file"
            ));
        }
        found
    }
}

impl Identity for Encrypted {
    fn unwrap_stanza(&self, stanza: &Stanza) -> Option<Result<FileKey, DecryptError>> {
        self.find(|identity| identity.unwrap_stanza(stanza))
    }

    fn unwrap_stanzas(&self, stanzas: &[Stanza]) -> Option<Result<FileKey, DecryptError>> {
        self.find(|identity| identity.unwrap_stanzas(stanzas))
    }
}

/// A line that is neither empty nor a comment, and its place.
struct KeyLine<'a> {
    text: &'a str,
    /// The file's name and the line's number; `None` for an argument.
    place: Option<(&'a str, usize)>,
}

impl<'a> KeyLine<'a> {
    fn argument(text: &'a str) -> Self {
        Self { text, place: None }
    }

    /// Returns the failure without the line itself, which may be secret.
    fn invalid(&self, what: &str, why: &dyn std::fmt::Display) -> Failure {
        let (name, number) = self.place.unwrap_or((self.text, 1));
        Failure::usage(format!("{name}: line {number}: invalid {what}: {why}"))
    }

    /// Returns why the crate refused the line as a recipient.
    fn unreadable(&self, error: ReadError) -> Failure {
        let Some((name, number)) = self.place else {
            return unreadable(match error {
                ReadError::InvalidRecipient(text) => {
                    ReadError::InvalidRecipient(match is_public(&text) {
                        true => shortened(&text),
                        false => shown(&text),
                    })
                }
                other => other,
            });
        };
        match error {
            ReadError::InvalidRecipient(_) if self.text.starts_with("AGE-") => {
                self.invalid("recipient", &"it may be an identity: give the file with -i")
            }
            ReadError::InvalidRecipient(_) => self.invalid("recipient", &"unknown kind of key"),
            ReadError::UnsupportedKey(_, key) => {
                let why = words::of_ssh_key(&key);
                Failure::usage(format!("{name}: line {number}: {why}"))
            }
            other => {
                let why = words::unreadable(other);
                Failure::usage(format!("{name}: line {number}: {why}"))
            }
        }
    }
}

/// Returns the lines of a file, without empty ones and comments.
fn lines<'a>(name: &'a str, bytes: &'a [u8]) -> Result<impl Iterator<Item = KeyLine<'a>>, Failure> {
    let text = std::str::from_utf8(bytes);
    let text = text.map_err(|_| Failure::usage(format!("{name}: not text")))?;
    let numbered = text.lines().zip(1..);
    let saying = numbered.filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
    Ok(saying.map(move |(text, number)| KeyLine {
        text,
        place: Some((name, number)),
    }))
}

/// Standard input, which serves one purpose; `true` once it is taken.
struct Stdin(bool);

impl Stdin {
    /// Reads all of a key file. `missing` describes a file that does not exist.
    fn read(&mut self, name: &str, missing: &str) -> Result<Zeroizing<Vec<u8>>, Failure> {
        if name == "-" && std::mem::replace(&mut self.0, true) {
            return Err(unreadable(ReadError::MultipleStdin));
        }
        if name != "-" && !Path::new(name).exists() {
            if has_private_key(name) {
                return Err(Failure::usage(
                    "this is a private key, where a file is needed: give the name of its file",
                ));
            }
            if has_identity(name) {
                return Err(Failure::usage(
                    "this is an identity, where a file is needed: store the identity in one and give its name",
                ));
            }
            return Err(Failure::usage(format!("{name}: {missing}")));
        }
        let input = Input::open(Some(Path::new(name))).map_err(|failure| failure.with_status(2))?;
        read_all(&input).map_err(|failure| failure.with_status(2))
    }
}

/// Reads all of a key file, which has at most [`KEY_FILE_BYTES_MAX`] bytes.
pub(super) fn read_all(input: &Input) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let size = input.size.unwrap_or_default().min(KEY_FILE_BYTES_MAX);
    // Reserve enough that the secret is not copied as the vector grows.
    let capacity = usize::try_from(size).unwrap_or(0).max(SSH_BYTES_MAX) + 1;
    let mut bytes = Zeroizing::new(Vec::with_capacity(capacity));
    (&input.file)
        .take(KEY_FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| input.failed(0, &error))?;
    if bytes.len() as u64 > KEY_FILE_BYTES_MAX {
        let name = &input.name;
        return Err(Failure::new(format!(
            "{name}: longer than 16 MiB: not a file of keys"
        )));
    }
    Ok(bytes)
}

/// Whether `text` contains a secret key, alone or within a file's content.
fn has_identity(text: &str) -> bool {
    text.to_ascii_uppercase().contains("AGE-SECRET-KEY-")
}

/// Whether `text` begins as recipients do, which are no secrets.
fn is_public(text: &str) -> bool {
    text.starts_with("age1") || SSH_KINDS.iter().any(|kind| text.starts_with(kind))
}

/// Shortens a key for a message; one may have two thousand characters.
fn shortened(text: &str) -> String {
    let mut begin: String = text.chars().take(SHOWN_CHARACTERS).collect();
    if begin.len() < text.len() {
        begin.push_str("...");
    }
    begin
}

const HYBRID_RECIPIENT: &str = "age1pq1";
/// The prefixes of SSH public key types.
const SSH_KINDS: [&str; 3] = ["ssh-", "ecdsa-", "sk-"];
const HYBRID_IDENTITY: &str = "AGE-SECRET-KEY-PQ-1";
const ARMOR: &[u8] = b"-----BEGIN AGE ENCRYPTED FILE-----";
const VERSION: &[u8] = b"age-encryption.org/";
/// The limit of age.
pub(super) const KEY_FILE_BYTES_MAX: u64 = 16 << 20;
const SSH_BYTES_MAX: usize = 16 << 10;
const SHOWN_CHARACTERS: usize = 24;
