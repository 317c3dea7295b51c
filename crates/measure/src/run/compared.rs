//! One message of one cipher in one way of calling: OpenSSL with a provider compared with OpenSSL as it comes, in pairs of short
//! samples, until the ratio is known well enough.

use std::time::Duration;

use super::provided::{Provided, Request};
use crate::cases::Direction;
use crate::error::Error;
use crate::peers::openssl::{Message, Uses, Way};

/// A comparison that goes on as long as its owner wants.
pub struct Compared {
    /// With the provider, and as it comes.
    sides: [Uses; 2],
    way: Way,
    direction: Direction,
    message: Message,
    /// Calls of a sample, by side.
    calls: [usize; 2],
    sample: Duration,
    /// Nanoseconds of a message, by side, pair by pair.
    ns: Vec<[f64; 2]>,
    places: u64,
}

/// The median of some ratios, and between which values the true one lies with 95 %.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Spread {
    /// Above 1 where the provider is faster.
    pub median: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Compared {
    /// Prepares samples of about `sample` each. Both sides have made the same of the message before the clock runs.
    ///
    /// # Errors
    /// [`Error::Unavailable`] for what this OpenSSL does not have or does not do; [`Error::Failed`] where outputs differ.
    pub fn new(
        provided: &Provided,
        request: &Request,
        way: Way,
        sample: Duration,
    ) -> Result<Self, Error> {
        let (ours, stock) = provided.worlds();
        let sides = [
            Uses::new(ours, request.operation, "")?,
            Uses::new(stock, request.operation, "")?,
        ];
        let mut compared = Self {
            // Stock seals what both open.
            message: Message::new(&sides[1], request.direction, request.bytes)?,
            sides,
            way,
            direction: request.direction,
            calls: [1; 2],
            sample,
            ns: Vec::new(),
            places: request.bytes as u64,
        };
        // A release that does not do this at all is no reason to fail.
        let expected = compared.made_by(1)?;
        let found = compared.made_by(0);
        if found? != expected {
            return Err(Error::Failed(format!(
                "{request:?} {way:?}: outputs differ"
            )));
        }
        for side in 0..2 {
            compared.calls[side] = compared.calls_of(side)?;
        }
        Ok(compared)
    }

    fn made_by(&mut self, side: usize) -> Result<(Vec<u8>, [u8; 16]), Error> {
        self.message.wipe();
        let keyed = self.sides[side].keyed(self.direction)?;
        keyed.timed(self.way, &mut self.message, 1)?;
        Ok(self.message.made())
    }

    fn calls_of(&mut self, side: usize) -> Result<usize, Error> {
        let keyed = self.sides[side].keyed(self.direction)?;
        let mut calls = 1;
        loop {
            let took = keyed.timed(self.way, &mut self.message, calls)?;
            let scale = self.sample.as_secs_f64() / took.as_secs_f64().max(1e-9);
            if scale < 2.0 {
                return Ok(((calls as f64 * scale).round() as usize).max(1));
            }
            calls *= if scale > 10.0 { 8 } else { 2 };
        }
    }

    /// Takes `pairs` more pairs of samples, each with contexts of its own at other places of the heap.
    ///
    /// # Errors
    /// Those of OpenSSL.
    pub fn go_on(&mut self, pairs: usize) -> Result<(), Error> {
        for _ in 0..pairs {
            let mut ns = [0.0; 2];
            for turn in 0..2 {
                let side = (turn + self.ns.len()) % 2;
                let _gap = self.next_gap();
                let keyed = self.sides[side].keyed(self.direction)?;
                let calls = self.calls[side];
                keyed.timed(self.way, &mut self.message, (calls / 8).max(1))?;
                let took = keyed.timed(self.way, &mut self.message, calls)?;
                ns[side] = took.as_nanos().max(1) as f64 / calls as f64;
            }
            self.ns.push(ns);
        }
        Ok(())
    }

    /// How many pairs there are.
    pub fn pairs(&self) -> usize {
        self.ns.len()
    }

    /// What they say.
    pub fn spread(&self) -> Spread {
        let ratios: Vec<_> = self.ns.iter().map(|[ours, stock]| stock / ours).collect();
        Spread::of(&ratios)
    }

    /// Nanoseconds of a message with the provider, and with OpenSSL as it comes: the medians.
    pub fn medians_ns(&self) -> [f64; 2] {
        [0, 1].map(|side| {
            let of_side: Vec<_> = self.ns.iter().map(|ns| ns[side]).collect();
            Spread::of(&of_side).median
        })
    }

    /// Moves what is allocated next, with no pattern that one side could be in step with.
    fn next_gap(&mut self) -> Vec<u8> {
        // Knuth's MMIX generator; its upper bits are the good ones.
        self.places = self
            .places
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        vec![0; 64 * (self.places >> 58) as usize]
    }
}

impl Spread {
    /// By order statistics, which ask nothing of how the ratios are distributed: the median lies between the values at
    /// n/2 ± 0.98 √n (Conover, Practical Nonparametric Statistics, 3.2).
    fn of(ratios: &[f64]) -> Self {
        let mut sorted = ratios.to_vec();
        sorted.sort_by(f64::total_cmp);
        let Some(last) = sorted.len().checked_sub(1) else {
            return Self {
                median: 1.0,
                low: 0.0,
                high: f64::INFINITY,
            };
        };
        let count = sorted.len() as f64;
        let below = (count / 2.0 - 0.98 * count.sqrt()).floor().max(0.0) as usize;
        Self {
            median: f64::midpoint(sorted[last / 2], sorted[sorted.len() / 2]),
            low: sorted[below],
            high: sorted[last - below],
        }
    }
}

#[cfg(test)]
mod tests {
    use oarlock::Algorithm;

    use super::*;

    #[test]
    fn the_spread_narrows_with_the_number_of_pairs_and_ignores_outliers() {
        let ratio = |number: usize| match number % 10 {
            0 => 5.0,
            other => 1.0 + other as f64 / 1000.0,
        };
        let of = |count| Spread::of(&(0..count).map(ratio).collect::<Vec<_>>());
        let (few, many) = (of(9), of(99));
        assert!(
            few.high - few.low > many.high - many.low,
            "{few:?} {many:?}"
        );
        assert!((1.004..1.007).contains(&many.median), "{many:?}");
        assert!(many.low <= many.median && many.median <= many.high);
        let none = Spread::of(&[]);
        assert!(none.low < none.median && none.high > none.median);
    }

    /// Both sides are the default provider, so that outputs agree and ratios are near 1.
    #[test]
    fn every_kind_is_used_in_every_way() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.cnf");
        std::fs::write(&file, "").unwrap();
        let provided = Provided::open(&file).unwrap();
        for operation in [
            Algorithm::Aes128Ctr,
            Algorithm::Aes256Cbc,
            Algorithm::Aes128Gcm,
            Algorithm::ChaCha20,
            Algorithm::ChaCha20Poly1305,
        ] {
            for direction in [Direction::Encrypt, Direction::Decrypt] {
                for way in Way::all(operation) {
                    let request = Request {
                        operation,
                        direction,
                        bytes: 64,
                    };
                    let sample = Duration::from_micros(20);
                    let compared = Compared::new(&provided, &request, *way, sample);
                    let mut compared = match compared {
                        Ok(compared) => compared,
                        // OpenSSL 3.0 copies no context of ChaCha20-Poly1305.
                        Err(Error::Unavailable(_)) if *way == Way::Copied => continue,
                        Err(error) => panic!("{operation} {direction:?} {way:?}: {error}"),
                    };
                    compared.go_on(5).unwrap();
                    assert_eq!(compared.pairs(), 5);
                    let spread = compared.spread();
                    assert!(spread.median > 0.1 && spread.median < 10.0, "{spread:?}");
                }
            }
        }
    }
}
