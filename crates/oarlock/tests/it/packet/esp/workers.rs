//! Several threads, and calls of any size.

use std::sync::atomic::{AtomicBool, Ordering};

use oarlock::packet::esp::{Cipher, InboundPacket, OutboundPacket, Suite};
use oarlock::{Options, Strategy, Threads};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::{BEFORE, association, pair, suites};
use crate::common::{accelerator, accelerator_by, striped};

/// Seals packets that contain their index, opens them, and finds each at its index, with consecutive numbers.
fn there_and_back(
    outbound: &mut oarlock::packet::esp::Outbound,
    inbound: &mut oarlock::packet::esp::Inbound,
    count: usize,
    bytes: usize,
) {
    let before = outbound.sequence();
    let room = BEFORE + bytes + Suite::BEHIND_BYTES_MAX;
    let mut buffers = vec![0; count * room];
    let mut packets: Vec<_> = (buffers.chunks_mut(room).enumerate())
        .map(|(place, buffer)| {
            buffer[BEFORE..BEFORE + bytes].fill(place as u8);
            OutboundPacket::new(buffer, BEFORE..BEFORE + bytes, 4)
        })
        .collect();
    outbound.seal(&mut packets);
    let mut sent: Vec<_> = packets
        .iter()
        .map(|it| it.sealed().unwrap().to_vec())
        .collect();
    let mut packets: Vec<_> = sent.iter_mut().map(|it| InboundPacket::new(it)).collect();
    inbound.open(&mut packets);
    for (place, packet) in packets.iter().enumerate() {
        let opened = packet.opened().unwrap();
        assert_eq!(opened.sequence, before + 1 + place as u64);
        assert!(
            opened.payload.len() == bytes && opened.payload.iter().all(|it| *it == place as u8)
        );
    }
}

#[test]
fn workers_change_a_thousand_times_while_packets_flow() {
    for (suite, strategy) in suites()
        .step_by(3)
        .zip([Strategy::Stripe, Strategy::Auto].into_iter().cycle())
    {
        let accelerator = accelerator_by("", strategy);
        let (mut outbound, mut inbound) = pair(&accelerator, &association(suite));
        let (sender, receiver) = (outbound.workers().clone(), inbound.workers().clone());
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let done = &done;
            scope.spawn(move || {
                let mut random = StdRng::seed_from_u64(22);
                let mut changes = 0;
                while changes < 1000 || !done.load(Ordering::Relaxed) {
                    for workers in [&sender, &receiver] {
                        let count = [
                            Some(0),
                            Some(1),
                            Some(2),
                            Some(1000),
                            Some(usize::MAX),
                            None,
                        ];
                        workers.set(count[random.random_range(0..count.len())]);
                    }
                    changes += 1;
                    std::thread::yield_now();
                }
            });
            for _ in 0..20 {
                there_and_back(&mut outbound, &mut inbound, 150, 1400);
            }
            done.store(true, Ordering::Relaxed);
        });
    }
}

#[test]
fn options_change_while_packets_flow() {
    let accelerator = accelerator_by("", Strategy::Stripe);
    let (mut outbound, mut inbound) = pair(&accelerator, &association(Suite::Aes128Gcm));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = StdRng::seed_from_u64(22);
            let mut changes = 0;
            while changes < 1000 || !done.load(Ordering::Relaxed) {
                let options = Options {
                    max_threads: Threads::Exactly(random.random_range(0..6)),
                    cipher_threads: random.random_range(1..6),
                    ..accelerator.options()
                };
                accelerator.set_options(options).unwrap();
                changes += 1;
            }
        });
        for _ in 0..100 {
            there_and_back(&mut outbound, &mut inbound, 64, 1400);
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn without_workers_no_thread_takes_part() {
    for suite in suites().step_by(5) {
        let accelerator = striped();
        let (mut outbound, mut inbound) = pair(&accelerator, &association(suite));
        outbound.workers().set(0);
        inbound.workers().set(0);
        assert_eq!(outbound.workers().get(), Some(0));
        there_and_back(&mut outbound, &mut inbound, 500, 1400);
        assert_eq!(accelerator.threads(), 0, "{suite:?}");
        outbound.workers().set(None);
        assert_eq!(outbound.workers().get(), None);
    }
}

#[test]
fn with_workers_the_packets_are_shared_and_counted() {
    for suite in suites().step_by(6) {
        let accelerator = striped();
        let (mut outbound, mut inbound) = pair(&accelerator, &association(suite));
        for workers in [outbound.workers(), inbound.workers()] {
            workers.set(1000);
        }
        for _ in 0..5 {
            there_and_back(&mut outbound, &mut inbound, 500, 1400);
        }
        drop((outbound, inbound));
        let stats = accelerator.stats();
        let Suite::EncryptThenMac(Cipher::Null | Cipher::TripleDesCbc, _) = suite else {
            let (_, counts) = stats.algorithms.first_key_value().unwrap();
            assert_eq!(counts.requests, 5 * 2 * 500, "{suite:?}");
            let is_alone = std::thread::available_parallelism().is_ok_and(|it| it.get() == 1);
            assert!(
                is_alone || counts.striped_requests == 10,
                "{suite:?} {counts:?}"
            );
            continue;
        };
        assert!(stats.algorithms.is_empty());
    }
}

/// More packets than fit a group, a run or a register, and fewer.
#[test]
fn a_call_takes_any_number_of_packets() {
    for suite in suites() {
        for accelerator in [accelerator(), striped()] {
            let (mut outbound, mut inbound) = pair(&accelerator, &association(suite));
            for count in [1, 2, 15, 16, 17, 31, 32, 33, 64, 65] {
                there_and_back(&mut outbound, &mut inbound, count, 100);
            }
        }
    }
    for suite in [Suite::Aes128Gcm, suites().last().unwrap()] {
        let (mut outbound, mut inbound) = pair(&striped(), &association(suite));
        there_and_back(&mut outbound, &mut inbound, 20_000, 20);
    }
}
