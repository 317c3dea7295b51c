//! Shared by the tests with real programs: the library under test, the configurations that `oarlock` writes for it
//! (`accelerated.rs`), and programs that end with their test.

mod accelerated;

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::io::Write as _;
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use oarlock::Accelerator;
use oarlock_testing::{LIMIT, lossy, until};
use tempfile::TempDir;

pub use self::accelerated::{Accelerated, Machine, with_conf};

/// Options for every library context and every program of these tests. Those of RSA run again with `lanes=always`.
pub const TEST_OPTIONS: &str = "OARLOCK_TEST_OPTIONS";

/// Returns the library that cargo has built next to this test.
pub fn module() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let deps = test.parent().unwrap();
    let places = [deps.join(LIBRARY), deps.parent().unwrap().join(LIBRARY)];
    let found = places.into_iter().filter(|place| place.exists());
    found
        .max_by_key(|place| place.metadata().unwrap().modified().unwrap())
        .expect("cargo builds the library before its tests")
}

/// Returns the command, which must be built next to the library, as `cargo build` and `make test` do.
pub fn oarlock() -> Command {
    let test = std::env::current_exe().unwrap();
    let file = test.ancestors().nth(2).unwrap().join("oarlock");
    assert!(
        file.exists(),
        "{} is missing: build it with `cargo build -p oarlock-cli -p oarlock-provider`",
        file.display()
    );
    Command::new(file)
}

/// Returns the library directory of an OpenSSL other than the machine's, for this process and for programs. If a directory
/// `bin` next to it has `openssl`, that one is started.
pub fn openssl() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = std::env::var_os("OARLOCK_TEST_OPENSSL")?;
        Some(Path::new(&folder).canonicalize().unwrap())
    });
    folder.as_deref()
}

/// Returns the name by which the loader finds libcrypto.
pub fn libcrypto_file() -> PathBuf {
    let Some(lib) = openssl() else {
        return "libcrypto.so.3".into();
    };
    let mut files = ["libcrypto.so.4", "libcrypto.so.3"]
        .map(|file| lib.join(file))
        .into_iter();
    let found = files.find(|file| file.exists());
    found.unwrap_or_else(|| panic!("{} holds no libcrypto", lib.display()))
}

/// Compiles a program of `tests/c` into `folder`, linked with the libcrypto of these tests.
pub fn compiled(name: &str, folder: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c");
    let program = folder.join(name);
    let mut gcc = Command::new("gcc");
    gcc.args(["-Wall", "-Wextra", "-Werror"]);
    gcc.arg(source.join(name).with_extension("c"));
    gcc.arg("-o").arg(&program);
    // A release of OpenSSL that is not the machine's has no link by the plain name.
    match openssl() {
        Some(_) => gcc.arg(libcrypto_file()),
        None => gcc.arg("-lcrypto"),
    };
    succeeds(&mut gcc);
    program
}

/// Creates a directory that programs which change their user can read.
pub fn open_folder() -> TempDir {
    let folder = tempfile::Builder::new()
        .prefix("oarlock-test-")
        .tempdir()
        .unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    folder
}

/// A program that runs during the test; dropping it kills its process group.
pub struct Program {
    child: Child,
    name: String,
    has_ended: bool,
}

impl Program {
    pub fn start(command: &mut Command) -> Self {
        Self::spawn(command.stdin(Stdio::null()))
    }

    fn spawn(command: &mut Command) -> Self {
        let name = format!("{command:?}");
        // Cargo sets it for the test only.
        command.env_remove("LD_LIBRARY_PATH");
        if let Some(lib) = openssl() {
            command.env("LD_LIBRARY_PATH", lib);
            let bin = lib.with_file_name("bin");
            if bin.join("openssl").exists() {
                let others = std::env::var_os("PATH").unwrap_or_default();
                let path = std::env::split_paths(&others);
                command.env(
                    "PATH",
                    std::env::join_paths([bin].into_iter().chain(path)).unwrap(),
                );
            }
        }
        let child = command.process_group(0).spawn();
        Self {
            child: child.unwrap_or_else(|error| panic!("{name}: {error}")),
            name,
            has_ended: false,
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the processes that it has started.
    pub fn children(&self) -> Vec<u32> {
        let pid = self.pid();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        let children = children.unwrap_or_default();
        let numbers = children.split_whitespace();
        numbers.map(|pid| pid.parse().unwrap()).collect()
    }

    /// Whether the program runs. It is not reaped, so its process ID stays valid.
    pub fn is_running(&self) -> bool {
        let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        // SAFETY: zeros are a valid structure, which is owned by this function.
        unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let looked = libc::waitid(libc::P_PID, self.child.id(), &mut info, flags);
            assert_eq!(looked, 0, "{}", self.name);
            info.si_pid() == 0
        }
    }

    pub fn signal(&self, signal: libc::c_int) {
        // SAFETY: the process was not reaped yet, so the ID is still its own.
        unsafe { libc::kill(self.child.id() as i32, signal) };
    }

    /// Waits for its end, which must come within `limit`; the rest of its process group is killed.
    pub fn ends_within(mut self, limit: Duration) -> ExitStatus {
        self.wait(limit);
        self.end()
    }

    /// Like `ends_within`, but the process group continues: a program that goes into the background may not have left the
    /// group when the started process ends.
    fn goes_into_the_background_within(mut self, limit: Duration) -> ExitStatus {
        self.wait(limit);
        self.has_ended = true;
        self.child.wait().unwrap()
    }

    fn wait(&self, limit: Duration) {
        let began = Instant::now();
        while self.is_running() {
            assert!(began.elapsed() < limit, "{} does not end", self.name);
            thread::sleep(Duration::from_millis(2));
        }
    }

    fn end(&mut self) -> ExitStatus {
        // SAFETY: the group was created with this program, whose leader was not reaped.
        unsafe { libc::killpg(self.child.id() as i32, libc::SIGKILL) };
        self.has_ended = true;
        self.child.wait().unwrap()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if !self.has_ended {
            self.end();
        }
    }
}

/// Runs a command to its end, which must come within [`LIMIT`].
pub fn run(command: &mut Command) -> Output {
    run_with(command, &[])
}

/// Runs a command with `input` on its standard input.
pub fn run_with(command: &mut Command, input: &[u8]) -> Output {
    run_to_end(command, input, |program| program.ends_within(LIMIT))
}

fn run_to_end(
    command: &mut Command,
    input: &[u8],
    end: impl FnOnce(Program) -> ExitStatus,
) -> Output {
    // To files, because processes left in the background would keep pipes open.
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("in"), input).unwrap();
    command
        .stdin(File::open(path("in")).unwrap())
        .stdout(File::create(path("out")).unwrap())
        .stderr(File::create(path("err")).unwrap());
    Output {
        status: end(Program::spawn(command)),
        stdout: fs::read(path("out")).unwrap(),
        stderr: fs::read(path("err")).unwrap(),
    }
}

/// Runs a command that must succeed, and returns its output.
#[track_caller]
pub fn succeeds(command: &mut Command) -> Vec<u8> {
    let described = format!("{command:?}");
    let output = run(command);
    assert_succeeded(&described, &output);
    output.stdout
}

/// Runs a command that must succeed and leave a process running.
#[track_caller]
pub fn goes_into_the_background(command: &mut Command) {
    let described = format!("{command:?}");
    let output = run_to_end(command, &[], |program| {
        program.goes_into_the_background_within(LIMIT)
    });
    assert_succeeded(&described, &output);
}

#[track_caller]
fn assert_succeeded(described: &str, output: &Output) {
    assert!(
        output.status.success(),
        "{described}: {}: {}{}",
        output.status,
        lossy(&output.stderr),
        lossy(&output.stdout)
    );
}

/// Checks that two streams are equal, without printing them.
#[track_caller]
pub fn assert_same(found: &[u8], expected: &[u8], what: &str) {
    if found != expected {
        let at = found.iter().zip(expected).take_while(|(a, b)| a == b);
        panic!(
            "{what}: {} bytes in place of {}, the first other one at {}",
            found.len(),
            expected.len(),
            at.count()
        );
    }
}

/// Writes a file of pseudo-random bytes.
pub fn noise_file(path: &Path, bytes: usize) -> Vec<u8> {
    let data = oarlock_testing::noise(bytes);
    File::create(path).unwrap().write_all(&data).unwrap();
    data
}

/// Returns a loopback port that is free for TCP and UDP, and that no other test gets.
pub fn free_port() -> u16 {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    loop {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let is_free = UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
        if is_free && GIVEN.lock().unwrap().insert(port) {
            return port;
        }
    }
}

/// Waits until `program` accepts connections.
pub fn until_listening(program: &Program, port: u16) {
    until("it listens", || {
        assert!(program.is_running(), "{} has ended", program.name);
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
    });
}

/// Returns the number of a process's threads; 0 if it has ended.
pub fn threads(pid: u32) -> usize {
    entries(&format!("/proc/{pid}/task"))
}

/// Whether RSA is offered on this machine.
pub fn has_lanes() -> bool {
    let accelerator = Accelerator::builder().environment().build().unwrap();
    if accelerator.lanes().is_none() {
        oarlock_testing::skip("RSA in the provider: this CPU has no lanes");
        return false;
    }
    true
}

/// Returns the number of a process's open descriptors.
pub fn descriptors(pid: u32) -> usize {
    entries(&format!("/proc/{pid}/fd"))
}

/// Returns a process's resident memory in KiB.
pub fn resident_kib(pid: u32) -> usize {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.unwrap().split_whitespace().next().unwrap();
    number.parse().unwrap()
}

/// Whether a process has mapped the library.
pub fn has_loaded(pid: u32, module: &Path) -> bool {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    maps.contains(&*module.to_string_lossy())
}

fn entries(path: &str) -> usize {
    fs::read_dir(path).map_or(0, Iterator::count)
}

/// A mask that hides the features that make AES so fast that threads gain nothing.
pub const NO_AES: &str = "-aes,-vaes,-gfni";
const LIBRARY: &str = "liboarlock_provider.so";
