//! OpenSSH with the provider at both ends: a private `sshd` on a loopback port, with privilege separation and its sandbox.
//! Whatever is transferred is compared byte for byte.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use oarlock::Algorithm;
use oarlock::Direction::{Decrypt, Encrypt};
use oarlock_testing::{LIMIT, is_root, lossy, until};
use tempfile::TempDir;

use crate::driver::libcrypto;
use crate::host::{
    Accelerated, Machine, Program, assert_same, descriptors, free_port, goes_into_the_background,
    module, noise_file, oarlock, open_folder, resident_kib, run, run_with, succeeds, threads,
    until_listening, with_conf,
};

/// Ciphers of ssh, and our algorithms. 3DES is not ours, and must also work.
const CIPHERS: [(&str, Option<Algorithm>); 11] = [
    ("3des-cbc", None),
    ("aes128-cbc", Some(Algorithm::Aes128Cbc)),
    ("aes192-cbc", Some(Algorithm::Aes192Cbc)),
    ("aes256-cbc", Some(Algorithm::Aes256Cbc)),
    ("aes128-ctr", Some(Algorithm::Aes128Ctr)),
    ("aes192-ctr", Some(Algorithm::Aes192Ctr)),
    ("aes256-ctr", Some(Algorithm::Aes256Ctr)),
    ("aes128-gcm@openssh.com", Some(Algorithm::Aes128Gcm)),
    ("aes256-gcm@openssh.com", Some(Algorithm::Aes256Gcm)),
    // ssh computes the MAC itself.
    ("chacha20-poly1305@openssh.com", Some(Algorithm::ChaCha20)),
    // The default that both ends agree on.
    ("", None),
];

#[test]
fn every_cipher_of_ssh_is_here() {
    let known = lossy(&succeeds(Command::new("ssh").args(["-Q", "cipher"])));
    let ours: Vec<_> = CIPHERS.iter().map(|(name, _)| *name).collect();
    for name in known.lines() {
        assert!(ours.contains(&name), "{name} is not tested");
    }
}

#[test]
fn streams_are_the_same_whoever_is_accelerated() {
    if !is_root("sshd with privilege separation") {
        return;
    }
    for (accelerates_server, accelerates_client) in
        [(true, true), (true, false), (false, true), (false, false)]
    {
        let on_server = accelerates_server.then(Accelerated::new);
        let server = Server::start(on_server.as_ref());
        for (cipher, operation) in CIPHERS {
            let on_client = accelerates_client.then(Accelerated::new);
            let before = on_server.as_ref().map(|it| counted(it, operation));
            let mut options = vec!["-o", "RekeyLimit=1M"];
            if !cipher.is_empty() {
                options.extend(["-c", cipher]);
            }
            server.moves_both_ways(on_client.as_ref(), &options, cipher);

            let Some(operation) = operation else {
                continue;
            };
            let ends = [("server", &on_server, before), ("client", &on_client, None)];
            for (whose, counters, before) in ends {
                let Some(counters) = counters else {
                    continue;
                };
                let (encrypted, decrypted) = counted(counters, Some(operation));
                let (encrypted_before, decrypted_before) = before.unwrap_or_default();
                let (encrypted, decrypted) =
                    (encrypted - encrypted_before, decrypted - decrypted_before);
                let is_all = match operation {
                    // Its random generator fetches this cipher from its own provider, and OpenSSL 3.5 reuses that for all
                    // later fetches.
                    Algorithm::Aes256Ctr if libcrypto().release() == (3, 5) => true,
                    // ssh requests encryption for everything but packet lengths.
                    Algorithm::ChaCha20 => encrypted >= 2 * BYTES as u64,
                    _ => encrypted.min(decrypted) >= BYTES as u64,
                };
                assert!(is_all, "{cipher}: {encrypted}, {decrypted} at the {whose}");
            }
        }
    }
}

/// Both ends under the real `oarlock run`, as a user types it, and on a machine after `oarlock provider install`. The
/// pre-authentication child ends in order within its filter, which kills it for any unlisted call of ours, at its exit as
/// during its work.
#[test]
fn logins_succeed_under_oarlock_run_and_after_an_installation() {
    if !is_root("sshd with privilege separation") {
        return;
    }
    let machine = Machine::with("offer=all");
    for options in [Some(""), Some("publish=off"), Some("offer=all"), None] {
        let under_oarlock = || match options {
            Some(options) => {
                let mut run = oarlock();
                run.arg("run").arg("--provider").arg(module());
                run.arg(format!("--options={options}")).arg("--");
                run
            }
            None => {
                let prefix = machine.prefix();
                let mut command = Command::new(&prefix[0]);
                command.args(&prefix[1..]).env_remove("OPENSSL_CONF");
                command
            }
        };
        let mut sshd = under_oarlock();
        sshd.arg("/usr/sbin/sshd");
        let server = Server::start_by(sshd);
        let data = fs::read(&server.file).unwrap();
        for (exchange, host_key) in EXCHANGES {
            let ssh = server.ssh(None);
            let mut ssh_under_it = under_oarlock();
            ssh_under_it.arg(ssh.get_program());
            // The first value of an option counts.
            ssh_under_it.arg(format!("-oKexAlgorithms={exchange}"));
            ssh_under_it.arg(format!("-oHostKeyAlgorithms={host_key}"));
            ssh_under_it.args(ssh.get_args()).arg("127.0.0.1");
            let came = succeeds(ssh_under_it.arg(format!("cat {}", server.file.display())));
            assert_same(
                &came,
                &data,
                &format!("{options:?}, {exchange}, {host_key}"),
            );
        }
        let log = server.log();
        for sign in [
            "fatal",
            "terminated by signal",
            "SIGSYS",
            "exited on signal",
        ] {
            assert!(!log.contains(sign), "{log}");
        }
        let logins = log.matches("Accepted publickey").count();
        assert_eq!(logins, EXCHANGES.len(), "{log}");
    }
    let counted = machine.counted();
    assert!(counted.processes > 0 && !counted.lines.is_empty());
}

/// Key exchanges with the algorithm of the host key.
const EXCHANGES: [(&str, &str); 6] = [
    ("curve25519-sha256", "ssh-ed25519"),
    ("ecdh-sha2-nistp256", "ecdsa-sha2-nistp256"),
    ("ecdh-sha2-nistp384", "rsa-sha2-512"),
    ("ecdh-sha2-nistp521", "rsa-sha2-256"),
    ("diffie-hellman-group14-sha256", "ecdsa-sha2-nistp256"),
    ("curve25519-sha256", "rsa-sha2-256"),
];

/// The pre-authentication child may not create a thread: its sandbox would kill it. Afterwards both ends request threads.
#[test]
fn threads_come_after_the_sandbox() {
    if !is_root("sshd with privilege separation") {
        return;
    }
    for strategy in ["stripe", "prefetch"] {
        let on_server = Accelerated::forced(strategy);
        let server = Server::start(Some(&on_server));
        for cipher in ["aes128-ctr", "aes256-gcm@openssh.com", "aes256-cbc"] {
            let on_client = Accelerated::forced(strategy);
            let options = ["-o", "RekeyLimit=1M", "-c", cipher];
            server.moves_both_ways(Some(&on_client), &options, &format!("{strategy}, {cipher}"));
        }
        let on_client = Accelerated::forced(strategy);
        let mut ssh = server.ssh(Some(&on_client));
        ssh.args(["-c", "aes128-ctr", "127.0.0.1", "cat /dev/zero"]);
        let sink = File::create("/dev/null").unwrap();
        let client = Program::start(ssh.stdout(sink));
        until("the client has threads", || {
            assert!(client.is_running());
            threads(client.pid()) > 1
        });
        let log = server.log();
        assert!(!log.contains("fatal"), "{log}");
    }
}

#[test]
fn a_client_goes_into_the_background() {
    if !is_root("sshd with privilege separation") {
        return;
    }
    for on_client in [Accelerated::new(), Accelerated::forced("prefetch")] {
        let on_server = Accelerated::new();
        let server = Server::start(Some(&on_server));
        let (port, target) = (free_port(), Echo::start());
        let master = Master::of(&server);
        let mut ssh = server.ssh(Some(&on_client));
        ssh.args(["-f", "-N", "-M", "-S"]).arg(&master.socket);
        ssh.args(["-o", "ExitOnForwardFailure=yes", "-c", "aes128-ctr"]);
        ssh.arg("-L")
            .arg(format!("{port}:127.0.0.1:{}", target.port));
        goes_into_the_background(ssh.arg("127.0.0.1"));
        // More than a window, so data flows both ways at once.
        for _ in 0..2 {
            let sent = oarlock_testing::noise(BYTES);
            assert_same(&echoed(port, &sent), &sent, "forwarded");
        }
        assert!(on_client.bytes(Algorithm::Aes128Ctr, Encrypt) > 2 * BYTES as u64);
        assert!(on_client.bytes(Algorithm::Aes128Ctr, Decrypt) > 2 * BYTES as u64);
        drop(master);
    }
}

#[test]
fn one_connection_serves_several_sessions() {
    if !is_root("sshd with privilege separation") {
        return;
    }
    let (on_server, on_client) = (Accelerated::new(), Accelerated::new());
    let server = Server::start(Some(&on_server));
    let master = Master::of(&server);
    let mut ssh = server.ssh(Some(&on_client));
    ssh.args(["-f", "-N", "-M", "-o", "RekeyLimit=1M", "-S"]);
    goes_into_the_background(ssh.arg(&master.socket).arg("127.0.0.1"));
    let data = fs::read(&server.file).unwrap();
    thread::scope(|scope| {
        for number in 0..4 {
            let (server, master, data) = (&server, &master, &data);
            scope.spawn(move || {
                for _ in 0..3 {
                    let mut ssh = server.ssh(None);
                    ssh.arg("-S").arg(&master.socket).arg("127.0.0.1");
                    let came = succeeds(ssh.arg(format!("cat {}", server.file.display())));
                    assert_same(&came, data, &format!("session {number}"));
                }
            });
        }
    });
    // The process that went into the background, and the one that started it.
    assert_eq!(on_client.counted().processes, 2, "one client does it all");
}

#[test]
fn files_are_copied_by_scp_and_sftp() {
    if !is_root("sshd with privilege separation") {
        return;
    }
    let (on_server, on_client) = (Accelerated::new(), Accelerated::new());
    let server = Server::start(Some(&on_server));
    let data = fs::read(&server.file).unwrap();
    let place = |name: &str| server.folder.path().join(name);
    let (up, down) = (place("up"), place("down"));
    let remote = |path: &Path| format!("127.0.0.1:{}", path.display());
    // scp over sftp, the default today, and with its old protocol.
    for old in [&[][..], &["-O"]] {
        let mut scp = server.client("scp", Some(&on_client));
        succeeds(scp.args(old).arg(&server.file).arg(remote(&up)));
        let mut scp = server.client("scp", Some(&on_client));
        succeeds(scp.args(old).arg(remote(&up)).arg(&down));
        assert_same(&fs::read(&down).unwrap(), &data, "scp");
        fs::remove_file(&up).unwrap();
        fs::remove_file(&down).unwrap();
    }
    let batch = place("batch");
    let (file, up_name) = (server.file.display(), up.display());
    let down_name = down.display();
    fs::write(
        &batch,
        format!("put {file} {up_name}\nget {up_name} {down_name}\n"),
    )
    .unwrap();
    let mut sftp = server.client("sftp", Some(&on_client));
    succeeds(sftp.arg("-b").arg(&batch).arg("127.0.0.1"));
    assert_same(&fs::read(&up).unwrap(), &data, "sftp put");
    assert_same(&fs::read(&down).unwrap(), &data, "sftp get");
    let counted = on_client.counted();
    let bytes: u64 = counted.lines.iter().map(|line| line.bytes).sum();
    assert!(bytes > 6 * BYTES as u64, "{counted:?}");
}

#[test]
fn two_hundred_connections_leave_nothing_behind() {
    if !is_root("sshd with privilege separation") {
        return;
    }
    let (on_server, on_client) = (Accelerated::new(), Accelerated::new());
    let server = Server::start(Some(&on_server));
    let connect = || {
        let mut ssh = server.ssh(Some(&on_client));
        let said = succeeds(ssh.args(["-c", "aes128-ctr", "127.0.0.1", "echo here"]));
        assert_eq!(said, b"here\n");
    };
    let pid = server.program.pid();
    let state = || (descriptors(pid), threads(pid));
    connect();
    let (before, kib_before) = (state(), resident_kib(pid));
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..25).for_each(|_| connect()));
        }
    });
    until("every connection is closed", || state() == before);
    let grown = resident_kib(pid).saturating_sub(kib_before);
    assert!(grown < 1024, "sshd has grown by {grown} KiB");
    assert_eq!(before.1, 1, "sshd that listens has a helper");
}

#[test]
fn without_a_module_that_works_ssh_goes_on_alone() {
    if !is_root("sshd with privilege separation") {
        return;
    }
    let folder = open_folder();
    let no_module = folder.path().join("text");
    fs::write(&no_module, "no library").unwrap();
    let missing = folder.path().join("missing");
    for module in [&missing, &no_module, &folder.path().to_path_buf()] {
        let (on_server, on_client) = (Accelerated::of(module), Accelerated::of(module));
        let server = Server::start(Some(&on_server));
        server.moves_both_ways(Some(&on_client), &[], &module.display().to_string());
        assert_eq!(on_client.counted().processes, 0);
    }
    let wrong = Accelerated::with_wrong("max_threads=many");
    let server = Server::start(Some(&wrong));
    server.moves_both_ways(Some(&wrong), &[], "wrong options");
    assert!(wrong.counted().processes > 0, "it was loaded");
    assert!(wrong.counted().lines.is_empty(), "and offered nothing");
}

#[test]
fn sixteen_connections_at_once() {
    if !is_root("sshd with privilege separation") {
        return;
    }
    for forced in [false, true] {
        let accelerated = || match forced {
            true => Accelerated::forced("stripe"),
            false => Accelerated::new(),
        };
        let (on_server, on_client) = (accelerated(), accelerated());
        let server = Server::start(Some(&on_server));
        let data = fs::read(&server.file).unwrap();
        thread::scope(|scope| {
            for number in 0..16 {
                let (server, on_client, data) = (&server, &on_client, &data);
                scope.spawn(move || {
                    let (cipher, _) = CIPHERS[number % CIPHERS.len()];
                    let mut ssh = server.ssh(Some(on_client));
                    if !cipher.is_empty() {
                        ssh.args(["-c", cipher]);
                    }
                    ssh.arg("127.0.0.1");
                    let came = succeeds(ssh.arg(format!("cat {}", server.file.display())));
                    assert_same(&came, data, cipher);
                });
            }
        });
        assert_eq!(on_client.counted().processes, 16);
    }
}

/// Returns the encrypted and decrypted bytes.
fn counted(counters: &Accelerated, operation: Option<Algorithm>) -> (u64, u64) {
    operation.map_or((0, 0), |operation| {
        (
            counters.bytes(operation, Encrypt),
            counters.bytes(operation, Decrypt),
        )
    })
}

/// The size of the file that is copied in both directions.
const BYTES: usize = 4 << 20;

/// An sshd with its own keys and configuration.
struct Server {
    program: Program,
    port: u16,
    /// The file that clients copy.
    file: PathBuf,
    folder: TempDir,
}

impl Server {
    fn start(accelerated: Option<&Accelerated>) -> Self {
        // sshd executes itself again for each connection, and needs its full path for that.
        let mut sshd = Command::new("/usr/sbin/sshd");
        with_conf(&mut sshd, accelerated);
        Self::start_by(sshd)
    }

    /// Starts sshd with a command without arguments.
    fn start_by(mut sshd: Command) -> Self {
        // sshd confines its child to this directory, which a running service would have created.
        fs::create_dir_all("/run/sshd").unwrap();
        let folder = open_folder();
        let path = |name: &str| folder.path().join(name);
        let keys = [
            ("host_key", "ed25519"),
            ("host_key_ecdsa", "ecdsa"),
            ("host_key_rsa", "rsa"),
            ("user_key", "ed25519"),
        ];
        for (key, kind) in keys {
            let mut keygen = Command::new("ssh-keygen");
            succeeds(
                keygen
                    .args(["-q", "-t", kind, "-N", "", "-f"])
                    .arg(path(key)),
            );
        }
        fs::copy(path("user_key.pub"), path("authorized_keys")).unwrap();
        let file = path("file");
        noise_file(&file, BYTES);

        let port = free_port();
        let names: Vec<_> = CIPHERS.iter().map(|(name, _)| *name).collect();
        let ciphers = names.join(",");
        // With that level bash does not read the user's start files, which may be slow or print.
        let conf = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {0}\nHostKey {0}_ecdsa\nHostKey {0}_rsa\n\
             AuthorizedKeysFile {1}\nPidFile none\n\
             StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\nUseDNS no\n\
             SetEnv SHLVL=1\nLogLevel VERBOSE\nMaxStartups 100\nMaxSessions 100\nSubsystem sftp internal-sftp\n\
             Ciphers {2}\n",
            path("host_key").display(),
            path("authorized_keys").display(),
            ciphers.trim_end_matches(','),
        );
        fs::write(path("sshd_config"), conf).unwrap();
        sshd.args(["-D", "-e", "-f"]).arg(path("sshd_config"));
        sshd.stderr(File::create(path("log")).unwrap());
        let program = Program::start(&mut sshd);
        until_listening(&program, port);
        Self {
            program,
            port,
            file,
            folder,
        }
    }

    fn log(&self) -> String {
        lossy(&fs::read(self.folder.path().join("log")).unwrap())
    }

    fn ssh(&self, accelerated: Option<&Accelerated>) -> Command {
        self.client("ssh", accelerated)
    }

    /// Returns ssh, scp or sftp, which trust only this server and ask no questions.
    fn client(&self, program: &str, accelerated: Option<&Accelerated>) -> Command {
        let mut command = Command::new(program);
        with_conf(&mut command, accelerated);
        command
            .args(["-F", "none", "-o"])
            .arg(format!("Port={}", self.port));
        command.arg("-i").arg(self.folder.path().join("user_key"));
        for option in [
            "BatchMode=yes",
            "IdentitiesOnly=yes",
            "IdentityAgent=none",
            "StrictHostKeyChecking=no",
            "UserKnownHostsFile=/dev/null",
            "GlobalKnownHostsFile=/dev/null",
            "LogLevel=ERROR",
            // This OpenSSH's default takes a tenth of a second for each key, in its own code.
            "KexAlgorithms=curve25519-sha256",
        ] {
            command.args(["-o", option]);
        }
        command
    }

    /// Downloads the file and uploads it again.
    fn moves_both_ways(&self, accelerated: Option<&Accelerated>, options: &[&str], what: &str) {
        let data = fs::read(&self.file).unwrap();
        let mut ssh = self.ssh(accelerated);
        ssh.args(options).arg("127.0.0.1");
        let came = succeeds(ssh.arg(format!("cat {}", self.file.display())));
        assert_same(&came, &data, &format!("{what}: down"));

        let mut ssh = self.ssh(accelerated);
        ssh.args(options).arg("127.0.0.1");
        let up = self.folder.path().join("up");
        let output = run_with(ssh.arg(format!("cat > {}", up.display())), &data);
        assert!(output.status.success(), "{what}: {}", lossy(&output.stderr));
        assert_same(&fs::read(&up).unwrap(), &data, &format!("{what}: up"));
    }
}

/// A client in the background, which is stopped on drop.
struct Master<'a> {
    socket: PathBuf,
    server: &'a Server,
    _folder: TempDir,
}

impl<'a> Master<'a> {
    fn of(server: &'a Server) -> Self {
        let folder = open_folder();
        Self {
            socket: folder.path().join("socket"),
            server,
            _folder: folder,
        }
    }
}

impl Drop for Master<'_> {
    fn drop(&mut self) {
        let mut ssh = self.server.ssh(None);
        ssh.args(["-O", "exit", "-S"]).arg(&self.socket);
        let output = run(ssh.arg("127.0.0.1"));
        assert!(
            output.status.success() || thread::panicking(),
            "{}",
            lossy(&output.stderr)
        );
    }
}

/// A server that returns what it receives.
struct Echo {
    port: u16,
}

impl Echo {
    fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut sink = stream.try_clone().unwrap();
                thread::spawn(move || {
                    let _ = std::io::copy(&mut stream, &mut sink);
                    let _ = sink.shutdown(Shutdown::Write);
                });
            }
        });
        Self { port }
    }
}

fn echoed(port: u16, data: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.set_write_timeout(Some(LIMIT)).unwrap();
    let mut sink = stream.try_clone().unwrap();
    thread::scope(|scope| {
        scope.spawn(move || {
            sink.write_all(data).unwrap();
            sink.shutdown(Shutdown::Write).unwrap();
        });
        let mut came = Vec::new();
        stream.read_to_end(&mut came).unwrap();
        came
    })
}
