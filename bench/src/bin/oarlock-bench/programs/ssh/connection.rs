//! A connection between a private client and server, from start to end.

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use oarlock_measure::Error;
use rustix::process::geteuid;

use super::suite::{Suite, TransferKind};
use crate::programs::link::Link;
use crate::programs::setup::{Setup, Side};
use crate::system::child::{Running, ready, said};
use crate::system::surroundings::in_network;

/// Keys and configuration of both ends.
pub(super) struct SshHosts {
    user: String,
    key: PathBuf,
    config: PathBuf,
    log: PathBuf,
}

/// The programs of both ends.
#[derive(Debug)]
pub(super) struct SshPrograms {
    client: PathBuf,
    copier: PathBuf,
    server: PathBuf,
}

/// A connection's two ends and the network between them.
pub(super) struct Connection<'a> {
    pub(super) programs: &'a SshPrograms,
    pub(super) suite: &'static Suite,
    pub(super) kind: TransferKind,
    /// The link that replaces loopback.
    pub(super) link: Option<&'a Link>,
    pub(super) client: Side,
    pub(super) server: Side,
}

/// The cost of a transfer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    /// Seconds from the client's start to its end.
    pub(super) seconds: f64,
    /// The CPU time of both ends.
    pub(super) cpu_seconds: f64,
}

impl SshPrograms {
    /// Returns the system's programs.
    pub(super) fn stock() -> Result<Self, Error> {
        let find = |name: &str, package| {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let folders: Vec<_> = std::env::split_paths(&path).collect();
            let found = folders.into_iter().chain(["/usr/sbin".into()]);
            found
                .map(|folder| folder.join(name))
                .find(|file| file.is_file())
                .ok_or_else(|| {
                    Error::Unavailable(format!("no {name} on this machine: install {package}"))
                })
        };
        Ok(Self {
            client: find("ssh", "openssh-client")?,
            copier: find("scp", "openssh-client")?,
            server: find("sshd", "openssh-server")?,
        })
    }

    /// Returns HPN-SSH's programs, as installed below `folder`.
    pub(super) fn hpn(folder: &Path) -> Result<Self, Error> {
        let programs = Self {
            client: hpn_client(folder),
            copier: folder.join("bin/hpnscp"),
            server: folder.join("sbin/hpnsshd"),
        };
        for file in [&programs.client, &programs.copier, &programs.server] {
            if !file.is_file() {
                return Err(Error::Usage(format!(
                    "--hpn-ssh: no {}: name the folder that HPN-SSH was installed in",
                    file.display()
                )));
            }
        }
        Ok(programs)
    }
}

pub(crate) fn hpn_client(folder: &Path) -> PathBuf {
    folder.join("bin/hpnssh")
}

impl SshHosts {
    pub(super) fn new(setup: &Setup) -> Result<Self, Error> {
        let key = setup.file("key");
        if !key.is_file() {
            let mut keygen = Command::new("ssh-keygen");
            keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]);
            said(keygen.arg(&key))?;
        }
        if geteuid().is_root() {
            // sshd confines its unprivileged process to this directory. Its service creates it, but may not be installed.
            fs::create_dir_all(PRIVSEP).map_err(Error::io(PRIVSEP))?;
        }
        let (config, authorized) = (setup.file("sshd_config"), setup.file("key.pub"));
        let text = format!(
            "AuthorizedKeysFile {}\nHostKey {}\nPermitRootLogin prohibit-password\n\
             PasswordAuthentication no\nStrictModes no\nUsePAM no\nUseDNS no\nPrintMotd no\n\
             PrintLastLog no\nPidFile none\nSubsystem sftp internal-sftp\n",
            authorized.display(),
            key.display()
        );
        fs::write(&config, text).map_err(Error::io(config.display()))?;
        Ok(Self {
            user: said(Command::new("id").arg("-un"))?.trim().to_owned(),
            key,
            config,
            log: setup.file("log"),
        })
    }

    /// Sends the first of two files to the second.
    pub(super) fn transfer(
        &self,
        setup: &Setup,
        connection: &Connection<'_>,
        files: [&Path; 2],
    ) -> Result<Transfer, Error> {
        let bind = |address| TcpListener::bind((address, 0)).map_err(Error::io("a TCP port"));
        let listener = match connection.link {
            Some(link) => in_network(link.server(), || bind(Link::SERVER))?,
            None => bind(Ipv4Addr::LOCALHOST)?,
        };
        let mut client = self.client(setup, connection, &listener, files)?;
        let began = Instant::now();
        let client = match connection.link {
            Some(link) => in_network(link.client(), || Running::start(&mut client))?,
            None => Running::start(&mut client)?,
        };
        if ready(&[listener.as_fd(), client.as_fd()], CONNECTS)? != Some(0) {
            return Err(self.failed("the client did not connect"));
        }
        let (stream, _) = listener.accept().map_err(Error::io("accept"))?;
        let server = self.server(setup, connection, stream.into())?;
        let client = client.end(LIMIT)?;
        let seconds = began.elapsed().as_secs_f64();
        let server = server.end(CONNECTS)?;
        if !client.status.success() {
            return Err(self.failed(&format!("the client ended with {}", client.status)));
        }
        Ok(Transfer {
            seconds,
            cpu_seconds: client.cpu_seconds + server.cpu_seconds,
        })
    }

    fn client(
        &self,
        setup: &Setup,
        connection: &Connection<'_>,
        listener: &TcpListener,
        [from, to]: [&Path; 2],
    ) -> Result<Command, Error> {
        let Connection {
            programs, suite, ..
        } = connection;
        let address = listener.local_addr().map_err(Error::io("a TCP port"))?;
        let log = File::create(&self.log).map_err(Error::io(self.log.display()))?;
        let mut command = Command::new(match connection.kind {
            TransferKind::Download | TransferKind::Upload => &programs.client,
            TransferKind::Scp => &programs.copier,
        });
        setup.dress(&mut command, connection.client);
        command.args(["-F", "none", "-i"]).arg(&self.key);
        for option in CLIENT_OPTIONS {
            command.args(["-o", option]);
        }
        command
            .args(["-o", &format!("Port={}", address.port())])
            .args(["-o", &format!("Ciphers={}", suite.cipher)])
            .args(suite.mac.map(|mac| format!("-oMACs={mac}")))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        let destination = format!("{}@{}", self.user, address.ip());
        let open = |path: &Path| File::open(path).map_err(Error::io(path.display()));
        match connection.kind {
            TransferKind::Download => {
                let to = File::create(to).map_err(Error::io(to.display()))?;
                let remote = format!("exec cat '{}'", from.display());
                command.arg(destination).arg(remote).stdout(to);
            }
            TransferKind::Upload => {
                let remote = format!("exec cat > '{}'", to.display());
                command.arg(destination).arg(remote).stdin(open(from)?);
            }
            TransferKind::Scp => {
                command.arg("-q").arg("-S").arg(&programs.client).arg(from);
                command.arg(format!("{destination}:{}", to.display()));
            }
        }
        Ok(command)
    }

    fn server(
        &self,
        setup: &Setup,
        connection: &Connection<'_>,
        stream: OwnedFd,
    ) -> Result<Running, Error> {
        let too = stream.try_clone().map_err(Error::io("a connection"))?;
        let mut command = Command::new(&connection.programs.server);
        setup.dress(&mut command, connection.server);
        command.arg("-i").arg("-f").arg(&self.config);
        command.arg("-E").arg(&self.log).stderr(Stdio::null());
        Running::start(command.stdin(stream).stdout(too))
    }

    /// Returns an error with the output of both ends.
    fn failed(&self, what: &str) -> Error {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let log = log.trim().replace(['\r', '\n'], "; ");
        Error::Failed(format!("ssh: {what}: {log}"))
    }
}

/// The client asks no questions and stores nothing.
const CLIENT_OPTIONS: [&str; 9] = [
    "BatchMode=yes",
    "IdentitiesOnly=yes",
    "StrictHostKeyChecking=no",
    "UserKnownHostsFile=/dev/null",
    "GlobalKnownHostsFile=/dev/null",
    "LogLevel=ERROR",
    "Compression=no",
    "ControlPath=none",
    "ProxyCommand=none",
];
const PRIVSEP: &str = "/run/sshd";
/// The time to connect, and to end after the other end.
const CONNECTS: Duration = Duration::from_secs(30);
/// The most time that a transfer may take: 1 GiB at 4 MB/s.
const LIMIT: Duration = Duration::from_secs(260);
