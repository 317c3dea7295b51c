//! Requests with several items for one key: stanzas, messages, plaintexts or ciphertexts.
//!
//! ```text
//! examine   bounds the batch and cuts it into parts of a millisecond at most
//! work      each part is queued, scheduled and paid for as a request is, so a batch delays nobody for longer
//! join      the last part that is done answers the request, with a result or a failure for each item
//! ```
//!
//! An item fails alone if its own bytes are wrong. What may be different a moment later, or on another server, fails the
//! whole request, so that its client can send it again.

mod join;
mod secret;
mod unwrap;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use oarlock::Error;
use oarlock::device::PublicKeyOffer;
use tonic::Code;
use zeroize::Zeroizing;

pub(super) use self::join::Join;
pub(super) use self::secret::{OfSecret, of_secret};
pub(super) use self::unwrap::{unwrap, unwrap_bytes};
use super::dispatch::{Refusal, Work};

/// The result of one item.
#[derive(Debug, PartialEq, Eq)]
pub struct Item {
    /// The item's result, or the reason why there is none.
    pub outcome: Result<Zeroizing<Vec<u8>>, Refusal>,
    /// The version of the key that was used; 0 for a key without versions.
    pub version: u32,
}

impl Item {
    /// The failure of an item whose bytes are wrong. It says nothing that the sender of the bytes does not know.
    fn wrong(message: &'static str) -> Self {
        Self {
            outcome: Err(Refusal::new(Code::InvalidArgument, message)),
            version: 0,
        }
    }
}

/// The machine failed at an item. That says nothing about the item's bytes, so the whole part fails, and another device tries
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineFailed;

/// A part of a batch that the workers of devices on this machine's CPUs compute.
pub struct Part {
    compute: Box<dyn Fn() -> Result<Vec<Item>, MachineFailed> + Send + Sync>,
    expected: Duration,
    /// Whether the request was answered without this part.
    is_over: Arc<AtomicBool>,
}

impl Part {
    /// Returns the class of its expected time.
    pub fn class(&self) -> TimeClass {
        TimeClass::of(self.expected)
    }

    /// Computes its items.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] in the name of `device` if the machine computes wrongly, or memory has run out;
    /// [`Error::Cancelled`] if the request is already answered.
    pub fn compute(&self, device: &str) -> Result<Vec<Item>, Error> {
        if self.is_over.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        (self.compute)().map_err(|MachineFailed| Error::DeviceFailed {
            device: device.to_owned(),
            reason: "the machine failed at an item".to_owned(),
        })
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Part")
            .field("expected", &self.expected)
            .finish_non_exhaustive()
    }
}

/// Times within a factor of two. Parts of one class cost their clients about the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimeClass(u32);

impl TimeClass {
    fn of(time: Duration) -> Self {
        let us = u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
        Self(us.max(1).ilog2())
    }

    fn us(self) -> u64 {
        1 << self.0
    }

    /// Returns the offer of this machine's CPUs for parts of this class.
    pub(super) fn offer(self) -> PublicKeyOffer {
        let latency = Duration::from_micros(self.us());
        PublicKeyOffer {
            latency,
            per_second: latency.as_secs_f64().recip(),
        }
    }

    /// Whether a part of this class takes longer than parts do that can be cut: it is one item that does.
    pub(super) fn is_long(self) -> bool {
        u128::from(self.us()) > PART_TIME.as_micros()
    }

    /// Returns the most parts that a worker takes at once.
    pub(super) fn batch_max(self) -> usize {
        (BATCH_US / self.us()).clamp(1, 8) as usize
    }
}

/// A piece of a batch: what one of its answers covers.
pub enum Piece {
    /// Items whose results are known already.
    Done(Vec<Item>),
    /// Work for a worker, which answers with items.
    Part(Part),
    /// One item as an ordinary request, and what becomes of its answer.
    Request(Work, ItemOf),
}

/// Makes the answer to an ordinary request an item.
pub type ItemOf = fn(Result<Zeroizing<Vec<u8>>, Refusal>) -> Result<Item, Refusal>;

impl fmt::Debug for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done(items) => f.debug_tuple("Done").field(&items.len()).finish(),
            Self::Part(part) => f.debug_tuple("Part").field(part).finish(),
            Self::Request(work, _) => f.debug_tuple("Request").field(work).finish(),
        }
    }
}

/// The pieces of a batch, and the flag that its parts watch.
#[derive(Debug)]
pub struct Batch {
    pub(super) pieces: Vec<Piece>,
    pub(super) is_over: Arc<AtomicBool>,
}

impl Batch {
    /// Returns its pieces, in the order of its items.
    pub fn into_pieces(self) -> Vec<Piece> {
        self.pieces
    }

    /// Cuts items into parts that take [`PART_TIME`] at most, or have one item.
    pub(super) fn cut<T: Send + Sync + 'static>(
        items: Vec<T>,
        time_of: impl Fn(&T) -> Duration,
        compute: impl Fn(&T) -> Result<Item, MachineFailed> + Clone + Send + Sync + 'static,
    ) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let mut pieces = Vec::new();
        let mut put = |items: Vec<T>, expected| {
            let compute = compute.clone();
            pieces.push(Piece::Part(Part {
                compute: Box::new(move || items.iter().map(&compute).collect()),
                expected,
                is_over: Arc::clone(&is_over),
            }));
        };
        let (mut some, mut expected) = (Vec::new(), Duration::ZERO);
        for item in items {
            let time = time_of(&item);
            if !some.is_empty() && expected + time > PART_TIME {
                put(std::mem::take(&mut some), std::mem::take(&mut expected));
            }
            expected += time;
            some.push(item);
        }
        if !some.is_empty() {
            put(some, expected);
        }
        Self { pieces, is_over }
    }
}

/// Checks the number of items in a batch and their bytes.
fn check_size(what: &str, items: usize, most: usize, bytes: usize) -> Result<(), Refusal> {
    let refused = |message| Err(Refusal::new(Code::InvalidArgument, message));
    if items == 0 || items > most {
        return refused(format!("{items} {what}: send 1 to {most} in a request"));
    }
    if bytes > BYTES_MAX {
        return refused(format!(
            "{bytes} bytes of {what}: send at most {BYTES_MAX} in a request"
        ));
    }
    Ok(())
}

/// Returns the bytes that a batch makes the server hold until its reply is read. One over the limits is refused at once.
pub(super) fn kept_bytes(items: usize, bytes: usize) -> usize {
    items.min(ITEMS_MAX) * ITEM_BYTES + 2 * bytes.min(BYTES_MAX)
}

/// The most bytes of a request's items.
const BYTES_MAX: usize = 262_144;
/// The most items of any request.
const ITEMS_MAX: usize = 1024;
/// Room for an item besides its bytes: its failure, or what its result is longer by.
const ITEM_BYTES: usize = 128;
/// The longest time of a part: that of a signature with RSA-4096.
const PART_TIME: Duration = Duration::from_millis(1);
const BATCH_US: u64 = 150;

#[cfg(test)]
mod tests {
    use super::*;

    fn echo(bytes: &u64) -> Result<Item, MachineFailed> {
        Ok(Item {
            outcome: Ok(Zeroizing::new(bytes.to_be_bytes().to_vec())),
            version: 0,
        })
    }

    #[test]
    fn a_batch_is_cut_by_time_and_keeps_its_order() {
        let times = [300, 300, 300, 200, 5000, 1, 1];
        let batch = Batch::cut(times.to_vec(), |us| Duration::from_micros(*us), echo);
        let parts: Vec<_> = batch
            .pieces
            .iter()
            .map(|piece| match piece {
                Piece::Part(part) => {
                    // Only the item that is longer than a part counts as long.
                    assert_eq!(part.class().is_long(), part.class().us() == 4096);
                    (part.compute("cpu").unwrap(), part.class().us())
                }
                other => panic!("{other:?}"),
            })
            .collect();
        let lengths: Vec<_> = parts.iter().map(|(items, us)| (items.len(), *us)).collect();
        assert_eq!(lengths, [(3, 512), (1, 128), (1, 4096), (2, 2)]);
        let all: Vec<_> = parts.into_iter().flat_map(|(items, _)| items).collect();
        let expected: Vec<_> = times.iter().filter_map(|us| echo(us).ok()).collect();
        assert_eq!(all, expected);
    }

    #[test]
    fn a_part_of_an_answered_request_computes_nothing() {
        let batch = Batch::cut(vec![1], |_| Duration::from_micros(1), echo);
        batch.is_over.store(true, Ordering::Relaxed);
        let [Piece::Part(part)] = &batch.pieces[..] else {
            panic!("one part");
        };
        assert_eq!(part.compute("cpu"), Err(Error::Cancelled));
    }

    #[test]
    fn sizes_are_bounded_and_so_is_what_is_kept() {
        assert!(check_size("stanzas", 1, 128, 0).is_ok());
        assert!(check_size("stanzas", 128, 128, BYTES_MAX).is_ok());
        for (items, bytes) in [(0, 0), (129, 0), (1, BYTES_MAX + 1)] {
            let refusal = check_size("stanzas", items, 128, bytes).unwrap_err();
            assert_eq!(refusal.code, Code::InvalidArgument);
        }
        // A stream has room for 1 MiB at least, and a batch that needs more would wait without end.
        assert!(kept_bytes(usize::MAX, usize::MAX) < 1 << 20);
    }
}
