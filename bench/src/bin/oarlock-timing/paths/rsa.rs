//! RSA's private operations as jobs: one, which aws-lc computes, and eight at once, which the lanes
//! do on CPUs that have them.

use std::hint::black_box;

use oarlock::job::{Job, JobOptions, QueueFull};
use oarlock::rsa::{AcceleratedRsa, EncryptionScheme, Hash, RsaPrivateKey, SignatureScheme};
use oarlock::{Accelerator, Error};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use zeroize::Zeroizing;

use super::keyed::accepted;
use crate::measure::{Contrast, Path};

pub fn add(paths: &mut Vec<Box<dyn Path>>) {
    let ways = [(1, "a job alone"), (GROUP, "eight jobs")];
    for (count, how) in ways.into_iter().take(if has_lanes() { 2 } else { 1 }) {
        for (scheme, name) in [
            (SignatureScheme::Pkcs1(Hash::Sha256), "pkcs1"),
            (SignatureScheme::Pss(Hash::Sha256), "pss"),
        ] {
            let name = format!("rsa-1024 {name} signing, {how}: key");
            paths.push(Box::new(signing(name, scheme, count)));
        }
        let name = format!("rsa-1024 pkcs1 decryption, {how}: padding");
        paths.push(Box::new(pkcs1_decryption(name, count)));
        let name = format!("rsa-1024 oaep decryption, {how}: what is wrong");
        paths.push(Box::new(oaep_decryption(name, count)));
    }
}

/// One key, against seven others. The one is there seven times, so that either class finds as much
/// of its keys in the caches, and as much of aws-lc's blinding used up.
fn signing(name: String, scheme: SignatureScheme, count: usize) -> Jobs<Signing> {
    let accelerator = accelerator(count);
    let mut rng = StdRng::seed_from_u64(1024);
    let messages: Vec<_> = (0..INPUTS).map(|_| random(&mut rng, 32)).collect();
    let (one, others) = (keys().take(1), keys().skip(1));
    let mut classes = [Vec::new(), Vec::new()];
    for (one, other) in one.cycle().zip(others) {
        classes[0].push(accelerator.rsa(&accepted(RsaPrivateKey::from_pem(one))));
        classes[1].push(accelerator.rsa(&accepted(RsaPrivateKey::from_pem(other))));
    }
    Jobs::new(
        name,
        Signing(scheme),
        count,
        accelerator,
        classes,
        [messages.clone(), messages],
        false,
    )
}

/// Messages, against what is none and decrypts to others made up (implicit rejection). How long a
/// message is shows, and may: those of the two classes are of the same lengths.
fn pkcs1_decryption(name: String, count: usize) -> Jobs<Decryption> {
    let scheme = EncryptionScheme::Pkcs1;
    decryption(name, &scheme, count, false, |rng, rsa, number| {
        let mut encoded = random(rng, rsa.public().key().bytes());
        encoded.iter_mut().for_each(|byte| *byte |= 1);
        encoded[..2].copy_from_slice(&[0, 2]);
        match number % 4 {
            0 => encoded[0] = 1,
            1 => encoded[1] = 1,
            2 => encoded[2 + number / 4 % 8] = 0,
            // And those in which no zero ends the padding.
            _ => {}
        }
        let invalid = accepted(rsa.public().raw_public(&encoded));
        let made_up = accepted(rsa.decrypt(&scheme, &invalid));
        let message = random(rng, made_up.len());
        let valid = accepted(rsa.public().encrypt(&scheme, &message));
        [valid, invalid]
    })
}

/// What is wrong in its first byte, against what is wrong elsewhere: telling them apart
/// is enough to decrypt (Manger, "A Chosen Ciphertext Attack on RSA OAEP", CRYPTO 2001). Both are refused: that a message
/// is none, callers are told.
fn oaep_decryption(name: String, count: usize) -> Jobs<Decryption> {
    let scheme = EncryptionScheme::oaep(Hash::Sha256);
    decryption(name, &scheme, count, true, |rng, rsa, number| {
        let message = random(rng, number % 63);
        let ciphertext = accepted(rsa.public().encrypt(&scheme, &message));
        let mut encoded = accepted(rsa.raw_private(&ciphertext)).to_vec();
        encoded[0] = 1;
        let first_byte = accepted(rsa.public().raw_public(&encoded));
        let elsewhere = if number % 2 == 0 {
            accepted(rsa.public().encrypt(&other_label(), &message))
        } else {
            encoded[0] = 0;
            encoded[rng.random_range(1..128)] ^= 0x10;
            accepted(rsa.public().raw_public(&encoded))
        };
        [first_byte, elsewhere]
    })
}

/// Makes the path of a decryption. `ciphertexts` makes the ciphertexts of both classes for a number.
fn decryption(
    name: String,
    scheme: &EncryptionScheme,
    count: usize,
    are_refused: bool,
    mut ciphertexts: impl FnMut(&mut StdRng, &AcceleratedRsa, usize) -> [Vec<u8>; 2],
) -> Jobs<Decryption> {
    let (accelerator, rsa) = decryptor(count);
    let mut rng = StdRng::seed_from_u64(1024);
    let pairs = (0..INPUTS).map(|number| ciphertexts(&mut rng, &rsa, number).into());
    let (first, second): (_, Vec<_>) = pairs.collect();
    let keys = [vec![rsa.clone()], vec![rsa]];
    let operation = Decryption(scheme.clone());
    Jobs::new(
        name,
        operation,
        count,
        accelerator,
        keys,
        [first, second],
        are_refused,
    )
}

fn other_label() -> EncryptionScheme {
    EncryptionScheme::Oaep {
        hash: Hash::Sha256,
        mgf1: Hash::Sha256,
        label: vec![0],
    }
}

/// Jobs, submitted one after the other and computed by the thread that waits for the first.
struct Jobs<O: PrivateOperation> {
    name: String,
    operation: O,
    accelerator: Accelerator,
    /// By class.
    keys: [Vec<AcceleratedRsa>; 2],
    /// By class: messages or ciphertexts.
    inputs: [Vec<Vec<u8>>; 2],
    class: usize,
    /// The place of each job's key, and its input.
    next: Vec<(usize, Vec<u8>)>,
    jobs: Vec<Job<O::Output>>,
    outcomes: Vec<Result<O::Output, Error>>,
    count: usize,
    /// Whether the inputs of both classes are refused.
    are_refused: bool,
    /// Requests that had been computed in lanes before the first run.
    in_groups_before: u64,
    /// Requests of all runs.
    requests: u64,
}

impl<O: PrivateOperation> Jobs<O> {
    fn new(
        name: String,
        operation: O,
        count: usize,
        accelerator: Accelerator,
        keys: [Vec<AcceleratedRsa>; 2],
        inputs: [Vec<Vec<u8>>; 2],
        are_refused: bool,
    ) -> Self {
        // What was asked while inputs were made counts too.
        let in_groups_before = accelerator.stats().public_key.in_groups;
        Self {
            name,
            operation,
            accelerator,
            keys,
            inputs,
            class: 0,
            next: Vec::with_capacity(count),
            jobs: Vec::with_capacity(count),
            outcomes: Vec::with_capacity(count),
            count,
            are_refused,
            in_groups_before,
            requests: 0,
        }
    }

    fn in_groups(&self) -> u64 {
        self.accelerator.stats().public_key.in_groups - self.in_groups_before
    }
}

impl<O: PrivateOperation> Path for Jobs<O> {
    fn name(&self) -> &str {
        &self.name
    }

    fn classes(&self) -> Contrast {
        Contrast::Marked
    }

    fn slowness(&self) -> usize {
        8
    }

    fn secret_bytes(&self) -> usize {
        1 + 2 * self.count
    }

    fn prepare(&mut self, secret: &[u8]) {
        let done = self.outcomes.drain(..);
        assert!(done.fold(true, |all, outcome| all
            & (outcome.is_err() == self.are_refused)));
        assert!(self.count > 1 || self.in_groups() == 0, "{}", self.name);
        self.class = secret[0].into();
        let (keys, inputs) = (&self.keys[self.class], &self.inputs[self.class]);
        let next = secret[1..].chunks_exact(2).map(|places| {
            let input = inputs[usize::from(places[1]) % inputs.len()].clone();
            (usize::from(places[0]) % keys.len(), input)
        });
        self.next.extend(next);
    }

    fn run(&mut self) {
        let keys = &self.keys[self.class];
        for (key, input) in self.next.drain(..) {
            self.jobs
                .push(accepted(self.operation.submit(&keys[key], input)));
        }
        self.outcomes.extend(self.jobs.drain(..).map(Job::wait));
        black_box(&mut self.outcomes);
        self.requests += self.count as u64;
    }

    /// By what requests turn out to take, several may be computed one by one: on a CPU where lanes do not pay, all but few.
    fn remark(&self) -> Option<String> {
        let percent = 100 * self.in_groups() / self.requests.max(1);
        (self.count > 1 && percent < MOST_PERCENT).then(|| format!("{percent} % in lanes"))
    }
}

/// What a private key is asked for.
trait PrivateOperation {
    type Output;

    fn submit(
        &self,
        key: &AcceleratedRsa,
        input: Vec<u8>,
    ) -> Result<Job<Self::Output>, QueueFull<Vec<u8>>>;
}

struct Signing(SignatureScheme);

impl PrivateOperation for Signing {
    type Output = Vec<u8>;

    fn submit(
        &self,
        key: &AcceleratedRsa,
        input: Vec<u8>,
    ) -> Result<Job<Vec<u8>>, QueueFull<Vec<u8>>> {
        key.submit_sign(self.0, input, JobOptions::default())
    }
}

struct Decryption(EncryptionScheme);

impl PrivateOperation for Decryption {
    type Output = Zeroizing<Vec<u8>>;

    fn submit(
        &self,
        key: &AcceleratedRsa,
        input: Vec<u8>,
    ) -> Result<Job<Self::Output>, QueueFull<Vec<u8>>> {
        key.submit_decrypt(&self.0, input, JobOptions::default())
    }
}

#[cfg(target_arch = "x86_64")]
fn has_lanes() -> bool {
    use oarlock_kernels::modexp::Backend;

    Backend::preferred(accepted(oarlock::device::visible_cpu())).is_some()
}

#[cfg(not(target_arch = "x86_64"))]
fn has_lanes() -> bool {
    false
}

/// Without pool threads: the thread that waits for a job does all that have entered by then.
fn accelerator(count: usize) -> Accelerator {
    let builder = Accelerator::builder().max_threads(0);
    // Alone is by aws-lc, also where one alone is faster in lanes.
    accepted(if count == 1 {
        builder.cpu_mask("-ifma,-fma").build()
    } else {
        builder.build()
    })
}

fn decryptor(count: usize) -> (Accelerator, AcceleratedRsa) {
    let accelerator = accelerator(count);
    let key = keys().next().map(RsaPrivateKey::from_pem);
    let rsa = accelerator.rsa(&accepted(
        key.unwrap_or_else(|| RsaPrivateKey::from_pem("")),
    ));
    (accelerator, rsa)
}

/// Eight, in PEM, which protect nothing.
fn keys() -> impl Iterator<Item = &'static str> + Clone {
    include_str!("../../../../../crates/measure/keys/rsa1024.pem")
        .split_inclusive("-----END RSA PRIVATE KEY-----\n")
}

fn random(rng: &mut StdRng, bytes: usize) -> Vec<u8> {
    let mut random = vec![0; bytes];
    rng.fill_bytes(&mut random);
    random
}

/// The number of lanes.
const GROUP: usize = 8;
/// With fewer in lanes, what was measured is something else.
const MOST_PERCENT: u64 = 90;
/// Messages or ciphertexts that there are of a class.
const INPUTS: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether each class is refused or not as it must be is asserted when a path is prepared again.
    #[test]
    fn both_classes_are_answered_as_they_must_be() {
        let mut paths = Vec::new();
        add(&mut paths);
        for path in &mut paths {
            for number in 0..INPUTS {
                let mut secret: Vec<_> = (0..path.secret_bytes())
                    .map(|place| (37 * number + 101 * place) as u8)
                    .collect();
                secret[0] = (number % 2) as u8;
                path.prepare(&secret);
                path.run();
            }
            path.prepare(&vec![0; path.secret_bytes()]);
            // What does not pay is tried now and then.
            assert_ne!(path.remark().as_deref(), Some("0 % in lanes"));
        }
        assert_eq!(paths.len(), if has_lanes() { 8 } else { 4 });
    }

    #[test]
    fn messages_and_what_is_made_up_are_of_the_same_lengths() {
        let path = pkcs1_decryption(String::new(), 1);
        let rsa = &path.keys[0][0];
        let [valid, invalid] = path.inputs.each_ref().map(|inputs| {
            let lengths = inputs.iter().map(|input| {
                let message = rsa.decrypt(&EncryptionScheme::Pkcs1, input).unwrap();
                message.len()
            });
            lengths.collect::<Vec<_>>()
        });
        assert_eq!(valid, invalid);
        assert!(valid.iter().any(|length| *length != valid[0]));
    }
}
