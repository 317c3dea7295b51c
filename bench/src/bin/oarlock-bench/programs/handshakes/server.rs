//! Servers that are started for a round, with their own key and configuration.

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use oarlock_measure::Error;
use rustix::process::{Pid, Signal, kill_process};

use super::super::certificates::{Certificate, KeyKind};
use super::super::setup::{Setup, Side};
use super::Handshakes;
use super::client::Kind;
use crate::system::child::Running;

/// The server of the handshakes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Server {
    /// HAProxy, with `ssl-mode-async` if `is_async`: a thread serves other connections while a signature is computed.
    Haproxy { threads: usize, is_async: bool },
    /// nginx, whose workers are processes that sign one request at a time; with the provider and a daemon, their requests
    /// can form batches.
    Nginx { workers: usize, has_daemon: bool },
    /// Apache with the MPM `event` and one process, whose threads sign concurrently; their requests can form batches as
    /// those of processes do.
    Apache { threads: usize, has_daemon: bool },
}

/// A key with its certificate, and a directory for the server's other files.
pub(super) struct Files {
    folder: PathBuf,
    root: Certificate,
    certificate: Certificate,
}

impl Files {
    pub(super) fn new(folder: &Path, key: KeyKind) -> Result<Self, Error> {
        let [root, certificate] = Certificate::chain(folder, "server", key)?;
        let files = Self {
            folder: folder.to_owned(),
            root,
            certificate,
        };
        let Certificate { certificate, key } = &files.certificate;
        let both = [certificate, key].map(|file| {
            let text = fs::read_to_string(file).map_err(Error::io(file.display()));
            text.unwrap_or_default()
        });
        files.write("both.pem", &both.concat())?;
        Ok(files)
    }

    /// Returns the certificate that signed the server's.
    pub(super) fn root(&self) -> &Path {
        &self.root.certificate
    }

    pub(super) fn certificate(&self) -> &Path {
        &self.certificate.certificate
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf, Error> {
        let path = self.folder.join(name);
        fs::write(&path, text).map_err(Error::io(path.display()))?;
        Ok(path)
    }
}

/// A running server.
pub(super) struct Started {
    running: Running,
    port: u16,
    server: Server,
    /// `oarlock local`, which batches signatures.
    daemon: Option<Running>,
}

impl Started {
    pub(super) fn new(
        setup: &Setup,
        asked: &Handshakes,
        files: &Files,
        side: Side,
    ) -> Result<Self, Error> {
        let server = asked.server;
        let port = free_port()?;
        let mut command = server.command(files, port, asked.kind)?;
        let log = files.folder.join("log");
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(File::create(&log).map_err(Error::io("log"))?);
        setup.dress(&mut command, side);
        let mut meeting = None;
        if side == Side::Oarlock && server.has_daemon() {
            let socket = files.folder.join("local.sock");
            command.env("OPENSSL_CONF", setup.configuration_with_daemon(&socket)?);
            meeting = Some(daemon(setup, &socket)?);
        } else if side == Side::Oarlock && asked.is_hybrid {
            command.env("OPENSSL_CONF", setup.post_quantum_configuration()?);
        }
        let running = Running::start(&mut command).map_err(|error| {
            Error::Unavailable(format!(
                "{error}: install haproxy, nginx (nginx-light will do) and apache2 (apache2-bin will do)"
            ))
        })?;
        let until = Instant::now() + START_LIMIT;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if Instant::now() > until {
                let log = fs::read_to_string(&log).unwrap_or_default();
                return Err(Error::Failed(format!(
                    "{server:?} does not listen: {}",
                    log.trim()
                )));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(Self {
            running,
            port,
            server,
            daemon: meeting,
        })
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Returns the CPU time of the server's processes and of the daemon so far.
    pub(super) fn cpu(&self) -> Result<Duration, Error> {
        let daemon = self.daemon.as_ref().map(|daemon| cpu_of(daemon.pid()));
        Ok(cpu_of(self.running.pid())? + daemon.transpose()?.unwrap_or_default())
    }

    pub(super) fn end(self) -> Result<(), Error> {
        let signal = match self.server {
            Server::Haproxy { .. } | Server::Apache { .. } => Signal::TERM,
            Server::Nginx { .. } => Signal::INT,
        };
        let pid = Pid::from_raw(self.running.pid().cast_signed());
        pid.map_or(Ok(()), |pid| kill_process(pid, signal))
            .map_err(|error| Error::Failed(format!("{:?}: {error}", self.server)))?;
        self.running.end(END_LIMIT).map(drop)
    }
}

/// Starts `oarlock local`, which listens at `socket`.
pub(super) fn daemon(setup: &Setup, socket: &Path) -> Result<Running, Error> {
    let mut command = Command::new(setup.oarlock()?);
    command.arg("local").arg("--socket").arg(socket);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    setup.dress(&mut command, Side::Stock);
    let running = Running::start(&mut command)?;
    let until = Instant::now() + START_LIMIT;
    while !socket.exists() {
        if Instant::now() > until {
            return Err(Error::Failed("`oarlock local` does not listen".to_owned()));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(running)
}

impl Server {
    fn has_daemon(self) -> bool {
        match self {
            Self::Haproxy { .. } => false,
            Self::Nginx { has_daemon, .. } | Self::Apache { has_daemon, .. } => has_daemon,
        }
    }

    fn command(self, files: &Files, port: u16, kind: Kind) -> Result<Command, Error> {
        let place = files.folder.display();
        let has_tickets = kind == Kind::Resumed;
        let is_root = rustix::process::geteuid().is_root();
        match self {
            Self::Haproxy { threads, is_async } => {
                let mode = if is_async { "ssl-mode-async\n" } else { "" };
                let tickets = if has_tickets { "" } else { "no-tls-tickets" };
                let conf = files.write(
                    "haproxy.cfg",
                    &format!(
                        "global\n  nbthread {threads}\n  maxconn 4000\n  {mode}  tune.ssl.cachesize 0\n\
                         defaults\n  mode http\n  timeout client 20s\n  timeout connect 20s\n  timeout server 20s\n\
                         frontend front\n  bind 127.0.0.1:{port} ssl crt {place}/both.pem ssl-min-ver TLSv1.2 \
                         {tickets}\n  http-request return status 200\n"
                    ),
                )?;
                let mut haproxy = Command::new("haproxy");
                haproxy.arg("-db").arg("-f").arg(conf);
                Ok(haproxy)
            }
            Self::Nginx { workers, .. } => {
                let user = if is_root { "user root;" } else { "" };
                let tickets = if has_tickets { "on" } else { "off" };
                let conf = files.write(
                    "nginx.conf",
                    &format!(
                        "{user} daemon off; worker_processes {workers}; pid {place}/pid; error_log {place}/log warn;\n\
                         events {{ worker_connections 1024; }}\n\
                         http {{ access_log off; client_body_temp_path {place}/t1; proxy_temp_path {place}/t2;\n\
                         fastcgi_temp_path {place}/t3; uwsgi_temp_path {place}/t4; scgi_temp_path {place}/t5;\n\
                         ssl_certificate {place}/server.pem; ssl_certificate_key {place}/server.key;\n\
                         ssl_protocols TLSv1.2 TLSv1.3; ssl_session_tickets {tickets}; ssl_session_cache off;\n\
                         server {{ listen 127.0.0.1:{port} ssl; return 200; }} }}\n"
                    ),
                )?;
                let mut nginx = Command::new("nginx");
                nginx.arg("-c").arg(conf);
                Ok(nginx)
            }
            Self::Apache { threads, .. } => {
                let user = match is_root {
                    true => "User www-data\nGroup www-data\n",
                    false => "",
                };
                let tickets = if has_tickets { "on" } else { "off" };
                let modules = ["mpm_event", "authz_core", "ssl"].map(|module| {
                    format!("LoadModule {module}_module {APACHE_MODULES}/mod_{module}.so\n")
                });
                let conf = files.write(
                    "apache.conf",
                    &format!(
                        "ServerRoot {place}\n{}{user}ServerName localhost\nListen 127.0.0.1:{port}\n\
                         PidFile {place}/pid\nErrorLog {place}/log\nDocumentRoot {place}\n\
                         DefaultRuntimeDir {place}\nStartServers 1\nServerLimit 1\nThreadLimit {threads}\n\
                         ThreadsPerChild {threads}\nMaxRequestWorkers {threads}\n\
                         MinSpareThreads 1\nMaxSpareThreads {threads}\nSSLEngine on\nSSLSessionCache none\n\
                         SSLProtocol -all +TLSv1.2 +TLSv1.3\nSSLSessionTickets {tickets}\n\
                         SSLCertificateFile {place}/server.pem\nSSLCertificateKeyFile {place}/server.key\n",
                        modules.concat()
                    ),
                )?;
                let mut apache = Command::new("apache2");
                apache.arg("-f").arg(conf).arg("-DFOREGROUND");
                Ok(apache)
            }
        }
    }
}

/// Returns the CPU time of a process, of all its threads, and of the processes that it has started (proc(5)), which the
/// kernel counts to the nanosecond.
fn cpu_of(process: u32) -> Result<Duration, Error> {
    let folder = format!("/proc/{process}/task");
    let mut cpu = Duration::ZERO;
    for thread in fs::read_dir(&folder).map_err(Error::io(&folder))?.flatten() {
        // A thread may end before its file is read.
        let read = |name| fs::read_to_string(thread.path().join(name)).unwrap_or_default();
        let ran = read("schedstat");
        let ns = ran.split(' ').next().and_then(|ns| ns.parse().ok());
        cpu += Duration::from_nanos(ns.unwrap_or_default());
        for child in read("children").split_whitespace() {
            if let Ok(child) = child.parse() {
                cpu += cpu_of(child).unwrap_or_default();
            }
        }
    }
    Ok(cpu)
}

fn free_port() -> Result<u16, Error> {
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(Error::io("a port of loopback"))?;
    let address = listener.local_addr();
    Ok(address.map_err(Error::io("a port of loopback"))?.port())
}

const APACHE_MODULES: &str = "/usr/lib/apache2/modules";
const START_LIMIT: Duration = Duration::from_secs(20);
const END_LIMIT: Duration = Duration::from_secs(20);
