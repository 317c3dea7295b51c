//! Clients that do as they should, and servers that come and go.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use oarlock::Accelerator;
use oarlock_local::{Client, Error, Server};
use oarlock_testing::{until, until_some};

use crate::common::{Served, key};

#[test]
fn powers_of_many_clients_are_right_and_most_are_computed_together() {
    let Some(served) = Served::new() else { return };
    let accelerator = Accelerator::builder().build().unwrap();
    for bits in [2048, 4096] {
        let key = key(bits);
        let rsa = accelerator.rsa(&key);
        let (together, start) = (AtomicUsize::new(0), Barrier::new(8));
        std::thread::scope(|scope| {
            for thread in 0..8u32 {
                let (key, rsa, together, start) = (&key, &rsa, &together, &start);
                let client = Client::new(served.path());
                scope.spawn(move || {
                    start.wait();
                    for number in 0..40u32 {
                        let number = (thread * 1000 + number + 2).to_be_bytes();
                        let Some(visit) = client.visit() else { continue };
                        if let Some(power) = visit.power(key, &number) {
                            assert_eq!(power, rsa.raw_private(&number).unwrap());
                            together.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        let together = together.into_inner();
        assert!(together >= 40, "{bits}: {together} of 320");
    }
}

#[test]
fn keys_of_several_widths_and_more_than_slots_are_kept_apart() {
    let Some(served) = Served::new() else { return };
    let accelerator = Accelerator::builder().build().unwrap();
    let keys = [1024, 2048, 3072, 4096].map(key);
    std::thread::scope(|scope| {
        for thread in 0..8usize {
            let client = Client::new(served.path());
            let (accelerator, keys) = (&accelerator, &keys);
            scope.spawn(move || {
                for round in 0..24 {
                    let key = &keys[(thread + round) % keys.len()];
                    let number = [3, thread as u8, round as u8];
                    if let Some(power) = client.visit().and_then(|visit| visit.power(key, &number))
                    {
                        let expected = accelerator.rsa(key).raw_private(&number).unwrap();
                        assert_eq!(power, expected);
                    }
                }
            });
        }
    });
}

#[test]
fn a_client_without_company_is_told_soon_to_compute_alone_and_asks_rarely() {
    let Some(served) = Served::new() else { return };
    let key = key(2048);
    let client = Client::new(served.path());
    let visits = (0..500)
        .filter_map(|_| client.visit())
        .map(|visit| {
            let began = Instant::now();
            assert!(visit.power(&key, &[2]).is_none());
            began.elapsed()
        })
        .collect::<Vec<_>>();
    assert!((8..30).contains(&visits.len()), "{}", visits.len());
    // Not only once it has waited for others in vain.
    let soonest = visits.iter().min().unwrap();
    assert!(*soonest < Duration::from_millis(20), "{soonest:?}");
}

#[test]
fn a_client_outlives_its_server_and_finds_the_next_one() {
    let Some(mut served) = Served::new() else { return };
    let key = key(2048);
    let client = Client::new(served.path());
    let answered = |client: &Client| client.visit().map(|visit| visit.power(&key, &[2]));
    assert!(answered(&client).is_some());
    let path = served.path();
    served.end();
    assert!(!path.exists());
    // It finds out, and does not ask for a while.
    until("a pause", || answered(&client).is_none());
    until_some("a visit that fails", || {
        let began = Instant::now();
        let power = client.visit()?.power(&key, &[2]);
        assert!(power.is_none());
        assert!(began.elapsed() < Duration::from_secs(10));
        Some(())
    });
    drop(served);
}

#[test]
fn a_server_that_accepts_and_says_nothing_costs_little() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    // It listens, and nobody serves.
    let _server = Server::bind(&path).unwrap();
    let key = key(2048);
    let client = Client::new(&path);
    let began = Instant::now();
    let mut visits = 0;
    while began.elapsed() < Duration::from_millis(500) {
        if let Some(visit) = client.visit() {
            visits += 1;
            assert!(visit.power(&key, &[2]).is_none());
        }
    }
    assert!((1..=4).contains(&visits), "{visits}");
}

#[test]
fn a_socket_of_another_server_or_another_file_stays_and_one_without_a_server_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let first = Server::bind(&path).unwrap();
    let error = Server::bind(&path).unwrap_err();
    assert!(matches!(&error, Error::InUse(used) if *used == path), "{error}");
    assert!(error.to_string().contains("another daemon"), "{error}");
    // As if it had been killed: the socket is left.
    let left = folder.path().join("left");
    std::fs::rename(&path, &left).unwrap();
    drop(first);
    assert!(Server::bind(&left).is_ok());

    let file = folder.path().join("file");
    std::fs::write(&file, "of the user").unwrap();
    assert!(Server::bind(&file).is_err());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "of the user");
    assert!(Server::bind(folder.path().join("none/socket")).is_err());
    assert!(Server::bind("x".repeat(200)).is_err());
}
