//! Takes questions, and gives the answers that somebody else has made.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::message::{FRAME_BYTES_MAX, Question, answered};
use crate::Error;
use crate::socket::Listener;

/// Sockets that listen.
#[derive(Debug)]
pub struct Relay {
    listeners: Vec<Listener>,
}

/// Who may ask, and for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// The user's number.
    pub user: u32,
    /// The names of the keys; `None` for all.
    pub keys: Option<Vec<String>>,
}

/// Where an answer goes. Dropped, it tells the client that there is none.
#[derive(Debug)]
pub struct Reply {
    connection: OwnedFd,
    /// Counts the user's questions.
    _token: Arc<()>,
}

impl Reply {
    /// What was made, or why it was not: up to 500 bytes of text, which the client puts into its log. It does not wait: a
    /// client that has gone is not missed.
    pub fn give(self, result: Result<&[u8], &str>) {
        let _ = send(
            &self.connection,
            &answered(result),
            SendFlags::NOSIGNAL | SendFlags::DONTWAIT,
        );
    }
}

/// A client that has not asked yet.
struct Guest {
    connection: OwnedFd,
    user: u32,
    since: Instant,
}

/// What the relay knows of a user.
struct Account<'a> {
    keys: Option<&'a [String]>,
    token: Arc<()>,
}

impl Account<'_> {
    fn under_way(&self) -> usize {
        Arc::strong_count(&self.token) - 1
    }
}

impl Relay {
    /// Listens at each of `paths`. A socket that nobody listens at any more is replaced. Any user may connect to it; whom it
    /// answers, [`serve`](Self::serve) is told. Changes the process's umask(2) meanwhile, so call it before other threads
    /// make files.
    ///
    /// # Errors
    /// [`Error::InUse`] if somebody listens there, [`Error::System`] for what the system refuses.
    pub fn bind(paths: &[impl AsRef<Path>]) -> Result<Self, Error> {
        let listeners = paths.iter().map(|path| Listener::bind(path.as_ref()));
        Ok(Self {
            listeners: listeners.collect::<Result<_, _>>()?,
        })
    }

    /// With a socket that listens already (SOCK_SEQPACKET), as a service manager hands it over.
    ///
    /// # Errors
    /// [`Error::NoListener`] if that is something else, [`Error::System`] for what the system refuses.
    pub fn on(listener: OwnedFd) -> Result<Self, Error> {
        Ok(Self {
            listeners: vec![Listener::on(listener)?],
        })
    }

    /// Serves until `stop` is readable: gives `ask` each question that may be asked, and where its answer goes. `ask` must
    /// not wait. A user that has `under_way_max` questions without an answer is refused the next one. `report` is given what
    /// could not be done for a client, at most once a second.
    ///
    /// # Errors
    /// [`Error::System`] for what the system refuses.
    pub fn serve(
        &self,
        allowed: &[Allowed],
        under_way_max: usize,
        stop: BorrowedFd<'_>,
        ask: &mut dyn FnMut(Question, Reply),
        report: &mut dyn FnMut(&str),
    ) -> Result<(), Error> {
        let accounts = allowed.iter().map(|allowed| {
            let account = Account {
                keys: allowed.keys.as_deref(),
                token: Arc::new(()),
            };
            (allowed.user, account)
        });
        let mut desk = Desk {
            accounts: accounts.collect(),
            under_way_max,
            ask,
        };
        let mut last_report: Option<Instant> = None;
        let mut guests: Vec<Guest> = Vec::new();
        loop {
            let mut polled = vec![PollFd::from_borrowed_fd(stop, PollFlags::IN)];
            let listeners = self.listeners.iter().map(AsFd::as_fd);
            let connections = guests.iter().map(|guest| guest.connection.as_fd());
            polled.extend(
                listeners
                    .chain(connections)
                    .map(|socket| PollFd::from_borrowed_fd(socket, PollFlags::IN)),
            );
            let timeout = Timespec {
                tv_sec: 0,
                tv_nsec: ASKS_WITHIN.as_nanos() as i64,
            };
            match poll(&mut polled, (!guests.is_empty()).then_some(&timeout)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(Error::system("waiting for clients")(error)),
            }
            let is_ready: Vec<bool> = polled
                .iter()
                .map(|polled| !polled.revents().is_empty())
                .collect();
            drop(polled);
            let (of_listeners, of_guests) = is_ready[1..].split_at(self.listeners.len());
            if is_ready[0] {
                return Ok(());
            }
            let mut ready = of_guests.iter();
            let waiting = std::mem::take(&mut guests);
            for guest in waiting {
                let is_ready = ready.next() == Some(&true);
                let left = if is_ready {
                    desk.hear(guest)
                } else {
                    Some(guest)
                };
                guests.extend(left.filter(|guest| guest.since.elapsed() < ASKS_WITHIN));
            }
            for (listener, _) in self
                .listeners
                .iter()
                .zip(of_listeners)
                .filter(|(_, is)| **is)
            {
                if let Err(error) = desk.accept(listener, &mut guests) {
                    // A client must not be able to fill a log.
                    if last_report.is_none_or(|last| last.elapsed() >= REPORTS_APART) {
                        last_report = Some(Instant::now());
                        report(&format!("a client was not accepted: {error}"));
                    }
                    // The listener stays readable: not again at once.
                    std::thread::sleep(Duration::from_millis(10));
                }
            }
        }
    }
}

/// Where questions are heard.
struct Desk<'a> {
    accounts: HashMap<u32, Account<'a>>,
    under_way_max: usize,
    ask: &'a mut dyn FnMut(Question, Reply),
}

impl Desk<'_> {
    /// Accepts clients, and hears those that have asked already, as a rule all. Others join `guests`.
    fn accept(&mut self, listener: &Listener, guests: &mut Vec<Guest>) -> rustix::io::Result<()> {
        for _ in 0..ACCEPTED_MAX {
            let next = match listener.next(|user| self.accounts.contains_key(&user)) {
                Ok(Some(next)) => next,
                Ok(None) => continue,
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(error),
            };
            let (connection, user) = next;
            let guest = Guest {
                connection,
                user,
                since: Instant::now(),
            };
            if let Some(guest) = self.hear(guest) {
                let of_user = guests.iter().filter(|other| other.user == user).count();
                if of_user >= GUESTS_OF_USER
                    && let Some(oldest) = guests.iter().position(|other| other.user == user)
                {
                    guests.remove(oldest);
                }
                guests.push(guest);
            }
        }
        Ok(())
    }

    /// Hears what a client asks. Gives it back if it has not asked yet.
    fn hear(&mut self, guest: Guest) -> Option<Guest> {
        let mut frame = [0; FRAME_BYTES_MAX + 1];
        let bytes = match recv(&guest.connection, &mut frame[..], RecvFlags::DONTWAIT) {
            Ok((bytes, _)) => bytes,
            Err(Errno::AGAIN | Errno::INTR) => return Some(guest),
            Err(_) => return None,
        };
        let account = self.accounts.get(&guest.user)?;
        let reply = Reply {
            connection: guest.connection,
            _token: Arc::clone(&account.token),
        };
        let Some(question) = Question::from_message(&frame[..bytes]) else {
            if bytes > 0 {
                reply.give(Err(
                    "the question was not understood: is the relay of another version?",
                ));
            }
            return None;
        };
        let is_allowed = account
            .keys
            .is_none_or(|keys| keys.contains(&question.key_id));
        if !is_allowed {
            let id = &question.key_id;
            reply.give(Err(&format!(
                "this user may not use the key {id:?} (oarlock relay --allow)"
            )));
        } else if account.under_way() > self.under_way_max {
            reply.give(Err("this user has too many questions under way"));
        } else {
            (self.ask)(question, reply);
        }
        None
    }
}

/// A client asks as soon as it is connected, or not at all.
const ASKS_WITHIN: Duration = Duration::from_millis(500);
/// Clients of a user that have not asked yet; one more takes the place of the oldest.
const GUESTS_OF_USER: usize = 64;
const REPORTS_APART: Duration = Duration::from_secs(1);
/// At once, before those that were accepted are looked at.
const ACCEPTED_MAX: usize = 64;
