//! Devices that return wrong results, fail, die, hang, and answer late, twice or never.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use oarlock::device::{
    BlockingDevice, Fault, Host, Injection, SimulatedBoard, SimulatedDevice, SoftwareDevice, When,
};
use oarlock_net::server::Server;
use oarlock_net::server::dispatch::DeviceWorkers;
use tonic::Code;

use super::{batch, connect, exchange, metric, page, plaintext, raw, tally};
use crate::waiting::until_some;

/// Returns a faulty board of four coprocessors that take a millisecond.
fn board(fault: Fault, when: When) -> Arc<SimulatedDevice> {
    let board = SimulatedBoard {
        coprocessors: 4,
        latency: Duration::from_millis(1),
        latency_with_crt: None,
        host: Host::default(),
        jitter: 0.2,
        faults: vec![Injection { fault, when }],
        seed: 7,
    };
    Arc::new(SimulatedDevice::new("board", board).unwrap())
}

fn driver(device: Arc<impl BlockingDevice + 'static>, workers: usize) -> DeviceWorkers {
    DeviceWorkers {
        device,
        workers,
        is_host: false,
    }
}

fn good() -> DeviceWorkers {
    driver(Arc::new(SoftwareDevice::new()), 1)
}

/// Sends three streams of 100 requests each at the same time; returns the number of answers by code.
async fn load(server: &Server) -> HashMap<Code, usize> {
    let mut streams = tokio::task::JoinSet::new();
    for _ in 0..3 {
        let mut client = connect(server).await;
        let batches =
            (0..10).map(|part| batch((1 + 10 * part..11 + 10 * part).map(|id| raw(id, id))));
        let batches = batches.collect();
        streams.spawn(async move { exchange(&mut client, batches).await });
    }
    let mut all = HashMap::new();
    while let Some(done) = streams.join_next().await {
        let (replies, end) = done.unwrap();
        end.unwrap();
        for (code, count) in tally(&replies, 1..101) {
            *all.entry(code).or_default() += count;
        }
    }
    all
}

const SHORT: [(Fault, When); 7] = [
    (Fault::WrongResult, When::Every(3)),
    (Fault::WrongResult, When::Every(1)),
    (Fault::Error, When::Every(2)),
    (Fault::NoAnswer, When::Every(2)),
    (Fault::TwoAnswers, When::Every(1)),
    (Fault::Late(Duration::from_millis(30)), When::Every(2)),
    (Fault::Death, When::Once(20)),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn beside_a_good_device_no_fault_is_felt() {
    for (fault, when) in SHORT {
        let drivers = vec![driver(board(fault, when), 4), good()];
        let server = Server::start_with(plaintext("", ""), drivers)
            .await
            .unwrap();
        let answers = load(&server).await;
        assert_eq!(
            answers,
            HashMap::from([(Code::Ok, 300)]),
            "{fault:?} {when:?}"
        );
        assert_eq!(metric(&server, "oarlock_unanswered", &[]).await, 0);
        assert_eq!(server.stop().await, 0);
    }
}

/// The faulty device offers to be the fastest, so requests at which no device has failed are left to it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lone_request_does_not_wait_for_the_fast_device_that_failed_at_it() {
    let fast = SimulatedBoard {
        coprocessors: 4,
        latency: Duration::from_micros(1),
        latency_with_crt: None,
        host: Host::default(),
        jitter: 0.0,
        faults: vec![Injection {
            fault: Fault::Error,
            when: When::Every(1),
        }],
        seed: 7,
    };
    let fast = SimulatedDevice::new("fast", fast).unwrap();
    let drivers = vec![driver(Arc::new(fast), 4), good()];
    let server = Server::start_with(plaintext("", ""), drivers)
        .await
        .unwrap();
    let mut client = connect(&server).await;
    // Send one after the other, so that no other request wakes a device for them.
    for id in 1..10 {
        let reply = client.call(raw(id, id)).await.unwrap();
        super::is_right(reply.get_ref(), id).unwrap();
    }
    assert!(metric(&server, "oarlock_device_failures", &["fast"]).await >= 3);
    assert_eq!(server.stop().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn alone_with_a_faulty_device_every_request_is_right_or_refused_by_name() {
    for (fault, when) in SHORT {
        let limits = "[limits]\ntimeout_ms_max = 4000\n";
        let server = Server::start_with(plaintext("", limits), vec![driver(board(fault, when), 4)]);
        let server = server.await.unwrap();
        let answers = load(&server).await;
        let counted = |code| answers.get(&code).copied().unwrap_or(0);
        let what = format!("{fault:?} {when:?}: {answers:?}");
        let failed = counted(Code::Unavailable);
        assert_eq!(counted(Code::Ok) + failed, 300, "{what}");
        match fault {
            Fault::TwoAnswers | Fault::Late(_) => assert_eq!(counted(Code::Ok), 300, "{what}"),
            _ => assert!(counted(Code::Unavailable) > 0, "{what}"),
        }
        // The server continues to return right results, unless the device always fails.
        if !matches!((fault, when), (Fault::Death, _) | (_, When::Every(1))) {
            let mut client = connect(&server).await;
            until_some("a result again", async || {
                let reply = client.call(raw(1, 9)).await;
                reply
                    .ok()
                    .map(|reply| super::is_right(reply.get_ref(), 9).unwrap())
            })
            .await;
        }
        assert_eq!(server.stop().await, 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_hangs_goes_to_another_device_and_comes_once() {
    let hanging = board(Fault::Hang, When::Every(5));
    let drivers = vec![driver(Arc::clone(&hanging), 4), good()];
    // A device that holds a batch for half of this time counts as hanging.
    let limits = "[limits]\ntimeout_ms_max = 2000\n";
    let server = Server::start_with(plaintext("", limits), drivers)
        .await
        .unwrap();
    // The other device may compute all of them before this one has been asked five times.
    until_some("a request that hangs", async || {
        assert_eq!(load(&server).await, HashMap::from([(Code::Ok, 300)]));
        (hanging.hanging() > 0).then_some(())
    })
    .await;
    until_some("the device is left alone", async || {
        (metric(&server, "oarlock_device_up", &["board"]).await == 0).then_some(())
    })
    .await;
    // The other device serves.
    assert_eq!(page(server.metrics().unwrap(), "/healthz").await.0, 200);
    assert_eq!(load(&server).await, HashMap::from([(Code::Ok, 300)]));
    hanging.release();
    until_some("the workers are back", async || {
        (metric(&server, "oarlock_device_in_work", &["board"]).await == 0).then_some(())
    })
    .await;
    hanging.kill();
    assert_eq!(load(&server).await, HashMap::from([(Code::Ok, 300)]));
    assert_eq!(server.stop().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_the_only_device_hangs_deadlines_are_kept_and_the_end_comes() {
    let hanging = board(Fault::Hang, When::Every(1));
    let limits = "[limits]\ntimeout_ms_max = 400\ndrain_ms = 5000\n";
    let drivers = vec![driver(Arc::clone(&hanging), 4)];
    let server = Server::start_with(plaintext("", limits), drivers)
        .await
        .unwrap();
    let answers = load(&server).await;
    let late = answers.get(&Code::DeadlineExceeded).copied().unwrap_or(0);
    let refused = answers.get(&Code::Unavailable).copied().unwrap_or(0);
    assert_eq!(late + refused, 300, "{answers:?}");
    assert!(late >= 4, "{answers:?}");
    until_some("the server says that it is not well", async || {
        let (status, said) = page(server.metrics().unwrap(), "/healthz").await;
        (status == 503 && said.contains("out of order")).then_some(())
    })
    .await;
    // Hanging threads do not delay the end.
    assert_eq!(server.stop().await, 0);
    hanging.release();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_that_dies_is_out_of_order_for_balancers_and_for_clients() {
    let dying = board(Fault::Error, When::Every(0));
    let drivers = vec![driver(Arc::clone(&dying), 4)];
    let limits = "[limits]\ntimeout_ms_max = 1000\n";
    let server = Server::start_with(plaintext("", limits), drivers)
        .await
        .unwrap();
    let health = || async {
        let service = "oarlock.v1.Cryptoserver".to_owned();
        let channel = super::channel(&server).await;
        let mut client = tonic_health::pb::health_client::HealthClient::new(channel);
        let request = tonic_health::pb::HealthCheckRequest { service };
        client.check(request).await.unwrap().into_inner().status()
    };
    use tonic_health::pb::health_check_response::ServingStatus;
    assert_eq!(health().await, ServingStatus::Serving);
    assert_eq!(load(&server).await, HashMap::from([(Code::Ok, 300)]));
    dying.kill();
    let answers = load(&server).await;
    assert_eq!(answers, HashMap::from([(Code::Unavailable, 300)]));
    until_some("NOT_SERVING", async || {
        (health().await == ServingStatus::NotServing).then_some(())
    })
    .await;
    assert_eq!(page(server.metrics().unwrap(), "/healthz").await.0, 503);
    assert_eq!(server.stop().await, 0);
}
