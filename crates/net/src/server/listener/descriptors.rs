//! Descriptors, of which connections without a certificate may take a part.

use std::io;

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises this process's bound to what it may have.
pub(in crate::server) fn take_all() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    // Nothing more is allowed: it serves with what it has.
    let _ = setrlimit(Resource::Nofile, raised);
}

/// The descriptors that this process may have, divided by `parts`.
pub(in crate::server) fn share_of(parts: u64) -> usize {
    let current = getrlimit(Resource::Nofile).current;
    current.map_or(usize::MAX, |current| {
        usize::try_from(current / parts).unwrap_or(usize::MAX)
    })
}

/// Whether an error says that the process or the machine has none left.
pub(in crate::server) fn are_out(error: &io::Error) -> bool {
    let number = error.raw_os_error();
    [Errno::MFILE, Errno::NFILE]
        .map(|it| Some(it.raw_os_error()))
        .contains(&number)
}
