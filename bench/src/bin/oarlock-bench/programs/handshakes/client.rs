//! A client that keeps many handshakes in flight with one thread.

use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oarlock_measure::Error;
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::fd::OwnedFd;
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs::kx_group::{SECP256R1, SECP384R1, X25519, X25519MLKEM768};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::version::{TLS12, TLS13};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, HandshakeKind,
    NamedGroup, SignatureScheme,
};

use crate::system::interrupt;

pub(super) struct Client {
    config: Arc<ClientConfig>,
    address: SocketAddr,
    kind: Kind,
}

/// The kind of handshake that clients perform.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// TLS 1.3, with a signature.
    Full,
    /// TLS 1.2, with a signature.
    Full12,
    /// TLS 1.3 with tickets: only the first handshake has a signature.
    Resumed,
}

/// The durations of handshakes in chronological order, each from the start of its connection to its last byte.
pub(super) struct Done {
    pub(super) us: Vec<f64>,
    /// The number of resumed handshakes.
    pub(super) resumed: usize,
    /// The number of handshakes with a hybrid key agreement.
    pub(super) hybrid: usize,
    pub(super) seconds: f64,
}

impl Done {
    pub(super) fn p50_us(&self) -> f64 {
        let mut us = self.us.clone();
        us.sort_by(f64::total_cmp);
        us.get(us.len() / 2).copied().unwrap_or_default()
    }
}

/// A connection in progress.
struct Connection {
    stream: TcpStream,
    tls: ClientConnection,
    /// The events that [`Waits`] watches for it.
    waits_for: epoll::EventFlags,
    began: Instant,
    /// The number of tickets that must arrive before the handshake is complete.
    tickets_min: u32,
}

impl Client {
    /// Creates a client of the server at a port of loopback, which accepts only this certificate.
    pub(super) fn new(
        certificate: &Path,
        port: u16,
        kind: Kind,
        is_hybrid: bool,
    ) -> Result<Self, Error> {
        let pem = fs::read(certificate).map_err(Error::io(certificate.display()))?;
        let mut provider = rustls::crypto::aws_lc_rs::default_provider();
        // The order of browsers and Go. With the first group, the client also sends a share of X25519.
        provider.cipher_suites.sort_by_key(|suite| {
            let name = suite.suite().as_str().unwrap_or_default();
            !name.contains("AES_128")
        });
        provider.kx_groups = vec![X25519, SECP256R1, SECP384R1];
        if is_hybrid {
            provider.kx_groups.insert(0, X25519MLKEM768);
        }
        let provider = Arc::new(provider);
        let only = OnlyThis {
            certificate: CertificateDer::from_pem_slice(&pem).map_err(failed)?,
            provider: Arc::clone(&provider),
        };
        let version = match kind {
            Kind::Full | Kind::Resumed => &TLS13,
            Kind::Full12 => &TLS12,
        };
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[version])
            .map_err(failed)?;
        let config = config.dangerous();
        let config = config.with_custom_certificate_verifier(Arc::new(only));
        let mut config = config.with_no_client_auth();
        if kind != Kind::Resumed {
            config.resumption = Resumption::disabled();
        }
        Ok(Self {
            config: Arc::new(config),
            address: (Ipv4Addr::LOCALHOST, port).into(),
            kind,
        })
    }

    /// Keeps `in_flight` handshakes in flight for `length`.
    pub(super) fn run(&self, in_flight: usize, length: Duration) -> Result<Done, Error> {
        let (mut us, mut resumed, mut hybrid) = (Vec::new(), 0, 0);
        let start = Instant::now();
        let waits = Waits::new()?;
        let mut connections = Vec::with_capacity(in_flight);
        while connections.len() < in_flight {
            let mut connection = self.connect()?;
            waits.add(&mut connection, connections.len())?;
            connections.push(connection);
        }
        let mut ready = Vec::with_capacity(in_flight);
        while start.elapsed() < length {
            interrupt::check()?;
            waits.until_ready(&mut ready)?;
            for event in ready.drain(..) {
                let at = event.data.u64() as usize;
                let connection = &mut connections[at];
                if !connection.step().map_err(failed)? {
                    waits.follow(connection, at)?;
                    continue;
                }
                us.push(connection.began.elapsed().as_secs_f64() * 1e6);
                resumed += usize::from(connection.is_resumed());
                hybrid += usize::from(connection.is_hybrid());
                let mut next = self.connect()?;
                waits.add(&mut next, at)?;
                std::mem::replace(connection, next).close();
            }
        }
        Ok(Done {
            us,
            resumed,
            hybrid,
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    fn connect(&self) -> Result<Connection, Error> {
        let began = Instant::now();
        let stream = TcpStream::connect(self.address).map_err(Error::io(self.address))?;
        stream.set_nonblocking(true).map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        let name = ServerName::try_from("localhost").map_err(failed)?;
        let tls = ClientConnection::new(Arc::clone(&self.config), name).map_err(failed)?;
        let mut connection = Connection {
            stream,
            tls,
            waits_for: epoll::EventFlags::IN,
            began,
            tickets_min: u32::from(self.kind == Kind::Resumed),
        };
        connection.step().map_err(failed)?;
        Ok(connection)
    }
}

impl Connection {
    /// Advances the handshake as far as possible. Returns whether it is complete at this end, with everything sent.
    fn step(&mut self) -> std::io::Result<bool> {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut self.stream) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        if self.is_over() {
            return Ok(true);
        }
        match self.tls.read_tls(&mut self.stream) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(_) => {
                self.tls
                    .process_new_packets()
                    .map_err(std::io::Error::other)?;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        }
        // Sends the last messages at once.
        while self.tls.wants_write() && self.tls.write_tls(&mut self.stream)? > 0 {}
        Ok(self.is_over() && !self.tls.wants_write())
    }

    fn events(&self) -> epoll::EventFlags {
        match self.tls.wants_write() {
            true => epoll::EventFlags::IN | epoll::EventFlags::OUT,
            false => epoll::EventFlags::IN,
        }
    }

    fn is_over(&self) -> bool {
        !self.tls.is_handshaking() && self.tls.tls13_tickets_received() >= self.tickets_min
    }

    fn is_resumed(&self) -> bool {
        self.tls.handshake_kind() == Some(HandshakeKind::Resumed)
    }

    fn is_hybrid(&self) -> bool {
        let group = self.tls.negotiated_key_exchange_group();
        group.is_some_and(|group| group.name() == NamedGroup::X25519MLKEM768)
    }

    /// Closes the connection properly, so that the server sees no error.
    fn close(mut self) {
        self.tls.send_close_notify();
        let _ = self.tls.write_tls(&mut self.stream);
        let _ = self.stream.flush();
        let _ = self.stream.shutdown(Shutdown::Write);
        // Data that has arrived is read, because closing would otherwise send a reset.
        let mut rest = [0; 4096];
        while matches!(self.stream.read(&mut rest), Ok(1..)) {}
    }
}

/// An epoll instance with the event that each connection waits for: readable or writable.
struct Waits(OwnedFd);

impl Waits {
    fn new() -> Result<Self, Error> {
        epoll::create(epoll::CreateFlags::CLOEXEC)
            .map(Self)
            .map_err(failed)
    }

    /// Adds a connection with its number. Closing its socket removes it.
    fn add(&self, connection: &mut Connection, at: usize) -> Result<(), Error> {
        connection.waits_for = connection.events();
        let data = epoll::EventData::new_u64(at as u64);
        epoll::add(&self.0, &connection.stream, data, connection.waits_for).map_err(failed)
    }

    /// Updates the awaited events after a step of the connection.
    fn follow(&self, connection: &mut Connection, at: usize) -> Result<(), Error> {
        let events = connection.events();
        if connection.waits_for == events {
            return Ok(());
        }
        connection.waits_for = events;
        let data = epoll::EventData::new_u64(at as u64);
        epoll::modify(&self.0, &connection.stream, data, events).map_err(failed)
    }

    fn until_ready(&self, ready: &mut Vec<epoll::Event>) -> Result<(), Error> {
        let limit = Timespec {
            tv_sec: 0,
            tv_nsec: 100_000_000,
        };
        match epoll::wait(&self.0, spare_capacity(ready), Some(&limit)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(failed(error)),
        }
    }
}

/// Accepts exactly one certificate, with signatures by its key. Verifying it up to a root would cost the client another
/// signature check, on the CPUs where the server is measured.
#[derive(Debug)]
struct OnlyThis {
    certificate: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl OnlyThis {
    fn algorithms(&self) -> &WebPkiSupportedAlgorithms {
        &self.provider.signature_verification_algorithms
    }
}

impl ServerCertVerifier for OnlyThis {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match *certificate == self.certificate {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(CertificateError::UnknownIssuer.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, self.algorithms())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, self.algorithms())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms().supported_schemes()
    }
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Failed(format!("a handshake failed: {error}"))
}
