//! One set of test bodies, instantiated for every backend that the machine has, and published vectors.

#![allow(clippy::unwrap_used)]

#[cfg(not(debug_assertions))]
compile_error!("a release build counts no calls and shows nothing to tests: leave --release out");

mod aes;
mod batch;
mod cbc;
mod chacha;
mod cpu;
mod few_blocks;
mod gcm;
mod memory;
#[cfg(target_arch = "x86_64")]
mod modexp;
mod pages;
mod published;
#[cfg(target_arch = "x86_64")]
mod rounding;
#[cfg(target_arch = "x86_64")]
mod sha512;
mod tdes;
mod vectors;

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use inout::InOutBuf;
use oarlock_kernels::aes::{Ctr, InvalidKeyLength};
use oarlock_kernels::cpu::{Cpu, Feature};
use oarlock_kernels::gcm::Gcm;
use rand::{RngExt, rngs::StdRng};

/// What is tested: a way to compute AES-CTR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Portable,
    AesNi,
    Vaes256,
    Vaes512,
    /// Counter-mode caching that decides by itself when to fill the table.
    Face,
    /// Counter-mode caching by reference, with the table filled beforehand.
    FaceShared,
}

impl Way {
    const ALL: [Self; 6] = [
        Self::Portable,
        Self::AesNi,
        Self::Vaes256,
        Self::Vaes512,
        Self::Face,
        Self::FaceShared,
    ];

    /// Returns the CPU, with features hidden so that this way is the preferred one; `None` if it lacks the instructions.
    fn cpu(self) -> Option<Cpu> {
        let (needed, mask): (&[Feature], _) = match self {
            Self::Portable => (&[], "-ssse3"),
            Self::AesNi => (&[Feature::Aes], "-vaes"),
            Self::Vaes256 => (&[Feature::Vaes], "-avx512"),
            Self::Vaes512 => (&[Feature::Vaes, Feature::Avx512], "-face"),
            Self::Face | Self::FaceShared => (&[Feature::Face], ""),
        };
        let cpu = Cpu::detect();
        needed
            .iter()
            .all(|feature| cpu.has(*feature))
            .then(|| cpu.masked(mask).unwrap())
    }

    /// Returns a subject without a key; `None` if the CPU lacks the instructions.
    fn subject(self) -> Option<Subject> {
        let cpu = self.cpu()?;
        Some(match self {
            #[cfg(target_arch = "x86_64")]
            Self::Face | Self::FaceShared => {
                use oarlock_kernels::aes::{CachedCtr, Face};
                let ctr = Box::new(CachedCtr::unkeyed(Face::new(cpu).unwrap()));
                match self {
                    Self::Face => Subject::Cached(ctr),
                    _ => Subject::Shared(ctr),
                }
            }
            _ => {
                let backend = cpu.aes_backends().next().unwrap();
                let name = match self {
                    Self::Portable => "portable",
                    Self::AesNi => "aes-ni",
                    Self::Vaes256 => "vaes-256",
                    _ => "vaes-512",
                };
                assert_eq!(backend.name(), name);
                Subject::Plain(Box::new(Ctr::unkeyed(backend)))
            }
        })
    }

    /// Returns the same for GCM, with a key.
    fn gcm(self, key: &[u8]) -> Option<Box<Gcm>> {
        let cpu = self.cpu()?;
        let mut gcm = Box::new(match self {
            #[cfg(target_arch = "x86_64")]
            Self::Face | Self::FaceShared => {
                Gcm::unkeyed_cached(oarlock_kernels::aes::Face::new(cpu).unwrap())
            }
            _ => Gcm::unkeyed(cpu.aes_backends().next().unwrap()),
        });
        gcm.set_key(key).unwrap();
        Some(gcm)
    }

    fn subject_with(self, key: &[u8]) -> Option<Subject> {
        let mut subject = self.subject()?;
        subject.set_key(key).unwrap();
        Some(subject)
    }
}

enum Subject {
    Plain(Box<Ctr>),
    #[cfg(target_arch = "x86_64")]
    Cached(Box<oarlock_kernels::aes::CachedCtr>),
    #[cfg(target_arch = "x86_64")]
    Shared(Box<oarlock_kernels::aes::CachedCtr>),
}

impl Subject {
    fn set_key(&mut self, key: &[u8]) -> Result<(), InvalidKeyLength> {
        match self {
            Self::Plain(ctr) => ctr.set_key(key),
            #[cfg(target_arch = "x86_64")]
            Self::Cached(ctr) | Self::Shared(ctr) => ctr.set_key(key),
        }
    }

    fn ctr(&self) -> &Ctr {
        match self {
            Self::Plain(ctr) => ctr,
            #[cfg(target_arch = "x86_64")]
            Self::Cached(ctr) | Self::Shared(ctr) => oarlock_kernels::testing::uncached(ctr),
        }
    }

    fn apply(&mut self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) {
        match self {
            Self::Plain(ctr) => ctr.apply(counter, skip, data),
            #[cfg(target_arch = "x86_64")]
            Self::Cached(ctr) => ctr.apply(counter, skip, data),
            #[cfg(target_arch = "x86_64")]
            Self::Shared(ctr) => {
                ctr.prepare(counter);
                ctr.apply_shared(counter, skip, data);
            }
        }
    }
}

fn random_bytes(rng: &mut StdRng, bytes: usize) -> Vec<u8> {
    let mut data = vec![0; bytes];
    rng.fill(&mut data[..]);
    data
}

/// The kernels count their calls. A test that reads the counts excludes the others.
static COUNTED: RwLock<()> = RwLock::new(());

fn with_others() -> RwLockReadGuard<'static, ()> {
    COUNTED.read().unwrap_or_else(PoisonError::into_inner)
}

fn alone() -> RwLockWriteGuard<'static, ()> {
    COUNTED.write().unwrap_or_else(PoisonError::into_inner)
}

/// Turns each `fn body(way: Way)` into a test for every way; a test of a way that the CPU lacks reports that.
macro_rules! for_every_way {
    ($($body:ident),+ $(,)?) => {
        for_every_way! { @ portable Portable; $($body)+ }
        for_every_way! { @ aes_ni AesNi; $($body)+ }
        for_every_way! { @ vaes256 Vaes256; $($body)+ }
        for_every_way! { @ vaes512 Vaes512; $($body)+ }
        for_every_way! { @ face Face; $($body)+ }
        for_every_way! { @ face_shared FaceShared; $($body)+ }
    };
    (@ $module:ident $way:ident; $($body:ident)+) => {
        mod $module {
            $(#[test]
            fn $body() {
                let _guard = crate::with_others();
                let way = crate::Way::$way;
                if way.cpu().is_some() {
                    super::$body(way);
                } else {
                    oarlock_testing::skip("this CPU lacks the instructions");
                }
            })+
        }
    };
}
use for_every_way;
