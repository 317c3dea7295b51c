//! A key that makes keystream in passes, and what is left of the last one.
//!
//! A bitsliced pass takes as long for one block as for hundreds. Requests shorter than a pass therefore
//! take theirs from a whole one, which stays for those that follow. It is found by its position, so a
//! seek costs nothing and cannot take what belongs elsewhere.

use std::sync::Arc;

use inout::InOutBuf;
use oarlock_kernels::cpu::Cpu;
use oarlock_kernels::xor::Xor;
use zeroize::Zeroize;

use super::keystream::Keystream;
use crate::work::counter::Geometry;

/// Keystream and its key. Wiped on drop.
pub(crate) struct Kept {
    key: Arc<dyn Keystream>,
    geometry: Geometry,
    xor: Xor,
    /// Of one pass, from the block at `first` on.
    keystream: Box<[u8]>,
    /// `None` while there is none.
    first: Option<u128>,
}

impl Kept {
    /// Of `key`, whose passes make `pass_bytes` bytes: whole blocks.
    pub(crate) fn new(
        cpu: Cpu,
        key: Arc<dyn Keystream>,
        geometry: Geometry,
        pass_bytes: usize,
    ) -> Self {
        Self {
            key,
            geometry,
            xor: Xor::new(cpu),
            keystream: vec![0; pass_bytes].into(),
            first: None,
        }
    }

    pub(crate) const fn key(&self) -> &Arc<dyn Keystream> {
        &self.key
    }

    /// XORs keystream onto `data`, from byte `skip` of the block at `counter` on.
    pub(crate) fn apply(&mut self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) {
        let ready = self.first.and_then(|first| {
            let at = self.geometry.bytes_between((first, 0), (counter, skip))?;
            usize::try_from(at)
                .ok()
                .filter(|at| *at < self.keystream.len())
        });
        let Some(at) = ready else {
            return self.apply_anew(counter, skip, data);
        };
        let bytes = data.len().min(self.keystream.len() - at);
        let (head, rest) = data.split_at(bytes);
        self.xor.apply(&self.keystream[at..at + bytes], head);
        if !rest.is_empty() {
            let (counter, skip) = self.geometry.after(counter, skip, bytes as u64);
            self.apply_anew(counter, skip, rest);
        }
    }

    /// Whole passes go past the room, what is left comes out of it.
    fn apply_anew(&mut self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) {
        let pass_bytes = self.keystream.len();
        let whole = (skip + data.len()) / pass_bytes * pass_bytes;
        let bytes = whole.saturating_sub(skip);
        let (head, rest) = data.split_at(bytes);
        if !head.is_empty() {
            self.key.apply(counter, skip, head);
        }
        if rest.is_empty() {
            return;
        }
        let (counter, skip) = self.geometry.after(counter, skip, bytes as u64);
        self.keystream.fill(0);
        self.key.apply(counter, 0, (&mut *self.keystream).into());
        self.first = Some(counter);
        let ready = &self.keystream[skip..skip + rest.len()];
        self.xor.apply(ready, rest);
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.keystream.zeroize();
    }
}

#[cfg(all(test, not(loom)))]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use rand::{RngExt, SeedableRng, rngs::StdRng};

    use super::*;
    use crate::device::keyed::stream::keystream;
    use crate::work::algorithm::Algorithm;

    /// A key that counts what it is asked for.
    struct Counting(Arc<dyn Keystream>, AtomicUsize);

    impl Keystream for Counting {
        fn apply(&self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.apply(counter, skip, data);
        }
    }

    /// Of Triple DES, in passes of 1 KiB, with its key.
    fn kept() -> (Kept, Arc<Counting>) {
        let cpu = Cpu::detect();
        let key = keystream(cpu, Algorithm::TripleDesCtr, &[7; 24]).unwrap();
        let key = Arc::new(Counting(key, AtomicUsize::new(0)));
        let geometry = Geometry {
            block_shift: 3,
            counter_bits: 64,
        };
        (Kept::new(cpu, key.clone(), geometry, 1024), key)
    }

    #[test]
    fn short_requests_share_a_pass() {
        let (mut kept, key) = kept();
        for i in 0..64 {
            kept.apply(2 * i, 0, (&mut [0; 16][..]).into());
        }
        assert_eq!(key.1.load(Ordering::Relaxed), 1);
        kept.apply(128, 0, (&mut [0; 16][..]).into());
        assert_eq!(key.1.load(Ordering::Relaxed), 2);
        // Whole passes leave what is kept where it is.
        kept.apply(1000, 0, (&mut [0; 2048][..]).into());
        kept.apply(130, 0, (&mut [0; 16][..]).into());
        assert_eq!(key.1.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn any_position_gives_the_keystream_of_the_key() {
        let (mut kept, key) = kept();
        let mut random = StdRng::seed_from_u64(5);
        let mut counter = 0_u64;
        for _ in 0..3000 {
            counter = match random.random_range(0..5) {
                0 => u64::MAX - random.random_range(0..200),
                1 => counter.wrapping_sub(random.random_range(0..200)),
                _ => counter.wrapping_add(random.random_range(0..150)),
            };
            let skip = random.random_range(0..8);
            let bytes = random.random_range(0..3000);
            let (mut data, mut expected) = (vec![3; bytes], vec![3; bytes]);
            kept.apply(counter.into(), skip, data.as_mut_slice().into());
            let expected_buffer = expected.as_mut_slice().into();
            key.0.apply(counter.into(), skip, expected_buffer);
            assert!(data == expected, "{counter:#x} {skip} {bytes}");
        }
    }
}
