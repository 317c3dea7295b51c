//! The window of sequence numbers that an association still accepts.

/// A replay window: records in a ring of bits which recent sequence numbers were seen (RFC 6479). Numbers begin at 1.
///
/// ```
/// use oarlock::packet::ReplayWindow;
///
/// let mut window = ReplayWindow::new(64);
/// assert!(window.accepts(1000));
/// window.insert(1000);
/// assert!(!window.accepts(1000), "it has been seen");
/// assert!(window.accepts(937) && !window.accepts(936), "64 numbers, of which 1000 is the last");
/// ```
#[derive(Clone, Debug)]
pub struct ReplayWindow {
    /// At least one word more than the window needs, so that advancing clears whole words.
    words: Box<[u64]>,
    size: u64,
    highest: u64,
}

impl ReplayWindow {
    /// Creates a window of the `size` numbers up to the highest seen. The size is rounded up to a multiple of 64, with
    /// a minimum of 64 and a maximum of [`SIZE_MAX`](Self::SIZE_MAX).
    pub fn new(size: usize) -> Self {
        let words = size.clamp(1, Self::SIZE_MAX).div_ceil(64);
        Self {
            words: vec![0; (words + 1).next_power_of_two()].into(),
            size: words as u64 * 64,
            highest: 0,
        }
    }

    /// Creates a window of which all numbers up to `number` count as seen.
    pub(crate) fn after(size: usize, number: u64) -> Self {
        let mut window = Self::new(size);
        window.words.fill(u64::MAX);
        let place = window.place(number);
        // Higher numbers of the same word have not been seen. Advancing clears the words after it.
        window.words[place] = u64::MAX >> (63 - number % 64);
        window.highest = number;
        window
    }

    /// The largest window size.
    pub const SIZE_MAX: usize = 4096;

    /// Returns the highest number seen, or 0 if there is none.
    pub fn highest(&self) -> u64 {
        self.highest
    }

    /// Returns the window's size.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether `number` is new and not too old. Insert it only after its packet proved authentic.
    #[inline]
    pub fn accepts(&self, number: u64) -> bool {
        if number > self.highest {
            return true;
        }
        let is_within = number > 0 && self.highest - number < self.size;
        is_within && self.words[self.place(number)] & bit(number) == 0
    }

    /// Marks `number` as seen. A number that [`accepts`](Self::accepts) refuses changes nothing.
    #[inline]
    pub fn insert(&mut self, number: u64) {
        if !self.accepts(number) {
            return;
        }
        if number > self.highest {
            let words = self.words.len() as u64;
            let ahead = number / 64 - self.highest / 64;
            for word in 1..=ahead.min(words) {
                let place = self.place((self.highest / 64 + word) * 64);
                self.words[place] = 0;
            }
            self.highest = number;
        }
        let place = self.place(number);
        self.words[place] |= bit(number);
    }

    /// Returns the 64-bit number whose lower half a packet carries (RFC 4303, appendix A2.2): the lowest one that is
    /// not below the window. Returns `None` if its upper half would be negative or exceed 32 bits.
    pub(super) fn extended(&self, low: u32) -> Option<u64> {
        let (top_high, top_low) = (self.highest >> 32, self.highest & LOW);
        let low = u64::from(low);
        let bottom_low = top_low.wrapping_sub(self.size - 1) & LOW;
        let high = if top_low >= self.size - 1 {
            // The window has a single upper half.
            top_high + u64::from(low < bottom_low)
        } else if low >= bottom_low {
            top_high.checked_sub(1)?
        } else {
            top_high
        };
        (high <= LOW).then_some(high << 32 | low)
    }

    fn place(&self, number: u64) -> usize {
        (number / 64) as usize & (self.words.len() - 1)
    }
}

fn bit(number: u64) -> u64 {
    1 << (number % 64)
}

const LOW: u64 = u32::MAX as u64;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    /// The rule itself, without a ring.
    #[derive(Default)]
    struct Plain(BTreeSet<u64>);

    impl Plain {
        fn accepts(&self, number: u64, size: u64) -> bool {
            let highest = self.0.last().copied().unwrap_or(0);
            number > 0 && number.saturating_add(size) > highest && !self.0.contains(&number)
        }
    }

    #[test]
    fn it_follows_the_rule_at_every_size_and_step() {
        let mut random = SmallRng::seed_from_u64(1);
        for size in [1, 64, 65, 128, 1000, 4095, 4096, 9999] {
            let mut window = ReplayWindow::new(size);
            let mut plain = Plain::default();
            let mut near = 0_u64;
            for _ in 0..20_000 {
                near += match random.random_range(0..100) {
                    0 => random.random_range(0..20_000),
                    1..30 => random.random_range(0..70),
                    _ => 0,
                };
                let back = random.random_range(0..window.size() + 70);
                let number = near.saturating_sub(back);
                assert_eq!(window.accepts(number), plain.accepts(number, window.size()));
                if window.accepts(number) {
                    window.insert(number);
                    plain.0.insert(number);
                }
                assert_eq!(window.highest(), plain.0.last().copied().unwrap_or(0));
            }
        }
    }

    #[test]
    fn it_may_begin_after_a_number() {
        for size in [64, 128, 4096] {
            for number in [0, 1, 62, 63, 64, 1000, 4096, u64::MAX - 1, u64::MAX] {
                let mut window = ReplayWindow::after(size, number);
                let old = (0..=number.min(5000)).map(|back| number - back);
                assert!(old.into_iter().all(|old| !window.accepts(old)), "{number}");
                for next in (1..5000).filter_map(|step| number.checked_add(step)) {
                    assert!(window.accepts(next), "{number} {next}");
                    if next % 3 == 0 {
                        window.insert(next);
                        assert!(!window.accepts(next), "{number} {next}");
                        assert!(!window.accepts(number), "{number} {next}");
                    }
                }
            }
        }
    }

    #[test]
    fn it_holds_at_the_last_numbers() {
        let mut window = ReplayWindow::new(64);
        window.insert(u64::MAX);
        assert!(!window.accepts(u64::MAX) && window.accepts(u64::MAX - 63));
        assert!(!window.accepts(u64::MAX - 64));
    }

    #[test]
    fn the_upper_half_is_that_nearest_to_the_window() {
        let mut window = ReplayWindow::new(64);
        assert_eq!(window.extended(1), Some(1));
        // Below the first number: its upper half would be negative.
        assert_eq!(window.extended(u32::MAX), None);
        window.insert(0xffff_fff0);
        assert_eq!(window.extended(0xffff_ffff), Some(0xffff_ffff));
        assert_eq!(window.extended(5), Some(0x1_0000_0005));
        window.insert(0x1_0000_0005);
        assert_eq!(window.extended(0xffff_fff1), Some(0xffff_fff1));
        assert_eq!(window.extended(6), Some(0x1_0000_0006));
        assert_eq!(window.extended(0xffff_ff00), Some(0x1_ffff_ff00));
        window.insert(u64::MAX - 3);
        assert_eq!(window.extended(u32::MAX), Some(u64::MAX));
        assert_eq!(window.extended(1), None, "behind the last number");
    }
}
