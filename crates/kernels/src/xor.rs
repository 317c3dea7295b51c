//! XOR of keystream that was computed ahead.

use inout::InOutBuf;

use crate::cpu::Cpu;
use crate::portable;
pub use crate::portable::xor::xor;
#[cfg(target_arch = "x86_64")]
use crate::x86_64::{self, Avx2};

/// XORs keystream onto data with the widest registers that gain.
#[derive(Clone, Copy, Debug)]
pub struct Xor {
    #[cfg(target_arch = "x86_64")]
    avx2: Option<Avx2>,
}

impl Xor {
    /// Selects the code for `cpu`.
    pub fn new(cpu: Cpu) -> Self {
        #[cfg(not(target_arch = "x86_64"))]
        let _ = cpu;
        Self {
            #[cfg(target_arch = "x86_64")]
            avx2: Avx2::new(cpu),
        }
    }

    /// XORs `keystream` onto `data`.
    ///
    /// # Panics
    /// If they differ in length.
    pub fn apply(self, keystream: &[u8], data: InOutBuf<'_, '_, u8>) {
        assert_eq!(
            keystream.len(),
            data.len(),
            "as much keystream as there is data"
        );
        #[cfg(target_arch = "x86_64")]
        if let Some(token) = self.avx2 {
            return x86_64::xor::apply(token, keystream, data);
        }
        portable::xor::xor(keystream, data);
    }
}
