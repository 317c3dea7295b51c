//! The relay: accepts questions, and sends the answers that its caller provides.

use std::collections::HashMap;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use zeroize::Zeroizing;

use super::keys::{KeyList, ListedKey, part};
use super::message::{GREETING, Operation, QUESTION_BYTES_MAX, Question, answered};
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
    connection: Arc<OwnedFd>,
    /// The keys that the user may use; `None` for all.
    keys: Option<Arc<[String]>>,
    is_given: bool,
    /// Counts towards the user's questions under way.
    token: Option<Arc<()>>,
}

impl Reply {
    /// Sends the client the result, or the reason why there is none: up to 500 bytes of text, which the client logs. Never
    /// blocks; if the client has gone, the answer is discarded.
    pub fn give(mut self, result: Result<&[u8], &str>) {
        self.send(&answered(result));
    }

    /// Sends the client the part of `keys` that it may use and asked for: those after the name in its question.
    pub fn give_keys(mut self, keys: &KeyList, after: &str) {
        let allowed = self.keys.take();
        let may_use = |key: &ListedKey| match &allowed {
            None => true,
            Some(allowed) => allowed.contains(&key.key_id),
        };
        let part = part(keys, after, may_use);
        self.send(&answered(Ok(&part)));
    }

    fn send(&mut self, answer: &Zeroizing<Vec<u8>>) {
        // The client may ask again as soon as it has the answer.
        self.token = None;
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        self.is_given = send(&self.connection, answer, flags).is_ok();
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        // A connection that stays open would not tell the client.
        if !self.is_given {
            let _ = shutdown(&self.connection, Shutdown::Both);
        }
    }
}

/// The user's account with the relay.
struct Account {
    keys: Option<Arc<[String]>>,
    /// Shared by the questions under way.
    token: Arc<()>,
    /// Shared by the connections that stay open.
    staying: Arc<()>,
}

impl Account {
    fn under_way(&self) -> usize {
        Arc::strong_count(&self.token) - 1
    }

    /// Returns a place for a connection that stays open.
    fn place(&self) -> Option<Arc<()>> {
        let has_room = Arc::strong_count(&self.staying) <= STAYING_OF_USER;
        has_room.then(|| Arc::clone(&self.staying))
    }

    fn may_use(&self, question: &Question) -> bool {
        match (&question.operation, &self.keys) {
            (Operation::Keys, _) | (_, None) => true,
            (_, Some(keys)) => keys.contains(&question.key_id),
        }
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
                keys: allowed.keys.as_deref().map(Arc::from),
                token: Arc::default(),
                staying: Arc::default(),
            };
            (allowed.user, account)
        });
        let mut desk = Questions {
            accounts: accounts.collect(),
            frame: vec![0; QUESTION_BYTES_MAX + 1],
            under_way_max,
            ask,
        };
        receive(&self.listeners, stop, &mut desk, report)
    }
}

/// The desk for questions.
struct Questions<'a> {
    accounts: HashMap<u32, Account>,
    /// The place of the message that is read.
    frame: Vec<u8>,
    under_way_max: usize,
    ask: &'a mut dyn FnMut(Question, Reply),
}

impl Desk for Questions<'_> {
    fn serves(&self, user: u32) -> bool {
        self.accounts.contains_key(&user)
    }

    fn hear(&mut self, mut guest: Guest, _reports: &mut Reports<'_>) -> Option<Guest> {
        let received = recv(&guest.connection, &mut self.frame[..], RecvFlags::DONTWAIT);
        let message = match received {
            Ok((bytes, _)) => &self.frame[..bytes],
            Err(Errno::AGAIN | Errno::INTR) => return Some(guest),
            Err(_) => return None,
        };
        let account = self.accounts.get(&guest.peer.user)?;
        if message == GREETING {
            guest.stays = account.place();
            return guest.stays.is_some().then_some(guest);
        }
        // The client has closed the connection.
        if message.is_empty() {
            return None;
        }
        let reply = Reply {
            connection: Arc::clone(&guest.connection),
            keys: account.keys.clone(),
            is_given: false,
            token: Some(Arc::clone(&account.token)),
        };
        let Some(question) = Question::from_message(message) else {
            reply.give(Err(
                "the question was not understood: is the relay of another version?",
            ));
            return None;
        };
        if !account.may_use(&question) {
            let id = &question.key_id;
            reply.give(Err(&format!(
                "this user may not use the key {id:?} (oarlock relay --allow)"
            )));
        } else if account.under_way() > self.under_way_max {
            reply.give(Err("this user has too many questions under way"));
        } else {
            (self.ask)(question, reply);
        }
        guest.stays.is_some().then_some(guest)
    }
}

/// The most connections of a user that stay open.
pub(super) const STAYING_OF_USER: usize = 256;
