//! Streams in requests of a few bytes, which share blocks, compared with the same stream in one request.

use std::time::Duration;

use cipher::{StreamCipher, StreamCipherSeek};
use oarlock::cipher::{AcceleratedCtr, AnyStream};
use oarlock::{Accelerator, Algorithm, Kind, Strategy};
use oarlock_engine::cipher::StreamContext;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::common::{accelerator_by, random_bytes};

const KEY: [u8; 32] = [0x3c; 32];
const STREAM_BYTES: usize = 40_000;

fn open(accelerator: &Accelerator, algorithm: Algorithm, iv: &[u8]) -> AcceleratedCtr<AnyStream> {
    let key = &KEY[..algorithm.key_bytes()];
    accelerator.stream(algorithm, key, iv).unwrap()
}

/// Returns the built-in streams, each with the bytes of its IV.
fn streams() -> impl Iterator<Item = (Algorithm, usize)> {
    let built_in = Algorithm::ALL.iter().filter(|it| it.is_built_in());
    built_in.filter_map(|algorithm| match algorithm.kind() {
        Kind::Stream { iv_bytes, .. } => Some((*algorithm, iv_bytes)),
        _ => None,
    })
}

/// Returns the stream in one request, without this library's kernels if another implementation exists.
fn whole(algorithm: Algorithm, iv: &[u8]) -> Vec<u8> {
    let plain = accelerator_by("-aes,-avx2", Strategy::Inline);
    let mut stream = vec![0; STREAM_BYTES];
    open(&plain, algorithm, iv).apply_keystream(&mut stream);
    stream
}

/// Returns a random length, mostly shorter than a few blocks.
fn request_bytes(rng: &mut StdRng) -> usize {
    match rng.random_range(0..20) {
        0 => rng.random_range(0..3000),
        1..4 => rng.random_range(0..300),
        4..9 => 16,
        9..12 => 64,
        _ => rng.random_range(0..50),
    }
}

#[test]
fn any_cuts_and_seeks_give_the_stream_of_one_request() {
    let mut rng = StdRng::seed_from_u64(11);
    for (algorithm, iv_bytes) in streams() {
        let ivs: [Vec<u8>; 2] = [(); 2].map(|()| random_bytes(&mut rng, iv_bytes));
        let wholes = ivs.each_ref().map(|iv| whole(algorithm, iv));
        for mask in [
            "",
            "-avx512",
            "-avx512,-gfni",
            "-avx2",
            "-aes,-gfni",
            "-aes,-avx2",
        ] {
            for strategy in [
                Strategy::Auto,
                Strategy::Inline,
                Strategy::Stripe,
                Strategy::Prefetch,
            ] {
                let accelerator = accelerator_by(mask, strategy);
                let mut cipher = open(&accelerator, algorithm, &ivs[0]);
                let (mut of, mut position) = (0, 0);
                for _ in 0..150 {
                    match rng.random_range(0..24) {
                        0 => {
                            of = rng.random_range(0..2);
                            cipher.set_iv(&ivs[of]).unwrap();
                            position = 0;
                        }
                        1 => {
                            position = rng.random_range(0..STREAM_BYTES - 3000);
                            cipher.seek(position);
                        }
                        2 => {
                            // Near the partial block.
                            position = position.saturating_sub(rng.random_range(0..100));
                            cipher.seek(position);
                        }
                        3 => {
                            cipher.prefill(Duration::from_micros(1));
                        }
                        _ => {}
                    }
                    let bytes = request_bytes(&mut rng).min(STREAM_BYTES - position);
                    let input = random_bytes(&mut rng, bytes);
                    let mut output = input.clone();
                    if rng.random() {
                        cipher.apply_keystream(&mut output);
                    } else {
                        cipher.apply_keystream_b2b(&input, &mut output);
                    }
                    let keystream = &wholes[of][position..position + bytes];
                    let expected: Vec<u8> =
                        input.iter().zip(keystream).map(|(a, b)| a ^ b).collect();
                    assert!(
                        output == expected,
                        "{algorithm} {mask:?} {strategy:?}: {bytes} bytes at {position}"
                    );
                    position += bytes;
                    assert_eq!(cipher.current_pos::<usize>(), position);
                }
            }
        }
    }
}

#[test]
fn contexts_give_it_too() {
    let mut rng = StdRng::seed_from_u64(12);
    for (algorithm, iv_bytes) in streams() {
        let whole = whole(algorithm, &vec![0; iv_bytes]);
        for mask in [
            "",
            "-avx512",
            "-avx512,-gfni",
            "-avx2",
            "-aes,-gfni",
            "-aes,-avx2",
        ] {
            let accelerator = accelerator_by(mask, Strategy::Auto);
            let key = &KEY[..algorithm.key_bytes()];
            let mut context = StreamContext::new(accelerator.as_ref(), algorithm, key).unwrap();
            let mut marks = vec![(context.counter(), 0)];
            let mut position = 0;
            for _ in 0..400 {
                match rng.random_range(0..24) {
                    0 => {
                        let ((counter, skip), at) = marks[rng.random_range(0..marks.len())];
                        context.set_counter(counter, skip);
                        position = at;
                    }
                    1 => {
                        // Another key in between leaves no state.
                        let at = context.counter();
                        context.set_key(&vec![0xa5; algorithm.key_bytes()]).unwrap();
                        context.apply((&mut [0; 20][..]).into());
                        context.set_key(key).unwrap();
                        context.set_counter(at.0, at.1);
                    }
                    2 => context = context.clone(),
                    _ => {}
                }
                let bytes = request_bytes(&mut rng).min(STREAM_BYTES - position);
                let mut data = vec![0; bytes];
                context.apply(data.as_mut_slice().into());
                assert!(
                    data == whole[position..position + bytes],
                    "{algorithm} {mask:?}: {bytes} bytes at {position}"
                );
                position += bytes;
                marks.push((context.counter(), position));
            }
        }
    }
}
