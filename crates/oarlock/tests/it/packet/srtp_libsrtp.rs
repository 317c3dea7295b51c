//! SRTP compared with libsrtp2, the implementation of browsers and phones, in both directions with random packets.
//!
//! The library is Debian's libsrtp2-1, or the file that `OARLOCK_TEST_LIBSRTP` names.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_uint, c_ulong, c_void};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

use libloading::Library;
use oarlock::packet::srtp::{MasterKey, Policy, Suite};
use oarlock_testing::skip;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::srtp::{
    protected, protected_rtcp, random_rtcp, random_rtp, unprotected, unprotected_rtcp,
};
use super::srtp_by_hand::key_of;
use crate::common::accelerator;

/// The cipher and authentication of a policy (srtp2/srtp.h).
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Crypto {
    cipher: c_int,
    key_bytes: c_int,
    auth: c_int,
    auth_key_bytes: c_int,
    tag_bytes: c_int,
    services: c_int,
}

#[repr(C)]
struct Key {
    key: *const u8,
    mki: *const u8,
    mki_bytes: c_uint,
}

#[repr(C)]
struct Settings {
    ssrc_type: c_int,
    ssrc: c_uint,
    rtp: Crypto,
    rtcp: Crypto,
    key: *const u8,
    keys: *const *const Key,
    keys_count: c_ulong,
    deprecated: *const c_void,
    window: c_ulong,
    allow_repeat: c_int,
    encrypted_extensions: *const c_int,
    encrypted_extensions_count: c_int,
    next: *const c_void,
}

type Run = unsafe extern "C" fn(*mut c_void, *mut u8, *mut c_int, c_uint, c_uint) -> c_int;
type Undo = unsafe extern "C" fn(*mut c_void, *mut u8, *mut c_int, c_uint) -> c_int;

struct Libsrtp {
    library: Library,
    create: unsafe extern "C" fn(*mut *mut c_void, *const Settings) -> c_int,
    dealloc: unsafe extern "C" fn(*mut c_void) -> c_int,
    protect: Run,
    protect_rtcp: Run,
    unprotect: Undo,
    unprotect_rtcp: Undo,
}

impl Libsrtp {
    /// Returns `None` if the library is not installed.
    fn get() -> Option<&'static Self> {
        static LIBSRTP: OnceLock<Option<Libsrtp>> = OnceLock::new();
        LIBSRTP.get_or_init(Self::load).as_ref()
    }

    fn load() -> Option<Self> {
        let file = std::env::var("OARLOCK_TEST_LIBSRTP");
        let file = file.as_deref().unwrap_or("libsrtp2.so.1");
        // SAFETY: the file is a libsrtp2, which any process may load.
        let library = unsafe { Library::new(file) }.ok()?;
        // SAFETY: the types are those of srtp2/srtp.h; srtp_init is called once, before all other functions.
        unsafe {
            let init = library.get::<unsafe extern "C" fn() -> c_int>("srtp_init");
            assert_eq!(init.unwrap()(), 0);
            Some(Self {
                create: *library.get("srtp_create").unwrap(),
                dealloc: *library.get("srtp_dealloc").unwrap(),
                protect: *library.get("srtp_protect_mki").unwrap(),
                protect_rtcp: *library.get("srtp_protect_rtcp_mki").unwrap(),
                unprotect: *library.get("srtp_unprotect_mki").unwrap(),
                unprotect_rtcp: *library.get("srtp_unprotect_rtcp_mki").unwrap(),
                library,
            })
        }
    }

    fn crypto(&self, setter: &str) -> Crypto {
        let mut crypto = Crypto::default();
        let name = format!("srtp_crypto_policy_set_{setter}");
        // SAFETY: the setters have this type, and fill the struct that they get.
        unsafe {
            let set = self.library.get::<unsafe extern "C" fn(*mut Crypto)>(&name);
            set.unwrap()(&mut crypto);
        }
        crypto
    }

    /// Opens a session, or returns `None` if this build lacks the suite.
    fn open(
        &'static self,
        suite: Suite,
        keys: &[(&[u8], &[u8])],
        inbound: bool,
    ) -> Option<Session> {
        // SAFETY: the function has no argument, and returns the version, one byte for each of its first two parts.
        let version = unsafe {
            let version = self
                .library
                .get::<unsafe extern "C" fn() -> c_uint>("srtp_get_version");
            version.unwrap()() >> 16
        };
        let is_192 = matches!(
            suite,
            Suite::AesCm192HmacSha1_80 | Suite::AesCm192HmacSha1_32
        );
        if is_192 && version < AES_192_SINCE {
            return None;
        }
        let (rtp, rtcp) = match suite {
            Suite::AesCm128HmacSha1_80 => ("rtp_default", "rtcp_default"),
            Suite::AesCm128HmacSha1_32 => ("aes_cm_128_hmac_sha1_32", "rtcp_default"),
            Suite::AesCm192HmacSha1_80 => ("aes_cm_192_hmac_sha1_80", "aes_cm_192_hmac_sha1_80"),
            Suite::AesCm192HmacSha1_32 => ("aes_cm_192_hmac_sha1_32", "aes_cm_192_hmac_sha1_80"),
            Suite::AesCm256HmacSha1_80 => ("aes_cm_256_hmac_sha1_80", "aes_cm_256_hmac_sha1_80"),
            Suite::AesCm256HmacSha1_32 => ("aes_cm_256_hmac_sha1_32", "aes_cm_256_hmac_sha1_80"),
            Suite::Aes128Gcm => ("aes_gcm_128_16_auth", "aes_gcm_128_16_auth"),
            Suite::Aes256Gcm => ("aes_gcm_256_16_auth", "aes_gcm_256_16_auth"),
            Suite::NullHmacSha1_80 => ("null_cipher_hmac_sha1_80", "null_cipher_hmac_sha1_80"),
            // libsrtp2 has no name for the short tag here.
            Suite::NullHmacSha1_32 => ("null_cipher_hmac_sha1_80", "null_cipher_hmac_sha1_80"),
            other => panic!("{other:?} is new"),
        };
        let (mut rtp, rtcp) = (self.crypto(rtp), self.crypto(rtcp));
        if suite == Suite::NullHmacSha1_32 {
            rtp.tag_bytes = 4;
        }
        let named: Vec<Key> = (keys.iter())
            .map(|(mki, key)| Key {
                key: key.as_ptr(),
                mki: mki.as_ptr(),
                mki_bytes: mki.len() as c_uint,
            })
            .collect();
        let named: Vec<*const Key> = named.iter().map(std::ptr::from_ref).collect();
        let has_mki = !keys[0].0.is_empty();
        let settings = Settings {
            ssrc_type: if inbound { 2 } else { 3 },
            ssrc: 0,
            rtp,
            rtcp,
            // If `key` is set, libsrtp2 ignores `keys`.
            key: if has_mki { null() } else { keys[0].1.as_ptr() },
            keys: if has_mki { named.as_ptr() } else { null() },
            keys_count: if has_mki { named.len() as c_ulong } else { 0 },
            deprecated: null(),
            window: 128,
            allow_repeat: 0,
            encrypted_extensions: null(),
            encrypted_extensions_count: 0,
            next: null(),
        };
        let mut session = null_mut();
        // SAFETY: the settings, and all that they point at, outlive the call.
        let status = unsafe { (self.create)(&mut session, &settings) };
        (status == 0).then_some(Session {
            library: self,
            session,
            has_mki,
        })
    }
}

struct Session {
    library: &'static Libsrtp,
    session: *mut c_void,
    has_mki: bool,
}

impl Session {
    fn protect(&mut self, is_rtcp: bool, key: usize, packet: &[u8]) -> Vec<u8> {
        let library = self.library;
        let run = if is_rtcp {
            library.protect_rtcp
        } else {
            library.protect
        };
        // SRTP_MAX_TRAILER_LEN and the word of SRTCP.
        let mut buffer = [packet, &[0; 16 + 128 + 4]].concat();
        let mut bytes = packet.len() as c_int;
        // SAFETY: the session is open, and the buffer has room for what is added.
        let status = unsafe {
            let mki = c_uint::from(self.has_mki);
            run(
                self.session,
                buffer.as_mut_ptr(),
                &mut bytes,
                mki,
                key as c_uint,
            )
        };
        assert_eq!(status, 0, "libsrtp2 does not protect this");
        buffer.truncate(bytes as usize);
        buffer
    }

    /// Returns the packet, or the status of the failure.
    fn unprotect(&mut self, is_rtcp: bool, packet: &[u8]) -> Result<Vec<u8>, c_int> {
        let library = self.library;
        let run = if is_rtcp {
            library.unprotect_rtcp
        } else {
            library.unprotect
        };
        let mut buffer = packet.to_vec();
        let mut bytes = packet.len() as c_int;
        // SAFETY: the session is open, and the buffer holds `bytes` bytes.
        let status = unsafe {
            let mki = c_uint::from(self.has_mki);
            run(self.session, buffer.as_mut_ptr(), &mut bytes, mki)
        };
        buffer.truncate(bytes as usize);
        if status == 0 { Ok(buffer) } else { Err(status) }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: srtp_create made the session, and nothing uses it any more.
        unsafe { (self.library.dealloc)(self.session) };
    }
}

/// The first version that derives the session keys of AES-192 by AES-192; before 2.8 it used AES-256, against RFC 6188.
const AES_192_SINCE: c_uint = 0x0208;

/// Calls `test` for each suite that the installed library has.
fn each_suite(test: impl Fn(&'static Libsrtp, Suite)) {
    let Some(library) = Libsrtp::get() else {
        skip("libsrtp2.so.1 is not installed (Debian: libsrtp2-1)");
        return;
    };
    let mut tested = 0;
    for &suite in Suite::ALL {
        let key = key_of(suite, 1);
        if library.open(suite, &[(&[], &key)], true).is_some() {
            test(library, suite);
            tested += 1;
        } else {
            println!("libsrtp2 lacks {suite:?}, or has it with a known fault");
        }
    }
    assert!(tested >= 6, "libsrtp2 has {tested} suites only");
}

#[test]
fn packets_are_the_same_in_both_directions() {
    each_suite(|library, suite| {
        let mut random = StdRng::seed_from_u64(40);
        let key = key_of(suite, 2);
        let keys: &[(&[u8], &[u8])] = &[(&[], &key)];
        let policy = Policy::new(suite, &key);
        let accelerator = accelerator();
        let mut outbound = accelerator.srtp_outbound(&policy).unwrap();
        let mut inbound = accelerator.srtp_inbound(&policy).unwrap();
        let mut their_outbound = library.open(suite, keys, false).unwrap();
        let mut their_inbound = library.open(suite, keys, true).unwrap();
        // Over two roll-overs, with gaps and several sources.
        let mut sequences = [65_000_u16, 3, 40_000];
        let mut sent = Vec::new();
        for _ in 0..3000 {
            let source = random.random_range(0..3);
            let sequence = &mut sequences[source];
            *sequence = sequence.wrapping_add(random.random_range(1..200));
            let ssrc = [0xdead_beef, 1, u32::MAX][source];
            let (packet, _) = random_rtp(&mut random, ssrc, *sequence);
            sent.push(packet);
        }
        for batch in sent.chunks(37) {
            let ours = protected(&mut outbound, batch);
            for (ours, packet) in ours.iter().zip(batch) {
                let ours = ours.as_ref().unwrap();
                assert_eq!(*ours, their_outbound.protect(false, 0, packet), "{suite:?}");
                assert_eq!(&their_inbound.unprotect(false, ours).unwrap(), packet);
            }
            let theirs: Vec<_> = ours.into_iter().map(Result::unwrap).collect();
            for (back, packet) in unprotected(&mut inbound, &theirs).into_iter().zip(batch) {
                assert_eq!(&back.unwrap().0, packet, "{suite:?}");
            }
        }

        // libsrtp2 begins with the index 1, this library with 0.
        let first = random_rtcp(&mut random, 7);
        let ours = protected_rtcp(&mut outbound, std::slice::from_ref(&first));
        let ours = ours[0].clone().unwrap();
        assert_eq!(their_inbound.unprotect(true, &ours), Ok(first));
        for _ in 0..300 {
            let packet = random_rtcp(&mut random, 7);
            let ours = protected_rtcp(&mut outbound, std::slice::from_ref(&packet));
            let ours = ours[0].clone().unwrap();
            assert_eq!(ours, their_outbound.protect(true, 0, &packet), "{suite:?}");
            assert_eq!(their_inbound.unprotect(true, &ours).as_ref(), Ok(&packet));
            let back = unprotected_rtcp(&mut inbound, &[ours]);
            assert_eq!(back[0].as_ref().unwrap().0, packet, "{suite:?}");
        }
    });
}

#[test]
fn packets_under_several_master_keys_are_the_same() {
    each_suite(|library, suite| {
        let mut random = StdRng::seed_from_u64(41);
        let keys: Vec<_> = (0..3).map(|i| key_of(suite, i * 11)).collect();
        let mkis = [*b"one", *b"two", *b"six"];
        let named: Vec<_> = (mkis.iter().zip(&keys))
            .map(|(mki, key)| MasterKey { mki, key })
            .collect();
        let theirs: Vec<(&[u8], &[u8])> = named.iter().map(|it| (it.mki, it.key)).collect();
        let policy = Policy::with_keys(suite, &named);
        let mut outbound = accelerator().srtp_outbound(&policy).unwrap();
        let mut inbound = accelerator().srtp_inbound(&policy).unwrap();
        let mut their_outbound = library.open(suite, &theirs, false).unwrap();
        let mut their_inbound = library.open(suite, &theirs, true).unwrap();
        for sequence in 0..60 {
            let key = usize::from(sequence) % 3;
            outbound.use_key(&mkis[key]).unwrap();
            let (packet, _) = random_rtp(&mut random, 5, sequence);
            let ours = protected(&mut outbound, std::slice::from_ref(&packet));
            let ours = ours[0].clone().unwrap();
            assert_eq!(
                ours,
                their_outbound.protect(false, key, &packet),
                "{suite:?}"
            );
            assert_eq!(their_inbound.unprotect(false, &ours), Ok(packet.clone()));
            let back = unprotected(&mut inbound, &[ours]);
            assert_eq!(back[0].as_ref().unwrap().0, packet);
        }
    });
}

#[test]
fn what_one_refuses_the_other_refuses() {
    each_suite(|library, suite| {
        let mut random = StdRng::seed_from_u64(42);
        let key = key_of(suite, 3);
        let policy = Policy::new(suite, &key);
        let mut outbound = accelerator().srtp_outbound(&policy).unwrap();
        let mut inbound = accelerator().srtp_inbound(&policy).unwrap();
        let mut theirs = library.open(suite, &[(&[], &key)], true).unwrap();
        let mut sent: Vec<Vec<u8>> = Vec::new();
        for sequence in (65_400..=u16::MAX).chain(0..200) {
            let (packet, _) = random_rtp(&mut random, 9, sequence);
            let protected = protected(&mut outbound, &[packet]);
            sent.push(protected[0].clone().unwrap());
        }
        let mut accepted = 0;
        for _ in 0..4000 {
            // Roughly in order, often twice, often altered.
            let near = random.random_range(0..sent.len());
            let mut packet = sent[near].clone();
            match random.random_range(0..4) {
                // Neither the version, which libsrtp2 does not check, nor bits that lengthen the header: libsrtp2 then looks
                // for an extension inside the tag.
                0 => {
                    let at = random.random_range(1..packet.len());
                    packet[at] ^= 1 << random.random_range(0..8);
                }
                1 => packet.truncate(random.random_range(0..=packet.len())),
                _ => {}
            }
            let ours = unprotected(&mut inbound, &[packet.clone()]);
            let theirs = theirs.unprotect(false, &packet);
            match (&ours[0], &theirs) {
                (Ok((ours, _)), Ok(theirs)) => {
                    assert_eq!(ours, theirs);
                    accepted += 1;
                }
                (Err(_), Err(_)) => {}
                other => panic!("{suite:?}: {other:?}"),
            }
        }
        assert!(accepted > 100, "{accepted}");
    });
}
