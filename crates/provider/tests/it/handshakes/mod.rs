//! Servers with an RSA key: handshakes of TLS 1.2 and 1.3, whose signatures are batched. haproxy and Python are tested here,
//! the others in modules of their names.

mod apache;
mod daemon;
mod nginx;
mod openssl;
mod postgres;
mod site;

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use oarlock::Accelerator;
use oarlock_engine::costs::PublicKeyStats;
use oarlock_engine::costs::published::{self, Figures};
use oarlock_testing::{Attacked, lossy, until};

use self::site::Site;
use crate::host::{
    Accelerated, Program, free_port, has_lanes, has_loaded, module, run, succeeds, until_listening,
    with_conf,
};

/// haproxy with `ssl-mode-async`, which reloads on SIGUSR2.
struct Haproxy {
    site: Site,
    program: Program,
}

impl Haproxy {
    fn start(accelerated: Option<&Accelerated>, haproxy_threads: usize) -> Self {
        Self::with(accelerated, haproxy_threads, 500, None)
    }

    /// Starts HAProxy with at most `connections` connections, and with a server behind it or an answer of its own.
    fn with(
        accelerated: Option<&Accelerated>,
        haproxy_threads: usize,
        connections: usize,
        behind: Option<u16>,
    ) -> Self {
        let site = Site::new();
        let (folder, port) = (site.folder.path(), site.port);
        let place = folder.display();
        // The shipped configuration, with other addresses and additions for tests.
        let mut conf = SHIPPED.to_owned();
        for (shipped, here) in [
            (
                "    maxconn 20000\n",
                format!(
                    "    maxconn {connections}\n    nbthread {haproxy_threads}\n    tune.ssl.cachesize 0\n    \
                stats socket {place}/control expose-fd listeners\n"
                ),
            ),
            ("maxpipes 20000", format!("maxpipes {connections}")),
            ("crt-base /etc/haproxy", format!("crt-base {place}")),
            (
                "0.0.0.0:443 ssl crt site.pem",
                format!("127.0.0.1:{port} ssl crt both.pem no-tls-tickets"),
            ),
            match behind {
                Some(behind) => ("127.0.0.1:8080", format!("127.0.0.1:{behind}")),
                None => (
                    "    default_backend site\n",
                    "    http-request return status 200 content-type text/plain string hello\n"
                        .to_owned(),
                ),
            },
        ] {
            assert!(conf.contains(shipped), "{shipped}");
            conf = conf.replace(shipped, &here);
        }
        fs::write(folder.join("haproxy.cfg"), conf).unwrap();
        let mut haproxy = Command::new("haproxy");
        with_conf(&mut haproxy, accelerated);
        // Its warnings are about limits that are not configured.
        haproxy
            .arg("-W")
            .arg("-db")
            .arg("-f")
            .arg(folder.join("haproxy.cfg"));
        haproxy.stdout(Stdio::null()).stderr(Stdio::null());
        let program = Program::start(&mut haproxy);
        until_listening(&program, port);
        let haproxy = Self { site, program };
        // haproxy listens before it starts its workers.
        until("a worker is there", || !haproxy.workers().is_empty());
        haproxy
    }

    /// Returns the serving processes.
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
        let mut before = PublicKeyStats::default();
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
            // The number depends on the speed of the clients: all requests could share a batch, and some must.
            assert!(
                in_groups >= 16 && in_groups > groups,
                "{what}: {in_groups} in {groups} groups"
            );
            before = here;
        }
        succeeds(&mut haproxy.is_asked(20, 1, "TLSv1_3", 0));
    }
}

/// Returns the sum of the processes' figures. Workers count in the process that they were forked from.
fn public_key(processes: &[u32]) -> PublicKeyStats {
    figures(processes).fold(PublicKeyStats::default(), |sum, figures| {
        let here = figures.public_key;
        PublicKeyStats {
            alone: sum.alone + here.alone,
            in_groups: sum.in_groups + here.in_groups,
            groups: sum.groups + here.groups,
            faults: sum.faults + here.faults,
            ..sum
        }
    })
}

fn figures(processes: &[u32]) -> impl Iterator<Item = Figures> {
    let found = published::running().into_iter();
    let figures = found.filter_map(|found| found.figures.ok());
    figures.filter(|figures| processes.contains(&figures.process))
}

/// Checks the figures of hundreds of signatures. Without AVX-512 two fill the lanes, and aws-lc alone may be as fast.
fn assert_computed_together(here: &PublicKeyStats) {
    let accelerator = Accelerator::builder().environment().build().unwrap();
    if accelerator.lanes().is_some_and(|(_, lanes)| lanes == 8) {
        assert!(
            here.in_groups >= 100 && here.in_groups > 2 * here.groups,
            "{here:?}"
        );
    }
}

/// Connections that end while their jobs are paused affect no others and leave nothing behind, wherever a job is paused:
/// with one thread and with several. The command's tests do the same with another machine's key.
#[test]
fn connections_that_break_off_do_no_harm() {
    if !has_lanes() {
        return;
    }
    for haproxy_threads in [1, 2] {
        let accelerated = Accelerated::with("publish=on,");
        let haproxy = Haproxy::start(Some(&accelerated), haproxy_threads);
        let worker = haproxy.workers()[0];
        let processes = [worker, haproxy.program.pid()];
        let attacked = Attacked {
            port: haproxy.site.port,
            certificate: &haproxy.site.folder.path().join("cert.pem"),
            process: worker,
            serves: &|| {
                for version in ["TLSv1_3", "TLSv1_2"] {
                    succeeds(&mut haproxy.is_asked(60, 32, version, 20));
                }
            },
            pauses: &|| {
                let before = public_key(&processes);
                succeeds(&mut haproxy.is_asked(200, 32, "TLSv1_3", 0));
                let after = public_key(&processes);
                let in_groups = after.in_groups - before.in_groups;
                in_groups >= 16 && in_groups > after.groups - before.groups
            },
        };
        attacked.outlives_cut_handshakes();
        let abandoned = figures(&processes).map(|it| it.abandoned);
        assert!(abandoned.sum::<u64>() > 0, "they are shown");
        assert!(haproxy.program.is_running());
        assert_eq!(haproxy.workers(), [worker], "it was not started again");
    }
}

/// haproxy exits if it runs out of descriptors beyond the sockets that it counts. Each connection has one of ours during its
/// lifetime, in addition to its client's and its backend's.
#[test]
fn as_many_connections_as_are_allowed_are_served_at_once() {
    if !has_lanes() {
        return;
    }
    let behind = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = behind.local_addr().unwrap().port();
    let accelerated = Accelerated::new();
    let haproxy = Haproxy::with(Some(&accelerated), 1, 60, Some(port));
    let worker = haproxy.workers();
    let mut clients = Command::new("python3");
    with_conf(&mut clients, None);
    clients
        .args(["-c", WAITING_CLIENTS])
        .arg(haproxy.site.folder.path().join("cert.pem"));
    clients.args([haproxy.site.port.to_string(), "60".to_owned()]);
    let clients = Program::start(&mut clients);
    // All of them arrive before the first is answered.
    behind.set_nonblocking(true).unwrap();
    let mut waiting = Vec::new();
    until("all of them wait", || {
        waiting.extend(behind.accept().ok());
        waiting.len() == 60
    });
    for (mut connection, _) in waiting {
        connection
            .write_all(b"HTTP/1.0 200 OK\r\n\r\nhello")
            .unwrap();
    }
    assert!(clients.ends_within(Duration::from_secs(60)).success());
    assert_eq!(haproxy.workers(), worker, "it was not started again");
}

/// The arguments: certificate, port, number of clients.
const WAITING_CLIENTS: &str = r#"
import socket, ssl, sys, threading
context = ssl.create_default_context(cafile=sys.argv[1])
served = []
def ask():
    client = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
    client = context.wrap_socket(client, server_hostname="localhost")
    client.sendall(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")
    answer = b""
    while got := client.recv(4096): answer += got
    served.append(answer.endswith(b"hello"))
threads = [threading.Thread(target=ask) for _ in range(int(sys.argv[3]))]
for thread in threads: thread.start()
for thread in threads: thread.join()
sys.exit(served != [True] * len(threads))
"#;

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

fn signal(pid: u32, signal: libc::c_int) {
    // SAFETY: kill takes only numbers; this test started the process.
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
    let haproxy = Haproxy::start(None, 1); // only for its key
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
    // All signatures but the key's first ones.
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
