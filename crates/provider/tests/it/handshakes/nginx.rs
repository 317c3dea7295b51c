//! nginx: its workers, which run as another user than their master, batch their requests on a board.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use oarlock_testing::{is_root, lossy, until};

use super::daemon::Daemon;
use super::site::Site;
use super::{assert_computed_together, public_key, told};
use crate::host::{
    Accelerated, Program, descriptors, has_lanes, has_loaded, module, run, succeeds, threads,
    until_listening, with_conf,
};

/// The worker's user on Debian and elsewhere.
const NOBODY: u32 = 65534;

struct Nginx {
    site: Site,
    program: Program,
}

impl Nginx {
    fn start(accelerated: &Accelerated, workers: usize) -> Self {
        let site = Site::new();
        let (folder, port) = (site.folder.path(), site.port);
        let place = folder.display();
        // The configuration in deploy/, with other addresses and additions for tests.
        let mut conf = include_str!("../../../../../deploy/nginx-rsa.conf").to_owned();
        for (shipped, here) in [
            (
                "user www-data;",
                "user nobody nogroup; daemon off;".to_owned(),
            ),
            (
                "worker_processes 8;",
                format!("worker_processes {workers};"),
            ),
            (
                "pid /run/nginx.pid;",
                format!("pid {place}/pid; error_log stderr warn;"),
            ),
            ("/etc/nginx/site-cert.pem", format!("{place}/cert.pem")),
            ("/etc/nginx/site-key.pem", format!("{place}/key.pem")),
            (
                "http {\n",
                format!(
                    "http {{\n    access_log off; client_body_temp_path {place}/t1; proxy_temp_path {place}/t2;\n    \
                     fastcgi_temp_path {place}/t3; uwsgi_temp_path {place}/t4; scgi_temp_path {place}/t5;\n"
                ),
            ),
            (
                "    server {\n",
                "    ssl_session_tickets off; ssl_session_cache off;\n    server {\n".to_owned(),
            ),
            ("0.0.0.0:443", format!("127.0.0.1:{port}")),
            (
                "proxy_pass http://127.0.0.1:8080;",
                "return 200 hello;".to_owned(),
            ),
        ] {
            assert!(conf.contains(shipped), "{shipped}");
            conf = conf.replace(shipped, &here);
        }
        fs::write(folder.join("nginx.conf"), conf).unwrap();
        let mut nginx = Command::new("nginx");
        with_conf(&mut nginx, Some(accelerated));
        nginx.arg("-c").arg(folder.join("nginx.conf"));
        nginx.stdout(Stdio::null());
        nginx.stderr(fs::File::create(folder.join("log")).unwrap());
        let program = Program::start(&mut nginx);
        until_listening(&program, port);
        let nginx = Self { site, program };
        until("workers are there", || {
            nginx.program.children().len() == workers
        });
        nginx
    }

    fn log(&self) -> String {
        told(&self.site.folder.path().join("log"))
    }
}

/// Starts an nginx with readable figures, and the daemon that its workers use.
fn started(workers: usize) -> Option<(Nginx, Daemon, Accelerated)> {
    if !has_lanes() || !is_root("nginx with workers of another user") {
        return None;
    }
    let daemon = Daemon::start(NOBODY);
    let mut accelerated = Accelerated::new();
    accelerated.meets_at(&daemon.socket());
    Some((Nginx::start(&accelerated, workers), daemon, accelerated))
}

#[test]
fn workers_of_nginx_sign_together() {
    let Some((nginx, _daemon, _accelerated)) = started(6) else {
        return;
    };
    let workers = nginx.program.children();
    assert!(workers.iter().all(|pid| has_loaded(*pid, &module())));
    let figures = || public_key(&[&workers[..], &[nginx.program.pid()]].concat());
    // The default provider makes each worker's first signatures.
    for version in ["TLSv1_3", "TLSv1_2"] {
        succeeds(&mut nginx.site.is_asked(600, 48, version, 0));
    }
    let here = figures();
    assert_eq!(here.faults, 0);
    assert_computed_together(&here);
    // No thread and no descriptor is left.
    for worker in &workers {
        assert_eq!(threads(*worker), 1);
    }
    let before: usize = workers.iter().map(|worker| descriptors(*worker)).sum();
    succeeds(&mut nginx.site.is_asked(600, 48, "TLSv1_3", 100));
    until("descriptors are closed", || {
        workers
            .iter()
            .map(|worker| descriptors(*worker))
            .sum::<usize>()
            <= before
    });
    succeeds(&mut nginx.site.is_asked(20, 1, "TLSv1_3", 0));
    assert_eq!(nginx.program.children(), workers, "none was started again");
    let log = nginx.log();
    assert!(!log.contains("[alert]") && !log.contains("[crit]"), "{log}");
}

/// The daemon stops and restarts, workers are killed, nginx reloads: only handshakes of a killed worker fail.
#[test]
fn whatever_ends_under_load_no_handshake_fails() {
    let Some((nginx, mut daemon, _accelerated)) = started(6) else {
        return;
    };
    let log = nginx.site.folder.path().join("clients");
    let begin = || {
        let mut clients = nginx.site.is_asked(900, 32, "TLSv1_3", 0);
        clients.stderr(fs::File::create(&log).unwrap());
        Program::start(&mut clients)
    };
    let ends = |clients: Program| {
        let ended = clients.ends_within(Duration::from_secs(60));
        assert!(ended.success(), "{}", told(&log));
    };
    let clients = begin();
    for _ in 0..2 {
        std::thread::sleep(Duration::from_millis(100));
        daemon.stops();
        let before = nginx.program.children();
        nginx.program.signal(libc::SIGHUP);
        until("new workers are there", || {
            let new = nginx.program.children().into_iter();
            new.filter(|pid| !before.contains(pid)).count() == 6
        });
        std::thread::sleep(Duration::from_millis(100));
        daemon.starts_again();
    }
    ends(clients);
    until("old workers are gone", || {
        nginx.program.children().len() == 6
    });

    // A killed worker loses its own connections and no others.
    let clients = begin();
    std::thread::sleep(Duration::from_millis(150));
    let worker = nginx.program.children()[0];
    super::signal(worker, libc::SIGKILL);
    let _ = clients.ends_within(Duration::from_secs(60));
    until("nginx starts another", || {
        let workers = nginx.program.children();
        workers.len() == 6 && !workers.contains(&worker)
    });
    ends(begin());
}

/// A program that forks with the provider loaded, keys in use and a board in its memory.
#[test]
fn children_of_a_fork_sign_and_meet_on_their_own() {
    if !has_lanes() {
        return;
    }
    let daemon = Daemon::start(NOBODY);
    let mut accelerated = Accelerated::new();
    accelerated.meets_at(&daemon.socket());
    let site = Site::new();
    let mut python = Command::new("python3");
    accelerated.apply(&mut python);
    python.args(["-c", FORKS]).arg(site.folder.path());
    let output = run(&mut python);
    assert!(output.status.success(), "{}", lossy(&output.stderr));
}

const FORKS: &str = r#"
import os, ssl, sys
folder = sys.argv[1]
server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
server.load_cert_chain(folder + "/both.pem")
client = ssl.create_default_context(cafile=folder + "/cert.pem")
def handshake():
    ours, theirs = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [client.wrap_bio(theirs, ours, server_hostname="localhost"), server.wrap_bio(ours, theirs, server_side=True)]
    while ends:
        for end in list(ends):
            try:
                end.do_handshake()
                ends.remove(end)
            except ssl.SSLWantReadError:
                pass
def some(count):
    for _ in range(count):
        handshake()
some(60)
children = []
for number in range(4):
    pid = os.fork()
    if pid == 0:
        some(60)
        # A child of a child, too.
        if number == 0:
            inner = os.fork()
            if inner == 0:
                some(30)
                os._exit(0)
            assert os.waitpid(inner, 0)[1] == 0
        os._exit(0)
    children.append(pid)
some(60)
for pid in children:
    assert os.waitpid(pid, 0)[1] == 0
"#;
