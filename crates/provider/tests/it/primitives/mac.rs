//! HMAC (EVP_MAC(3)).

use std::ffi::{c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

use oarlock_engine::Primitive;
use oarlock_engine::costs::Performed;

use super::{SIDES, Script, Seen, TYPES, Values, asked, counted, errors, rounds};
use crate::driver::{Param, evp_functions, libcrypto};

evp_functions! {
    Functions:
    EVP_MAC_fetch: fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    EVP_MAC_free: fn(*mut c_void);
    EVP_MAC_CTX_new: fn(*mut c_void) -> *mut c_void;
    EVP_MAC_CTX_free: fn(*mut c_void);
    EVP_MAC_CTX_dup: fn(*const c_void) -> *mut c_void;
    EVP_MAC_CTX_get_mac_size: fn(*mut c_void) -> usize;
    EVP_MAC_CTX_get_block_size: fn(*mut c_void) -> usize;
    EVP_MAC_CTX_gettable_params: fn(*mut c_void) -> *const Param;
    EVP_MAC_CTX_settable_params: fn(*mut c_void) -> *const Param;
    EVP_MAC_CTX_get_params: fn(*mut c_void, *mut Param) -> c_int;
    EVP_MAC_CTX_set_params: fn(*mut c_void, *const Param) -> c_int;
    EVP_MAC_init: fn(*mut c_void, *const u8, usize, *const Param) -> c_int;
    EVP_MAC_update: fn(*mut c_void, *const u8, usize) -> c_int;
    EVP_MAC_final: fn(*mut c_void, *mut u8, *mut usize, usize) -> c_int;
}

fn functions() -> &'static Functions {
    static FUNCTIONS: OnceLock<Functions> = OnceLock::new();
    FUNCTIONS.get_or_init(|| Functions::load(libcrypto()))
}

/// A context of one provider.
struct Mac(*mut c_void);

impl Mac {
    fn new(side: usize) -> Self {
        // SAFETY: the library context is the tests', which is never freed.
        unsafe { Self::of(libcrypto().library_context(), side) }
    }

    /// # Safety
    /// The library context is live.
    unsafe fn of(context: *mut c_void, side: usize) -> Self {
        let functions = functions();
        // SAFETY: the caller's library context is live, and the texts by which the MAC is fetched are NUL-terminated.
        unsafe {
            let mac = (functions.EVP_MAC_fetch)(context, c"HMAC".as_ptr(), SIDES[side].as_ptr());
            assert!(!mac.is_null(), "{:?}", SIDES[side]);
            let made = Self((functions.EVP_MAC_CTX_new)(mac));
            (functions.EVP_MAC_free)(mac);
            made
        }
    }

    fn init(&self, key: Option<&[u8]>, values: Option<&mut Values>) -> Seen {
        let params = values.map(Values::params);
        let params = params.as_ref().map_or(null(), |params| params.as_ptr());
        let (key, bytes) = key.map_or((null(), 0), |key| (key.as_ptr(), key.len()));
        // SAFETY: the context is live, the key is null or has that length, and the array is null or terminated.
        let done = unsafe { (functions().EVP_MAC_init)(self.0, key, bytes, params) };
        (done, Vec::new(), errors())
    }

    fn set(&self, values: &mut Values) -> Seen {
        let params = values.params();
        // SAFETY: the MAC context is live, and the array is terminated.
        let done = unsafe { (functions().EVP_MAC_CTX_set_params)(self.0, params.as_ptr()) };
        (done, Vec::new(), errors())
    }

    fn update(&self, data: &[u8]) -> Seen {
        // SAFETY: the context is live, and the data has the length passed.
        let done = unsafe { (functions().EVP_MAC_update)(self.0, data.as_ptr(), data.len()) };
        (done, Vec::new(), errors())
    }

    fn finish(&self, room: usize) -> Seen {
        // An XOF writes more than it reports.
        let (mut tag, mut bytes) = (vec![0; room + 128], 0);
        let (finish, place) = (functions().EVP_MAC_final, tag.as_mut_ptr());
        // SAFETY: the context is live, and the buffer is longer than `room`.
        let done = unsafe { finish(self.0, place, &mut bytes, room) };
        tag.truncate(if done == 1 { bytes } else { 0 });
        (done, tag, errors())
    }

    /// Returns the tag's length, requested with a null buffer.
    fn tag_bytes(&self) -> Seen {
        let mut bytes = 0;
        // SAFETY: the context is live, and the length has room.
        let done = unsafe { (functions().EVP_MAC_final)(self.0, null_mut(), &mut bytes, 0) };
        (done, bytes.to_ne_bytes().to_vec(), errors())
    }

    fn get(&self, script: &mut Script) -> Seen {
        let get = functions().EVP_MAC_CTX_get_params;
        let names = ["size", "size", "block-size", "digest", "unknown"];
        // SAFETY: the context is live, and the array is terminated and has places of the lengths that it declares.
        let (done, left) = asked(script, &names, &mut |params| unsafe { get(self.0, params) });
        // For a place of a wrong type or size, releases since 3.2 raise errors of their own (docs/internals/openssl-differences.md).
        errors();
        (done, left, Vec::new())
    }

    /// Returns the lists of gettable and settable parameters.
    fn described(&self) -> Seen {
        // SAFETY: the MAC context is live, and its lists are terminated.
        let lists = unsafe {
            [
                Param::listed((functions().EVP_MAC_CTX_gettable_params)(self.0)),
                Param::listed((functions().EVP_MAC_CTX_settable_params)(self.0)),
            ]
        };
        (1, format!("{lists:?}").into_bytes(), errors())
    }

    fn sizes(&self) -> Seen {
        // SAFETY: the MAC context is live, and the calls only read its sizes.
        let sizes = unsafe {
            [
                (functions().EVP_MAC_CTX_get_mac_size)(self.0),
                (functions().EVP_MAC_CTX_get_block_size)(self.0),
            ]
        };
        (1, sizes.map(|size| size as u8).to_vec(), errors())
    }

    fn copy(&self) -> Self {
        // SAFETY: the MAC context is live; the copy is a new one.
        let copy = unsafe { (functions().EVP_MAC_CTX_dup)(self.0) };
        assert!(!copy.is_null());
        Self(copy)
    }
}

impl Drop for Mac {
    fn drop(&mut self) {
        // SAFETY: this value owns the MAC context.
        unsafe { (functions().EVP_MAC_CTX_free)(self.0) };
    }
}

fn setting(script: &mut Script, values: Values) -> Values {
    let digests = [
        "SHA256",
        "SHA2-256",
        "SHA384",
        "SHA512",
        "SHA1",
        "SHA224",
        "SHA512-256",
        "SHA2-512/224",
        "MD5",
        "SHA3-256",
        "SHAKE-128",
        "none",
    ];
    let among = if script.below(3) == 0 {
        digests.len()
    } else {
        8
    };
    match script.below(8) {
        0..5 => values.text("digest", script.pick(&digests[..among])),
        5 => values.octets("key", &script.octets(&[16, 32, 64, 65, 128, 129, 200, 0])),
        6 => values.int(script.pick(&["digest-noinit", "digest-oneshot"]), 0),
        _ => match script.below(6) {
            0 => values.text("properties", "provider=default"),
            1 => values.octets("unknown", b"value"),
            2 => values.text("key", "text"),
            3 => values.nothing("key", Param::OCTET_STRING),
            4 => values.value(
                script.pick(&["digest", "key", "tls-data-size"]),
                script.pick(&TYPES[..4]),
                &script.octets(&[1, 3, 4, 8, 9]),
            ),
            _ => values.nothing("digest", script.pick(&TYPES[2..4])),
        },
    }
}

/// Runs a script on both sides; returns the first call that differs, with both results.
fn run(seed: u64) -> Result<usize, String> {
    let mut script = Script::new(seed);
    let mut sides = [0, 1].map(Mac::new);
    let mut calls = Vec::new();
    // After the end of a message a context must be initialized again (EVP_MAC(3)). In the middle of one, its settings may
    // change, except for the length of a TLS record.
    let (mut is_begun, mut is_ended) = (false, false);
    for _ in 0..3 + script.below(14) {
        let mut values = Values::default();
        for _ in 0..script.below(3) {
            values = setting(&mut script, values);
        }
        let data = script.octets(&[0, 1, 55, 64, 100, 300, 1000]);
        let key = script.octets(&[16, 32, 20, 64, 100, 128, 129, 200]);
        let key = (script.below(3) > 0).then_some(key);
        let room = script.pick(&[64, 64, 64, 32, 10]);
        let what = script.below(16);
        let what = if is_begun && what == 3 && values.has("tls-data-size")
            || is_ended && (3..12).contains(&what)
        {
            0
        } else {
            what
        };
        let text = format!(
            "{what} {room} {:?} {} {values:?}",
            key.as_ref().map(Vec::len),
            data.len()
        );
        let asks = script.clone();
        let seen = sides.each_mut().map(|side| match what {
            12 => side.get(&mut asks.clone()),
            13 => side.described(),
            14 if !is_ended => side.tag_bytes(),
            // A copy that ends before the original.
            15 if !is_ended => {
                let copy = side.copy();
                copy.update(&data);
                copy.finish(room)
            }
            14 | 15 => side.sizes(),
            0..3 => side.init(key.as_deref(), Some(&mut values.clone())),
            3 => side.set(&mut values.clone()),
            4..8 => side.update(&data),
            8 | 9 => side.finish(room),
            10 => side.sizes(),
            _ => {
                *side = side.copy();
                (1, Vec::new(), Vec::new())
            }
        });
        calls.push(text);
        if seen[0] != seen[1] {
            return Err(format!("{seed}: {calls:#?}: {seen:02x?}"));
        }
        let done = seen[0].0 == 1;
        match what {
            0..=2 => {
                (is_begun, is_ended) = (false, !done);
            }
            3 if done && values.has("key") => is_begun = false,
            4..8 => is_begun |= done,
            8 | 9 => (is_begun, is_ended) = (false, true),
            _ => {}
        }
    }
    Ok(calls.len())
}

#[test]
fn random_sequences_look_the_same() {
    let all = (0..rounds()).map(run);
    let failed: Vec<_> = all.filter_map(Result::err).collect();
    assert!(failed.is_empty(), "{} like {}", failed.len(), failed[0]);
}

/// RFC 4231, test cases 1, 2 and 6: the key of the last one is hashed first, and stays with the default provider.
#[test]
fn tags_are_those_of_the_rfc() {
    for (key, message, tags) in [
        (
            vec![0x0b; 20],
            &b"Hi There"[..],
            [
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
                "afd03944d84895626b0825f4ab46907f15f9dadbe4101ec682aa034c7cebc59cfaea9ea9076ede7f4af152e8b2fa9cb6",
                "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cdedaa833b7d6b8a702038b274eaea3f4e4\
                 be9d914eeb61f1702e696c203a126854",
            ],
        ),
        (
            b"Jefe".to_vec(),
            b"what do ya want for nothing?",
            [
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
                "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649",
                "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fd\
                 caeab1a34d4a6b4b636e070a38bce737",
            ],
        ),
        (
            vec![0xaa; 131],
            b"Test Using Larger Than Block-Size Key - Hash Key First",
            [
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
                "4ece084485813e9088d2c63a041bc5b44f9ef1012a2b588f3cd11f05033ac4c60c2ef6ab4030fe8296248df163f44952",
                "80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f3526b56d037e05f2598bd0fd2215d6a1e52\
                 95e64f73f63f0aec8b915a985d786598",
            ],
        ),
    ] {
        for (digest, tag) in ["SHA256", "SHA384", "SHA512"].into_iter().zip(tags) {
            let mac = Mac::new(1);
            let mut values = Values::default().text("digest", digest);
            // The same key again, with and without settings, and a copy in the middle.
            for values in [Some(&mut values), None, None] {
                assert_eq!(mac.init(Some(&key), values).0, 1);
                mac.update(&message[..4]);
                let copy = mac.copy();
                mac.update(&message[4..]);
                copy.update(&message[4..]);
                for mac in [&mac, &copy] {
                    let (done, found, _) = mac.finish(64);
                    let found: String = found.iter().map(|byte| format!("{byte:02x}")).collect();
                    assert_eq!((done, found.as_str()), (1, tag), "{digest}");
                }
            }
            assert_eq!(mac.init(None, None).0, 1);
            mac.update(message);
            assert_eq!(
                mac.finish(64).1[0],
                u8::from_str_radix(&tag[..2], 16).unwrap()
            );
        }
    }
}

/// Project Wycheproof's vectors: both providers make the same tags and refuse the same calls, and ours computes the tags
/// itself, except those whose key it would have to hash first.
#[test]
fn tags_of_wycheproof_are_made_here() {
    let (context, usage) = libcrypto().counting_context();
    let (mut counts, mut made_here) = ([0, 0], 0);
    for vector in oarlock_vectors::wycheproof::hmac().unwrap() {
        let seen = [0, 1].map(|side| {
            // SAFETY: the library context is never freed.
            let mac = unsafe { Mac::of(context, side) };
            let mut values = Values::default().text("digest", vector.hash);
            let (first, rest) = vector.message.split_at(vector.message.len() / 2);
            let in_pieces = [
                mac.init(Some(&vector.key), Some(&mut values)),
                mac.update(first),
                mac.update(rest),
                mac.finish(64),
            ];
            // Again, with only as much room as the vector's tag needs, which may be truncated.
            let at_once = [
                mac.init(Some(&vector.key), None),
                mac.update(&vector.message),
                mac.finish(vector.tag.len()),
            ];
            (in_pieces, at_once)
        });
        let source = &vector.source;
        assert_eq!(seen[1], seen[0], "{source}");
        let ([.., (done, tag, _)], [.., (is_done_again, again, _)]) = &seen[1];
        assert_eq!(*done, 1, "{source}");
        assert_eq!(tag.starts_with(&vector.tag), vector.is_valid, "{source}");
        let has_room = vector.tag.len() >= tag.len();
        assert_eq!(*is_done_again == 1, has_room, "{source}");
        assert!(!has_room || again == tag, "{source}");
        let block_bytes = if tag.len() <= 32 && !vector.hash.contains("512") {
            64
        } else {
            128
        };
        if vector.key.len() <= block_bytes {
            made_here += 1 + u64::from(has_room);
        }
        counts[usize::from(vector.is_valid)] += 1;
    }
    assert_eq!(counts, [750, 462]);
    let counted = counted(&usage, Primitive::Hmac, Performed::Authenticated);
    assert_eq!(counted, made_here);
    assert!(made_here > 1194, "{made_here}");
}
