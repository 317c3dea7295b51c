//! A test by watching the allocator: messages leave no secret in freed memory, however they end. It is a program of its own,
//! because a program has one allocator, and this one searches freed blocks.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use oarlock_net::proto::{self, item, reply, request};
use prost::Message;
use prost::bytes::Bytes;

struct Watching;

static SEARCHING: AtomicBool = AtomicBool::new(false);
static FOUND: AtomicUsize = AtomicUsize::new(0);

/// Whether a block contains the secret.
///
/// # Safety
/// `block` is allocated with `bytes` bytes, and nothing else uses them.
unsafe fn holds_secret(block: *const u8, bytes: usize) -> bool {
    let byte = |at: usize| {
        debug_assert!(at < bytes);
        // SAFETY: `at` is less than `bytes`, so the byte is in the caller's block. The block's owner may have left padding in it.
        // The read is volatile, so that the compiler takes what the memory holds, and derives nothing from what was written.
        unsafe { block.add(at).read_volatile() }
    };
    let starts = (bytes + 1).saturating_sub(SECRET.len());
    (0..starts).any(|start| (0..SECRET.len()).all(|at| byte(start + at) == SECRET[at]))
}

// SAFETY: every call goes to the system's allocator unchanged; a block is only read, just before it is freed.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds the contract: a valid layout of at least one byte. The block is zeroed, so that a read finds
        // nothing from before.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if SEARCHING.load(Ordering::Acquire) {
            // SAFETY: the block is allocated with `layout.size()` bytes, and its owner, who frees it, uses it no more.
            if unsafe { holds_secret(block, layout.size()) } {
                FOUND.fetch_add(1, Ordering::Relaxed);
            }
        }
        // SAFETY: `alloc` got the block from the system's allocator with this layout.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watching = Watching;

/// Returns the number of blocks with the secret that `run` frees.
fn freed_with(run: impl FnOnce()) -> usize {
    FOUND.store(0, Ordering::Relaxed);
    SEARCHING.store(true, Ordering::Release);
    run();
    SEARCHING.store(false, Ordering::Release);
    FOUND.load(Ordering::Relaxed)
}

/// Checks a message that is dropped whole, as one that is refused, sent or never read; one whose end is malformed; and a
/// copy, as a client sends it to another server.
fn check<T: Message + Default + Clone>(message: &T) {
    // As in gRPC's buffers, out of which the decoder copies without a step between.
    let whole = message.encode_to_vec();
    let broken = Bytes::from([&whole[..], &[0x0a, 0xff]].concat());
    let whole = Bytes::from(whole);
    let name = std::any::type_name::<T>();
    let found = freed_with(|| drop(black_box(T::decode(whole.clone()).unwrap())));
    assert_eq!(found, 0, "{name}");
    let found = freed_with(|| drop(black_box(T::decode(broken.clone()).err().unwrap())));
    assert_eq!(found, 0, "a part of {name}");
    let found = freed_with(|| drop(black_box(message.clone())));
    assert_eq!(found, 0, "a copy of {name}");
}

fn requests() -> Vec<request::Operation> {
    let secret = || SECRET.to_vec();
    let crt = proto::Crt {
        p: secret(),
        q: secret(),
        dp: secret(),
        dq: secret(),
        qinv: secret(),
        public_exponent: vec![3],
    };
    vec![
        request::Operation::ModExp(proto::ModExp {
            base: secret(),
            base_is_negative: false,
            exponent: secret(),
            modulus: secret(),
            byte_order: 0,
            crt: Some(crt),
        }),
        request::Operation::Sign(proto::Sign {
            key_id: "ed25519".into(),
            scheme: proto::SignatureScheme::Ed25519.into(),
            digest: secret(),
        }),
        request::Operation::Mac(proto::Mac {
            key_id: "mac".into(),
            messages: vec![secret(); 3],
        }),
        request::Operation::VerifyMac(proto::VerifyMac {
            key_id: "mac".into(),
            macs: vec![
                proto::MacOf {
                    message: secret(),
                    mac: vec![1; 32],
                    key_version: 1,
                };
                3
            ],
        }),
        request::Operation::Seal(proto::Seal {
            key_id: "cards".into(),
            plaintexts: vec![
                proto::Plaintext {
                    plaintext: secret(),
                    associated_data: vec![1],
                };
                3
            ],
        }),
    ]
}

#[test]
fn messages_leave_no_secret_in_freed_memory() {
    let found = freed_with(|| drop(black_box(SECRET.to_vec())));
    assert_eq!(found, 1, "the search finds what is not wiped");
    let requests: Vec<_> = requests()
        .into_iter()
        .map(|operation| proto::Request {
            operation: Some(operation),
            ..proto::Request::default()
        })
        .collect();
    for request in &requests {
        check(request);
    }
    check(&proto::RequestBatch { requests });
    let items = vec![
        proto::Item {
            outcome: Some(item::Outcome::Result(SECRET.to_vec())),
            key_version: 1,
        };
        3
    ];
    let outcomes = [
        reply::Outcome::Result(SECRET.to_vec()),
        reply::Outcome::Items(proto::Items { items }),
    ];
    let replies: Vec<_> = outcomes
        .map(|outcome| proto::Reply {
            id: 1,
            outcome: Some(outcome),
        })
        .into();
    check(&proto::ReplyBatch { replies });
}

const SECRET: [u8; 16] = *b"sixteen secret b";
