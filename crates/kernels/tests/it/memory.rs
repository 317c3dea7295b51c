//! Which memory the kernels access, and what they leave behind.

use core::mem::MaybeUninit;
use inout::InOutBuf;
use oarlock_kernels::aes::Ctr;
use oarlock_kernels::batch::{HmacKey, Sha256};
use oarlock_kernels::cbc::Cbc;
use oarlock_kernels::chacha20::{self, ChaCha20};
use oarlock_kernels::chacha20_poly1305::{ChaCha20Poly1305, Due, Message, Partial};
use oarlock_kernels::cpu::Cpu;
use oarlock_kernels::gcm::{self, Gcm};
use oarlock_kernels::testing;

use super::pages::{Pages, assert_is_wiped};
use super::{Way, for_every_way, with_others};

for_every_way!(
    nothing_beyond_a_page_is_touched,
    nothing_beyond_a_page_is_touched_by_gcm,
);

/// Buffers that end where an inaccessible page begins, and buffers that begin where one ends.
fn nothing_beyond_a_page_is_touched(way: Way) {
    let input = Pages::new(3);
    let output = Pages::new(3);
    let mut subject = way.subject_with(&[7; 16]).unwrap();
    let lengths = (0..=300).chain([511, 1000, 1027, 4095, 4096, 4099, 4160, 8191, 12_288]);
    for length in lengths {
        for counter in [0, 5, 254, 0xffff_fffd] {
            for at in [0, input.bytes() - length] {
                // SAFETY: `at` and `length` lie within three pages of `input` and of `output`, which no other test uses.
                unsafe {
                    let (from, to) = (input.start().add(at), output.start().add(at));
                    let data = InOutBuf::from_raw(from, to, length);
                    subject.apply(counter, 3, data);
                    let data = core::slice::from_raw_parts_mut(from, length);
                    subject.apply(counter, 3, data.into());
                    let expected = core::slice::from_raw_parts(to, length);
                    let data = core::slice::from_raw_parts(from, length);
                    assert!(data == expected, "{way:?}, {length} bytes, {counter:#x}");
                }
            }
        }
    }
}

/// The same for CBC, in both directions.
#[test]
fn cbc_touches_nothing_beyond_a_page() {
    let _guard = with_others();
    let input = Pages::new(3);
    let output = Pages::new(3);
    for backend in Cpu::detect().aes_backends() {
        let mut cbc = Cbc::unkeyed(backend);
        cbc.set_key(&[7; 16]).unwrap();
        for blocks in (0..=70).chain([255, 256, 257, 767, 768]) {
            let length = 16 * blocks;
            for at in [0, input.bytes() - length] {
                // SAFETY: whole blocks from `at` on lie within the pages of each buffer, which are used in turn.
                let data = unsafe {
                    let (from, to) = (input.start().add(at), output.start().add(at));
                    core::slice::from_raw_parts_mut(from, length).fill(0x3e);
                    cbc.encrypt(&mut [1; 16], InOutBuf::from_raw(from, to, length));
                    cbc.decrypt(&mut [1; 16], InOutBuf::from_raw(to, from, length));
                    core::slice::from_raw_parts(from, length)
                };
                assert!(
                    data.iter().all(|byte| *byte == 0x3e),
                    "{backend:?}, {length} bytes"
                );
            }
        }
    }
}

/// Data, and associated data, that ends where an inaccessible page begins, or begins where one ends.
fn nothing_beyond_a_page_is_touched_by_gcm(way: Way) {
    let input = Pages::new(2);
    let output = Pages::new(2);
    let gcm = way.gcm(&[7; 16]).unwrap();
    for length in (0..=300).chain([511, 600, 1000, 1027, 4095, 4099, 8191, 8192]) {
        for at in [0, input.bytes() - length] {
            // SAFETY: data and associated data lie within the two pages of each buffer; for `data` in place, the borrow is
            // exclusive.
            unsafe {
                let (from, to) = (input.start().add(at), output.start().add(at));
                let aad = core::slice::from_raw_parts(to, length.min(100));
                let hashed = gcm.begin(&[2; 12], aad).unwrap();
                let data = InOutBuf::from_raw(from, to, length);
                let tag = gcm.seal(&[1; 12], &[], data).unwrap();
                let data = core::slice::from_raw_parts_mut(from, length);
                assert_eq!(gcm.seal(&[1; 12], &[], data.into()), Ok(tag));
                let expected = core::slice::from_raw_parts(to, length);
                let data = core::slice::from_raw_parts_mut(from, length);
                assert!(data == expected, "{way:?}, {length} bytes");
                gcm.open(&[1; 12], &[], data.into(), &tag).unwrap();
                let data = InOutBuf::from_raw(to, from, length);
                gcm.open(&[1; 12], &[], data, &tag).unwrap();
                gcm.finish(hashed);
                // In pieces; the first may be all of it.
                let mut message = gcm.begin(&[1; 12], &[]).unwrap();
                let data = InOutBuf::from_raw(from, to, length);
                gcm.seal_next(&mut message, data).unwrap();
                assert_eq!(gcm.finish(message), tag, "{way:?}, {length} bytes");
                let mut message = gcm.begin(&[2; 12], b"").unwrap();
                gcm.aad_next(&mut message, aad).unwrap();
                gcm.finish(message);
            }
        }
    }
}

#[test]
fn a_dropped_cbc_key_is_wiped() {
    let _guard = with_others();
    for backend in Cpu::detect().aes_backends() {
        for key_bytes in [16, 24, 32] {
            let mut place = MaybeUninit::<Cbc>::zeroed();
            let cbc = place.write(Cbc::unkeyed(backend));
            cbc.set_key(&key(key_bytes)).unwrap();
            cbc.decrypt(&mut [0; 16], (&mut [0; 1024][..]).into());
            let words = usize::from(key_bytes) + 28;
            let secrets =
                testing::cbc_round_keys(cbc).map(|keys| keys.as_flattened()[..words].to_vec());
            let secrets = secrets.concat();
            assert_is_wiped(&mut place, &secrets);
        }
    }
}

#[test]
fn a_dropped_hmac_key_is_wiped() {
    let _guard = with_others();
    let mut place = MaybeUninit::<HmacKey<Sha256>>::zeroed();
    let key = place.write(HmacKey::new(&[7; 32]));
    let secrets = testing::hmac_states(key).concat();
    assert_is_wiped(&mut place, &secrets);
}

#[test]
fn a_dropped_gcm_key_is_wiped() {
    let _guard = with_others();
    for backend in Cpu::detect().aes_backends() {
        // Each long message computes more powers, or rows, until all are computed.
        let mut powers_before = 0;
        for long_messages in 0..4 {
            let mut place = Box::new(MaybeUninit::<Gcm>::zeroed());
            let gcm = place.write(Gcm::unkeyed(backend));
            gcm.set_key(&key(32)).unwrap();
            for _ in 0..long_messages {
                gcm.seal(&[1; 12], &[], (&mut [0; 5000][..]).into())
                    .unwrap();
            }
            let mut secrets = testing::round_keys(testing::gcm_cipher(gcm))
                .as_flattened()
                .to_vec();
            let mut powers: Vec<_> = testing::powers_of_h(gcm).collect();
            powers.retain(|power| *power != [0; 16]);
            let all_made = match backend.name() {
                "portable" => 0,
                "aes-ni" | "vaes-256" | "vaes-512" => 2,
                _ => 1,
            };
            assert!(powers.len() > powers_before || long_messages > all_made);
            powers_before = powers.len();
            for power in powers {
                let (words, _) = power.as_chunks();
                secrets.extend(words.iter().map(|word| u32::from_ne_bytes(*word)));
            }
            assert_is_wiped(&mut place, &secrets);
        }
    }
}

/// Wipes the GHASH so far, and what is stored for the end after the first data: the tag if no more data follows, or its
/// mask.
#[test]
fn a_dropped_gcm_message_is_wiped() {
    let _guard = with_others();
    for backend in Cpu::detect().aes_backends() {
        let mut gcm = Gcm::unkeyed(backend);
        gcm.set_key(&key(16)).unwrap();
        let (nonce, data) = ([1; 12], [2; 21]);
        let tag = gcm.seal(&nonce, &[], (&mut { data }[..]).into()).unwrap();
        let mut mask = [0; 16];
        gcm.keystream(&nonce, &mut mask).unwrap();
        let mut place = MaybeUninit::<gcm::Message>::zeroed();
        let message = place.write(gcm.begin(&nonce, &[]).unwrap());
        gcm.seal_next(message, (&mut { data }[..]).into()).unwrap();
        let end = match backend.name() {
            "aes-ni" | "vaes-256" | "vaes-512" => tag,
            _ => mask,
        };
        let mut secrets = words(&testing::gcm_hash(message).to_ne_bytes());
        secrets.extend(words(&end));
        assert_is_wiped(&mut place, &secrets);
    }
}

#[test]
fn a_dropped_chacha_key_is_wiped() {
    let _guard = with_others();
    for backend in chacha20::Backend::all(Cpu::detect()) {
        let secrets = words(&key(32));
        let mut place = MaybeUninit::<ChaCha20>::zeroed();
        let cipher = place.write(ChaCha20::unkeyed(backend));
        cipher.set_key(&key(32)).unwrap();
        cipher.apply(1, 5, (&mut [0; 1000][..]).into());
        assert_is_wiped(&mut place, &secrets);

        let mut place = MaybeUninit::<ChaCha20Poly1305>::zeroed();
        let aead = place.write(ChaCha20Poly1305::unkeyed(backend));
        aead.set_key(&key(32)).unwrap();
        aead.seal(&[1; 12], &[], (&mut [0; 5000][..]).into())
            .unwrap();
        assert_is_wiped(&mut place, &secrets);
    }
}

/// Wipes the one-time key of a message, and the value of a stripe.
#[test]
fn a_dropped_chacha_message_is_wiped() {
    let _guard = with_others();
    for backend in chacha20::Backend::all(Cpu::detect()) {
        let mut aead = ChaCha20Poly1305::unkeyed(backend);
        aead.set_key(&key(32)).unwrap();
        let mut one_time = [0; 32];
        aead.keystream(&[1; 12], &mut one_time).unwrap();
        // RFC 8439, section 2.5.
        let clamp = 0x0fff_fffc_0fff_fffc_0fff_fffc_0fff_ffff_u128.to_le_bytes();
        for (byte, clamp) in one_time.iter_mut().zip(clamp) {
            *byte &= clamp;
        }
        let mut place = MaybeUninit::<Message>::zeroed();
        let message = place.write(aead.begin(&[1; 12], b"aad").unwrap());
        let mut data = [0; 3000];
        let partial = aead.seal_stripe(message, 0, (&mut data[..]).into());
        aead.seal_next(message, (&mut data[..]).into()).unwrap();
        assert_is_wiped(&mut place, &words(&one_time));

        let mut place = MaybeUninit::<Option<Message>>::zeroed();
        let message = place.write(None);
        let due = Due::new(&[1; 12]).unwrap();
        aead.seal_first(message, &due, (&mut data[..]).into())
            .unwrap();
        assert_is_wiped(&mut place, &words(&one_time));

        let mut place = MaybeUninit::<Partial>::zeroed();
        place.write(partial);
        // SAFETY: zeroed, then written; a value has more than 16 bytes, without padding among the first 16.
        let value = unsafe { place.as_ptr().cast::<[u8; 16]>().read() };
        assert_ne!(value, [0; 16], "the stripe has a value");
        assert_is_wiped(&mut place, &words(&value));
    }
}

/// Wipes the associated data that it holds.
#[test]
fn a_dropped_message_that_is_due_is_wiped() {
    let aad = key(48);
    let mut place = MaybeUninit::<Due>::zeroed();
    let due = place.write(Due::new(&[1; 12]).unwrap());
    assert!(due.takes(&aad[..13]) && !due.takes(&aad[12..]) && due.takes(&aad[13..]));
    assert_is_wiped(&mut place, &words(&aad));
}

/// The assembly kernels put words of the state on the stack. (So do unoptimised builds, for everything that they XOR: this
/// looks only for what these kernels XOR themselves.)
#[cfg(target_arch = "x86_64")]
#[test]
fn kernels_by_columns_leave_no_keystream_on_the_stack() {
    let _guard = with_others();
    let mut backends = chacha20::Backend::all(Cpu::detect())
        .filter(|backend| matches!(backend.name(), "avx2" | "ssse3"))
        .peekable();
    if backends.peek().is_none() {
        return oarlock_testing::skip("this CPU lacks SSSE3");
    }
    backends.for_each(leaves_no_keystream);
}

/// Two adjacent 32-byte round keys reveal the key.
#[test]
fn a_shorter_key_of_aes_leaves_nothing_of_a_longer_one() {
    let _guard = with_others();
    for way in Way::ALL.into_iter().filter(|way| way.cpu().is_some()) {
        let mut gcm = way.gcm(&key(32)).unwrap();
        gcm.set_key(&key(16)).unwrap();
        let left = &testing::round_keys(testing::gcm_cipher(&gcm))[11..];
        assert!(left.as_flattened().iter().all(|word| *word == 0), "{way:?}");
    }
}

#[cfg(target_arch = "x86_64")]
fn leaves_no_keystream(backend: chacha20::Backend) {
    let mut cipher = Box::new(ChaCha20::unkeyed(backend));
    cipher.set_key(&key(32)).unwrap();
    let mut aead = Box::new(ChaCha20Poly1305::unkeyed(backend));
    aead.set_key(&key(32)).unwrap();
    let mut keystream = vec![0; 6400];
    aead.keystream(&[1; 12], &mut keystream).unwrap();
    let counter = u128::from_be_bytes([1; 16]) >> 32 << 32;
    // Multiples of the chunks of both.
    for length in [64_usize, 512, 576, 640, 1152, 5248] {
        let length = match backend.name() {
            // Chunks of four blocks, or of five where the integer units have ports of their own.
            "ssse3" if length > 64 => length.next_multiple_of(4 * 5 * 64),
            _ => length,
        };
        let mut data = vec![0; length];
        let stack = on_its_own_stack(|| cipher.apply(counter, 0, data.as_mut_slice().into()));
        assert!(data == keystream[..length]);
        assert_nothing_of(&keystream[..length], &stack, length);
    }
    // The first chunk of a message is processed by Rust code.
    for length in [1024, 5120] {
        let mut data = vec![0; length];
        let stack = on_its_own_stack(|| {
            aead.seal(&[1; 12], &[], data.as_mut_slice().into())
                .unwrap();
        });
        assert!(data == keystream[64..64 + length]);
        assert_nothing_of(&keystream[64 + 512..64 + length], &stack, length);
    }
}

/// Looks for the key and for 16 bytes of the keystream at any multiple of 16: neither may be found.
#[cfg(target_arch = "x86_64")]
fn assert_nothing_of(keystream: &[u8], stack: &[u8], length: usize) {
    let key = key(32);
    let mut secrets: std::collections::HashSet<&[u8]> = keystream.chunks_exact(16).collect();
    secrets.extend(key.chunks_exact(16));
    assert!(stack.iter().any(|byte| *byte != 0), "the stack was in use");
    for at in 0..stack.len() - 15 {
        let bytes = &stack[at..at + 16];
        assert!(
            !secrets.contains(bytes),
            "{length} bytes: at {at} the key is left, or byte {:?} of the keystream",
            keystream.windows(16).position(|secret| secret == bytes)
        );
    }
}

/// Runs `work` on a thread whose stack this test has allocated, and returns what it left there.
#[cfg(target_arch = "x86_64")]
fn on_its_own_stack<F: FnMut()>(mut work: F) -> Vec<u8> {
    extern "C" fn run<F: FnMut()>(work: *mut libc::c_void) -> *mut libc::c_void {
        // SAFETY: `work` outlives the thread, which is its only user until it ends.
        unsafe { (*work.cast::<F>())() }
        std::ptr::null_mut()
    }
    let pages = Pages::new(64);
    // SAFETY: the pages are mapped and outlive the thread, which is joined; so does `work`.
    unsafe {
        let mut attributes = MaybeUninit::uninit();
        let mut thread = MaybeUninit::uninit();
        let attributes = attributes.as_mut_ptr();
        assert_eq!(libc::pthread_attr_init(attributes), 0);
        let (start, bytes) = (pages.start().cast(), pages.bytes());
        assert_eq!(libc::pthread_attr_setstack(attributes, start, bytes), 0);
        let work = (&raw mut work).cast();
        let made = libc::pthread_create(thread.as_mut_ptr(), attributes, run::<F>, work);
        assert_eq!(made, 0);
        let joined = libc::pthread_join(thread.assume_init(), std::ptr::null_mut());
        assert_eq!(joined, 0);
        libc::pthread_attr_destroy(attributes);
        core::slice::from_raw_parts(pages.start(), pages.bytes()).to_vec()
    }
}

#[test]
fn a_dropped_key_is_wiped() {
    let _guard = with_others();
    for backend in Cpu::detect().aes_backends() {
        for key_bytes in [16, 24, 32] {
            let mut place = MaybeUninit::<Ctr>::zeroed();
            let ctr = place.write(Ctr::unkeyed(backend));
            ctr.set_key(&key(key_bytes)).unwrap();
            ctr.apply(1, 5, (&mut [0; 1000][..]).into());
            let words = testing::round_keys(ctr).as_flattened().to_vec();
            assert_is_wiped(&mut place, &words[..usize::from(key_bytes) + 28]);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_dropped_table_is_wiped() {
    use oarlock_kernels::aes::{CachedCtr, Face};

    let _guard = with_others();
    let Some(face) = Face::new(Cpu::detect()) else {
        return oarlock_testing::skip("this CPU lacks AVX-512 or VAES");
    };
    let mut place = Box::new(MaybeUninit::<CachedCtr>::zeroed());
    let ctr = place.write(CachedCtr::unkeyed(face));
    ctr.set_key(&key(32)).unwrap();
    ctr.apply(1, 5, (&mut [0; 20_000][..]).into());
    let mut secrets = testing::round_keys(testing::uncached(ctr))
        .as_flattened()
        .to_vec();
    for entry in testing::cached_states(ctr) {
        assert_ne!(*entry, [0; 16], "the table is in use");
        let (words, _) = entry.as_chunks();
        secrets.extend(words.iter().map(|word| u32::from_le_bytes(*word)));
    }
    assert_is_wiped(&mut place, &secrets);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_dropped_modulus_is_wiped() {
    use oarlock_kernels::modexp::{Modulus, Width};

    let mut place = MaybeUninit::<Modulus>::zeroed();
    let modulus = place.write(Modulus::unset(Width::Bits512));
    let bytes: Vec<u8> = (0..64).map(|i: u8| i.wrapping_mul(151) | 1).collect();
    modulus.set(&bytes).unwrap();
    let secrets: Vec<u32> = testing::secrets(modulus)
        .flat_map(|word| words(&word.to_le_bytes()))
        .collect();
    assert_is_wiped(&mut place, &secrets);
}

pub(super) fn words(bytes: &[u8]) -> Vec<u32> {
    let (words, _) = bytes.as_chunks();
    words.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

fn key(bytes: u8) -> Vec<u8> {
    (0..bytes).map(|i| i.wrapping_mul(29) ^ 0x5c).collect()
}
