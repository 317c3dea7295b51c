//! Jobs: each resolves once, with its own result, on whichever thread computes it.

mod completion;
mod fork;

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use cipher::StreamCipher;
use oarlock::job::{Job, JobOptions, Priority, QueueFull, Start};
use oarlock::rsa::{AcceleratedRsa, EncryptionScheme, Hash, RsaPrivateKey, SignatureScheme};
use oarlock::{Accelerator, Error};
use oarlock_testing::{LIMIT, has_cpus, until};

use crate::common::{keys, meet};

const SCHEME: SignatureScheme = SignatureScheme::Pkcs1(Hash::Sha256);

fn key() -> RsaPrivateKey {
    RsaPrivateKey::from_pem(keys::RSA2048).unwrap()
}

fn rsa(max_threads: usize) -> AcceleratedRsa {
    let accelerator = Accelerator::builder().max_threads(max_threads).build();
    accelerator.unwrap().rsa(&key())
}

fn submit(rsa: &AcceleratedRsa, message: &[u8]) -> Job<Vec<u8>> {
    rsa.submit_sign(SCHEME, message.to_vec(), JobOptions::default())
        .unwrap()
}

fn verify(rsa: &AcceleratedRsa, message: &[u8], signature: &[u8]) {
    rsa.public().verify(SCHEME, message, signature).unwrap();
}

/// A waker that unparks the thread that created it, and counts its calls.
struct Unpark(std::thread::Thread, AtomicUsize);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(
        std::thread::current(),
        AtomicUsize::new(0),
    )));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        std::thread::park();
    }
}

#[test]
fn every_kind_of_job_gives_what_the_call_gives() {
    for max_threads in [0, 1, 4] {
        let rsa = rsa(max_threads);
        let public = rsa.public();
        let (message, options) = (b"message".to_vec(), JobOptions::default());
        let signature = submit(&rsa, &message).wait().unwrap();
        assert_eq!(signature, rsa.sign(SCHEME, &message).unwrap());
        let digest = vec![7; 32];
        let of_digest = rsa
            .submit_sign_digest(SCHEME, digest.clone(), options)
            .unwrap();
        assert_eq!(of_digest.wait(), rsa.sign_digest(SCHEME, &digest));
        let verified = public.submit_verify(SCHEME, message.clone(), signature.clone(), options);
        assert_eq!(verified.unwrap().wait(), Ok(()));
        let verified = public.submit_verify(SCHEME, digest, signature.clone(), options);
        assert_eq!(verified.unwrap().wait(), Err(Error::InvalidSignature));
        for scheme in [
            EncryptionScheme::Pkcs1,
            EncryptionScheme::oaep(Hash::Sha384),
        ] {
            let ciphertext = public
                .submit_encrypt(&scheme, message.clone(), options)
                .unwrap();
            let plain = rsa
                .submit_decrypt(&scheme, ciphertext.wait().unwrap(), options)
                .unwrap();
            assert_eq!(**block_on(plain).unwrap(), message);
        }
        let raw = public
            .submit_raw_public(signature.clone(), options)
            .unwrap()
            .wait()
            .unwrap();
        let raw = rsa.submit_raw_private(raw, options).unwrap();
        assert_eq!(**raw.wait().unwrap(), signature);
    }
}

#[test]
fn a_job_can_be_polled_and_tried_and_is_taken_once() {
    for max_threads in [0, 2] {
        let rsa = rsa(max_threads);
        let jobs: Vec<_> = (0..50u8).map(|i| submit(&rsa, &[i])).collect();
        block_on(async {
            for (i, job) in jobs.into_iter().enumerate() {
                verify(&rsa, &[i as u8], &job.await.unwrap());
            }
        });
        let mut job = submit(&rsa, b"tried");
        let signature = loop {
            if let Some(result) = job.try_wait() {
                break result.unwrap();
            }
            std::thread::yield_now();
        };
        verify(&rsa, b"tried", &signature);
        assert!(job.is_finished() && job.try_wait().is_none());
        let again = block_on(job).unwrap_err();
        assert_eq!(again.to_string(), "the job's result has been taken already");
    }
}

#[test]
fn without_threads_a_job_waits_for_who_asks() {
    let rsa = rsa(0);
    let job = submit(&rsa, b"message");
    // No thread exists that could compute the job.
    assert_eq!(Accelerator::from(&rsa).threads(), 0);
    assert!(!job.is_finished());
    let mut job = pin!(job);
    let counted = Arc::new(Unpark(std::thread::current(), AtomicUsize::new(0)));
    let waker = Waker::from(Arc::clone(&counted));
    let poll = job.as_mut().poll(&mut Context::from_waker(&waker));
    assert!(matches!(poll, Poll::Ready(Ok(_))));
}

#[test]
fn a_job_takes_what_a_call_takes() {
    let rsa = rsa(0);
    let options = JobOptions::default();
    let (array, slice, vector) = (b"message", &b"message"[..], b"message".to_vec());
    let signature = rsa.sign(SCHEME, slice).unwrap();
    let jobs = [
        rsa.submit_sign(SCHEME, array, options),
        rsa.submit_sign(SCHEME, slice, options),
        rsa.submit_sign(SCHEME, &vector[..], options),
        rsa.submit_sign(SCHEME, vector, options),
    ];
    for job in jobs {
        assert_eq!(job.unwrap().wait().unwrap(), signature);
    }
    let verified = rsa
        .public()
        .submit_verify(SCHEME, slice, &signature[..], options);
    verified.unwrap().wait().unwrap();
}

#[test]
fn a_full_queue_becomes_an_error_of_the_crate() {
    let accelerator = Accelerator::builder().max_threads(0).jobs_max(1);
    let rsa = accelerator.build().unwrap().rsa(&key());
    let options = JobOptions::default();
    let submit =
        || -> Result<Job<Vec<u8>>, Error> { Ok(rsa.submit_sign(SCHEME, b"message", options)?) };
    let first = submit().unwrap();
    let error = submit().unwrap_err();
    assert_eq!(error, Error::QueueFull);
    let refused = rsa.submit_sign(SCHEME, b"message", options).unwrap_err();
    assert_eq!(error.to_string(), refused.to_string());
    assert!(error.to_string().contains("jobs_max"), "{error}");
    first.wait().unwrap();
    submit().unwrap().wait().unwrap();
}

#[test]
fn one_job_too_many_comes_back_whole() {
    let accelerator = Accelerator::builder()
        .max_threads(0)
        .jobs_max(3)
        .build()
        .unwrap();
    let rsa = accelerator.rsa(&key());
    let options = JobOptions::default();
    let mut jobs: Vec<_> = (0..3u8).map(|i| submit(&rsa, &[i])).collect();
    let refused = rsa.submit_sign(SCHEME, b"one more".to_vec(), options);
    let Err(QueueFull(message)) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(message, b"one more");
    let refused =
        rsa.public()
            .submit_verify(SCHEME, b"message".to_vec(), b"signature".to_vec(), options);
    let refused = refused.unwrap_err();
    assert_eq!(format!("{refused:?}"), "QueueFull(..)");
    assert_eq!(refused.0, (b"message".to_vec(), b"signature".to_vec()));
    // Each way out of the queue makes room.
    assert!(jobs.pop().unwrap().cancel());
    jobs.push(submit(&rsa, b"after cancel"));
    drop(jobs.pop());
    jobs.push(submit(&rsa, b"after drop"));
    jobs.pop().unwrap().wait().unwrap();
    // A waiting thread computes other jobs along with its own, if there are lanes.
    let again = || rsa.submit_sign(SCHEME, message.clone(), options);
    let more: Vec<_> = std::iter::from_fn(|| again().ok()).take(4).collect();
    assert!((1..=3).contains(&more.len()), "{}", more.len());
}

#[test]
fn a_deadline_that_has_passed_ends_a_job_that_has_not_begun() {
    for max_threads in [0, 2] {
        let rsa = rsa(max_threads);
        let with = |deadline| JobOptions {
            deadline: Some(deadline),
            ..JobOptions::default()
        };
        let past = Instant::now() - Duration::from_millis(1);
        let job = rsa
            .submit_sign(SCHEME, b"late".to_vec(), with(past))
            .unwrap();
        assert_eq!(job.wait(), Err(Error::DeadlinePassed));
        let job = rsa
            .submit_sign(SCHEME, b"late".to_vec(), with(past))
            .unwrap();
        assert_eq!(block_on(job), Err(Error::DeadlinePassed));
        let later = Instant::now() + Duration::from_secs(600);
        let job = rsa
            .submit_sign(SCHEME, b"in time".to_vec(), with(later))
            .unwrap();
        verify(&rsa, b"in time", &job.wait().unwrap());
    }
}

#[test]
fn urgent_jobs_go_first() {
    let accelerator = Accelerator::builder().max_threads(1).build().unwrap();
    if !has_cpus() {
        return;
    }
    let rsa = accelerator.rsa(&key());
    let urgent = JobOptions {
        priority: Priority::Urgent,
        ..JobOptions::default()
    };
    let (done, order) = mpsc::channel();
    let (arrived, are_submitted) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        // The only helper is busy until all jobs wait; then it takes them in order.
        scope.spawn(|| {
            accelerator.work_together(1, &|| {
                meet(&arrived, 2);
                until("all are submitted", || {
                    are_submitted.load(Ordering::Relaxed)
                });
            });
        });
        until("the helper is busy", || {
            arrived.load(Ordering::Relaxed) == 2
        });
        for number in 0..=40_u8 {
            let options = if number == 40 {
                urgent
            } else {
                JobOptions::default()
            };
            let job = rsa.submit_sign(SCHEME, vec![number], options).unwrap();
            let done = done.clone();
            job.on_completion(move |signature| done.send((number, signature)).unwrap());
        }
        are_submitted.store(true, Ordering::Relaxed);
    });
    let order: Vec<_> = (0..=40)
        .map(|_| {
            let (number, signature) = order.recv_timeout(LIMIT).unwrap();
            verify(&rsa, &[number], &signature.unwrap());
            number
        })
        .collect();
    assert_eq!((order[0], order[40]), (40, 39), "{order:?}");
}

#[test]
fn cancelled_or_done_never_both() {
    let rsa = rsa(2);
    let [mut cancelled, mut done] = [0, 0];
    for round in 0..600u32 {
        let message = round.to_le_bytes();
        let mut job = submit(&rsa, &message);
        let is_cancelled = std::thread::scope(|scope| {
            let job = &job;
            let cancel = move || {
                for _ in 0..(round % 60) * 40 {
                    std::hint::spin_loop();
                }
                job.cancel()
            };
            let others = [scope.spawn(cancel), scope.spawn(cancel)];
            let told: Vec<bool> = others
                .into_iter()
                .map(|other| other.join().unwrap())
                .collect();
            assert!(told != [true, true], "cancelled twice");
            told.contains(&true)
        });
        let result = if round % 2 == 0 {
            block_on(&mut job)
        } else {
            job.wait()
        };
        if is_cancelled {
            assert_eq!(result, Err(Error::Cancelled));
            cancelled += 1;
        } else {
            verify(&rsa, &message, &result.unwrap());
            done += 1;
        }
    }
    assert!(cancelled + done == 600);
}

#[test]
fn jobs_that_are_dropped_leave_no_trace() {
    let rsa = rsa(2);
    for round in 0..200u32 {
        let job = submit(&rsa, &round.to_le_bytes());
        for _ in 0..round * 20 {
            std::hint::spin_loop();
        }
        drop(job);
    }
    verify(&rsa, b"after", &submit(&rsa, b"after").wait().unwrap());
}

#[test]
fn sixty_four_threads_share_a_key() {
    let rsa = rsa(4);
    std::thread::scope(|scope| {
        for thread in 0..64u8 {
            let rsa = &rsa;
            scope.spawn(move || {
                for i in 0..8u8 {
                    let message = [thread, i];
                    let signature = match i % 3 {
                        0 => rsa.sign(SCHEME, &message),
                        1 => submit(rsa, &message).wait(),
                        _ => block_on(submit(rsa, &message)),
                    };
                    verify(rsa, &message, &signature.unwrap());
                }
            });
        }
    });
}

#[test]
fn the_end_of_the_accelerator_ends_every_job_once() {
    for max_threads in [0, 2] {
        for round in 0..20u32 {
            let rsa = rsa(max_threads);
            let public = rsa.public().key().clone();
            let jobs: Vec<_> = (0..32u8).map(|i| submit(&rsa, &[i])).collect();
            for _ in 0..round * 1000 {
                std::hint::spin_loop();
            }
            drop(rsa);
            let other = Accelerator::builder().max_threads(0).build().unwrap();
            for (i, job) in jobs.into_iter().enumerate() {
                let result = if i % 2 == 0 {
                    job.wait()
                } else {
                    block_on(job)
                };
                match result {
                    Ok(signature) => other
                        .rsa_public(&public)
                        .verify(SCHEME, &[i as u8], &signature)
                        .unwrap(),
                    Err(error) => assert_eq!(error, Error::Cancelled),
                }
            }
        }
    }
}

#[test]
fn who_waits_when_the_accelerator_ends_is_told() {
    let rsa = rsa(0);
    let mut jobs: Vec<_> = (0..4u8).map(|i| submit(&rsa, &[i])).collect();
    drop(rsa);
    for job in &mut jobs {
        assert_eq!(job.try_wait(), Some(Err(Error::Cancelled)));
    }
}

#[test]
fn jobs_go_on_beside_bulk_ciphers_and_these_beside_jobs() {
    let accelerator = Accelerator::builder().max_threads(2).build().unwrap();
    let rsa = accelerator.rsa(&key());
    let is_over = AtomicBool::new(false);
    let bulk = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut cipher = accelerator.ctr(&[1; 16], &[2; 16]).unwrap();
                cipher.set_strategy(oarlock::Strategy::Stripe);
                let mut data = vec![0; 4 << 20];
                while !is_over.load(Ordering::Relaxed) {
                    cipher.apply_keystream(&mut data);
                    bulk.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for round in 0..20u8 {
            let before = bulk.load(Ordering::Relaxed);
            let jobs: Vec<_> = (0..8u8).map(|i| (i, submit(&rsa, &[round, i]))).collect();
            block_on(async {
                for (i, job) in jobs {
                    verify(&rsa, &[round, i], &job.await.unwrap());
                }
            });
            while bulk.load(Ordering::Relaxed) == before {
                let _ = submit(&rsa, b"more").wait();
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn options_that_take_the_threads_away_leave_no_job_behind() {
    for _ in 0..30 {
        let accelerator = Accelerator::builder().max_threads(2).build().unwrap();
        let rsa = accelerator.rsa(&key());
        let jobs: Vec<_> = (0..8u8).map(|i| submit(&rsa, &[i])).collect();
        let mut options = accelerator.options();
        options.max_threads = 0.into();
        accelerator.set_options(options).unwrap();
        for (i, job) in jobs.into_iter().enumerate() {
            verify(&rsa, &[i as u8], &block_on(job).unwrap());
        }
        verify(&rsa, b"after", &block_on(submit(&rsa, b"after")).unwrap());
    }
}

/// The provider computes inside ASYNC jobs of OpenSSL, whose stacks have 32 KiB and no guard page.
#[test]
fn a_job_of_openssl_has_stack_enough() {
    const HALF_OF_IT: usize = 16 << 10;
    let alone = Accelerator::builder().max_threads(0).build().unwrap();
    for pem in [
        include_str!("../../keys/rsa1024.pem"),
        include_str!("../../keys/rsa2048.pem"),
        include_str!("../../keys/rsa4096.pem"),
    ] {
        let rsa = alone.rsa(&RsaPrivateKey::from_pem(pem).unwrap());
        let thread = std::thread::Builder::new().stack_size(HALF_OF_IT);
        let compute = move || {
            let options = JobOptions {
                start: Start::WhenAsked,
                ..JobOptions::default()
            };
            rsa.raw_private_alone(&[2]).unwrap();
            for count in [1, 2, 4, 8, 16] {
                let submit = |_| rsa.submit_raw_private([2; 100], options).unwrap();
                let jobs: Vec<_> = (0..count).map(submit).collect();
                for mut job in jobs {
                    job.try_wait().unwrap().unwrap();
                }
            }
        };
        thread.spawn(compute).unwrap().join().unwrap();
    }
}
