//! `openssl` itself with the provider at either end and at both: TLS with every suite of ours, files and messages. The
//! plaintext is the same at both ends.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use oarlock::Algorithm;
use oarlock_engine::costs::Usage;
use oarlock_testing::{LIMIT, seeded_noise as noise, until};
use tempfile::{NamedTempFile, TempDir};

use crate::driver::configuration;
use crate::host::free_port;

#[test]
fn every_suite_of_tls_1_3() {
    let site = Site::new();
    for (suite, operation) in [
        ("TLS_AES_128_GCM_SHA256", Some(Algorithm::Aes128Gcm)),
        ("TLS_AES_256_GCM_SHA384", Some(Algorithm::Aes256Gcm)),
        (
            "TLS_CHACHA20_POLY1305_SHA256",
            Some(Algorithm::ChaCha20Poly1305),
        ),
    ] {
        for ends in ENDS {
            let options = ["-tls1_3", "-ciphersuites", suite];
            site.talk(ends, operation, &options, Bulk::MEBIBYTES);
        }
    }
}

#[test]
fn every_suite_of_tls_1_2() {
    let site = Site::new();
    for (suite, operation) in [
        ("ECDHE-RSA-AES128-GCM-SHA256", Some(Algorithm::Aes128Gcm)),
        ("ECDHE-RSA-AES256-GCM-SHA384", Some(Algorithm::Aes256Gcm)),
        (
            "ECDHE-RSA-CHACHA20-POLY1305",
            Some(Algorithm::ChaCha20Poly1305),
        ),
    ] {
        for ends in ENDS {
            site.talk(
                ends,
                operation,
                &["-tls1_2", "-cipher", suite],
                Bulk::MEBIBYTES,
            );
        }
    }
}

/// With the MAC over the ciphertext, and over the plaintext (`-no_etm`), which only the cipher can find after the padding.
/// The latter is ours with SHA-384; for SHA-1 and SHA-256 libssl uses the default provider's AES-CBC-HMAC, a combined cipher
/// and MAC.
#[test]
fn every_suite_with_cbc() {
    let site = Site::new();
    for (suite, operation) in [
        ("ECDHE-RSA-AES128-SHA", Some(Algorithm::Aes128Cbc)),
        ("ECDHE-RSA-AES256-SHA", Some(Algorithm::Aes256Cbc)),
        ("ECDHE-RSA-AES128-SHA256", Some(Algorithm::Aes128Cbc)),
        ("ECDHE-RSA-AES256-SHA384", Some(Algorithm::Aes256Cbc)),
        ("AES128-SHA256", Some(Algorithm::Aes128Cbc)),
        ("AES256-SHA256", Some(Algorithm::Aes256Cbc)),
    ] {
        for ends in ENDS {
            let options = ["-tls1_2", "-cipher", suite];
            site.talk(ends, operation, &options, Bulk::MEBIBYTES);
            let options = ["-tls1_2", "-cipher", suite, "-no_etm"];
            let operation = operation.filter(|_| suite.ends_with("SHA384"));
            site.talk(ends, operation, &options, Bulk::MEBIBYTES);
        }
    }
}

#[test]
fn tls_1_0_and_1_1() {
    let site = Site::new();
    for version in ["-tls1", "-tls1_1"] {
        for (suite, operation) in [
            (
                "ECDHE-RSA-AES128-SHA:@SECLEVEL=0",
                Some(Algorithm::Aes128Cbc),
            ),
            (
                "ECDHE-RSA-AES256-SHA:@SECLEVEL=0",
                Some(Algorithm::Aes256Cbc),
            ),
        ] {
            for ends in ENDS {
                let options = [version, "-cipher", suite];
                site.talk(ends, operation, &options, Bulk::MEBIBYTES);
                let options = [version, "-cipher", suite, "-no_etm"];
                site.talk(ends, None, &options, Bulk::MEBIBYTES);
            }
        }
    }
}

#[test]
fn dtls_1_2() {
    let site = Site::new();
    for (suite, operation) in [
        ("ECDHE-RSA-AES128-GCM-SHA256", Some(Algorithm::Aes128Gcm)),
        ("ECDHE-RSA-AES256-GCM-SHA384", Some(Algorithm::Aes256Gcm)),
        (
            "ECDHE-RSA-CHACHA20-POLY1305",
            Some(Algorithm::ChaCha20Poly1305),
        ),
        ("ECDHE-RSA-AES128-SHA256", Some(Algorithm::Aes128Cbc)),
        ("ECDHE-RSA-AES256-SHA384", Some(Algorithm::Aes256Cbc)),
    ] {
        for ends in ENDS {
            let options = ["-dtls1_2", "-cipher", suite];
            site.talk(ends, operation, &options, Bulk::DATAGRAMS);
            let options = ["-dtls1_2", "-cipher", suite, "-no_etm"];
            let operation = operation.filter(|_| !suite.ends_with("AES128-SHA256"));
            site.talk(ends, operation, &options, Bulk::DATAGRAMS);
        }
    }
}

/// One bit of a record is flipped on the way to the client: the client reports it and ends, and the server receives the
/// alert.
#[test]
fn broken_records_are_refused() {
    let site = Site::new();
    for options in [
        ["-tls1_3", "-ciphersuites", "TLS_AES_128_GCM_SHA256"],
        ["-tls1_3", "-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256"],
        ["-tls1_2", "-cipher", "ECDHE-RSA-AES256-GCM-SHA384"],
        ["-tls1_2", "-cipher", "ECDHE-RSA-CHACHA20-POLY1305"],
        ["-tls1_2", "-cipher", "ECDHE-RSA-AES128-SHA"],
        ["-tls1_2", "-cipher", "AES256-SHA256"],
    ] {
        for with_etm in [&[][..], &["-no_etm"]] {
            let options = [&options[..], with_etm].concat();
            let what = options.join(" ");
            let mut server = site.server(&site.ours, &options);
            let relay = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = relay.local_addr().unwrap().port();
            let upstream = server.port;
            thread::spawn(move || turn_a_bit_over(&relay, upstream));
            let mut client = site.client(&site.ours, port, &options);
            server.feed(noise(9, 1 << 20));
            assert!(client.ends(), "{what}: the client goes on");
            let said = client.said();
            assert!(said.contains("bad record mac"), "{what}: {said}");
            assert!(server.ends(), "{what}: the server goes on");
            let said = server.said();
            assert!(said.contains("alert bad record mac"), "{what}: {said}");
        }
    }
}

/// Files that one side writes and the other opens.
#[test]
fn files_and_messages() {
    let site = Site::new();
    let plain = site.path("plain");
    fs::write(&plain, noise(10, 3_000_001)).unwrap();
    let plain = plain.to_str().unwrap();
    let (key, iv) = ("-K", "-iv");
    let k = |bits: usize| "0123456789abcdef".repeat(bits / 64);
    let i = "fedcba98765432100123456789abcdef";
    for cipher in ["ctr", "cbc"] {
        for bits in [128, 192, 256] {
            let name = format!("-aes-{bits}-{cipher}");
            site.agree(plain, &["enc", &name, key, &k(bits), iv, i]);
            site.agree(plain, &["enc", &name, "-pass", "pass:word", "-pbkdf2"]);
        }
    }
    site.agree(plain, &["enc", "-chacha20", key, &k(256), iv, i]);
    let certificate = site.certificate.to_str().unwrap();
    let private = site.key.to_str().unwrap();
    for cipher in [
        "-aes-128-gcm",
        "-aes-256-gcm",
        "-aes-128-cbc",
        "-aes-256-cbc",
    ] {
        for (from, to) in [(&site.ours, &site.stock), (&site.stock, &site.ours)] {
            let made = site.path("message");
            let made = made.to_str().unwrap();
            let encrypt = ["cms", "-encrypt", "-binary", cipher, "-outform", "DER"];
            from.run(&[&encrypt[..], &["-in", plain, "-out", made, certificate]].concat());
            let decrypt = ["cms", "-decrypt", "-binary", "-inform", "DER", "-in", made];
            let opened =
                to.run(&[&decrypt[..], &["-recip", certificate, "-inkey", private]].concat());
            assert!(opened.stdout == fs::read(plain).unwrap(), "{cipher}");
        }
    }
    for (from, to) in [(&site.ours, &site.stock), (&site.stock, &site.ours)] {
        let store = site.path("store.p12");
        let store = store.to_str().unwrap();
        let export = ["pkcs12", "-export", "-inkey", private, "-in", certificate];
        from.run(&[&export[..], &["-out", store, "-passout", "pass:word"]].concat());
        let import = ["pkcs12", "-in", store, "-nodes", "-passin", "pass:word"];
        let opened = String::from_utf8(to.run(&import).stdout).unwrap();
        assert!(opened.contains("BEGIN PRIVATE KEY"), "{opened}");
    }
    for cipher in [
        "aes-128-ctr",
        "aes-256-gcm",
        "aes-192-cbc",
        "chacha20",
        "chacha20-poly1305",
    ] {
        for direction in [&[][..], &["-decrypt"]] {
            let speed = [
                "speed", "-elapsed", "-mr", "-seconds", "1", "-bytes", "16384",
            ];
            let output = site
                .ours
                .run(&[&speed[..], direction, &["-evp", cipher]].concat());
            let told = String::from_utf8(output.stdout).unwrap();
            assert!(told.contains("+F:"), "{cipher}: {told}");
        }
    }
    let counted = site.ours.usage.as_ref().unwrap().read();
    for operation in [
        Algorithm::Aes192Ctr,
        Algorithm::Aes192Cbc,
        Algorithm::Aes256Gcm,
    ] {
        let bytes = counted
            .lines
            .iter()
            .filter(|line| line.algorithm == operation);
        assert!(
            bytes.map(|line| line.bytes).sum::<u64>() > 1 << 20,
            "{operation}"
        );
    }
}

/// Whether the server and the client use the provider.
const ENDS: [(bool, bool); 3] = [(true, false), (false, true), (true, true)];

/// The amount of data that goes both ways.
#[derive(Clone, Copy)]
struct Bulk {
    bytes: usize,
    /// The bytes sent at once, and the pause after them: datagrams that follow too fast are lost.
    piece_bytes: usize,
    pause: Duration,
}

impl Bulk {
    const MEBIBYTES: Self = Self {
        bytes: (3 << 20) + 77,
        piece_bytes: 1 << 20,
        pause: Duration::ZERO,
    };
    const DATAGRAMS: Self = Self {
        bytes: 60_000,
        piece_bytes: 1000,
        pause: Duration::from_millis(2),
    };
}

/// A certificate, and the two configurations.
struct Site {
    folder: TempDir,
    certificate: PathBuf,
    key: PathBuf,
    ours: Configured,
    stock: Configured,
}

/// `openssl` with a configuration.
struct Configured {
    file: PathBuf,
    usage: Option<Usage>,
}

impl Site {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name| folder.path().join(name);
        let counters = path("usage");
        let usage = Usage::create(&counters).unwrap();
        let stats = format!("activate = 1\nstats = {}\n[algorithms]", counters.display());
        let text = configuration("").replace("activate = 1\n[algorithms]", &stats);
        fs::write(path("ours.cnf"), text).unwrap();
        fs::write(path("stock.cnf"), "").unwrap();
        let (certificate, key) = (path("certificate"), path("key"));
        let stock = Configured {
            file: path("stock.cnf"),
            usage: None,
        };
        let ours = Configured {
            file: path("ours.cnf"),
            usage: Some(usage),
        };
        let places = [
            "-keyout",
            key.to_str().unwrap(),
            "-out",
            certificate.to_str().unwrap(),
        ];
        let request = [
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-subj",
            "/CN=oarlock",
        ];
        stock.run(&[&request[..], &["-config", "/dev/null"], &places].concat());
        Self {
            folder,
            certificate,
            key,
            ours,
            stock,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Sends bulk data both ways, through `operation` of ours unless it is `None`.
    fn talk(&self, ends: (bool, bool), operation: Option<Algorithm>, options: &[&str], bulk: Bulk) {
        let what = format!("{} {ends:?}", options.join(" "));
        let [server, client] = [ends.0, ends.1].map(|is_ours| match is_ours {
            true => &self.ours,
            false => &self.stock,
        });
        let before = operation.map_or(0, |operation| self.ours.bytes(operation));
        let mut server = self.server(server, options);
        let mut client = self.client(client, server.port, options);
        let (down, up) = (noise(7, bulk.bytes), noise(8, bulk.bytes));
        let (got_down, got_up);
        if bulk.pause.is_zero() {
            // One direction after the other: both programs write everything before they read again.
            client.feed(up.clone());
            got_up = server.read(bulk.bytes);
            server.feed(down.clone());
            got_down = client.read(bulk.bytes);
        } else {
            // A DTLS server must hear the client before it can answer.
            client.feed_slowly(up.clone(), bulk);
            server.feed_slowly(down.clone(), bulk);
            // Both directions at once: an end whose output is not read stops sending as well.
            (got_down, got_up) = thread::scope(|scope| {
                let got_down = scope.spawn(|| client.read(bulk.bytes));
                let got_up = server.read(bulk.bytes);
                (got_down.join().unwrap(), got_up)
            });
        }
        assert!(got_down == down, "{what}: down, {}", client.stop());
        assert!(got_up == up, "{what}: up, {}", server.stop());
        // Each accelerated end has encrypted one direction and decrypted the other.
        let ours = u64::from(ends.0) + u64::from(ends.1);
        if let Some(operation) = operation {
            let through = self.ours.bytes(operation) - before;
            let expected = ours * 2 * bulk.bytes as u64;
            assert!(through >= expected, "{what}: {through} bytes of {expected}");
        }
    }

    fn server(&self, configured: &Configured, options: &[&str]) -> Program {
        let is_datagrams = options.iter().any(|option| option.starts_with("-dtls"));
        let port = free_port();
        let mut command = configured.command();
        command.args(["s_server", "-quiet", "-brief", "-naccept", "1", "-cert"]);
        command.arg(&self.certificate).arg("-key").arg(&self.key);
        command.args(["-accept", &format!("127.0.0.1:{port}")]);
        let program = Program::start(command.args(options), port);
        let limit = Instant::now() + LIMIT;
        while !program.is_listening(is_datagrams) {
            assert!(Instant::now() < limit, "no server");
            thread::sleep(Duration::from_millis(2));
        }
        program
    }

    fn client(&self, configured: &Configured, port: u16, options: &[&str]) -> Program {
        let mut command = configured.command();
        command.args([
            "s_client",
            "-quiet",
            "-brief",
            "-connect",
            &format!("127.0.0.1:{port}"),
        ]);
        Program::start(command.args(options), port)
    }

    /// Checks that each side reverses what the other does to `plain`.
    fn agree(&self, plain: &str, arguments: &[&str]) {
        for (from, to) in [(&self.ours, &self.stock), (&self.stock, &self.ours)] {
            let made = self.path("made");
            let made = made.to_str().unwrap();
            from.run(&[arguments, &["-in", plain, "-out", made]].concat());
            let opened = to.run(&[arguments, &["-d", "-in", made]].concat());
            assert!(opened.stdout == fs::read(plain).unwrap(), "{arguments:?}");
        }
    }
}

impl Configured {
    fn command(&self) -> Command {
        let mut command = Command::new("openssl");
        command.env("OPENSSL_CONF", &self.file);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let output = self.command().args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "openssl {}: {said}",
            arguments.join(" ")
        );
        output
    }

    /// Returns the bytes that went through an operation.
    fn bytes(&self, operation: Algorithm) -> u64 {
        let counted = self.usage.as_ref().unwrap().read();
        let lines = counted
            .lines
            .iter()
            .filter(|line| line.algorithm == operation);
        lines.map(|line| line.bytes).sum()
    }
}

/// A program that ends with the test.
struct Program {
    child: Child,
    /// Its standard error.
    said: NamedTempFile,
    port: u16,
}

impl Program {
    /// Whether it listens on its port, without connecting: a server would take that for its client.
    fn is_listening(&self, is_datagrams: bool) -> bool {
        let (table, state) = match is_datagrams {
            true => ("/proc/net/udp", "07"),
            false => ("/proc/net/tcp", "0A"),
        };
        let port = format!(":{:04X}", self.port);
        // A program of another test may have been given the same port.
        let is_its_own = |inode: &str| {
            let files = fs::read_dir(format!("/proc/{}/fd", self.child.id()));
            let mut links = files.into_iter().flatten().flatten();
            let socket = PathBuf::from(format!("socket:[{inode}]"));
            links.any(|file| fs::read_link(file.path()).is_ok_and(|link| link == socket))
        };
        let sockets = fs::read_to_string(table).unwrap();
        sockets.lines().any(|line| {
            let fields: Vec<_> = line.split_whitespace().collect();
            fields[1].ends_with(&port) && fields[3] == state && is_its_own(fields[9])
        })
    }

    fn start(command: &mut Command, port: u16) -> Self {
        let said = NamedTempFile::new().unwrap();
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let child = command.stderr(said.reopen().unwrap()).spawn().unwrap();
        Self { child, said, port }
    }

    fn feed(&mut self, data: Vec<u8>) {
        let mut stdin = self.open_stdin();
        thread::spawn(move || stdin.write_all(&data));
    }

    fn feed_slowly(&mut self, data: Vec<u8>, bulk: Bulk) {
        // Part of the input before the end of the handshake is lost. With `-brief` the program reports that end.
        until("the end of the handshake", || {
            self.said().contains("Protocol version: ")
        });
        let mut stdin = self.open_stdin();
        thread::spawn(move || {
            for piece in data.chunks(bulk.piece_bytes) {
                let _ = stdin.write_all(piece);
                thread::sleep(bulk.pause);
            }
        });
    }

    /// Returns a handle that does not close the input when dropped, because `openssl` ends with its input.
    fn open_stdin(&self) -> File {
        let stdin = self.child.stdin.as_ref().unwrap().as_fd();
        File::from(stdin.try_clone_to_owned().unwrap())
    }

    /// Reads `bytes` bytes, or fewer if the program ends; after [`LIMIT`] the program is killed.
    fn read(&mut self, bytes: usize) -> Vec<u8> {
        let stdout = self.child.stdout.as_ref().unwrap();
        let stdout = File::from(stdout.as_fd().try_clone_to_owned().unwrap());
        let (done, is_done) = mpsc::channel();
        thread::spawn(move || {
            let mut data = Vec::new();
            let _ = stdout.take(bytes as u64).read_to_end(&mut data);
            let _ = done.send(data);
        });
        is_done.recv_timeout(LIMIT).unwrap_or_else(|_| {
            let _ = self.child.kill();
            is_done.recv().unwrap()
        })
    }

    /// Whether the program ends by itself, without a signal.
    fn ends(&mut self) -> bool {
        let mut stdout = self.child.stdout.take().unwrap();
        thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
        let limit = Instant::now() + LIMIT;
        while Instant::now() < limit {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().is_some();
            }
            thread::sleep(Duration::from_millis(5));
        }
        false
    }

    fn said(&self) -> String {
        fs::read_to_string(self.said.path()).unwrap()
    }

    fn stop(&mut self) -> String {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.said()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Relays records between a client and a server, and flips a bit in the first long one that the server sends.
fn turn_a_bit_over(relay: &TcpListener, upstream: u16) {
    let (client, _) = relay.accept().unwrap();
    let server = TcpStream::connect(("127.0.0.1", upstream)).unwrap();
    let (mut from_client, mut to_client) = (client.try_clone().unwrap(), client);
    let (mut from_server, mut to_server) = (server.try_clone().unwrap(), server);
    thread::spawn(move || std::io::copy(&mut from_client, &mut to_server));
    let mut is_done = false;
    let mut head = [0; 5];
    while from_server.read_exact(&mut head).is_ok() {
        let bytes = u16::from_be_bytes([head[3], head[4]]).into();
        let mut body = vec![0; bytes];
        if from_server.read_exact(&mut body).is_err() {
            return;
        }
        let is_data = head[0] == 23;
        if is_data && bytes > 4000 && !is_done {
            body[bytes / 2] ^= 1;
            is_done = true;
        }
        if to_client.write_all(&[&head[..], &body].concat()).is_err() {
            return;
        }
    }
}
