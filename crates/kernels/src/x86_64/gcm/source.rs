//! The states that a group of registers begins with.

use crate::key::Schedule;
use crate::x86_64::aes::round_key;
use crate::x86_64::clmul::Clmul;

/// Where the states of a group come from.
///
/// # Safety
/// Every method needs the instructions of `V`.
pub(super) trait Source<V> {
    /// The rounds that the states of [`group`](Self::group) have passed.
    const ROUNDS: usize;
    /// States of the next registers.
    unsafe fn group<const UNROLL: usize>(&mut self, schedule: &Schedule) -> [V; UNROLL];
    /// The counters of the next register.
    unsafe fn counters(&self) -> V;
}

/// Counters, the next register's.
pub(super) struct Counters<V>(pub(super) V);

impl<V: Clmul> Source<V> for Counters<V> {
    const ROUNDS: usize = 0;

    #[inline(always)]
    unsafe fn group<const UNROLL: usize>(&mut self, schedule: &Schedule) -> [V; UNROLL] {
        // SAFETY: as the trait demands.
        unsafe {
            let mut states = [round_key::<V>(schedule, 0); UNROLL];
            for state in &mut states {
                *state = state.xor(self.0.swap_bytes());
                self.0 = self.0.advance(V::BLOCKS as u32);
            }
            states
        }
    }

    #[inline(always)]
    unsafe fn counters(&self) -> V {
        self.0
    }
}
