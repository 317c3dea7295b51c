//! More load than a server can handle.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use oarlock_net::client::{Client, Operation};
use oarlock_net::proto;
use oarlock_net::server::Server;
use oarlock_testing::LIMIT;
use tonic::Code;

use super::super::host::{EVERYTHING, Home, call};
use super::{PUBLIC, soon};
use crate::waiting::until_some;

fn raw(number: u64) -> Operation {
    Operation::RawPrivate(proto::RawPrivate {
        key_id: "rsa1024".into(),
        number: number.to_be_bytes().to_vec(),
    })
}

fn assert_right(power: &[u8], number: u64) {
    let back = PUBLIC.raw_public(power).unwrap();
    assert_eq!(back[back.len() - 8..], number.to_be_bytes());
}

/// A board of 4 coprocessors that take 10 ms each: 400 a second.
const BOARD: &str = "[[device]]\nkind = \"simulated\"\nname = \"board\"\ncoprocessors = 4\n\
     latency_ms = 10\nworkers = 4\n";

#[derive(Default)]
struct Counts {
    right: AtomicUsize,
    refused: AtomicUsize,
}

/// Sends requests one after the other, in `at_once` tasks, until `is_over`.
fn flood(
    tasks: &mut tokio::task::JoinSet<()>,
    client: &Client,
    at_once: u64,
    counts: &Arc<Counts>,
    is_over: &Arc<AtomicBool>,
) {
    for lane in 0..at_once {
        let (client, counts, is_over) = (client.clone(), Arc::clone(counts), Arc::clone(is_over));
        tasks.spawn(async move {
            let mut number = 2 + lane;
            while !is_over.load(Ordering::Relaxed) {
                number += at_once;
                let began = Instant::now();
                match call(&client, raw(number)).await {
                    Ok(power) => {
                        assert_right(&power, number);
                        counts.right.fetch_add(1, Ordering::Relaxed);
                    }
                    Err(error) => {
                        assert_eq!(error.code, Code::ResourceExhausted, "{error}");
                        assert!(error.message.contains("send it again"), "{error}");
                        counts.refused.fetch_add(1, Ordering::Relaxed);
                        // A refused client tries again later.
                        tokio::time::sleep(Duration::from_millis(10)).await;
                    }
                }
                assert!(began.elapsed() < LIMIT, "past its deadline");
            }
        });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_times_too_much_is_refused_by_name_and_the_rest_is_served() {
    let names = ["c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"];
    let home = Home::new(&names);
    // 64 waiting requests are 160 ms of work, so none of them is late.
    let rest = format!("{EVERYTHING}\n{BOARD}\n[limits]\nqueue_max = 64\n");
    let server = Server::start(home.config(&rest)).await.unwrap();
    let (counts, is_over) = (
        Arc::new(Counts::default()),
        Arc::new(AtomicBool::new(false)),
    );
    let mut tasks = tokio::task::JoinSet::new();
    for name in names {
        let client = home.client(name, &[&server]).await;
        flood(&mut tasks, &client, 34, &counts, &is_over);
    }
    // Both have been seen many times.
    until_some("served and refused", async || {
        let (right, refused) = (&counts.right, &counts.refused);
        (right.load(Ordering::Relaxed) > 300 && refused.load(Ordering::Relaxed) > 300).then_some(())
    })
    .await;
    is_over.store(true, Ordering::Relaxed);
    while let Some(done) = soon("all are answered", tasks.join_next()).await {
        done.unwrap();
    }
    assert_eq!(server.stop().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_asks_for_little_is_served_beside_a_flood() {
    let names = ["quiet", "flood-1", "flood-2", "flood-3"];
    let home = Home::new(&names);
    let rest = format!("{EVERYTHING}\n{BOARD}\n[limits]\nqueue_max = 100\n");
    let server = Server::start(home.config(&rest)).await.unwrap();
    let (counts, is_over) = (
        Arc::new(Counts::default()),
        Arc::new(AtomicBool::new(false)),
    );
    let mut tasks = tokio::task::JoinSet::new();
    for name in &names[1..] {
        let client = home.client(name, &[&server]).await;
        flood(&mut tasks, &client, 60, &counts, &is_over);
    }
    until_some("a flood", async || {
        (counts.refused.load(Ordering::Relaxed) > 100).then_some(())
    })
    .await;
    let quiet = home.client("quiet", &[&server]).await;
    let before = counts.right.load(Ordering::Relaxed);
    for number in 1000..1040 {
        // The quiet client is never refused, however full the queue is for the others.
        assert_right(&call(&quiet, raw(number)).await.unwrap(), number);
    }
    let went_before = counts.right.load(Ordering::Relaxed) - before;
    // With one request at a time, one of four clients waits only for a coprocessor. In the order of arrival, some 90
    // requests of others would precede each of its own.
    assert!(went_before < 40 * 45, "{went_before} others went before 40");
    is_over.store(true, Ordering::Relaxed);
    while let Some(done) = soon("all are answered", tasks.join_next()).await {
        done.unwrap();
    }
    assert_eq!(server.stop().await, 0);
}
