//! What is asked: too much, wrong numbers, long names, odd deadlines.

use std::io;
use std::sync::{Arc, LazyLock};

use crate::course::Ended;
use crate::grpc::{self, ModExp};
use crate::http2::{Peer, Reading, WINDOW_BYTES, grpc_headers, header};
use crate::numbers::{Numbers, composite_1024, inconsistent_4096};
use crate::{Course, MESSAGE_KEY, Target};

static COMPOSITE: LazyLock<Numbers> = LazyLock::new(composite_1024);
static INCONSISTENT: LazyLock<Numbers> = LazyLock::new(inconsistent_4096);

pub(super) async fn composite_primes(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let ask = |id| grpc::request(id, 0, &with_crt(&COMPOSITE));
    exchange(&target, &course, BATCH, ask).await
}

pub(super) async fn checked_primes(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let ask = |id| grpc::request(id, 0, &with_crt(&INCONSISTENT));
    exchange(&target, &course, BATCH, ask).await
}

pub(super) async fn long_exponents(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let power = grpc::mod_exp(&ModExp {
        base: &[3; 512],
        exponent: &[0xff; 8192],
        modulus: &[0xff; 512],
        crt: None,
    });
    let ask = |id| grpc::request(id, 50, &power);
    exchange(&target, &course, 8, ask).await
}

pub(super) async fn key_names(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let ask = |id| {
        let name = format!("{id}-{}", std::process::id());
        grpc::request(id, 0, &grpc::sign(name.as_bytes(), &[7; 32]))
    };
    exchange(&target, &course, BATCH, ask).await
}

pub(super) async fn long_key_ids(target: Arc<Target>, course: Arc<Course>) -> Ended {
    // Each letter takes six in JSON.
    let name = vec![1; 900_000];
    let ask = |id| grpc::request(id, 0, &grpc::sign(&name, &[7; 32]));
    exchange(&target, &course, 1, ask).await
}

pub(super) async fn escaped_key_ids(target: Arc<Target>, course: Arc<Course>) -> Ended {
    // As long as an id may be, each character of which takes six where it is escaped.
    let sign = grpc::sign(&[1; 255], &[7; 32]);
    exchange(&target, &course, BATCH, |id| grpc::request(id, 0, &sign)).await
}

pub(super) async fn odd_names(target: Arc<Target>, course: Arc<Course>) -> Ended {
    const NAMES: [&[u8]; 8] = [
        b"\0",
        b"line\nline",
        b"\"} 1\noarlock_requests_total{client=\"root",
        b"\x1b[2Jcleared",
        "\u{202e}gnol".as_bytes(),
        b"../../etc/passwd",
        b"*",
        // Not UTF-8: the message cannot be decoded, which ends the call.
        b"\xff\xfe",
    ];
    let mut peer = honest(&target, &course).await?;
    let headers = grpc_headers(grpc::CALL);
    while course.goes_on() {
        for (id, name) in (1..).zip(NAMES) {
            let ask = grpc::request(id, 0, &grpc::sign(name, &[7; 32]));
            peer.call(&headers, &grpc::framed(&ask), OPEN_MAX).await?;
            course.did(1);
        }
    }
    hold(peer, &course).await
}

pub(super) async fn odd_schemes(target: Arc<Target>, course: Arc<Course>) -> Ended {
    // Those of the protocol, one more, and what is no number of an enumeration.
    const OTHERS: [u64; 3] = [1 << 31, u32::MAX as u64, u64::MAX];
    let mut asks = Vec::new();
    for key in [&target.key[..], MESSAGE_KEY] {
        for scheme in (0..=14).chain(OTHERS) {
            for bytes in [0, 31, 32, 33, 48, 64, 65_537] {
                let sign = grpc::sign_by(scheme, key.as_bytes(), &vec![7; bytes]);
                asks.push(grpc::framed(&grpc::request(1, 0, &sign)));
            }
        }
    }
    let mut peer = honest(&target, &course).await?;
    let headers = grpc_headers(grpc::CALL);
    while course.goes_on() {
        for ask in &asks {
            peer.call(&headers, ask, OPEN_MAX).await?;
            course.did(1);
        }
    }
    hold(peer, &course).await
}

pub(super) async fn long_messages(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let sign = grpc::sign_by(ED25519, MESSAGE_KEY.as_bytes(), &[7; 65_536]);
    exchange(&target, &course, 8, |id| grpc::request(id, 0, &sign)).await
}

pub(super) async fn nothing(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let empty_power = grpc::mod_exp(&ModExp {
        base: &[],
        exponent: &[],
        modulus: &[],
        crt: Some(&Default::default()),
    });
    let empty = [
        grpc::sign(b"", b""),
        grpc::decrypt(b"", b""),
        grpc::raw_private(b"", b""),
        empty_power,
        grpc::random(0),
    ];
    let mut asks: Vec<_> = empty.iter().map(|it| grpc::request(0, 0, it)).collect();
    asks.push(Vec::new());
    let mut peer = honest(&target, &course).await?;
    let [exchange, call] = [grpc::EXCHANGE, grpc::CALL].map(grpc_headers);
    while course.goes_on() {
        // No message, an empty one, and batches of empty requests.
        peer.call(&exchange, &[], OPEN_MAX).await?;
        peer.call(&call, &[], OPEN_MAX).await?;
        peer.call(&exchange, &grpc::batch([]), OPEN_MAX).await?;
        let all = grpc::batch(asks.iter().cloned());
        peer.call(&exchange, &all, OPEN_MAX).await?;
        for ask in &asks {
            peer.call(&call, &grpc::framed(ask), OPEN_MAX).await?;
        }
        course.did(4 + asks.len() as u64);
    }
    hold(peer, &course).await
}

pub(super) async fn odd_deadlines(target: Arc<Target>, course: Arc<Course>) -> Ended {
    // Of gRPC over HTTP/2: eight digits at most, and a unit.
    const TIMEOUTS: [&[u8]; 8] = [
        b"0n",
        b"0H",
        b"1n",
        b"99999999H",
        b"999999999H",
        b"-1S",
        b"",
        b"\xff",
    ];
    const MS: [u64; 4] = [0, 1, u32::MAX as u64, u64::MAX];
    let mut peer = honest(&target, &course).await?;
    while course.goes_on() {
        for (id, timeout) in (0..).zip(TIMEOUTS) {
            let timeout = header(b"grpc-timeout", timeout);
            let headers = [grpc_headers(grpc::CALL), timeout].concat();
            let sign = grpc::sign(target.key.as_bytes(), &digest(id as u64));
            let ask = grpc::request(1, MS[id % MS.len()], &sign);
            peer.call(&headers, &grpc::framed(&ask), OPEN_MAX).await?;
            course.did(1);
        }
    }
    hold(peer, &course).await
}

pub(super) async fn at_the_limit(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let mut peer = honest(&target, &course).await?;
    let exchange = grpc_headers(grpc::EXCHANGE);
    while course.goes_on() {
        for bytes in [MESSAGE_BYTES_MAX, MESSAGE_BYTES_MAX + 1, u32::MAX] {
            let stream = peer.begin(&exchange, OPEN_MAX, false).await?;
            peer.data(stream, &grpc::prefix(bytes), false).await?;
            // An unknown field that fills the message.
            let filling = vec![0x7a; bytes.min(MESSAGE_BYTES_MAX + 1) as usize];
            peer.data(stream, &filling, true).await?;
            course.did(1);
        }
        peer.all_ended().await?;
    }
    hold(peer, &course).await
}

pub(super) async fn unfinished_messages(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let mut peer = honest(&target, &course).await?;
    let call = grpc_headers(grpc::CALL);
    let part = vec![0x7a; MESSAGE_BYTES_MAX as usize - 1];
    while course.goes_on() {
        let stream = peer.begin(&call, OPEN_MAX, false).await?;
        let prefix = grpc::prefix(MESSAGE_BYTES_MAX);
        peer.data(stream, &prefix, false).await?;
        peer.data(stream, &part, false).await?;
        course.did(1);
    }
    hold(peer, &course).await
}

pub(super) async fn kept_buffers(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let mut peer = honest(&target, &course).await?;
    let exchange = grpc_headers(grpc::EXCHANGE);
    // Unknown fields of 124 bytes each, which the server skips, and an empty request, whose refusal shows that it has read them.
    let whole = (MESSAGE_BYTES_MAX as usize - 2) / 124 * 124;
    let message = grpc::framed(&[&vec![0x7a; whole][..], &[0x0a, 0]].concat());
    while course.goes_on() {
        let stream = peer.begin(&exchange, OPEN_MAX, false).await?;
        peer.data(stream, &message, false).await?;
        course.did(1);
    }
    hold(peer, &course).await
}

pub(super) async fn flood_sign(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let key = target.key.as_bytes();
    let ask = |id| grpc::request(id, 0, &grpc::sign(key, &digest(id)));
    exchange(&target, &course, BATCH, ask).await
}

pub(super) async fn flood_decrypt(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let key = target.key.as_bytes();
    let ask = |id| grpc::request(id, 0, &grpc::decrypt(key, &number(id)));
    exchange(&target, &course, BATCH, ask).await
}

pub(super) async fn flood_raw_private(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let key = target.key.as_bytes();
    let ask = |id| grpc::request(id, 0, &grpc::raw_private(key, &number(id)));
    exchange(&target, &course, BATCH, ask).await
}

pub(super) async fn flood_mod_exp(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let power = grpc::mod_exp(&ModExp {
        base: &[3; 512],
        exponent: &[0xff; 512],
        modulus: &[0xff; 512],
        crt: None,
    });
    let ask = |id| grpc::request(id, 0, &power);
    exchange(&target, &course, BATCH, ask).await
}

pub(super) async fn longest_powers(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let power = grpc::mod_exp(&ModExp {
        base: &[0xff; 8192],
        exponent: &[0xff; 1024],
        modulus: &[0xff; 512],
        crt: None,
    });
    let ask = |id| grpc::request(id, 0, &power);
    exchange(&target, &course, 8, ask).await
}

pub(super) async fn flood_random(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let ask = |id| grpc::request(id, 0, &grpc::random(65_536));
    exchange(&target, &course, BATCH, ask).await
}

pub(super) async fn flood_list(target: Arc<Target>, course: Arc<Course>) -> Ended {
    calls(&target, &course, grpc::LIST_KEYS, &grpc::framed(&[])).await
}

pub(super) async fn flood_calls(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let random = grpc::request(1, 0, &grpc::random(1));
    calls(&target, &course, grpc::CALL, &grpc::framed(&random)).await
}

pub(super) async fn honest_calls(target: &Target, course: &Arc<Course>) -> Ended {
    let random = grpc::framed(&grpc::request(1, 0, &grpc::random(32)));
    some_calls(target, course, grpc::CALL, &random).await
}

pub(super) async fn honest_signatures(target: &Target, course: &Arc<Course>) -> Ended {
    let sign = grpc::sign(target.key.as_bytes(), &digest(0));
    let sign = grpc::framed(&grpc::request(1, 0, &sign));
    some_calls(target, course, grpc::CALL, &sign).await
}

pub(super) async fn honest_lists(target: &Target, course: &Arc<Course>) -> Ended {
    some_calls(target, course, grpc::LIST_KEYS, &grpc::framed(&[])).await
}

/// Calls, at most 64 under way.
async fn some_calls(target: &Target, course: &Arc<Course>, path: &str, message: &[u8]) -> Ended {
    let mut peer = honest(target, course).await?;
    let headers = grpc_headers(path);
    while course.goes_on() {
        peer.call(&headers, message, 64).await?;
        course.did(1);
    }
    peer.all_ended().await
}

pub(super) async fn flood_health(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let mut peer = honest(&target, &course).await?;
    let service = grpc::text(b"oarlock.v1.Cryptoserver");
    let [watch, check] = [grpc::HEALTH_WATCH, grpc::HEALTH_CHECK].map(grpc_headers);
    for _ in 0..64 {
        // It does not end by itself.
        peer.call(&watch, &service, OPEN_MAX).await?;
        course.did(1);
    }
    while course.goes_on() {
        peer.call(&check, &service, OPEN_MAX).await?;
        course.did(1);
    }
    hold(peer, &course).await
}

pub(super) async fn flood_reflection(target: Arc<Target>, course: Arc<Course>) -> Ended {
    let mut peer = honest(&target, &course).await?;
    let headers = grpc_headers(grpc::REFLECTION);
    let mut streams = Vec::new();
    for _ in 0..OPEN_MAX / 2 {
        streams.push(peer.begin(&headers, OPEN_MAX, false).await?);
    }
    let symbols = grpc::symbols_of("oarlock.v1.Cryptoserver");
    while course.goes_on() {
        for stream in &streams {
            if !peer.data(*stream, &symbols, false).await? {
                return Err(io::ErrorKind::ConnectionReset.into());
            }
            course.did(1);
        }
    }
    hold(peer, &course).await
}

/// Batches of requests on one stream, as fast as the server takes them; it reads the replies.
async fn exchange(
    target: &Target,
    course: &Arc<Course>,
    batch: u64,
    ask: impl Fn(u64) -> Vec<u8>,
) -> Ended {
    let mut peer = honest(target, course).await?;
    let stream = peer.begin(&grpc_headers(grpc::EXCHANGE), 1, false).await?;
    let mut id = 0;
    while course.goes_on() {
        let requests = (id..id + batch).map(&ask);
        if !peer.data(stream, &grpc::batch(requests), false).await? {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        id += batch;
        course.did(batch);
    }
    hold(peer, course).await
}

/// The same call again and again.
async fn calls(target: &Target, course: &Arc<Course>, path: &str, message: &[u8]) -> Ended {
    let mut peer = honest(target, course).await?;
    let headers = grpc_headers(path);
    while course.goes_on() {
        peer.call(&headers, message, OPEN_MAX).await?;
        course.did(1);
    }
    peer.all_ended().await?;
    hold(peer, course).await
}

/// A connection that is read from.
async fn honest(target: &Target, course: &Arc<Course>) -> io::Result<Peer> {
    Peer::open(target, course, Reading::Everything, WINDOW_BYTES).await
}

pub(super) async fn hold<T>(held: T, course: &Course) -> Ended {
    course.ended().await;
    drop(held);
    Ok(())
}

fn with_crt(numbers: &Numbers) -> grpc::Operation {
    grpc::mod_exp(&ModExp {
        base: &[0x30, 0x39],
        exponent: &numbers.exponent,
        modulus: &numbers.modulus,
        crt: Some(&numbers.crt),
    })
}

pub(super) fn digest(id: u64) -> [u8; 32] {
    let mut digest = [7; 32];
    digest[..8].copy_from_slice(&id.to_be_bytes());
    digest
}

/// As long as a modulus of RSA-2048, and less than any.
fn number(id: u64) -> [u8; 256] {
    let mut number = [0; 256];
    number[248..].copy_from_slice(&(id + 2).to_be_bytes());
    number
}

const BATCH: u64 = 32;
/// The number of the scheme.
const ED25519: u64 = 10;
/// Streams under way; the server allows 128.
pub(super) const OPEN_MAX: usize = 100;
/// The default of the server.
const MESSAGE_BYTES_MAX: u32 = 1 << 20;
