//! The relay: accepts questions, and sends the answers that its caller provides.

use std::collections::HashMap;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::message::{FRAME_BYTES_MAX, Question, answered};
use crate::Error;
use crate::reception::{Desk, Guest, Reports, receive};
use crate::socket::Listener;

/// A relay, as a set of listening sockets.
#[derive(Debug)]
pub struct Relay {
    listeners: Vec<Listener>,
}

/// A user that may ask, and the keys that it may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// The user ID.
    pub user: u32,
    /// The names of the keys; `None` for all.
    pub keys: Option<Vec<String>>,
}

/// The handle for an answer. Dropping it tells the client that there is none.
#[derive(Debug)]
pub struct Reply {
    connection: OwnedFd,
    /// Counts towards the user's questions under way.
    _token: Arc<()>,
}

impl Reply {
    /// Sends the client the result, or the reason why there is none: up to 500 bytes of text, which the client logs. Never
    /// blocks; if the client has gone, the answer is discarded.
    pub fn give(self, result: Result<&[u8], &str>) {
        let _ = send(
            &self.connection,
            &answered(result),
            SendFlags::NOSIGNAL | SendFlags::DONTWAIT,
        );
    }
}

/// The user's account with the relay.
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
    /// Listens at each of `paths`, and replaces a stale socket. The argument of [`serve`](Self::serve) decides which users
    /// may connect. Changes the process's umask(2) while it runs, so call it before other threads create files.
    ///
    /// # Errors
    /// [`Error::InUse`] if another process listens there, [`Error::System`] if a system call fails.
    pub fn bind(paths: &[impl AsRef<Path>]) -> Result<Self, Error> {
        let listeners = paths.iter().map(|path| Listener::bind(path.as_ref()));
        Ok(Self {
            listeners: listeners.collect::<Result<_, _>>()?,
        })
    }

    /// Creates a relay from a socket that already listens (SOCK_SEQPACKET), as a service manager passes it.
    ///
    /// # Errors
    /// [`Error::NoListener`] if it is something else, [`Error::System`] if a system call fails.
    pub fn on(listener: OwnedFd) -> Result<Self, Error> {
        Ok(Self {
            listeners: vec![Listener::on(listener)?],
        })
    }

    /// Serves until `stop` is readable. Calls `ask` with each question that is allowed and the handle for its answer; `ask`
    /// must not block. A user with `under_way_max` unanswered questions is refused the next one. Calls `report` with
    /// failures, at most once a second.
    ///
    /// # Errors
    /// [`Error::System`] if a system call fails.
    pub fn serve(
        &self,
        allowed: &[Allowed],
        under_way_max: usize,
        stop: BorrowedFd<'_>,
        ask: &mut dyn FnMut(Question, Reply),
        report: &mut dyn FnMut(&str),
    ) -> Result<(), Error> {
        for listener in &self.listeners {
            listener.admit(allowed.iter().map(|allowed| allowed.user));
        }
        let accounts = allowed.iter().map(|allowed| {
            let account = Account {
                keys: allowed.keys.as_deref(),
                token: Arc::new(()),
            };
            (allowed.user, account)
        });
        let mut desk = Questions {
            accounts: accounts.collect(),
            under_way_max,
            ask,
        };
        receive(&self.listeners, stop, &mut desk, report)
    }
}

/// The desk for questions.
struct Questions<'a> {
    accounts: HashMap<u32, Account<'a>>,
    under_way_max: usize,
    ask: &'a mut dyn FnMut(Question, Reply),
}

impl Desk for Questions<'_> {
    fn serves(&self, user: u32) -> bool {
        self.accounts.contains_key(&user)
    }

    fn hear(&mut self, guest: Guest, _reports: &mut Reports<'_>) -> Option<Guest> {
        let mut frame = [0; FRAME_BYTES_MAX + 1];
        let bytes = match recv(&guest.connection, &mut frame[..], RecvFlags::DONTWAIT) {
            Ok((bytes, _)) => bytes,
            Err(Errno::AGAIN | Errno::INTR) => return Some(guest),
            Err(_) => return None,
        };
        let account = self.accounts.get(&guest.peer.user)?;
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
