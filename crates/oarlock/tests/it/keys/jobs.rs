//! Jobs of keys, which share their queue with RSA's.

use oarlock::Error;
use oarlock::job::{JobOptions, QueueFull, Start};
use oarlock::keys::{KeyType, PrivateKey, Scheme};

use super::{signing, types};
use crate::common::accelerator;

#[test]
fn jobs_of_every_type_end_as_calls_do() {
    let accelerator = accelerator();
    let options = JobOptions::default();
    let keys: Vec<_> = signing().iter().map(|key| accelerator.key(key)).collect();
    // All at once, several for each key, so that pool threads take them.
    let mut jobs = Vec::new();
    for round in 0..4u8 {
        for key in &keys {
            let scheme = Scheme::usual(key.key().key_type()).unwrap();
            let message = vec![round; 1000 * usize::from(round)];
            let job = key.submit_sign(scheme.clone(), &message[..], options);
            jobs.push((key, scheme, message, job.unwrap()));
        }
    }
    for (key, scheme, message, job) in jobs {
        let signature = job.wait().unwrap();
        let public = key.public();
        public.verify(&scheme, &message, &signature).unwrap();
        let job = public.submit_verify(scheme.clone(), message, &signature[..], options);
        job.unwrap().wait().unwrap();
        let job = public.submit_verify(scheme.clone(), b"another", &signature[..], options);
        assert_eq!(job.unwrap().wait(), Err(Error::InvalidSignature));
        let Some(hash) = scheme.hash() else {
            let job = key.submit_sign_digest(scheme, [7u8; 32], options).unwrap();
            assert!(matches!(job.wait(), Err(Error::InvalidInput(_))));
            continue;
        };
        let digest = vec![7u8; hash.bytes()];
        let job = key.submit_sign_digest(scheme.clone(), &digest[..], options);
        let signature = job.unwrap().wait().unwrap();
        let job = public.submit_verify_digest(scheme, digest, signature, options);
        job.unwrap().wait().unwrap();
    }
}

#[test]
fn secrets_come_of_jobs_too() {
    let accelerator = accelerator();
    let options = JobOptions::default();
    for key_type in types() {
        let [one, other] = [(); 2].map(|()| {
            let key = PrivateKey::generate(key_type).unwrap();
            accelerator.key(&key)
        });
        let agreed = one.submit_agree(other.key().public_key(), options);
        let agreed = agreed.unwrap().wait();
        match key_type.agrees() {
            true => assert_eq!(agreed, other.agree(one.key().public_key())),
            false => assert!(matches!(agreed, Err(Error::InvalidInput(_)))),
        }
        let carried = one.public().submit_encapsulate(options).unwrap().wait();
        assert_eq!(carried.is_ok(), key_type.encapsulates());
        let Ok((ciphertext, secret)) = carried else {
            let job = one.submit_decapsulate([7u8; 768], options).unwrap();
            assert!(matches!(job.wait(), Err(Error::InvalidInput(_))));
            continue;
        };
        assert_eq!(ciphertext.len(), key_type.ciphertext_bytes());
        let job = one.submit_decapsulate(ciphertext, options).unwrap();
        assert_eq!(job.wait().unwrap(), secret);
    }
}

#[test]
fn a_full_queue_hands_the_message_back_and_counts_are_kept() {
    let accelerator = oarlock::Accelerator::builder()
        .max_threads(0)
        .jobs_max(1)
        .build()
        .unwrap();
    let options = JobOptions {
        start: Start::WhenAsked,
        ..JobOptions::default()
    };
    let key = accelerator.key(&PrivateKey::generate(KeyType::Ed25519).unwrap());
    let first = key.submit_sign(Scheme::Ed25519, b"first", options).unwrap();
    let refused = key.submit_sign(Scheme::Ed25519, b"second", options);
    let Err(QueueFull(message)) = refused else {
        panic!("one job waits already, and one may");
    };
    assert_eq!(message, b"second");
    let before = accelerator.stats().public_key.alone;
    assert_eq!(first.wait().unwrap().len(), 64);
    assert_eq!(accelerator.stats().public_key.alone, before + 1);
}

#[test]
fn calls_and_jobs_of_a_session_fail_with_what_is_wrong() {
    let accelerator = accelerator();
    let key = accelerator.key(&PrivateKey::generate(KeyType::X25519).unwrap());
    let refused = key.sign(&Scheme::Ed25519, b"message").unwrap_err();
    assert!(refused.to_string().contains("X25519"), "{refused}");
    let job = key.submit_sign(Scheme::Ed25519, b"message", JobOptions::default());
    assert_eq!(job.unwrap().wait(), Err(refused));
    assert!(key.as_rsa().is_none() && key.public().as_rsa().is_none());
    let rsa = accelerator.key(signing().last().unwrap());
    assert!(rsa.as_rsa().is_some() && rsa.public().as_rsa().is_some());
}
