//! The place of a GCM key, kept for the next context of its thread. It has 5 KiB with its tables of
//! powers, more than glibc's malloc has a cache for: to make and free one took a quarter of the time
//! of a context that is made, keyed and freed.

use std::cell::Cell;

use oarlock_kernels::cpu::Cpu;
use oarlock_kernels::gcm::Gcm;

use crate::device::keyed::aead::unkeyed_gcm;

thread_local! {
    static SPARE: Cell<Option<(Cpu, Box<Gcm>)>> = const { Cell::new(None) };
}

/// A place without a key.
#[inline]
pub(super) fn take(cpu: Cpu) -> Box<Gcm> {
    // There is none either when the thread is at its end.
    match SPARE.try_with(Cell::take) {
        Ok(Some((of, gcm))) if of == cpu => gcm,
        _ => unkeyed_gcm(cpu),
    }
}

/// Wipes the key in a place, and keeps the place.
#[inline]
pub(super) fn keep(cpu: Cpu, mut gcm: Box<Gcm>) {
    gcm.forget_key();
    let _ = SPARE.try_with(|spare| spare.set(Some((cpu, gcm))));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_comes_back_without_its_key() {
        let tag = |gcm: &Gcm| {
            gcm.seal(&[1; 12], b"aad", (&mut [0; 3000][..]).into())
                .unwrap()
        };
        let cpu = Cpu::detect();
        let unkeyed = tag(&unkeyed_gcm(cpu));
        let mut gcm = take(cpu);
        for long_messages in 0..4 {
            gcm.set_key(&[7; 32]).unwrap();
            for _ in 0..long_messages {
                assert_ne!(tag(&gcm), unkeyed);
            }
            let place: *const Gcm = &*gcm;
            keep(cpu, gcm);
            gcm = take(cpu);
            assert!(std::ptr::eq(place, &*gcm), "not the place that was kept");
            assert_eq!(tag(&gcm), unkeyed);
            gcm = take(cpu);
        }
        // Another CPU's has other kernels.
        keep(cpu, gcm);
        assert_eq!(take(Cpu::PORTABLE).backend().name(), "portable");
    }
}
