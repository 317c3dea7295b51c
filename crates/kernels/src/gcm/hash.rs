//! The key of GHASH: H and a few powers of it, and room for tables of more, which long messages fill.

#[cfg(target_arch = "x86_64")]
use core::{
    cell::UnsafeCell,
    sync::atomic::{AtomicU8, Ordering},
};

use zeroize::Zeroize;

use crate::aes::Backend;
use crate::key::BLOCK_BYTES;
use crate::portable;
#[cfg(target_arch = "x86_64")]
use crate::x86_64::ghash::{
    FEW_BLOCKS, Few, LONG_BLOCKS, MIDDLE_BLOCKS, MORE_BLOCKS, Powers, SHORT_BLOCKS, View,
};

/// Evaluates the first block with the kernels that combine CTR and GHASH, if the backend has such kernels, otherwise the
/// second.
macro_rules! by_backend {
    ($backend:expr, $kernels:ident($token:ident) => $fused:expr, else $composed:expr) => {
        match $backend {
            #[cfg(target_arch = "x86_64")]
            Backend::AesNi($token) => {
                use crate::x86_64::gcm::aes_ni as $kernels;
                $fused
            }
            #[cfg(target_arch = "x86_64")]
            Backend::Vaes256($token) => {
                use crate::x86_64::gcm::vaes256 as $kernels;
                $fused
            }
            #[cfg(target_arch = "x86_64")]
            Backend::Vaes512($token) => {
                use crate::x86_64::gcm::vaes512 as $kernels;
                $fused
            }
            _ => $composed,
        }
    };
}
pub(super) use by_backend;

/// Room for a key's tables of powers, 4 KiB. A key without it works as well and is smaller, but slower with long messages.
pub struct Tables {
    #[cfg(target_arch = "x86_64")]
    pub(super) powers: UnsafeCell<Powers>,
}

impl Tables {
    /// Creates room that no key has used.
    pub const fn empty() -> Self {
        Self {
            #[cfg(target_arch = "x86_64")]
            powers: UnsafeCell::new(Powers::EMPTY),
        }
    }
}

/// The room of a key's tables: an array of one, or a vector that is empty until they are needed.
pub trait Room: AsRef<[Tables]> + AsMut<[Tables]> {}

impl<T: AsRef<[Tables]> + AsMut<[Tables]>> Room for T {}

/// The key of GHASH.
pub(super) struct HashKey<T: Room> {
    pub(super) h: u128,
    #[cfg(target_arch = "x86_64")]
    pub(super) few: Few,
    tables: T,
    /// The tables computed so far: one of the constants below.
    #[cfg(target_arch = "x86_64")]
    made: AtomicU8,
    /// The number of messages so far, up to [`EARLY_MESSAGES`].
    #[cfg(target_arch = "x86_64")]
    messages: AtomicU8,
}

#[cfg(target_arch = "x86_64")]
const FEW: u8 = 0;
/// Few powers, and there was a message that the short table would have served: the next one computes it.
#[cfg(target_arch = "x86_64")]
const FEW_USED: u8 = 1;
/// Few powers, and a thread is computing the short table.
#[cfg(target_arch = "x86_64")]
const TOWARDS_SHORT: u8 = 2;
#[cfg(target_arch = "x86_64")]
const SHORT: u8 = 3;
/// The short table, and there was a long message: the next one computes the middle table.
#[cfg(target_arch = "x86_64")]
const SHORT_USED: u8 = 4;
#[cfg(target_arch = "x86_64")]
const TOWARDS_MIDDLE: u8 = 5;
#[cfg(target_arch = "x86_64")]
const MIDDLE: u8 = 6;
#[cfg(target_arch = "x86_64")]
const TOWARDS_LONG: u8 = 7;
#[cfg(target_arch = "x86_64")]
const LONG: u8 = 8;

// SAFETY: only the key that has the tables reads and writes them. The one thread that moves the key's `made` towards a table
// writes it; it is read after `made` was seen to have reached it, with acquire and release in between.
#[cfg(target_arch = "x86_64")]
unsafe impl Sync for Tables {}

impl<T: Room> HashKey<T> {
    #[inline(always)]
    pub(super) const fn unkeyed(tables: T) -> Self {
        Self {
            h: 0,
            #[cfg(target_arch = "x86_64")]
            few: Few::EMPTY,
            tables,
            #[cfg(target_arch = "x86_64")]
            made: AtomicU8::new(FEW),
            #[cfg(target_arch = "x86_64")]
            messages: AtomicU8::new(0),
        }
    }

    pub(super) const fn tables(&self) -> &T {
        &self.tables
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn table(&self) -> Option<*mut Powers> {
        Some(self.tables.as_ref().first()?.powers.get())
    }

    pub(super) fn set(&mut self, backend: Backend, h: &[u8; BLOCK_BYTES]) {
        #[cfg(target_arch = "x86_64")]
        match *self.made.get_mut() {
            FEW => {}
            // The new powers replace the old ones.
            FEW_USED => *self.made.get_mut() = FEW,
            _ => self.wipe_tables(),
        }
        #[cfg(target_arch = "x86_64")]
        {
            *self.messages.get_mut() = 0;
        }
        by_backend!(backend, kernels(token) => {
            self.h = kernels::make_few(token, &mut self.few, h);
        }, else {
            self.h = portable::ghash::key(*h);
        });
    }

    /// Whether this message is one of the key's first, and short: a TLS key has four before the data, and computing tables
    /// for those does not pay. Counts the message.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn is_early(&self, bytes: usize) -> bool {
        // Threads that share a key may count two messages as one.
        let messages = self.messages.load(Ordering::Relaxed);
        if messages >= EARLY_MESSAGES {
            return false;
        }
        self.messages.store(messages + 1, Ordering::Relaxed);
        bytes <= EARLY_BYTES_MAX
    }

    /// Returns the powers that a key has from the start.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn few_view(&self) -> View {
        // SAFETY: as in `view`.
        unsafe { View::of_few(&self.few) }
    }

    /// Returns the powers to multiply `blocks` blocks together, at most those of the short table. `None` if there is no room
    /// for them or another thread is computing them.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn short_view(&self, backend: Backend, blocks: usize) -> Option<View> {
        if blocks <= FEW_BLOCKS + MORE_BLOCKS {
            return Some(self.few_view());
        }
        let made = match self.made.load(Ordering::Acquire) {
            made @ (FEW | FEW_USED) => self.make_more(backend, made, BLOCK_BYTES * blocks),
            made => made,
        };
        match made {
            FEW | FEW_USED | TOWARDS_SHORT => None,
            // SAFETY: as in `view`.
            _ => Some(unsafe { View::of_table(self.table()?, SHORT_BLOCKS) }),
        }
    }

    /// Returns the powers to use for a message of `bytes` bytes.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn view(&self, backend: Backend, bytes: usize) -> View {
        let made = match self.made.load(Ordering::Acquire) {
            TOWARDS_SHORT if bytes >= LONG_BYTES_MIN => self.await_short(),
            FEW if bytes > FEW_BYTES_MAX && bytes <= alone_bytes_max(backend) => {
                // If another thread has computed more since, there are more.
                let order = Ordering::Relaxed;
                let _ = self.made.compare_exchange(FEW, FEW_USED, order, order);
                FEW
            }
            made @ (FEW | FEW_USED) if bytes > FEW_BYTES_MAX => {
                self.make_more(backend, made, bytes)
            }
            made @ (SHORT | SHORT_USED | MIDDLE) if bytes >= LONG_BYTES_MIN => {
                self.make_more(backend, made, bytes)
            }
            made => made,
        };
        let limit = match made {
            FEW | FEW_USED | TOWARDS_SHORT => return self.few_view(),
            MIDDLE | TOWARDS_LONG => MIDDLE_BLOCKS,
            LONG => LONG_BLOCKS,
            _ => SHORT_BLOCKS,
        };
        match self.table() {
            // SAFETY: `set` has computed the few powers (without a key they are zero), and the others were seen to be ready.
            Some(table) => unsafe { View::of_table(table, limit) },
            None => self.few_view(),
        }
    }

    /// Waits briefly for the short table and returns the new state: the thread that computes it takes some 30 ns, unless it
    /// has lost its CPU, and a long message with few powers takes longer than that.
    #[cfg(target_arch = "x86_64")]
    #[cold]
    fn await_short(&self) -> u8 {
        for _ in 0..SPINS {
            let made = self.made.load(Ordering::Acquire);
            if made != TOWARDS_SHORT {
                return made;
            }
            core::hint::spin_loop();
        }
        TOWARDS_SHORT
    }

    /// Returns the powers of the tables, as they lie in memory. No other thread may use the key during the call.
    #[cfg(all(target_arch = "x86_64", debug_assertions))]
    pub(super) fn powers(&self) -> impl Iterator<Item = [u8; BLOCK_BYTES]> {
        // SAFETY: no other thread uses the key, so none writes powers.
        let tables = self.table().map(|table| unsafe { &*table }.made());
        tables.into_iter().flatten()
    }

    /// Puts the key into the state in which another thread is computing the short table.
    #[cfg(all(target_arch = "x86_64", debug_assertions))]
    pub(super) fn hold(&mut self) {
        *self.made.get_mut() = TOWARDS_SHORT;
    }

    /// Computes more powers for a message of `bytes` bytes, and returns the new state.
    #[cfg(target_arch = "x86_64")]
    #[cold]
    fn make_more(&self, backend: Backend, mut made: u8, bytes: usize) -> u8 {
        let Some(table) = self.table() else {
            return made;
        };
        let acquire = Ordering::Acquire;
        let end = match made {
            _ if bytes < LONG_BYTES_MIN => SHORT,
            FEW | FEW_USED | SHORT if bytes < earning_bytes_min(backend) => SHORT_USED,
            FEW | FEW_USED | SHORT | SHORT_USED if bytes < VERY_LONG_BYTES_MIN => MIDDLE,
            // At once if the message alone recovers the cost of the rest.
            _ => LONG,
        };
        while made < end {
            let (meanwhile, next) = match made {
                FEW | FEW_USED => (TOWARDS_SHORT, SHORT),
                SHORT if end == SHORT_USED => (SHORT_USED, SHORT_USED),
                SHORT | SHORT_USED => (TOWARDS_MIDDLE, MIDDLE),
                _ => (TOWARDS_LONG, LONG),
            };
            let mine = self
                .made
                .compare_exchange(made, meanwhile, acquire, acquire);
            if let Err(now) = mine {
                return now;
            }
            made = next;
            if next == SHORT_USED {
                break;
            }
            #[cfg(debug_assertions)]
            crate::dispatch::aes::GCM_POWERS.hit();
            by_backend!(backend, kernels(token) => {
                // SAFETY: the exchange has made this thread the only one to access those powers, and shown that the previous
                // table is ready.
                unsafe {
                    match next {
                        SHORT => kernels::make_short(token, &self.few, table),
                        MIDDLE => kernels::make_middle(token, table),
                        _ => kernels::make_long(token, table),
                    }
                }
            }, else {});
            self.made.store(next, Ordering::Release);
        }
        made
    }

    #[inline(always)]
    pub(super) fn forget(&mut self) {
        self.h.zeroize();
        #[cfg(target_arch = "x86_64")]
        {
            self.few.wipe();
            self.wipe_tables();
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn wipe_tables(&mut self) {
        let made = core::mem::replace(self.made.get_mut(), FEW);
        let Some(tables) = self.tables.as_mut().first_mut() else {
            return;
        };
        let powers = tables.powers.get_mut();
        match made {
            FEW | FEW_USED => {}
            TOWARDS_SHORT | SHORT | SHORT_USED => powers.wipe::<SHORT_BLOCKS>(),
            TOWARDS_MIDDLE | MIDDLE => powers.wipe::<MIDDLE_BLOCKS>(),
            _ => powers.wipe::<LONG_BLOCKS>(),
        }
    }

    /// Returns GHASH of `data`, padded with zeros to a block, starting with `y`.
    pub(super) fn hash(&self, backend: Backend, y: u128, data: &[u8]) -> u128 {
        by_backend!(backend, kernels(token) => {
            kernels::hash(token, self.view(backend, data.len()), y, data)
        }, else {
            portable::ghash::hash(self.h, y, data)
        })
    }

    pub(super) fn times_h(&self, backend: Backend, y: u128) -> u128 {
        times(backend, y, self.h)
    }

    /// Returns H to the power of `exponent`, at least 1.
    pub(super) fn power(&self, backend: Backend, exponent: u64) -> u128 {
        let mut power = self.h;
        for i in (0..exponent.ilog2()).rev() {
            power = times(backend, power, power);
            if exponent >> i & 1 == 1 {
                power = times(backend, power, self.h);
            }
        }
        power
    }
}

impl<T: Room> Drop for HashKey<T> {
    fn drop(&mut self) {
        self.forget();
    }
}

/// Returns the product of two elements of POLYVAL's field.
pub(super) fn times(backend: Backend, a: u128, b: u128) -> u128 {
    by_backend!(
        backend,
        kernels(token) => kernels::times(token, a, b),
        else portable::ghash::times(a, b)
    )
}

/// The number of messages that count as a key's first.
#[cfg(target_arch = "x86_64")]
const EARLY_MESSAGES: u8 = 6;
/// The longest of these that use few powers and little code.
#[cfg(target_arch = "x86_64")]
const EARLY_BYTES_MAX: usize = 1 << 10;
/// The most checks of a table that another thread is computing, a few microseconds in all.
#[cfg(target_arch = "x86_64")]
const SPINS: usize = 100;
/// The most bytes of a message for which the few powers suffice, regardless of its other blocks. A longer message computes
/// tables if it can.
pub const FEW_BYTES_MAX: usize = 4 * BLOCK_BYTES;
#[cfg(target_arch = "x86_64")]
const _: () = assert!(FEW_BYTES_MAX == FEW_BLOCKS * BLOCK_BYTES);
/// The longest first message that computes no table beyond the few powers, because with single-message keys it would take
/// longer. Opening 256 bytes by AES-NI takes 0.86 of the time without it (Zen 5), 512 bytes 0.96, and sealing 1 KiB 1.24.
/// With registers of several blocks, the first message computes it.
#[cfg(target_arch = "x86_64")]
const fn alone_bytes_max(backend: Backend) -> usize {
    match backend {
        Backend::AesNi(_) => 512,
        _ => 0,
    }
}
/// The fewest bytes of a message that computes a longer table than the existing one.
#[cfg(target_arch = "x86_64")]
pub(super) const LONG_BYTES_MIN: usize = 512;
/// The fewest bytes of a first message that does so; shorter ones are only counted. Measured on Zen 5 with single-message
/// keys, the middle table pays off from 640 bytes on if a group of registers has more blocks than the short table, otherwise
/// from 4 KiB.
#[cfg(target_arch = "x86_64")]
const fn earning_bytes_min(backend: Backend) -> usize {
    match backend {
        Backend::Vaes512(_) => LONG_BYTES_MIN,
        _ => 4 << 10,
    }
}
/// The fewest bytes of a message that computes the long table at once.
#[cfg(target_arch = "x86_64")]
const VERY_LONG_BYTES_MIN: usize = 32 << 10;
