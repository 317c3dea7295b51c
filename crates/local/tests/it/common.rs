//! A server of a test, and frames written by hand.

use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use oarlock::Accelerator;
use oarlock::rsa::RsaPrivateKey;
use oarlock_local::server::Limits;
use oarlock_local::{Error, Server};
use oarlock_testing::skip;
use rustix::event::{EventfdFlags, eventfd};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv,
    send, socket_with,
};
use tempfile::TempDir;

pub(crate) struct Served {
    folder: TempDir,
    stop: Arc<OwnedFd>,
    serving: Option<JoinHandle<Result<(), Error>>>,
}

impl Served {
    /// For the user of this process; `None`, said so, on a CPU without lanes.
    pub(crate) fn new() -> Option<Self> {
        Self::with(Limits {
            users: vec![own_user()],
            connections: 64,
            connections_of_user: 32,
        })
    }

    pub(crate) fn with(limits: Limits) -> Option<Self> {
        let accelerator = Accelerator::builder().build().unwrap();
        if accelerator.lanes().is_none() {
            skip("lanes for RSA");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let server = Server::bind(folder.path().join("socket")).unwrap();
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).unwrap());
        let stopped = Arc::clone(&stop);
        let serving = std::thread::spawn(move || {
            server.serve(&accelerator, limits, 2, stopped.as_fd())
        });
        Some(Self {
            folder,
            stop,
            serving: Some(serving),
        })
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    /// Stops it, and waits for its end.
    pub(crate) fn end(&mut self) {
        if let Some(serving) = self.serving.take() {
            rustix::io::write(&self.stop, &1u64.to_ne_bytes()).unwrap();
            serving.join().unwrap().unwrap();
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.end();
        }
    }
}

pub(crate) fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

pub(crate) fn key(bits: usize) -> RsaPrivateKey {
    let keys = Path::new(env!("CARGO_MANIFEST_DIR")).join("../oarlock/tests/keys");
    let pem = std::fs::read_to_string(keys.join(format!("rsa{bits}.pem"))).unwrap();
    RsaPrivateKey::from_pem(&pem).unwrap()
}

/// A connection whose frames a test writes itself.
pub(crate) struct Raw(pub(crate) OwnedFd);

impl Raw {
    pub(crate) fn to(path: &Path) -> Self {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
        let limit = Some(oarlock_testing::LIMIT);
        set_socket_timeout(&socket, Timeout::Recv, limit).unwrap();
        connect(&socket, &SocketAddrUnix::new(path).unwrap()).unwrap();
        Self(socket)
    }

    /// One that has handed a key over, in slot 0.
    pub(crate) fn with_key(path: &Path, key: &RsaPrivateKey) -> Self {
        let raw = Self::to(path);
        raw.say(&key_frame(0, key));
        raw
    }

    pub(crate) fn say(&self, frame: &[u8]) {
        // A server that has hung up is seen by what it says.
        let _ = send(&self.0, frame, SendFlags::NOSIGNAL);
    }

    /// What the server says; nothing if it has hung up.
    pub(crate) fn hear(&self) -> Vec<u8> {
        let mut frame = [0; 4096];
        match recv(&self.0, &mut frame[..], RecvFlags::empty()) {
            Ok((length, _)) => frame[..length].to_vec(),
            Err(rustix::io::Errno::CONNRESET) => Vec::new(),
            Err(error) => panic!("the server says nothing: {error}"),
        }
    }
}

pub(crate) fn key_frame(slot: u16, key: &RsaPrivateKey) -> Vec<u8> {
    let secret = key.secret_numbers().unwrap().unwrap();
    let primes = secret.primes.as_ref().unwrap();
    let public = key.public_key();
    let mut frame = vec![1, 1];
    frame.extend(slot.to_le_bytes());
    for number in [
        public.modulus(),
        public.exponent(),
        &secret.d,
        &primes.p,
        &primes.q,
        &primes.dp,
        &primes.dq,
        &primes.qinv,
    ] {
        frame.extend((number.len() as u16).to_le_bytes());
        frame.extend_from_slice(number);
    }
    frame
}

pub(crate) fn power_frame(slot: u16, id: u32, number: &[u8]) -> Vec<u8> {
    let mut frame = vec![1, 2];
    frame.extend(slot.to_le_bytes());
    frame.extend(id.to_le_bytes());
    frame.extend_from_slice(number);
    frame
}
