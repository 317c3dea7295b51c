//! nginx and curl with the provider, over TLS 1.2 and 1.3: transfers are unchanged, whichever of the two is accelerated.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::thread;

use oarlock::Algorithm;
use oarlock::Direction::{Decrypt, Encrypt};
use oarlock_testing::{lossy, until};
use tempfile::TempDir;

use crate::host::{
    Accelerated, Program, assert_same, free_port, has_loaded, module, noise_file, open_folder, run,
    succeeds, threads, until_listening, with_conf,
};

struct Suite {
    name: &'static str,
    is_tls_1_3: bool,
    operation: Algorithm,
}

const fn suite(name: &'static str, is_tls_1_3: bool, operation: Algorithm) -> Suite {
    Suite {
        name,
        is_tls_1_3,
        operation,
    }
}

const AEAD_SUITES: [Suite; 7] = [
    suite("TLS_AES_128_GCM_SHA256", true, Algorithm::Aes128Gcm),
    suite("TLS_AES_256_GCM_SHA384", true, Algorithm::Aes256Gcm),
    suite(
        "TLS_CHACHA20_POLY1305_SHA256",
        true,
        Algorithm::ChaCha20Poly1305,
    ),
    suite("ECDHE-RSA-AES128-GCM-SHA256", false, Algorithm::Aes128Gcm),
    suite("ECDHE-RSA-AES256-GCM-SHA384", false, Algorithm::Aes256Gcm),
    suite(
        "ECDHE-RSA-CHACHA20-POLY1305",
        false,
        Algorithm::ChaCha20Poly1305,
    ),
    suite("AES128-GCM-SHA256", false, Algorithm::Aes128Gcm),
];

const CBC_SUITES: [Suite; 6] = [
    suite("ECDHE-RSA-AES128-SHA", false, Algorithm::Aes128Cbc),
    suite("ECDHE-RSA-AES256-SHA", false, Algorithm::Aes256Cbc),
    suite("ECDHE-RSA-AES128-SHA256", false, Algorithm::Aes128Cbc),
    suite("ECDHE-RSA-AES256-SHA384", false, Algorithm::Aes256Cbc),
    suite("AES128-SHA", false, Algorithm::Aes128Cbc),
    suite("AES256-SHA256", false, Algorithm::Aes256Cbc),
];

#[test]
fn files_go_down_and_up_whoever_is_accelerated() {
    for (accelerates_server, accelerates_client) in [(true, true), (true, false), (false, true)] {
        let on_server = accelerates_server.then(Accelerated::new);
        let nginx = Nginx::start(on_server.as_ref());
        for suite in AEAD_SUITES.iter().chain(&CBC_SUITES) {
            let on_client = accelerates_client.then(Accelerated::new);
            let before = on_server.as_ref().map(|it| counted(it, suite));
            nginx.moves_both_ways(on_client.as_ref(), suite, nginx.port);
            if let (Some(counters), Some((sent, taken))) = (&on_server, before) {
                let (encrypted, decrypted) = counted(counters, suite);
                assert!(encrypted - sent >= DOWN_BYTES, "{} at nginx", suite.name);
                assert!(decrypted - taken >= UP_BYTES, "{} at nginx", suite.name);
            }
            if let Some(counters) = &on_client {
                let (encrypted, decrypted) = counted(counters, suite);
                assert!(decrypted >= DOWN_BYTES, "{} at curl", suite.name);
                assert!(encrypted >= UP_BYTES, "{} at curl", suite.name);
            }
        }
    }
}

/// TLS records before RFC 7366 encrypt the MAC. OpenSSL has combined ciphers for this with SHA-1 and SHA-256, which remain
/// in use.
#[test]
fn records_with_the_mac_inside_go_through_as_well() {
    let (on_server, on_client) = (Accelerated::new(), Accelerated::new());
    let nginx = Nginx::start(Some(&on_server));
    for suite in &CBC_SUITES {
        nginx.moves_both_ways(Some(&on_client), suite, nginx.port_mac_inside);
        nginx.moves_both_ways(None, suite, nginx.port_mac_inside);
    }
    for counters in [&on_server, &on_client] {
        assert!(counters.bytes(Algorithm::Aes256Cbc, Encrypt) >= UP_BYTES);
        assert!(counters.bytes(Algorithm::Aes256Cbc, Decrypt) >= UP_BYTES);
        // All of these suites use SHA-1 or SHA-256.
        assert!(counters.bytes(Algorithm::Aes128Cbc, Encrypt) < UP_BYTES);
    }
}

/// Workers are forked after the provider was loaded, and change their user.
#[test]
fn a_reload_in_the_middle_disturbs_no_transfer() {
    for on_server in [
        Accelerated::new(),
        Accelerated::forced("stripe"),
        Accelerated::forced("prefetch"),
    ] {
        let nginx = Nginx::start(Some(&on_server));
        let data = fs::read(nginx.folder.path().join("down")).unwrap();
        // nginx listens before it has forked all of them.
        until("there are workers", || nginx.workers().len() == 3);
        let workers = nginx.workers();
        assert!(workers.iter().all(|pid| has_loaded(*pid, &module())));
        assert_eq!(threads(nginx.program.pid()), 1, "the master has a helper");

        let slow = nginx.folder.path().join("slow");
        let mut curl = nginx.curl(None, &AEAD_SUITES[1]);
        curl.args(["--limit-rate", "32M", "-o"]).arg(&slow);
        let transfer = Program::start(curl.arg(nginx.url(nginx.port, "down")));
        until("it is under way", || {
            slow.metadata().is_ok_and(|it| it.len() > 1 << 20)
        });
        nginx.program.signal(libc::SIGHUP);
        until("there are new workers", || {
            let new = nginx.workers().into_iter();
            new.filter(|pid| !workers.contains(pid)).count() == 3
        });
        let fresh = succeeds(
            nginx
                .curl(None, &AEAD_SUITES[0])
                .arg(nginx.url(nginx.port, "down")),
        );
        assert_same(&fresh, &data, "from a new worker");
        assert!(transfer.ends_within(oarlock_testing::LIMIT).success());
        assert_same(&fs::read(&slow).unwrap(), &data, "from an old worker");
        until("old workers are gone", || nginx.workers().len() == 3);
        let log = nginx.log();
        assert!(!log.contains("[alert]") && !log.contains("[crit]"), "{log}");
    }
}

#[test]
fn many_requests_share_a_connection_and_many_connections_a_worker() {
    let (on_server, on_client) = (Accelerated::new(), Accelerated::new());
    let nginx = Nginx::start(Some(&on_server));
    let small = fs::read(nginx.folder.path().join("small")).unwrap();
    for suite in [&AEAD_SUITES[1], &AEAD_SUITES[5], &CBC_SUITES[3]] {
        let mut curl = nginx.curl(Some(&on_client), suite);
        curl.args(["-w", "%{stderr}%{num_connects}\n"]);
        let output = run(curl.arg(nginx.url(nginx.port, "small?[1-500]")));
        assert!(output.status.success(), "{}", lossy(&output.stderr));
        assert_same(&output.stdout, &small.repeat(500), suite.name);
        let connects = lossy(&output.stderr);
        let connects: u32 = connects
            .lines()
            .map(|line| line.parse::<u32>().unwrap())
            .sum();
        assert_eq!(connects, 1, "{}", suite.name);
    }
    thread::scope(|scope| {
        for number in 0..16 {
            let (nginx, small, on_client) = (&nginx, &small, &on_client);
            scope.spawn(move || {
                let suite = &AEAD_SUITES[number % AEAD_SUITES.len()];
                for _ in 0..5 {
                    let mut curl = nginx.curl(Some(on_client), suite);
                    let came = succeeds(curl.arg(nginx.url(nginx.port, "small")));
                    assert_same(&came, small, suite.name);
                }
            });
        }
    });
}

#[test]
fn without_a_module_that_works_curl_and_nginx_go_on_alone() {
    let folder = open_folder();
    let missing = Accelerated::of(&folder.path().join("missing"));
    let wrong = Accelerated::with_wrong("strategy=fast");
    for accelerated in [&missing, &wrong] {
        let nginx = Nginx::start(Some(accelerated));
        for suite in [&AEAD_SUITES[0], &CBC_SUITES[0]] {
            nginx.moves_both_ways(Some(accelerated), suite, nginx.port);
        }
        let mut curl = nginx.curl(Some(accelerated), &AEAD_SUITES[0]);
        let output = run(curl.arg(nginx.url(nginx.port, "none_such")));
        assert_eq!(output.status.code(), Some(22), "of --fail, as without");
        assert!(accelerated.counted().lines.is_empty());
    }
    assert_eq!(missing.counted().processes, 0);
    assert!(wrong.counted().processes > 0);
}

/// Returns the encrypted and decrypted bytes.
fn counted(counters: &Accelerated, suite: &Suite) -> (u64, u64) {
    (
        counters.bytes(suite.operation, Encrypt),
        counters.bytes(suite.operation, Decrypt),
    )
}

const DOWN_BYTES: u64 = 64 << 20;
const UP_BYTES: u64 = 8 << 20;

struct Nginx {
    program: Program,
    port: u16,
    port_mac_inside: u16,
    folder: TempDir,
}

impl Nginx {
    fn start(accelerated: Option<&Accelerated>) -> Self {
        let folder = open_folder();
        let path = |name: &str| folder.path().join(name);
        noise_file(&path("down"), DOWN_BYTES as usize);
        noise_file(&path("to_go_up"), UP_BYTES as usize);
        noise_file(&path("small"), 5000);
        fs::create_dir(path("up")).unwrap();
        fs::set_permissions(path("up"), Permissions::from_mode(0o777)).unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        let mut request = Command::new("openssl");
        request.args([
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
        ]);
        request.args([
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
        ]);
        request.arg("-keyout").arg(path("key.pem"));
        request.arg("-out").arg(path("cert.pem"));
        succeeds(request.env_remove("OPENSSL_CONF"));

        let (port, port_mac_inside) = (free_port(), free_port());
        let (place, server) = (folder.path().display(), |port: u16, more: &str| {
            format!(
                "server {{ listen 127.0.0.1:{port} ssl; root {}; {more}\n\
                 location /up/ {{ dav_methods PUT; }} }}\n",
                folder.path().display()
            )
        });
        let conf = format!(
            "daemon off; worker_processes 3; pid {place}/pid; error_log stderr warn; user nobody nogroup;\n\
             events {{ worker_connections 256; }}\n\
             http {{ access_log off; client_max_body_size 0; keepalive_requests 100000;\n\
             client_body_temp_path {place}/t1; proxy_temp_path {place}/t2; fastcgi_temp_path {place}/t3;\n\
             uwsgi_temp_path {place}/t4; scgi_temp_path {place}/t5;\n\
             ssl_certificate {place}/cert.pem; ssl_certificate_key {place}/key.pem;\n\
             ssl_protocols TLSv1.2 TLSv1.3; ssl_ciphers ALL;\n{}{} }}\n",
            server(port, ""),
            server(port_mac_inside, "ssl_conf_command Options -EncryptThenMac;"),
        );
        fs::write(path("nginx.conf"), conf).unwrap();
        let mut nginx = Command::new("nginx");
        nginx.arg("-c").arg(path("nginx.conf"));
        nginx.stderr(File::create(path("log")).unwrap());
        let program = Program::start(with_conf(&mut nginx, accelerated));
        until_listening(&program, port);
        Self {
            program,
            port,
            port_mac_inside,
            folder,
        }
    }

    fn log(&self) -> String {
        lossy(&fs::read(self.folder.path().join("log")).unwrap())
    }

    fn workers(&self) -> Vec<u32> {
        self.program.children()
    }

    fn url(&self, port: u16, name: &str) -> String {
        format!("https://127.0.0.1:{port}/{name}")
    }

    fn curl(&self, accelerated: Option<&Accelerated>, suite: &Suite) -> Command {
        let mut command = Command::new("curl");
        with_conf(&mut command, accelerated);
        command.args([
            "-q",
            "--silent",
            "--show-error",
            "--fail",
            "--noproxy",
            "*",
            "--http1.1",
        ]);
        command
            .arg("--cacert")
            .arg(self.folder.path().join("cert.pem"));
        if suite.is_tls_1_3 {
            command.args(["--tlsv1.3", "--tls13-ciphers", suite.name])
        } else {
            command.args(["--tls-max", "1.2", "--ciphers", suite.name])
        };
        command
    }

    /// Downloads one file and uploads another.
    fn moves_both_ways(&self, accelerated: Option<&Accelerated>, suite: &Suite, port: u16) {
        let read = |path: &Path| fs::read(path).unwrap();
        let place = |name: &str| self.folder.path().join(name);
        let mut curl = self.curl(accelerated, suite);
        succeeds(
            curl.arg("-o")
                .arg(place("came"))
                .arg(self.url(port, "down")),
        );
        assert_same(&read(&place("came")), &read(&place("down")), suite.name);

        let mut curl = self.curl(accelerated, suite);
        curl.arg("-T").arg(place("to_go_up"));
        succeeds(curl.arg(self.url(port, "up/file")));
        let (up, sent) = (place("up/file"), place("to_go_up"));
        assert_same(&read(&up), &read(&sent), suite.name);
        fs::remove_file(up).unwrap();
    }
}
