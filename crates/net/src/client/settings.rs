//! The settings of a client and of its calls.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tonic::Code;
use zeroize::Zeroizing;

use crate::proto::request::Operation;
use crate::tls::ClientTls;

/// The servers of a client, and how to reach them.
#[derive(Clone)]
pub struct Settings {
    /// The servers, each as `host:port`. If a name has several addresses, all of them are used. Names are looked up
    /// periodically, so servers may come and go.
    pub servers: Vec<String>,
    /// Mutual TLS; `None` for plaintext servers on this machine.
    pub tls: Option<ClientTls>,
    /// The name in the servers' certificates, if it differs from that in `servers`.
    pub server_name: Option<String>,
    /// The number of connections to each address.
    pub connections: usize,
    /// The time limit for connecting, including TLS.
    pub connect_timeout: Duration,
    /// The time limit of a request over all attempts, unless the call sets its own.
    pub timeout: Duration,
    /// The interval between look-ups of the names.
    pub lookup_interval: Duration,
    /// The local implementation for when no server can be reached.
    pub fallback: Option<Arc<dyn Fallback>>,
}

/// A local implementation of operations. It runs on a thread for blocking work.
pub trait Fallback: Send + Sync {
    /// Computes `operation`; returns `None` if it cannot be computed here either.
    fn compute(&self, operation: &Operation) -> Option<Result<Zeroizing<Vec<u8>>, String>>;
}

impl Settings {
    /// Returns settings for these servers, with one connection to each address.
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

/// A server's address.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Address {
    pub(super) socket: SocketAddr,
    /// The host as written, without the port.
    pub(super) host: String,
}

impl Address {
    /// Returns the `:authority` of requests.
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

/// The reason why a request was not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientError {
    /// The gRPC status code, whose name [`code_name`](crate::proto::code_name) returns.
    pub code: Code,
    /// The fault, and what to do about it.
    pub message: String,
}

impl ClientError {
    /// Whether the same request may succeed later: no server could be reached, or none had time or room.
    pub fn may_pass(&self) -> bool {
        matches!(
            self.code,
            Code::DeadlineExceeded | Code::ResourceExhausted | Code::Unavailable
        )
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ClientError {}

/// The options of one call.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallOptions {
    /// The time limit over all attempts; `None` for that of the settings.
    pub timeout: Option<Duration>,
    /// Whether it precedes this client's other requests.
    pub is_urgent: bool,
    /// The SHA-256 digest of the SubjectPublicKeyInfo of the key that is meant, for signatures, decryption and raised numbers:
    /// a server whose key of that ID is another one refuses the request with FAILED_PRECONDITION. A fallback does not see it.
    pub public_key_sha256: Option<[u8; 32]>,
}
