//! Compares outputs, then takes samples in turn.
//!
//! Each sample sets up its keys again, at another heap address, as samples of single requests do (`measuring/turns.rs` of
//! the library): the addresses of buffers and key schedules change a figure by several per cent.

use std::time::{Duration, Instant};

use oarlock_measure::Error;
use oarlock_measure::cases::Size;

use super::line::{Line, Peer, Way};
use crate::peers::batch::{Batch, Done};
use crate::programs::compared::{Compared, Quantity, in_turn};
use crate::programs::setup::Setup;
use crate::system::interrupt;

impl Line {
    /// Measures ours and every peer, at each length from the command line or from the line's promises.
    pub(crate) fn measure(&self, setup: &Setup) -> Result<Vec<Compared>, Error> {
        let mut compared = Vec::new();
        for bytes in self.sizes(setup)? {
            interrupt::check()?;
            compared.extend(self.measure_size(bytes, setup)?);
        }
        Ok(compared)
    }

    fn sizes(&self, setup: &Setup) -> Result<Vec<usize>, Error> {
        let Some(sizes) = &setup.sizes else {
            let mut promised: Vec<_> = self.promises.iter().map(|promise| promise.bytes).collect();
            promised.sort_unstable();
            promised.dedup();
            return Ok(promised);
        };
        let sizes: &[Size] = if sizes.is_empty() { CHART } else { sizes };
        for size in sizes {
            if !size.0.is_multiple_of(self.granule) {
                return Err(Error::Usage(format!(
                    "{} takes packets of a multiple of {} bytes, which {size} is not",
                    self.name, self.granule
                )));
            }
        }
        Ok(sizes.iter().map(|size| size.0).collect())
    }

    fn measure_size(&self, bytes: usize, setup: &Setup) -> Result<Vec<Compared>, Error> {
        let batch = Batch::of(self.packets, bytes);
        let sample = Duration::from_millis(if setup.is_quick() { 1 } else { 3 });
        let mut sides = vec![self.ours];
        let mut names = Vec::new();
        for peer in self.peers {
            match self.fastest(peer, &batch, sample) {
                Ok(way) => {
                    sides.push(way);
                    names.push(peer.name);
                }
                Err(Error::Unavailable(why)) => {
                    eprintln!("{}: without {}: {why}", self.name, peer.name)
                }
                Err(error) => return Err(error),
            }
        }
        if names.is_empty() {
            return Err(Error::Unavailable(format!(
                "no peer of {} is here",
                self.name
            )));
        }
        let calls = sides
            .iter()
            .map(|way| Ok(calibrate(*way, &batch, sample)?.0));
        let calls: Vec<usize> = calls.collect::<Result<_, Error>>()?;
        let mut places = Places(bytes as u64);
        let mut samples = in_turn(setup.rounds(ROUNDS, QUICK_ROUNDS), sides.len(), |side| {
            let _place = places.next_gap();
            let mut side_ = sides[side](&batch)?;
            for _ in 0..calls[side].div_ceil(4) {
                side_.run();
            }
            let began = Instant::now();
            for _ in 0..calls[side] {
                side_.run();
            }
            let took = began.elapsed().max(Duration::from_nanos(1));
            Ok((calls[side] * batch.bytes()) as f64 / took.as_nanos() as f64)
        })?;
        let ours = samples.remove(0);
        Ok(names
            .into_iter()
            .zip(samples)
            .map(|(name, theirs)| Compared {
                bytes,
                ..Compared::new(Quantity::Rate, name, ours.clone(), theirs)
            })
            .collect())
    }

    /// Returns the fastest way of `peer` for `batch`; fails if one of its ways differs from ours.
    fn fastest(&self, peer: &Peer, batch: &Batch, sample: Duration) -> Result<Way, Error> {
        let mut found: Option<(Duration, Way)> = None;
        let mut missing = Error::Unavailable("it has no way to do this".to_owned());
        for way in peer.ways {
            match self.compare(peer.name, *way, batch) {
                Ok(()) => {}
                Err(Error::Unavailable(why)) => {
                    missing = Error::Unavailable(why);
                    continue;
                }
                Err(error) => return Err(error),
            }
            let took = (0..TRIALS)
                .map(|_| Ok(calibrate(*way, batch, sample)?.1))
                .collect::<Result<Vec<_>, Error>>()?;
            let Some(took) = took.into_iter().min() else {
                continue;
            };
            if found.is_none_or(|(least, _)| took < least) {
                found = Some((took, *way));
            }
        }
        found.map(|(_, way)| way).ok_or(missing)
    }

    /// Fails if `theirs` differs from ours, with packets of several lengths and with those of `batch`. Each batch runs
    /// twice, because a call must not affect the next.
    pub(super) fn compare(&self, peer: &str, theirs: Way, batch: &Batch) -> Result<(), Error> {
        for batch in [&Batch::mixed(self.packets, self.granule), batch] {
            let (mut ours, mut theirs) = ((self.ours)(batch)?, theirs(batch)?);
            for _ in 0..2 {
                ours.run();
                theirs.run();
                if let Some(what) = difference(&ours.outcome(), &theirs.outcome()) {
                    return Err(Error::Mismatch(format!(
                        "{peer} differs from oarlock in {}: {what}",
                        self.name
                    )));
                }
            }
        }
        Ok(())
    }
}

/// Describes where two outcomes differ.
fn difference(ours: &[Done], theirs: &[Done]) -> Option<String> {
    if ours.len() != theirs.len() {
        return Some("in the number of packets".to_owned());
    }
    let mut pairs = ours.iter().zip(theirs).enumerate();
    pairs.find_map(|(number, (ours, theirs))| {
        let bytes = ours.data.len();
        if ours.data != theirs.data {
            let mut bytes_of = ours.data.iter().zip(&theirs.data);
            let offset = bytes_of.position(|(a, b)| a != b).unwrap_or_default();
            return Some(format!(
                "packet {number} of {bytes} bytes, first at offset {offset}"
            ));
        }
        let tags = ours.tag.as_ref().zip(theirs.tag.as_ref());
        let (a, b) = tags.filter(|(a, b)| a != b)?;
        Some(format!(
            "packet {number} of {bytes} bytes, in the tag: {a:02x?}, {b:02x?}"
        ))
    })
}

/// Returns the number of calls that take about `sample`, and the time of one.
fn calibrate(way: Way, batch: &Batch, sample: Duration) -> Result<(usize, Duration), Error> {
    let mut side = way(batch)?;
    let mut calls = 1;
    loop {
        let began = Instant::now();
        for _ in 0..calls {
            side.run();
        }
        let took = began.elapsed().max(Duration::from_nanos(1));
        let scale = sample.as_secs_f64() / took.as_secs_f64();
        if scale < 2.0 {
            let each = took / calls as u32;
            return Ok((((calls as f64 * scale).ceil() as usize).max(1), each));
        }
        calls *= if scale > 10.0 { 8 } else { 2 };
    }
}

/// Gaps that move the next allocations, without a pattern that could favour one side.
struct Places(u64);

impl Places {
    fn next_gap(&mut self) -> Vec<u8> {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        vec![0; 64 * (self.0 >> 55) as usize]
    }
}

/// Lengths from the shortest packet to the longest TLS record that a board accepts, as in the charts of the OpenBSD
/// framework's paper (Keromytis, Wright, de Raadt, USENIX 2003).
const CHART: &[Size] = &[
    Size(16),
    Size(64),
    Size(256),
    Size(1 << 10),
    Size(1_408),
    Size(4 << 10),
    Size(8 << 10),
    Size(16 << 10),
    Size(64 << 10),
];
/// Odd, so that the median is a measured ratio.
const ROUNDS: usize = 31;
const QUICK_ROUNDS: usize = 9;
/// Trials of each way of a peer.
const TRIALS: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_named() {
        let done = |data: &[u8], tag: Option<&[u8]>| Done {
            data: data.to_vec(),
            tag: tag.map(<[u8]>::to_vec),
        };
        let a = [done(b"one", Some(b"t")), done(b"two", None)];
        assert_eq!(difference(&a, &a.clone()), None);
        let without_tag = [done(b"one", None), done(b"two", Some(b"u"))];
        assert_eq!(difference(&a, &without_tag), None);
        for (b, named) in [
            (vec![done(b"one", None)], "number of packets"),
            (
                vec![done(b"one", None), done(b"twO", None)],
                "packet 1 of 3 bytes, first at offset 2",
            ),
            (
                vec![done(b"one", Some(b"T")), done(b"two", None)],
                "packet 0 of 3 bytes, in the tag",
            ),
        ] {
            let what = difference(&a, &b).unwrap();
            assert!(what.contains(named), "{what}");
        }
    }
}
