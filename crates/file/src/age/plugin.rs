//! Plugins: programs `age-plugin-NAME` that wrap and unwrap file keys (C2SP, age-plugin).
//!
//! ```text
//! we       add-recipient, add-identity, ... done        the work to do
//! plugin   msg, confirm, request-*, recipient-stanza, file-key, ... done     each is answered
//! ```
//!
//! A plugin may take its time, for example until a token is touched. The `age` crate's client keeps whatever a plugin sends,
//! and no signal ends its wait. Here both have a limit.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use ::age::{Callbacks, DecryptError, EncryptError, Identity, Recipient};
use age_core::format::{FileKey, Stanza, grease_the_joint, read, write};
use age_core::secrecy::ExposeSecret as _;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use zeroize::{Zeroize as _, Zeroizing};

use crate::waiting::{Waiting, Watch};
use crate::words::reason;

/// A plugin, with the recipients or identities for it to use.
pub struct Plugin<C, W> {
    /// The name of its program.
    name: String,
    recipients: Vec<String>,
    identities: Vec<String>,
    callbacks: C,
    watch: W,
    /// A connection that is used once in place of the program.
    connected: Mutex<Option<(File, File)>>,
}

impl<C: Callbacks, W: Watch> Plugin<C, W> {
    /// Creates the plugin `name`, as recipients and identities give it, without any of these. It communicates with the user
    /// through `callbacks`, and `watch` ends its work.
    pub fn new(name: &str, callbacks: C, watch: W) -> Self {
        Self {
            name: format!("age-plugin-{name}"),
            recipients: Vec::new(),
            identities: Vec::new(),
            callbacks,
            watch,
            connected: Mutex::new(None),
        }
    }

    /// Connects once to a peer that reads `to` and has written `from`, instead of starting a program. The fuzzer uses this.
    #[doc(hidden)]
    #[must_use]
    pub fn connected(mut self, to: File, from: File) -> Self {
        self.connected = Mutex::new(Some((to, from)));
        self
    }

    /// Adds a recipient of this plugin.
    pub fn add_recipient(&mut self, text: impl Into<String>) {
        self.recipients.push(text.into());
    }

    /// Adds an identity of this plugin.
    pub fn add_identity(&mut self, text: impl Into<String>) {
        self.identities.push(text.into());
    }

    /// Whether the program is in a folder of `PATH`.
    pub fn is_installed(&self) -> bool {
        self.program().is_some()
    }

    /// Returns the program's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn program(&self) -> Option<PathBuf> {
        let path = std::env::var_os("PATH")?;
        // The program starts in another folder, where a relative path means another file.
        std::env::split_paths(&path)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(&self.name))
            .find(|file| {
                file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
            })
    }

    fn start(&self, machine: &str) -> io::Result<Session<'_, C, W>> {
        let mut connected = self
            .connected
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(ends) = connected.take() {
            return Ok(self.session(None, Some(ends)));
        }
        let program = self
            .program()
            .ok_or_else(|| self.failed("not found in the folders of PATH"))?;
        let shows_errors = std::env::var_os("AGEDEBUG").is_some_and(|what| what == "plugin");
        let mut child = Command::new(program)
            .arg(format!("--age-plugin={machine}"))
            .current_dir(std::env::temp_dir())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(match shows_errors {
                true => Stdio::inherit(),
                false => Stdio::null(),
            })
            .spawn()
            .map_err(|error| self.failed(&reason(&error)))?;
        let ends = (child.stdin.take(), child.stdout.take());
        let ends = match ends {
            (Some(to), Some(from)) => Some((OwnedFd::from(to).into(), OwnedFd::from(from).into())),
            _ => None,
        };
        Ok(self.session(Some(child), ends))
    }

    fn session(&self, child: Option<Child>, ends: Option<(File, File)>) -> Session<'_, C, W> {
        Session {
            plugin: self,
            child,
            ends,
            incoming: Incoming::default(),
            commands: 0,
            told: 0,
        }
    }

    fn failed(&self, what: &str) -> io::Error {
        io::Error::other(format!("{}: {what}", self.name))
    }

    fn wrap(&self, file_key: &FileKey) -> io::Result<(Vec<Stanza>, HashSet<String>)> {
        let mut session = self.start("recipient-v1")?;
        for text in &self.recipients {
            session.send("add-recipient", &[text], &[])?;
        }
        for text in &self.identities {
            session.send("add-identity", &[text], &[])?;
        }
        session.send::<&str>("extension-labels", &[], &[])?;
        session.send::<&str>("wrap-file-key", &[], file_key.expose_secret())?;
        session.end_of_phase()?;
        let mut stanzas = Vec::new();
        let mut labels = None;
        while let Some(mut command) = session.next()? {
            match command.tag.as_str() {
                // The only file has the index 0.
                "recipient-stanza" if command.args.len() >= 2 && command.args[0] == "0" => {
                    command.args.remove(0);
                    command.tag = command.args.remove(0);
                    stanzas.push(command);
                    session.send::<&str>("ok", &[], &[])?;
                }
                "labels" if labels.is_none() => {
                    let count = command.args.len();
                    let set: HashSet<String> = command.args.into_iter().collect();
                    if set.len() != count {
                        return Err(self.failed("it gives a label twice"));
                    }
                    labels = Some(set);
                    session.send::<&str>("ok", &[], &[])?;
                }
                "recipient-stanza" | "labels" => {
                    return Err(self.failed("it violates the plugin protocol"));
                }
                _ => session.answer(command)?,
            }
        }
        if stanzas.is_empty() {
            return Err(self.failed("it returned neither a stanza nor an error"));
        }
        Ok((stanzas, labels.unwrap_or_default()))
    }

    /// Returns the file key, or `None` if none of the plugin's identities fits.
    fn unwrap(&self, stanzas: &[Stanza]) -> io::Result<Option<FileKey>> {
        let mut session = self.start("identity-v1")?;
        for text in &self.identities {
            session.send("add-identity", &[text], &[])?;
        }
        for Stanza { tag, args, body } in stanzas {
            let words = ["0", tag]
                .into_iter()
                .chain(args.iter().map(String::as_str));
            let words: Vec<&str> = words.collect();
            session.send("recipient-stanza", &words, body)?;
        }
        session.end_of_phase()?;
        let mut file_key = None;
        while let Some(mut command) = session.next()? {
            match command.tag.as_str() {
                "file-key" if command.args == ["0"] && file_key.is_none() => {
                    let key = FileKey::try_init_with_mut(|key| {
                        let is_one = command.body.len() == key.len();
                        if is_one {
                            key.copy_from_slice(&command.body);
                        }
                        is_one.then_some(()).ok_or(())
                    });
                    command.body.zeroize();
                    file_key = Some(key.map_err(|()| self.failed("it returned no file key"))?);
                    session.send::<&str>("ok", &[], &[])?;
                }
                "file-key" => return Err(self.failed("it violates the plugin protocol")),
                _ => session.answer(command)?,
            }
        }
        Ok(file_key)
    }
}

impl<C: Callbacks, W: Watch> Recipient for Plugin<C, W> {
    fn wrap_file_key(
        &self,
        file_key: &FileKey,
    ) -> Result<(Vec<Stanza>, HashSet<String>), EncryptError> {
        self.wrap(file_key).map_err(EncryptError::Io)
    }
}

impl<C: Callbacks, W: Watch> Identity for Plugin<C, W> {
    fn unwrap_stanza(&self, stanza: &Stanza) -> Option<Result<FileKey, DecryptError>> {
        self.unwrap_stanzas(std::slice::from_ref(stanza))
    }

    fn unwrap_stanzas(&self, stanzas: &[Stanza]) -> Option<Result<FileKey, DecryptError>> {
        self.unwrap(stanzas).map_err(DecryptError::Io).transpose()
    }
}

/// A running plugin. Drop ends it.
struct Session<'a, C: Callbacks, W: Watch> {
    plugin: &'a Plugin<C, W>,
    child: Option<Child>,
    /// The plugin's standard input and output.
    ends: Option<(File, File)>,
    incoming: Incoming,
    commands: usize,
    told: usize,
}

impl<C: Callbacks, W: Watch> Session<'_, C, W> {
    fn send<S: AsRef<str>>(&mut self, tag: &str, args: &[S], body: &[u8]) -> io::Result<()> {
        let mut text = Zeroizing::new(Vec::with_capacity(FIRST_BYTES + 2 * body.len()));
        cookie_factory::gen_simple(write::age_stanza(tag, args, body), &mut *text)
            .map_err(|_| self.plugin.failed("a command cannot be sent to it"))?;
        let Some((to, _)) = &self.ends else {
            return Ok(());
        };
        let sent = Waiting::new(to, false, &self.plugin.watch).write_all(&text);
        sent.map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => self.plugin.failed("it ended too early"),
            _ => error,
        })
    }

    fn end_of_phase(&mut self) -> io::Result<()> {
        // An unknown command exposes a plugin that fails on one early.
        let grease = grease_the_joint();
        self.send(&grease.tag, &grease.args, &grease.body)?;
        self.send::<&str>("done", &[], &[])
    }

    /// Returns the next command; `None` at the end.
    fn next(&mut self) -> io::Result<Option<Stanza>> {
        let stanza = self.receive()?;
        self.commands += 1;
        if self.commands > COMMANDS_MAX {
            return Err(self.plugin.failed("it sends too many commands"));
        }
        Ok((stanza.tag != "done").then_some(stanza))
    }

    fn receive(&mut self) -> io::Result<Stanza> {
        loop {
            if let Some(end) = self.incoming.stanza_end() {
                let stanza = match read::age_stanza(&self.incoming.bytes[..end]) {
                    Ok(([], stanza)) => stanza.into(),
                    _ => return Err(self.plugin.failed("it sent a malformed command")),
                };
                self.incoming.drop_first(end);
                return Ok(stanza);
            }
            if self.incoming.bytes.len() > STANZA_BYTES_MAX {
                return Err(self.plugin.failed("it sends a command that is too long"));
            }
            let Some((_, from)) = &self.ends else {
                return Err(self.plugin.failed("it has no output"));
            };
            let mut some = Zeroizing::new([0; FIRST_BYTES]);
            match Waiting::new(from, false, &self.plugin.watch).read(&mut some[..])? {
                0 => return Err(self.plugin.failed("it ended too early")),
                bytes => self.incoming.bytes.extend_from_slice(&some[..bytes]),
            }
        }
    }

    /// Answers a command that a plugin may send in every phase.
    fn answer(&mut self, command: Stanza) -> io::Result<()> {
        let text = String::from_utf8_lossy(&command.body);
        let text = text.trim_end();
        let callbacks = &self.plugin.callbacks;
        match command.tag.as_str() {
            "msg" | "confirm" | "request-public" | "request-secret" => {
                self.told += 1;
                if self.told > MESSAGES_MAX || text.len() > MESSAGE_BYTES_MAX {
                    return Err(self
                        .plugin
                        .failed("it sends too many messages, or one that is too long"));
                }
            }
            "error" => {
                let begin: String = text.chars().take(ERROR_CHARACTERS).collect();
                return Err(self.plugin.failed(&begin));
            }
            _ => return self.send::<&str>("unsupported", &[], &[]),
        }
        let reply = match command.tag.as_str() {
            "msg" => {
                callbacks.display_message(text);
                Some(Reply::Ok)
            }
            "confirm" => {
                let word = |at: usize| {
                    let word = BASE64_STANDARD_NO_PAD.decode(command.args.get(at)?).ok()?;
                    Some(String::from_utf8_lossy(&word).into_owned())
                };
                word(0).and_then(|yes| {
                    let is_confirmed = callbacks.confirm(text, &yes, word(1).as_deref())?;
                    Some(Reply::Word(if is_confirmed { "yes" } else { "no" }))
                })
            }
            "request-public" => callbacks
                .request_public_string(text)
                .map(|answer| Reply::Secret(answer.into())),
            _ => callbacks.request_passphrase(text).map(Reply::Secret),
        };
        match reply {
            None => self.send::<&str>("fail", &[], &[]),
            Some(Reply::Ok) => self.send::<&str>("ok", &[], &[]),
            Some(Reply::Word(word)) => self.send("ok", &[word], &[]),
            Some(Reply::Secret(text)) => {
                self.send::<&str>("ok", &[], text.expose_secret().as_bytes())
            }
        }
    }
}

enum Reply {
    Ok,
    Word(&'static str),
    Secret(age_core::secrecy::SecretString),
}

impl<C: Callbacks, W: Watch> Drop for Session<'_, C, W> {
    /// Closes the plugin's input and interrupts it, as age does. A plugin that does not end is killed.
    fn drop(&mut self) {
        self.ends = None;
        let Some(child) = &mut self.child else {
            return;
        };
        let pid = Pid::from_child(child);
        let _ = kill_process(pid, Signal::INT);
        if let Ok(ended) = pidfd_open(pid, PidfdFlags::empty()) {
            let mut watched = [PollFd::new(&ended, PollFlags::IN)];
            let _ = poll(&mut watched, Some(&GRACE));
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// The bytes that a plugin has sent and that are not yet parsed.
struct Incoming {
    bytes: Zeroizing<Vec<u8>>,
    /// The start of the last line, and the position up to which its end was searched for.
    line: usize,
    searched: usize,
}

impl Default for Incoming {
    fn default() -> Self {
        Self {
            // Reserve enough that a file key is not copied as the vector grows.
            bytes: Zeroizing::new(Vec::with_capacity(STANZA_BYTES_MAX + FIRST_BYTES)),
            line: 0,
            searched: 0,
        }
    }
}

impl Incoming {
    /// Returns the end of the first stanza, which is after the first line of its body that is not full. A line that is too
    /// long also ends it, and makes it malformed.
    fn stanza_end(&mut self) -> Option<usize> {
        while let Some(bytes) = self.bytes[self.searched..].iter().position(|b| *b == b'\n') {
            let end = self.searched + bytes + 1;
            let (is_first, columns) = (self.line == 0, end - 1 - self.line);
            (self.line, self.searched) = (end, end);
            if !is_first && columns != BODY_COLUMNS {
                return Some(end);
            }
        }
        self.searched = self.bytes.len();
        None
    }

    fn drop_first(&mut self, bytes: usize) {
        let left = self.bytes.len() - bytes;
        self.bytes.copy_within(bytes.., 0);
        self.bytes[left..].zeroize();
        self.bytes.truncate(left);
        (self.line, self.searched) = (0, 0);
    }
}

/// The columns of a full line of a stanza's body.
const BODY_COLUMNS: usize = 64;
const FIRST_BYTES: usize = 4096;
/// Twenty times the length of a post-quantum stanza.
const STANZA_BYTES_MAX: usize = 64 << 10;
/// The most commands to read from a plugin: the most stanzas of a header.
const COMMANDS_MAX: usize = 1 << 16;
/// The most messages and questions for a user.
const MESSAGES_MAX: usize = 100;
const MESSAGE_BYTES_MAX: usize = 4096;
const ERROR_CHARACTERS: usize = 1000;
/// The time for a plugin to clean up after its work.
const GRACE: Timespec = Timespec {
    tv_sec: 2,
    tv_nsec: 0,
};
