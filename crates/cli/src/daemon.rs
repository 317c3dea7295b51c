//! The set-up that the daemons of this machine share: `oarlock local` and `oarlock relay`.

use std::os::fd::OwnedFd;
use std::path::Path;

use nix::unistd::User;
use rustix::fs::{Mode, OFlags, fchmod, fstat, open};
use rustix::io::dup;
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit,
};

use crate::failure::{Failure, reason};

/// Prevents other processes of its user from inspecting this one, and raises its limit of descriptors to the maximum.
pub(crate) fn prepare() -> Result<(), Failure> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|error| Failure::new(format!("prctl: {}", reason(&error.into()))))?;
    let maximum = getrlimit(Resource::Nofile).maximum;
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    let _ = setrlimit(Resource::Nofile, raised);
    Ok(())
}

/// Returns standard input, which must be a listening socket.
pub(crate) fn listener() -> Result<OwnedFd, Failure> {
    dup(rustix::stdio::stdin())
        .map_err(|error| Failure::new(format!("standard input: {}", reason(&error.into()))))
}

/// Creates the folder of the default sockets, as systemd does: anybody may enter it, whatever the umask is. An earlier
/// version created it for live figures, with access for root alone; such a folder is opened to all. If that is refused, bind
/// reports it.
pub(crate) fn make_folder_of(socket: &Path) {
    if socket.parent() != Some(Path::new(RUN)) {
        return;
    }
    let _ = std::fs::create_dir(RUN);
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
    let Ok(folder) = open(RUN, flags, Mode::empty()) else {
        return;
    };
    let is_closed = fstat(&folder).is_ok_and(|it| it.st_mode & 0o011 == 0);
    if is_closed {
        let _ = fchmod(&folder, Mode::from_raw_mode(0o755));
    }
}

/// Returns the number of a user that `--allow` names.
pub(crate) fn user(name: &str) -> Result<u32, Failure> {
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    match User::from_name(name) {
        Ok(Some(user)) => Ok(user.uid.as_raw()),
        Ok(None) => Err(Failure::usage(format!("--allow {name}: no such user"))),
        Err(error) => Err(Failure::new(format!(
            "--allow {name}: {}",
            reason(&error.into())
        ))),
    }
}

/// The folder of the default sockets.
const RUN: &str = "/run/oarlock";
