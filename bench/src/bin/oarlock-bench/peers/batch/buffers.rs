//! The contents of a batch, the same for every side.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};

/// The lengths of packets. Keys, IVs and data follow from a packet's number.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    pub(crate) lengths: Vec<usize>,
}

impl Batch {
    /// Returns `packets` packets of `bytes` bytes each.
    pub(crate) fn of(packets: usize, bytes: usize) -> Self {
        Self {
            lengths: vec![bytes; packets],
        }
    }

    /// Returns `packets` packets of 1 to 1,500 bytes, each a multiple of `granule`.
    pub(crate) fn mixed(packets: usize, granule: usize) -> Self {
        let length = |packet| {
            let bytes = u16::from_le_bytes(bytes_of("length", packet)) % 1_500;
            usize::from(bytes + 1).next_multiple_of(granule)
        };
        Self {
            lengths: (0..packets).map(length).collect(),
        }
    }

    /// Returns the numbers of the packets.
    pub(crate) fn numbers(&self) -> std::ops::Range<usize> {
        0..self.lengths.len()
    }

    /// Returns the bytes of all packets together.
    pub(crate) fn bytes(&self) -> usize {
        self.lengths.iter().sum()
    }

    /// Returns fresh buffers with the packets' initial contents.
    pub(crate) fn packets(&self) -> Packets {
        let mut packets = Packets::new(&self.lengths);
        for (number, packet) in packets.each_mut().enumerate() {
            for (position, byte) in packet.iter_mut().enumerate() {
                *byte = (number + position) as u8;
            }
        }
        packets
    }
}

/// Returns a packet's bytes for the purpose `what` (key, IV, nonce), the same in every run.
pub(crate) fn bytes_of<const BYTES: usize>(what: &str, packet: usize) -> [u8; BYTES] {
    let seed = what.bytes().fold(packet as u64 + 1, |seed, byte| {
        seed << 8 ^ seed ^ u64::from(byte)
    });
    let mut state = seed;
    [(); BYTES].map(|()| {
        // Knuth's MMIX generator, whose upper bits have the better quality.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    })
}

/// Returns a counter block or IV whose last four bytes are zero: not every peer counts beyond them.
pub(crate) fn iv_of(packet: usize) -> [u8; 16] {
    let mut iv = bytes_of("iv", packet);
    iv[12..].fill(0);
    iv
}

/// Packet buffers: each starts at a cache line, and neighbours have different offsets within a page.
pub(crate) struct Packets {
    _space: Vec<u8>,
    places: Vec<NonNull<[u8]>>,
}

impl Packets {
    fn new(lengths: &[usize]) -> Self {
        let place = |number: usize, bytes: usize| {
            (bytes + LINE).next_multiple_of(LINE) + LINE * (number % 5)
        };
        let all = lengths.iter().enumerate();
        let bytes: usize = all
            .clone()
            .map(|(number, bytes)| place(number, *bytes))
            .sum();
        let mut space = vec![0; bytes + LINE];
        let mut at = space.as_ptr().align_offset(LINE);
        let places = all.map(|(number, bytes)| {
            let found = NonNull::from(&mut space[at..][..*bytes]);
            at += place(number, *bytes);
            found
        });
        Self {
            places: places.collect(),
            _space: space,
        }
    }

    /// Returns the packets in order.
    #[inline]
    pub(crate) fn each_mut(&mut self) -> impl Iterator<Item = &mut [u8]> {
        self.places.iter().map(|place| {
            // SAFETY: the places lie in the space without overlap, and nothing else refers to it; its heap memory does not
            // move.
            unsafe { &mut *place.as_ptr() }
        })
    }

    /// Returns copies of the packets' current contents.
    pub(crate) fn copies(&mut self) -> Vec<Vec<u8>> {
        self.each_mut().map(|packet| packet.to_vec()).collect()
    }
}

/// Runs `work` on `requests`, at most [`PACKETS_MAX`] of them, which are built on the stack. A caller builds them for each
/// call, so the time counts, but an allocation would not belong to it.
#[inline]
pub(crate) fn with_requests<Request, Done>(
    requests: impl Iterator<Item = Request>,
    work: impl FnOnce(&mut [Request]) -> Done,
) -> Done {
    let mut places = [const { MaybeUninit::uninit() }; PACKETS_MAX];
    let mut count = 0;
    for (place, request) in places.iter_mut().zip(requests) {
        place.write(request);
        count += 1;
    }
    let made = ptr::from_mut(&mut places[..count]) as *mut [Request];
    // SAFETY: the first `count` elements are initialized; a panic in `work` leaks them.
    let done = work(unsafe { &mut *made });
    // SAFETY: the elements are initialized, and dropped once.
    unsafe { ptr::drop_in_place(made) };
    done
}

/// The most packets of a batch, which the batch of ESP for two threads has.
pub(crate) const PACKETS_MAX: usize = 1024;
const LINE: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_apart_and_as_long_as_asked() {
        let batch = Batch {
            lengths: vec![0, 1, 64, 65, 1_400],
        };
        let mut packets = batch.packets();
        for (number, packet) in packets.each_mut().enumerate() {
            assert_eq!(packet.as_ptr().align_offset(LINE), 0);
            packet.fill(number as u8);
        }
        for (number, packet) in packets.copies().into_iter().enumerate() {
            assert_eq!(packet, vec![number as u8; batch.lengths[number]]);
        }
    }

    #[test]
    fn no_two_packets_have_the_same_key() {
        let mut keys: Vec<[u8; 16]> = (0..PACKETS_MAX)
            .flat_map(|packet| [bytes_of("key", packet), bytes_of("iv", packet)])
            .collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 2 * PACKETS_MAX);
        assert_eq!(iv_of(3)[12..], [0; 4]);
    }

    #[test]
    fn mixed_lengths_differ_and_keep_the_granule() {
        let lengths = Batch::mixed(32, 16).lengths;
        assert!(
            lengths
                .iter()
                .all(|bytes| bytes.is_multiple_of(16) && (16..=1_504).contains(bytes))
        );
        assert!(
            lengths.iter().any(|bytes| *bytes > 1_000) && lengths.iter().any(|bytes| *bytes < 300)
        );
    }

    #[test]
    fn requests_come_in_order_and_are_dropped() {
        let marks: Vec<_> = (0..5).map(std::rc::Rc::new).collect();
        let seen = with_requests(marks.iter().cloned(), |requests| {
            requests.iter().map(|mark| **mark).collect::<Vec<_>>()
        });
        assert_eq!(seen, [0, 1, 2, 3, 4]);
        assert!(
            marks
                .iter()
                .all(|mark| std::rc::Rc::strong_count(mark) == 1)
        );
    }
}
