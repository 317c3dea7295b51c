//! Where what is measured takes place.

use std::fs::File;

use oarlock_bench::Error;
use rustix::fd::AsFd as _;
use rustix::thread::{
    CpuSet, LinkNameSpaceType, move_into_link_name_space, sched_getaffinity, sched_setaffinity,
};

/// For OPENSSL_ia32cap, which aws-lc reads too: without AES-NI and PCLMULQDQ (CPUID leaf 1), VAES and
/// VPCLMULQDQ (leaf 7). SSSE3 stays, and with it the best code for CPUs without AES-NI, and SHA-NI:
/// only because leaf 7 is named, for without the colon all of it is hidden
/// (OPENSSL_cpuid_setup in crypto/cpuid.c), and SHA-256 takes four times as long.
pub(crate) const NO_AES_FOR_OPENSSL: &str = "~0x200000200000000:~0x60000000000";

/// Binds this thread to the first of its CPUs meanwhile; a process it starts inherits that.
pub(crate) fn on_one_cpu<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    on_cpu(|cpus| cpus.next(), work)
}

/// As [`on_one_cpu`], on the last of them: another one, where there are two.
pub(crate) fn on_last_cpu<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    on_cpu(|cpus| cpus.last(), work)
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

/// Has this thread in the network namespace `name` of ip-netns(8) meanwhile; sockets it makes and
/// processes it starts stay there.
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

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// By what OpenSSL says that it goes by.
    #[test]
    fn aes_is_hidden_and_nothing_else() {
        let words = |mask: Option<&str>| {
            let mut command = Command::new("openssl");
            command.args(["info", "-cpusettings"]);
            match mask {
                Some(mask) => command.env("OPENSSL_ia32cap", mask),
                None => command.env_remove("OPENSSL_ia32cap"),
            };
            let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
            // "OPENSSL_ia32cap=0x7ffef3ff...:0x1c2ffb...", and with a mask " env:" and the mask.
            let values = text.trim().split_once('=').unwrap().1;
            let values = values.split(' ').next().unwrap();
            let mut words = values.split(':');
            [words.next(), words.next()]
                .map(|word| u64::from_str_radix(&word.unwrap()[2..], 16).unwrap())
        };
        let [first, second] = words(None);
        let aes = [1 << 57 | 1 << 33, 1 << 41 | 1 << 42];
        let hidden = words(Some(NO_AES_FOR_OPENSSL));
        assert_eq!(hidden, [first & !aes[0], second & !aes[1]]);
    }
}
