//! `AcceleratedCbc` against RustCrypto's `cbc`, for every strategy and device.

use cipher::{BlockModeDecrypt, BlockModeEncrypt, KeyIvInit, block_padding::Pkcs7};
use oarlock::cipher::AcceleratedCbc;
use oarlock::{Accelerator, Algorithm, Error, Strategy};
use oarlock_testing::has_cpus;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::common::accelerator_by;

const KEY: [u8; 16] = *b"sixteen secret b";
const IV: [u8; 16] = [0x35; 16];

/// Masks, each with the device that serves on any CPU under it, if there is one.
const MASKS: [(&str, Option<&str>); 7] = [
    ("", None),
    ("-avx512", None),
    ("-vaes", None),
    ("-aes", WITHOUT_AES),
    ("-aes,-gfni", WITHOUT_AES),
    ("-aes,-avx2", WITHOUT_AES),
    ("-ssse3", WITHOUT_AES),
];

const WITHOUT_AES: Option<&str> = if cfg!(feature = "aws-lc") {
    Some("software")
} else {
    Some("cpu")
};

const STRATEGIES: [Strategy; 4] = [
    Strategy::Auto,
    Strategy::Inline,
    Strategy::Stripe,
    Strategy::Prefetch,
];

macro_rules! by_key_size {
    ($key:expr, $mode:ident<$cipher:ident> => $run:expr) => {
        match $key.len() {
            16 => {
                type $cipher = cbc::$mode<aes::Aes128>;
                $run
            }
            24 => {
                type $cipher = cbc::$mode<aes::Aes192>;
                $run
            }
            _ => {
                type $cipher = cbc::$mode<aes::Aes256>;
                $run
            }
        }
    };
}

/// Returns RustCrypto's ciphertext.
fn encrypted(key: &[u8], iv: &[u8], data: &[u8]) -> Vec<u8> {
    let mut blocks = vec![Default::default(); data.len() / 16];
    by_key_size!(key, Encryptor<Mode> => {
        let mut mode = Mode::new_from_slices(key, iv).unwrap();
        let from: Vec<_> = data.chunks(16).map(|it| it.try_into().unwrap()).collect();
        mode.encrypt_blocks_b2b(&from, &mut blocks).unwrap();
    });
    blocks.concat()
}

/// Returns RustCrypto's plaintext.
fn decrypted(key: &[u8], iv: &[u8], data: &[u8]) -> Vec<u8> {
    let mut blocks = vec![Default::default(); data.len() / 16];
    by_key_size!(key, Decryptor<Mode> => {
        let mut mode = Mode::new_from_slices(key, iv).unwrap();
        let from: Vec<_> = data.chunks(16).map(|it| it.try_into().unwrap()).collect();
        mode.decrypt_blocks_b2b(&from, &mut blocks).unwrap();
    });
    blocks.concat()
}

fn padded_by_rustcrypto(key: &[u8], iv: &[u8], data: &[u8]) -> Vec<u8> {
    by_key_size!(key, Encryptor<Mode> => {
        let mode = Mode::new_from_slices(key, iv).unwrap();
        let mut padded = data.to_vec();
        padded.resize(data.len() + 16, 0);
        mode.encrypt_padded::<Pkcs7>(&mut padded, data.len()).unwrap().to_vec()
    })
}

/// Runs `cipher` in place or from one buffer to another.
fn run(
    cipher: &mut AcceleratedCbc,
    encrypts: bool,
    in_place: bool,
    data: &mut [u8],
) -> Result<(), Error> {
    let input = data.to_vec();
    let data = if in_place {
        data.into()
    } else {
        data.fill(0xee);
        inout::InOutBuf::new(&input, data).unwrap()
    };
    if encrypts {
        cipher.encrypt(data)
    } else {
        cipher.decrypt(data)
    }
}

#[test]
fn any_split_agrees_with_rustcrypto_whatever_the_strategy_and_device() {
    let mut rng = StdRng::seed_from_u64(11);
    for (mask, device) in MASKS {
        for strategy in STRATEGIES {
            let accelerator = accelerator_by(mask, strategy);
            for key_bytes in [16, 24, 32] {
                let mut key = vec![0; key_bytes];
                let mut iv = [0; 16];
                rng.fill(&mut key[..]);
                rng.fill(&mut iv[..]);
                let mut cipher = accelerator.cbc(&key, &iv).unwrap();
                assert!(device.is_none_or(|device| cipher.device() == device));
                for encrypts in [true, false] {
                    cipher.set_iv(&iv).unwrap();
                    let mut data = vec![0; 16 * rng.random_range(30_000..40_000)];
                    rng.fill(&mut data[..]);
                    let oracle = if encrypts {
                        encrypted(&key, &iv, &data)
                    } else {
                        decrypted(&key, &iv, &data)
                    };
                    let mut rest = &mut data[..];
                    while !rest.is_empty() {
                        let blocks_max = [3, 300, 30_000][rng.random_range(0..3)];
                        let blocks = rng.random_range(0..=blocks_max).min(rest.len() / 16);
                        let (piece, after) = rest.split_at_mut(16 * blocks);
                        run(&mut cipher, encrypts, rng.random(), piece).unwrap();
                        rest = after;
                    }
                    assert!(data == oracle, "{mask} {strategy:?} {key_bytes} {encrypts}");
                }
            }
        }
    }
}

#[test]
fn forced_stripes_are_stripes_and_encryption_has_none() {
    for (mask, _) in MASKS {
        let accelerator = accelerator_by(mask, Strategy::Stripe);
        if !has_cpus() {
            return;
        }
        for in_place in [true, false] {
            let mut cipher = accelerator.cbc(&KEY, &IV).unwrap();
            for bytes in [200_000, 400_016] {
                let mut data = vec![0xa5; bytes];
                cipher.set_iv(&IV).unwrap();
                run(&mut cipher, true, in_place, &mut data).unwrap();
                assert!(data == encrypted(&KEY, &IV, &vec![0xa5; bytes]));
                cipher.set_iv(&IV).unwrap();
                run(&mut cipher, false, in_place, &mut data).unwrap();
                assert!(data.iter().all(|byte| *byte == 0xa5), "{mask} {in_place}");
            }
        }
        let (_, stats) = accelerator.stats().algorithms.pop_first().unwrap();
        assert_eq!(stats.requests, 8, "{mask}");
        assert_eq!(stats.bytes, 4 * 600_016, "{mask}");
        assert_eq!(stats.striped_requests, 4, "{mask}");
        assert_eq!(stats.timed_requests, 4, "{mask}");
    }
}

#[test]
fn a_session_asked_for_stripes_by_itself_stripes_and_one_asked_not_to_does_not() {
    let accelerator = accelerator_by("", Strategy::Inline);
    if !has_cpus() {
        return;
    }
    let striped = || {
        let stats = accelerator.stats().algorithms;
        stats.values().map(|it| it.striped_requests).sum::<u64>()
    };
    let mut cipher = accelerator.cbc(&KEY, &IV).unwrap();
    let mut data = vec![0; 1 << 20];
    for (strategy, expected) in [
        (None, 0),
        (Some(Strategy::Stripe), 1),
        (Some(Strategy::Prefetch), 1),
        (Some(Strategy::Inline), 1),
    ] {
        if let Some(strategy) = strategy {
            cipher.set_strategy(strategy);
        }
        cipher.decrypt(data.as_mut_slice().into()).unwrap();
        cipher.hand_in_stats();
        assert_eq!(striped(), expected, "{strategy:?}");
    }
    // The accelerator's options apply to sessions without a strategy of their own.
    let mut follower = accelerator.cbc(&KEY, &IV).unwrap();
    let mut options = accelerator.options();
    options.strategy = Strategy::Stripe;
    accelerator.set_options(options).unwrap();
    follower.decrypt(data.as_mut_slice().into()).unwrap();
    follower.hand_in_stats();
    cipher.decrypt(data.as_mut_slice().into()).unwrap();
    cipher.hand_in_stats();
    assert_eq!(striped(), 2);
}

#[test]
fn what_is_not_whole_blocks_is_refused_and_nothing_has_changed() {
    for strategy in STRATEGIES {
        let accelerator = accelerator_by("", strategy);
        let mut cipher = accelerator.cbc(&KEY, &IV).unwrap();
        for bytes in [1, 15, 17, 31, 1000, 100_001, 3_000_005] {
            let mut data = vec![7; bytes];
            for encrypts in [true, false] {
                for in_place in [true, false] {
                    let expected = if in_place { 7 } else { 0xee };
                    let error = run(&mut cipher, encrypts, in_place, &mut data).unwrap_err();
                    assert!(matches!(error, Error::InvalidInput(_)), "{error}");
                    assert!(data.iter().all(|byte| *byte == expected));
                    data.fill(7);
                }
            }
            let error = cipher.decrypt_padded(&mut data).unwrap_err();
            assert!(matches!(error, Error::InvalidInput(_)), "{error}");
            assert!(data == vec![7; bytes]);
        }
        let mut data = vec![7; 64];
        cipher.encrypt(data.as_mut_slice().into()).unwrap();
        assert!(data == encrypted(&KEY, &IV, &[7; 64]));
        drop(cipher);
        let stats = accelerator.stats().algorithms;
        let requests: u64 = stats.values().map(|it| it.requests).sum();
        assert_eq!(requests, 1);
    }
}

#[test]
fn no_data_change_nothing() {
    let accelerator = accelerator_by("", Strategy::Auto);
    let mut cipher = accelerator.cbc(&KEY, &IV).unwrap();
    cipher.encrypt((&mut [][..]).into()).unwrap();
    cipher.decrypt((&mut [][..]).into()).unwrap();
    let mut data = [1; 32];
    cipher.encrypt((&mut data[..]).into()).unwrap();
    assert_eq!(data[..], encrypted(&KEY, &IV, &[1; 32]));
}

#[test]
fn every_length_is_padded_as_rustcrypto_does_and_comes_back() {
    for (mask, _) in MASKS {
        let accelerator = accelerator_by(mask, Strategy::Auto);
        let mut cipher = accelerator.cbc(&KEY, &IV).unwrap();
        for bytes in 0..64 {
            let message: Vec<u8> = (0..bytes).collect();
            for room in [0, 1, 16, 100] {
                let mut data = Vec::with_capacity(message.len() + room);
                data.extend_from_slice(&message);
                cipher.set_iv(&IV).unwrap();
                cipher.encrypt_padded(&mut data).unwrap();
                assert_eq!(data, padded_by_rustcrypto(&KEY, &IV, &message), "{bytes}");
                cipher.set_iv(&IV).unwrap();
                cipher.decrypt_padded(&mut data).unwrap();
                assert_eq!(data, message);
            }
        }
        // After earlier blocks of the same message.
        let message = vec![3; 100_000];
        let expected = padded_by_rustcrypto(&KEY, &IV, &message);
        let (head, rest) = message.split_at(60_000);
        let (mut head, mut rest) = (head.to_vec(), rest.to_vec());
        cipher.set_iv(&IV).unwrap();
        cipher.encrypt(head.as_mut_slice().into()).unwrap();
        cipher.encrypt_padded(&mut rest).unwrap();
        assert!([head.clone(), rest.clone()].concat() == expected);
        cipher.set_iv(&IV).unwrap();
        cipher.decrypt(head.as_mut_slice().into()).unwrap();
        cipher.decrypt_padded(&mut rest).unwrap();
        assert!([head, rest].concat() == message);
    }
}

#[test]
fn every_corrupted_padding_is_refused_and_the_data_wiped() {
    let accelerator = accelerator_by("", Strategy::Auto);
    let mut cipher = accelerator.cbc(&KEY, &IV).unwrap();
    for before in [0, 16, 32] {
        for last in 0..=255u8 {
            // Padding of the length in the last byte, if a block can hold it.
            let in_block = (1..=16).contains(&last);
            let count = if in_block { usize::from(last) } else { 1 };
            let mut plaintext = vec![0x77; before + 16 - count];
            plaintext.resize(before + 16, last);
            let mut corruptions = vec![plaintext.clone()];
            for at in 0..count - 1 {
                for bit in 0..8 {
                    let mut corrupted = plaintext.clone();
                    corrupted[before + 16 - count + at] ^= 1 << bit;
                    corruptions.push(corrupted);
                }
            }
            for (number, corrupted) in corruptions.iter().enumerate() {
                let mut data = encrypted(&KEY, &IV, corrupted);
                cipher.set_iv(&IV).unwrap();
                let result = cipher.decrypt_padded(&mut data);
                if in_block && number == 0 {
                    assert_eq!(result, Ok(()), "{last}");
                    assert_eq!(data, corrupted[..before + 16 - count]);
                } else {
                    assert_eq!(result, Err(Error::InvalidPadding), "{last} {number}");
                    assert!(data.is_empty());
                }
            }
        }
    }
    let mut nothing = Vec::new();
    cipher.set_iv(&IV).unwrap();
    let error = cipher.decrypt_padded(&mut nothing).unwrap_err();
    assert!(matches!(error, Error::InvalidInput(_)), "{error}");
}

#[test]
fn a_message_that_has_ended_goes_on_with_no_data_but_a_new_iv_or_key() {
    let accelerator = accelerator_by("", Strategy::Stripe);
    let mut cipher = accelerator.cbc(&KEY, &IV).unwrap();
    let is_refused = |result| matches!(result, Err(Error::InvalidInput(_)));
    let mut good = encrypted(&KEY, &IV, &[1; 16]);
    good.extend(encrypted(&KEY, &good.clone(), &[16; 16]));
    for ends in 0..3 {
        match ends {
            0 => cipher.encrypt_padded(&mut vec![0; 20]).unwrap(),
            1 => cipher.decrypt_padded(&mut good.clone()).unwrap(),
            _ => {
                let result = cipher.decrypt_padded(&mut vec![0; 160]);
                assert_eq!(result, Err(Error::InvalidPadding));
            }
        }
        let mut data = vec![2; 100_000];
        assert!(is_refused(cipher.encrypt(data.as_mut_slice().into())));
        assert!(is_refused(cipher.decrypt(data.as_mut_slice().into())));
        assert!(is_refused(cipher.encrypt_padded(&mut data)));
        assert!(is_refused(cipher.decrypt_padded(&mut data)));
        assert!(is_refused(cipher.set_iv(&[0; 12])));
        assert!(is_refused(cipher.encrypt((&mut [][..]).into())));
        assert!(data == vec![2; 100_000]);
        if ends == 0 {
            cipher.set_key(&KEY, &IV).unwrap();
        } else {
            cipher.set_iv(&IV).unwrap();
        }
        cipher.encrypt(data.as_mut_slice().into()).unwrap();
        assert!(data == encrypted(&KEY, &IV, &[2; 100_000]));
        cipher.set_iv(&IV).unwrap();
    }
}

#[test]
fn a_new_key_or_iv_starts_anew_and_one_that_does_not_fit_changes_nothing() {
    let accelerator = accelerator_by("", Strategy::Auto);
    for (key_bytes, iv_bytes) in [(0, 16), (15, 16), (17, 16), (33, 16), (16, 15), (16, 17)] {
        let error = accelerator.cbc(&vec![0; key_bytes], &vec![0; iv_bytes]);
        let error = error.unwrap_err();
        let is_named = match error {
            Error::InvalidKey(_) => iv_bytes == 16,
            Error::InvalidInput(_) => iv_bytes != 16,
            _ => false,
        };
        assert!(is_named, "{key_bytes} {iv_bytes}: {error}");
    }
    let mut cipher = accelerator.cbc(&KEY, &IV).unwrap();
    let mut oracle = encrypted(&KEY, &IV, &[9; 96]);
    let mut data = [9; 96];
    cipher.encrypt((&mut data[..32]).into()).unwrap();
    assert!(cipher.set_iv(&[0; 15]).is_err());
    assert!(cipher.set_key(&[0; 15], &IV).is_err());
    assert!(cipher.set_key(&[0; 24], &[0; 15]).is_err());
    cipher.encrypt((&mut data[32..]).into()).unwrap();
    assert_eq!(data[..], oracle);
    cipher.set_iv(&[5; 16]).unwrap();
    data.fill(9);
    cipher.encrypt((&mut data[..]).into()).unwrap();
    oracle = encrypted(&KEY, &[5; 16], &[9; 96]);
    assert_eq!(data[..], oracle);
    for key in [&[6; 32][..], &[6; 24], &[6; 16]] {
        cipher.set_key(key, &[8; 16]).unwrap();
        data.fill(9);
        cipher.encrypt((&mut data[..]).into()).unwrap();
        assert_eq!(data[..], encrypted(key, &[8; 16], &[9; 96]));
    }
    drop(cipher);
    let stats = accelerator.stats().algorithms;
    let requests = |operation| {
        let of: Vec<_> = stats.iter().filter(|it| it.0.1 == operation).collect();
        of.iter().map(|it| it.1.requests).sum::<u64>()
    };
    assert_eq!(requests(Algorithm::Aes256Cbc), 1);
    assert_eq!(requests(Algorithm::Aes192Cbc), 1);
    assert_eq!(requests(Algorithm::Aes128Cbc), 4);
}

#[test]
fn nothing_secret_is_shown() {
    let cipher = Accelerator::builder().build().unwrap();
    let shown = format!("{:?}", cipher.cbc(&KEY, &IV).unwrap());
    assert_eq!(
        shown,
        "AcceleratedCbc { algorithm: Aes128Cbc, device: \"cpu\", .. }"
    );
}
