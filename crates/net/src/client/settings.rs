//! How servers are reached, and requests treated.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use tonic::Code;
use zeroize::Zeroizing;

use crate::proto::request::Operation;

/// How servers are reached.
#[derive(Clone)]
pub struct Settings {
    /// `host:port` of each server; of a name that has several addresses, every one. Names are looked
    /// up again from time to time, so that servers may come and go.
    pub servers: Vec<String>,
    /// Mutual TLS; `None` for servers without, on this machine.
    pub tls: Option<Arc<ClientConfig>>,
    /// The name in the servers' certificates, where it is not that of `servers`.
    pub server_name: Option<String>,
    /// To each address.
    pub connections: usize,
    /// For a connection, TLS included.
    pub connect_timeout: Duration,
    /// Of a request, from first to last attempt, unless it brings its own.
    pub timeout: Duration,
    /// How often names are looked up again.
    pub lookup_interval: Duration,
    /// Computes what no server can be asked for, if that is allowed.
    pub fallback: Option<Arc<dyn Fallback>>,
}

/// Computes requests here, on a thread for work that blocks.
pub trait Fallback: Send + Sync {
    /// The result; `None` for what cannot be computed here either.
    fn compute(&self, operation: &Operation) -> Option<Result<Zeroizing<Vec<u8>>, String>>;
}

impl Settings {
    /// For these servers, with one connection to each address.
    pub fn new(servers: Vec<String>, tls: Option<Arc<ClientConfig>>) -> Self {
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

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Address {
    pub(super) socket: SocketAddr,
    /// As it was written, without the port.
    pub(super) host: String,
}

impl Address {
    /// For the `:authority` of requests.
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
    /// Of gRPC.
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

/// How a request is to be treated.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallOptions {
    /// From first to last attempt; that of the settings if there is none.
    pub timeout: Option<Duration>,
    /// Before other requests of this client.
    pub is_urgent: bool,
}
