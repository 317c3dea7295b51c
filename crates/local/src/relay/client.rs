//! The client of a relay.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use zeroize::Zeroizing;

use super::message::{ANSWER_BYTES_MAX, Answer, Question, read_answer};
use crate::socket::connected;

/// A client of the relay at a path. It keeps nothing open, so threads may share it and forked children may continue to use
/// it.
#[derive(Clone, Debug)]
pub struct Client {
    path: PathBuf,
}

/// A question under way. It is readable, for poll(2) and epoll(7), when there is an answer or there will be none.
#[derive(Debug)]
pub struct Asked {
    connection: OwnedFd,
    since: Instant,
}

/// The reason why a question has no result.
#[derive(Debug)]
pub enum NoAnswer {
    /// The relay refused it, with this reason.
    Refused(String),
    /// The relay is not there, or cannot be trusted.
    NoRelay(io::Error),
    /// The relay closed the connection.
    Gone,
    /// The relay took longer than 5 s.
    Late,
    /// The relay sent a message that cannot be read as an answer.
    Invalid,
}

/// The time limit for an answer: longer than a relay waits for a server that does not answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// The time limit for a relay to accept a question.
pub(super) const TAKES_WITHIN: Duration = Duration::from_millis(250);

impl Client {
    /// Creates a client of the relay that listens at `path`. It connects for each question.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Returns the path of the relay.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sends a question. It waits for at most 250 ms, and only while more clients wait than the relay can accept.
    ///
    /// # Errors
    /// [`NoAnswer::NoRelay`] if there is none, [`NoAnswer::Gone`] if it closed the connection.
    pub fn ask(&self, question: &Question) -> Result<Asked, NoAnswer> {
        let connection = connected(&self.path, TAKES_WITHIN).map_err(NoAnswer::NoRelay)?;
        let frame = question.to_message();
        match send(&connection, &frame, SendFlags::NOSIGNAL) {
            Ok(_) => Ok(Asked {
                connection,
                since: Instant::now(),
            }),
            Err(Errno::PIPE | Errno::CONNRESET) => Err(NoAnswer::Gone),
            Err(error) => Err(NoAnswer::NoRelay(error.into())),
        }
    }
}

impl Asked {
    /// Returns the answer; `None` if it has not arrived yet.
    pub fn try_take(&self) -> Option<Result<Zeroizing<Vec<u8>>, NoAnswer>> {
        let mut frame = Zeroizing::new([0; ANSWER_BYTES_MAX + 1]);
        match recv(&self.connection, &mut frame[..], RecvFlags::DONTWAIT) {
            Ok((0, _)) | Err(Errno::CONNRESET | Errno::PIPE) => Some(Err(NoAnswer::Gone)),
            Ok((bytes, _)) => {
                let answer: Option<Answer> = read_answer(&frame[..bytes]);
                let answer = answer.ok_or(NoAnswer::Invalid);
                Some(answer.and_then(|answer| answer.map_err(NoAnswer::Refused)))
            }
            Err(Errno::AGAIN | Errno::INTR) if self.since.elapsed() >= PATIENCE => {
                Some(Err(NoAnswer::Late))
            }
            Err(Errno::AGAIN | Errno::INTR) => None,
            Err(error) => Some(Err(NoAnswer::NoRelay(error.into()))),
        }
    }

    /// Waits for the answer, for at most 5 s from the question.
    ///
    /// # Errors
    /// [`NoAnswer`] has the reason why there is no result.
    pub fn wait(&self) -> Result<Zeroizing<Vec<u8>>, NoAnswer> {
        loop {
            if let Some(answer) = self.try_take() {
                return answer;
            }
            let left = PATIENCE.saturating_sub(self.since.elapsed());
            let timeout = Timespec {
                tv_sec: left.as_secs() as i64,
                tv_nsec: left.subsec_nanos().into(),
            };
            let mut polled = [PollFd::new(&self.connection, PollFlags::IN)];
            // Interrupted or not, the loop checks for an answer and for the time.
            let _ = poll(&mut polled, Some(&timeout));
        }
    }
}

impl AsFd for Asked {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.connection.as_fd()
    }
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(why) => f.write_str(why),
            Self::NoRelay(error) if error.kind() == io::ErrorKind::PermissionDenied => f.write_str(
                "the relay does not serve this user (oarlock relay --allow), or is neither root's, nor this user's, nor that of its folder's owner",
            ),
            Self::NoRelay(error) => write!(f, "no relay listens there: {error}"),
            Self::Gone => f.write_str(
                "the relay closed the connection: it has ended, or does not serve this user (oarlock relay --allow)",
            ),
            Self::Late => f.write_str("the relay has not answered in time"),
            Self::Invalid => f.write_str("the relay sent a message that cannot be read: is it another version of Oarlock?"),
        }
    }
}

impl std::error::Error for NoAnswer {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NoRelay(error) => Some(error),
            _ => None,
        }
    }
}
