//! nginx and curl: a file in memory over TLS 1.3, through a Unix socket, which costs the kernel least.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use oarlock_measure::Error;
use rustix::process::{Pid, Signal, kill_process};

use super::compared::{Compared, Quantity, STOCK, in_turn};
use super::data::{TMPFS, are_alike, make};
use super::setup::{Setup, Side};
use super::speed::operation;
use crate::system::child::{Running, said};

/// A cipher suite.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Https {
    /// Its name in RFC 8446.
    pub(crate) suite: &'static str,
    /// Its operation in libcrypto.
    pub(crate) operation: &'static str,
}

impl Https {
    pub(crate) fn measure(&self, setup: &Setup) -> Result<Vec<Compared>, Error> {
        let folder = tempfile::tempdir_in(TMPFS).map_err(Error::io(TMPFS))?;
        let hosts = Hosts::new(folder.path())?;
        self.verify(setup, &hosts)?;

        let bytes: usize = if setup.quick { 256 << 20 } else { 1 << 30 };
        make(&hosts.data, bytes, SEED)?;
        let gib = bytes as f64 / f64::from(1 << 30);
        let mut samples = in_turn(setup.rounds(9, 3), 2, |side| {
            let side = [Side::Oarlock, Side::Stock][side];
            hosts.transfer(setup, self.suite, side, Path::new("/dev/null"))
        })?
        .into_iter();
        let mut of_side = || samples.next().unwrap_or_default();
        let (ours, theirs) = (of_side(), of_side());
        let of = |figure, sample: &dyn Fn(&Transfer) -> f64| Compared {
            bytes,
            ..Compared::new(
                figure,
                STOCK,
                ours.iter().map(sample).collect(),
                theirs.iter().map(sample).collect(),
            )
        };
        Ok(vec![
            of(Quantity::Rate, &|it| bytes as f64 / it.seconds / 1e9),
            of(Quantity::CpuSeconds, &|it| it.cpu_seconds / gib),
        ])
    }

    /// Checks that the file arrives unchanged, and that it went through Oarlock at both ends.
    fn verify(&self, setup: &Setup, hosts: &Hosts) -> Result<(), Error> {
        make(&hosts.data, VERIFIED_BYTES, SEED)?;
        let copy = hosts.folder.join("copy");
        let through = setup.bytes_through(operation(self.operation)?, || {
            hosts
                .transfer(setup, self.suite, Side::Oarlock, &copy)
                .map(drop)
        })?;
        if through == 0 {
            return Err(Error::NotOffered(format!(
                "the provider leaves {} to OpenSSL on this CPU",
                self.operation
            )));
        }
        if through < 2 * VERIFIED_BYTES as u64 {
            return Err(Error::Failed(format!(
                "of {VERIFIED_BYTES} bytes through two ends, {through} went through Oarlock"
            )));
        }
        if !are_alike(&hosts.data, &copy)? {
            return Err(Error::Mismatch(format!(
                "{}: what arrived is not what was sent",
                self.suite
            )));
        }
        fs::remove_file(&copy).map_err(Error::io(copy.display()))
    }
}

/// The server's key, configuration and data.
struct Hosts {
    folder: PathBuf,
    data: PathBuf,
}

/// The cost of a transfer.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    /// Seconds from the client's start to its end.
    seconds: f64,
    /// The CPU time of both ends.
    cpu_seconds: f64,
}

impl Hosts {
    fn new(folder: &Path) -> Result<Self, Error> {
        let path = |name: &str| folder.join(name);
        let mut request = Command::new("openssl");
        request.args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
        ]);
        request.args(["-nodes", "-days", "2", "-subj", "/CN=localhost"]);
        request.arg("-keyout").arg(path("key.pem"));
        request.arg("-out").arg(path("cert.pem"));
        said(request.env_remove("OPENSSL_CONF"))?;
        let place = folder.display();
        let conf = format!(
            "daemon off; master_process off; pid {place}/pid; error_log {place}/log warn;\n\
             events {{ worker_connections 16; }}\n\
             http {{ access_log off; client_body_temp_path {place}/t1; proxy_temp_path {place}/t2;\n\
             fastcgi_temp_path {place}/t3; uwsgi_temp_path {place}/t4; scgi_temp_path {place}/t5;\n\
             ssl_certificate {place}/cert.pem; ssl_certificate_key {place}/key.pem; ssl_protocols TLSv1.3;\n\
             server {{ listen unix:{place}/socket ssl; root {place}; }} }}\n"
        );
        fs::write(path("nginx.conf"), conf).map_err(Error::io("nginx.conf"))?;
        Ok(Self {
            folder: folder.to_owned(),
            data: path("data"),
        })
    }

    /// Transfers the file with both ends on `side`.
    fn transfer(
        &self,
        setup: &Setup,
        suite: &str,
        side: Side,
        to: &Path,
    ) -> Result<Transfer, Error> {
        let path = |name: &str| self.folder.join(name);
        let socket = path("socket");
        let mut nginx = Command::new("nginx");
        nginx.arg("-c").arg(path("nginx.conf")).stdin(Stdio::null());
        nginx.stderr(File::create(path("log")).map_err(Error::io("log"))?);
        setup.dress(&mut nginx, side);
        let server = Running::start(&mut nginx).map_err(|error| {
            Error::Unavailable(format!("{error}: install nginx (nginx-light will do)"))
        })?;
        let until = Instant::now() + START_LIMIT;
        while !socket.exists() {
            if Instant::now() > until {
                let log = fs::read_to_string(path("log")).unwrap_or_default();
                return Err(Error::Failed(format!(
                    "nginx does not listen: {}",
                    log.trim()
                )));
            }
            std::thread::sleep(Duration::from_millis(2));
        }

        let mut curl = Command::new("curl");
        curl.args([
            "-q",
            "--silent",
            "--show-error",
            "--fail",
            "--noproxy",
            "*",
            "--http1.1",
        ]);
        curl.args(["--tlsv1.3", "--tls13-ciphers", suite]);
        curl.arg("--cacert").arg(path("cert.pem"));
        curl.arg("--unix-socket").arg(&socket).arg("-o").arg(to);
        curl.arg("https://localhost/data").stdin(Stdio::null());
        setup.dress(&mut curl, side);
        let start = Instant::now();
        let client = Running::start(&mut curl)?.end(LIMIT)?;
        let seconds = start.elapsed().as_secs_f64();

        // SIGQUIT ends nginx once its connections are closed (nginx(8)).
        let pid = Pid::from_raw(server.pid().cast_signed());
        let quit = |pid| kill_process(pid, Signal::QUIT);
        pid.map_or(Ok(()), quit)
            .map_err(|error| Error::Failed(format!("nginx: {error}")))?;
        let server = server.end(LIMIT)?;
        let _ = fs::remove_file(&socket);
        if !client.status.success() || !server.status.success() {
            return Err(Error::Failed(format!(
                "curl and nginx end with {} and {}",
                client.status, server.status
            )));
        }
        Ok(Transfer {
            seconds,
            cpu_seconds: client.cpu_seconds + server.cpu_seconds,
        })
    }
}

const SEED: u64 = 1;
const VERIFIED_BYTES: usize = 16 << 20;
const START_LIMIT: Duration = Duration::from_secs(20);
const LIMIT: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses the nginx and curl of this machine.
    #[test]
    fn a_file_arrives() {
        let setup = Setup::of_stock();
        let folder = tempfile::tempdir().unwrap();
        let hosts = Hosts::new(folder.path()).unwrap();
        make(&hosts.data, 3 << 20, SEED).unwrap();
        let copy = folder.path().join("copy");
        for suite in ["TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256"] {
            let took = hosts.transfer(&setup, suite, Side::Stock, &copy).unwrap();
            assert!(are_alike(&hosts.data, &copy).unwrap(), "{suite}");
            assert!(took.cpu_seconds > 0.0 && took.seconds > 0.0, "{took:?}");
        }
        let error = hosts.transfer(&setup, "TLS_NO_SUCH", Side::Stock, &copy);
        assert!(error.unwrap_err().to_string().contains("curl"));
    }
}
