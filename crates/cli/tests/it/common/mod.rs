//! Shared by the tests: the real command, the real openssl, and inputs.

pub mod age;
pub mod terminal;

use std::fs;
use std::io::{Read, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use oarlock_testing::{LIMIT, skip, until};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

pub const KEY: &str = "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4";
pub const IV: &str = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";

pub fn key(bits: usize) -> &'static str {
    &KEY[..bits / 4]
}

/// Returns the command under test, without a calibration. Its provider offers all operations, even those at which this
/// machine's OpenSSL is faster.
pub fn oarlock() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oarlock"));
    command
        .env("XDG_CACHE_HOME", "/nonexistent")
        .env("OARLOCK_CALIBRATION", "")
        .env("OARLOCK_CONFIGURATIONS", configurations())
        .env("OARLOCK_OPTIONS", "offer=all");
    command
}

/// Returns the folder in which `oarlock run` leaves its configurations, next to cargo's outputs.
pub fn configurations() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("configurations"))
}

/// Returns `oarlock enc` with a key of `bits` bits.
pub fn enc(bits: usize, iv: &str) -> Command {
    let mut command = oarlock();
    command.args(["enc", "--cipher", &format!("aes-{bits}-ctr")]);
    command.args(["-K", key(bits), "--iv", iv]);
    command
}

/// Returns openssl's output for `data`.
pub fn openssl(bits: usize, iv: &str, data: &[u8]) -> Vec<u8> {
    let mut command = Command::new("openssl");
    command.args(["enc", &format!("-aes-{bits}-ctr")]);
    command.args(["-K", key(bits), "-iv", iv]);
    let output = run(&mut command, data);
    assert!(output.status.success(), "openssl: {}", stderr(&output));
    output.stdout
}

/// Returns a port of this machine that is free at the moment.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// Returns the provider, which must be built next to the command, as `cargo build` and `make test` do.
pub fn provider() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let file =
            Path::new(env!("CARGO_BIN_EXE_oarlock")).with_file_name("liboarlock_provider.so");
        assert!(
            file.exists(),
            "{} is missing: build it with `cargo build -p oarlock-provider -p oarlock-cli`",
            file.display()
        );
        file
    })
}

/// Runs a command with `input` on its standard input.
pub fn run(command: &mut Command, input: &[u8]) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    thread::scope(|scope| {
        // The command may end before it has read everything.
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output().unwrap()
    })
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Writes a program through another process. Programs that other tests are starting would hold copies of this process's
/// descriptor, and Linux does not execute a file that is open for writing (ETXTBSY).
pub fn write_program(path: &Path, text: &str) {
    let mut install = Command::new("install");
    install.args(["-m", "755", "/dev/stdin"]).arg(path);
    let installed = run(&mut install, text.as_bytes());
    assert!(installed.status.success(), "{}", stderr(&installed));
}

/// Checks for exactly one line, of the command, that contains all of `parts` and no key.
pub fn assert_one_line(stderr: &str, parts: &[&str]) {
    assert!(
        stderr.starts_with("oarlock: ") && stderr.ends_with('\n') && stderr.lines().count() == 1,
        "not one line: {stderr:?}"
    );
    for part in parts {
        assert!(stderr.contains(part), "{part:?} is not in {stderr:?}");
    }
    assert!(!stderr.contains(&KEY[..16]), "tells the key: {stderr:?}");
}

pub fn assert_fails(output: &Output, status: i32, parts: &[&str]) {
    assert_one_line(&stderr(output), parts);
    assert_eq!(output.status.code(), Some(status), "{}", stderr(output));
}

/// Creates a file that takes no space, and is too long to be done before a test has looked at the output.
pub fn endless(directory: &Path) -> PathBuf {
    let path = directory.join("endless");
    fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
    path
}

/// A file system of 2 MiB, if this user may mount one.
pub struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    /// Mounts it. Returns `None` and skips the test if this user may not.
    pub fn mount() -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=2m", "oarlock-test"])
            .arg(directory.path())
            .output()
            .is_ok_and(|output| output.status.success());
        if !mounted {
            skip("mounting a small file system needs root");
        }
        mounted.then_some(Self(directory))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Remounts it read-only. This may have to wait: a program that another test is starting may hold a copy of a descriptor
    /// that was just closed here, and the file system is busy for that long.
    pub fn make_read_only(&self) {
        until("a remount", || {
            let mut mount = Command::new("mount");
            let mount = mount.args(["-o", "remount,ro"]).arg(self.0.path());
            mount.stderr(Stdio::null()).status().unwrap().success()
        });
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // This also works while it is busy, as above.
        let mut umount = Command::new("umount");
        let unmounted = umount.arg("--lazy").arg(self.0.path()).status();
        assert!(unmounted.is_ok_and(|status| status.success()));
    }
}

/// Waits until the command writes its temporary file in `directory`.
pub fn until_at_work(directory: &Path) {
    until("a temporary file with something in it", || {
        fs::read_dir(directory).unwrap().flatten().any(|entry| {
            entry.file_name().to_string_lossy().starts_with(".oarlock-")
                && entry.metadata().is_ok_and(|metadata| metadata.len() > 0)
        })
    });
}

/// Fills `buffer` from a pipe, and panics if the bytes do not arrive.
pub fn read_soon(pipe: &mut (impl Read + AsFd), buffer: &mut [u8]) {
    let limit = Timespec::try_from(LIMIT).unwrap();
    let mut filled = 0;
    while filled < buffer.len() {
        let mut watched = [PollFd::new(pipe, PollFlags::IN)];
        assert_eq!(poll(&mut watched, Some(&limit)), Ok(1), "nothing comes");
        let bytes = pipe.read(&mut buffer[filled..]).unwrap();
        assert!(bytes > 0, "ended after {filled} bytes");
        filled += bytes;
    }
}

/// Waits until a pipe is almost full, so that its writer waits for its reader.
pub fn until_full(pipe: impl AsFd) {
    let capacity = rustix::pipe::fcntl_getpipe_size(&pipe).unwrap() as u64;
    // Long writes do not fill up pages that short writes began.
    until("the pipe is full", || {
        rustix::io::ioctl_fionread(&pipe).unwrap() >= capacity - capacity / 4
    });
}

/// Waits until a pipe is empty, so that its reader has everything.
pub fn until_taken(pipe: impl AsFd) {
    until("the pipe is empty", || {
        rustix::io::ioctl_fionread(&pipe).unwrap() == 0
    });
}

pub fn signal(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, signal).unwrap();
}

/// Waits for the end of a process, and kills it if it does not end.
pub fn ends_soon(mut child: Child) -> Output {
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > LIMIT {
            child.kill().unwrap();
            panic!("did not end");
        }
        thread::sleep(Duration::from_millis(1));
    }
    drop(child.stdin.take());
    let mut text = Vec::new();
    if let Some(mut pipe) = child.stderr.take() {
        pipe.read_to_end(&mut text).unwrap();
    }
    Output {
        status: child.wait().unwrap(),
        stdout: Vec::new(),
        stderr: text,
    }
}
