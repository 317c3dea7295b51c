//! Servers with an RSA key: handshakes of TLS 1.2 and 1.3, whose signatures are made together. haproxy and Python here, the others by
//! their names.

mod apache;
mod daemon;
mod nginx;
mod openssl;
mod postgres;
mod site;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use oarlock::Accelerator;
use oarlock::costs::published::{self, PublicKeyFigures};
use oarlock_testing::{lossy, until};

use self::site::Site;
use crate::host::{
    Accelerated, Program, descriptors, free_port, has_lanes, has_loaded, module, run, succeeds,
    threads, until_listening, with_conf,
};

/// haproxy with `ssl-mode-async`, which reloads on SIGUSR2.
struct Haproxy {
    site: Site,
    program: Program,
}

impl Haproxy {
    fn start(accelerated: Option<&Accelerated>, haproxy_threads: usize) -> Self {
        let site = Site::new();
        let (folder, port) = (site.folder.path(), site.port);
        let place = folder.display();
        // The configuration that is shipped, with other addresses and what a test needs besides.
        let mut conf = SHIPPED.to_owned();
        for (shipped, here) in [
            (
                "    maxconn 20000\n",
                format!(
                    "    maxconn 500\n    nbthread {haproxy_threads}\n    tune.ssl.cachesize 0\n    \
                stats socket {place}/control expose-fd listeners\n"
                ),
            ),
            ("crt-base /etc/haproxy", format!("crt-base {place}")),
            (
                "0.0.0.0:443 ssl crt site.pem",
                format!("127.0.0.1:{port} ssl crt both.pem no-tls-tickets"),
            ),
            (
                "    default_backend site\n",
                "    http-request return status 200 content-type text/plain string hello\n"
                    .to_owned(),
            ),
        ] {
            assert!(conf.contains(shipped), "{shipped}");
            conf = conf.replace(shipped, &here);
        }
        fs::write(folder.join("haproxy.cfg"), conf).unwrap();
        let mut haproxy = Command::new("haproxy");
        with_conf(&mut haproxy, accelerated);
        // Its warnings are about limits that it was not given.
        haproxy
            .arg("-W")
            .arg("-db")
            .arg("-f")
            .arg(folder.join("haproxy.cfg"));
        haproxy.stdout(Stdio::null()).stderr(Stdio::null());
        let program = Program::start(&mut haproxy);
        until_listening(&program, port);
        let haproxy = Self { site, program };
        // It listens before it starts them.
        until("a worker is there", || !haproxy.workers().is_empty());
        haproxy
    }

    /// The processes that serve.
    fn workers(&self) -> Vec<u32> {
        self.program.children()
    }

    fn is_asked(&self, requests: usize, at_once: usize, version: &str, aborted: usize) -> Command {
        self.site.is_asked(requests, at_once, version, aborted)
    }
}

const SHIPPED: &str = include_str!("../../../../../deploy/haproxy-rsa.cfg");

#[test]
fn haproxy_computes_for_several_connections_together() {
    if !has_lanes() {
        return;
    }
    for haproxy_threads in [1, 2] {
        let accelerated = Accelerated::new();
        let haproxy = Haproxy::start(Some(&accelerated), haproxy_threads);
        let workers = haproxy.workers();
        assert!(has_loaded(workers[0], &module()));
        let processes = [&workers[..], &[haproxy.program.pid()]].concat();
        let mut before = PublicKeyFigures::default();
        for (what, mut clients) in [
            ("TLS 1.3", haproxy.is_asked(200, 32, "TLSv1_3", 0)),
            ("TLS 1.2", haproxy.is_asked(200, 32, "TLSv1_2", 0)),
            ("decrypts", haproxy.site.is_sent_premaster_secrets(7, 32)),
        ] {
            succeeds(&mut clients);
            let here = public_key(&processes);
            assert_eq!(here.faults, 0);
            let groups = here.groups - before.groups;
            let in_groups = here.in_groups - before.in_groups;
            // How many depends on how fast clients are beside it: all could meet others, and some must.
            assert!(
                in_groups >= 16 && in_groups > groups,
                "{what}: {in_groups} in {groups} groups"
            );
            before = here;
        }
        succeeds(&mut haproxy.is_asked(20, 1, "TLSv1_3", 0));
    }
}

/// Of these processes together. Workers count where the process that they were forked from does.
fn public_key(processes: &[u32]) -> PublicKeyFigures {
    let found = published::running().into_iter();
    let figures = found.filter_map(|found| found.figures.ok());
    figures
        .filter(|figures| processes.contains(&figures.process))
        .fold(PublicKeyFigures::default(), |sum, figures| {
            let here = figures.public_key;
            PublicKeyFigures {
                alone: sum.alone + here.alone,
                in_groups: sum.in_groups + here.in_groups,
                groups: sum.groups + here.groups,
                faults: sum.faults + here.faults,
            }
        })
}

/// Of hundreds of signatures. Without AVX-512 two fill the lanes, and aws-lc alone may be as fast.
fn assert_computed_together(here: &PublicKeyFigures) {
    let accelerator = Accelerator::builder().environment().build().unwrap();
    if accelerator.lanes().is_some_and(|(_, lanes)| lanes == 8) {
        assert!(
            here.in_groups >= 100 && here.in_groups > 2 * here.groups,
            "{here:?}"
        );
    }
}

const ATTACKS_MAX: usize = 8;
/// An attack after which the server has grown by less adds nothing.
const SETTLED_KIB: u64 = 2 << 10;

/// Connections that go while their signatures wait take nothing with them and leave nothing behind.
#[test]
fn connections_that_break_off_do_no_harm() {
    if !has_lanes() {
        return;
    }
    let accelerated = Accelerated::new();
    let haproxy = Haproxy::start(Some(&accelerated), 1);
    let worker = haproxy.workers()[0];
    succeeds(&mut haproxy.is_asked(50, 16, "TLSv1_3", 0));
    let (before, threads_before) = (descriptors(worker), threads(worker));
    // OpenSSL keeps the stack of a job that never goes on. How many are left by one attack depends on how fast clients
    // are here, and so after how many the bound is reached; the bound itself is tested beside `Company`.
    let mut resident = resident_kib(worker);
    let grown: Vec<u64> = (0..ATTACKS_MAX)
        .map(|_| {
            for _ in 0..4 {
                succeeds(&mut haproxy.is_asked(100, 48, "TLSv1_3", 500));
            }
            let before = resident;
            resident = resident_kib(worker);
            resident.saturating_sub(before)
        })
        .take_while(|kib| *kib >= SETTLED_KIB)
        .collect();
    assert!(grown.len() < ATTACKS_MAX, "{grown:?} KiB");
    until("descriptors are closed", || {
        descriptors(worker) <= before + 2
    });
    assert!(threads(worker) <= threads_before + 2);
    assert!(haproxy.program.is_running());
    assert_eq!(haproxy.workers(), [worker], "it was not started anew");
}

#[test]
fn a_reload_under_load_fails_no_handshake() {
    if !has_lanes() {
        return;
    }
    let accelerated = Accelerated::new();
    let haproxy = Haproxy::start(Some(&accelerated), 2);
    let first = haproxy.workers();
    let folder = haproxy.site.folder.path();
    let mut clients = haproxy.is_asked(600, 24, "TLSv1_3", 0);
    let log = folder.join("clients");
    clients.stderr(fs::File::create(&log).unwrap());
    let clients = Program::start(&mut clients);
    for _ in 0..2 {
        std::thread::sleep(Duration::from_millis(150));
        let before = haproxy.workers();
        signal(haproxy.program.pid(), libc::SIGUSR2);
        until("new workers are there", || {
            haproxy
                .workers()
                .iter()
                .any(|worker| !before.contains(worker))
        });
    }
    let ended = clients.ends_within(Duration::from_secs(60));
    assert!(ended.success(), "{}", told(&log));
    until("the first workers are gone", || {
        haproxy
            .workers()
            .iter()
            .all(|worker| !first.contains(worker))
    });
    succeeds(&mut haproxy.is_asked(20, 4, "TLSv1_3", 0));
}

fn resident_kib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.trim().split(' ').next());
    number.unwrap().parse().unwrap()
}

fn signal(pid: u32, signal: libc::c_int) {
    // SAFETY: takes numbers alone; the process is one that this test has started.
    assert_eq!(unsafe { libc::kill(pid.cast_signed(), signal) }, 0);
}

fn told(log: &Path) -> String {
    lossy(&fs::read(log).unwrap_or_default())
}

/// Threads of one process, without jobs: Python's own server.
#[test]
fn a_server_with_threads_signs_through_the_library() {
    if !has_lanes() {
        return;
    }
    let accelerated = Accelerated::new();
    let haproxy = Haproxy::start(None, 1); // for its key alone
    let port = free_port();
    let mut server = Command::new("python3");
    accelerated.apply(&mut server);
    server
        .args(["-c", SERVER])
        .arg(haproxy.site.folder.path().join("both.pem"));
    server.arg(port.to_string());
    let server = Program::start(&mut server);
    until_listening(&server, port);
    let mut clients = haproxy.is_asked(150, 24, "TLSv1_3", 0);
    let arguments: Vec<_> = clients.get_args().map(|text| text.to_owned()).collect();
    clients = Command::new("python3");
    with_conf(&mut clients, None).args(&arguments[..3]);
    clients.arg(port.to_string()).args(&arguments[4..]);
    let output = run(&mut clients);
    assert!(output.status.success(), "{}", lossy(&output.stderr));
    assert!(has_loaded(server.pid(), &module()));
    // All but the key's first ones.
    let here = public_key(&[server.pid()]);
    assert!(here.alone + here.in_groups > 100, "{here:?}");
    assert_eq!(here.faults, 0);
}

const SERVER: &str = r#"
import http.server, ssl, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def setup(self):
        self.request.do_handshake()
        super().setup()
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello")
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler)
server.request_queue_size = 64
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1])
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
server.serve_forever()
"#;
