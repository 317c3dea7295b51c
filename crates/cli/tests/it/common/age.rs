//! Shared by tests of age files: a folder with keys, and the real age and rage.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use oarlock_testing::skip;

use super::{oarlock, stderr};

pub const CHUNK_BYTES: usize = 64 << 10;
pub const SEALED_CHUNK_BYTES: usize = CHUNK_BYTES + 16;

/// Returns age, written in Go.
pub fn age() -> Command {
    peer("age/bin/age")
}

/// Returns age's program for keys.
pub fn age_keygen() -> Command {
    peer("age/bin/age-keygen")
}

/// Returns rage, age in Rust. Returns `None` and skips the test if it is not built: that takes minutes, so only the long
/// form of the tests does it.
pub fn rage() -> Option<Command> {
    let rage = built("rage/bin/rage");
    if rage.is_none() {
        skip("rage is not built (cargo xtask peers rage)");
    }
    rage.map(Command::new)
}

fn peer(program: &str) -> Command {
    let built = built(program).map(Command::new);
    built.unwrap_or_else(|| panic!("{program} is not there: run `cargo xtask peers age`"))
}

/// Returns a program that `cargo xtask peers` has built.
pub fn built(program: &str) -> Option<PathBuf> {
    let mut folders = Path::new(env!("CARGO_BIN_EXE_oarlock")).ancestors();
    folders.find_map(|folder| {
        let program = folder.join("peers").join(program);
        program.exists().then_some(program)
    })
}

/// A folder with an identity of ours in `key.txt`, and its recipient.
pub struct Home {
    folder: tempfile::TempDir,
    pub recipient: String,
}

impl Home {
    pub fn new() -> Self {
        let mut home = Self {
            folder: tempfile::tempdir().unwrap(),
            recipient: String::new(),
        };
        succeeded(&mut home.oarlock(&["keygen", "-o", "key.txt"]));
        let recipient = succeeded(&mut home.oarlock(&["keygen", "-y", "key.txt"])).stdout;
        home.write("recipients.txt", &recipient);
        home.recipient = String::from_utf8(recipient).unwrap().trim().to_owned();
        home
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// Writes a private file, since keys must be private to be accepted.
    pub fn write(&self, name: &str, data: &[u8]) {
        fs::write(self.path(name), data).unwrap();
        let mode = fs::Permissions::from_mode(0o600);
        fs::set_permissions(self.path(name), mode).unwrap();
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    pub fn names(&self) -> Vec<String> {
        oarlock_testing::names(self.folder())
    }

    pub fn oarlock(&self, args: &[&str]) -> Command {
        self.run_here(oarlock(), args)
    }

    pub fn run_here(&self, mut command: Command, args: &[&str]) -> Command {
        command.current_dir(self.folder()).args(args);
        command
    }

    /// Returns `data`, encrypted.
    pub fn sealed(&self, data: &[u8]) -> Vec<u8> {
        let mut command = self.oarlock(&["encrypt", "-r", &self.recipient]);
        let output = super::run(&mut command, data);
        assert!(output.status.success(), "{}", stderr(&output));
        output.stdout
    }
}

pub fn succeeded(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", stderr(&output));
    output
}
