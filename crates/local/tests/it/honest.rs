//! Honest clients, and servers that start and stop.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use oarlock::rsa::AcceleratedRsa;
use oarlock_local::{Client, Error, Server};
use oarlock_testing::until;

use crate::common::{Served, rsa, surely};

/// Returns how many of the clients' numbers were computed together. Checks every power.
fn together(clients: &[&Client], rsa: &AcceleratedRsa, numbers: u32) -> usize {
    let (together, start) = (AtomicUsize::new(0), Barrier::new(clients.len()));
    std::thread::scope(|scope| {
        for (at, client) in clients.iter().enumerate() {
            let (together, start) = (&together, &start);
            scope.spawn(move || {
                start.wait();
                for number in 0..numbers {
                    let number = (at as u32 * 1000 + number + 2).to_be_bytes();
                    let power = client.visit(rsa).and_then(|visit| visit.power(&number));
                    if let Some(power) = power {
                        assert_eq!(power, rsa.raw_private(&number).unwrap());
                        together.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    together.into_inner()
}

#[test]
fn clients_with_one_key_compute_together_and_those_with_others_apart() {
    let served = Served::new();
    for bits in [2048, 3072] {
        let Some(rsa) = rsa(bits) else { return };
        let clients: Vec<_> = (0..6).map(|_| Client::new(served.path())).collect();
        let clients: Vec<_> = clients.iter().collect();
        let together = together(&clients, &rsa, 40);
        assert!(together >= surely(&rsa, 40), "{bits}: {together} of 240");
    }
}

#[test]
fn threads_may_share_a_client() {
    let Some(rsa) = rsa(2048) else { return };
    let served = Served::new();
    let client = Client::new(served.path());
    let together = together(&[&client; 6], &rsa, 40);
    assert!(together >= surely(&rsa, 40), "{together} of 240");
}

#[test]
fn one_without_company_computes_alone_soon_and_tries_rarely() {
    let Some(rsa) = rsa(2048) else { return };
    let served = Served::new();
    let client = Client::new(served.path());
    let visits: Vec<_> = (0..500)
        .filter_map(|_| client.visit(&rsa))
        .map(|visit| {
            let began = Instant::now();
            assert!(visit.power(&[2]).is_none());
            began.elapsed()
        })
        .collect();
    assert!((8..30).contains(&visits.len()), "{}", visits.len());
    let soonest = visits.iter().min().unwrap();
    assert!(*soonest < Duration::from_millis(20), "{soonest:?}");
}

#[test]
fn those_who_have_met_go_on_without_the_server() {
    let Some(rsa) = rsa(2048) else { return };
    let mut served = Served::new();
    let clients: Vec<_> = (0..6).map(|_| Client::new(served.path())).collect();
    let clients: Vec<_> = clients.iter().collect();
    assert!(together(&clients, &rsa, 20) >= surely(&rsa, 1));
    let path = served.path();
    served.end();
    assert!(!path.exists());
    assert!(together(&clients, &rsa, 40) >= surely(&rsa, 40));
    // A client that starts later computes alone, and retries after a pause.
    let late = Client::new(&path);
    assert!(
        late.visit(&rsa)
            .is_some_and(|visit| visit.power(&[2]).is_none())
    );
    assert!(late.visit(&rsa).is_none());
    until("it asks again", || late.visit(&rsa).is_some());
}

#[test]
fn a_server_that_says_nothing_costs_little() {
    let Some(rsa) = rsa(2048) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    // The socket listens, but nothing serves it.
    let _server = Server::bind(&path).unwrap();
    let client = Client::new(&path);
    let began = Instant::now();
    let mut visits = 0;
    while began.elapsed() < Duration::from_millis(500) {
        if let Some(visit) = client.visit(&rsa) {
            visits += 1;
            assert!(visit.power(&[2]).is_none());
        }
    }
    assert!((1..=3).contains(&visits), "{visits}");
}

#[test]
fn a_socket_of_another_server_or_another_file_stays_and_one_without_a_server_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let first = Server::bind(&path).unwrap();
    let error = Server::bind(&path).unwrap_err();
    assert!(
        matches!(&error, Error::InUse(used) if *used == path),
        "{error}"
    );
    assert!(error.to_string().contains("another daemon"), "{error}");
    // As if the server had been killed: the socket is left.
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
