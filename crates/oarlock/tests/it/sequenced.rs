//! Messages under a sequence of nonces: the same output as an AEAD message by message, at any fill level.

use std::time::Duration;

use oarlock::aead::NonceSequence;
use oarlock::{Accelerator, Algorithm, Error, Strategy};
use oarlock_testing::{has_cpus, until};
use rand::{RngExt, SeedableRng, rngs::StdRng};

const KEY: [u8; 32] = *b"thirty-two bytes of a secret key";
const ALGORITHMS: [Algorithm; 3] = [
    Algorithm::Aes128Gcm,
    Algorithm::Aes256Gcm,
    Algorithm::ChaCha20Poly1305,
];
const SEQUENCES: [NonceSequence; 2] = [
    NonceSequence::Xor {
        iv: [0x5a, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
    },
    NonceSequence::Counter {
        fixed: [1, 2, 3, 4],
    },
];

#[test]
fn nonces_are_those_of_the_protocols() {
    // RFC 8448, section 3: the server's write IV, and the IV XORed with 1.
    let iv = [
        0x5d, 0x31, 0x3e, 0xb2, 0x67, 0x12, 0x76, 0xee, 0x13, 0x00, 0x0b, 0x30,
    ];
    let tls = NonceSequence::Xor { iv };
    assert_eq!(tls.nonce(0), iv);
    assert_eq!(tls.nonce(1)[11], 0x31);
    assert_eq!(tls.nonce(u64::MAX)[..4], iv[..4]);
    assert_eq!(tls.nonce(u64::MAX)[4], !iv[4]);
    // RFC 4106, section 4: salt, then the explicit IV.
    let esp = NonceSequence::Counter {
        fixed: [1, 2, 3, 4],
    };
    assert_eq!(
        esp.nonce(0x0102_0304_0506_0708),
        [1, 2, 3, 4, 1, 2, 3, 4, 5, 6, 7, 8]
    );
}

#[test]
fn every_strategy_gives_the_same_messages() {
    let mut random = StdRng::seed_from_u64(6);
    for operation in ALGORITHMS {
        for nonces in SEQUENCES {
            for strategy in [Strategy::Prefetch, Strategy::Auto, Strategy::Inline] {
                let accelerator = Accelerator::builder()
                    .max_threads(2)
                    .strategy(strategy)
                    .cipher_blocks(256)
                    .build()
                    .unwrap();
                let key = &KEY[..operation.key_bytes()];
                let plain = accelerator.aead(operation, key).unwrap();
                let session = || {
                    accelerator
                        .sequenced_aead(operation, key, nonces, 1500)
                        .unwrap()
                };
                let (mut sender, mut receiver) = (session(), session());
                for round in 0..400 {
                    if random.random_range(0..30) == 0 {
                        let to = sender.sequence() + random.random_range(0..40);
                        sender.set_sequence(to);
                        receiver.set_sequence(to);
                    }
                    if round % 50 == 10 {
                        sender.prefill(Duration::from_millis(1));
                    }
                    let bytes = random.random_range(0..2000);
                    let message: Vec<u8> = (0..bytes).map(|byte| byte as u8).collect();
                    let nonce = nonces.nonce(sender.sequence());
                    let (mut expected, mut data) = (message.clone(), message.clone());
                    let expected_tag = plain
                        .seal(&nonce, &[1, 2], (&mut expected[..]).into())
                        .unwrap();
                    let tag = sender.seal_next(&[1, 2], (&mut data[..]).into()).unwrap();
                    assert!(
                        data == expected && tag == expected_tag,
                        "{operation} {strategy:?}"
                    );
                    // A forged message does not count.
                    let mut forged = tag;
                    forged[3] ^= 4;
                    let refused = receiver.open_next(&[1, 2], (&mut data[..]).into(), &forged);
                    assert_eq!(refused, Err(Error::AuthenticationFailed));
                    assert!(data == expected);
                    receiver
                        .open_next(&[1, 2], (&mut data[..]).into(), &tag)
                        .unwrap();
                    assert!(data == message);
                    assert_eq!(sender.sequence(), receiver.sequence());
                }
            }
        }
    }
}

#[test]
fn what_was_made_ahead_is_used() {
    for operation in ALGORITHMS {
        let accelerator = Accelerator::builder().max_threads(0).build().unwrap();
        let key = &KEY[..operation.key_bytes()];
        let mut sender = accelerator
            .sequenced_aead(operation, key, SEQUENCES[0], 1000)
            .unwrap();
        let made = sender.prefill(Duration::MAX);
        assert!(made > 10, "{made}");
        for _ in 0..made {
            sender.seal_next(b"", (&mut [0; 1000][..]).into()).unwrap();
        }
        assert_eq!(sender.prefetched(), made as u64);
        // Longer than `record_bytes_max`: computed without prefetching.
        sender.prefill(Duration::MAX);
        sender.seal_next(b"", (&mut [0; 1200][..]).into()).unwrap();
        assert_eq!(sender.prefetched(), made as u64);
    }
}

#[test]
fn a_worker_makes_messages_ahead() {
    let accelerator = Accelerator::builder()
        .max_threads(1)
        .strategy(Strategy::Prefetch)
        .build()
        .unwrap();
    if !has_cpus() {
        return;
    }
    let mut sender = accelerator
        .sequenced_aead(Algorithm::ChaCha20Poly1305, &KEY, SEQUENCES[0], 1000)
        .unwrap();
    until("a message is made ahead", || {
        sender.seal_next(b"", (&mut [0; 500][..]).into()).unwrap();
        sender.prefetched() > 0
    });
}

#[test]
fn numbers_that_are_used_up_are_refused() {
    let accelerator = Accelerator::builder().build().unwrap();
    let mut sender = accelerator
        .sequenced_aead(Algorithm::Aes128Gcm, &KEY[..16], SEQUENCES[1], 100)
        .unwrap();
    sender.set_sequence(u64::MAX - 1);
    let mut data = [1; 10];
    sender.seal_next(b"", (&mut data[..]).into()).unwrap();
    let error = sender.seal_next(b"", (&mut data[..]).into()).unwrap_err();
    assert!(error.to_string().contains("used up"), "{error}");
    let error = sender
        .open_next(b"", (&mut data[..]).into(), &[0; 16])
        .unwrap_err();
    assert!(error.to_string().contains("used up"), "{error}");
}

#[test]
fn any_record_length_and_any_budget_will_do() {
    let accelerator = Accelerator::builder().build().unwrap();
    let nonces = NonceSequence::Counter { fixed: [1; 4] };
    for record_bytes_max in [0, 1, 1 << 20, usize::MAX - 64, usize::MAX] {
        let mut aead = accelerator
            .sequenced_aead(
                Algorithm::ChaCha20Poly1305,
                &[7; 32],
                nonces,
                record_bytes_max,
            )
            .unwrap();
        aead.prefill(Duration::MAX);
        let mut data = [0; 100];
        assert!(aead.seal_next(b"", (&mut data[..]).into()).is_ok());
    }
}
