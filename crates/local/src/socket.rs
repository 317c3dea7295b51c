//! Sockets of daemons: listeners, and connections from users that may connect.
//!
//! They keep message boundaries (SOCK_SEQPACKET, unix(7)).

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use rustix::fs::{CWD, Mode, OFlags, XattrFlags, fstat, openat, setxattr, stat};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::sockopt::{Timeout, set_socket_timeout, socket_acceptconn, socket_type};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, listen,
    socket_with,
};
use rustix::process::{geteuid, umask};

use crate::Error;

/// The peer of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Peer {
    pub(crate) user: u32,
    /// The process ID; 0 if this process cannot see it, as in another container.
    pub(crate) process: u32,
}

/// A listening socket.
#[derive(Debug)]
pub(crate) struct Listener {
    socket: OwnedFd,
    /// The path and inode of the socket that it created, which it removes at its end.
    path: Option<(PathBuf, u64)>,
}

impl Listener {
    /// Listens at `path`, where any user may connect, and replaces a stale socket. Changes the process's umask(2) while it
    /// runs.
    pub(crate) fn bind(path: &Path) -> Result<Self, Error> {
        let what = path.display().to_string();
        let address = SocketAddrUnix::new(path).map_err(Error::system(&what))?;
        let socket = packets().map_err(Error::system(&what))?;
        // Any user may connect. The umask sets this, because chmod(2) afterwards would follow a link that another user may
        // have put there.
        let before = umask(Mode::from_raw_mode(0o111));
        let mut bound = bind(&socket, &address);
        if bound == Err(Errno::ADDRINUSE) {
            bound = match remove_stale(path, &address) {
                Ok(()) => bind(&socket, &address),
                Err(error) => {
                    umask(before);
                    return Err(error);
                }
            };
        }
        umask(before);
        bound.map_err(Error::system(&what))?;
        let made = std::fs::symlink_metadata(path).map_err(Error::system(&what))?;
        let listener = Self {
            socket,
            path: Some((path.to_owned(), made.ino())),
        };
        listen(&listener.socket, BACKLOG).map_err(Error::system(&what))?;
        Ok(listener)
    }

    /// Wraps a socket that listens already, as a service manager passes it.
    pub(crate) fn on(socket: OwnedFd) -> Result<Self, Error> {
        let is_one = socket_acceptconn(&socket) == Ok(true)
            && socket_type(&socket) == Ok(SocketType::SEQPACKET);
        if !is_one {
            return Err(Error::NoListener);
        }
        // A client may be gone before it is accepted.
        ioctl_fionbio(&socket, true).map_err(Error::system("the socket"))?;
        Ok(Self { socket, path: None })
    }

    /// Makes the system turn away all but root, this process's user and `users`, so that a flood of other users takes no
    /// place in the queue of connections. If the socket is not this process's, or its file system has no access-control
    /// lists, other users are turned away when they are accepted.
    pub(crate) fn admit(&self, users: impl Iterator<Item = u32>) {
        let Some((path, inode)) = &self.path else {
            return;
        };
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(file) = openat(CWD, path, flags, Mode::empty()) else {
            return;
        };
        // Use the descriptor, as another user may replace the file.
        if fstat(&file).is_ok_and(|status| status.st_ino == *inode) {
            let file = format!("/proc/self/fd/{}", file.as_raw_fd());
            let list = access_list(users);
            let _ = setxattr(file, "system.posix_acl_access", &list, XattrFlags::empty());
        }
    }

    /// Accepts the next client. `None` if it is not of one of these users, or has gone.
    pub(crate) fn next(
        &self,
        is_user: impl FnOnce(u32) -> bool,
    ) -> rustix::io::Result<Option<(OwnedFd, Peer)>> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = match accept_with(&self.socket, flags) {
            Ok(socket) => socket,
            Err(Errno::INTR | Errno::CONNABORTED) => return Ok(None),
            Err(error) => return Err(error),
        };
        let Ok(peer) = getsockopt(&socket, PeerCredentials) else {
            return Ok(None);
        };
        let peer = Peer {
            user: peer.uid(),
            process: u32::try_from(peer.pid()).unwrap_or(0),
        };
        Ok(is_user(peer.user).then_some((socket, peer)))
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some((path, inode)) = &self.path
            && std::fs::symlink_metadata(path).is_ok_and(|file| file.ino() == *inode)
        {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Encodes an access-control list (acl(5)) by which the owner and `users` may read and write, in the form of the kernel's
/// extended attribute: its version, and for each entry a tag, rights and a user.
fn access_list(users: impl Iterator<Item = u32>) -> Vec<u8> {
    let mut users: Vec<_> = users.collect();
    users.sort_unstable();
    users.dedup();
    let nobody = u32::MAX;
    let mut entries = vec![(OWNER, READ_AND_WRITE, nobody)];
    entries.extend(users.into_iter().map(|user| (USER, READ_AND_WRITE, user)));
    entries.extend([
        (OWNING_GROUP, 0, nobody),
        (MASK, READ_AND_WRITE, nobody),
        (OTHERS, 0, nobody),
    ]);
    let mut list = 2u32.to_le_bytes().to_vec();
    for (tag, rights, user) in entries {
        list.extend(tag.to_le_bytes());
        list.extend(rights.to_le_bytes());
        list.extend(user.to_le_bytes());
    }
    list
}

/// Removes a socket on which no process listens.
fn remove_stale(path: &Path, address: &SocketAddrUnix) -> Result<(), Error> {
    let what = path.display().to_string();
    let file = std::fs::symlink_metadata(path).map_err(Error::system(&what))?;
    if !file.file_type().is_socket() {
        return Err(Error::system(what)(Errno::ADDRINUSE));
    }
    let probe = packets().map_err(Error::system(&what))?;
    if connect(&probe, address) != Err(Errno::CONNREFUSED) {
        return Err(Error::InUse(path.to_owned()));
    }
    std::fs::remove_file(path).map_err(Error::system(&what))
}

fn packets() -> rustix::io::Result<OwnedFd> {
    socket_with(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        None,
    )
}

/// Connects to a daemon that can be trusted. No step of it, nor any later call on the connection, takes longer than
/// `patience`.
pub(crate) fn connected(path: &Path, patience: Duration) -> io::Result<OwnedFd> {
    let socket = socket_with(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )?;
    // Connecting may wait for a place in the server's queue.
    for timeout in [Timeout::Recv, Timeout::Send] {
        set_socket_timeout(&socket, timeout, Some(patience))?;
    }
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    // The server must be run by root, by this user, or by a user who may put a socket at this path.
    let server = getsockopt(&socket, PeerCredentials)?.uid();
    if [0, geteuid().as_raw()].contains(&server) || is_place_of(path, server)? {
        Ok(socket)
    } else {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

/// Whether only `user`, who owns the folder of `path`, may write to it.
fn is_place_of(path: &Path, user: u32) -> io::Result<bool> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let status = stat(folder)?;
    Ok(status.st_uid == user && status.st_mode & 0o022 == 0)
}

/// The most clients that have connected but are not accepted yet; the kernel allows 4096.
const BACKLOG: i32 = 1024;
/// The tags of entries, in their order in the list.
const OWNER: u16 = 0x01;
const USER: u16 = 0x02;
const OWNING_GROUP: u16 = 0x04;
const MASK: u16 = 0x10;
const OTHERS: u16 = 0x20;
const READ_AND_WRITE: u16 = 6;
