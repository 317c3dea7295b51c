//! One call with one calling pattern: OpenSSL with a provider compared with stock OpenSSL, in pairs of short samples,
//! until the ratio is known well enough.

use std::time::Duration;

use super::provided::{Provided, Request};
use crate::cases::Direction;
use crate::error::Error;
use crate::peers::openssl::{
    Call, Caller, Ends, Handshake, Handshakes, Material, Message, Uses, Way,
};

/// A comparison that takes as many samples as its owner asks for.
pub struct Compared {
    both: Box<dyn Both>,
    /// The number of calls in a sample, by side.
    calls: [usize; 2],
    sample: Duration,
    /// Nanoseconds per call, by side, for each pair.
    ns: Vec<[f64; 2]>,
    places: u64,
}

/// The work of both sides: with the provider (0), and stock (1).
trait Both {
    /// Returns the output of a side; empty if each call has a different output.
    fn made_by(&mut self, side: usize) -> Result<Vec<u8>, Error>;

    /// Returns the time of `calls` calls, after `warm` others, all in new contexts.
    fn timed(&mut self, side: usize, warm: usize, calls: usize) -> Result<Duration, Error>;
}

/// A message of a cipher.
struct OfCipher {
    sides: [Uses; 2],
    way: Way,
    direction: Direction,
    message: Message,
}

impl Both for OfCipher {
    fn made_by(&mut self, side: usize) -> Result<Vec<u8>, Error> {
        self.message.wipe();
        let keyed = self.sides[side].keyed(self.direction)?;
        keyed.timed(self.way, &mut self.message, 1)?;
        let (mut output, tag) = self.message.made();
        output.extend(tag);
        Ok(output)
    }

    fn timed(&mut self, side: usize, warm: usize, calls: usize) -> Result<Duration, Error> {
        let keyed = self.sides[side].keyed(self.direction)?;
        keyed.timed(self.way, &mut self.message, warm)?;
        keyed.timed(self.way, &mut self.message, calls)
    }
}

/// A call of a primitive.
struct OfPrimitive {
    sides: [Caller; 2],
    call: Call,
    material: Material,
}

impl Both for OfPrimitive {
    fn made_by(&mut self, side: usize) -> Result<Vec<u8>, Error> {
        let made = self.sides[side].made(self.call, &self.material)?;
        Ok(Some(made)
            .filter(|_| self.call.is_determined())
            .unwrap_or_default())
    }

    fn timed(&mut self, side: usize, warm: usize, calls: usize) -> Result<Duration, Error> {
        self.sides[side].timed(self.call, &self.material, warm, calls)
    }
}

/// One end of a TLS handshake in memory.
struct OfHandshake {
    sides: [Handshakes; 2],
    end: fn(&Ends) -> Duration,
}

impl Both for OfHandshake {
    fn made_by(&mut self, side: usize) -> Result<Vec<u8>, Error> {
        self.sides[side].run()?;
        Ok(Vec::new())
    }

    /// Returns CPU time. The contexts stay, as a server's and a client's do.
    fn timed(&mut self, side: usize, _: usize, calls: usize) -> Result<Duration, Error> {
        let mut took = Duration::ZERO;
        for _ in 0..calls {
            took += (self.end)(&self.sides[side].run()?);
        }
        Ok(took)
    }
}

/// The median of some ratios, and the interval in which the true one lies with 95 % confidence.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Spread {
    /// The median; above 1 if the provider is faster.
    pub median: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

impl Compared {
    /// Prepares samples of about `sample` each. Both sides must produce the same output before the clock runs.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if this OpenSSL lacks something or refuses a call; [`Error::Failed`] if outputs differ.
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
        let both = OfCipher {
            // Stock OpenSSL seals the message that both sides open.
            message: Message::new(&sides[1], request.direction, request.bytes)?,
            sides,
            way,
            direction: request.direction,
        };
        Self::of(Box::new(both), sample, request.bytes as u64)
            .map_err(|error| about(error, &format!("{request:?} {way:?}")))
    }

    /// Prepares samples of a call of a primitive.
    ///
    /// # Errors
    /// The same as for [`new`](Self::new).
    pub fn of_call(provided: &Provided, call: Call, sample: Duration) -> Result<Self, Error> {
        let (ours, stock) = provided.worlds();
        let sides = [Caller::new(ours)?, Caller::new(stock)?];
        let both = OfPrimitive {
            material: sides[1].material(call)?,
            sides,
            call,
        };
        Self::of(Box::new(both), sample, call.at as u64)
            .map_err(|error| about(error, &format!("{call:?}")))
    }

    /// Prepares samples of the time that one end of `handshake` takes.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if there is no libssl for this OpenSSL, or stock OpenSSL refuses the handshake; [`Error::Failed`]
    /// if it fails with the provider alone.
    pub fn of_handshake(
        provided: &Provided,
        handshake: &Handshake,
        end: fn(&Ends) -> Duration,
        sample: Duration,
    ) -> Result<Self, Error> {
        let (ours, stock) = provided.worlds();
        let prepared = |world| -> Result<_, Error> {
            let mut made = Handshakes::new(world, handshake)?;
            made.begin(handshake.is_resumed)?;
            Ok(made)
        };
        // Stock first: where OpenSSL was built without a part of it, there is nothing to compare with.
        let stock = prepared(stock).map_err(|error| Error::Unavailable(error.to_string()))?;
        let sides = [prepared(ours)?, stock];
        Self::of(Box::new(OfHandshake { sides, end }), sample, 0)
    }

    fn of(both: Box<dyn Both>, sample: Duration, places: u64) -> Result<Self, Error> {
        let mut compared = Self {
            both,
            calls: [1; 2],
            sample,
            ns: Vec::new(),
            places,
        };
        // Ask stock OpenSSL first: a release that does not support the call at all is not a failure.
        let expected = compared.both.made_by(1)?;
        let found = compared.both.made_by(0);
        if found? != expected {
            return Err(Error::Failed("outputs differ".into()));
        }
        for side in 0..2 {
            compared.calls[side] = compared.calls_of(side)?;
        }
        Ok(compared)
    }

    fn calls_of(&mut self, side: usize) -> Result<usize, Error> {
        let mut calls = 1;
        loop {
            let took = self.both.timed(side, 0, calls)?;
            let scale = self.sample.as_secs_f64() / took.as_secs_f64().max(1e-9);
            if scale < 2.0 {
                return Ok(((calls as f64 * scale).round() as usize).max(1));
            }
            calls *= if scale > 10.0 { 8 } else { 2 };
        }
    }

    /// Takes `pairs` more pairs of samples, each with its own contexts at other places of the heap.
    ///
    /// # Errors
    /// Those of OpenSSL.
    pub fn go_on(&mut self, pairs: usize) -> Result<(), Error> {
        for _ in 0..pairs {
            let mut ns = [0.0; 2];
            for turn in 0..2 {
                let side = (turn + self.ns.len()) % 2;
                let _gap = self.next_gap();
                let calls = self.calls[side];
                let took = self.both.timed(side, (calls / 8).max(1), calls)?;
                ns[side] = took.as_nanos().max(1) as f64 / calls as f64;
            }
            self.ns.push(ns);
        }
        Ok(())
    }

    /// Returns the number of pairs.
    pub fn pairs(&self) -> usize {
        self.ns.len()
    }

    /// Returns the median ratio and its interval.
    pub fn spread(&self) -> Spread {
        let ratios: Vec<_> = self.ns.iter().map(|[ours, stock]| stock / ours).collect();
        Spread::of(&ratios)
    }

    /// Returns the median nanoseconds of a call with the provider, and with stock OpenSSL.
    pub fn medians_ns(&self) -> [f64; 2] {
        [0, 1].map(|side| {
            let of_side: Vec<_> = self.ns.iter().map(|ns| ns[side]).collect();
            Spread::of(&of_side).median
        })
    }

    /// Moves later allocations, without a pattern that could favour one side.
    fn next_gap(&mut self) -> Vec<u8> {
        // Knuth's MMIX generator; its upper bits are the good ones.
        self.places = self
            .places
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        vec![0; 64 * (self.places >> 58) as usize]
    }
}

/// Adds the subject to the text of a failure.
fn about(error: Error, what: &str) -> Error {
    match error {
        Error::Failed(why) => Error::Failed(format!("{what}: {why}")),
        other => other,
    }
}

impl Spread {
    /// Computes the interval by order statistics, which assume nothing about the distribution of the ratios: the median
    /// lies between the values at n/2 ± 0.98 √n (Conover, Practical Nonparametric Statistics, 3.2).
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
    use oarlock_engine::Primitive;

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

    #[test]
    fn every_primitive_is_called() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.cnf");
        std::fs::write(&file, "").unwrap();
        let provided = Provided::open(&file).unwrap();
        for primitive in Primitive::ALL.iter().copied() {
            let calls = Call::all(primitive);
            for at in 0..primitive.calls().len() {
                assert!(calls.iter().any(|call| call.at == at), "{primitive}");
            }
            for call in calls {
                let compared = Compared::of_call(&provided, call, Duration::from_micros(20));
                let mut compared = match compared {
                    Ok(compared) => compared,
                    // OpenSSL has these from 3.5.
                    Err(Error::Unavailable(_)) if primitive.since() > (3, 0) => continue,
                    Err(error) => panic!("{call:?}: {error}"),
                };
                compared.go_on(3).unwrap();
                // A busy machine interrupts one side or the other.
                let median = compared.spread().median;
                assert!(median > 0.0 && median.is_finite(), "{median}");
            }
        }
    }

    /// Both sides use the default provider, so outputs agree and ratios are near 1.
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
