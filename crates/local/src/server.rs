//! The daemon: gives processes of one user that have the same key the same board.
//!
//! It computes nothing and holds no key. What it knows of a key is a name, and it knows it from who has the key.

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
use crate::socket::Listener;

/// A socket that listens.
#[derive(Debug)]
pub struct Server {
    listener: Listener,
}

/// Who may ask, and for how much.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Numbers of users.
    pub users: Vec<u32>,
    /// Boards that are kept for each of them, of some 40 KiB. One more takes the place of the one that was asked for the
    /// longest time ago; who has that already keeps it.
    pub boards_of_user: usize,
}

/// A board that was asked for.
struct Kept {
    user: u32,
    name: Zeroizing<Name>,
    file: OwnedFd,
}

impl Server {
    /// Listens at `path`. A socket that nobody listens at any more is replaced. Any user may connect to it; whom it
    /// answers, [`serve`](Self::serve) is told. Changes the process's umask(2) meanwhile, so call it before other threads
    /// make files.
    ///
    /// # Errors
    /// [`Error::InUse`] if somebody listens there, [`Error::System`] for what the system refuses.
    pub fn bind(path: impl AsRef<Path>) -> Result<Self, Error> {
        Listener::bind(path.as_ref()).map(|listener| Self { listener })
    }

    /// With a socket that listens already (SOCK_SEQPACKET), as a service manager hands it over.
    ///
    /// # Errors
    /// [`Error::NoListener`] if that is something else, [`Error::System`] for what the system refuses.
    pub fn on(listener: OwnedFd) -> Result<Self, Error> {
        Listener::on(listener).map(|listener| Self { listener })
    }

    /// Serves until `stop` is readable. `report` is given what could not be done for a client, at most once a second.
    ///
    /// # Errors
    /// [`Error::System`] for what the system refuses.
    pub fn serve(
        &self,
        limits: &Limits,
        stop: BorrowedFd<'_>,
        report: &mut dyn FnMut(&str),
    ) -> Result<(), Error> {
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

/// Where boards are asked for.
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
        // The oldest.
        self.kept.drain(..self.kept.len().min(1));
    }
}

/// Gives a client the board of that name, which may be a new one.
fn give(
    boards: &mut Vec<Kept>,
    limits: &Limits,
    guest: &Guest,
    name: Zeroizing<Name>,
    reports: &mut Reports<'_>,
) {
    let is_it = |kept: &Kept| kept.user == guest.user && kept.name == name;
    let kept = match boards.iter().position(is_it) {
        Some(place) => boards.remove(place),
        None => {
            let file = match Board::create() {
                Ok(file) => file,
                Err(error) => {
                    reports.tell(&format!("no board could be made: {error}"));
                    return;
                }
            };
            let user = guest.user;
            let of_user = || boards.iter().filter(|kept| kept.user == user);
            if of_user().count() >= limits.boards_of_user
                && let Some(oldest) = boards.iter().position(|kept| kept.user == user)
            {
                boards.remove(oldest);
            }
            Kept { user, name, file }
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
        // ETOOMANYREFS: clients do not read what they were sent (unix(7)).
        Err(error) => reports.tell(&format!("a board was not given: {error}")),
    }
    boards.push(kept);
}
