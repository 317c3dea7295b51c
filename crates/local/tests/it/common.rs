//! A server for tests, and keys.

use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use oarlock::Accelerator;
use oarlock::rsa::{AcceleratedRsa, RsaPrivateKey};
use oarlock_local::{Error, Limits, Server};
use oarlock_testing::skip;
use rustix::event::{EventfdFlags, eventfd};
use tempfile::TempDir;

pub(crate) struct Served {
    folder: TempDir,
    stop: Arc<OwnedFd>,
    serving: Option<JoinHandle<Result<(), Error>>>,
}

impl Served {
    /// Starts a server for the user of this process.
    pub(crate) fn new() -> Self {
        Self::with(Limits {
            users: vec![own_user()],
            boards_of_user: 8,
        })
    }

    pub(crate) fn with(limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::bind(folder.path().join("socket")).unwrap();
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).unwrap());
        let stopped = Arc::clone(&stop);
        let serving =
            std::thread::spawn(move || server.serve(&limits, stopped.as_fd(), &mut |_| ()));
        Self {
            folder,
            stop,
            serving: Some(serving),
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    /// Stops the server, and waits for its end.
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

/// Returns how many of `count` requests are certain to be computed together. Without AVX-512, aws-lc alone, which the mask
/// does not affect, may be as fast, and then computing together is rightly declined.
pub(crate) fn surely(rsa: &AcceleratedRsa, count: usize) -> usize {
    match rsa.lanes() {
        Some(8) => count,
        _ => 0,
    }
}

/// Returns a key of the tests; reports a skip and returns `None` on a CPU without lanes.
pub(crate) fn rsa(bits: usize) -> Option<AcceleratedRsa> {
    let keys = Path::new(env!("CARGO_MANIFEST_DIR")).join("../oarlock/tests/keys");
    let pem = std::fs::read_to_string(keys.join(format!("rsa{bits}.pem"))).unwrap();
    let accelerator = Accelerator::builder().build().unwrap();
    let rsa = accelerator.rsa(&RsaPrivateKey::from_pem(&pem).unwrap());
    if rsa.lanes().is_none() {
        skip("lanes for RSA");
        return None;
    }
    Some(rsa)
}
