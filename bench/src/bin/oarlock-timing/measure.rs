//! Times of one path under two classes of secrets, in random turn.

use rand::rngs::SmallRng;
use rand::{Rng, RngExt};

use crate::clock;
use crate::statistics::{Finding, SecretClass, Tests};

/// Something whose time must not depend on a secret.
pub trait Path {
    fn name(&self) -> &str;

    /// How long a secret is.
    fn secret_bytes(&self) -> usize;

    /// What the two classes are.
    fn classes(&self) -> Contrast;

    /// How many times fewer runs it gets than others, because each takes longer.
    fn slowness(&self) -> usize {
        1
    }

    /// Puts a secret in place; not timed.
    fn prepare(&mut self, secret: &[u8]);

    /// What is timed.
    fn run(&mut self);

    /// Branches of a run that may depend on the secret: on whether a message is genuine, which everybody sees.
    fn verdicts(&self) -> u64 {
        0
    }

    /// What a reader of the result has to know besides.
    fn remark(&self) -> Option<String> {
        None
    }
}

/// Two classes of secrets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contrast {
    /// All zeros, against random bytes that are others every time.
    FixedAgainstRandom,
    /// A difference in the first byte, against one in the last; zeros elsewhere.
    FirstAgainstLast,
    /// Random bytes after a first one that is 0, or 1: the path itself has something of each class.
    Marked,
    /// Random bytes, against random bytes: what is found is noise.
    Same,
}

impl Contrast {
    fn draw(self, class: SecretClass, rng: &mut SmallRng, secret: &mut [u8]) {
        let is_first = class == SecretClass::First;
        match self {
            Self::FixedAgainstRandom if is_first => secret.fill(0),
            Self::FixedAgainstRandom | Self::Same => rng.fill_bytes(secret),
            Self::Marked => {
                rng.fill_bytes(secret);
                secret[0] = u8::from(!is_first);
            }
            Self::FirstAgainstLast => {
                let at = if is_first { 0 } else { secret.len() - 1 };
                secret.fill(0);
                secret[at] = rng.random_range(1..=u8::MAX);
            }
        }
    }
}

/// A measurement that can be continued.
pub struct Measurement {
    tests: Tests,
    batch: Batch,
    /// Times that were counted.
    pub samples: usize,
    /// The median of the times that the thresholds were taken from.
    pub median: u64,
}

impl Measurement {
    /// Warms up, and takes the thresholds of the tests.
    pub fn start(path: &mut dyn Path, rng: &mut SmallRng) -> Self {
        let mut batch = Batch::new(path);
        let mut first = Vec::new();
        batch.run(path, rng, &mut |_, _| {});
        let enough = (THRESHOLD_SAMPLES / path.slowness()).max(THRESHOLD_SAMPLES_MIN);
        while first.len() < enough {
            batch.run(path, rng, &mut |_, time| first.push(time));
        }
        first.sort_unstable();
        Self {
            tests: Tests::new(&first),
            batch,
            samples: 0,
            median: first[first.len() / 2],
        }
    }

    /// Adds at least `samples` times.
    pub fn go_on(&mut self, path: &mut dyn Path, rng: &mut SmallRng, samples: usize) {
        let enough = self.samples + samples;
        while self.samples < enough {
            self.batch
                .run(path, rng, &mut |class, time| self.tests.add(class, time));
            self.samples += BATCH;
        }
    }

    /// What was found so far.
    pub fn finding(&self) -> Option<Finding> {
        self.tests.greatest()
    }
}

/// Secrets drawn before any of them is used: nothing that is done for one class alone is near the
/// clock.
struct Batch {
    classes: Vec<SecretClass>,
    secrets: Vec<u8>,
    secret_bytes: usize,
}

impl Batch {
    fn new(path: &dyn Path) -> Self {
        let secret_bytes = path.secret_bytes();
        Self {
            classes: vec![SecretClass::First; BATCH],
            secrets: vec![0; BATCH * secret_bytes],
            secret_bytes,
        }
    }

    fn run(
        &mut self,
        path: &mut dyn Path,
        rng: &mut SmallRng,
        take: &mut dyn FnMut(SecretClass, u64),
    ) {
        let secrets = self.secrets.chunks_exact_mut(self.secret_bytes);
        for (class, secret) in self.classes.iter_mut().zip(secrets) {
            *class = if rng.random() {
                SecretClass::First
            } else {
                SecretClass::Second
            };
            path.classes().draw(*class, rng, secret);
        }
        let secrets = self.secrets.chunks_exact(self.secret_bytes);
        for (class, secret) in self.classes.iter().zip(secrets) {
            path.prepare(secret);
            let time = clock::time(|| path.run());
            take(*class, time);
        }
    }
}

/// Secrets drawn at once: with 1 KiB each they stay within a second-level cache.
const BATCH: usize = 500;
/// Times that the thresholds are taken from.
const THRESHOLD_SAMPLES: usize = 10_000;
/// The highest threshold but one has a thousandth of the times above it.
const THRESHOLD_SAMPLES_MIN: usize = 1000;
