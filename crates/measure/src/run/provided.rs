//! Compares the machine's OpenSSL with and without a provider: the gain of programs, call by call through the same
//! functions.

use std::ffi::CStr;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oarlock::{Algorithm, Kind};
use oarlock_engine::Primitive;

use crate::cases::Direction;
use crate::error::Error;
use crate::measuring::{self, Buffer, Contestant, Mode, Summary, Work};
use crate::peers::openssl::{
    Caller, Context, Ends, Fetched, Handshake, Handshakes, KeyReader, Libcrypto, Message,
    OpenSslAead, OpenSslChaCha20, OpenSslStream, Operation, Operations, Use, Uses, Way, World,
};
use crate::peers::{AAD, Nonces, Sealed, Subject};

/// Stock OpenSSL, and OpenSSL with a configuration.
pub struct Provided {
    stock: Rc<World>,
    provided: Rc<World>,
}

/// The request to measure.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The algorithm.
    pub operation: Algorithm,
    /// The direction.
    pub direction: Direction,
    /// The bytes of a call; block modes round up to whole blocks.
    pub bytes: usize,
}

/// The rates of consecutive calls, in bytes per second.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    /// The rate of stock OpenSSL.
    pub stock: f64,
    /// The rate of OpenSSL with the configuration.
    pub provided: f64,
}

impl Provided {
    /// Loads libcrypto, and in it the providers of the file `configuration`.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without OpenSSL 3; [`Error::Failed`] if it refuses the file.
    pub fn open(configuration: &Path) -> Result<Self, Error> {
        let libcrypto = Arc::new(Libcrypto::load()?);
        Ok(Self {
            stock: World::new(&libcrypto, None)?,
            provided: World::new(&libcrypto, Some(configuration))?,
        })
    }

    /// Loads the libcrypto in the file `library`, otherwise like [`open`](Self::open).
    ///
    /// # Errors
    /// The same as for [`open`](Self::open).
    pub fn open_in(library: &Path, configuration: &Path) -> Result<Self, Error> {
        let libcrypto = Arc::new(Libcrypto::open(library)?);
        Ok(Self {
            stock: World::new(&libcrypto, None)?,
            provided: World::new(&libcrypto, Some(configuration))?,
        })
    }

    /// Returns OpenSSL with the configuration, and stock OpenSSL.
    pub(super) fn worlds(&self) -> (&Rc<World>, &Rc<World>) {
        (&self.provided, &self.stock)
    }

    /// Returns a text parameter of the provider that the configuration calls `name`; `None` if there is no such
    /// provider.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without OpenSSL 3.
    pub fn told_by(&self, name: &CStr, what: &CStr) -> Result<Option<String>, Error> {
        self.provided.provider_text(name, what)
    }

    /// Whether the provider that the configuration calls `name` has `primitive`.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without OpenSSL 3.
    pub fn has(&self, primitive: Primitive, name: &str) -> Result<bool, Error> {
        Ok(Caller::new(&self.provided)?.has(primitive, name))
    }

    /// Returns the version and the build date that the library reports.
    pub fn version(&self) -> (String, String) {
        let libcrypto = self.stock.libcrypto();
        (libcrypto.version(), libcrypto.built_on())
    }

    /// Measures both alternately, for about 20 ms unless a request takes longer than 1 ms.
    ///
    /// # Errors
    /// [`Error::Unavailable`] for operations that OpenSSL does not have.
    pub fn rates(&self, request: &Request) -> Result<Rates, Error> {
        self.rates_by(request, ROUNDS, SAMPLE)
    }

    /// Measures like [`rates`](Self::rates), with `rounds` samples of each side, an odd number.
    ///
    /// # Errors
    /// The same as for [`rates`](Self::rates).
    pub fn rates_by(
        &self,
        request: &Request,
        rounds: usize,
        sample: Duration,
    ) -> Result<Rates, Error> {
        let granule = match request.operation.kind() {
            Kind::Cbc => 16,
            _ => 1,
        };
        let bytes = request.bytes.clamp(1, BYTES_MAX).next_multiple_of(granule);
        let mut work = Work {
            bytes,
            fresh_nonce: false,
            mode: Mode::BackToBack,
            rounds,
            sample,
            bytes_min: 0,
            messages: Vec::new(),
        };
        if request.operation.kind() == Kind::Aead && request.direction == Direction::Decrypt {
            work.messages = messages(subject(&self.stock, request)?, bytes);
        }
        let (provided, stock) = measuring::in_turn(
            &|| contestant("oarlock", &self.provided, request),
            &|| contestant("openssl", &self.stock, request),
            &mut [Buffer::new(bytes)],
            &work,
        )?;
        let per_second = |samples: &[f64]| Summary::of(samples).median * 1e9;
        Ok(Rates {
            stock: per_second(&stock),
            provided: per_second(&provided),
        })
    }

    /// Returns nanoseconds for a context of `operation` that is created, keyed with an IV, and freed: samples of
    /// Oarlock and of the default provider, in pairs, both in the library context that has loaded the configuration.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if one of the two lacks the operation.
    pub fn context_ns(
        &self,
        operation: Algorithm,
        rounds: usize,
    ) -> Result<(Vec<f64>, Vec<f64>), Error> {
        let key: Vec<u8> = (0..operation.key_bytes() as u8).collect();
        let fetch = |properties| Fetched::new(&self.provided, operation.name(), properties);
        let sides = [fetch("provider=oarlock")?, fetch("provider=default")?];
        in_pairs(rounds, |side| {
            let began = Instant::now();
            sides[side].make_and_free(&key, CONTEXTS)?;
            Ok(began.elapsed().as_nanos() as f64 / CONTEXTS as f64)
        })
    }

    /// Returns nanoseconds of a message, with one calling pattern: samples of Oarlock and of the default provider, in
    /// pairs, both in the library context that has loaded the configuration.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if one of the two lacks the operation.
    pub fn message_ns(
        &self,
        request: &Request,
        way: Way,
        rounds: usize,
    ) -> Result<(Vec<f64>, Vec<f64>), Error> {
        let uses = |properties| Uses::new(&self.provided, request.operation, properties);
        let [ours, theirs] = [uses("provider=oarlock")?, uses("provider=default")?];
        let mut message = Message::new(&theirs, request.direction, request.bytes)?;
        let sides = [
            ours.keyed(request.direction)?,
            theirs.keyed(request.direction)?,
        ];
        in_pairs(rounds, |side| {
            let took = sides[side].timed(way, &mut message, MESSAGES)?;
            Ok(took.as_nanos() as f64 / MESSAGES as f64)
        })
    }

    /// Returns the CPU time of both ends of a handshake: samples with the configuration and of stock OpenSSL, in pairs,
    /// each of its own kind.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without OpenSSL 3 or the requested groups; [`Error::Failed`] if it refuses the files.
    pub fn handshakes(
        &self,
        ours: &Handshake,
        theirs: &Handshake,
        rounds: usize,
    ) -> Result<(Vec<Ends>, Vec<Ends>), Error> {
        let mut sides = [
            Handshakes::new(&self.provided, ours)?,
            Handshakes::new(&self.stock, theirs)?,
        ];
        sides[0].begin(ours.is_resumed)?;
        sides[1].begin(theirs.is_resumed)?;
        // The sides alternate after every handshake, so that each finds the caches as the other has left them. Eight in
        // a row each have the same medians within 0.02.
        in_pairs(rounds, |side| sides[side].run())
    }

    /// Returns the CPU time of both ends of a handshake with the configuration: the first of this process if this is
    /// called first.
    ///
    /// # Errors
    /// The same as for [`handshakes`](Self::handshakes).
    pub fn first_handshake(&self, handshake: &Handshake) -> Result<Ends, Error> {
        Handshakes::new(&self.provided, handshake)?.run()
    }

    /// Prepares an operation with the configuration, and with stock OpenSSL if it has the operation.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if OpenSSL with the configuration lacks it.
    pub fn operations(
        &self,
        operation: Operation,
    ) -> Result<(Operations, Option<Operations>), Error> {
        let ours = Operations::new(&self.provided, operation)?;
        match Operations::new(&self.stock, operation) {
            Err(Error::Unavailable(_)) => Ok((ours, None)),
            theirs => Ok((ours, Some(theirs?))),
        }
    }

    /// Returns nanoseconds for an RSA key that is read, used once and freed: samples with the configuration and of
    /// stock OpenSSL, in pairs. `private` is in DER (RFC 8017, A.1.2).
    ///
    /// # Errors
    /// [`Error::Unavailable`] without OpenSSL 3; [`Error::Failed`] if it refuses the key.
    pub fn key_ns(
        &self,
        private: &[u8],
        what: Use,
        rounds: usize,
    ) -> Result<(Vec<f64>, Vec<f64>), Error> {
        let mut sides = [
            KeyReader::new(&self.provided, private)?,
            KeyReader::new(&self.stock, private)?,
        ];
        in_pairs(rounds, |side| {
            let began = Instant::now();
            for _ in 0..KEYS {
                sides[side].run(what)?;
            }
            Ok(began.elapsed().as_nanos() as f64 / KEYS as f64)
        })
    }
}

/// Takes alternating samples of both sides. The first of each finds cold caches and is dropped.
fn in_pairs<T>(
    rounds: usize,
    mut sample: impl FnMut(usize) -> Result<T, Error>,
) -> Result<(Vec<T>, Vec<T>), Error> {
    let mut samples = [Vec::new(), Vec::new()];
    for round in 0..=rounds {
        for turn in 0..2 {
            let side = (turn + round) % 2;
            let taken = sample(side)?;
            if round > 0 {
                samples[side].push(taken);
            }
        }
    }
    Ok(samples.into())
}

fn contestant(
    name: &'static str,
    world: &Rc<World>,
    request: &Request,
) -> Result<Contestant, Error> {
    Ok(Contestant::new(name, vec![subject(world, request)?]))
}

fn subject(world: &Rc<World>, request: &Request) -> Result<Subject, Error> {
    let name = request.operation.name();
    let key: Vec<u8> = (0..request.operation.key_bytes() as u8).collect();
    let context = |direction| Context::fetched(world, name, direction, &key);
    match request.operation.kind() {
        Kind::Aead => Subject::aead(OpenSslAead {
            sealing: context(Direction::Encrypt)?,
            opening: context(Direction::Decrypt)?,
        }),
        _ if request.operation == Algorithm::ChaCha20 => {
            Subject::stream(OpenSslChaCha20(context(request.direction)?))
        }
        _ => Subject::stream(OpenSslStream(context(request.direction)?)),
    }
}

/// Returns two messages to open alternately.
fn messages(subject: Subject, bytes: usize) -> Vec<Sealed> {
    let Subject::Aead(mut aead) = subject else {
        return Vec::new();
    };
    let mut nonces = Nonces::default();
    let mut seal = || {
        let nonce = *nonces.next_nonce();
        let mut data = vec![0x5a; bytes];
        let tag = aead.seal(&nonce, &AAD, &mut data);
        Sealed { nonce, data, tag }
    };
    vec![seal(), seal()]
}

/// The longest request in bytes; longer ones have the same rate.
const BYTES_MAX: usize = 16 << 20;
/// The number of rounds: odd, so that the median was measured.
const ROUNDS: usize = 5;
const SAMPLE: Duration = Duration::from_millis(1);
/// The contexts of a sample, which take about 1 ms.
const CONTEXTS: usize = 2000;
/// The messages of a sample, which take about 1 ms.
const MESSAGES: usize = 2000;
/// The keys of a sample, which take 2 to 20 ms.
const KEYS: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_and_its_providers_tell_who_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.cnf");
        std::fs::write(&file, "").unwrap();
        let provided = Provided::open_in(Path::new("libcrypto.so.3"), &file).unwrap();
        let (version, built) = provided.version();
        assert!(version.starts_with("OpenSSL 3."), "{version}");
        assert!(built.starts_with("built on: "), "{built}");
        let told = |name, what| provided.told_by(name, what).unwrap();
        let name = told(c"default", c"name");
        assert_eq!(name.as_deref(), Some("OpenSSL Default Provider"));
        assert_eq!(told(c"default", c"no such parameter"), None);
        assert_eq!(told(c"legacy", c"name"), None, "it is not activated");
        for primitive in Primitive::ALL.iter().copied() {
            let has = |name| provided.has(primitive, name).unwrap();
            // OpenSSL has post-quantum primitives from 3.5.
            assert!(has("default") || primitive.since() > (3, 0), "{primitive}");
            assert!(!has("legacy"), "{primitive}");
        }
        assert!(matches!(
            Provided::open_in(&file, &file),
            Err(Error::Unavailable(_))
        ));
    }

    /// The configuration prefers the default provider, so both sides are the same.
    #[test]
    fn both_sides_have_rates_for_every_kind() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.cnf");
        std::fs::write(
            &file,
            "openssl_conf = i\n[i]\nalg_section = a\n[a]\ndefault_properties = ?provider=default\n",
        )
        .unwrap();
        let provided = Provided::open(&file).unwrap();
        for operation in [
            Algorithm::Aes192Ctr,
            Algorithm::Aes128Cbc,
            Algorithm::Aes256Gcm,
            Algorithm::ChaCha20,
            Algorithm::ChaCha20Poly1305,
            Algorithm::Camellia128Ctr,
        ] {
            for direction in [Direction::Encrypt, Direction::Decrypt] {
                let request = Request {
                    operation,
                    direction,
                    bytes: 1000,
                };
                let rates = provided.rates(&request).unwrap();
                for rate in [rates.stock, rates.provided] {
                    assert!(rate.is_finite() && rate > 0.0, "{operation}: {rates:?}");
                }
            }
        }
        let unknown = Request {
            operation: Algorithm::Serpent128Ctr,
            direction: Direction::Encrypt,
            bytes: 64,
        };
        assert!(matches!(
            provided.rates(&unknown),
            Err(Error::Unavailable(_))
        ));
        std::fs::write(&file, "[").unwrap();
        assert!(matches!(Provided::open(&file), Err(Error::Failed(_))));
    }
}
