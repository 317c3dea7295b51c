//! The daemon that batches requests of several server processes.

use std::io::{PipeWriter, Write as _};
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::thread::JoinHandle;

use oarlock_local::{Limits, Server};
use tempfile::TempDir;

use crate::host::open_folder;

/// A daemon that serves in this process.
pub(super) struct Daemon {
    user: u32,
    folder: TempDir,
    stop: Option<(PipeWriter, JoinHandle<()>)>,
}

impl Daemon {
    /// Starts a daemon for processes of this user and of root.
    pub(super) fn start(user: u32) -> Self {
        let mut daemon = Self {
            user,
            folder: open_folder(),
            stop: None,
        };
        daemon.starts_again();
        daemon
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.folder.path().join("local.sock")
    }

    pub(super) fn starts_again(&mut self) {
        let server = Server::bind(self.socket()).unwrap();
        let (stopped, stop) = std::io::pipe().unwrap();
        let limits = Limits {
            users: vec![0, self.user],
            boards_of_user: 16,
        };
        let serving = std::thread::spawn(move || {
            server.serve(&limits, stopped.as_fd(), &mut |_| ()).unwrap()
        });
        self.stop = Some((stop, serving));
    }

    pub(super) fn stops(&mut self) {
        if let Some((mut stop, serving)) = self.stop.take() {
            stop.write_all(&[1]).unwrap();
            serving.join().unwrap();
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.stops();
        }
    }
}
