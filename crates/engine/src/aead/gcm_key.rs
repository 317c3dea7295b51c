//! A GCM key whose contexts share its tables of powers.
//!
//! Tables have 4 KiB, more than glibc's malloc has a cache for: those of a dropped key are kept for the next one of
//! its thread.

use std::cell::Cell;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use oarlock_kernels::aes;
use oarlock_kernels::gcm::{self, Gcm, Tables};

use crate::Error;
use crate::plan::engine::Engine;
use crate::plan::shared_key::{Kernel, SharedKey};
use crate::work::algorithm::Algorithm;
use crate::work::key_bytes;

pub(super) struct GcmKey {
    gcm: Gcm<Room>,
    /// Bytes to do before it gets room for tables: a key of a few records stays small.
    bytes_before_tables: AtomicUsize,
}

/// Room for tables. Fewer bytes would save less than it costs, and the keys of a TLS connection that carries no more than
/// a handshake would have 4 KiB each.
const BYTES_BEFORE_TABLES: usize = 4 << 10;

impl GcmKey {
    /// With counter-mode caching where the CPU allows it.
    #[inline(always)]
    pub(super) fn shared(
        engine: &Arc<Engine>,
        algorithm: Algorithm,
        key: &[u8],
    ) -> Result<SharedKey<Self>, Error> {
        let bytes_before_tables = AtomicUsize::new(BYTES_BEFORE_TABLES);
        #[cfg(target_arch = "x86_64")]
        if let Some(face) = aes::Face::new(engine.cpu) {
            return SharedKey::new(engine, algorithm, key, || Self {
                gcm: Gcm::unkeyed_cached_with(Room::default(), face),
                bytes_before_tables,
            });
        }
        SharedKey::new(engine, algorithm, key, || Self {
            gcm: Gcm::unkeyed_with(Room::default(), aes::Backend::preferred(engine.cpu)),
            bytes_before_tables,
        })
    }

    /// Counts a request towards room for tables.
    #[inline(always)]
    pub(super) fn count(&self, bytes: usize) {
        if bytes > gcm::FEW_BYTES_MAX {
            // Threads that count at the same time may count one request for two.
            let left = self.bytes_before_tables.load(Ordering::Relaxed);
            if left > 0 {
                self.count_towards_tables(left.saturating_sub(bytes));
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn count_towards_tables(&self, bytes_left: usize) {
        self.bytes_before_tables
            .store(bytes_left, Ordering::Relaxed);
        if bytes_left == 0 {
            self.gcm.tables().fill();
        }
    }
}

impl Kernel for GcmKey {
    #[inline(always)]
    fn unkeyed(&self) -> Self {
        Self {
            gcm: self.gcm.unkeyed_as(Room::default()),
            bytes_before_tables: AtomicUsize::new(BYTES_BEFORE_TABLES),
        }
    }

    #[inline(always)]
    fn set_key(&mut self, _: &Engine, _: Algorithm, key: &[u8]) -> Result<(), Error> {
        self.gcm.set_key(key).map_err(key_bytes::refused)
    }
}

impl Deref for GcmKey {
    type Target = Gcm<Room>;

    #[inline(always)]
    fn deref(&self) -> &Gcm<Room> {
        &self.gcm
    }
}

impl Drop for GcmKey {
    #[inline]
    fn drop(&mut self) {
        if self.gcm.tables().has_tables() {
            keep(self.gcm.set_tables(Room::default()));
        }
    }
}

/// Tables, or none yet, in the room of a pointer and a flag. Contexts that share the key may fill it at any time.
#[derive(Default)]
pub(super) struct Room(OnceLock<Box<[Tables; 1]>>);

impl Room {
    /// Takes tables, unless memory is short.
    fn fill(&self) {
        let Self(spare) = take();
        if let Some(tables) = spare.into_inner()
            && let Err(late) = self.0.set(tables)
        {
            keep(Self(OnceLock::from(late)));
        }
    }

    #[inline(always)]
    fn has_tables(&self) -> bool {
        self.0.get().is_some()
    }
}

impl AsRef<[Tables]> for Room {
    #[inline(always)]
    fn as_ref(&self) -> &[Tables] {
        match self.0.get() {
            Some(tables) => &**tables,
            None => &[],
        }
    }
}

impl AsMut<[Tables]> for Room {
    #[inline(always)]
    fn as_mut(&mut self) -> &mut [Tables] {
        match self.0.get_mut() {
            Some(tables) => &mut **tables,
            None => &mut [],
        }
    }
}

thread_local! {
    static SPARE: Cell<Room> = const { Cell::new(Room(OnceLock::new())) };
}

/// Returns tables; none where memory is short.
fn take() -> Room {
    // There are none either when the thread is at its end.
    let spare = SPARE.try_with(Cell::take).unwrap_or_default();
    if spare.has_tables() { spare } else { made() }
}

#[inline(never)]
fn made() -> Room {
    let mut tables = Vec::new();
    if tables.try_reserve_exact(1).is_err() {
        return Room::default();
    }
    tables.push(Tables::empty());
    let tables: Result<Box<[Tables; 1]>, _> = tables.into_boxed_slice().try_into();
    tables.map_or_else(|_| Room::default(), |tables| Room(OnceLock::from(tables)))
}

/// Keeps tables that no key uses any more, and that have been wiped.
fn keep(room: Room) {
    let _ = SPARE.try_with(|spare| spare.set(room));
}

#[cfg(test)]
mod tests {
    use oarlock_kernels::aes::Backend;
    use oarlock_kernels::cpu::Cpu;
    use oarlock_kernels::gcm::Gcm;

    use super::*;

    #[test]
    fn room_comes_back_for_another_key() {
        let tag = |gcm: &Gcm<Room>| {
            gcm.seal(&[1; 12], b"aad", (&mut [0; 3000][..]).into())
                .unwrap()
        };
        for cpu in [Cpu::detect(), Cpu::PORTABLE] {
            let mut gcm = Gcm::unkeyed_with(take(), Backend::preferred(cpu));
            for long_messages in 0..4_u8 {
                let mut fresh = Gcm::unkeyed_with(Room::default(), Backend::preferred(cpu));
                for key in [[long_messages; 32], [7; 32]] {
                    gcm.set_key(&key).unwrap();
                    fresh.set_key(&key).unwrap();
                    for _ in 0..long_messages {
                        assert_eq!(tag(&gcm), tag(&fresh));
                    }
                }
                let tables = gcm.set_tables(Room::default());
                let place = tables.as_ref().as_ptr();
                assert!(tables.has_tables() && !gcm.tables().has_tables());
                keep(tables);
                assert_eq!(tag(&gcm), tag(&fresh));
                gcm.set_tables(take());
                assert_eq!(tag(&gcm), tag(&fresh));
                let tables = gcm.set_tables(Room::default());
                assert_eq!(
                    tables.as_ref().as_ptr(),
                    place,
                    "not the room that was kept"
                );
                gcm.set_tables(tables);
            }
        }
    }
}
