//! A client of a relay whose connections stay open, for programs that ask often.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rustix::buffer::spare_capacity;
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use zeroize::Zeroizing;

use super::breaker::RelayBreaker;
use super::client::{Client, NoAnswer, PATIENCE, TAKES_WITHIN};
use super::keys::{LIST_BYTES_MAX, ListedKey, read_list};
use super::message::{ANSWER_BYTES_MAX, GREETING, Operation, Question, read_answer};
use super::server::STAYING_OF_USER;
use crate::socket::connected;

/// A client of the relay at a path, with connections that stay open. Threads may share it: each question has a connection
/// of its own while it is under way. A forked child must not use it.
#[derive(Debug)]
pub struct LastingClient {
    once: Client,
    idle: Mutex<Vec<OwnedFd>>,
    breaker: RelayBreaker,
}

impl LastingClient {
    /// Creates a client of the relay that listens at `path`. It connects when it is first asked.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            once: Client::new(path),
            idle: Mutex::default(),
            breaker: RelayBreaker::default(),
        }
    }

    /// Returns the path of the relay.
    pub fn path(&self) -> &Path {
        self.once.path()
    }

    /// Sends a question and waits for its answer, for at most 5 s. After a wait without an answer, the next questions fail
    /// at once for a while.
    ///
    /// # Errors
    /// [`NoAnswer`] has the reason why there is none.
    pub fn ask(&self, question: &Question) -> Result<Zeroizing<Vec<u8>>, NoAnswer> {
        self.asked(question, ANSWER_BYTES_MAX)
    }

    /// Returns all keys that this user may use, in the order of their names.
    ///
    /// # Errors
    /// [`NoAnswer`] has the reason why there is no list; [`NoAnswer::Invalid`] also for more than 100,000 keys.
    pub fn keys(&self) -> Result<Vec<ListedKey>, NoAnswer> {
        let mut keys: Vec<ListedKey> = Vec::new();
        let since = Instant::now();
        loop {
            if since.elapsed() >= PATIENCE {
                return Err(NoAnswer::Late);
            }
            let after = keys.last().map(|key| key.key_id.clone());
            let question = Question {
                key_id: after.unwrap_or_default(),
                public_key: None,
                operation: Operation::Keys,
            };
            let part = self.asked(&question, 1 + LIST_BYTES_MAX)?;
            let (some, has_more) = read_list(&part, &question.key_id).ok_or(NoAnswer::Invalid)?;
            keys.extend(some);
            if !has_more {
                return Ok(keys);
            }
            if keys.len() > KEYS_MAX {
                return Err(NoAnswer::Invalid);
            }
        }
    }

    /// Closes the connections that are idle.
    pub fn close(&self) {
        self.idle().clear();
    }

    fn asked(&self, question: &Question, bytes_max: usize) -> Result<Zeroizing<Vec<u8>>, NoAnswer> {
        let period = self.breaker.admit().ok_or(NoAnswer::Late)?;
        let began = Instant::now();
        let answer = self.answered(question, bytes_max);
        match &answer {
            Ok(_) => self.breaker.succeeded(),
            Err(_) => self.breaker.failed(period, began.elapsed()),
        }
        answer
    }

    fn answered(
        &self,
        question: &Question,
        bytes_max: usize,
    ) -> Result<Zeroizing<Vec<u8>>, NoAnswer> {
        let message = question.to_message();
        // A relay that was started again has closed the connections. A question changes nothing, so it may be asked twice.
        loop {
            let idle = self.idle().pop();
            let is_new = idle.is_none();
            let connection = match idle {
                Some(connection) => connection,
                None => self.connection()?,
            };
            match answer(&connection, &message, bytes_max) {
                Err(NoAnswer::Gone) if !is_new => {}
                // The user keeps more open than the relay allows.
                Err(NoAnswer::Gone) => return answer(&self.plain()?, &message, bytes_max),
                answer => {
                    if matches!(answer, Ok(_) | Err(NoAnswer::Refused(_))) {
                        self.keep(connection);
                    }
                    return answer;
                }
            }
        }
    }

    /// Returns a connection for one question.
    fn plain(&self) -> Result<OwnedFd, NoAnswer> {
        let connection = connected(self.path(), TAKES_WITHIN).map_err(NoAnswer::NoRelay)?;
        set_socket_timeout(&connection, Timeout::Recv, Some(PATIENCE))
            .map_err(|error| NoAnswer::NoRelay(error.into()))?;
        Ok(connection)
    }

    /// Returns a connection that stays open.
    fn connection(&self) -> Result<OwnedFd, NoAnswer> {
        let connection = self.plain()?;
        match send(&connection, &GREETING, SendFlags::NOSIGNAL) {
            Ok(_) => Ok(connection),
            Err(Errno::PIPE | Errno::CONNRESET) => Err(NoAnswer::Gone),
            Err(error) => Err(NoAnswer::NoRelay(error.into())),
        }
    }

    fn keep(&self, connection: OwnedFd) {
        let mut idle = self.idle();
        if idle.len() < IDLE_MAX {
            idle.push(connection);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<OwnedFd>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends a message and waits for the answer.
fn answer(
    connection: &OwnedFd,
    message: &[u8],
    bytes_max: usize,
) -> Result<Zeroizing<Vec<u8>>, NoAnswer> {
    let since = Instant::now();
    match send(connection, message, SendFlags::NOSIGNAL) {
        Ok(_) => {}
        Err(Errno::PIPE | Errno::CONNRESET) => return Err(NoAnswer::Gone),
        Err(Errno::AGAIN) => return Err(NoAnswer::Late),
        Err(error) => return Err(NoAnswer::NoRelay(error.into())),
    }
    let mut frame = Zeroizing::new(Vec::with_capacity(bytes_max + 1));
    loop {
        // The socket's time limit ends the call.
        match recv(connection, spare_capacity(&mut frame), RecvFlags::empty()) {
            Ok((0, _)) | Err(Errno::CONNRESET | Errno::PIPE) => return Err(NoAnswer::Gone),
            Ok(_) => break,
            Err(Errno::INTR) if since.elapsed() < PATIENCE => {}
            Err(Errno::AGAIN | Errno::INTR) => return Err(NoAnswer::Late),
            Err(error) => return Err(NoAnswer::NoRelay(error.into())),
        }
    }
    if frame.len() > bytes_max {
        return Err(NoAnswer::Invalid);
    }
    let answer = read_answer(&frame).ok_or(NoAnswer::Invalid)?;
    answer.map_err(NoAnswer::Refused)
}

/// The most connections kept while they are idle: a quarter of what a relay allows a user.
const IDLE_MAX: usize = STAYING_OF_USER / 4;
const KEYS_MAX: usize = 100_000;
