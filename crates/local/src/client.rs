//! The client, which requests boards when they are needed.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, TryLockError};
use std::time::Duration;

use oarlock::rsa::{AcceleratedRsa, RsaPublicKey};
use oarlock_engine::learn::Period;
use rustix::cmsg_space;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendFlags, recvmsg,
    sendmsg,
};
use zeroize::Zeroizing;

use crate::board::{Board, Outcome, Owner};
use crate::join::{self, GIVEN};
use crate::socket::connected;
use crate::visits::Visits;

/// A client that computes together with other processes. Threads may share it.
///
/// A forked child may continue to use its parent's client: it requests its own boards.
pub struct Client {
    path: PathBuf,
    places: Mutex<Vec<Arc<Place>>>,
}

/// A request to compute together with others now, from [`Client::visit`].
pub struct Visit<'a> {
    client: &'a Client,
    rsa: &'a AcceleratedRsa,
    place: Arc<Place>,
    period: Period,
}

/// The state for one key.
struct Place {
    key: RsaPublicKey,
    /// The process it belongs to; a forked child creates its own.
    owner: Owner,
    visits: Visits,
    /// The board, once it has been requested.
    board: OnceLock<Board>,
}

/// The most keys with a place; requests with further keys are computed alone.
const PLACES_MAX: usize = 256;
/// The longest wait for an answer of the server.
const PATIENCE: Duration = Duration::from_millis(20);

impl Client {
    /// Creates a client of the server that listens at `path`. It connects when it first needs to.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            places: Mutex::default(),
        }
    }

    /// Returns a visit if the next request of this key should meet others. It should not if the last ones met no other
    /// process, or if there is no server.
    pub fn visit<'a>(&'a self, rsa: &'a AcceleratedRsa) -> Option<Visit<'a>> {
        let place = self.place(rsa.key().public_key())?;
        let is_awaited = place.board.get().is_some_and(Board::is_waited_at);
        let period = place.visits.next(is_awaited)?;
        Some(Visit {
            client: self,
            rsa,
            place,
            period,
        })
    }

    /// Requests the board again next time: a server that was restarted hands out others.
    fn leave(&self, place: &Arc<Place>) {
        if let Ok(mut places) = self.places.try_lock()
            && let Some(kept) = places.iter_mut().find(|kept| Arc::ptr_eq(kept, place))
        {
            *kept = Arc::new(Place {
                key: place.key.clone(),
                owner: place.owner,
                visits: place.visits.clone(),
                board: OnceLock::new(),
            });
        }
    }

    fn place(&self, key: &RsaPublicKey) -> Option<Arc<Place>> {
        // Never block on this lock: another thread of the parent may have held it when this process was forked.
        let mut places = match self.places.try_lock() {
            Ok(places) => places,
            Err(TryLockError::Poisoned(places)) => places.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let owner = Owner::current();
        let new = || {
            Arc::new(Place {
                key: key.clone(),
                owner,
                visits: Visits::default(),
                board: OnceLock::new(),
            })
        };
        if let Some(place) = places.iter_mut().find(|place| place.key == *key) {
            // A forked child touches nothing of its parent's.
            if place.owner != owner {
                std::mem::forget(std::mem::replace(place, new()));
            }
            return Some(Arc::clone(place));
        }
        if places.len() >= PLACES_MAX {
            return None;
        }
        places.push(new());
        places.last().cloned()
    }
}

impl Visit<'_> {
    /// Returns `number` ^ d mod n, big-endian and as long as the modulus, if it is computed together with others' numbers;
    /// `None` if the caller is to compute it alone. Waits for others for at most 4 ms, or 16 ms if the key has more than
    /// 2048 bits; and for at most 250 ms if another process stops while it computes.
    pub fn power(self, number: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let Self {
            client,
            rsa,
            place,
            period,
        } = self;
        let board = match place.board.get() {
            Some(board) => board,
            None => match joined(&client.path, rsa) {
                Ok(board) => place.board.get_or_init(|| board),
                Err(_) => {
                    place.visits.failed(period);
                    return None;
                }
            },
        };
        match board.power(rsa, number) {
            Outcome::Power(power) => {
                place.visits.met(true);
                Some(power)
            }
            Outcome::Alone => {
                place.visits.met(false);
                if place.visits.are_in_vain() {
                    client.leave(&place);
                }
                None
            }
            Outcome::Full => {
                place.visits.refused(period);
                None
            }
            Outcome::Failed => {
                place.visits.failed(period);
                None
            }
        }
    }
}

/// Requests the board of a key from the server at `path`.
fn joined(path: &Path, rsa: &AcceleratedRsa) -> io::Result<Board> {
    // A filter of system calls may kill a process that connects.
    if oarlock_threads::process::is_sandboxed_by_now() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let name = |purpose| {
        let name = rsa.key().secret_name(purpose).ok().flatten();
        name.ok_or(io::ErrorKind::Unsupported)
    };
    let (name, secret) = (name(join::PURPOSE)?, name(join::SEALS)?);
    let lanes = rsa.lanes().ok_or(io::ErrorKind::Unsupported)?;
    let frame = join::asked(&name);
    // A child that another thread forks during this would inherit socket and board.
    oarlock_threads::process::forks_wait_for(|| {
        let socket = connected(path, PATIENCE)?;
        let mut control = SendAncillaryBuffer::default();
        let parts = [IoSlice::new(&frame[..])];
        sendmsg(&socket, &parts, &mut control, SendFlags::NOSIGNAL)?;
        // A private operation has two exponentiations.
        Board::map(given(&socket)?, lanes / 2, &secret)
    })
}

/// Receives the descriptor that the server sends.
fn given(socket: &OwnedFd) -> io::Result<OwnedFd> {
    let mut frame = [0; 2];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(&mut frame)];
    // There is no retry on EINTR: signals may arrive more often than the timeout.
    let message = recvmsg(socket, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC)?;
    if frame[..message.bytes] != GIVEN {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut descriptors = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    descriptors
        .next()
        .ok_or_else(|| io::ErrorKind::InvalidData.into())
}
