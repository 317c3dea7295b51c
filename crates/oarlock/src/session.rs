//! A key, its algorithm and where it lives.

use std::sync::Arc;

use inout::InOutBuf;
#[cfg(target_arch = "x86_64")]
use oarlock_kernels::aes::CachedCtr;
use oarlock_kernels::aes::{Backend, Ctr, InvalidKeyLength};
use oarlock_kernels::cpu::Cpu;
use zeroize::Zeroizing;

use crate::Error;
#[cfg(feature = "software")]
use crate::device::SoftwareCtr;
use crate::device::{CtrRequest, DeviceSession, Registration, Registry, SessionParams};
use crate::plan;

/// A key set up for its concrete kernel.
pub(crate) enum Keyed {
    #[cfg(target_arch = "x86_64")]
    Cached(Box<CachedCtr>),
    Kernel(Box<Ctr>),
    #[cfg(feature = "software")]
    Software(Box<SoftwareCtr>),
    Driver(Box<dyn DeviceSession>),
}

impl Keyed {
    /// The best kernel of this library. Allocates first and expands in place, so that no copy of
    /// the schedule stays on the stack.
    pub(crate) fn kernel(cpu: Cpu, key: &[u8]) -> Result<Self, InvalidKeyLength> {
        #[cfg(target_arch = "x86_64")]
        if let Some(face) = oarlock_kernels::aes::Face::new(cpu) {
            let mut ctr = Box::new(CachedCtr::unkeyed(face));
            ctr.set_key(key)?;
            return Ok(Self::Cached(ctr));
        }
        let mut ctr = Box::new(Ctr::unkeyed(Backend::preferred(cpu)));
        ctr.set_key(key)?;
        Ok(Self::Kernel(ctr))
    }

    /// The key for several threads at once; `None` for a driver, which spreads its own work.
    pub(crate) fn shared(&self) -> Option<Shared<'_>> {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Cached(ctr) => Some(Shared::Cached(ctr)),
            Self::Kernel(ctr) => Some(Shared::Kernel(ctr)),
            #[cfg(feature = "software")]
            Self::Software(ctr) => Some(Shared::Software(ctr)),
            Self::Driver(_) => None,
        }
    }

    /// Makes ready for a long [`shared`](Self::shared) request from `counter` on.
    pub(crate) fn prepare(&mut self, counter: u128) {
        #[cfg(target_arch = "x86_64")]
        if let Self::Cached(ctr) = self {
            ctr.prepare(counter);
        }
    }
}

/// A key that several threads can use at once. There is none of a driver, so no stripe can be left
/// undone by one.
#[derive(Clone, Copy)]
pub(crate) enum Shared<'a> {
    #[cfg(target_arch = "x86_64")]
    Cached(&'a CachedCtr),
    Kernel(&'a Ctr),
    #[cfg(feature = "software")]
    Software(&'a SoftwareCtr),
}

impl Shared<'_> {
    /// XORs keystream onto `data`, from byte `skip` of the block at `counter` on.
    pub(crate) fn apply(self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Cached(ctr) => ctr.apply_shared(counter, skip, data),
            Self::Kernel(ctr) => ctr.apply(counter, skip, data),
            #[cfg(feature = "software")]
            Self::Software(ctr) => ctr.apply(counter, skip, data),
        }
    }
}

/// A key on a device, and what it takes to move it to another one.
pub(crate) struct Session {
    pub(crate) keyed: Keyed,
    params: SessionParams,
    key: Zeroizing<[u8; 32]>,
    home: Home,
    /// Of one thread on long requests, as the device offered it.
    pub(crate) bytes_per_second: u64,
}

/// Where a session lives, and where it may move.
enum Home {
    Device {
        registration: Arc<Registration>,
        registry: Arc<Registry>,
        cpu: Cpu,
    },
    /// The kernels of this library without an accelerator, or after every device has failed.
    Kernels,
}

impl Session {
    /// Opens one where the plan expects it to be served soonest.
    pub(crate) fn open(
        registry: &Arc<Registry>,
        cpu: Cpu,
        params: SessionParams,
        key: &[u8],
    ) -> Result<Self, Error> {
        let (registration, keyed, bytes_per_second) = registry.open(&params, key, &[])?;
        let home = Home::Device {
            registration,
            registry: Arc::clone(registry),
            cpu,
        };
        Ok(Self {
            keyed,
            params,
            key: padded(key),
            home,
            bytes_per_second,
        })
    }

    /// One that belongs to no accelerator. `key` has the length of the operation's.
    pub(crate) fn on_kernels(params: SessionParams, key: &[u8]) -> Self {
        let cpu = Cpu::detect();
        #[allow(clippy::expect_used)] // The callers' key types have that length.
        let keyed = Keyed::kernel(cpu, key).expect("the key has the operation's length");
        Self {
            keyed,
            params,
            key: padded(key),
            home: Home::Kernels,
            bytes_per_second: plan::kernel_rate(cpu, params.operation),
        }
    }

    pub(crate) fn params(&self) -> SessionParams {
        self.params
    }

    pub(crate) fn device(&self) -> &str {
        match &self.home {
            Home::Device { registration, .. } => registration.name(),
            Home::Kernels => "cpu",
        }
    }

    /// Whether the device was withdrawn.
    #[inline(always)]
    pub(crate) fn has_lost_its_device(&self) -> bool {
        matches!(&self.home, Home::Device { registration, .. } if registration.is_withdrawn())
    }

    /// XORs keystream onto `data`, from byte `skip` of the block at `counter` on. A device that
    /// fails gives the data back as it was.
    pub(crate) fn apply<'a>(
        &mut self,
        counter: u128,
        skip: usize,
        mut data: InOutBuf<'a, 'a, u8>,
    ) -> Result<(), InOutBuf<'a, 'a, u8>> {
        match &mut self.keyed {
            #[cfg(target_arch = "x86_64")]
            Keyed::Cached(ctr) => ctr.apply(counter, skip, data),
            Keyed::Kernel(ctr) => ctr.apply(counter, skip, data),
            #[cfg(feature = "software")]
            Keyed::Software(ctr) => ctr.apply(counter, skip, data),
            Keyed::Driver(driver) => {
                // Lent, so that all of it can be done elsewhere whatever the driver made of it.
                let mut request = [CtrRequest {
                    counter,
                    skip,
                    data: data.reborrow(),
                }];
                if driver.submit(&mut request).is_err() {
                    return Err(data);
                }
            }
        }
        Ok(())
    }

    /// Moves to another device than the one it is on, which joins those that have `failed`, and than
    /// these; when there is none, to the kernels, which cannot fail.
    #[cold]
    pub(crate) fn move_away(&mut self, failed: &mut Vec<Arc<Registration>>) {
        let Home::Device {
            registration,
            registry,
            cpu,
        } = &mut self.home
        else {
            return;
        };
        let key = &self.key[..self.params.operation.key_bytes()];
        failed.push(Arc::clone(registration));
        match registry.open(&self.params, key, failed) {
            Ok((device, keyed, bytes_per_second)) => {
                *registration = device;
                self.keyed = keyed;
                self.bytes_per_second = bytes_per_second;
            }
            Err(_) => {
                // The length was right for the session that is being left.
                if let Ok(keyed) = Keyed::kernel(*cpu, key) {
                    self.keyed = keyed;
                }
                self.bytes_per_second = plan::kernel_rate(*cpu, self.params.operation);
                self.home = Home::Kernels;
            }
        }
    }
}

fn padded(key: &[u8]) -> Zeroizing<[u8; 32]> {
    let mut padded = Zeroizing::new([0; 32]);
    padded[..key.len()].copy_from_slice(key);
    padded
}
