//! The time for which a connection has a thread to itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::task::yield_now;

use super::debt::{Debt, Moment};

/// The current slice of a connection: the work of its task since it last had to wait for bytes. All of that is charged to
/// its client.
#[derive(Debug, Default)]
pub(super) struct Slice {
    used: Duration,
    /// The frames that have begun in it, each of which may wake a task.
    frames: usize,
    /// The moment when bytes were handed out. Until it asks for more, the task works on these.
    read_at: Option<Moment>,
    /// Set while others have their turn; true once they have had it.
    turn: Option<Arc<AtomicBool>>,
}

impl Slice {
    /// Ready if the connection may go on; otherwise others have their turn first.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &self.turn {
            Some(turn) if !turn.load(Ordering::Acquire) => return Poll::Pending,
            Some(_) => self.turn = None,
            None if self.used > SLICE || self.frames > FRAMES => {
                self.end(cx);
                return Poll::Pending;
            }
            None => {}
        }
        Poll::Ready(())
    }

    /// Gives others their turn. The task may poll its connection again before that, because h2 reads again for each stream
    /// that it hands out; so a separate task signals the end of the turn.
    pub(super) fn end(&mut self, cx: &Context<'_>) {
        let turn = Arc::new(AtomicBool::new(false));
        *self = Self {
            turn: Some(Arc::clone(&turn)),
            ..Self::default()
        };
        let waker = cx.waker().clone();
        tokio::spawn(async move {
            yield_now().await;
            turn.store(true, Ordering::Release);
            waker.wake();
        });
    }

    /// Counts frames that the connection will handle.
    pub(super) fn count(&mut self, frames: usize) {
        self.frames += frames;
    }

    /// Charges the work on the bytes read before, then reads.
    pub(super) fn read<T>(&mut self, debt: &Debt, read: impl FnOnce() -> Poll<T>) -> Poll<T> {
        let began = self.read_at.take().unwrap_or_else(|| debt.moment());
        let poll = read();
        self.spend(debt, &began);
        if poll.is_pending() {
            *self = Self::default();
        } else {
            self.read_at = Some(debt.moment());
        }
        poll
    }

    pub(super) fn write<T>(&mut self, debt: &Debt, write: impl FnOnce() -> Poll<T>) -> Poll<T> {
        let began = debt.moment();
        let poll = write();
        // A write during the work on bytes that were read is charged with that work.
        match self.read_at.take() {
            None => self.spend(debt, &began),
            Some(read_at) if poll.is_pending() => self.spend(debt, &read_at),
            read_at => self.read_at = read_at,
        }
        if poll.is_pending() {
            *self = Self::default();
        }
        poll
    }

    fn spend(&mut self, debt: &Debt, began: &Moment) {
        let time = began.elapsed().min(SLICE);
        debt.charge(time);
        self.used += time;
    }
}

/// Finds the frames of a connection (RFC 9113, sections 3.4 and 4.1).
#[derive(Debug)]
pub(super) struct Frames {
    length: [u8; 3],
    /// The number of header bytes seen.
    of_header: usize,
    left: usize,
}

impl Frames {
    pub(super) fn new() -> Self {
        Self {
            length: [0; 3],
            of_header: 0,
            left: PREFACE_BYTES,
        }
    }

    /// Consumes the next bytes. Returns the number of frames that begin in them.
    pub(super) fn follow(&mut self, mut bytes: &[u8]) -> usize {
        let mut begun = 0;
        while !bytes.is_empty() {
            if self.left > 0 {
                let some = self.left.min(bytes.len());
                self.left -= some;
                bytes = &bytes[some..];
                continue;
            }
            if let Some(byte) = self.length.get_mut(self.of_header) {
                *byte = bytes[0];
            }
            self.of_header += 1;
            bytes = &bytes[1..];
            if self.of_header == HEADER_BYTES {
                let [a, b, c] = self.length.map(usize::from);
                self.left = a << 16 | b << 8 | c;
                self.of_header = 0;
                begun += 1;
            }
        }
        begun
    }
}

const PREFACE_BYTES: usize = 24;
const HEADER_BYTES: usize = 9;
/// The most frames of a slice: the tasks that they wake take about as long as a slice.
const FRAMES: usize = 8;
/// The longest slice, some hundreds of frames.
const SLICE: Duration = Duration::from_micros(250);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_counted_wherever_the_bytes_are_cut() {
        let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        for length in [0_u32, 1, 300, 70_000] {
            bytes.extend(&length.to_be_bytes()[1..]);
            bytes.extend([0; 6]);
            bytes.extend(vec![0xff; length as usize]);
        }
        for piece in [1, 2, 7, 9, 10, 4096, bytes.len()] {
            let mut frames = Frames::new();
            let begun = bytes.chunks(piece).map(|bytes| frames.follow(bytes));
            assert_eq!(begun.sum::<usize>(), 4, "pieces of {piece}");
        }
    }
}
