//! Handshakes of TLS that clients cut, as an attack on a server whose jobs are paused for its private key.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::{names, until};

/// A server that is attacked.
pub struct Attacked<'a> {
    /// Where it listens.
    pub port: u16,
    /// Its certificate, which is its own authority.
    pub certificate: &'a Path,
    /// The process that serves.
    pub process: u32,
    /// Has clients served, all of which must succeed.
    pub serves: &'a dyn Fn(),
    /// Whether jobs are paused again, and so computed together or answered at the same time.
    pub pauses: &'a dyn Fn() -> bool,
}

/// Figures of a process.
#[derive(Clone, Copy, Debug)]
struct Figures {
    descriptors: usize,
    threads: usize,
    resident_kib: usize,
}

impl Attacked<'_> {
    /// Cuts handshakes, and finds the server as it was before: it serves, and has the same descriptors, threads and, but for
    /// the bounded number of stacks that OpenSSL keeps, memory. Ten seconds after the last it pauses jobs again.
    ///
    /// Handshakes are cut before a job is paused (a connection without a message), during the pause (after the first message,
    /// at once and a moment later) and after it (when the server has answered), by RST and by FIN; with a key that signs
    /// (TLS 1.3, and 1.2 with ECDHE) and with one that decrypts (TLS 1.2 with RSA).
    ///
    /// `OARLOCK_TEST_CUTS=100000` cuts as many more, and prints the figures after each tenth.
    ///
    /// # Panics
    /// The server was harmed.
    pub fn outlives_cut_handshakes(&self) {
        (self.serves)();
        let before = self.figures();
        let began = Instant::now();
        // The first attacks use up what may be lost.
        let mut grown = Vec::new();
        let mut resident = before.resident_kib;
        loop {
            self.is_attacked(CUTS);
            let now = self.figures().resident_kib;
            grown.push(now.saturating_sub(resident));
            resident = now;
            if grown.last().is_some_and(|kib| *kib < SETTLED_KIB) {
                break;
            }
            assert!(grown.len() < ATTACKS_MAX, "{grown:?} KiB");
        }
        let cuts = std::env::var("OARLOCK_TEST_CUTS").ok();
        let cuts = cuts.map_or(0, |cuts| cuts.parse().unwrap());
        if cuts > 0 {
            println!("before: {before:?}, then {grown:?} KiB more");
        }
        for part in 1..=10 {
            let until_now = cuts * part / 10;
            let cuts = until_now - cuts * (part - 1) / 10;
            if cuts > 0 {
                self.is_attacked(cuts);
                println!("{until_now} cut handshakes: {:?}", self.figures());
            }
        }
        let (last, took) = (Instant::now(), began.elapsed());
        until("descriptors are closed", || {
            self.figures().descriptors <= before.descriptors + 2
        });
        while !(self.pauses)() {
            assert!(last.elapsed() < PAUSES_WITHIN, "no job is paused any more");
        }
        let pauses_after = last.elapsed();
        (self.serves)();
        let after = self.figures();
        // Figures of the long form are for people.
        println!(
            "{before:?}, {cuts} cut handshakes each time, {grown:?} KiB, {after:?}, pauses after {pauses_after:?}"
        );
        assert!(after.threads <= before.threads + 2, "{before:?} {after:?}");
        let growth = after.resident_kib.saturating_sub(before.resident_kib);
        // One more is lost every two seconds.
        let bound = GROWN_KIB + STACK_KIB * took.as_secs() as usize / 2;
        assert!(growth < bound, "{growth} KiB: {before:?} {after:?}");
    }

    /// With honest clients among the others.
    fn is_attacked(&self, cuts: usize) {
        let mut attack = self.attack(cuts);
        loop {
            (self.serves)();
            if let Some(status) = attack.try_wait().unwrap() {
                assert!(status.success());
                break;
            }
        }
    }

    fn attack(&self, cuts: usize) -> Child {
        let mut python = Command::new("python3");
        python
            .env_remove("OPENSSL_CONF")
            .args(["-c", CUTS_HANDSHAKES]);
        python.arg(self.certificate);
        python.args([self.port.to_string(), cuts.to_string()]);
        python.stdin(Stdio::null()).spawn().unwrap()
    }

    fn figures(&self) -> Figures {
        let folder = format!("/proc/{}", self.process);
        let entries = |what: &str| names(Path::new(&format!("{folder}/{what}"))).len();
        let status = std::fs::read_to_string(format!("{folder}/status")).unwrap();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let resident = resident.and_then(|line| line.split_whitespace().next());
        Figures {
            descriptors: entries("fd"),
            threads: entries("task"),
            resident_kib: resident.unwrap().parse().unwrap(),
        }
    }
}

/// Handshakes of an attack in the form of every day.
const CUTS: usize = 3000;
const ATTACKS_MAX: usize = 8;
/// An attack after which the server has grown by less adds nothing.
const SETTLED_KIB: usize = 2 << 10;
/// The stacks that may be lost at once, and as much again for what hangs on them and for the heap's own.
const GROWN_KIB: usize = 256 * 2 * STACK_KIB + (8 << 10);
/// The memory of a suspended OpenSSL job: its stack, with what hangs on it.
const STACK_KIB: usize = 40;
const PAUSES_WITHIN: Duration = Duration::from_secs(10);

/// Certificate, port, how many.
const CUTS_HANDSHAKES: &str = r#"
import random, socket, ssl, struct, sys, time
certificate, port, left = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
random.seed(left)
def context(version, ciphers=None):
    made = ssl.create_default_context(cafile=certificate)
    made.minimum_version = made.maximum_version = version
    if ciphers: made.set_ciphers(ciphers)
    return made
new, old = ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_2
signing = [context(new), context(old, "ECDHE+AESGCM")]
decrypting = context(old, "AES128-GCM-SHA256")
class Client:
    def __init__(self, context):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.settimeout(10)
        self.incoming, self.out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.out, server_hostname="localhost")
    def step(self):
        try: self.tls.do_handshake()
        except ssl.SSLWantReadError: pass
        return self.out.read()
hellos = [Client(one).step() for one in signing]
def connected(send=b""):
    made = socket.create_connection(("127.0.0.1", port))
    if send: made.sendall(send)
    return made
def answered(made):
    made.settimeout(10)
    made.recv(65536)
    return made
def decrypts():
    client = Client(decrypting)
    client.socket.sendall(client.step())
    while True:
        got = client.socket.recv(65536)
        if not got: return client.socket
        client.incoming.write(got)
        if sent := client.step():
            client.socket.sendall(sent)
            return client.socket
def cut(sockets):
    for made in sockets:
        if random.random() < 0.5:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        made.close()
while left > 0:
    count, kind = min(left, 48), random.randrange(12)
    try:
        if kind == 0: sockets = [connected() for _ in range(count)]
        elif kind == 1: sockets = [decrypts() for _ in range(count)]
        else: sockets = [connected(random.choice(hellos)) for _ in range(count)]
        if kind == 2: sockets = [answered(one) for one in sockets]
        elif kind > 5: time.sleep(random.choice([0.0005, 0.002, 0.01]))
        cut(sockets)
    except OSError:
        pass # it has no room
    left -= count
"#;
