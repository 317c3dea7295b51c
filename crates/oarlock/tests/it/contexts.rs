//! Contexts against RustCrypto's ciphers, call by call.

use aes_gcm::aead::{AeadInOut, KeyInit};
use aes_gcm::{AesGcm, aes};
use cbc::cipher::{BlockModeDecrypt, BlockModeEncrypt, KeyIvInit, StreamCipher, StreamCipherSeek};
use inout::InOutBuf;
use oarlock::Algorithm;
use oarlock::{Accelerator, Error, Strategy};
use oarlock_engine::aead::AeadContext;
use oarlock_engine::cipher::{CbcContext, StreamContext};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use crate::common::{accelerator, random_bytes};

/// Returns accelerators for every strategy, with every kind of kernel.
fn accelerators() -> Vec<(String, Accelerator)> {
    let mut all = Vec::new();
    for mask in ["", "-avx512", "-aes", "-aes,-gfni", "-aes,-avx2"] {
        for strategy in [Strategy::Auto, Strategy::Stripe, Strategy::Prefetch] {
            let builder = Accelerator::builder().cpu_mask(mask).strategy(strategy);
            let name = format!("{mask:?}, {strategy:?}");
            all.push((name, builder.build().unwrap()));
        }
    }
    all
}

/// Returns a length that stays within a kernel, ends at its edge, opens a session, or is striped.
fn length(rng: &mut StdRng) -> usize {
    match rng.random_range(0..12) {
        0..=5 => rng.random_range(0..200),
        6..=8 => rng.random_range(200..5000),
        9..=10 => rng.random_range(5000..90_000),
        _ => rng.random_range(90_000..700_000),
    }
}

#[test]
fn streams_go_on_from_call_to_call() {
    let mut rng = StdRng::seed_from_u64(1);
    for (name, accelerator) in accelerators() {
        for operation in [
            Algorithm::Aes128Ctr,
            Algorithm::Aes256Ctr,
            Algorithm::ChaCha20,
        ] {
            let mut context: Option<StreamContext> = None;
            for _ in 0..3 {
                let key: Vec<u8> = (0..operation.key_bytes()).map(|_| rng.random()).collect();
                match &mut context {
                    Some(context) => context.set_key(&key).unwrap(),
                    place => {
                        StreamContext::put(place, accelerator.as_ref(), operation, &key).unwrap()
                    }
                }
                let context = context.as_mut().unwrap();
                for _ in 0..2 {
                    let start = match operation {
                        // Close to the wrap of the bits that count.
                        Algorithm::ChaCha20 => rng.random::<u128>() & !0xffff_ffff | 5,
                        _ => u128::MAX - u128::from(rng.random_range(0..3000u32)),
                    };
                    check_stream(&name, &mut rng, operation, context, &key, start);
                }
            }
        }
    }
}

fn check_stream(
    name: &str,
    rng: &mut StdRng,
    operation: Algorithm,
    context: &mut StreamContext,
    key: &[u8],
    start: u128,
) {
    let mut oracle: Box<dyn StreamCipher> = match operation {
        Algorithm::Aes128Ctr => Box::new(
            ctr::Ctr128BE::<aes::Aes128>::new_from_slices(key, &start.to_be_bytes()).unwrap(),
        ),
        Algorithm::Aes256Ctr => Box::new(
            ctr::Ctr128BE::<aes::Aes256>::new_from_slices(key, &start.to_be_bytes()).unwrap(),
        ),
        _ => {
            let nonce = &start.to_be_bytes()[..12];
            let mut cipher = chacha20::ChaCha20::new_from_slices(key, nonce).unwrap();
            cipher.seek(64 * 5u64);
            Box::new(cipher)
        }
    };
    context.set_counter(start, 0);
    for call in 0..8 {
        let bytes = length(rng);
        let mut expected = random_bytes(rng, bytes);
        let mut data = expected.clone();
        oracle.apply_keystream(&mut expected);
        if rng.random_ratio(1, 3) {
            // A copy continues independently.
            let mut copy = context.clone();
            let mut copied = vec![0; data.len()];
            copy.apply(InOutBuf::new(&data, &mut copied).unwrap());
            assert!(
                copied == expected,
                "{name}, {operation}, copy at call {call}"
            );
            assert_eq!(
                copy.counter().1,
                (context.counter().1 + data.len()) % block(operation)
            );
        }
        context.apply(data.as_mut_slice().into());
        assert!(data == expected, "{name}, {operation}, call {call}");
    }
}

fn block(operation: Algorithm) -> usize {
    if operation == Algorithm::ChaCha20 {
        64
    } else {
        16
    }
}

#[test]
fn chacha20_carries_into_the_nonce() {
    let accelerator = accelerator();
    let mut context =
        StreamContext::new(accelerator.as_ref(), Algorithm::ChaCha20, &[7; 32]).unwrap();
    // The nonce's words are little-endian: ff ff 00 00 carries to 00 00 01 00.
    let nonce = |first: [u8; 4]| u128::from(u32::from_be_bytes(first)) << 96;
    for bytes_before in [0, 1, 63, 64, 100, 200_000] {
        context.set_counter(nonce([0xff, 0xff, 0, 0]) | 0xffff_f000, 0);
        let mut data = vec![0; (0x1000 << 6) + 64];
        let (head, tail) = data.split_at_mut(bytes_before);
        context.apply(head.into());
        context.apply(tail.into());
        assert_eq!(context.counter(), (nonce([0, 0, 1, 0]) | 1, 0));
        let mut alone = vec![0; 64];
        context.set_counter(nonce([0, 0, 1, 0]), 0);
        context.apply(alone.as_mut_slice().into());
        assert_eq!(data[data.len() - 64..], alone, "{bytes_before}");
    }
}

#[test]
fn chains_go_on_from_call_to_call() {
    let mut rng = StdRng::seed_from_u64(2);
    for (name, accelerator) in accelerators() {
        let (operation, mut context) = (Algorithm::Aes256Cbc, None::<CbcContext>);
        for _ in 0..4 {
            let (key, iv): ([u8; 32], [u8; 16]) = (rng.random(), rng.random());
            match &mut context {
                Some(context) => context.set_key(&key).unwrap(),
                place => CbcContext::put(place, accelerator.as_ref(), operation, &key).unwrap(),
            }
            let context = context.as_mut().unwrap();
            check_chain(&name, &mut rng, context, &key, iv);
        }
    }
}

fn check_chain(
    name: &str,
    rng: &mut StdRng,
    context: &mut CbcContext,
    key: &[u8; 32],
    iv: [u8; 16],
) {
    let bytes = length(rng).next_multiple_of(16);
    let plain = random_bytes(rng, bytes);
    let mut cipher = plain.clone();
    cbc::Encryptor::<aes::Aes256>::new(&(*key).into(), &iv.into())
        .encrypt_padded::<cbc::cipher::block_padding::NoPadding>(&mut cipher, bytes)
        .unwrap();
    let mut back = cipher.clone();
    cbc::Decryptor::<aes::Aes256>::new(&(*key).into(), &iv.into())
        .decrypt_padded::<cbc::cipher::block_padding::NoPadding>(&mut back)
        .unwrap();
    assert!(back == plain);
    for decrypts in [false, true] {
        let (mut data, expected) = if decrypts {
            (cipher.clone(), &plain)
        } else {
            (plain.clone(), &cipher)
        };
        context.set_iv(iv);
        let mut at = 0;
        while at < bytes {
            let end = bytes.min(at + length(rng).next_multiple_of(16));
            if rng.random_ratio(1, 4) {
                *context = context.clone();
            }
            let piece = (&mut data[at..end]).into();
            if decrypts {
                context.decrypt(piece).unwrap();
            } else {
                context.encrypt(piece).unwrap();
            }
            if end > 0 {
                assert_eq!(context.iv(), cipher[end - 16..end], "{name}");
            }
            at = end;
        }
        assert!(data == *expected, "{name}, decrypts: {decrypts}");
    }
}

#[test]
fn messages_come_in_pieces() {
    let mut rng = StdRng::seed_from_u64(3);
    for (name, accelerator) in accelerators() {
        for operation in [Algorithm::Aes256Gcm, Algorithm::ChaCha20Poly1305] {
            let mut context: Option<AeadContext> = None;
            for _ in 0..3 {
                let key: [u8; 32] = rng.random();
                match &mut context {
                    Some(context) => context.set_key(&key).unwrap(),
                    place => {
                        AeadContext::put(place, accelerator.as_ref(), operation, &key).unwrap()
                    }
                }
                let context = context.as_mut().unwrap();
                for _ in 0..3 {
                    check_message(&name, &mut rng, operation, context, &key);
                }
            }
        }
    }
}

fn check_message(
    name: &str,
    rng: &mut StdRng,
    operation: Algorithm,
    context: &mut AeadContext,
    key: &[u8; 32],
) {
    let nonce: [u8; 12] = rng.random();
    let aad_bytes = rng.random_range(0..120);
    let aad = random_bytes(rng, aad_bytes);
    let bytes = rng.random_range(0..4) * length(rng);
    let plain = random_bytes(rng, bytes);
    let mut cipher = plain.clone();
    let data = InOutBuf::from(cipher.as_mut_slice());
    let tag: [u8; 16] = if operation == Algorithm::ChaCha20Poly1305 {
        let oracle = chacha20poly1305::ChaCha20Poly1305::new(key.into());
        oracle.encrypt_inout_detached(&nonce.into(), &aad, data)
    } else {
        let oracle = AesGcm::<aes::Aes256, aes_gcm::aead::consts::U12>::new(key.into());
        oracle.encrypt_inout_detached(&nonce.into(), &aad, data)
    }
    .unwrap()
    .into();
    // The first piece often differs in length: it may be the whole message, and takes another path.
    let piece_bytes = [64, 256, 1000, 40_000, 70_000, 600_000][rng.random_range(0..6)];
    let first_bytes = bytes.min([piece_bytes, rng.random_range(1..300)][rng.random_range(0..2)]);
    let copied_at = rng.random_range(0..4);
    for opens in [false, true] {
        let (mut data, expected) = if opens {
            (cipher.clone(), &plain)
        } else {
            (plain.clone(), &cipher)
        };
        context.begin(&nonce).unwrap();
        for piece in aad.chunks(rng.random_range(1..40)) {
            context.aad(piece).unwrap();
        }
        // A copy that ends here does not affect what follows.
        let mut copy = context.clone();
        assert!(copy.has_message());
        let end = copy.finish().unwrap();
        if plain.is_empty() {
            assert_eq!(end, tag, "{name}, {operation}");
        }
        if rng.random() {
            *context = context.clone();
        }
        // Empty data begins no message.
        context.seal_next((&mut [][..]).into()).unwrap();
        context.open_next((&mut [][..]).into()).unwrap();
        let (first, rest) = data.split_at_mut(first_bytes);
        let pieces = std::iter::once(first).chain(rest.chunks_mut(piece_bytes));
        for (at, piece) in pieces.enumerate() {
            if at == copied_at {
                *context = context.clone();
            }
            if opens {
                context.open_next(piece.into()).unwrap();
            } else {
                context.seal_next(piece.into()).unwrap();
            }
        }
        assert!(context.has_message());
        assert!(
            data == *expected,
            "{name}, {operation}, {bytes} by {piece_bytes}"
        );
        assert_eq!(
            context.finish().unwrap(),
            tag,
            "{name}, {operation}, {bytes} by {piece_bytes}"
        );
        assert!(!context.has_message());
    }
    // The whole message in one call.
    let mut data = plain.clone();
    let sealed = context.seal(&nonce, &aad, data.as_mut_slice().into());
    assert_eq!(sealed.unwrap(), tag, "{name}");
    assert!(data == cipher, "{name}");
    let mut wrong = tag;
    wrong[15] ^= 1;
    let refused = context.open(&nonce, &aad, data.as_mut_slice().into(), &wrong);
    assert_eq!(refused, Err(Error::AuthenticationFailed), "{name}");
    assert!(data == cipher, "{name}");
    let opened = context.open(&nonce, &aad, data.as_mut_slice().into(), &tag);
    assert_eq!(opened, Ok(()), "{name}");
    assert!(data == plain, "{name}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let accelerator = accelerator();
    let invalid_input = |error: Option<Error>| matches!(error, Some(Error::InvalidInput(_)));
    let key = [0; 16];
    assert!(invalid_input(
        StreamContext::new(accelerator.as_ref(), Algorithm::Aes128Gcm, &key).err()
    ));
    assert!(invalid_input(
        CbcContext::new(accelerator.as_ref(), Algorithm::Aes128Ctr, &key).err()
    ));
    assert!(invalid_input(
        AeadContext::new(accelerator.as_ref(), Algorithm::Aes128Ctr, &key).err()
    ));

    let mut cbc = CbcContext::new(accelerator.as_ref(), Algorithm::Aes128Cbc, &key).unwrap();
    for bytes in [1, 15, 17, 70_001] {
        let mut data = vec![7; bytes];
        assert!(invalid_input(cbc.encrypt(data.as_mut_slice().into()).err()));
        assert!(invalid_input(cbc.decrypt(data.as_mut_slice().into()).err()));
        assert_eq!((data, cbc.iv()), (vec![7; bytes], [0; 16]));
    }

    let mut aead =
        AeadContext::new(accelerator.as_ref(), Algorithm::ChaCha20Poly1305, &[0; 32]).unwrap();
    assert!(invalid_input(aead.begin(&[0; 8]).err()));
    assert!(invalid_input(aead.aad(b"none has begun").err()));
    assert!(invalid_input(
        aead.seal_next((&mut [0; 70_000][..]).into()).err()
    ));
    aead.begin(&[0; 12]).unwrap();
    aead.seal_next((&mut [0; 3][..]).into()).unwrap();
    assert!(invalid_input(aead.aad(b"too late").err()));
}

/// A wrong key leaves no context, or the previous one with its key.
#[test]
fn without_a_key_there_is_no_context() {
    let is_refused = |result: Result<(), Error>| matches!(result, Err(Error::InvalidKey(_)));
    for (name, accelerator) in accelerators() {
        for wrong_bytes in [0, 5, 15, 17, 31, 33, 64] {
            let wrong = vec![1; wrong_bytes];
            for operation in [
                Algorithm::Aes128Ctr,
                Algorithm::ChaCha20,
                Algorithm::Camellia256Ctr,
            ] {
                let what = format!("{name}, {operation}, {wrong_bytes}");
                let key = vec![7; operation.key_bytes()];
                let new = StreamContext::new(accelerator.as_ref(), operation, &wrong);
                assert!(is_refused(new.map(|_| ())), "{what}");
                let mut context =
                    StreamContext::new(accelerator.as_ref(), operation, &key).unwrap();
                context.set_counter(1, 3);
                let mut expected = [0; 100];
                context.clone().apply((&mut expected[..]).into());
                assert!(is_refused(context.set_key(&wrong)), "{what}");
                assert_eq!(context.counter(), (1, 3), "{what}");
                let mut found = [0; 100];
                context.apply((&mut found[..]).into());
                assert_eq!(found, expected, "{what}");
                let mut place = Some(context);
                let put = StreamContext::put(&mut place, accelerator.as_ref(), operation, &wrong);
                assert!(is_refused(put) && place.is_none(), "{what}");
            }
            let operation = Algorithm::Aes256Cbc;
            let what = format!("{name}, {operation}, {wrong_bytes}");
            let new = CbcContext::new(accelerator.as_ref(), operation, &wrong);
            assert!(is_refused(new.map(|_| ())), "{what}");
            let mut context = CbcContext::new(accelerator.as_ref(), operation, &[7; 32]).unwrap();
            context.set_iv([1; 16]);
            let mut expected = [0; 96];
            context.clone().encrypt((&mut expected[..]).into()).unwrap();
            assert!(is_refused(context.set_key(&wrong)), "{what}");
            assert_eq!(context.iv(), [1; 16], "{what}");
            let mut found = [0; 96];
            context.encrypt((&mut found[..]).into()).unwrap();
            assert_eq!(found, expected, "{what}");
            let mut place = Some(context);
            let put = CbcContext::put(&mut place, accelerator.as_ref(), operation, &wrong);
            assert!(is_refused(put) && place.is_none(), "{what}");
            for operation in [Algorithm::Aes256Gcm, Algorithm::ChaCha20Poly1305] {
                let what = format!("{name}, {operation}, {wrong_bytes}");
                let new = AeadContext::new(accelerator.as_ref(), operation, &wrong);
                assert!(is_refused(new.map(|_| ())), "{what}");
                let mut context =
                    AeadContext::new(accelerator.as_ref(), operation, &[7; 32]).unwrap();
                context.begin(&[1; 12]).unwrap();
                let expected = context.clone().finish().unwrap();
                assert!(is_refused(context.set_key(&wrong)), "{what}");
                assert_eq!(context.finish().unwrap(), expected, "{what}");
                let mut place = Some(context);
                let put = AeadContext::put(&mut place, accelerator.as_ref(), operation, &wrong);
                assert!(is_refused(put) && place.is_none(), "{what}");
            }
        }
    }
}

/// Copies share a key until one of them gets another, and outlive each other.
#[test]
fn copies_keep_their_key() {
    for (name, accelerator) in accelerators() {
        for operation in [
            Algorithm::Aes128Ctr,
            Algorithm::ChaCha20,
            Algorithm::Camellia256Ctr,
        ] {
            let keys = [1, 2, 3].map(|key| vec![key; operation.key_bytes()]);
            let stream = |context: &mut StreamContext| {
                let mut data = vec![0; 700];
                context.set_counter(9, 0);
                context.apply(data.as_mut_slice().into());
                data
            };
            let expected = keys.each_ref().map(|key| {
                let mut context = StreamContext::new(accelerator.as_ref(), operation, key).unwrap();
                stream(&mut context)
            });
            let mut first = StreamContext::new(accelerator.as_ref(), operation, &keys[0]).unwrap();
            let (mut second, mut third) = (first.clone(), first.clone());
            second.set_key(&keys[1]).unwrap();
            first.set_key(&keys[2]).unwrap();
            let found = [&mut third, &mut second, &mut first].map(stream);
            assert!(found == expected, "{name}, {operation}");
            drop(first);
            assert!(stream(&mut third) == expected[0], "{name}, {operation}");
        }
        let cbc = |context: &mut CbcContext| {
            let mut data = vec![5; 320];
            context.set_iv([6; 16]);
            context.decrypt(data.as_mut_slice().into()).unwrap();
            context.encrypt(data.as_mut_slice().into()).unwrap();
            data
        };
        let keys = [[1; 32], [2; 32], [3; 32]];
        let operation = Algorithm::Aes256Cbc;
        let expected = keys
            .map(|key| cbc(&mut CbcContext::new(accelerator.as_ref(), operation, &key).unwrap()));
        for is_prepared in [false, true] {
            let mut first = CbcContext::new(accelerator.as_ref(), operation, &keys[0]).unwrap();
            if is_prepared {
                first.prepare_to_decrypt().unwrap();
            }
            let (mut second, mut third) = (first.clone(), first.clone());
            second.set_key(&keys[1]).unwrap();
            let late = &mut first.clone();
            first.set_key(&keys[2]).unwrap();
            let found = [&mut third, &mut second, &mut first].map(cbc);
            assert!(found == expected, "{name}, {operation}");
            assert!(cbc(late) == expected[0], "{name}, {operation}");
        }
        for operation in [Algorithm::Aes256Gcm, Algorithm::ChaCha20Poly1305] {
            // Long enough for tables of powers.
            let seal = |context: &mut AeadContext| {
                let mut data = vec![5; 20_000];
                let tag = context.seal(&[6; 12], b"aad", data.as_mut_slice().into());
                (data, tag.unwrap())
            };
            let expected = keys.map(|key| {
                seal(&mut AeadContext::new(accelerator.as_ref(), operation, &key).unwrap())
            });
            for has_tables in [false, true] {
                let mut first =
                    AeadContext::new(accelerator.as_ref(), operation, &keys[0]).unwrap();
                if has_tables {
                    seal(&mut first);
                }
                let (mut second, mut third) = (first.clone(), first.clone());
                second.set_key(&keys[1]).unwrap();
                let late = &mut first.clone();
                first.set_key(&keys[2]).unwrap();
                let found = [&mut third, &mut second, &mut first].map(seal);
                assert!(found == expected, "{name}, {operation}");
                assert!(seal(late) == expected[0], "{name}, {operation}");
            }
        }
    }
}

/// Copies of a context in several threads fill its tables of powers at the same time.
#[test]
fn copies_in_threads_share_a_key() {
    for (name, accelerator) in accelerators() {
        let mut context =
            AeadContext::new(accelerator.as_ref(), Algorithm::Aes128Gcm, &[1; 16]).unwrap();
        let seal = |context: &mut AeadContext, bytes| {
            let mut data = vec![5; bytes];
            let tag = context.seal(&[6; 12], b"", data.as_mut_slice().into());
            (data, tag.unwrap())
        };
        let lengths = [100, 500, 3000, 9000, 40_000];
        let expected = lengths.map(|bytes| seal(&mut context, bytes));
        for _ in 0..50 {
            let first =
                AeadContext::new(accelerator.as_ref(), Algorithm::Aes128Gcm, &[1; 16]).unwrap();
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    let mut copy = first.clone();
                    let expected = &expected;
                    let name = &name;
                    scope.spawn(move || {
                        let found = lengths.map(|bytes| seal(&mut copy.clone(), bytes));
                        assert!(found == *expected, "{name}");
                        let found = lengths.map(|bytes| seal(&mut copy, bytes));
                        assert!(found == *expected, "{name}");
                    });
                }
            });
        }
    }
}

#[test]
fn a_message_ends_once() {
    let accelerator = accelerator();
    for operation in [Algorithm::Aes128Gcm, Algorithm::ChaCha20Poly1305] {
        let key = vec![7; operation.key_bytes()];
        let mut context = AeadContext::new(accelerator.as_ref(), operation, &key).unwrap();
        let is_refused = |context: &mut AeadContext| {
            let mut data = [9; 20];
            assert!(context.seal_next((&mut data[..]).into()).is_err());
            assert!(context.open_next((&mut data[..]).into()).is_err());
            assert_eq!(data, [9; 20]);
            assert!(matches!(context.finish(), Err(Error::InvalidInput(_))));
        };
        is_refused(&mut context);
        context.begin(&[1; 12]).unwrap();
        context.finish().unwrap();
        is_refused(&mut context);
        // A new key discards the old one's message, with or without data.
        for bytes in [0, 5] {
            context.begin(&[1; 12]).unwrap();
            context.aad(b"header").unwrap();
            context.seal_next((&mut [0; 5][..bytes]).into()).unwrap();
            context.set_key(&key).unwrap();
            is_refused(&mut context);
        }
        // A message inherits nothing from the one that it replaces.
        let mut tags = [[0; 16]; 2];
        for (tag, bytes) in tags.iter_mut().zip([0, 5]) {
            context.begin(&[1; 12]).unwrap();
            context.aad(b"header").unwrap();
            context.seal_next((&mut [0; 5][..bytes]).into()).unwrap();
            context.begin(&[2; 12]).unwrap();
            context.seal_next((&mut [0; 5][..]).into()).unwrap();
            assert!(context.aad(b"header").is_err());
            *tag = context.finish().unwrap();
        }
        assert_eq!(tags[0], tags[1]);
    }
}
