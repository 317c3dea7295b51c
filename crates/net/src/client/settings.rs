//! How servers are reached, and how requests are treated.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tonic::Code;
use zeroize::Zeroizing;

use crate::proto::request::Operation;
use crate::tls::ClientTls;

/// How servers are reached.
#[derive(Clone)]
pub struct Settings {
    /// `host:port` of each server. If a name has several addresses, all of them are used. Names are
    /// looked up again from time to time, so servers may come and go.
    pub servers: Vec<String>,
    /// Mutual TLS; `None` for plaintext servers on this machine.
    pub tls: Option<ClientTls>,
    /// The name in the servers' certificates, if it differs from that in `servers`.
    pub server_name: Option<String>,
    /// Connections to each address.
    pub connections: usize,
    /// Time to connect, including TLS.
    pub connect_timeout: Duration,
    /// Time for a request from first to last attempt, unless the call has its own.
    pub timeout: Duration,
    /// How often names are looked up again.
    pub lookup_interval: Duration,
    /// Computes locally when no server can be reached, if set.
    pub fallback: Option<Arc<dyn Fallback>>,
}

/// Computes requests locally, on a thread for blocking work.
pub trait Fallback: Send + Sync {
    /// The result; `None` if it cannot be computed here either.
    fn compute(&self, operation: &Operation) -> Option<Result<Zeroizing<Vec<u8>>, String>>;
}

impl Settings {
    /// Settings for these servers, with one connection to each address.
    pub fn new(servers: Vec<String>, tls: Option<ClientTls>) -> Self {
        Self {
            servers,
            tls,
            server_name: None,
            connections: 1,
            connect_timeout: Duration::from_secs(3),
            timeout: Duration::from_secs(10),
            lookup_interval: Duration::from_secs(10),
            fallback: None,
        }
    }
}

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Address {
    pub(super) socket: SocketAddr,
    /// As written, without the port.
    pub(super) host: String,
}

impl Address {
    /// The `:authority` of requests.
    pub(super) fn authority(&self) -> String {
        self.socket.to_string()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host == self.socket.ip().to_string() {
            write!(f, "{}", self.socket)
        } else {
            write!(f, "{} ({})", self.host, self.socket)
        }
    }
}

/// Why a request was not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientError {
    /// The gRPC status code.
    pub code: Code,
    /// What was wrong, and what to do.
    pub message: String,
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ClientError {}

/// How a request is treated.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallOptions {
    /// From first to last attempt; by default that of the settings.
    pub timeout: Option<Duration>,
    /// Precedes this client's other requests.
    pub is_urgent: bool,
}
