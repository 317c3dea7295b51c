//! Apache with its MPM `event`: threads of one process that sign concurrently.

use std::fs;
use std::process::Command;
use std::time::Duration;

use oarlock_testing::{is_root, until};

use super::daemon::Daemon;
use super::site::Site;
use super::{assert_computed_together, public_key, signal, told};
use crate::host::{
    Accelerated, Program, has_lanes, has_loaded, module, succeeds, until_listening, with_conf,
};

/// Debian's ID of the configuration's user.
const WWW_DATA: u32 = 33;

struct Apache {
    site: Site,
    program: Program,
}

impl Apache {
    /// Returns `None` with a message if it may not change its user.
    fn start(accelerated: &Accelerated) -> Option<Self> {
        if !is_root("Apache's workers of another user") {
            return None;
        }
        let site = Site::new();
        let (folder, port) = (site.folder.path(), site.port);
        let place = folder.display();
        // The shipped configuration, with other addresses and additions for tests.
        let mut conf = include_str!("../../../../../deploy/apache-rsa.conf").to_owned();
        for (shipped, here) in [
            ("/etc/apache2/site-cert.pem", format!("{place}/cert.pem")),
            ("/etc/apache2/site-key.pem", format!("{place}/key.pem")),
            (
                "ServerRoot /etc/apache2\n",
                format!("ServerRoot {place}\nDocumentRoot {place}\n"),
            ),
            ("/run/apache2.pid", format!("{place}/pid")),
            (
                "DefaultRuntimeDir /run\n",
                format!("DefaultRuntimeDir {place}\n"),
            ),
            ("/var/log/apache2/error.log", format!("{place}/log")),
            ("/run/apache2-sessions", format!("{place}/sessions")),
            ("0.0.0.0:443", format!("127.0.0.1:{port}")),
            ("*:443", format!("*:{port}")),
            (
                "ProxyPass / http://127.0.0.1:8080/",
                "SSLSessionTickets off\nErrorDocument 403 hello\nErrorDocument 404 hello"
                    .to_owned(),
            ),
        ] {
            assert!(conf.contains(shipped), "{shipped}");
            conf = conf.replace(shipped, &here);
        }
        fs::write(folder.join("apache.conf"), conf).unwrap();
        let mut apache = Command::new("apache2");
        with_conf(&mut apache, Some(accelerated));
        apache.arg("-f").arg(folder.join("apache.conf"));
        let program = Program::start(apache.arg("-DFOREGROUND"));
        until_listening(&program, port);
        let apache = Self { site, program };
        until("a worker is there", || !apache.workers().is_empty());
        Some(apache)
    }

    fn workers(&self) -> Vec<u32> {
        self.program.children()
    }
}

#[test]
fn threads_of_apache_sign_and_a_reload_under_load_fails_no_handshake() {
    if !has_lanes() {
        return;
    }
    let accelerated = Accelerated::new();
    let Some(apache) = Apache::start(&accelerated) else {
        return;
    };
    let log = apache.site.folder.path().join("log");
    let first = apache.workers();
    assert!(has_loaded(first[0], &module()), "{}", told(&log));
    for version in ["TLSv1_3", "TLSv1_2"] {
        succeeds(&mut apache.site.is_asked(200, 32, version, 20));
    }
    succeeds(&mut apache.site.is_sent_premaster_secrets(3, 32));
    let pid = apache.program.pid();
    let here = public_key(&[&apache.workers()[..], &[pid]].concat());
    // All signatures except the key's first ones.
    assert!(here.alone + here.in_groups > 300, "{here:?}");
    assert_eq!(here.faults, 0);

    let mut clients = apache.site.is_asked(600, 24, "TLSv1_3", 0);
    let clients_log = apache.site.folder.path().join("clients");
    clients.stderr(fs::File::create(&clients_log).unwrap());
    let clients = Program::start(&mut clients);
    std::thread::sleep(Duration::from_millis(200));
    // A graceful restart.
    signal(pid, libc::SIGUSR1);
    until("new workers are there", || {
        let workers = apache.workers();
        workers.iter().any(|worker| !first.contains(worker))
    });
    let ended = clients.ends_within(Duration::from_secs(60));
    assert!(ended.success(), "{}", told(&clients_log));
    until("the first workers are gone", || {
        let workers = apache.workers();
        workers.iter().all(|worker| !first.contains(worker))
    });
    succeeds(&mut apache.site.is_asked(20, 4, "TLSv1_3", 0));
}

/// Threads form batches on a board even if none waits for a CPU, unlike threads that do so within their process.
#[test]
fn threads_of_apache_meet_on_a_board() {
    if !has_lanes() {
        return;
    }
    let daemon = Daemon::start(WWW_DATA);
    let mut accelerated = Accelerated::new();
    accelerated.meets_at(&daemon.socket());
    let Some(apache) = Apache::start(&accelerated) else {
        return;
    };
    let figures = || public_key(&[&apache.workers()[..], &[apache.program.pid()]].concat());
    for version in ["TLSv1_3", "TLSv1_2"] {
        succeeds(&mut apache.site.is_asked(300, 32, version, 0));
    }
    let here = figures();
    assert_eq!(here.faults, 0);
    assert_computed_together(&here);
    succeeds(&mut apache.site.is_sent_premaster_secrets(3, 32));
    assert_eq!(figures().faults, 0);
}
