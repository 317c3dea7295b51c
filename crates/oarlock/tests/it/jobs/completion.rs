//! Results by callback, by a completion queue and by its descriptor; and concurrent callers.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::time::{Duration, Instant};

use oarlock::job::{CompletionQueue, JobOptions, Order};
use oarlock::rsa::{AcceleratedRsa, RsaPrivateKey};
use oarlock::{Accelerator, Error};
use oarlock_testing::LIMIT;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{SCHEME, rsa, submit, verify};
use crate::common::keys;

#[test]
fn every_job_calls_once() {
    for max_threads in [0, 1, 2] {
        let rsa = rsa(max_threads);
        let (sender, receiver) = mpsc::channel();
        for number in 0..40u8 {
            let sender = sender.clone();
            submit(&rsa, &[number]).on_completion(move |result| {
                sender.send((number, result)).unwrap();
            });
        }
        drop(sender);
        let mut called = HashSet::new();
        // The loop ends when the last callback has been dropped.
        for (number, signature) in receiver {
            verify(&rsa, &[number], &signature.unwrap());
            assert!(called.insert(number));
        }
        assert_eq!(called.len(), 40);
    }
}

#[test]
fn a_function_may_submit_the_next_job() {
    fn again(rsa: &Arc<AcceleratedRsa>, left: u8, done: mpsc::Sender<()>) {
        let next = Arc::clone(rsa);
        submit(rsa, &[left]).on_completion(move |signature| {
            verify(&next, &[left], &signature.unwrap());
            match left {
                0 => done.send(()).unwrap(),
                left => again(&next, left - 1, done),
            }
        });
    }
    for max_threads in [0, 2] {
        let (sender, receiver) = mpsc::channel();
        again(&Arc::new(rsa(max_threads)), 30, sender);
        receiver.recv_timeout(LIMIT).unwrap();
    }
}

#[test]
fn a_function_is_called_with_the_error_of_a_job_that_is_not_done() {
    let rsa = rsa(2);
    let options = JobOptions {
        deadline: Some(Instant::now()),
        ..JobOptions::default()
    };
    let (sender, receiver) = mpsc::channel();
    let job = rsa.submit_sign(SCHEME, vec![1], options).unwrap();
    job.on_completion(move |result| sender.send(result).unwrap());
    let result = receiver.recv_timeout(LIMIT).unwrap();
    assert_eq!(result, Err(Error::DeadlinePassed));
}

#[test]
fn a_function_that_panics_harms_no_other_job() {
    let rsa = rsa(1);
    let jobs: Vec<_> = (0..16).map(|number| submit(&rsa, &[number])).collect();
    for (number, job) in (0..16u8).zip(jobs) {
        if number % 5 == 1 {
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                job.on_completion(|_| panic!("on purpose"));
            }));
        } else {
            verify(&rsa, &[number], &job.wait().unwrap());
        }
    }
    verify(&rsa, &[99], &submit(&rsa, &[99]).wait().unwrap());
}

#[test]
fn results_come_in_the_order_asked_for() {
    for max_threads in [0, 1, 2] {
        let rsa = rsa(max_threads);
        for order in [Order::Submission, Order::Completion] {
            let mut queue = CompletionQueue::new(order);
            assert!(queue.next_blocking().is_none() && queue.try_next().is_none());
            let mut taken = Vec::new();
            for number in 0..50u8 {
                queue.push(submit(&rsa, &[number]), number);
                if number % 3 == 0
                    && let Some((number, signature)) = queue.try_next()
                {
                    verify(&rsa, &[number], &signature.unwrap());
                    taken.push(number);
                }
            }
            assert_eq!(queue.len() + taken.len(), 50);
            while let Some((number, signature)) = queue.next_blocking() {
                verify(&rsa, &[number], &signature.unwrap());
                taken.push(number);
            }
            assert!(queue.is_empty());
            if order == Order::Completion {
                taken.sort_unstable();
            }
            assert_eq!(taken, (0..50).collect::<Vec<_>>());
        }
    }
}

/// Takes results as an event loop does: only the descriptor says when to look.
#[test]
fn the_descriptor_is_readable_as_long_as_there_is_something_to_take() {
    for max_threads in [0, 2] {
        for order in [Order::Submission, Order::Completion] {
            let rsa = rsa(max_threads);
            let mut queue = CompletionQueue::new(order);
            let readable = |queue: &CompletionQueue<Vec<u8>, u8>, wait: Duration| {
                let event = queue.event_fd().unwrap();
                let mut fds = [PollFd::new(&event, PollFlags::IN)];
                let wait = Timespec::try_from(wait).unwrap();
                poll(&mut fds, Some(&wait)).unwrap() == 1
            };
            assert!(!readable(&queue, Duration::ZERO));
            let mut taken = 0;
            for number in 0..30u8 {
                queue.push(submit(&rsa, &[number]), number);
            }
            while taken < 30 {
                assert!(readable(&queue, LIMIT), "{taken}");
                while let Some((number, signature)) = queue.try_next() {
                    verify(&rsa, &[number], &signature.unwrap());
                    taken += 1;
                }
            }
            assert!(!readable(&queue, Duration::ZERO));
        }
    }
}

#[test]
fn a_queue_that_is_dropped_cancels_what_is_left() {
    let rsa = rsa(0);
    let mut queue = CompletionQueue::new(Order::Completion);
    for number in 0..20 {
        queue.push(submit(&rsa, &[number]), ());
    }
    drop(queue);
    let stats = |rsa: &AcceleratedRsa| Accelerator::from(rsa).stats().public_key;
    assert_eq!(stats(&rsa).waiting, 0);
    let signature = submit(&rsa, &[1]).wait();
    // The signature was computed alone, before the request that verifies it.
    assert_eq!(stats(&rsa).alone + stats(&rsa).in_groups, 1);
    verify(&rsa, &[1], &signature.unwrap());
}

/// Blocking callers with several keys and kinds of request, more of them than CPUs, with threads and without.
#[test]
fn callers_who_meet_get_each_his_own() {
    for max_threads in [0, 2] {
        let rsa = rsa(max_threads);
        let small = RsaPrivateKey::from_pem(keys::RSA1024).unwrap();
        let small = Accelerator::from(&rsa).rsa(&small);
        let (begin, done) = (Barrier::new(24), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for thread in 0..24u8 {
                let (rsa, begin, done) = ([&rsa, &small][thread as usize % 2], &begin, &done);
                scope.spawn(move || {
                    begin.wait();
                    for round in 0..30u8 {
                        let message = [thread, round];
                        let signature = rsa.sign(SCHEME, &message).unwrap();
                        rsa.public().verify(SCHEME, &message, &signature).unwrap();
                        let wrong = rsa.public().verify(SCHEME, b"other", &signature);
                        assert_eq!(wrong, Err(Error::InvalidSignature));
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(done.load(Ordering::Relaxed), 24 * 30);
        let stats = Accelerator::from(&rsa).stats().public_key;
        assert_eq!((stats.faults, stats.waiting), (0, 0));
    }
}

/// Without lanes, aws-lc computes each request; the results are the same.
#[test]
fn a_cpu_without_lanes_gives_the_same() {
    let with_lanes = rsa(0);
    let builder = Accelerator::builder().max_threads(0).cpu_mask("-ifma,-fma");
    let without = builder.build().unwrap().rsa(with_lanes.key());
    let jobs: Vec<_> = (0..16)
        .map(|number| {
            (
                number,
                submit(&with_lanes, &[number]),
                submit(&without, &[number]),
            )
        })
        .collect();
    for (number, one, other) in jobs {
        let signature = one.wait();
        assert_eq!(signature, other.wait());
        verify(&without, &[number], &signature.unwrap());
    }
    let stats = Accelerator::from(&without).stats().public_key;
    assert_eq!((stats.groups, stats.faults), (0, 0));
}
