//! The first operation of a process, and of its forked child.
#![allow(unsafe_code)]

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::args::Args;
use crate::cases::{self, Tasks};
use crate::error::Error;
use crate::peers::{Oarlock, Peer, PeerFactory, Results, choose};

/// The result of one process.
#[derive(Clone, Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct First {
    /// Microseconds of the first operation with a key that was set up.
    pub fresh_us: f64,
    /// Microseconds of the first operation with the same key in a child that was forked after that.
    pub forked_us: f64,
    /// Microseconds of one more operation in the parent, for comparison.
    pub later_us: f64,
}

/// Measures the first public-key operation of this process with the first of `args.peer`, or with Oarlock if none is
/// named. The process must have one thread, and must not have done such an operation before.
///
/// # Errors
/// [`Error::Usage`] unless `args` name one public-key case; otherwise the same as for [`run`](crate::run()).
pub fn first(args: &Args, peers: &[PeerFactory]) -> Result<First, Error> {
    let case = match cases::matching(&args.case)?.public_key.as_slice() {
        [case] => *case,
        _ => {
            return Err(Error::Usage(
                "a first operation is of one public-key case: name it with --case".to_owned(),
            ));
        }
    };
    let tasks = Tasks::of(case)?;
    let chosen = match args.peer.as_slice() {
        [] => Vec::new(),
        named => choose(peers, named, 1, &mut |_| {})?,
    };
    let mut subject = match chosen.first() {
        Some(chosen) => chosen.peer.public_key(&tasks, 1)?,
        None => Oarlock::new(1, oarlock::Strategy::Auto)?.public_key(&tasks, 1)?,
    };
    let mut results = Results::new(tasks.count());
    let mut timed = |request| {
        let began = Instant::now();
        subject.submit(request);
        subject.finish(&mut results);
        began.elapsed()
    };
    let fresh = timed(0);
    let forked = in_child(|| timed(1))?;
    Ok(First {
        fresh_us: us(fresh),
        forked_us: us(forked),
        later_us: us(timed(2)),
    })
}

fn us(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}

/// Returns the result of `work` in a child of this process, which has one thread.
fn in_child(work: impl FnOnce() -> Duration) -> Result<Duration, Error> {
    let (mut reader, mut writer) = std::io::pipe().map_err(Error::io("a pipe"))?;
    // SAFETY: this process has one thread, so in the child no lock is held and no state is half changed.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let nanoseconds = work().as_nanos() as u64;
        let told = writer.write_all(&nanoseconds.to_ne_bytes());
        // SAFETY: no preconditions. Exit handlers that the parent registered are not run.
        unsafe { libc::_exit(i32::from(told.is_err())) };
    }
    if child < 0 {
        return Err(Error::io("fork")(std::io::Error::last_os_error()));
    }
    drop(writer);
    let mut nanoseconds = [0; 8];
    let told = reader.read_exact(&mut nanoseconds);
    // SAFETY: the child is ours and is waited for once; null asks for no status.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    told.map_err(Error::io("the forked child"))?;
    Ok(Duration::from_nanos(u64::from_ne_bytes(nanoseconds)))
}
