//! Tests by watching the allocator: the inline path allocates nothing, and freed memory holds no secret. They are a program
//! of their own, because a program has one allocator, and this one searches freed blocks.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use cipher::{StreamCipher, StreamCipherSeek};
use oarlock::{Accelerator, Algorithm, Strategy};
use oarlock_engine::aead::AeadContext;
use oarlock_engine::cipher::CbcContext;
use oarlock_engine::cipher::StreamContext;

struct Watching;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}
static SEARCHING: AtomicBool = AtomicBool::new(false);
static NEEDLES: [[AtomicUsize; 2]; 8] = [const { [const { AtomicUsize::new(0) }; 2] }; 8];
static FOUND: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged; a block is only read, just before it is freed.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller upholds the contract: a valid layout of at least one byte. The block is zeroed, so that all of
        // it may be read later.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if SEARCHING.load(Ordering::Acquire) {
            // SAFETY: the block is `layout.size()` bytes long, and `alloc` initialized all of them.
            let block = unsafe { std::slice::from_raw_parts(block, layout.size()) };
            if block.windows(16).any(is_needle) {
                FOUND.fetch_add(1, Ordering::Relaxed);
            }
        }
        // SAFETY: `alloc` got the block from the system's allocator with this layout.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watching = Watching;

/// Allows one search at a time.
static SEARCH: Mutex<()> = Mutex::new(());

fn is_needle(window: &[u8]) -> bool {
    let (low, high) = window.split_at(8);
    let low = usize::from_le_bytes(low.try_into().unwrap());
    let high = usize::from_le_bytes(high.try_into().unwrap());
    NEEDLES.iter().any(|needle| {
        let needle = [
            needle[0].load(Ordering::Relaxed),
            needle[1].load(Ordering::Relaxed),
        ];
        needle != [0, 0] && needle == [low, high]
    })
}

/// Returns how many blocks freed by `run` hold one of `needles`.
fn freed_with(needles: &[[u8; 16]], run: impl FnOnce()) -> usize {
    for (slot, needle) in NEEDLES
        .iter()
        .zip(needles.iter().chain(std::iter::repeat(&[0; 16])))
    {
        for (slot, half) in slot.iter().zip(needle.chunks(8)) {
            slot.store(
                usize::from_le_bytes(half.try_into().unwrap()),
                Ordering::Relaxed,
            );
        }
    }
    FOUND.store(0, Ordering::Relaxed);
    SEARCHING.store(true, Ordering::Release);
    run();
    SEARCHING.store(false, Ordering::Release);
    FOUND.load(Ordering::Relaxed)
}

const KEY: [u8; 16] = *b"sixteen secret b";
const IV: [u8; 16] = [7; 16];

/// Returns the first and second round key, and keystream blocks from both ends of a stripe.
fn secrets() -> Vec<[u8; 16]> {
    let mut keystream = vec![0; 400_000];
    let accelerator = Accelerator::builder().max_threads(0).build().unwrap();
    accelerator
        .ctr(&KEY, &IV)
        .unwrap()
        .apply_keystream(&mut keystream);
    let block = |at: usize| keystream[at..at + 16].try_into().unwrap();
    let secrets = vec![KEY, block(0), block(16), block(399_984), block(131_072)];
    keystream.fill(0);
    secrets
}

#[test]
fn the_search_finds_what_is_not_wiped() {
    let _alone = SEARCH.lock().unwrap_or_else(PoisonError::into_inner);
    let found = freed_with(&[KEY], || drop(std::hint::black_box(KEY.to_vec())));
    assert_eq!(found, 1);
}

#[test]
fn no_key_and_no_keystream_is_left_in_freed_memory() {
    let _alone = SEARCH.lock().unwrap_or_else(PoisonError::into_inner);
    for mask in ["", "-face", "-avx512", "-vaes", "-aes"] {
        for strategy in [Strategy::Inline, Strategy::Stripe] {
            // On another stack: remains on this one would be copied into the padding of blocks.
            let secrets = std::thread::spawn(secrets).join().unwrap();
            let mut data = vec![0x55; 400_000];
            let found = freed_with(&secrets, || {
                let accelerator = Accelerator::builder()
                    .cpu_mask(mask)
                    .max_threads(2)
                    .strategy(strategy)
                    .build()
                    .unwrap();
                let mut cipher = accelerator.ctr(&KEY, &IV).unwrap();
                cipher.apply_keystream(&mut data[..100_001]);
                cipher.apply_keystream(&mut data[100_001..]);
                // A session with a new key frees its state.
                cipher.set_key(&[9; 32], &IV).unwrap();
                cipher.apply_keystream(&mut data);
            });
            assert_eq!(found, 0, "{mask} {strategy:?}");
        }
    }
}

#[cfg(feature = "legacy")]
#[test]
fn no_keystream_of_blocks_that_were_begun_is_left_in_freed_memory() {
    let _alone = SEARCH.lock().unwrap_or_else(PoisonError::into_inner);
    for algorithm in [
        Algorithm::ChaCha20,
        Algorithm::Camellia256Ctr,
        Algorithm::TripleDesCtr,
    ] {
        let key = b"a secret key of thirty-two bytes";
        let oarlock::Kind::Stream { iv_bytes, .. } = algorithm.kind() else {
            continue;
        };
        for mask in ["", "-avx512", "-aes,-gfni", "-aes,-avx2"] {
            let open = || {
                let accelerator = Accelerator::builder().cpu_mask(mask).build().unwrap();
                let key = &key[..algorithm.key_bytes()];
                accelerator.stream(algorithm, key, &IV[..iv_bytes]).unwrap()
            };
            // On another stack, as above, and boxed: values on this one would be copied into the padding of later values.
            let secrets = std::thread::scope(|scope| {
                let secrets = scope.spawn(|| {
                    let mut keystream = vec![0; 2048];
                    open().apply_keystream(&mut keystream);
                    // Blocks within the first one, and of those computed ahead for later requests.
                    let piece = |at: usize| keystream[at..at + 16].try_into().unwrap();
                    let secrets: Box<[[u8; 16]]> = [16, 48, 128, 448, 528].map(piece).into();
                    keystream.fill(0);
                    secrets
                });
                secrets.join().unwrap()
            });
            let mut data = [0x55; 16];
            let found = freed_with(&secrets, || {
                for requests in [1, 2, 10, 20, 30] {
                    let mut cipher = open();
                    cipher.apply_keystream(&mut data[..5]);
                    for _ in 0..requests {
                        cipher.apply_keystream(&mut data);
                    }
                    if requests == 30 {
                        cipher.set_iv(&[1; 16][..iv_bytes]).unwrap();
                    }
                }
            });
            assert_eq!(found, 0, "{algorithm} {mask}");
        }
    }
}

#[test]
fn no_key_of_cbc_and_no_plaintext_that_was_padded_is_left_in_freed_memory() {
    let _alone = SEARCH.lock().unwrap_or_else(PoisonError::into_inner);
    const PLAINTEXT: [u8; 16] = *b"plaintext of one";
    for mask in ["", "-avx512", "-vaes", "-aes"] {
        for strategy in [Strategy::Inline, Strategy::Stripe] {
            let mut data = vec![0x55; 400_000];
            let mut padded = PLAINTEXT.to_vec();
            padded.shrink_to_fit();
            let found = freed_with(&[KEY, PLAINTEXT], || {
                let accelerator = Accelerator::builder()
                    .cpu_mask(mask)
                    .max_threads(2)
                    .strategy(strategy)
                    .build()
                    .unwrap();
                let mut cipher = accelerator.cbc(&KEY, &IV).unwrap();
                cipher.encrypt((&mut data[..]).into()).unwrap();
                cipher.decrypt((&mut data[..]).into()).unwrap();
                cipher.encrypt_padded(&mut padded).unwrap();
                cipher.set_iv(&IV).unwrap();
                // A session with a new key frees its state.
                cipher.set_key(&[9; 32], &IV).unwrap();
                cipher.decrypt((&mut data[..]).into()).unwrap();
            });
            assert_eq!(found, 0, "{mask} {strategy:?}");
        }
    }
}

/// No key remains in freed memory when a context stays in place and has opened no session; a copy is moved.
#[test]
fn no_key_of_a_context_is_left_in_freed_memory() {
    let _alone = SEARCH.lock().unwrap_or_else(PoisonError::into_inner);
    let mut keys = 0;
    for mask in ["", "-face", "-avx512", "-vaes", "-aes"] {
        let accelerator = Accelerator::builder().cpu_mask(mask).build().unwrap();
        for operation in [
            Algorithm::Aes256Ctr,
            Algorithm::ChaCha20,
            Algorithm::Camellia256Ctr,
            Algorithm::Aes256Cbc,
            Algorithm::Aes256Gcm,
            Algorithm::ChaCha20Poly1305,
        ] {
            for other_key in [None, Some([9; 32])] {
                // A new key each time: a kernel leaves part of its key on the stack, where the next context is created.
                keys += 1;
                let half = *format!("secret number {keys:02}")
                    .as_bytes()
                    .as_array()
                    .unwrap();
                let key = [half; 2].as_flattened().to_vec();
                let found = freed_with(&[half], || {
                    use_in_place(&accelerator, operation, &key, other_key);
                });
                assert_eq!(found, 0, "{mask}, {operation}, {other_key:?}");
            }
        }
    }
}

fn use_in_place(
    accelerator: &Accelerator,
    operation: Algorithm,
    key: &[u8],
    other_key: Option<[u8; 32]>,
) {
    let mut data = [0x55; 1008];
    match operation {
        Algorithm::Aes256Cbc => {
            let mut place = Box::new(None);
            CbcContext::put(&mut place, accelerator.as_ref(), operation, key).unwrap();
            let context = place.as_mut().as_mut().unwrap();
            let mut copy = Box::new(None);
            context.clone_in(&mut copy);
            context.decrypt((&mut data[..]).into()).unwrap();
            if let Some(key) = other_key {
                context.set_key(&key).unwrap();
            }
        }
        Algorithm::Aes256Gcm | Algorithm::ChaCha20Poly1305 => {
            let mut place = Box::new(None);
            AeadContext::put(&mut place, accelerator.as_ref(), operation, key).unwrap();
            let context = place.as_mut().as_mut().unwrap();
            context.begin(&[1; 12]).unwrap();
            context.seal_next((&mut data[..5]).into()).unwrap();
            let mut copy = Box::new(None);
            context.clone_in(&mut copy);
            context.seal_next((&mut data[5..]).into()).unwrap();
            if let Some(key) = other_key {
                context.set_key(&key).unwrap();
            }
        }
        _ => {
            let mut place = Box::new(None);
            StreamContext::put(&mut place, accelerator.as_ref(), operation, key).unwrap();
            let context = place.as_mut().as_mut().unwrap();
            context.apply((&mut data[..5]).into());
            let mut copy = Box::new(None);
            context.clone_in(&mut copy);
            context.apply((&mut data[5..]).into());
            if let Some(key) = other_key {
                context.set_key(&key).unwrap();
            }
        }
    }
}

/// The first key of a context allocates once, and copies share it. GCM's tables come from the thread's last context.
#[test]
fn keys_of_contexts_take_one_place() {
    let _alone = SEARCH.lock().unwrap_or_else(PoisonError::into_inner);
    for mask in ["", "-avx512", "-vaes", "-aes"] {
        let accelerator = Accelerator::builder().cpu_mask(mask).build().unwrap();
        for operation in [Algorithm::Aes256Ctr, Algorithm::ChaCha20] {
            // ChaCha20 also allocates room for the keystream of a partial block.
            let places = if operation == Algorithm::ChaCha20 {
                2
            } else {
                1
            };
            let (mut context, mut copy) = (None, None);
            let new = allocations(|| {
                let made =
                    StreamContext::put(&mut context, accelerator.as_ref(), operation, &[1; 32]);
                made.unwrap();
            });
            let context = context.as_mut().unwrap();
            let same = allocations(|| context.set_key(&[2; 32]).unwrap());
            let copied = allocations(|| context.clone_in(&mut copy));
            let other = allocations(|| context.set_key(&[3; 32]).unwrap());
            let found = [new, same, copied, other];
            assert_eq!(found, [places, 0, places - 1, 1], "{mask}, {operation}");
        }
        let (mut context, mut copy) = (None, None);
        let new = allocations(|| {
            let made = CbcContext::put(
                &mut context,
                accelerator.as_ref(),
                Algorithm::Aes256Cbc,
                &[1; 32],
            );
            made.unwrap();
        });
        let context = context.as_mut().unwrap();
        let same = allocations(|| context.set_key(&[2; 32]).unwrap());
        context.prepare_to_decrypt().unwrap();
        let copied = allocations(|| {
            context.clone_in(&mut copy);
            copy.as_mut().unwrap().prepare_to_decrypt().unwrap();
        });
        let other = allocations(|| context.set_key(&[3; 32]).unwrap());
        assert_eq!([new, same, copied, other], [1, 0, 0, 1], "{mask}, CBC");
        for operation in [Algorithm::Aes256Gcm, Algorithm::ChaCha20Poly1305] {
            let (mut context, mut copy) = (None, None);
            let new = allocations(|| {
                let made =
                    AeadContext::put(&mut context, accelerator.as_ref(), operation, &[1; 32]);
                made.unwrap();
            });
            let context = context.as_mut().unwrap();
            let same = allocations(|| context.set_key(&[2; 32]).unwrap());
            let copied = allocations(|| context.clone_in(&mut copy));
            let other = allocations(|| context.set_key(&[3; 32]).unwrap());
            let found = [new, same, copied, other];
            assert_eq!(found, [1, 0, 0, 1], "{mask}, {operation}");
        }
    }
}

fn allocations(run: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    run();
    ALLOCATIONS.get() - before
}

#[test]
fn inline_requests_allocate_nothing() {
    // The data freed here is keystream, which a concurrent search would find.
    let _alone = SEARCH.lock().unwrap_or_else(PoisonError::into_inner);
    for mask in ["", "-avx512", "-vaes", "-aes"] {
        let accelerator = Accelerator::builder()
            .cpu_mask(mask)
            .max_threads(0)
            .build()
            .unwrap();
        let mut cipher = accelerator.ctr(&KEY, &IV).unwrap();
        let mut data = vec![0; 300_000];
        let before = ALLOCATIONS.get();
        for bytes in [0, 1, 15, 16, 64, 1000, 4096, 10_000, 65_536, 300_000] {
            cipher.apply_keystream(&mut data[..bytes]);
        }
        cipher.seek(12345u64);
        cipher.set_iv(&[1; 16]).unwrap();
        cipher.apply_keystream(&mut data[..100]);
        assert_eq!(ALLOCATIONS.get(), before, "{mask}");
        let mut cipher = accelerator
            .stream(Algorithm::ChaCha20, &[1; 32], &[1; 12])
            .unwrap();
        let before = ALLOCATIONS.get();
        for bytes in [0, 1, 15, 16, 64, 64, 64, 64, 1000, 4096, 5] {
            cipher.apply_keystream(&mut data[..bytes]);
        }
        assert_eq!(ALLOCATIONS.get(), before, "{mask}");
        let mut cipher = accelerator.cbc(&KEY, &IV).unwrap();
        let mut message = Vec::with_capacity(64);
        let before = ALLOCATIONS.get();
        for bytes in [0, 16, 64, 1008, 4096, 65_536, 300_000] {
            cipher.encrypt((&mut data[..bytes]).into()).unwrap();
            cipher.decrypt((&mut data[..bytes]).into()).unwrap();
        }
        message.extend_from_slice(b"attack at dawn");
        cipher.encrypt_padded(&mut message).unwrap();
        cipher.set_iv(&[1; 16]).unwrap();
        assert_eq!(ALLOCATIONS.get(), before, "{mask}");
    }
    // Inline by choice, too: the shortest request that is long enough for a choice, and the longest that wakes no helper,
    // each the first choice of its session. These lengths depend on the kernel.
    let accelerator = Accelerator::builder().build().unwrap();
    // Reads the number of CPUs, once in a process.
    accelerator.parallelism();
    let lengths = |operation| {
        let plan = accelerator.plan(operation).unwrap();
        let longest = plan.striped_from_if_asleep.map(|from| from - 16);
        [plan.looked_at_from, longest]
            .map(|bytes| bytes.map_or(300_000, |bytes| bytes.next_multiple_of(16)))
    };
    for bytes in lengths(Algorithm::Aes128Ctr) {
        let mut cipher = accelerator.ctr(&KEY, &IV).unwrap();
        let mut data = vec![0; bytes];
        let before = ALLOCATIONS.get();
        cipher.apply_keystream(&mut data[..1]);
        cipher.apply_keystream(&mut data[..64]);
        cipher.apply_keystream(&mut data);
        assert_eq!(ALLOCATIONS.get(), before, "{bytes}");
    }
    for bytes in lengths(Algorithm::Aes128Cbc) {
        let mut cipher = accelerator.cbc(&KEY, &IV).unwrap();
        let mut data = vec![0; bytes];
        let before = ALLOCATIONS.get();
        cipher.decrypt((&mut data[..16]).into()).unwrap();
        cipher.decrypt((&mut data[..64]).into()).unwrap();
        cipher.decrypt((&mut data[..]).into()).unwrap();
        assert_eq!(ALLOCATIONS.get(), before, "{bytes}");
    }
    assert_eq!(accelerator.threads(), 0);
}

/// Returns the secrets derived from the master key `KEY` with a zero salt: the cipher's key, and the beginning of HMAC's
/// state after the inner block (RFC 3711, 4.3; RFC 2104).
fn srtp_secrets() -> Vec<[u8; 16]> {
    let accelerator = Accelerator::builder().max_threads(0).build().unwrap();
    let derived = |label: u8| {
        let mut derived = [0; 20];
        let mut iv = [0; 16];
        iv[7] = label;
        let mut cipher = accelerator.ctr(&KEY, &iv).unwrap();
        cipher.apply_keystream(&mut derived);
        derived
    };
    let mut block = [0x36; 64];
    (block.iter_mut().zip(derived(1))).for_each(|(byte, key)| *byte ^= key);
    let mut state = [
        0x6745_2301,
        0xefcd_ab89,
        0x98ba_dcfe,
        0x1032_5476,
        0xc3d2_e1f0,
    ];
    sha1::block_api::compress(&mut state, &[block]);
    let state: Vec<u8> = state.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let secrets = [
        KEY,
        derived(0)[..16].try_into().unwrap(),
        state[..16].try_into().unwrap(),
    ];
    secrets.to_vec()
}

#[test]
fn no_key_of_srtp_is_left_in_freed_memory_and_no_packet_allocates() {
    use oarlock::packet::srtp::{InboundPacket, MasterKey, OutboundPacket, Policy, Suite};

    let _alone = SEARCH.lock().unwrap_or_else(PoisonError::into_inner);
    for mask in ["", "-avx512", "-aes"] {
        let secrets = std::thread::spawn(srtp_secrets).join().unwrap();
        let found = freed_with(&secrets, || {
            let accelerator = Accelerator::builder()
                .cpu_mask(mask)
                .max_threads(0)
                .build()
                .unwrap();
            let mut material = [0; 30];
            material[..16].copy_from_slice(&KEY);
            let key = MasterKey {
                mki: &[1],
                key: &material,
            };
            let keys = [key];
            let suite = Suite::AesCm128HmacSha1_80;
            let policy = Policy::with_keys(suite, &keys);
            let mut outbound = accelerator.srtp_outbound(&policy).unwrap();
            let mut inbound = accelerator.srtp_inbound(&policy).unwrap();
            // The list of keys grows.
            for mki in 2..10 {
                let mki = [mki];
                outbound.add_key(MasterKey { mki: &mki, ..key }).unwrap();
            }
            let mut buffers = [[0; 240]; 40];
            let mut sequence = 0_u16;
            let mut allocated = Vec::with_capacity(3);
            for _ in 0..3 {
                for buffer in &mut buffers {
                    sequence += 1;
                    buffer[0] = 0x80;
                    buffer[2..4].copy_from_slice(&sequence.to_be_bytes());
                }
                // The first packet of a source allocates the source's state.
                let before = ALLOCATIONS.get();
                let mut packets = buffers.each_mut().map(|it| OutboundPacket::new(it, 200));
                outbound.protect(&mut packets);
                assert!(packets.iter().all(|packet| packet.protected().is_ok()));
                let mut packets = buffers
                    .each_mut()
                    .map(|it| InboundPacket::new(&mut it[..211]));
                inbound.unprotect(&mut packets);
                assert!(packets.iter().all(|packet| packet.unprotected().is_ok()));
                allocated.push(ALLOCATIONS.get() - before);
            }
            assert_eq!(allocated[1..], [0, 0], "{mask}");
        });
        assert_eq!(found, 0, "{mask}");
    }
}

/// Returns the traffic secret, its key, and the next generation's secret (RFC 8446, 7.2 and 7.3).
fn tls_secrets(secret: &[u8; 32]) -> Vec<[u8; 16]> {
    use hmac::{Hmac, KeyInit, Mac};

    let expand = |label: &[u8], bytes: u8| -> [u8; 16] {
        let mut mac = Hmac::<sha2::Sha256>::new_from_slice(secret).unwrap();
        mac.update(&[0, bytes, 6 + label.len() as u8]);
        mac.update(b"tls13 ");
        mac.update(label);
        mac.update(&[0, 1]);
        mac.finalize().into_bytes()[..16].try_into().unwrap()
    };
    let given = secret[..16].try_into().unwrap();
    vec![given, expand(b"key", 16), expand(b"traffic upd", 32)]
}

#[test]
fn no_key_of_tls_is_left_in_freed_memory_and_no_record_allocates() {
    use oarlock::packet::tls::{ContentType, InboundRecord, Keys, OutboundRecord, Suite};

    let _alone = SEARCH.lock().unwrap_or_else(PoisonError::into_inner);
    let secret = *b"a secret of as many as 32 bytes.";
    for mask in ["", "-avx512", "-aes"] {
        let secrets = std::thread::spawn(move || tls_secrets(&secret));
        let secrets = secrets.join().unwrap();
        let found = freed_with(&secrets, || {
            let accelerator = Accelerator::builder()
                .cpu_mask(mask)
                .max_threads(0)
                .build()
                .unwrap();
            let keys = Keys::from_secret(Suite::Aes128GcmSha256, &secret);
            let mut outbound = accelerator.tls_outbound(&keys).unwrap();
            let mut inbound = accelerator.tls_inbound(&keys).unwrap();
            let mut stream = vec![7; 40 * 222];
            let mut long = vec![0; 100 * 222];
            let data = [9; 4_000];
            let mut found = vec![InboundRecord::default(); 200];
            for _ in 0..3 {
                let before = ALLOCATIONS.get();
                let (slots, _) = stream.as_chunks_mut::<222>();
                let slots: &mut [[u8; 222]; 40] = slots.try_into().unwrap();
                let content_type = ContentType::APPLICATION_DATA;
                let mut records =
                    (slots.each_mut()).map(|slot| OutboundRecord::new(slot, 5..205, content_type));
                outbound.seal(&mut records);
                assert!(records.iter().all(|record| record.sealed().is_ok()));
                let bytes = outbound
                    .seal_stream(content_type, &data, &mut long)
                    .unwrap();
                let opened = inbound.open(&mut stream, &mut found);
                assert_eq!(opened.records, 40);
                assert_eq!(inbound.open(&mut long[..bytes], &mut found).records, 1);
                assert_eq!(ALLOCATIONS.get(), before, "{mask}");
                outbound.update().unwrap();
                inbound.update().unwrap();
            }
        });
        assert_eq!(found, 0, "{mask}");
    }
}

#[test]
fn the_second_decryption_in_stripes_allocates_no_more_than_counter_mode() {
    let _alone = SEARCH.lock().unwrap_or_else(PoisonError::into_inner);
    let accelerator = Accelerator::builder()
        .max_threads(1)
        .min_threads(1)
        .strategy(Strategy::Stripe)
        .build()
        .unwrap();
    let mut data = vec![0; 1_000_000];
    let mut ctr = accelerator.ctr(&KEY, &IV).unwrap();
    let mut cbc = accelerator.cbc(&KEY, &IV).unwrap();
    ctr.apply_keystream(&mut data);
    cbc.decrypt((&mut data[..]).into()).unwrap();
    let before = ALLOCATIONS.get();
    ctr.apply_keystream(&mut data);
    let of_ctr = ALLOCATIONS.get() - before;
    cbc.decrypt((&mut data[..]).into()).unwrap();
    assert_eq!(ALLOCATIONS.get() - before, 2 * of_ctr);
}
