//! The daemon: gives processes of one user that have the same key the same board.
//!
//! It computes nothing and holds no key. What it knows of a key is a name, and it knows it from who has the key.

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::cmsg_space;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recv, sendmsg};
use zeroize::Zeroizing;

use crate::Error;
use crate::board::Board;
use crate::join::{self, ASKED_BYTES, GIVEN, Name};
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

/// A client that has not asked yet.
struct Guest {
    socket: OwnedFd,
    user: u32,
    since: Instant,
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
        let mut boards: Vec<Kept> = Vec::new();
        let mut last_report: Option<Instant> = None;
        // A client must not be able to fill a log.
        let mut report = |what: &str| {
            if last_report.is_none_or(|last| last.elapsed() >= REPORTS_APART) {
                last_report = Some(Instant::now());
                report(what);
            }
        };
        let mut guests: Vec<Guest> = Vec::new();
        loop {
            let mut polled = vec![
                PollFd::new(&self.listener, PollFlags::IN),
                PollFd::from_borrowed_fd(stop, PollFlags::IN),
            ];
            let sockets = guests.iter().map(|guest| guest.socket.as_fd());
            polled.extend(sockets.map(|socket| PollFd::from_borrowed_fd(socket, PollFlags::IN)));
            let timeout = Timespec {
                tv_sec: 0,
                tv_nsec: ASKS_WITHIN.as_nanos() as i64,
            };
            let timeout = (!guests.is_empty()).then_some(&timeout);
            match poll(&mut polled, timeout) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(Error::system("waiting for clients")(error)),
            }
            let is_ready: Vec<bool> = polled
                .iter()
                .map(|polled| !polled.revents().is_empty())
                .collect();
            drop(polled);
            if is_ready[1] {
                return Ok(());
            }
            let mut ready = is_ready[2..].iter();
            guests.retain(|guest| match ready.next() {
                Some(true) => {
                    answer(&mut boards, limits, guest, &mut report);
                    false
                }
                _ => guest.since.elapsed() < ASKS_WITHIN,
            });
            if !is_ready[0] {
                continue;
            }
            for _ in 0..ACCEPTED_MAX {
                let guest = match self.guest(limits) {
                    Ok(Some(guest)) => guest,
                    Ok(None) => continue,
                    Err(Errno::AGAIN) => break,
                    Err(error) => {
                        // The oldest board gives its descriptor back. The listener stays readable: not again at once.
                        boards.drain(..boards.len().min(1));
                        report(&format!("a client was not accepted: {error}"));
                        std::thread::sleep(Duration::from_millis(10));
                        break;
                    }
                };
                // It has asked already, as a rule.
                if !answer(&mut boards, limits, &guest, &mut report) {
                    if guests.len() >= GUESTS_MAX {
                        guests.remove(0);
                    }
                    guests.push(guest);
                }
            }
        }
    }

    /// The next client, if it may ask.
    fn guest(&self, limits: &Limits) -> rustix::io::Result<Option<Guest>> {
        let next = self.listener.next(|user| limits.users.contains(&user))?;
        Ok(next.map(|(socket, user)| Guest {
            socket,
            user,
            since: Instant::now(),
        }))
    }
}

/// Answers a client if it has asked, or is not to be waited for. Returns whether that is so.
fn answer(
    boards: &mut Vec<Kept>,
    limits: &Limits,
    guest: &Guest,
    report: &mut dyn FnMut(&str),
) -> bool {
    let mut frame = Zeroizing::new([0; ASKED_BYTES + 1]);
    match recv(&guest.socket, &mut frame[..], RecvFlags::DONTWAIT) {
        Ok((length, _)) => {
            if let Some(name) = join::read(&frame[..length]) {
                give(boards, limits, guest, name, report);
            }
            true
        }
        Err(Errno::AGAIN | Errno::INTR) => false,
        Err(_) => true,
    }
}

/// Gives a client the board of that name, which may be a new one.
fn give(
    boards: &mut Vec<Kept>,
    limits: &Limits,
    guest: &Guest,
    name: Zeroizing<Name>,
    report: &mut dyn FnMut(&str),
) {
    let is_it = |kept: &Kept| kept.user == guest.user && kept.name == name;
    let kept = match boards.iter().position(is_it) {
        Some(place) => boards.remove(place),
        None => {
            let file = match Board::create() {
                Ok(file) => file,
                Err(error) => {
                    report(&format!("no board could be made: {error}"));
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
    match sendmsg(&guest.socket, &[IoSlice::new(&GIVEN)], &mut control, flags) {
        Ok(_) | Err(Errno::PIPE | Errno::CONNRESET) => {}
        // ETOOMANYREFS: clients do not read what they were sent (unix(7)).
        Err(error) => report(&format!("a board was not given: {error}")),
    }
    boards.push(kept);
}

/// A client asks as soon as it is connected, or not at all.
const ASKS_WITHIN: Duration = Duration::from_millis(500);
/// That have not asked yet; one more takes the place of the oldest.
const GUESTS_MAX: usize = 256;
const REPORTS_APART: Duration = Duration::from_secs(1);
/// At once, before those that were accepted are looked at.
const ACCEPTED_MAX: usize = 64;
