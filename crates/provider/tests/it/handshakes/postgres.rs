//! PostgreSQL: a process for each connection, forked from the one that has loaded the key.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use oarlock::Algorithm;
use oarlock::Direction::Encrypt;
use oarlock_testing::{is_root, lossy, skip, until};

use super::site::Site;
use super::{signal, told};
use crate::host::{Accelerated, Program, succeeds, until_listening, with_conf};

/// The user of the server on Debian and elsewhere; PostgreSQL refuses to run as root.
const NOBODY: u32 = 65534;

struct Postgres {
    site: Site,
    bin: PathBuf,
    program: Program,
}

impl Postgres {
    /// Returns `None` with a message if it is not installed or may not change its user.
    fn start(accelerated: &Accelerated) -> Option<Self> {
        if !is_root("PostgreSQL, as another user") {
            return None;
        }
        let Some(bin) = bin() else {
            skip("PostgreSQL is not installed");
            return None;
        };
        let site = Site::new();
        let (folder, port) = (site.folder.path(), site.port);
        let data = folder.join("data");
        fs::create_dir(&data).unwrap();
        chown(&data, Some(NOBODY), Some(NOBODY)).unwrap();
        fs::set_permissions(&data, Permissions::from_mode(0o700)).unwrap();
        let by_nobody = |name: &str| {
            let mut command = Command::new(bin.join(name));
            command.current_dir("/").uid(NOBODY).gid(NOBODY);
            command.arg("-D").arg(&data);
            command
        };
        let mut init = by_nobody("initdb");
        init.args(["--auth=trust", "--username=postgres", "--no-sync"]);
        succeeds(with_conf(&mut init, None));
        // The key must not be readable by other users.
        let key = data.join("key.pem");
        fs::copy(folder.join("key.pem"), &key).unwrap();
        chown(&key, Some(NOBODY), Some(NOBODY)).unwrap();
        fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
        let place = data.display();
        let settings = format!(
            "ssl = on\nssl_key_file = '{place}/key.pem'\nssl_cert_file = '{}/cert.pem'\nfsync = off\nport = {port}\n\
             listen_addresses = '127.0.0.1'\nunix_socket_directories = '{place}'\n",
            folder.display()
        );
        fs::write(data.join("postgresql.conf"), settings).unwrap();
        let mut server = by_nobody("postgres");
        server.env("LC_ALL", "C");
        server.stderr(fs::File::create(folder.join("log")).unwrap());
        let program = Program::start(accelerated.apply(&mut server));
        until_listening(&program, port);
        let postgres = Self { site, bin, program };
        // PostgreSQL listens before it is ready, and rejects earlier clients.
        let is_ready = "ready to accept connections";
        until("it is ready", || postgres.log().contains(is_ready));
        Some(postgres)
    }

    /// Returns connection parameters for TLS with verification of the server's certificate.
    fn by_tls(&self, version: &str) -> String {
        let certificate = self.site.folder.path().join("cert.pem");
        format!(
            "host=localhost hostaddr=127.0.0.1 port={} user=postgres dbname=postgres sslmode=verify-full sslrootcert={} \
             ssl_min_protocol_version={version} ssl_max_protocol_version={version}",
            self.site.port,
            certificate.display()
        )
    }

    fn beside_tls(&self) -> String {
        let folder = self.site.folder.path().join("data");
        let (port, folder) = (self.site.port, folder.display());
        format!("host={folder} port={port} user=postgres dbname=postgres")
    }

    fn psql(&self, connection: &str, statement: &str) -> Command {
        let mut psql = Command::new(self.bin.join("psql"));
        with_conf(&mut psql, None).args(["-X", "-q", connection, "-c", statement]);
        psql
    }

    /// Returns a command in which each of eight clients connects `times` times in a row.
    fn is_connected_to(&self, connection: &str, times: usize) -> Command {
        let script = self.site.folder.path().join("script");
        fs::write(&script, "select 1;\n").unwrap();
        let mut clients = Command::new(self.bin.join("pgbench"));
        with_conf(&mut clients, None).args(["-n", "-C", "-c", "8", "-j", "2"]);
        clients.args(["-t", &times.to_string(), "-f"]).arg(script);
        clients.arg(connection);
        clients
    }

    fn log(&self) -> String {
        told(&self.site.folder.path().join("log"))
    }
}

/// Returns the program directory of the highest installed version.
fn bin() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let versions = versions.flatten().map(|entry| entry.path().join("bin"));
    let number = |bin: &Path| bin.parent()?.file_name()?.to_str()?.parse::<u32>().ok();
    versions
        .filter(|bin| bin.join("postgres").exists())
        .max_by_key(|bin| number(bin))
}

#[test]
fn every_connection_of_postgres_signs_and_a_reload_fails_none() {
    let accelerated = Accelerated::for_all("");
    let Some(postgres) = Postgres::start(&accelerated) else {
        return;
    };
    for version in ["TLSv1.3", "TLSv1.2"] {
        let connection = postgres.by_tls(version);
        let said = succeeds(&mut postgres.is_connected_to(&connection, 25));
        assert!(lossy(&said).contains("200/200"), "{}", lossy(&said));
    }
    let signed = accelerated.counted().private_operations;
    assert!(signed.alone + signed.in_lanes >= 400, "{signed:?}");

    // A long answer is the same as without TLS.
    let rows = "copy (select md5(i::text) from generate_series(1, 200000) i) to stdout";
    let plain = succeeds(&mut postgres.psql(&postgres.beside_tls(), rows));
    let came = succeeds(&mut postgres.psql(&postgres.by_tls("TLSv1.3"), rows));
    assert!(came == plain && came.len() > 6_000_000, "{}", came.len());
    let sealed = accelerated.bytes(Algorithm::Aes256Gcm, Encrypt);
    assert!(sealed > came.len() as u64, "{sealed}");

    // The server reloads its key during handshakes.
    let connection = postgres.by_tls("TLSv1.3");
    let clients = Program::start(&mut postgres.is_connected_to(&connection, 50));
    for _ in 0..5 {
        std::thread::sleep(Duration::from_millis(100));
        signal(postgres.program.pid(), libc::SIGHUP);
    }
    let ended = clients.ends_within(Duration::from_secs(60));
    assert!(ended.success(), "{}", postgres.log());
    let log = postgres.log();
    assert!(!log.contains("FATAL") && !log.contains("PANIC"), "{log}");
}
