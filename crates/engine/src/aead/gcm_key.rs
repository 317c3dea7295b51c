//! A GCM key whose contexts share its tables of powers.
//!
//! Tables take 4 KiB, more than glibc's malloc caches: those of a dropped key are kept for the next key of the same
//! thread.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use inout::InOutBuf;
use oarlock_kernels::aead::{AeadError, TAG_BYTES};
use oarlock_kernels::gcm::{self, Gcm, Message, Partial, Tables};

use crate::Error;
use crate::device::keyed::aead::InParts;
use crate::plan::engine::Engine;
use crate::plan::shared_key::{Kernel, SharedKey};
use crate::work::algorithm::Algorithm;
use crate::work::key_bytes;

pub(super) type GcmKey = Gcm<Room>;

/// Creates a key with counter-mode caching if the CPU supports it.
#[inline(always)]
pub(super) fn shared(
    engine: &Arc<Engine>,
    algorithm: Algorithm,
    key: &[u8],
) -> Result<SharedKey<GcmKey>, Error> {
    SharedKey::new(engine, algorithm, key, |place| {
        Gcm::unkeyed_in(place, Room::new(), engine.cpu)
    })
}

impl Kernel for GcmKey {
    #[inline(always)]
    fn unkeyed_in<'a>(&self, engine: &Engine, place: &'a mut MaybeUninit<Self>) -> &'a mut Self {
        Self::unkeyed_in(place, Room::new(), engine.cpu)
    }

    #[inline(always)]
    fn set_key(&mut self, _: &Engine, _: Algorithm, key: &[u8]) -> Result<(), Error> {
        self.set_key(key).map_err(key_bytes::refused)
    }
}

impl InParts for GcmKey {
    type Message = Message;
    type Partial = Partial;
    const DATA_BYTES_MAX: u64 = gcm::MESSAGE_BYTES_MAX;

    fn begin(&self, nonce: &[u8], aad: &[u8]) -> Result<Message, AeadError> {
        Self::begin(self, nonce, aad)
    }

    fn bytes(message: &Message) -> u64 {
        message.bytes()
    }

    fn seal_stripe(&self, message: &Message, offset: u64, data: InOutBuf<'_, '_, u8>) -> Partial {
        Self::seal_stripe(self, message, offset, data)
    }

    fn open_stripe(&self, message: &Message, offset: u64, data: InOutBuf<'_, '_, u8>) -> Partial {
        Self::open_stripe(self, message, offset, data)
    }

    fn crypt_stripe(&self, message: &Message, offset: u64, data: InOutBuf<'_, '_, u8>) {
        Self::crypt_stripe(self, message, offset, data);
    }

    fn append(&self, message: &mut Message, partial: Partial, bytes: u64) {
        Self::append(self, message, partial, bytes);
    }

    fn finish(&self, message: Message) -> [u8; TAG_BYTES] {
        Self::finish(self, message)
    }
}

/// Tables, once they are allocated. Contexts that share the key may fill them at any time.
pub(super) struct Room {
    tables: OnceLock<Box<[Tables; 1]>>,
    /// Bytes to process before tables are allocated: a key for a few records stays small.
    bytes_left: AtomicUsize,
}

/// With a lower limit, tables would save less than they cost, and each key of a TLS connection with only a handshake
/// would take 4 KiB.
const BYTES_BEFORE_TABLES: usize = 4 << 10;

impl Room {
    #[inline(always)]
    const fn new() -> Self {
        Self {
            tables: OnceLock::new(),
            bytes_left: AtomicUsize::new(BYTES_BEFORE_TABLES),
        }
    }

    /// Counts a request towards the allocation of tables.
    #[inline(always)]
    pub(super) fn count(&self, bytes: usize) {
        if bytes > gcm::FEW_BYTES_MAX {
            // Threads that count at the same time may count two requests as one.
            let left = self.bytes_left.load(Ordering::Relaxed);
            if left > 0 {
                self.count_long(left.saturating_sub(bytes));
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn count_long(&self, bytes_left: usize) {
        self.bytes_left.store(bytes_left, Ordering::Relaxed);
        // There are none if memory is exhausted.
        if bytes_left == 0
            && let Some(tables) = take()
            && let Err(late) = self.tables.set(tables)
        {
            keep(late);
        }
    }
}

impl AsRef<[Tables]> for Room {
    #[inline(always)]
    fn as_ref(&self) -> &[Tables] {
        match self.tables.get() {
            Some(tables) => &**tables,
            None => &[],
        }
    }
}

impl AsMut<[Tables]> for Room {
    #[inline(always)]
    fn as_mut(&mut self) -> &mut [Tables] {
        match self.tables.get_mut() {
            Some(tables) => &mut **tables,
            None => &mut [],
        }
    }
}

impl Drop for Room {
    /// Keeps the tables, which the key has wiped.
    #[inline]
    fn drop(&mut self) {
        if let Some(tables) = self.tables.take() {
            keep(tables);
        }
    }
}

thread_local! {
    static SPARE: Cell<Option<Box<[Tables; 1]>>> = const { Cell::new(None) };
}

fn take() -> Option<Box<[Tables; 1]>> {
    // At the end of a thread, there is no spare.
    let spare = SPARE.try_with(Cell::take).ok().flatten();
    spare.or_else(made)
}

#[inline(never)]
fn made() -> Option<Box<[Tables; 1]>> {
    let mut tables = Vec::new();
    tables.try_reserve_exact(1).ok()?;
    tables.push(Tables::empty());
    tables.into_boxed_slice().try_into().ok()
}

/// Keeps tables that are wiped and no longer used by a key.
#[inline(never)]
fn keep(tables: Box<[Tables; 1]>) {
    let _ = SPARE.try_with(|spare| spare.set(Some(tables)));
}

#[cfg(test)]
mod tests {
    use oarlock_kernels::aes::Backend;
    use oarlock_kernels::cpu::Cpu;

    use super::*;

    #[test]
    fn tables_come_back_wiped_for_another_key() {
        let keyed = |cpu, key: [u8; 32]| {
            let mut gcm = Gcm::unkeyed_with(Room::new(), Backend::preferred(cpu));
            gcm.set_key(&key).unwrap();
            gcm
        };
        let tag = |gcm: &Gcm<Room>| {
            gcm.seal(&[1; 12], b"aad", (&mut [0; 3000][..]).into())
                .unwrap()
        };
        let place = |gcm: &Gcm<Room>| gcm.tables().as_ref().first().map(std::ptr::from_ref);
        for cpu in [Cpu::detect(), Cpu::PORTABLE] {
            let mut kept = None;
            for long_messages in 0..4_u8 {
                let mut gcm = keyed(cpu, [long_messages; 32]);
                let without = keyed(cpu, [long_messages; 32]);
                gcm.tables().count(BYTES_BEFORE_TABLES - 1);
                assert_eq!(place(&gcm), None);
                gcm.tables().count(gcm::FEW_BYTES_MAX);
                assert_eq!(place(&gcm), None, "a short request counts");
                gcm.tables().count(gcm::FEW_BYTES_MAX + 1);
                let tables = place(&gcm);
                assert!(tables.is_some());
                if kept.is_some() {
                    assert_eq!(tables, kept, "not the tables that were kept");
                }
                kept = tables;
                for _ in 0..long_messages {
                    assert_eq!(tag(&gcm), tag(&without));
                }
                gcm.set_key(&[7; 32]).unwrap();
                assert_eq!(tag(&gcm), tag(&keyed(cpu, [7; 32])));
            }
        }
    }
}
