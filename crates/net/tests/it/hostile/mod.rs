//! Hostile clients together with an honest one, on a server in a separate process.
//!
//! Each kind of `oarlock-hostile` has a test. It checks that the honest client gets every answer, that the server keeps
//! answering, and that its memory stays bounded.

mod host;

use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use oarlock::Accelerator;
use oarlock::rsa::{AcceleratedRsaPublic, Hash, SignatureScheme};
use oarlock_hostile::{Course, Kind, kind, kinds, watch};
use oarlock_net::client::{Client, Operation};
use oarlock_net::proto;
use oarlock_testing::process::is_child;
use tokio::task::spawn_blocking;

use self::host::{Host, KEY, OTHERS};
use crate::server::host::{call, key};
use crate::waiting::until_some;

/// The kinds whose requests the server must have counted, with their operations. Without this check, a client whose messages
/// the server cannot parse would pass as withstood.
const COUNTED: &[(&str, &str)] = &[
    ("composite-primes", "mod_exp"),
    ("checked-primes", "mod_exp"),
    ("long-exponents", "mod_exp"),
    ("key-names", "sign"),
    ("long-key-ids", "sign"),
    ("escaped-key-ids", "sign"),
    ("odd-names", "sign"),
    ("odd-schemes", "sign"),
    ("long-messages", "sign"),
    ("nothing", "mod_exp"),
    ("kept-buffers", "none"),
    ("odd-deadlines", "sign"),
    ("flood-sign", "sign"),
    ("flood-decrypt", "decrypt"),
    ("flood-raw-private", "raw_private"),
    ("flood-mod-exp", "mod_exp"),
    ("longest-powers", "mod_exp"),
    ("flood-random", "random"),
    ("flood-list", "list"),
    ("flood-calls", "random"),
    ("random-unread", "random"),
    ("replies-unread", "sign"),
    ("waiting-messages", "none"),
    ("slow-reader", "random"),
    ("zero-windows", "random"),
    ("cancelled", "sign"),
    ("many-streams", "sign"),
    ("churn", "sign"),
];

/// The kinds that hold connections to a port. Newcomers that take 0.1 s must still be let in.
const CROWDS: &[&str] = &[
    "junk",
    "broken-handshakes",
    "silent",
    "silent-networks",
    "begun-networks",
    "idle-pages",
    "idle-networks",
    "slow-pages",
];

/// The kinds whose connections the server has to end.
const ENDED: &[&str] = &["expiring"];

macro_rules! tests {
    ($($name:ident)+) => {
        $(#[test]
        fn $name() {
            withstands(stringify!($name));
        })+

        const TESTED: &[&str] = &[$(stringify!($name)),+];
    };
}

tests! {
    composite_primes
    checked_primes
    long_exponents
    key_names
    long_key_ids
    escaped_key_ids
    odd_names
    odd_schemes
    long_messages
    nothing
    odd_deadlines
    at_the_limit
    unfinished_messages
    kept_buffers
    flood_sign
    flood_decrypt
    flood_raw_private
    flood_mod_exp
    longest_powers
    flood_random
    flood_list
    flood_calls
    flood_health
    flood_reflection
    random_unread
    replies_unread
    waiting_messages
    slow_reader
    zero_windows
    cancelled
    many_streams
    rapid_reset
    made_reset
    huge_headers
    many_headers
    continuations
    pings
    settings
    window_updates
    priorities
    empty_frames
    odd_paths
    junk
    many_connections
    churn
    broken_handshakes
    silent
    silent_networks
    begun_networks
    slow_writer
    half_open
    key_updates
    renegotiation
    client_per_request
    expiring
    idle_pages
    idle_networks
    slow_pages
    flood_pages
    unread_pages
    odd_pages
}

#[test]
fn every_kind_has_a_test() {
    let tested = TESTED.iter().map(|name| name.replace('_', "-"));
    assert!(tested.eq(kinds().iter().map(|kind| kind.name.to_owned())));
    for name in COUNTED
        .iter()
        .map(|(name, _)| name)
        .chain(CROWDS)
        .chain(ENDED)
    {
        assert!(kind(name).is_some(), "no kind {name}");
    }
}

fn withstands(test: &str) {
    if is_child() {
        return host::serve();
    }
    let name = test.replace('_', "-");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let host = Host::start();
    runtime.block_on(beside_a_victim(&host, kind(&name).unwrap()));
}

async fn beside_a_victim(host: &Host, kind: &'static Kind) {
    let victim = host.victim().await;
    for id in 0..ANSWERS_MIN {
        assert_signs(host, kind, &victim, id).await;
    }
    let series = watch::series(&page(host.metrics, "/metrics").await);
    let before = host.forget_peak();

    let course = Arc::new(Course::new(kind.actions));
    let hostile = tokio::spawn({
        let (target, course) = (host.target(), Arc::clone(&course));
        async move { kind.run(&target, &course).await }
    });
    let began = Instant::now();
    let signed = async {
        let mut answers = 0;
        // A client that the server slows down may never finish.
        while answers < ANSWERS_MIN || !(course.is_spent() || began.elapsed() > TIME_MAX) {
            let asked = Instant::now();
            assert_signs(host, kind, &victim, answers).await;
            answers += 1;
            // The honest client uses a fifth of a worker, within its share.
            tokio::time::sleep(4 * asked.elapsed()).await;
        }
        answers
    };
    let (answers, ()) = tokio::join!(signed, assert_lets_in(host, kind));
    if let Some((_, operation)) = COUNTED.iter().find(|(name, _)| *name == kind.name) {
        let sample =
            format!("oarlock_requests_total{{client=\"{OTHERS}\",operation=\"{operation}\"");
        until_some("a request that the server understands", async || {
            let text = page(host.metrics, "/metrics").await;
            text.contains(&sample).then_some(())
        })
        .await;
    }
    // While the hostile client holds everything that it can.
    assert_eq!(page(host.metrics, "/healthz").await, "serving\n");
    let text = page(host.metrics, "/metrics").await;
    let memory = host.memory();
    course.end();
    hostile.await.unwrap();
    assert_signs(host, kind, &victim, answers).await;

    assert!(course.done() > 0, "{course:?}");
    if ENDED.contains(&kind.name) {
        assert!(course.sessions_ended() > 0, "{course:?}");
    }
    let grown = memory.peak.saturating_sub(before.now);
    let more = watch::series(&text).saturating_sub(series);
    assert!(
        grown <= MEMORY_BYTES_MAX,
        "{} KiB more for {course:?}",
        grown >> 10
    );
    assert!(more <= SERIES_MAX, "{more} series more:\n{text}");
}

/// Checks that all newcomers complete their handshakes and receive their pages while a crowd holds a port.
async fn assert_lets_in(host: &Host, kind: &Kind) {
    if !CROWDS.contains(&kind.name) {
        return;
    }
    for newcomer in 0..NEWCOMERS {
        let (admitted, page) = tokio::join!(host.handshake(SLOW), host.health(SLOW));
        let who = format!("newcomer {newcomer} next to {}", kind.name);
        admitted.unwrap_or_else(|error| panic!("{who}: {error}\n{}", host.log()));
        let page = page.unwrap_or_else(|error| panic!("{who}, /healthz: {error}\n{}", host.log()));
        assert!(page.starts_with("HTTP/1.1 200"), "{who}: {page}");
    }
}

/// Checks that the victim's request gets a correct answer.
async fn assert_signs(host: &Host, kind: &Kind, victim: &Client, id: u64) {
    let mut digest = vec![1; 32];
    digest[..8].copy_from_slice(&id.to_be_bytes());
    let sign = Operation::Sign(proto::Sign {
        key_id: KEY.into(),
        scheme: proto::SignatureScheme::RsaPkcs1Sha256.into(),
        digest: digest.clone(),
    });
    let signature = call(victim, sign).await.unwrap_or_else(|error| {
        panic!("{id} with {}: {error}\n{}", kind.name, host.log());
    });
    let scheme = SignatureScheme::Pkcs1(Hash::Sha256);
    PUBLIC.verify_digest(scheme, &digest, &signature).unwrap();
}

/// Returns a page of the metrics port, which must have status 200. It has to arrive before the server closes the connections
/// that hold the port.
async fn page(address: SocketAddr, path: &'static str) -> String {
    let page = spawn_blocking(move || watch::page(address, path, PAGE_LIMIT));
    let (status, body) = page.await.unwrap().unwrap();
    assert_eq!(status, 200, "{path}: {body}");
    body
}

static PUBLIC: LazyLock<AcceleratedRsaPublic> = LazyLock::new(|| {
    let accelerator = Accelerator::builder().build().unwrap();
    accelerator.rsa_public(key(KEY).public_key())
});

/// The number of newcomers during a crowd, one after the other.
const NEWCOMERS: usize = 15;
/// The time that a newcomer takes for a handshake or a request, as over a long distance.
const SLOW: Duration = Duration::from_millis(100);
/// The longest time for one kind.
const TIME_MAX: Duration = Duration::from_secs(5);
/// The answers that the victim must get before a kind counts as withstood.
const ANSWERS_MIN: u64 = 10;
/// The most that the server's memory may grow; a debug build takes twice that of a release.
const MEMORY_BYTES_MAX: u64 = if cfg!(debug_assertions) { 64 } else { 32 } << 20;
/// The most series that a client adds to the page, whatever it requests.
const SERIES_MAX: u64 = 32;
/// The time limit of a page. The server closes silent connections to the metrics port after 5 s, 16 at a time, so behind
/// those of the kinds for that port a page would take at least 15 s.
const PAGE_LIMIT: Duration = Duration::from_secs(9);
