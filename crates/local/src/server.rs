//! The daemon: hands out the same board to all processes of one user that have the same key.
//!
//! It computes nothing and holds no key. It knows keys only by a name, which it learns from processes that have the key.

use std::collections::HashMap;
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::cmsg_space;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recv, sendmsg};
use zeroize::Zeroizing;

use crate::Error;
use crate::board::Board;
use crate::join::{self, ASKED_BYTES, GIVEN, Name};
use crate::reception::{Desk, Guest, Reports, receive};
use crate::socket::{Listener, Peer};

/// A server, as a listening socket.
#[derive(Debug)]
pub struct Server {
    listener: Listener,
}

/// The users that may connect, and the number of boards that each may have.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The user IDs.
    pub users: Vec<u32>,
    /// The most boards kept for each user, of some 40 KiB each. A further board replaces one that only a single process has
    /// requested, of the process with the most of these; if there is none, it replaces the least recently requested one.
    /// Processes that have the replaced board keep it.
    pub boards_of_user: usize,
}

/// A board that was requested.
struct Kept {
    /// The first process that requested it.
    asker: Peer,
    /// Whether another process has requested it, too.
    is_shared: bool,
    name: Zeroizing<Name>,
    file: OwnedFd,
}

impl Server {
    /// Listens at `path`, and replaces a stale socket. The argument of [`serve`](Self::serve) decides which users may
    /// connect. Changes the process's umask(2) while it runs, so call it before other threads create files.
    ///
    /// # Errors
    /// [`Error::InUse`] if another process listens there, [`Error::System`] if a system call fails.
    pub fn bind(path: impl AsRef<Path>) -> Result<Self, Error> {
        Listener::bind(path.as_ref()).map(|listener| Self { listener })
    }

    /// Creates a server from a socket that already listens (SOCK_SEQPACKET), as a service manager passes it.
    ///
    /// # Errors
    /// [`Error::NoListener`] if it is something else, [`Error::System`] if a system call fails.
    pub fn on(listener: OwnedFd) -> Result<Self, Error> {
        Listener::on(listener).map(|listener| Self { listener })
    }

    /// Serves until `stop` is readable. Calls `report` with failures, at most once a second.
    ///
    /// # Errors
    /// [`Error::System`] if a system call fails.
    pub fn serve(
        &self,
        limits: &Limits,
        stop: BorrowedFd<'_>,
        report: &mut dyn FnMut(&str),
    ) -> Result<(), Error> {
        self.listener.admit(limits.users.iter().copied());
        let mut desk = Boards {
            kept: Vec::new(),
            limits,
        };
        receive(
            std::slice::from_ref(&self.listener),
            stop,
            &mut desk,
            report,
        )
    }
}

/// The desk for boards.
struct Boards<'a> {
    kept: Vec<Kept>,
    limits: &'a Limits,
}

impl Desk for Boards<'_> {
    fn serves(&self, user: u32) -> bool {
        self.limits.users.contains(&user)
    }

    fn hear(&mut self, guest: Guest, reports: &mut Reports<'_>) -> Option<Guest> {
        let mut frame = Zeroizing::new([0; ASKED_BYTES + 1]);
        match recv(&guest.connection, &mut frame[..], RecvFlags::DONTWAIT) {
            Ok((length, _)) => {
                let name = join::read(&frame[..length])?;
                give(&mut self.kept, self.limits, &guest, name, reports);
                None
            }
            Err(Errno::AGAIN | Errno::INTR) => Some(guest),
            Err(_) => None,
        }
    }

    fn give_way(&mut self) {
        if let Some(place) = least_missed(&self.kept, |_| true) {
            self.kept.remove(place);
        }
    }
}

/// Hands a client the board of that name, and creates it if there is none.
fn give(
    boards: &mut Vec<Kept>,
    limits: &Limits,
    guest: &Guest,
    name: Zeroizing<Name>,
    reports: &mut Reports<'_>,
) {
    let peer = guest.peer;
    let is_it = |kept: &Kept| kept.asker.user == peer.user && kept.name == name;
    let kept = match boards.iter().position(is_it) {
        Some(place) => {
            let kept = boards.remove(place);
            // Processes that this one cannot see cannot be told apart.
            let is_other = kept.asker.process != peer.process || peer.process == 0;
            Kept {
                is_shared: kept.is_shared || is_other,
                ..kept
            }
        }
        None => {
            let file = match Board::create() {
                Ok(file) => file,
                Err(error) => {
                    reports.tell(&format!("no board could be made: {error}"));
                    return;
                }
            };
            let is_users = |kept: &Kept| kept.asker.user == peer.user;
            let count = boards.iter().filter(|kept| is_users(kept)).count();
            if count >= limits.boards_of_user
                && let Some(place) = least_missed(boards, is_users)
            {
                boards.remove(place);
            }
            Kept {
                asker: peer,
                is_shared: false,
                name,
                file,
            }
        }
    };
    let descriptors = [kept.file.as_fd()];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&descriptors));
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    match sendmsg(
        &guest.connection,
        &[IoSlice::new(&GIVEN)],
        &mut control,
        flags,
    ) {
        Ok(_) | Err(Errno::PIPE | Errno::CONNRESET) => {}
        // ETOOMANYREFS: clients do not read the descriptors sent to them (unix(7)).
        Err(error) => reports.tell(&format!("a board was not given: {error}")),
    }
    boards.push(kept);
}

/// Returns the place of the board to drop first, among those that `may_go`. A process may request boards with names that it
/// made up, so a board that only a single process has requested goes first, of the process with the most of these; among
/// equals, the least recently requested one.
fn least_missed(boards: &[Kept], may_go: impl Fn(&Kept) -> bool) -> Option<usize> {
    let mut alone = HashMap::<Peer, usize>::new();
    for kept in boards.iter().filter(|kept| !kept.is_shared) {
        *alone.entry(kept.asker).or_default() += 1;
    }
    let weight = |kept: &Kept| match kept.is_shared {
        true => 0,
        false => alone.get(&kept.asker).copied().unwrap_or(0),
    };
    let places = boards.iter().enumerate().filter(|(_, kept)| may_go(kept));
    // `max_by_key` returns the last maximum, so the order is from the youngest to the oldest.
    let heaviest = places.rev().max_by_key(|(_, kept)| weight(kept));
    heaviest.map(|(place, _)| place)
}
