//! AES in counter mode (SP 800-38A, section 6.5) of independent packets.

use inout::InOutBuf;

use crate::aes::{Backend, Ctr};
use crate::counter::is_one_run;
use crate::key::Schedule;
use crate::requests::{Counted, Request};
#[cfg(target_arch = "x86_64")]
use crate::x86_64::batch::ctr as kernels;

/// A packet that AES-CTR encrypts or decrypts, with its own key and counter.
pub struct CtrPacket<'a> {
    /// The key. Packets of a batch may share it or have keys of other lengths. The backend it was set for does not matter.
    pub key: &'a Ctr,
    /// The first counter block, a big-endian integer.
    pub counter: u128,
    /// The data to apply the keystream to, of any length.
    pub data: InOutBuf<'a, 'a, u8>,
}

impl Request for CtrPacket<'_> {
    #[inline(always)]
    fn schedule(&self) -> &Schedule {
        &self.key.schedule
    }
    #[inline(always)]
    fn bytes(&self) -> usize {
        self.data.len()
    }
    #[inline(always)]
    fn data(&mut self) -> InOutBuf<'_, '_, u8> {
        self.data.reborrow()
    }
}

impl Counted for CtrPacket<'_> {
    #[inline(always)]
    fn counter(&self) -> u128 {
        self.counter
    }
    #[inline(always)]
    fn is_one_run(&self) -> bool {
        is_one_run(self.counter, 0, self.data.len())
    }
}

/// Applies keystream to every packet, like [`Ctr::apply`] from the start of a block.
pub fn apply_ctr(backend: Backend, packets: &mut [CtrPacket<'_>]) {
    let alone = |packet: &mut CtrPacket<'_>| {
        let data = packet.data.reborrow();
        packet.key.apply_by(backend, packet.counter, data);
    };
    match backend {
        #[cfg(target_arch = "x86_64")]
        Backend::AesNi(token) => kernels::apply_aes_ni(token, packets, alone),
        #[cfg(target_arch = "x86_64")]
        Backend::Vaes256(token) => kernels::apply_vaes256(token, packets, alone),
        #[cfg(target_arch = "x86_64")]
        Backend::Vaes512(token) => kernels::apply_vaes512(token, packets, alone),
        _ => packets.iter_mut().for_each(alone),
    }
}
