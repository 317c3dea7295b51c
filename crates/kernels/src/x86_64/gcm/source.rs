//! The states with which a group of registers begins.

use crate::key::Schedule;
use crate::x86_64::aes::round_key;
use crate::x86_64::clmul::Clmul;

/// The source of a group's states.
pub(super) trait Source<V> {
    /// The number of rounds already applied to the states of [`group`](Self::group).
    const ROUNDS: usize;
    /// Returns states of the next registers.
    ///
    /// # Safety
    /// The CPU has the instructions of `V`.
    unsafe fn group<const UNROLL: usize>(&mut self, schedule: &Schedule) -> [V; UNROLL];
    /// Returns the counters of the next register.
    ///
    /// # Safety
    /// The CPU has the instructions of `V`.
    unsafe fn counters(&self) -> V;
}

/// Plain counters: those of the next register.
pub(super) struct Counters<V>(pub(super) V);

impl<V: Clmul> Source<V> for Counters<V> {
    const ROUNDS: usize = 0;

    #[inline(always)]
    unsafe fn group<const UNROLL: usize>(&mut self, schedule: &Schedule) -> [V; UNROLL] {
        // SAFETY: the caller has the instructions of `V`; `round_key` is called for the first key, which always exists.
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
