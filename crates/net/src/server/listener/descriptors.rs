//! File descriptors, and the part of them for connections without a certificate.

use std::io;

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises this process's limit on descriptors to the maximum allowed.
pub(in crate::server) fn take_all() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    // If it cannot be raised, the server runs with the current limit.
    let _ = setrlimit(Resource::Nofile, raised);
}

/// Returns this process's limit on descriptors divided by `parts`.
pub(in crate::server) fn share_of(parts: u64) -> usize {
    let current = getrlimit(Resource::Nofile).current;
    current.map_or(usize::MAX, |current| {
        usize::try_from(current / parts).unwrap_or(usize::MAX)
    })
}

/// Whether an error says that the process or the machine has no descriptors left.
pub(in crate::server) fn are_out(error: &io::Error) -> bool {
    let number = error.raw_os_error();
    [Errno::MFILE, Errno::NFILE]
        .map(|it| Some(it.raw_os_error()))
        .contains(&number)
}
