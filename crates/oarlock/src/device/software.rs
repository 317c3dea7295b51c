//! aws-lc on the CPU: the reference, the fallback, and the oracle of the self-tests. It has code
//! for CPUs and architectures that this library has no fast kernels for.
#![allow(unsafe_code)]

use std::os::raw::c_uint;
use std::sync::Arc;

use aws_lc_sys::{AES_KEY, AES_ctr128_encrypt, AES_set_encrypt_key};
use inout::InOutBuf;
use oarlock_kernels::cpu::Cpu;
use zeroize::Zeroize;

use super::{Device, DeviceError, Offer, OpenSession, Opened, Operation, SessionParams};
use crate::cipher::{Keystream, StreamKey};
use crate::plan::{self, Cost, Costs};

/// The device `software`: AES-CTR by aws-lc.
pub struct SoftwareDevice {
    cpu: Cpu,
    costs: Costs,
}

impl SoftwareDevice {
    /// `cpu` only tells which rate to expect: aws-lc finds its own way.
    pub fn new(cpu: Cpu) -> Self {
        Self::with_costs(cpu, Costs::default())
    }

    pub(crate) fn with_costs(cpu: Cpu, costs: Costs) -> Self {
        Self { cpu, costs }
    }

    /// `None` for what is not asked of aws-lc.
    fn cost(&self, params: &SessionParams) -> Option<Cost> {
        let backend = plan::software_backend(self.cpu);
        match params.operation {
            Operation::Aes128Ctr | Operation::Aes192Ctr | Operation::Aes256Ctr => {
                let found = self.costs.of(params.operation, "software", backend);
                Some(found.map_or(plan::UNKNOWN, |(cost, _)| cost))
            }
            _ => None,
        }
    }
}

impl Device for SoftwareDevice {
    fn name(&self) -> &str {
        "software"
    }

    fn probe(&self, params: &SessionParams) -> Option<Offer> {
        Some(Offer {
            preference: 1,
            bytes_per_second: self.cost(params)?.bytes_per_second(),
        })
    }

    fn setup_ns(&self, params: &SessionParams) -> u64 {
        self.cost(params).map_or(0, |cost| cost.setup_ns as u64)
    }

    fn backend(&self, _: &SessionParams) -> &str {
        plan::software_backend(self.cpu)
    }

    fn open_session(&self, params: &SessionParams, key: &[u8]) -> Result<OpenSession, DeviceError> {
        match params.operation {
            Operation::Aes128Ctr | Operation::Aes192Ctr | Operation::Aes256Ctr => {
                let ctr = SoftwareCtr::new(key)?;
                Ok(OpenSession(Opened::Stream(StreamKey::Other(ctr))))
            }
            other => Err(DeviceError(format!("{other} is not offered"))),
        }
    }

    fn capacity(&self) -> usize {
        1
    }
}

/// An AES key in aws-lc. Wiped on drop.
struct SoftwareCtr(AES_KEY);

impl SoftwareCtr {
    fn new(key: &[u8]) -> Result<Arc<Self>, DeviceError> {
        let mut ctr = Arc::new(Self(AES_KEY {
            rd_key: [0; 60],
            rounds: 0,
        }));
        // Expanded in place: a box made into an `Arc` would be copied and freed as it was.
        let result = Arc::get_mut(&mut ctr).map_or(-1, |ctr| {
            // SAFETY: `key` has the bits that are named, the schedule is writable and does not
            // move.
            unsafe { AES_set_encrypt_key(key.as_ptr(), 8 * key.len() as c_uint, &mut ctr.0) }
        });
        if result == 0 {
            Ok(ctr)
        } else {
            Err(DeviceError(format!("AES_set_encrypt_key: {result}")))
        }
    }

    fn run(&self, counter: u128, data: InOutBuf<'_, '_, u8>) {
        let mut counter_block = counter.to_be_bytes();
        let mut keystream = [0; 16];
        let mut used: c_uint = 0;
        let bytes = data.len();
        let (from, to) = data.into_raw();
        // SAFETY: the schedule was made by AES_set_encrypt_key; the buffer vouches for `bytes` at
        // both pointers, equal or apart, which AES_ctr128_encrypt allows; the rest is local. It
        // does not change the schedule, so threads may share it.
        unsafe {
            AES_ctr128_encrypt(
                from,
                to,
                bytes,
                &self.0,
                counter_block.as_mut_ptr(),
                keystream.as_mut_ptr(),
                &mut used,
            );
        }
        keystream.zeroize();
    }
}

impl Keystream for SoftwareCtr {
    fn apply(&self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) {
        if skip > 0 {
            let mut keystream = [0; 16];
            self.run(counter, (&mut keystream[..]).into());
            let bytes = data.len().min(16 - skip);
            let (mut head, rest) = data.split_at(bytes);
            head.xor_in2out(&keystream[skip..skip + bytes]);
            keystream.zeroize();
            self.run(counter.wrapping_add(1), rest);
        } else {
            self.run(counter, data);
        }
    }
}

impl Drop for SoftwareCtr {
    fn drop(&mut self) {
        self.0.rd_key.zeroize();
    }
}
