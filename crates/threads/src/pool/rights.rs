//! The rights that a helper in another vendor's program gives up as it begins: its capabilities, and the means to get others
//! (no_new_privs). A program that drops its own with capset(2) does so only for the calling thread, and a helper would keep
//! what that thread had before.
//!
//! Two capabilities stay if the program has them: CAP_SETUID and CAP_SETGID. The C library changes the user in every thread
//! of the process, and aborts if one of them may not and another may. So a helper in a program of root's must be able to
//! follow; it loses both when it does.
//!
//! The calls are made only if no filter of system calls is in place, or only those that the first process of this container
//! has as well: a filter that a service installed for itself may kill for capset(2).
#![allow(unsafe_code)]

use std::fs::File;
use std::io::Read as _;

use crate::process;

/// Gives up the rights of the calling helper. Makes no call if there is nothing to give up.
pub(crate) fn give_up() {
    process::keeping_errno(|| {
        let Some(own) = Status::of("thread-self") else {
            return;
        };
        let kept = own.permitted & FOLLOWING;
        let has_more = own.capabilities & !kept != 0;
        if !has_more && own.has_no_new_privileges || !own.may_call() {
            return;
        }
        if has_more {
            set_capabilities(kept);
        }
        if !own.has_no_new_privileges {
            // SAFETY: takes numbers alone, and concerns this thread alone.
            unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
        }
    });
}

/// The fields of a thread's `/proc/.../status` that matter here (proc_pid_status(5)).
#[derive(Debug, Default, PartialEq)]
struct Status {
    permitted: u64,
    /// Capabilities that are permitted, effective, inheritable or ambient.
    capabilities: u64,
    has_no_new_privileges: bool,
    /// The mode of seccomp(2), and the number of filters.
    filter: (u64, u64),
}

impl Status {
    fn of(process: &str) -> Option<Self> {
        let file = File::open(format!("/proc/{process}/status")).ok()?;
        let mut text = Vec::with_capacity(4096);
        // Opened, read and closed without asking for its size: no call that a filter need not list.
        file.take(TEXT_BYTES_MAX).read_to_end(&mut text).ok()?;
        Self::parse(&String::from_utf8_lossy(&text))
    }

    /// Parses the text of the file; `None` if a needed field is missing.
    fn parse(text: &str) -> Option<Self> {
        let value = |name: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once(':'));
            Some(lines.find(|(one, _)| *one == name)?.1.trim())
        };
        let set = |name| u64::from_str_radix(value(name)?, 16).ok();
        let number = |name| value(name)?.parse::<u64>().ok();
        let permitted = set("CapPrm")?;
        Some(Self {
            permitted,
            capabilities: permitted | set("CapEff")? | set("CapInh")? | set("CapAmb")?,
            has_no_new_privileges: number("NoNewPrivs")? == 1,
            // Since Linux 5.9; without the field, all filters count as equal.
            filter: (number("Seccomp")?, number("Seccomp_filters").unwrap_or(0)),
        })
    }

    /// Whether no filter may kill for the calls.
    fn may_call(&self) -> bool {
        self.filter.0 == 0 || Self::of("1").is_some_and(|first| first.filter == self.filter)
    }
}

/// Sets the permitted and effective capabilities of the calling thread, and clears the inheritable and ambient ones. Changes
/// nothing if that is refused.
fn set_capabilities(kept: u64) {
    let half = |shift: u32| Data {
        effective: (kept >> shift) as u32,
        permitted: (kept >> shift) as u32,
        inheritable: 0,
    };
    let header = Header {
        version: VERSION_3,
        thread: 0,
    };
    let data = [half(0), half(32)];
    // SAFETY: a header of version 3 and two halves, as capset(2) reads them; 0 is the calling thread.
    unsafe { libc::syscall(libc::SYS_capset, &raw const header, data.as_ptr()) };
}

#[repr(C)]
struct Header {
    version: u32,
    thread: libc::c_int,
}

#[repr(C)]
struct Data {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// The value of _LINUX_CAPABILITY_VERSION_3.
const VERSION_3: u32 = 0x2008_0522;
/// The most that is read of a status file: a process may be in 65,536 groups, and each is listed.
const TEXT_BYTES_MAX: u64 = 1 << 20;
/// CAP_SETGID and CAP_SETUID.
const FOLLOWING: u64 = 1 << 6 | 1 << 7;

#[cfg(test)]
mod tests {
    use super::*;

    const ROOTS: &str = "Name:\tx: y\nCapInh:\t0000000000000000\nCapPrm:\t000001fffeffffff\n\
                         CapEff:\t000001fffeffffff\nCapBnd:\t000001fffeffffff\nCapAmb:\t0000000000000000\n\
                         NoNewPrivs:\t0\nSeccomp:\t2\nSeccomp_filters:\t3\n";

    #[test]
    fn what_the_kernel_tells_is_read() {
        let expected = Status {
            permitted: 0x1ff_feff_ffff,
            capabilities: 0x1ff_feff_ffff,
            has_no_new_privileges: false,
            filter: (2, 3),
        };
        assert_eq!(Status::parse(ROOTS), Some(expected));
        assert_eq!(Status::parse(&ROOTS.replace("CapPrm", "Cap")), None);
        assert_eq!(Status::parse(""), None);
        assert!(Status::of("thread-self").is_some());
    }

    #[test]
    fn a_thread_gives_up_all_but_what_it_needs_to_follow() {
        let read = || Status::of("thread-self").unwrap();
        let before = read();
        let after = std::thread::spawn(move || {
            give_up();
            read()
        });
        let after = after.join().unwrap();
        if before.may_call() {
            let kept = before.permitted & FOLLOWING;
            assert_eq!((after.permitted, after.capabilities), (kept, kept));
            assert!(after.has_no_new_privileges);
        }
        assert_eq!(read(), before, "it concerns that thread alone");
    }
}
