use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::*;
use crate::device::keyed::stream::keystream;

/// A key that counts what it is asked for.
struct Counting {
    key: Arc<dyn Keystream>,
    calls: AtomicUsize,
    bytes: AtomicUsize,
}

impl Keystream for Counting {
    fn apply(&self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(data.len(), Ordering::Relaxed);
        self.key.apply(counter, skip, data);
    }
}

impl Counting {
    fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }
}

fn counting(cpu: Cpu, algorithm: Algorithm) -> Counting {
    let key = vec![7; algorithm.key_bytes()];
    Counting {
        key: keystream(cpu, algorithm, &key).unwrap(),
        calls: AtomicUsize::new(0),
        bytes: AtomicUsize::new(0),
    }
}

fn chacha20(bytes_max: usize) -> (Begun, Counting) {
    let cpu = Cpu::detect();
    let ahead = Ahead {
        bytes_max,
        ..Ahead::CHACHA20_BY_FOUR
    };
    let begun = Begun::new(cpu, Algorithm::ChaCha20, ahead);
    (begun, counting(cpu, Algorithm::ChaCha20))
}

fn is_wiped(begun: &Begun) -> bool {
    begun
        .room
        .as_ref()
        .is_none_or(|room| room.iter().all(|byte| *byte == 0))
}

#[cfg(feature = "legacy")]
#[test]
fn short_requests_share_a_pass() {
    let cpu = Cpu::detect();
    let key = counting(cpu, Algorithm::TripleDesCtr);
    let mut begun = Begun::new(cpu, Algorithm::TripleDesCtr, Ahead::passes(1024, 0));
    for i in 0..64 {
        begun.apply(&key, 2 * i, 0, (&mut [0; 16][..]).into());
    }
    assert_eq!(key.calls(), 1);
    begun.apply(&key, 128, 0, (&mut [0; 16][..]).into());
    assert_eq!(key.calls(), 2);
    // Back within the pass.
    begun.apply(&key, 128, 0, (&mut [0; 16][..]).into());
    assert_eq!(key.calls(), 2);
    // What is left goes first; of whole passes and more, the rest comes out of another one.
    begun.apply(&key, 130, 0, (&mut [0; 3000][..]).into());
    assert_eq!(key.calls(), 4);
    begun.apply(&key, 505, 0, (&mut [0; 56][..]).into());
    assert_eq!(key.calls(), 4);
}

/// Under a new IV no more than is asked for, up to eight blocks; a pass once it is a stream.
#[cfg(feature = "legacy")]
#[test]
fn a_pass_is_made_for_those_who_go_on() {
    let cpu = Cpu::detect();
    let key = counting(cpu, Algorithm::TripleDesCtr);
    let mut begun = Begun::new(cpu, Algorithm::TripleDesCtr, Ahead::passes(4096, 1024));
    let mut made = Vec::new();
    for i in 0..600_u128 {
        begun.apply(&key, 2 * i, 0, (&mut [0; 16][..]).into());
        let bytes = key.bytes.swap(0, Ordering::Relaxed);
        if bytes > 0 {
            made.push((i, bytes));
        }
    }
    assert_eq!(
        made,
        [(0, 64), (4, 256), (20, 4096), (276, 4096), (532, 4096)]
    );
    let mut anew = |position: u128, skip: usize, bytes: usize| {
        begun.seek(position << 32, skip);
        let mut data = vec![0; bytes];
        begun.apply(&key, position << 32, skip, data.as_mut_slice().into());
        key.bytes.swap(0, Ordering::Relaxed)
    };
    for (position, skip, bytes, made) in [
        (1, 0, 8, 64),
        (2, 0, 64, 64),
        (3, 0, 72, 72),
        (4, 5, 100, 100),
        (5, 0, 1024, 1024),
        (6, 0, 1032, 4096),
        (7, 3, 1100, 4096),
        (8, 0, 4096, 4096),
        (9, 0, 4104, 4096 + 4096),
    ] {
        assert_eq!(anew(position, skip, bytes), made, "{bytes}");
    }
}

#[test]
fn a_block_is_made_once_and_more_where_requests_follow_each_other() {
    let (mut begun, key) = chacha20(1024);
    let mut made = Vec::new();
    for i in 0..200_u128 {
        let (counter, skip) = (i / 4, 16 * (i % 4) as usize);
        begun.apply(&key, counter, skip, (&mut [0; 16][..]).into());
        let bytes = key.bytes.swap(0, Ordering::Relaxed);
        if bytes > 0 {
            made.push((i, bytes));
        }
    }
    let expected = [
        (0, 64),
        (4, 64),
        (8, 256),
        (24, 512),
        (56, 1024),
        (120, 1024),
        (184, 1024),
    ];
    assert_eq!(made, expected);
    // At another position it starts over.
    begun.seek(1 << 40, 0);
    begun.apply(&key, 1 << 40, 0, (&mut [0; 16][..]).into());
    assert_eq!(key.bytes.swap(0, Ordering::Relaxed), 64);
}

#[test]
fn a_lone_request_of_a_block_or_more_is_the_kernels_and_keeps_nothing() {
    let (mut begun, key) = chacha20(1024);
    for (i, bytes) in [64, 65, 100, 128, 1000, 1024, 5000].into_iter().enumerate() {
        begun.apply(
            &key,
            (i as u128) << 64,
            0,
            vec![0; bytes].as_mut_slice().into(),
        );
        assert_eq!(key.calls(), i + 1);
        assert_eq!(key.bytes.swap(0, Ordering::Relaxed), bytes);
        assert!(begun.room.is_none(), "{bytes}");
    }
}

#[test]
fn keystream_is_wiped_when_it_is_used_up_or_left() {
    let mut data = [0; 64];
    let (mut begun, key) = chacha20(1024);
    begun.apply(&key, 5, 0, (&mut data[..48]).into());
    assert!(!is_wiped(&begun));
    begun.apply(&key, 5, 48, (&mut data[48..]).into());
    assert!(is_wiped(&begun), "used up");
    for (counter, skip) in [(4, 63), (6, 0), (5 | 1 << 32, 20)] {
        begun.apply(&key, 5, 0, (&mut data[..20]).into());
        begun.seek(5, 30);
        assert!(!is_wiped(&begun), "in the same block");
        begun.seek(counter, skip);
        assert!(is_wiped(&begun), "at {counter:#x}, {skip}");
    }
    begun.apply(&key, 5, 0, (&mut data[..20]).into());
    begun.apply(&key, 9, 0, (&mut data[..64]).into());
    assert!(is_wiped(&begun), "without a seek");
    begun.apply(&key, 5, 0, (&mut data[..20]).into());
    begun.forget();
    assert!(is_wiped(&begun), "forgotten");
}

#[test]
fn any_position_gives_the_keystream_of_the_key() {
    let mut random = StdRng::seed_from_u64(5);
    for mask in ["", "-avx512", "-avx2", "-aes,-gfni", "-aes,-avx2"] {
        let cpu = Cpu::detect().masked(mask).unwrap();
        for algorithm in Algorithm::ALL.iter().copied().filter(|it| it.is_built_in()) {
            let Kind::Stream {
                block_bytes,
                counter_bits,
                ..
            } = algorithm.kind()
            else {
                continue;
            };
            let key = counting(cpu, algorithm);
            for ahead in aheads(cpu, algorithm) {
                let mut begun = Begun::new(cpu, algorithm, ahead);
                let geometry = begun.geometry;
                let counts = u128::MAX >> (128 - counter_bits);
                let mut at = (0, 0);
                for _ in 0..400 {
                    let blocks = random.random_range(0..200);
                    let skip = random.random_range(0..block_bytes);
                    at = match random.random_range(0..12) {
                        // Near a wrap of what counts.
                        0 => (at.0 | counts & !blocks, skip),
                        1 => (at.0.wrapping_sub(blocks) & counts, skip),
                        2 => geometry.after(at.0, at.1, random.random_range(0..2000)),
                        // The same block under another nonce.
                        3 if counter_bits == 32 => (at.0 ^ 1 << 32, at.1),
                        _ => at,
                    };
                    if random.random_ratio(1, 8) {
                        begun.seek(at.0, at.1);
                    }
                    let bytes = match random.random_range(0..20) {
                        0 => random.random_range(0..10_000),
                        1..5 => random.random_range(0..1500),
                        5..9 => random.random_range(1..8) * block_bytes,
                        _ => random.random_range(0..80),
                    };
                    let (mut data, mut expected) = (vec![3; bytes], vec![3; bytes]);
                    begun.apply(&key, at.0, at.1, data.as_mut_slice().into());
                    key.key.apply(at.0, at.1, expected.as_mut_slice().into());
                    assert!(data == expected, "{mask:?} {algorithm} {at:x?} {bytes}");
                    at = geometry.after(at.0, at.1, bytes as u64);
                }
            }
        }
    }
}

fn aheads(cpu: Cpu, algorithm: Algorithm) -> Vec<Ahead> {
    let mut all = vec![Ahead::of(cpu, algorithm)];
    if algorithm == Algorithm::ChaCha20 {
        all.push(Ahead::CHACHA20_BY_FOUR);
    }
    #[cfg(feature = "legacy")]
    if algorithm == Algorithm::TripleDesCtr {
        all.extend([512, 1024, 2048, 4096].map(|bytes| Ahead::passes(bytes, 0)));
        all.push(Ahead::passes(4096, 1024));
    }
    all
}
