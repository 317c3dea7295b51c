use std::fmt;
use std::sync::mpsc;

use cipher::{
    KeyIvInit, SeekNum, StreamCipher, StreamCipherCoreWrapper, StreamCipherSeek,
    StreamCipherSeekCore,
};

use super::*;
use crate::cipher::Aes128;
use crate::cipher::ctr::AcceleratedCtr;
use crate::testing::Accelerator;

const KEY: [u8; 16] = [0x2b; 16];
const IV: [u8; 16] = [0xf0; 16];

type Core = ctr::CtrCore<aes::Aes128, ctr::flavors::Ctr128BE>;
type Oracle = StreamCipherCoreWrapper<Core>;

/// Returns both ciphers at block `block`, which may be out of reach of a seek in bytes.
fn at_block(block: u128) -> (Oracle, AcceleratedCtr<Aes128>) {
    let mut core = Core::new(&KEY.into(), &IV.into());
    core.set_block_pos(block);
    let mut ours = AcceleratedCtr::<Aes128>::new(&KEY.into(), &IV.into());
    ours.stream.counter = ours.stream.iv.wrapping_add(block);
    (Oracle::from_core(core), ours)
}

fn assert_same_position(oracle: &Oracle, ours: &AcceleratedCtr<Aes128>, what: &str) {
    assert_eq!(
        oracle.try_current_pos::<i32>().ok(),
        ours.try_current_pos::<i32>().ok(),
        "i32, {what}"
    );
    assert_eq!(
        oracle.try_current_pos::<u32>().ok(),
        ours.try_current_pos::<u32>().ok(),
        "u32, {what}"
    );
    assert_eq!(
        oracle.try_current_pos::<u64>().ok(),
        ours.try_current_pos::<u64>().ok(),
        "u64, {what}"
    );
    assert_eq!(
        oracle.try_current_pos::<usize>().ok(),
        ours.try_current_pos::<usize>().ok(),
        "usize, {what}"
    );
    assert_eq!(
        oracle.try_current_pos::<u128>().ok(),
        ours.try_current_pos::<u128>().ok(),
        "u128, {what}"
    );
}

#[test]
fn the_end_of_the_stream_is_where_rustcrypto_has_it() {
    for before in 0..6 {
        for first in 0..40 {
            let (mut oracle, mut ours) = at_block(u128::MAX - before);
            for bytes in [first, 1, 0, 15, 16, 17, 1] {
                let what = format!("{before} blocks before, {first} first, then {bytes}");
                let (mut expected, mut data) = ([0; 40], [0; 40]);
                assert_eq!(
                    oracle.try_apply_keystream(&mut expected[..bytes]).is_ok(),
                    ours.try_apply_keystream(&mut data[..bytes]).is_ok(),
                    "{what}"
                );
                assert_eq!(expected, data, "{what}");
                for more in 0..40 {
                    assert_eq!(
                        oracle.check_remaining(more).is_ok(),
                        ours.check_remaining(more).is_ok(),
                        "{what}, {more} more"
                    );
                }
                assert_same_position(&oracle, &ours, &what);
            }
        }
    }
    // Where the checks become exact, 2^64 blocks before the end.
    for before in [(1 << 64) - 1, 1 << 64, (1 << 64) + 1] {
        let (oracle, ours) = at_block(u128::MAX - before);
        for bytes in [0, 1, 1 << 40, isize::MAX as usize] {
            assert_eq!(
                oracle.check_remaining(bytes).is_ok(),
                ours.check_remaining(bytes).is_ok()
            );
        }
    }
}

#[test]
fn beyond_the_end_the_unchecked_stream_goes_on_as_rustcryptos() {
    for before in 0..3 {
        for bytes in [16, 32, 48, 64, 80, 96] {
            let (mut oracle, mut ours) = at_block(u128::MAX - before);
            let (mut expected, mut data) = ([0; 96], [0; 96]);
            oracle.unchecked_apply_keystream(&mut expected[..bytes]);
            ours.unchecked_apply_keystream(&mut data[..bytes]);
            assert_eq!(expected, data);
            assert_same_position(&oracle, &ours, &format!("{before} {bytes}"));
            assert_eq!(
                oracle.check_remaining(16).is_ok(),
                ours.check_remaining(16).is_ok()
            );
        }
    }
}

/// All blocks but the last can be used, whatever part of the counter block counts.
#[test]
fn every_stream_ends_before_its_last_block() {
    let accelerator = Accelerator::builder().max_threads(0).build().unwrap();
    for algorithm in crate::Algorithm::ALL.iter().filter(|it| it.is_built_in()) {
        let crate::Kind::Stream {
            block_bytes,
            iv_bytes,
            counter_bits,
        } = algorithm.kind()
        else {
            continue;
        };
        let block_bytes = block_bytes as u128;
        if counter_bits == 128 {
            // Its length in bytes exceeds u128. Other tests cover it.
            continue;
        }
        let key = vec![3; algorithm.key_bytes()];
        let iv = vec![0xff; iv_bytes];
        let mut cipher = accelerator.stream(*algorithm, &key, &iv).unwrap();
        let end = (u128::MAX >> (128 - counter_bits)) * block_bytes;
        for before in 0..6 * block_bytes {
            cipher.seek(end - before);
            for bytes in (0..8 * block_bytes).chain([1 << 20, 1 << 40]) {
                let is_enough = cipher.check_remaining(bytes as usize).is_ok();
                assert_eq!(
                    is_enough,
                    bytes <= before,
                    "{algorithm}: {bytes} of {before}"
                );
            }
        }
    }
}

#[test]
fn seeks_are_rustcryptos_for_every_kind_of_number() {
    fn check<T: SeekNum + Copy + fmt::Debug>(positions: &[T]) {
        for &position in positions {
            let (mut oracle, mut ours) = at_block(3);
            let what = format!("{position:?}");
            assert_eq!(
                oracle.try_seek(position).is_ok(),
                ours.try_seek(position).is_ok(),
                "{what}"
            );
            assert_same_position(&oracle, &ours, &what);
            let (mut expected, mut data) = ([0; 100], [0; 100]);
            assert_eq!(
                oracle.try_apply_keystream(&mut expected).is_ok(),
                ours.try_apply_keystream(&mut data).is_ok(),
                "{what}"
            );
            assert_eq!(expected, data, "{what}");
            assert_same_position(&oracle, &ours, &what);
        }
    }
    macro_rules! ends {
        ($($number:ty)*) => {$(
            let mut positions: Vec<$number> = (0..40).collect();
            positions.extend((<$number>::MAX - 120)..=<$number>::MAX);
            positions.extend((1..40).map(|less| <$number>::MAX / 2 - less));
            positions.extend((1..40).map(|less| <$number>::MAX / 16 - less));
            check(&positions);
        )*};
    }
    ends!(i32 u32 u64 usize u128);
}

#[test]
fn a_session_without_room_for_streams_gets_them_once_another_has_gone() {
    let builder = Accelerator::builder()
        .max_threads(0)
        .strategy(Strategy::Prefetch);
    let of_one = {
        let accelerator = builder.clone().build().unwrap();
        accelerator.ctr(&KEY, &IV).unwrap().prefetch_bytes()
    };
    let accelerator = builder.prefetch_bytes(of_one).build().unwrap();
    let first = accelerator.ctr(&KEY, &IV).unwrap();
    let mut second = accelerator.ctr(&KEY, &IV).unwrap();
    assert_eq!(second.prefetch_bytes(), 0);
    for _ in 0..2 * LOOKS_PER_RETRY {
        second.stream.retry_prefetch(&second.route);
    }
    assert_eq!(second.prefetch_bytes(), 0);
    drop(first);
    let asked = (1..=LOOKS_PER_RETRY).find(|_| {
        second.stream.retry_prefetch(&second.route);
        second.prefetch_bytes() > 0
    });
    assert_eq!(asked, Some(LOOKS_PER_RETRY));
    // They begin at the stream's position, and its requests use them.
    let (mut expected, mut data) = ([0; 1000], [0; 1000]);
    Oracle::new(&KEY.into(), &IV.into()).apply_keystream(&mut expected);
    assert!(second.prefill(Duration::MAX) > 0);
    second.apply_keystream(&mut data);
    assert_eq!(data, expected);
    assert_eq!(second.stream.prefetched_bytes, 1000);
    // A session with another strategy does not ask.
    drop(second);
    let mut inline = accelerator.ctr(&KEY, &IV).unwrap();
    inline.set_strategy(Strategy::Inline);
    for _ in 0..2 * LOOKS_PER_RETRY {
        inline.stream.retry_prefetch(&inline.route);
    }
    assert_eq!(inline.prefetch_bytes(), 0);
}

#[test]
fn inline_requests_take_no_lock() {
    for mask in ["", "-avx512", "-aes"] {
        let accelerator = Accelerator::builder().cpu_mask(mask).build().unwrap();
        let mut cipher = accelerator.ctr(&KEY, &IV).unwrap();
        let mut forced = accelerator.ctr(&KEY, &IV).unwrap();
        forced.set_strategy(Strategy::Inline);
        // The pool exists, so that its locks could be taken.
        accelerator.0.pool();
        let (done, wait) = mpsc::channel();
        let requests = accelerator.0.with_every_lock_held(|| {
            std::thread::spawn(move || {
                let mut data = vec![0; 3_000_000];
                for bytes in [0, 1, 15, 64, 1000, 16_384] {
                    cipher.apply_keystream(&mut data[..bytes]);
                    cipher.seek(bytes);
                    cipher.set_iv(&IV).unwrap();
                }
                // Long enough to check clock and pool, but not for a helper.
                let long_bytes = cipher.stream.unseen_bytes_max;
                for _ in 0..2 {
                    cipher.apply_keystream(&mut data[..long_bytes]);
                }
                forced.apply_keystream(&mut data);
                done.send((cipher, forced)).unwrap();
            });
            wait.recv_timeout(oarlock_testing::LIMIT)
        });
        assert!(
            requests.is_ok(),
            "{mask}: an inline request waits for a lock"
        );
    }
}
