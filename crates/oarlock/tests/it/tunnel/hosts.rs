//! Two hosts on one wire: network namespaces, which end with the process that created them, as do all processes in them.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use oarlock_testing::process::{alone, example, is_child};
use oarlock_testing::{is_root, lossy, seeded_noise, skip, until};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// A host: `A` is the one this process runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    A,
    B,
}

/// Runs the running test again on two hosts; returns false in that child, which has the hosts.
pub fn on_two_hosts() -> bool {
    if !is_child() {
        let is_possible = is_root("a tunnel between two network namespaces") && can_be_made();
        if !is_possible {
            return true;
        }
    }
    let words = "unshare --kill-child --fork --pid --mount-proc --mount --net";
    if alone(&words.split(' ').collect::<Vec<_>>()) {
        return true;
    }
    make_hosts();
    false
}

/// Creates the other host, in namespaces that nothing else uses.
pub fn make_hosts() {
    // `ip netns` keeps names here.
    says("mount -t tmpfs tmpfs /run");
    fs::create_dir("/run/netns").unwrap();
    for words in [
        "ip link set lo up",
        "ip netns add b",
        "ip link add name wire type veth peer name wire netns b",
        "ip address add 10.77.0.1/24 dev wire",
        "ip link set wire up",
        "ip -n b link set lo up",
        "ip -n b address add 10.77.0.2/24 dev wire",
        "ip -n b link set wire up",
    ] {
        says(words);
    }
}

/// Whether this machine has everything for two hosts and a tunnel; if not, the test is skipped.
fn can_be_made() -> bool {
    let lacks = if !Path::new("/dev/net/tun").exists() {
        "the kernel has no TUN devices (/dev/net/tun)".to_owned()
    } else {
        let words =
            "unshare --net --mount --pid --fork ip link add name wire type veth peer name other";
        let mut words = words.split(' ');
        let mut command = Command::new(words.next().unwrap());
        let output = command.args(words).output().unwrap();
        if output.status.success() {
            return true;
        }
        format!(
            "no namespaces with a wire between them: {}",
            lossy(&output.stderr).trim()
        )
    };
    skip(&lacks);
    false
}

/// Fails unless `address` answers three pings, each sent with the options `words`. Each is a ping of its own: in a series,
/// ping waits for the last answer at most twice the first round-trip time (ping(8), -W), and on a busy machine that answer
/// is sometimes later.
pub fn answers(words: &str, address: &str) {
    for _ in 0..3 {
        let said = says(&format!("ping -c 1 -W 30 {words} {address}"));
        assert!(said.contains("1 received"), "{said}");
    }
}

/// Runs a command, given as words, which must succeed. Returns its output.
#[track_caller]
pub fn says(words: &str) -> String {
    says_at(Host::A, words)
}

#[track_caller]
pub fn says_at(host: Host, words: &str) -> String {
    let mut words = words.split_whitespace();
    let mut command = at(host, words.next().unwrap());
    let output = command.args(words).output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}{}",
        lossy(&output.stdout),
        lossy(&output.stderr)
    );
    lossy(&output.stdout)
}

/// Returns a command that runs on a host.
pub fn at(host: Host, program: impl AsRef<std::ffi::OsStr>) -> Command {
    if host == Host::A {
        return Command::new(program);
    }
    let mut command = Command::new("nsenter");
    command.arg("--net=/run/netns/b").arg(program);
    command
}

/// Runs `act` on a host; the sockets it creates stay there.
pub fn on<T: Send>(host: Host, act: impl FnOnce() -> T + Send) -> T {
    let run = || {
        if host == Host::B {
            let namespace = File::open("/run/netns/b").unwrap();
            let network = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(namespace.as_fd(), network).unwrap();
        }
        act()
    };
    thread::scope(|scope| scope.spawn(run).join().unwrap())
}

/// A program on a host, which ends with the test.
pub struct Program {
    child: Child,
    /// The lines of both its outputs.
    said: Arc<Mutex<Vec<String>>>,
}

impl Program {
    pub fn start(command: &mut Command) -> Self {
        let command = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let said = Arc::default();
        collect(child.stdout.take().unwrap(), &said);
        collect(child.stderr.take().unwrap(), &said);
        Self { child, said }
    }

    pub fn input(&mut self) -> &mut ChildStdin {
        self.child.stdin.as_mut().unwrap()
    }

    /// Returns the lines so far.
    pub fn said(&self) -> String {
        self.said.lock().unwrap().join("\n")
    }

    /// Waits until a line contains `part`; fails the test if the program ends first.
    #[track_caller]
    pub fn until_said(&mut self, part: &str) {
        until(part, || {
            let has_ended = self.child.try_wait().unwrap().is_some();
            // The reading threads lag behind; once they have ended, all lines are collected.
            let is_complete = has_ended && Arc::strong_count(&self.said) == 1;
            let said = self.said();
            let has_said = said.contains(part);
            assert!(has_said || !is_complete, "{said}");
            has_said
        });
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    pub fn ends_by(&mut self, signal: Signal) -> ExitStatus {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        self.child.wait().unwrap()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn collect(from: impl Read + Send + 'static, into: &Arc<Mutex<Vec<String>>>) {
    let into = Arc::clone(into);
    thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            into.lock().unwrap().push(line);
        }
    });
}

/// One end of the tunnel under test.
pub struct End(Program);

impl End {
    /// Starts an end, and waits until it forwards.
    #[track_caller]
    pub fn start(host: Host, keys: &Path, words: &str) -> Self {
        let mut end = Self::try_start(host, keys, words);
        end.until_said("ready: ");
        assert!(!keys.exists(), "keys serve once");
        Self(end)
    }

    pub fn try_start(host: Host, keys: &Path, words: &str) -> Program {
        let mut command = at(host, tunnel().get_program());
        command
            .args(["run", "--device", "inner"])
            .args(words.split_whitespace());
        Program::start(command.arg("--keys").arg(keys))
    }

    pub fn tell(&mut self, line: &str) {
        writeln!(self.0.input(), "{line}").unwrap();
    }

    #[track_caller]
    pub fn until_said(&mut self, part: &str) {
        self.0.until_said(part);
    }

    pub fn said(&self) -> String {
        self.0.said()
    }

    /// Waits until the end exits with an error.
    #[track_caller]
    pub fn fails(mut self) {
        until("it ends", || !self.0.is_running());
        assert_eq!(self.0.child.wait().unwrap().code(), Some(1));
    }

    /// Returns how many datagrams were dropped as `what`, from the latest line of rates.
    pub fn dropped(&self, what: &str) -> u64 {
        let said = self.said();
        let line = said.lines().rev().find(|line| line.contains("dropped"));
        line.map_or(0, |line| number_before(line, what))
    }

    /// Interrupts the end, as Ctrl-C does, and returns its line of totals.
    #[track_caller]
    pub fn interrupt(mut self) -> Totals {
        let status = self.0.ends_by(Signal::INT);
        assert!(status.success(), "{status}: {}", self.said());
        self.until_said("total: ");
        let said = self.said();
        Totals(
            said.lines()
                .find(|line| line.contains("total: "))
                .unwrap()
                .to_owned(),
        )
    }
}

/// The totals of an end.
#[derive(Debug)]
pub struct Totals(String);

impl Totals {
    pub fn of(&self, what: &str) -> u64 {
        number_before(&self.0, what)
    }

    /// Returns the datagrams that were refused, without lost ones.
    pub fn refused(&self) -> u64 {
        ["replayed", "forged", "foreign", "invalid"]
            .map(|what| self.of(what))
            .iter()
            .sum()
    }
}

#[track_caller]
fn number_before(line: &str, what: &str) -> u64 {
    let (before, _) = line
        .split_once(&format!(" {what}"))
        .unwrap_or_else(|| panic!("{line}"));
    before.rsplit(' ').next().unwrap().parse().unwrap()
}

pub fn tunnel() -> Command {
    example("tunnel")
}

/// Creates key files for two ends in a folder.
pub fn new_keys(folder: &Path, suite: &str) -> [std::path::PathBuf; 2] {
    let paths = ["a.keys", "b.keys"].map(|name| folder.join(name));
    let output = tunnel()
        .arg("keys")
        .args(&paths)
        .args(["--suite", suite])
        .output()
        .unwrap();
    succeeded(&output);
    paths
}

/// Whether a command succeeds; its output is discarded.
pub fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

#[track_caller]
pub fn succeeded(output: &Output) {
    assert!(
        output.status.success(),
        "{}{}",
        lossy(&output.stdout),
        lossy(&output.stderr)
    );
}

/// Sends blocks from one host to the other while `goes_on` returns true for the number of blocks sent, and compares them on
/// arrival.
pub fn transfer(from: Host, address: IpAddr, goes_on: impl Fn(usize) -> bool + Sync) -> usize {
    let to = if from == Host::A { Host::B } else { Host::A };
    let listener = on(to, || {
        TcpListener::bind(SocketAddr::new(address, 0)).unwrap()
    });
    let place = listener.local_addr().unwrap();
    thread::scope(|scope| {
        let sends = scope.spawn(|| {
            let mut stream = on(from, || TcpStream::connect(place).unwrap());
            let mut sent = 0;
            while goes_on(sent) {
                stream.write_all(&block(sent)).unwrap();
                sent += 1;
            }
            sent
        });
        let (mut stream, _) = listener.accept().unwrap();
        let mut came = vec![0; BLOCK_BYTES];
        let mut blocks = 0;
        loop {
            // A whole block, or the end of the stream.
            let mut filled = 0;
            while filled < BLOCK_BYTES {
                match stream.read(&mut came[filled..]).unwrap() {
                    0 => break,
                    more => filled += more,
                }
            }
            if filled == 0 {
                break;
            }
            assert!(
                came[..filled] == block(blocks)[..],
                "block {blocks} came otherwise"
            );
            blocks += 1;
        }
        assert_eq!(blocks, sends.join().unwrap());
        blocks
    })
}

fn block(number: usize) -> Vec<u8> {
    seeded_noise(number as u64, BLOCK_BYTES)
}

pub const BLOCK_BYTES: usize = 256 << 10;
