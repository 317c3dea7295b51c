//! Receives the clients of a daemon: they connect, and send their request within half a second.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::Error;
use crate::socket::{Listener, Peer};

/// A client that has connected.
pub(crate) struct Guest {
    /// An answer that is under way shares it.
    pub(crate) connection: Arc<OwnedFd>,
    pub(crate) peer: Peer,
    /// The place of a client that may be silent between its requests.
    pub(crate) stays: Option<Arc<()>>,
    since: Instant,
}

impl Guest {
    fn may_stay(&self) -> bool {
        self.stays.is_some() || self.since.elapsed() < ASKS_WITHIN
    }
}

/// A desk that answers clients.
pub(crate) trait Desk {
    fn serves(&self, user: u32) -> bool;
    /// Answers a client, or returns it if it has not sent its request yet, or stays for further ones.
    fn hear(&mut self, guest: Guest, reports: &mut Reports<'_>) -> Option<Guest>;
    /// Releases something that holds a descriptor: none is left to accept a client with.
    fn give_way(&mut self) {}
}

/// Reports failures, at most one a second, so that clients cannot fill a log.
pub(crate) struct Reports<'a> {
    tell: &'a mut dyn FnMut(&str),
    last: Option<Instant>,
}

impl Reports<'_> {
    pub(crate) fn tell(&mut self, what: &str) {
        if self.last.is_none_or(|last| last.elapsed() >= REPORTS_APART) {
            self.last = Some(Instant::now());
            (self.tell)(what);
        }
    }
}

/// Receives clients until `stop` is readable.
pub(crate) fn receive(
    listeners: &[Listener],
    stop: BorrowedFd<'_>,
    desk: &mut impl Desk,
    report: &mut dyn FnMut(&str),
) -> Result<(), Error> {
    let mut reports = Reports {
        tell: report,
        last: None,
    };
    let mut guests: Vec<Guest> = Vec::new();
    loop {
        let connections = guests.iter().map(|guest| guest.connection.as_fd());
        let sockets = listeners.iter().map(AsFd::as_fd).chain(connections);
        let mut polled: Vec<_> = [stop]
            .into_iter()
            .chain(sockets)
            .map(|socket| PollFd::from_borrowed_fd(socket, PollFlags::IN))
            .collect();
        let timeout = Timespec {
            tv_sec: 0,
            tv_nsec: ASKS_WITHIN.as_nanos() as i64,
        };
        let is_hurried = guests.iter().any(|guest| guest.stays.is_none());
        match poll(&mut polled, is_hurried.then_some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(Error::system("waiting for clients")(error)),
        }
        let is_ready: Vec<bool> = polled
            .iter()
            .map(|polled| !polled.revents().is_empty())
            .collect();
        drop(polled);
        if is_ready[0] {
            return Ok(());
        }
        let (of_listeners, of_guests) = is_ready[1..].split_at(listeners.len());
        for (guest, is_ready) in std::mem::take(&mut guests).into_iter().zip(of_guests) {
            let left = match is_ready {
                true => desk.hear(guest, &mut reports),
                false => Some(guest),
            };
            guests.extend(left.filter(Guest::may_stay));
        }
        for (listener, is_ready) in listeners.iter().zip(of_listeners) {
            if *is_ready && let Err(error) = accept(listener, desk, &mut guests, &mut reports) {
                desk.give_way();
                reports.tell(&format!("a client was not accepted: {error}"));
                // The listener stays readable, so do not retry at once.
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

/// Accepts clients. Most have sent their request already; others join `guests`.
fn accept(
    listener: &Listener,
    desk: &mut impl Desk,
    guests: &mut Vec<Guest>,
    reports: &mut Reports<'_>,
) -> rustix::io::Result<()> {
    for _ in 0..ACCEPTED_MAX {
        let (connection, peer) = match listener.next(|user| desk.serves(user)) {
            Ok(Some(next)) => next,
            Ok(None) => continue,
            Err(Errno::AGAIN) => break,
            Err(error) => return Err(error),
        };
        let guest = Guest {
            connection: Arc::new(connection),
            peer,
            stays: None,
            since: Instant::now(),
        };
        if let Some(guest) = desk.hear(guest, reports) {
            if guest.stays.is_some() {
                guests.push(guest);
                continue;
            }
            let of_user = |other: &Guest| other.peer.user == peer.user && other.stays.is_none();
            if guests.iter().filter(|other| of_user(other)).count() >= GUESTS_OF_USER
                && let Some(oldest) = guests.iter().position(of_user)
            {
                guests.remove(oldest);
            }
            guests.push(guest);
        }
    }
    Ok(())
}

/// The time for a client to send its request.
const ASKS_WITHIN: Duration = Duration::from_millis(500);
/// The most clients of a user that have not sent a request yet; one more displaces the oldest.
const GUESTS_OF_USER: usize = 64;
const REPORTS_APART: Duration = Duration::from_secs(1);
/// The most clients accepted at once, before those accepted earlier are served.
const ACCEPTED_MAX: usize = 64;
