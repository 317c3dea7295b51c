//! `packet-file-to-tls`: a file sent over loopback as TLS 1.3 records in one call of Oarlock, compared with SSL_write loops
//! and with SSL_sendfile.
//!
//! Sender and receiver are processes of their own (`bench/process`), with the same handshake by libssl. The receiver reads
//! the bytes without decrypting them, for every sender. The figure is the sender's CPU time. On loopback it includes the
//! kernel's work of receiving the packets.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use oarlock_measure::Error;
use oarlock_measure::cpu_class;

use super::compared::{Compared, Quantity, in_turn};
use super::data::{are_alike, make};
use super::setup::{Setup, named_or_beside};
use crate::system::child::{Running, said};

/// A cipher suite.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileToTls(&'static str);

/// The suites by case name; the first is promised.
pub(super) const CASES: [(&str, FileToTls); 3] = [
    ("packet-file-to-tls", FileToTls("TLS_AES_128_GCM_SHA256")),
    (
        "packet-file-to-tls-aes-256",
        FileToTls("TLS_AES_256_GCM_SHA384"),
    ),
    (
        "packet-file-to-tls-chacha20",
        FileToTls("TLS_CHACHA20_POLY1305_SHA256"),
    ),
];

impl FileToTls {
    pub(super) fn measure(self, setup: &Setup) -> Result<Vec<Compared>, Error> {
        let ends = Ends::new(setup)?;
        let mut ways = vec![OURS];
        for way in [SSL_WRITE, SSL_WRITE_LONG, SSL_SENDFILE] {
            match self.verify(&ends, way) {
                Ok(()) => ways.push(way),
                Err(Error::Unavailable(why)) => {
                    eprintln!("packet-file-to-tls: without {way}: {why}")
                }
                Err(error) => return Err(error),
            }
        }
        self.verify(&ends, OURS)?;
        let times = if setup.is_quick() { 2 } else { 8 };
        let bytes = times * FILE_BYTES;
        let mut samples = in_turn(setup.rounds(15, 5), ways.len(), |side| {
            ends.transfer(self.0, ways[side], times, None)
        })?;
        let ours = samples.remove(0);
        let gib = bytes as f64 / f64::from(1 << 30);
        let of = |figure, vs, theirs: &[Transfer], sample: &dyn Fn(&Transfer) -> f64| Compared {
            bytes,
            ..Compared::new(
                figure,
                vs,
                ours.iter().map(sample).collect(),
                theirs.iter().map(sample).collect(),
            )
        };
        let peers = ways[1..].iter().zip(&samples);
        Ok(peers
            .flat_map(|(way, theirs)| {
                [
                    of(Quantity::CpuSeconds, *way, theirs, &|it| {
                        it.cpu_seconds / gib
                    }),
                    of(Quantity::Rate, *way, theirs, &|it| {
                        bytes as f64 / it.seconds / 1e9
                    }),
                ]
            })
            .collect())
    }

    /// Checks that the file arrives unchanged.
    fn verify(self, ends: &Ends, way: &str) -> Result<(), Error> {
        let copy = ends.file.with_file_name("copy");
        ends.transfer(self.0, way, 1, Some(&copy))?;
        if !are_alike(&ends.file, &copy)? {
            return Err(Error::Mismatch(format!(
                "{} by {way}: what arrived is not what was sent",
                self.0
            )));
        }
        fs::remove_file(&copy).map_err(Error::io(copy.display()))
    }
}

/// The program, its file, and a certificate.
struct Ends {
    program: PathBuf,
    file: PathBuf,
    certificate: PathBuf,
}

/// The sender's cost of a transfer.
#[derive(Clone, Copy)]
struct Transfer {
    cpu_seconds: f64,
    seconds: f64,
}

impl Ends {
    fn new(setup: &Setup) -> Result<Self, Error> {
        let missing = "no `oarlock-bench-process` next to this program: build it (cargo build --release \
                       --manifest-path bench/Cargo.toml)";
        let ends = Self {
            program: named_or_beside(None, "oarlock-bench-process", missing)?,
            file: setup.file("file"),
            certificate: setup.file("certificate.pem"),
        };
        make(&ends.file, FILE_BYTES, 20)?;
        let mut request = Command::new("openssl");
        request.args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
        ]);
        request.args([
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
            "-keyout",
            "-",
            "-out",
            "-",
        ]);
        let pem = said(request.env_remove("OPENSSL_CONF"))?;
        fs::write(&ends.certificate, pem).map_err(Error::io("certificate.pem"))?;
        Ok(ends)
    }

    fn command(&self, end: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(end).stdin(Stdio::null()).stdout(Stdio::piped());
        if let Some(mask) = cpu_class::mask_shown() {
            mask.set(&mut command);
        }
        command
    }

    fn transfer(
        &self,
        suite: &str,
        way: &str,
        times: usize,
        copy: Option<&PathBuf>,
    ) -> Result<Transfer, Error> {
        let mut receive = self.command("receive");
        if let Some(copy) = copy {
            receive.arg("--copy").arg(copy);
        }
        let mut receiver = Running::start(&mut receive)?;
        let port = receiver.take_stdout().map(|stdout| {
            let mut line = String::new();
            BufReader::new(stdout).read_line(&mut line).map(|_| line)
        });
        let port = port
            .transpose()
            .map_err(Error::io("oarlock-bench-process"))?
            .unwrap_or_default();
        let mut send = self.command("send");
        send.args(["--way", way, "--suite", suite, "--port", port.trim()]);
        send.args(["--times", &times.to_string(), "--certificate"]);
        let output = (send
            .arg(&self.certificate)
            .arg(&self.file)
            .stderr(Stdio::piped()))
        .output()
        .map_err(Error::io("oarlock-bench-process"))?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(match output.status.code() {
                Some(MISSING) => Error::Unavailable(why),
                _ => Error::Failed(why),
            });
        }
        receiver.end(Duration::from_secs(60))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let mut figures = said.split_whitespace().map(str::parse);
        match (figures.next(), figures.next()) {
            (Some(Ok(cpu_seconds)), Some(Ok(seconds))) => Ok(Transfer {
                cpu_seconds,
                seconds,
            }),
            _ => Err(Error::Failed(format!(
                "oarlock-bench-process said {said:?}"
            ))),
        }
    }
}

/// The values of `--way`.
const OURS: &str = "oarlock";
pub(crate) const SSL_WRITE: &str = "ssl-write";
pub(crate) const SSL_WRITE_LONG: &str = "ssl-write-long";
const SSL_SENDFILE: &str = "ssl-sendfile";
/// The program's exit status if this machine lacks something.
const MISSING: i32 = 3;
/// A length that is no multiple of a record.
const FILE_BYTES: usize = (128 << 20) + 1234;
