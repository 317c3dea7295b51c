//! The bare kernels, as a peer.

#[cfg(target_arch = "x86_64")]
use std::sync::Arc;

use oarlock_kernels::aes::{Backend, Ctr};
#[cfg(target_arch = "x86_64")]
use oarlock_kernels::aes::{CachedCtr, Face};
use oarlock_kernels::cpu::Cpu;
#[cfg(target_arch = "x86_64")]
use oarlock_kernels::modexp::{self, Lane, Modulus, Width};

use crate::cases::{Algorithm, Case};
#[cfg(target_arch = "x86_64")]
use crate::cases::{ModExpTasks, Tasks};
use crate::error::Error;
#[cfg(target_arch = "x86_64")]
use crate::peers::public_key::{LaneQueue, Lanes, PublicKey, Results};
use crate::peers::subject::{Peer, Stream, Subject};

/// The kernels alone, without session and plan.
pub(super) struct Kernels(pub(super) Cpu);

impl Peer for Kernels {
    fn version(&self) -> String {
        format!("kernel {}", Backend::preferred(self.0).name())
    }

    fn subject(&self, case: &Case, key: &[u8]) -> Result<Subject, Error> {
        let Algorithm::AesCtr { .. } = case.algorithm else {
            return Err(Error::Unavailable("of ciphers, AES-CTR alone".to_owned()));
        };
        let wrong_key = |error| Error::Failed(format!("kernel: {error}"));
        #[cfg(target_arch = "x86_64")]
        if let Some(face) = Face::new(self.0) {
            let mut ctr = At::the_start_of(CachedCtr::unkeyed(face));
            ctr.kernel.set_key(key).map_err(wrong_key)?;
            return Subject::stream(ctr);
        }
        let ctr = Ctr::new(key, self.0).map_err(wrong_key)?;
        Subject::stream(At::the_start_of(ctr))
    }

    #[cfg(target_arch = "x86_64")]
    fn public_key(&self, tasks: &Tasks, _: usize) -> Result<Box<dyn PublicKey>, Error> {
        let Tasks::ModExp(tasks) = tasks else {
            return Err(Error::Unavailable(
                "of public-key operations, modular exponentiation alone".to_owned(),
            ));
        };
        let backend = modexp::Backend::preferred(self.0).ok_or_else(|| {
            Error::Unavailable("no kernel for this CPU: it wants AVX2 and FMA".to_owned())
        })?;
        Ok(LaneQueue::before(Powers::new(backend, tasks)?))
    }
}

/// Modular exponentiation, with moduli prepared in advance.
#[cfg(target_arch = "x86_64")]
struct Powers {
    backend: modexp::Backend,
    tasks: Arc<ModExpTasks>,
    moduli: Vec<Modulus>,
    powers: [Vec<u8>; modexp::LANES],
    workspace: Vec<modexp::Line>,
}

#[cfg(target_arch = "x86_64")]
impl Powers {
    fn new(backend: modexp::Backend, tasks: &Arc<ModExpTasks>) -> Result<Self, Error> {
        let bytes = tasks.bytes();
        let failed = |error: &dyn std::fmt::Display| Error::Failed(format!("kernel: {error}"));
        let width =
            Width::for_bits(8 * bytes).ok_or_else(|| failed(&"moduli have 4096 bits at most"))?;
        let mut workspace = vec![modexp::Line::ZERO; width.workspace_lines()];
        let mut moduli = Vec::new();
        for number in &tasks.moduli {
            let mut modulus = Modulus::unset(width);
            modulus.set(number).map_err(|error| failed(&error))?;
            modexp::prepare(backend, &mut [&mut modulus], &mut workspace)
                .map_err(|error| failed(&error))?;
            moduli.push(modulus);
        }
        Ok(Self {
            backend,
            tasks: Arc::clone(tasks),
            moduli,
            powers: [(); modexp::LANES].map(|()| vec![0; bytes]),
            workspace,
        })
    }
}

#[cfg(target_arch = "x86_64")]
impl Lanes for Powers {
    const LANES: usize = modexp::LANES;

    fn run(&mut self, requests: &[usize], results: &mut Results) {
        let asked = requests.iter().map(|number| &self.tasks.requests[*number]);
        let mut lanes: Vec<_> = asked
            .zip(&mut self.powers)
            .map(|(request, result)| Lane {
                modulus: &self.moduli[request.modulus],
                base: &request.base,
                exponent: &request.exponent,
                result,
            })
            .collect();
        let done = modexp::exponentiate(self.backend, &mut lanes, &mut self.workspace);
        assert!(done.is_ok(), "{done:?}");
        for (number, power) in requests.iter().zip(&self.powers) {
            results.done(*number, power.len()).copy_from_slice(power);
        }
    }
}

/// A kernel and a position: the minimum that continues a stream.
struct At<K> {
    kernel: K,
    counter: u128,
    skip: usize,
}

impl<K> At<K> {
    fn the_start_of(kernel: K) -> Self {
        Self {
            kernel,
            counter: 0,
            skip: 0,
        }
    }

    #[inline]
    fn set_iv(&mut self, iv: &[u8; 16]) {
        (self.counter, self.skip) = (u128::from_be_bytes(*iv), 0);
    }

    #[inline]
    fn advance(&mut self, bytes: usize) {
        let end = self.skip + bytes;
        self.counter = self.counter.wrapping_add((end / 16) as u128);
        self.skip = end % 16;
    }
}

impl Stream for At<Ctr> {
    fn set_iv(&mut self, iv: &[u8; 16]) {
        At::set_iv(self, iv);
    }

    fn apply(&mut self, data: &mut [u8]) {
        let bytes = data.len();
        self.kernel.apply(self.counter, self.skip, data.into());
        self.advance(bytes);
    }
}

#[cfg(target_arch = "x86_64")]
impl Stream for At<CachedCtr> {
    fn set_iv(&mut self, iv: &[u8; 16]) {
        At::set_iv(self, iv);
    }

    fn apply(&mut self, data: &mut [u8]) {
        let bytes = data.len();
        self.kernel.apply(self.counter, self.skip, data.into());
        self.advance(bytes);
    }
}
