//! Cryptoservers as processes: the first steps, signals, crashes, and a balancer in front.

mod authority;
mod cut;
mod first_steps;
mod folders;
mod keys;
mod managed;
mod many;
mod pkcs11;
mod pkcs11_servers;
mod relay;
mod relay_curves;
mod top;
mod trust;
mod unwrap;
mod watching;

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use oarlock::Accelerator;
use oarlock::rsa::{AcceleratedRsaPublic, RsaPrivateKey};
use oarlock_net::client::{CallOptions, Client, Operation, Settings};
use oarlock_net::proto;
use oarlock_net::tls::TlsFiles;
use oarlock_testing::until;
use rustix::process::Signal;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::common::{assert_fails, oarlock, run, signal, stderr};

/// The files of `oarlock pki init`, with ports that the system chooses.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        let mut init = oarlock();
        init.args(["pki", "init"])
            .arg(home.path())
            .args(["--key", "web"]);
        let output = run(&mut init, b"");
        assert!(output.status.success(), "{}", stderr(&output));
        home.configure(|text| {
            text.replace("127.0.0.1:7443", "127.0.0.1:0")
                .replace("127.0.0.1:9464", "127.0.0.1:0")
        });
        home
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn config(&self) -> PathBuf {
        self.path().join("cryptoserver.toml")
    }

    fn configure(&self, change: impl FnOnce(String) -> String) {
        let text = fs::read_to_string(self.config()).unwrap();
        fs::write(self.config(), change(text)).unwrap();
    }

    fn serve(&self) -> Served {
        Served::start(&self.config())
    }

    /// Starts a server on ports of its own, so that it can be restarted there.
    fn serve_at(&self, name: &str, at: SocketAddr, metrics: SocketAddr) -> Served {
        let text = fs::read_to_string(self.config()).unwrap();
        let text = text
            .replace(
                "listen = [\"127.0.0.1:0\"]",
                &format!("listen = [\"{at}\"]"),
            )
            .replace(
                "listen = \"127.0.0.1:0\"",
                &format!("listen = \"{metrics}\""),
            );
        let path = self.path().join(format!("{name}.toml"));
        fs::write(&path, text).unwrap();
        Served::start(&path)
    }

    fn settings(&self, servers: &[SocketAddr]) -> Settings {
        let files = TlsFiles {
            certificate: self.path().join("client.pem"),
            key: self.path().join("client.key"),
            roots: self.path().join("ca.pem"),
            revoked: None,
        };
        let servers = servers.iter().map(ToString::to_string).collect();
        Settings::new(servers, Some(files.client().unwrap()))
    }

    fn public(&self) -> AcceleratedRsaPublic {
        let pem = fs::read_to_string(self.path().join("keys/web.pem")).unwrap();
        let key = RsaPrivateKey::from_pem(&pem).unwrap();
        let accelerator = Accelerator::builder().build().unwrap();
        accelerator.rsa_public(key.public_key())
    }

    fn sign(&self, server: SocketAddr, key: &str) -> Command {
        let mut sign = oarlock();
        sign.args(["sign", "--remote", &server.to_string(), "--key", key]);
        sign.args(["--timeout", "2", "--pki"]).arg(self.path());
        sign
    }
}

/// A server that is killed on drop, if it has not ended.
struct Served {
    child: Child,
    address: SocketAddr,
    metrics: SocketAddr,
    log: PathBuf,
}

impl Served {
    fn start(config: &Path) -> Self {
        Self::start_with(config, &[])
    }

    fn start_with(config: &Path, environment: &[(&str, &Path)]) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let log = config.with_extension(format!("{number}.log"));
        let mut command = oarlock();
        command.args(["serve", "--config"]).arg(config);
        command
            .envs(environment.iter().copied())
            .stdout(Stdio::piped())
            .stderr(File::create(&log).unwrap());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut next = |before: &str, behind: &str| {
            let line = lines.next().map(Result::unwrap);
            let line = line.unwrap_or_else(|| fs::read_to_string(&log).unwrap());
            let address = line
                .strip_prefix(before)
                .and_then(|it| it.strip_suffix(behind));
            address
                .and_then(|it| it.parse().ok())
                .unwrap_or_else(|| panic!("{line}"))
        };
        let address = next("listening on ", "");
        let metrics = next("metrics on http://", "/metrics");
        Self {
            child,
            address,
            metrics,
            log,
        }
    }

    fn signal(&self, which: Signal) {
        signal(&self.child, which);
    }

    fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    fn ends(&mut self) -> Option<i32> {
        let mut status = None;
        until("the end of the server", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap().code()
    }

    fn metric(&self, name: &str) -> u64 {
        let mut socket = TcpStream::connect(self.metrics).unwrap();
        socket.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
        let mut page = String::new();
        socket.read_to_string(&mut page).unwrap();
        let samples = page.lines().filter(|line| {
            line.strip_prefix(name)
                .is_some_and(|rest| rest.starts_with(['{', ' ']))
        });
        samples
            .map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap())
            .sum()
    }

    fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.child.id()))
            .unwrap()
            .count()
    }

    /// Returns the resident memory in KiB.
    fn memory_kib(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS:"))
            .unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns an address that nobody listens on.
fn free() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
}

fn runtime() -> Runtime {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(2).enable_all().build().unwrap()
}

/// Clients that request powers in a loop, and check each result.
struct Load {
    right: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
    tasks: JoinSet<Result<(), String>>,
}

impl Load {
    fn start(
        runtime: &Runtime,
        client: &Client,
        public: AcceleratedRsaPublic,
        at_once: u64,
    ) -> Self {
        let mut load = Self {
            right: Arc::default(),
            is_over: Arc::default(),
            tasks: JoinSet::new(),
        };
        let public = Arc::new(public);
        for lane in 0..at_once {
            let (client, public) = (client.clone(), Arc::clone(&public));
            let (right, is_over) = (Arc::clone(&load.right), Arc::clone(&load.is_over));
            let ask = async move {
                let mut number = 2 + lane;
                while !is_over.load(Ordering::Relaxed) {
                    number += at_once;
                    let raw = Operation::RawPrivate(proto::RawPrivate {
                        key_id: "web".into(),
                        number: number.to_be_bytes().to_vec(),
                    });
                    let power = client.call(raw, CallOptions::default()).await;
                    let power = power.map_err(|error| error.to_string())?;
                    let back = public.raw_public(&power).unwrap();
                    assert_eq!(
                        back[back.len() - 8..],
                        number.to_be_bytes(),
                        "a wrong answer"
                    );
                    right.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            };
            load.tasks.spawn_on(ask, runtime.handle());
        }
        load
    }

    /// Waits for `count` more correct results.
    fn goes_on(&self, what: &str, count: usize) {
        let before = self.right.load(Ordering::Relaxed);
        until(what, || {
            self.right.load(Ordering::Relaxed) >= before + count
        });
    }

    /// Returns the number of correct results, and the other errors.
    fn end(mut self, runtime: &Runtime) -> (usize, Vec<String>) {
        self.is_over.store(true, Ordering::Relaxed);
        let mut errors = Vec::new();
        runtime.block_on(async {
            while let Some(done) = self.tasks.join_next().await {
                errors.extend(done.unwrap().err());
            }
        });
        (self.right.load(Ordering::Relaxed), errors)
    }
}

fn connected(runtime: &Runtime, settings: Settings, count: usize) -> Client {
    let client = runtime.block_on(async { Client::new(settings) }).unwrap();
    until("all connections", || client.connected() == count);
    client
}

#[test]
fn three_commands_lead_to_a_signature_that_openssl_verifies() {
    let home = Home::new();
    let server = home.serve();
    let letter = home.path().join("letter.txt");
    fs::write(&letter, "Dear reader").unwrap();
    let (signature, public) = (
        home.path().join("letter.sig"),
        home.path().join("web.pub.pem"),
    );
    let mut sign = home.sign(server.address, "web");
    sign.arg("-o").arg(&signature).arg(&letter);
    let signed = run(&mut sign, b"");
    assert!(signed.status.success(), "{}", stderr(&signed));

    let openssl = |arguments: &[&str], files: &[&Path]| -> Output {
        let mut openssl = Command::new("openssl");
        run(openssl.args(arguments).args(files), b"")
    };
    let key = home.path().join("keys/web.pem");
    let written = openssl(
        &["pkey", "-pubout", "-in"],
        &[&key, Path::new("-out"), &public],
    );
    assert!(written.status.success(), "{}", stderr(&written));
    let signed = [&*public, Path::new("-signature"), &*signature, &*letter];
    let verified = openssl(&["dgst", "-sha256", "-verify"], &signed);
    assert_eq!(verified.stdout, b"Verified OK\n");
    fs::write(&letter, "Dear reader, pay").unwrap();
    assert_ne!(
        openssl(&["dgst", "-sha256", "-verify"], &signed).stdout,
        b"Verified OK\n"
    );

    let unknown = run(home.sign(server.address, "wax").arg("--hex"), b"x");
    assert_fails(&unknown, 1, &["wax"]);
    let stranger = Home::new();
    let wrong = run(stranger.sign(server.address, "web").arg("--hex"), b"x");
    assert_fails(&wrong, 1, &[&server.address.to_string()]);
    let nobody = free();
    let refused = run(home.sign(nobody, "web").arg("--hex"), b"x");
    assert_fails(&refused, 1, &[&nobody.to_string(), "refused"]);
}

#[test]
fn a_configuration_is_looked_through_without_serving() {
    let home = Home::new();
    let check = || {
        run(
            oarlock()
                .args(["serve", "--check", "--config"])
                .arg(home.config()),
            b"",
        )
    };
    let good = check();
    assert!(good.status.success(), "{}", stderr(&good));
    let said = String::from_utf8(good.stdout).unwrap();
    assert!(
        said.contains("cpu (") && said.contains("keys: web"),
        "{said}"
    );

    let right = fs::read_to_string(home.config()).unwrap();
    for (wrong, place, what) in [
        ("[limits]\nqueue_max = 0\n", 2, "queue_max"),
        ("[limits]\nqueue_mix = 1\n", 2, "queue_mix"),
        ("[[device]]\nkind = \"toaster\"\n", 2, "toaster"),
        ("[[key]]\nfile = \"nothing.pem\"\n", 2, "nothing.pem"),
        ("[[client]\n", 1, "]"),
    ] {
        fs::write(home.config(), format!("{right}{wrong}")).unwrap();
        let line = right.lines().count() + place;
        let output = check();
        assert_fails(&output, 1, &[&format!("cryptoserver.toml:{line}:"), what]);
    }
    fs::write(home.config(), &right).unwrap();
    fs::write(home.path().join("server.key"), "no key").unwrap();
    assert_fails(&check(), 1, &["server.key"]);
}

#[test]
fn one_of_three_is_killed_and_comes_back_and_no_request_is_lost() {
    let home = Home::new();
    let (at, metrics) = (free(), free());
    let mut first = home.serve_at("first", at, metrics);
    let others = [home.serve(), home.serve()];
    let runtime = runtime();
    let settings = home.settings(&[at, others[0].address, others[1].address]);
    let client = connected(&runtime, settings, 3);
    let load = Load::start(&runtime, &client, home.public(), 48);
    until("all three are asked", || {
        let served = [&first, &others[0], &others[1]];
        served
            .iter()
            .all(|it| it.metric("oarlock_requests_total") > 20)
    });
    first.signal(Signal::KILL);
    assert_eq!(first.ends(), None, "by a signal");
    load.goes_on("requests by the two that are left", 500);
    assert_eq!(client.connected(), 2);
    let again = home.serve_at("again", at, metrics);
    until("the third connection", || client.connected() == 3);
    until("it is asked again", || {
        again.metric("oarlock_requests_total") > 20
    });
    let (right, errors) = load.end(&runtime);
    assert!(
        right > 500 && errors.is_empty(),
        "{right} right, and {errors:?}"
    );
}

#[test]
fn who_is_told_to_end_answers_all_that_it_has_accepted() {
    let home = Home::new();
    home.configure(|text| format!("{text}\n[audit]\nfile = \"audit.jsonl\"\n"));
    let mut server = home.serve();
    let runtime = runtime();
    let settings = Settings {
        timeout: Duration::from_secs(2),
        ..home.settings(&[server.address])
    };
    let client = connected(&runtime, settings, 1);
    let load = Load::start(&runtime, &client, home.public(), 64);
    load.goes_on("requests", 300);
    server.signal(Signal::TERM);
    assert_eq!(server.ends(), Some(0), "{}", server.log());
    let (right, errors) = load.end(&runtime);
    // Requests that it had not accepted have nowhere to go.
    assert!(!errors.is_empty());
    let audit = fs::read_to_string(home.path().join("audit.jsonl")).unwrap();
    let mut codes: HashMap<String, usize> = HashMap::new();
    for line in audit.lines() {
        let entry: serde_json::Value = serde_json::from_str(line).unwrap();
        *codes
            .entry(entry["code"].as_str().unwrap().to_owned())
            .or_default() += 1;
    }
    // Each computed result has reached its client.
    assert_eq!(codes.get("OK"), Some(&right), "{codes:?}, {}", server.log());
    assert!(!server.log().contains("given up"), "{}", server.log());
}

#[test]
fn a_reload_that_waits_for_its_file_keeps_no_signal_waiting() {
    let home = Home::new();
    let mut server = home.serve();
    let config = home.path().join("cryptoserver.toml");
    fs::remove_file(&config).unwrap();
    // Opening it for reading waits for a writer.
    let made = Command::new("mkfifo").arg(&config).status().unwrap();
    assert!(made.success());
    server.signal(Signal::HUP);
    let runtime = runtime();
    let client = connected(&runtime, home.settings(&[server.address]), 1);
    assert!(runtime.block_on(client.list_keys()).is_ok());
    server.signal(Signal::HUP);
    server.signal(Signal::TERM);
    assert_eq!(server.ends(), Some(0), "{}", server.log());
}

#[test]
fn all_is_read_again_on_a_signal_and_a_broken_file_changes_nothing() {
    let home = Home::new();
    let server = home.serve();
    let runtime = runtime();
    let client = connected(&runtime, home.settings(&[server.address]), 1);
    let load = Load::start(&runtime, &client, home.public(), 16);
    load.goes_on("requests", 50);

    // A new authority next to the old one, a certificate of it, and a second key.
    let fresh = Home::new();
    // Each has a revocation list of its own.
    let authorities = ["ca.pem", "crl.pem"].map(|name| {
        let [old, new] =
            [&home, &fresh].map(|it| fs::read_to_string(it.path().join(name)).unwrap());
        format!("{old}{new}")
    });
    for (name, text) in ["ca.pem", "crl.pem"].iter().zip(&authorities) {
        fs::write(home.path().join(name), text).unwrap();
    }
    for name in ["server.pem", "server.key"] {
        fs::copy(fresh.path().join(name), home.path().join(name)).unwrap();
    }
    fs::copy(
        fresh.path().join("keys/web.pem"),
        home.path().join("second.pem"),
    )
    .unwrap();
    home.configure(|text| text.replace("\"random\", ", "") + "\n[[key]]\nfile = \"second.pem\"\n");
    let random = |client: &Client| {
        let random = Operation::Random(proto::Random { bytes: 8 });
        runtime.block_on(client.call(random, CallOptions::default()))
    };
    assert!(random(&client).is_ok());
    server.signal(Signal::HUP);
    let count = |what: &str| server.log().matches(what).count();
    until("reloaded", || count("reloaded") > 0);
    assert_eq!(count("not reloaded"), 0, "{}", server.log());
    // With the new certificate, from the new authority.
    let newcomer = connected(&runtime, fresh.settings(&[server.address]), 1);
    let ids = || {
        let keys = runtime.block_on(newcomer.list_keys()).unwrap();
        keys.into_iter().map(|key| key.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(), ["second", "web"]);
    assert!(
        random(&newcomer)
            .unwrap_err()
            .to_string()
            .contains("random")
    );

    let right = fs::read_to_string(home.config()).unwrap();
    let line = right.lines().count() + 1;
    for (name, text, what) in [
        (
            "cryptoserver.toml",
            format!("{right}nonsense = 1\n"),
            format!("toml:{line}:"),
        ),
        (
            "server.pem",
            "no certificate".to_owned(),
            "server.pem".to_owned(),
        ),
        ("second.pem", "no key".to_owned(), "second.pem".to_owned()),
    ] {
        let path = home.path().join(name);
        let before = fs::read(&path).unwrap();
        fs::write(&path, text).unwrap();
        let refused = count("not reloaded");
        server.signal(Signal::HUP);
        until("not reloaded", || count("not reloaded") > refused);
        let log = server.log();
        let said = log
            .lines()
            .rfind(|line| line.contains("not reloaded"))
            .unwrap();
        assert!(said.contains(&what), "{said}");
        fs::write(&path, before).unwrap();
        assert_eq!(ids(), ["second", "web"]);
        assert!(random(&newcomer).is_err());
        drop(connected(&runtime, fresh.settings(&[server.address]), 1));
    }
    load.goes_on("requests on the connection of the beginning", 50);
    let (_, errors) = load.end(&runtime);
    assert!(errors.is_empty(), "{errors:?}");
}

#[test]
fn behind_haproxy_servers_come_and_go() {
    let home = Home::new();
    let addresses = [free(), free(), free(), free()];
    let mut a = home.serve_at("a", addresses[0], addresses[1]);
    let mut b = home.serve_at("b", addresses[2], addresses[3]);
    let bind = free();
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/haproxy.cfg");
    let mut text = fs::read_to_string(shipped).unwrap();
    for (old, new) in [
        ("0.0.0.0:7443", bind.to_string()),
        ("check port 9464 inter 1s", "check inter 100ms".to_owned()),
        (
            "10.0.0.1:7443",
            format!("{} port {}", a.address, a.metrics.port()),
        ),
        (
            "10.0.0.2:7443",
            format!("{} port {}", b.address, b.metrics.port()),
        ),
    ] {
        assert_eq!(text.matches(old).count(), 1, "{old}");
        text = text.replace(old, &new);
    }
    let path = home.path().join("haproxy.cfg");
    fs::write(&path, text).unwrap();
    let mut haproxy = Command::new("haproxy");
    let log = File::create(home.path().join("haproxy.log")).unwrap();
    haproxy
        .arg("-db")
        .arg("-f")
        .arg(&path)
        .stdout(log.try_clone().unwrap())
        .stderr(log);
    let haproxy = haproxy
        .spawn()
        .expect("haproxy is there, by scripts/system-packages test");
    let mut balancer = Served {
        child: haproxy,
        address: bind,
        metrics: bind,
        log: home.path().join("haproxy.log"),
    };

    let runtime = runtime();
    let settings = Settings {
        connections: 4,
        ..home.settings(&[bind])
    };
    let client = connected(&runtime, settings, 4);
    until("both have connections", || {
        [&a, &b]
            .iter()
            .all(|it| it.metric("oarlock_connections") == 2)
    });
    let load = Load::start(&runtime, &client, home.public(), 16);
    load.goes_on("requests", 100);

    a.signal(Signal::TERM);
    assert_eq!(a.ends(), Some(0), "{}", a.log());
    until("all at the other one", || {
        b.metric("oarlock_connections") == 4
    });
    load.goes_on("requests by the other one", 100);

    let a = home.serve_at("a-again", addresses[0], addresses[1]);
    until("it is found to be up", || {
        // A new client goes to the server with fewer connections.
        let _newcomer = connected(&runtime, home.settings(&[bind]), 1);
        a.metric("oarlock_connections") > 0
    });
    b.signal(Signal::KILL);
    assert_eq!(b.ends(), None, "by a signal");
    until("all at the first one", || {
        a.metric("oarlock_connections") >= 4
    });
    load.goes_on("requests by the first one", 100);
    let (_, errors) = load.end(&runtime);
    assert!(errors.is_empty(), "{errors:?}");
    balancer.signal(Signal::TERM);
    balancer.ends();
}

#[test]
fn what_is_shipped_is_what_its_readers_take() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    // The configuration in the Kubernetes manifests.
    let home = Home::new();
    let manifests = fs::read_to_string(folder.join("kubernetes.yaml")).unwrap();
    let (_, rest) = manifests.split_once("cryptoserver.toml: |\n").unwrap();
    let (text, _) = rest.split_once("---").unwrap();
    let text = text
        .replace("    ", "")
        .replace("/etc/oarlock/tls/", "")
        .replace("/etc/oarlock/", "");
    fs::write(home.config(), text).unwrap();
    let checked = run(
        oarlock()
            .args(["serve", "--check", "--config"])
            .arg(home.config()),
        b"",
    );
    assert!(checked.status.success(), "{}", stderr(&checked));

    let unit = fs::read_to_string(folder.join("oarlock-serve.service")).unwrap();
    let unit = unit.replace("/usr/bin/oarlock", env!("CARGO_BIN_EXE_oarlock"));
    let path = home.path().join("oarlock-serve.service");
    fs::write(&path, unit).unwrap();
    // Without systemd nobody can check it.
    if let Ok(output) = Command::new("systemd-analyze")
        .arg("verify")
        .arg(&path)
        .output()
    {
        assert!(
            output.status.success() && stderr(&output).is_empty(),
            "{}",
            stderr(&output)
        );
    }
}
