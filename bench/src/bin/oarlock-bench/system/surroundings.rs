//! The conditions of a measurement: CPUs, competing processes, networks.

use std::fs::File;
use std::process::Command;

use oarlock_measure::Error;
use rustix::fd::AsFd as _;
use rustix::thread::{
    CpuSet, LinkNameSpaceType, move_into_link_name_space, sched_getaffinity, sched_setaffinity,
};

use super::child::Running;

/// Binds this thread to the first of its CPUs during `work`; processes it starts inherit that.
pub(crate) fn on_one_cpu<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    on_cpu(|cpus| cpus.next(), work)
}

/// Like [`on_one_cpu`], but on the last CPU, which is another one if there are two.
pub(crate) fn on_last_cpu<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    on_cpu(|cpus| cpus.last(), work)
}

/// Keeps the last of this thread's CPUs busy during `work` with another process, which competes with those that `work`
/// starts. The process ends with this one in any case.
pub(crate) fn beside_a_busy_cpu<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let mut busy = Command::new("sh");
    busy.args(["-c", "while kill -0 $PPID; do :; done"]);
    let _busy = on_last_cpu(|| Running::start(&mut busy))?;
    work()
}

fn on_cpu<T>(
    choose: impl FnOnce(&mut dyn Iterator<Item = usize>) -> Option<usize>,
    work: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    let failed = |error| Error::Failed(format!("binding to one CPU: {error}"));
    let all = sched_getaffinity(None).map_err(failed)?;
    let mut one = CpuSet::new();
    if let Some(chosen) = choose(&mut (0..CpuSet::MAX_CPU).filter(|cpu| all.is_set(*cpu))) {
        one.set(chosen);
        sched_setaffinity(None, &one).map_err(failed)?;
    }
    let result = work();
    sched_setaffinity(None, &all).map_err(failed)?;
    result
}

/// Moves this thread to the network namespace `name` of ip-netns(8) during `work`; sockets and processes it creates stay
/// there.
pub(crate) fn in_network<T>(
    name: &str,
    work: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    let open = |path: String| File::open(&path).map_err(Error::io(path));
    let own = open("/proc/thread-self/ns/net".to_owned())?;
    let other = open(format!("/run/netns/{name}"))?;
    let enter = |space: &File| {
        move_into_link_name_space(space.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(|error| Error::Failed(format!("entering a network namespace: {error}")))
    };
    enter(&other)?;
    let result = work();
    enter(&own)?;
    result
}
