//! Keys of a cryptoserver in unmodified servers: `oarlock relay` between nginx, haproxy and openssl on one side and `oarlock
//! serve` on the other.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use oarlock_testing::{LIMIT, is_root, lossy, until};
use rustix::process::Signal;

use super::{Home, Served, free};
use crate::common::{assert_fails, oarlock, provider, run, signal, stderr};

/// A cryptoserver with the key of a certificate, and the reference to that key.
pub(super) struct Site {
    home: Home,
    pub(super) server: Option<Served>,
    at: SocketAddr,
    metrics: SocketAddr,
    /// Whether the key is RSA's, which also decrypts.
    is_rsa: bool,
}

impl Site {
    pub(super) fn new() -> Self {
        Self::of(Home::new())
    }

    /// Creates a site with a key of this type in place of the RSA key.
    pub(super) fn with(key_type: &str) -> Self {
        let home = Home::new();
        let key = home.path().join("keys/web.pem");
        fs::remove_file(&key).unwrap();
        succeeds(
            oarlock()
                .args(["keygen", "--type", key_type, "-o"])
                .arg(&key),
        );
        Self {
            is_rsa: key_type.starts_with("rsa"),
            ..Self::of(home)
        }
    }

    pub(super) fn of(home: Home) -> Self {
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let (at, metrics) = (free(), free());
        let mut site = Self {
            home,
            server: None,
            at,
            metrics,
            is_rsa: true,
        };
        site.serves();
        let mut request = Command::new("openssl");
        request.current_dir(site.path());
        request.args(["req", "-x509", "-key", "keys/web.pem", "-days", "2"]);
        request.args(["-subj", "/CN=localhost", "-out", "cert.pem"]);
        request.args(["-addext", "subjectAltName=DNS:localhost"]);
        succeeds(&mut request);
        site.write_reference();
        let both =
            ["cert.pem", "site-key.pem"].map(|name| fs::read(site.path().join(name)).unwrap());
        fs::write(site.path().join("both.pem"), both.concat()).unwrap();
        site
    }

    pub(super) fn path(&self) -> &Path {
        self.home.path()
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.path().join("relay.sock")
    }

    pub(super) fn address(&self) -> String {
        self.at.to_string()
    }

    fn serves(&mut self) {
        self.server = None;
        self.server = Some(self.home.serve_at("here", self.at, self.metrics));
    }

    fn write_reference(&self) {
        let mut pubkey = oarlock();
        pubkey.args(["pubkey", "--remote", &self.at.to_string(), "--key", "web"]);
        pubkey.arg("--reference").arg("--pki").arg(self.path());
        pubkey.arg("-o").arg(self.path().join("site-key.pem"));
        succeeds(&mut pubkey);
    }

    pub(super) fn relay(&self, more: &[&str]) -> Relay {
        Relay::start(self, more)
    }

    /// Returns a program with the provider, which asks the relay.
    pub(super) fn program(&self, name: &str) -> Command {
        let mut command = oarlock();
        command.env_remove("OPENSSL_CONF");
        command.arg("run").arg("--provider").arg(provider());
        command.arg(format!("--relay={}", self.socket().display()));
        command.args(["--", name]).current_dir(self.path());
        command
    }

    /// Signs a file with openssl's arguments, and verifies the signature without the provider.
    pub(super) fn signs(&self, arguments: &[&str]) {
        fs::write(self.path().join("letter"), "to whom it may concern").unwrap();
        let mut sign = self.program("openssl");
        sign.args(["dgst"]).args(arguments);
        sign.args(["-sign", "site-key.pem", "-out", "letter.sig", "letter"]);
        succeeds(&mut sign);
        let mut public = Command::new("openssl");
        public.args([
            "pkey",
            "-in",
            "keys/web.pem",
            "-pubout",
            "-out",
            "public.pem",
        ]);
        succeeds(public.current_dir(self.path()));
        let mut verify = Command::new("openssl");
        verify.arg("dgst").args(arguments).current_dir(self.path());
        verify.args([
            "-verify",
            "public.pem",
            "-signature",
            "letter.sig",
            "letter",
        ]);
        succeeds(&mut verify);
    }

    /// Returns openssl's error when it cannot sign; empty if it can.
    pub(super) fn is_refused(&self) -> String {
        fs::write(self.path().join("letter"), "to whom it may concern").unwrap();
        let mut sign = self.program("openssl");
        sign.args([
            "dgst",
            "-sha256",
            "-sign",
            "site-key.pem",
            "-out",
            "/dev/null",
            "letter",
        ]);
        let output = run(&mut sign, b"");
        if output.status.success() {
            return String::new();
        }
        stderr(&output)
    }

    /// Returns a command that makes `handshakes` handshakes, `at_once` of them at a time, and prints the number that failed.
    fn is_asked(&self, port: u16, handshakes: usize, at_once: usize, version: &str) -> Command {
        let mut clients = Command::new("python3");
        clients
            .args(["-c", CLIENTS])
            .arg(self.path().join("cert.pem"));
        clients.args([
            port.to_string(),
            handshakes.to_string(),
            at_once.to_string(),
        ]);
        clients.arg(version);
        clients
    }

    /// Checks that all handshakes succeed.
    pub(super) fn serves_clients(&self, port: u16, handshakes: usize, at_once: usize) {
        // With the last one, the key decrypts.
        let versions = ["TLSv1_3", "TLSv1_2", "TLSv1_2 AES128-GCM-SHA256"];
        let count = if self.is_rsa { 3 } else { 2 };
        for version in &versions[..count] {
            let failed = self.failures(port, handshakes, at_once, version);
            assert_eq!(failed, 0, "{version}");
        }
    }

    pub(super) fn failures(
        &self,
        port: u16,
        handshakes: usize,
        at_once: usize,
        version: &str,
    ) -> usize {
        let output = run(&mut self.is_asked(port, handshakes, at_once, version), b"");
        assert!(output.status.success(), "{}", stderr(&output));
        lossy(&output.stdout).trim().parse().unwrap()
    }

    pub(super) fn nginx(&self) -> (Program, u16) {
        let (nginx, port, _) = self.nginx_with(2);
        (nginx, port)
    }

    /// Starts nginx with `workers` workers. The key of the second port is a local one.
    fn nginx_with(&self, workers: usize) -> (Program, u16, u16) {
        let other = free().port();
        let (place, port) = (self.path().display(), free().port());
        let user = if is_root("workers of another user") {
            "user nobody nogroup;"
        } else {
            ""
        };
        let conf = format!(
            "{user} daemon off; worker_processes {workers}; pid {place}/pid; error_log {place}/nginx.log info;
             events {{}}
             http {{
                 access_log off; ssl_session_tickets off; ssl_session_cache off;
                 client_body_temp_path {place}/t1; proxy_temp_path {place}/t2; fastcgi_temp_path {place}/t3;
                 uwsgi_temp_path {place}/t4; scgi_temp_path {place}/t5;
                 ssl_protocols TLSv1.2 TLSv1.3; ssl_certificate cert.pem; ssl_certificate_key site-key.pem;
                 server {{ listen 127.0.0.1:{port} ssl; location / {{ return 200 hello; }} }}
                 server {{
                     listen 127.0.0.1:{other} ssl; location / {{ return 200 hello; }}
                     ssl_certificate_key keys/web.pem;
                 }}
             }}"
        );
        fs::write(self.path().join("nginx.conf"), conf).unwrap();
        let mut nginx = self.program("nginx");
        nginx.arg("-p").arg(self.path()).args(["-c", "nginx.conf"]);
        (Program::start(&mut nginx, port), port, other)
    }

    pub(super) fn haproxy(&self) -> (Program, u16) {
        let (haproxy, port, _) = self.haproxy_with(500, 10);
        (haproxy, port)
    }

    /// Starts haproxy with at most `connections` connections, on which a client may be silent for `patience` seconds. The
    /// second port is without TLS.
    pub(super) fn haproxy_with(&self, connections: usize, patience: u32) -> (Program, u16, u16) {
        let (port, plain) = (free().port(), free().port());
        let conf = format!(
            "global\n    ssl-mode-async\n    nbthread 1\n    maxconn {connections}\n\
             defaults\n    mode http\n    timeout client {patience}s\n    timeout connect 5s\n    timeout server 5s\n\
             frontend site\n    bind 127.0.0.1:{port} ssl crt both.pem no-tls-tickets\n    \
             bind 127.0.0.1:{plain}\n    \
             http-request return status 200 content-type text/plain string hello\n"
        );
        fs::write(self.path().join("haproxy.cfg"), conf).unwrap();
        let mut haproxy = self.program("haproxy");
        haproxy.args(["-db", "-f", "haproxy.cfg"]);
        (Program::start(&mut haproxy, port), port, plain)
    }

    /// Whether haproxy's one thread serves others while handshakes wait for the cryptoserver, which hangs.
    pub(super) fn serves_meanwhile(&self, port: u16, plain: u16) -> bool {
        let server = self.server.as_ref().unwrap();
        server.signal(Signal::STOP);
        let mut clients = self.is_asked(port, 4, 4, "TLSv1_3");
        let clients = clients.stdout(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(400));
        let mut other = TcpStream::connect(("127.0.0.1", plain)).unwrap();
        let patience = Some(Duration::from_millis(600));
        other.set_read_timeout(patience).unwrap();
        other.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
        let is_served = other.read(&mut [0; 8]).is_ok_and(|bytes| bytes > 0);
        server.signal(Signal::CONT);
        let output = clients.wait_with_output().unwrap();
        is_served && lossy(&output.stdout).trim() == "0"
    }
}

/// A relay that listens.
pub(super) struct Relay(Child);

impl Relay {
    fn start(site: &Site, more: &[&str]) -> Self {
        let mut command = oarlock();
        command.args(["relay", "--remote", &site.at.to_string(), "--timeout", "2"]);
        command.arg("--pki").arg(site.path()).args(more);
        command.arg("--socket").arg(site.socket());
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        assert_eq!(line, format!("listening on {}\n", site.socket().display()));
        Self(child)
    }

    fn ends_by(mut self, by: Signal) {
        signal(&self.0, by);
        self.0.wait().unwrap();
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `oarlock run`, which forwards SIGTERM, with a server below it.
pub(super) struct Program(pub(super) Child);

impl Program {
    pub(super) fn start(command: &mut Command, port: u16) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(Stdio::null());
        let mut program = Self(command.spawn().unwrap());
        until("it listens", || {
            let ended = program.0.try_wait().unwrap();
            assert!(ended.is_none(), "it ended: {ended:?}");
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        program
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        signal(&self.0, Signal::TERM);
        let _ = self.0.wait();
    }
}

pub(super) fn succeeds(command: &mut Command) {
    let output = run(command, b"");
    assert!(output.status.success(), "{command:?}: {}", stderr(&output));
}

#[test]
fn openssl_signs_with_a_key_that_is_elsewhere() {
    let mut site = Site::new();
    let _relay = site.relay(&[]);
    for digest in ["-sha256", "-sha384", "-sha512", "-sha224"] {
        site.signs(&[digest]);
        let pss = ["-sigopt", "rsa_padding_mode:pss", "-sigopt"];
        for salt in ["rsa_pss_saltlen:digest", "rsa_pss_saltlen:20"] {
            site.signs(&[&[digest], &pss[..], &[salt]].concat());
        }
    }
    // Requests, certificates and messages are signed as well.
    for arguments in [
        &[
            "req",
            "-new",
            "-key",
            "site-key.pem",
            "-subj",
            "/CN=a",
            "-out",
            "request.pem",
        ][..],
        &[
            "x509",
            "-req",
            "-in",
            "request.pem",
            "-CA",
            "cert.pem",
            "-CAkey",
            "site-key.pem",
            "-CAcreateserial",
            "-out",
            "made.pem",
        ],
        &[
            "verify",
            "-CAfile",
            "cert.pem",
            "-partial_chain",
            "cert.pem",
        ],
        &[
            "cms",
            "-sign",
            "-in",
            "letter",
            "-signer",
            "cert.pem",
            "-inkey",
            "site-key.pem",
            "-out",
            "letter.cms",
        ],
        &[
            "cms",
            "-verify",
            "-in",
            "letter.cms",
            "-CAfile",
            "cert.pem",
            "-purpose",
            "any",
            "-out",
            "/dev/null",
        ],
        &[
            "pkey",
            "-in",
            "site-key.pem",
            "-pubout",
            "-out",
            "/dev/null",
        ],
    ] {
        succeeds(site.program("openssl").args(arguments));
    }
    // The key decrypts, except with PKCS#1 v1.5, where wrong padding must not be revealed.
    fs::write(site.path().join("secret"), "a secret").unwrap();
    for (padding, digest, is_decrypted) in [
        ("oaep", "rsa_oaep_md:sha256", true),
        ("oaep", "rsa_oaep_md:sha1", true),
        ("pkcs1", "rsa_padding_mode:pkcs1", false),
    ] {
        let mode = format!("rsa_padding_mode:{padding}");
        let settings = ["-pkeyopt", &mode, "-pkeyopt", digest];
        let mut encrypt = site.program("openssl");
        encrypt.args(["pkeyutl", "-encrypt", "-inkey", "site-key.pem"]);
        encrypt.args(["-in", "secret", "-out", "secret.rsa"]);
        succeeds(encrypt.args(settings));
        let mut decrypt = site.program("openssl");
        decrypt.args(["pkeyutl", "-decrypt", "-inkey", "site-key.pem"]);
        decrypt.args(["-in", "secret.rsa"]).args(settings);
        let output = run(&mut decrypt, b"");
        let is_secret = output.stdout == b"a secret";
        assert_eq!(is_secret, is_decrypted, "{padding}: {}", stderr(&output));
        let is_told = stderr(&output).contains("remote key \"web\": its settings are none");
        assert_eq!(is_told, !is_decrypted, "{}", stderr(&output));
    }
    // The private half is not available, nor used for anything else.
    for arguments in [
        &["pkey", "-in", "site-key.pem"][..],
        &["rsa", "-in", "site-key.pem", "-traditional"],
        &["dgst", "-sha1", "-sign", "site-key.pem", "letter"],
    ] {
        let output = run(site.program("openssl").args(arguments), b"");
        assert!(!output.status.success(), "{arguments:?}");
        assert!(!lossy(&output.stdout).contains("PRIVATE"));
    }
    // Signatures by another machine are counted as such.
    let mut counted = oarlock();
    counted.args(["run", "--stats", "--json", "--provider"]);
    counted.arg(provider());
    counted.arg(format!("--relay={}", site.socket().display()));
    counted.args(["--", "openssl", "dgst", "-sha256", "-sign", "site-key.pem"]);
    counted.args(["-out", "/dev/null", "letter"]);
    let output = run(counted.current_dir(site.path()), b"");
    let told: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(told["rsa_private_operations"]["remotely"], 1, "{told}");

    // A damaged file is reported differently from one without a key.
    let whole = fs::read_to_string(site.path().join("site-key.pem")).unwrap();
    fs::write(site.path().join("damaged.pem"), whole.replace("MII", "AII")).unwrap();
    let mut damaged = site.program("openssl");
    damaged.args(["pkey", "-in", "damaged.pem", "-pubout"]);
    let refused = run(&mut damaged, b"");
    assert!(!refused.status.success());
    let said = stderr(&refused);
    assert!(
        said.contains("OARLOCK REMOTE KEY: not a reference"),
        "{said}"
    );

    // Without the provider, and without the line, it is not a key.
    let mut plain = Command::new("openssl");
    plain
        .args(["pkey", "-in", "site-key.pem"])
        .current_dir(site.path());
    assert!(!run(&mut plain, b"").status.success());

    // Every failure is reported.
    let key = site.path().join("keys/web.pem");
    let kept = fs::read(&key).unwrap();
    fs::remove_file(&key).unwrap();
    until("the key is withdrawn", || {
        site.is_refused().contains("no key")
    });
    let mut made = Command::new("openssl");
    made.args(["genrsa", "-out", "keys/web.pem", "2048"]);
    succeeds(made.current_dir(site.path()));
    until("it is another one", || {
        let refused = site.is_refused();
        refused.contains("remote key \"web\": the answer is not of this key")
    });
    fs::write(&key, kept).unwrap();
    site.serves();
    site.signs(&["-sha256"]);
    drop(site.server.take());
    let refused = site.is_refused();
    assert!(refused.contains("remote key \"web\": "), "{refused}");
}

#[test]
fn a_relay_that_is_not_there_or_not_for_this_user_is_told() {
    let site = Site::new();
    let told = format!("{}: no relay listens there", site.socket().display());
    let refused = site.is_refused();
    assert!(refused.contains(&told), "{refused}");
    {
        let _relay = site.relay(&[]);
        site.signs(&["-sha256"]);
        let mut second = oarlock();
        second.args(["relay", "--remote", &site.at.to_string(), "--pki"]);
        second.arg(site.path()).arg("--socket").arg(site.socket());
        assert_fails(&run(&mut second, b""), 1, &["another daemon listens there"]);
        if is_root("another user") {
            // This user reads its key file, but the relay refuses it.
            let mut sign = site.program("setpriv");
            sign.args([
                "--reuid=65534",
                "--clear-groups",
                "openssl",
                "dgst",
                "-sha256",
            ]);
            sign.args(["-sign", "site-key.pem", "-out", "/dev/null", "cert.pem"]);
            let output = run(&mut sign, b"");
            assert!(!output.status.success());
            let said = stderr(&output);
            assert!(said.contains("does not serve this user"), "{said}");
        }
    }
    for (more, status, said) in [
        (
            vec!["--allow", "no_such_user"],
            2,
            "--allow no_such_user: no such user",
        ),
        (
            vec!["--allow", "root="],
            2,
            "--allow root=: give the ids of keys",
        ),
        (vec!["--client", "nobody"], 1, "nobody.pem: no such file"),
    ] {
        let mut relay = oarlock();
        relay.args(["relay", "--remote", &site.at.to_string(), "--pki"]);
        relay.arg(site.path()).arg("--socket").arg(site.socket());
        relay.args(more);
        assert_fails(&run(&mut relay, b""), status, &[said]);
    }
}

#[test]
fn nginx_and_haproxy_serve_with_a_key_that_is_elsewhere() {
    let site = Site::new();
    let _relay = site.relay(&["--allow", "65534=web"]);
    let (_nginx, port) = site.nginx();
    site.serves_clients(port, 60, 8);
    let (haproxy, port) = site.haproxy();
    site.serves_clients(port, 200, 32);
    let descriptors = || descriptors_below(&haproxy.0);
    let before = descriptors();
    site.serves_clients(port, 200, 32);
    until("descriptors are closed", || descriptors() <= before + 2);
}

pub(super) fn descriptors_below(parent: &Child) -> usize {
    let fds = fs::read_dir(format!("/proc/{}/fd", below(parent))).unwrap();
    fds.count()
}

/// Returns the program that `oarlock run` runs.
pub(super) fn below(parent: &Child) -> u32 {
    let children = format!("/proc/{0}/task/{0}/children", parent.id());
    let child = fs::read_to_string(children).unwrap();
    child.trim().parse().unwrap()
}

/// The end of a relay or a cryptoserver costs the handshakes of that moment, and nothing afterwards.
#[test]
fn servers_go_on_when_relay_and_cryptoserver_come_back() {
    let mut site = Site::new();
    let relay = site.relay(&["--allow", "65534"]);
    let (_nginx, of_nginx) = site.nginx();
    let (_haproxy, of_haproxy) = site.haproxy();
    let ports = [of_nginx, of_haproxy];
    for port in ports {
        site.serves_clients(port, 10, 4);
    }
    relay.ends_by(Signal::KILL);
    for port in ports {
        assert_eq!(site.failures(port, 8, 4, "TLSv1_3"), 8);
    }
    let relay = site.relay(&["--allow", "65534"]);
    for port in ports {
        site.serves_clients(port, 20, 4);
    }
    site.server = None;
    let began = Instant::now();
    assert_eq!(site.failures(of_haproxy, 8, 8, "TLSv1_3"), 8);
    assert!(began.elapsed() < LIMIT, "{:?}", began.elapsed());
    site.serves();
    until("it is found again", || {
        site.failures(of_haproxy, 4, 2, "TLSv1_3") == 0
    });
    for port in ports {
        site.serves_clients(port, 20, 4);
    }
    // A relay that ends in order answers what it was asked.
    for port in ports {
        let mut clients = site.is_asked(port, 200, 8, "TLSv1_3");
        let clients = clients.stdout(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(300));
        signal(&relay.0, Signal::STOP);
        std::thread::sleep(Duration::from_millis(200));
        signal(&relay.0, Signal::CONT);
        let output = clients.wait_with_output().unwrap();
        assert_eq!(lossy(&output.stdout).trim(), "0");
    }
}

/// A worker with other work does not wait repeatedly for a server that does not answer.
#[test]
fn a_cryptoserver_that_hangs_takes_no_time_from_keys_that_are_here() {
    let site = Site::new();
    let _relay = site.relay(&["--allow", "65534"]);
    let (_nginx, remote, here) = site.nginx_with(1);
    site.serves_clients(remote, 10, 4);
    site.server.as_ref().unwrap().signal(Signal::STOP);
    let mut attack = site.is_asked(remote, 400, 8, "TLSv1_3");
    let mut attack = attack.stdout(Stdio::null()).spawn().unwrap();
    let began = Instant::now();
    assert_eq!(site.failures(here, 40, 1, "TLSv1_3"), 0);
    let took = began.elapsed();
    let _ = attack.kill();
    let _ = attack.wait();
    site.server.as_ref().unwrap().signal(Signal::CONT);
    // Each handshake with the remote key would take 2 s of the one worker, and so would each of these after it.
    assert!(took < LIMIT, "{took:?}");
    until("it is asked again", || {
        site.failures(remote, 2, 1, "TLSv1_3") == 0
    });
}

/// Counts failed handshakes. Arguments: certificate, port, number of handshakes, number at once, version, and optionally a
/// suite of TLS 1.2.
const CLIENTS: &str = r#"
import asyncio, ssl, sys
certificate, port, handshakes, at_once, version = sys.argv[1], *map(int, sys.argv[2:5]), sys.argv[5]
version, _, suite = version.partition(" ")
context = ssl.create_default_context(cafile=certificate)
context.minimum_version = context.maximum_version = getattr(ssl.TLSVersion, version)
if version == "TLSv1_2":
    context.set_ciphers(suite or "ECDHE+AESGCM")
async def ask(room):
    async with room:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname="localhost")
            writer.write(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")
            answer = await reader.read()
            writer.close()
            return not answer.endswith(b"hello")
        except (OSError, ssl.SSLError):
            return True
async def main():
    room = asyncio.Semaphore(at_once)
    print(sum(await asyncio.gather(*[ask(room) for _ in range(handshakes)])))
asyncio.run(main())
"#;
