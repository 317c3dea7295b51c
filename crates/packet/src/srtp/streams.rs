//! The synchronization sources of a context, and what was seen of each.

use std::hash::{BuildHasher, RandomState};

use super::Protocol;
use crate::{PacketError, ReplayWindow};

/// A bounded set of sources, found through a hash table with open addressing. Its multiplier is random, so that
/// outsiders cannot choose sources that collide. In any case, the number of sources bounds a search.
pub(super) struct Streams {
    all: Vec<Stream>,
    /// Positions in `all` plus 1, or 0 if empty. The length is a power of two, and at most half is occupied.
    places: Box<[u32]>,
    multiplier: u64,
    /// The position that the last successful search found.
    last: usize,
    max: usize,
    window: usize,
    remembered: usize,
}

/// A synchronization source.
pub(super) struct Stream {
    pub ssrc: u32,
    /// The roll-over counter of the first packet, if it was agreed on.
    pub first_roc: u32,
    /// The replay window of SRTP: 48-bit indices plus 1, since windows begin at 1.
    pub rtp: ReplayWindow,
    /// The replay window of SRTCP: 31-bit indices plus 1.
    pub rtcp: ReplayWindow,
    /// Packets that may be sent again, by the low bits of their index.
    sent: Box<[Sent]>,
}

#[derive(Clone, Copy, Default)]
struct Sent {
    number: u64,
    tag: [u8; 20],
}

impl Streams {
    pub fn new(max: usize, window: usize, retransmissions: usize) -> Self {
        let remembered = match retransmissions.min(window.clamp(64, ReplayWindow::SIZE_MAX)) {
            0 => 0,
            packets => packets.next_power_of_two(),
        };
        Self {
            all: Vec::new(),
            places: vec![0; 16].into(),
            multiplier: RandomState::new().hash_one(0) | 1,
            last: 0,
            max: max.min(u32::MAX as usize - 1),
            window,
            remembered,
        }
    }

    pub fn all(&self) -> &[Stream] {
        &self.all
    }

    #[inline]
    pub fn get(&mut self, place: usize) -> &mut Stream {
        &mut self.all[place]
    }

    #[inline]
    pub fn find(&mut self, ssrc: u32) -> Option<usize> {
        if let Some(stream) = self.all.get(self.last)
            && stream.ssrc == ssrc
        {
            return Some(self.last);
        }
        let mut at = self.begin(ssrc);
        while let Some(place) = (self.places[at] as usize).checked_sub(1) {
            if self.all[place].ssrc == ssrc {
                self.last = place;
                return Some(place);
            }
            at = (at + 1) & (self.places.len() - 1);
        }
        None
    }

    /// Finds or adds a source.
    #[inline]
    pub fn find_or_add(&mut self, ssrc: u32) -> Result<usize, PacketError> {
        match self.find(ssrc) {
            Some(place) => Ok(place),
            None => self.add(ssrc),
        }
    }

    pub fn max(&self) -> usize {
        self.max
    }

    pub fn is_full(&self) -> bool {
        self.all.len() >= self.max
    }

    #[cold]
    pub fn full(&self) -> PacketError {
        PacketError::TooManyStreams { max: self.max }
    }

    #[cold]
    fn add(&mut self, ssrc: u32) -> Result<usize, PacketError> {
        if self.is_full() {
            return Err(self.full());
        }
        self.all.push(Stream {
            ssrc,
            first_roc: 0,
            rtp: ReplayWindow::new(self.window),
            rtcp: ReplayWindow::new(self.window),
            sent: vec![Sent::default(); self.remembered].into(),
        });
        if self.all.len() * 2 > self.places.len() {
            self.places = vec![0; self.places.len() * 2].into();
            (0..self.all.len()).for_each(|place| self.put(place));
        } else {
            self.put(self.all.len() - 1);
        }
        Ok(self.all.len() - 1)
    }

    pub fn remove(&mut self, ssrc: u32) -> bool {
        let Some(place) = self.find(ssrc) else {
            return false;
        };
        self.all.swap_remove(place);
        self.places.fill(0);
        (0..self.all.len()).for_each(|place| self.put(place));
        true
    }

    pub fn clear(&mut self) {
        self.all.clear();
        self.places.fill(0);
    }

    fn put(&mut self, place: usize) {
        let mut at = self.begin(self.all[place].ssrc);
        while self.places[at] != 0 {
            at = (at + 1) & (self.places.len() - 1);
        }
        self.places[at] = place as u32 + 1;
    }

    #[inline]
    fn begin(&self, ssrc: u32) -> usize {
        let mixed = (u64::from(ssrc) + 1).wrapping_mul(self.multiplier);
        (mixed >> 32) as usize & (self.places.len() - 1)
    }
}

impl Stream {
    #[inline]
    pub fn window(&mut self, protocol: Protocol) -> &mut ReplayWindow {
        match protocol {
            Protocol::Rtp => &mut self.rtp,
            Protocol::Rtcp => &mut self.rtcp,
        }
    }

    /// Returns the index of the packet with the number `sequence`.
    #[inline]
    pub fn index(&self, sequence: u16) -> Result<u64, PacketError> {
        match self.rtp.highest().checked_sub(1) {
            Some(highest) => guess(highest, sequence),
            None => Ok(u64::from(self.first_roc) << 16 | u64::from(sequence)),
        }
    }

    pub fn remember(&mut self, index: u64, tag: &[u8]) {
        if !self.sent.is_empty() {
            let place = index as usize & (self.sent.len() - 1);
            let sent = &mut self.sent[place];
            *sent = Sent {
                number: index + 1,
                tag: [0; 20],
            };
            sent.tag[..tag.len()].copy_from_slice(tag);
        }
    }

    /// Whether the packet with this index had this tag. A tag is public once it was sent.
    pub fn has_sent(&self, index: u64, tag: &[u8]) -> bool {
        self.sent_tag(index)
            .is_some_and(|sent| sent[..tag.len()] == *tag)
    }

    /// Whether the tag of this index is still stored.
    pub fn remembers(&self, index: u64) -> bool {
        self.sent_tag(index).is_some()
    }

    fn sent_tag(&self, index: u64) -> Option<&[u8; 20]> {
        let place = index as usize & self.sent.len().checked_sub(1)?;
        let sent = &self.sent[place];
        (sent.number == index + 1).then_some(&sent.tag)
    }
}

/// Guesses an index by RFC 3711, 3.3.1 and appendix A. Before the first roll-over, the counter does not go back.
#[inline]
fn guess(highest: u64, sequence: u16) -> Result<u64, PacketError> {
    let (roc, last) = (highest >> 16, highest as u16);
    let roc = if last < HALF {
        if sequence.saturating_sub(last) > HALF {
            roc.saturating_sub(1)
        } else {
            roc
        }
    } else if last - HALF > sequence {
        roc + 1
    } else {
        roc
    };
    if roc > u64::from(u32::MAX) {
        return Err(PacketError::SequenceExhausted);
    }
    Ok(roc << 16 | u64::from(sequence))
}

const HALF: u16 = 1 << 15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_the_nearest_one() {
        let guess = |highest: u64, sequence| guess(highest, sequence).unwrap();
        for highest in (0x1_0000..0x4_0000_u64).step_by(77) {
            for ahead in [-0x7fff_i64, -0x1234, -1, 0, 1, 0x4321, 0x7fff] {
                let index = highest.checked_add_signed(ahead).unwrap();
                assert_eq!(guess(highest, index as u16), index, "{highest:#x} {ahead}");
            }
        }
        // RFC 3711's choice for the number that is equally far ahead and back.
        assert_eq!(guess(0x1_1000, 0x9000), 0x1_9000);
        assert_eq!(guess(0x1_9000, 0x1000), 0x1_1000);
    }

    #[test]
    fn there_is_nothing_before_the_first_or_behind_the_last_roll_over() {
        assert_eq!(guess(5, 0xfff0), Ok(0xfff0));
        assert_eq!(guess(0xffff, 0), Ok(0x1_0000));
        let last = (1 << 48) - 1;
        assert_eq!(guess(last, 0xffff), Ok(last));
        assert_eq!(guess(last, 0x8000), Ok(last - 0x7fff));
        assert_eq!(guess(last, 3), Err(PacketError::SequenceExhausted));
    }

    #[test]
    fn every_source_is_found_until_it_is_removed() {
        let mut streams = Streams::new(1000, 64, 0);
        let ssrc = |i: u32| i.wrapping_mul(0x0101_0101) ^ 0xffff_0000;
        for i in 0..1000 {
            assert_eq!(streams.find(ssrc(i)), None);
            let place = streams.find_or_add(ssrc(i)).unwrap();
            assert_eq!(streams.get(place).ssrc, ssrc(i));
        }
        let refused = streams.find_or_add(ssrc(1000));
        assert_eq!(refused, Err(PacketError::TooManyStreams { max: 1000 }));
        for i in (0..1000).step_by(3) {
            assert!(streams.remove(ssrc(i)) && !streams.remove(ssrc(i)));
        }
        for i in 0..1000 {
            let found = streams.find(ssrc(i));
            assert_eq!(found.is_some(), i % 3 != 0);
            if let Some(place) = found {
                assert_eq!(streams.get(place).ssrc, ssrc(i));
            }
        }
        assert!(streams.find_or_add(ssrc(1000)).is_ok());
    }
}
