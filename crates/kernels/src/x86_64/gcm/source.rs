//! The states that a group of registers begins with.

use crate::key::Schedule;
use crate::x86_64::aes::round_key;
use crate::x86_64::clmul::Clmul;

/// Where the states of a group come from.
pub(super) trait Source<V> {
    /// The rounds that the states of [`group`](Self::group) have passed.
    const ROUNDS: usize;
    /// States of the next registers.
    ///
    /// # Safety
    /// The CPU has the instructions of `V`.
    unsafe fn group<const UNROLL: usize>(&mut self, schedule: &Schedule) -> [V; UNROLL];
    /// The counters of the next register.
    ///
    /// # Safety
    /// The CPU has the instructions of `V`.
    unsafe fn counters(&self) -> V;
}

/// Counters, the next register's.
pub(super) struct Counters<V>(pub(super) V);

impl<V: Clmul> Source<V> for Counters<V> {
    const ROUNDS: usize = 0;

    #[inline(always)]
    unsafe fn group<const UNROLL: usize>(&mut self, schedule: &Schedule) -> [V; UNROLL] {
        // SAFETY: the caller has the instructions of `V`; `round_key` is asked for the first key, which there
        // always is.
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
