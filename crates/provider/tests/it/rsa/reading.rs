//! Keys that a program reads, next to those of ours that it signs with.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, Ordering};

use super::keys::keys;
use crate::driver::libcrypto;
use crate::driver::rsa::{RsaFunctions, RsaKey, functions};
use crate::host::{Accelerated, has_lanes};

/// A library context with the configuration that `oarlock run` writes. Never freed: keys may outlive a test.
struct Program {
    accelerated: Accelerated,
    context: *mut c_void,
}

// SAFETY: a library context is safe for use by threads at once.
unsafe impl Sync for Program {}

impl Program {
    fn new() -> Self {
        let accelerated = Accelerated::new();
        let name = CString::new(accelerated.conf().to_str().unwrap()).unwrap();
        // SAFETY: the types are those of openssl/crypto.h; a text that ends with a zero.
        let context = unsafe {
            let new = function::<unsafe extern "C" fn() -> *mut c_void>("OSSL_LIB_CTX_new");
            let load = function::<unsafe extern "C" fn(*mut c_void, *const c_char) -> c_int>(
                "OSSL_LIB_CTX_load_config",
            );
            let context = new();
            assert_eq!(load(context, name.as_ptr()), 1);
            context
        };
        Self {
            accelerated,
            context,
        }
    }

    fn read(&self, pem: &str) -> RsaKey {
        RsaKey::read(self.context, pem, c"provider=default")
    }

    /// The name of the provider that a key is made in.
    fn generated_in(&self) -> String {
        let calls: &RsaFunctions = functions();
        let mut key = null_mut();
        // SAFETY: the types are those of openssl/evp.h, and the maker is freed once.
        unsafe {
            let maker = (calls.EVP_PKEY_CTX_new_from_name)(self.context, c"RSA".as_ptr(), null());
            assert_eq!((calls.EVP_PKEY_keygen_init)(maker), 1);
            assert_eq!((calls.EVP_PKEY_CTX_set_rsa_keygen_bits)(maker, 1024), 1);
            assert_eq!((calls.EVP_PKEY_generate)(maker, &mut key), 1);
            (calls.EVP_PKEY_CTX_free)(maker);
        }
        RsaKey { key }.provider()
    }

    /// A signature of PKCS#1 v1.5.
    fn sign(&self, key: &RsaKey) -> Vec<u8> {
        let calls: &RsaFunctions = functions();
        let mut signature = vec![0; key.bytes()];
        let mut bytes = signature.len();
        let message = [7; 32];
        // SAFETY: each length is that of its buffer.
        unsafe {
            let context = (calls.EVP_PKEY_CTX_new_from_pkey)(self.context, key.key, null());
            assert_eq!((calls.EVP_PKEY_sign_init)(context), 1);
            let place = signature.as_mut_ptr();
            let signed = (calls.EVP_PKEY_sign)(context, place, &mut bytes, message.as_ptr(), 32);
            assert_eq!(signed, 1);
            (calls.EVP_PKEY_CTX_free)(context);
        }
        signature
    }

    /// Private operations that came here.
    fn came(&self) -> u64 {
        let counted = self.accelerated.counted().private_operations;
        counted.alone + counted.in_lanes
    }

    /// The number of key managements of a type that OpenSSL goes through for each key that it reads.
    fn managements(&self, name: &'static CStr) -> usize {
        struct Look {
            is_a: unsafe extern "C" fn(*const c_void, *const c_char) -> c_int,
            name: &'static CStr,
            found: usize,
        }
        extern "C" fn count(management: *mut c_void, look: *mut c_void) {
            // SAFETY: the argument is the look below, and the key management libcrypto's.
            unsafe {
                let look = &mut *look.cast::<Look>();
                look.found += (look.is_a)(management, look.name.as_ptr()) as usize;
            }
        }
        type DoAll =
            unsafe extern "C" fn(*mut c_void, extern "C" fn(*mut c_void, *mut c_void), *mut c_void);
        // SAFETY: the types are those of openssl/evp.h, and `count` takes the look.
        unsafe {
            let mut look = Look {
                is_a: function("EVP_KEYMGMT_is_a"),
                name,
                found: 0,
            };
            let do_all: DoAll = function("EVP_KEYMGMT_do_all_provided");
            do_all(self.context, count, std::ptr::from_mut(&mut look).cast());
            look.found
        }
    }

    /// OpenSSL forgets which algorithms it has found.
    fn forget(&self) {
        let properties: &CStr = c"?oarlock.accelerated=yes,?oarlock.keys=no";
        // SAFETY: the type is that of openssl/evp.h; a text that ends with a zero.
        let is_set = unsafe {
            function::<unsafe extern "C" fn(*mut c_void, *const c_char) -> c_int>(
                "EVP_set_default_properties",
            )(self.context, properties.as_ptr())
        };
        assert_eq!(is_set, 1);
    }
}

/// # Safety
/// `T` is its type.
unsafe fn function<T: Copy>(name: &str) -> T {
    // SAFETY: the caller knows the type of libcrypto's function of this name.
    unsafe { libcrypto().later_function(name) }.unwrap()
}

#[test]
fn keys_are_made_and_read_elsewhere_and_signatures_come_here() {
    if !has_lanes() {
        return;
    }
    let program = Program::new();
    // Before anything else has looked for a key management.
    assert_eq!(program.generated_in(), "default");
    let pem = &keys()[0].1;
    let expected = program.sign(&program.read(pem));
    for round in 1..=3 {
        let key = program.read(pem);
        let before = program.came();
        for _ in 0..20 {
            assert_eq!(program.sign(&key), expected);
        }
        assert_eq!(program.came() - before, 20, "round {round}");
    }
    assert_eq!(libcrypto().errors(), []);
}

/// Up to release 3.1 each further key management makes reading a key slower.
#[test]
fn reading_keys_meets_no_management_of_ours_where_that_costs() {
    if !has_lanes() {
        return;
    }
    let program = Program::new();
    let is_hidden = libcrypto().release() < (3, 2) && libcrypto().has(&[[3, 0, 8], [3, 1, 0]]);
    let expected = if is_hidden { [1, 2, 1, 1] } else { [2; 4] };
    let counted = || [c"RSA", c"RSA-PSS", c"EC", c"ED25519"].map(|it| program.managements(it));
    assert_eq!(counted(), expected);
    let key = program.read(&keys()[0].1);
    let before = program.came();
    program.sign(&key);
    assert_eq!(program.came() - before, 1);
    // Also right after a signature, and where nothing is kept.
    assert_eq!(counted(), expected);
    program.forget();
    assert_eq!(counted(), expected);
    program.sign(&key);
    assert_eq!(program.came() - before, 2);
}

/// As when another provider is loaded or unloaded.
#[test]
fn what_openssl_forgets_it_asks_for_again() {
    if !has_lanes() {
        return;
    }
    let program = Program::new();
    let key = program.read(&keys()[0].1);
    let expected = program.sign(&key);
    let before = program.came();
    for _ in 0..300 {
        program.forget();
        assert_eq!(program.sign(&key), expected);
    }
    assert_eq!(program.came() - before, 300);
}

#[test]
fn while_a_thread_reads_keys_others_sign_here() {
    if !has_lanes() {
        return;
    }
    let program = &Program::new();
    let pem = &keys()[1].1;
    let is_over = &AtomicBool::new(false);
    let mut signed = 0;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                let read = program.read(&keys()[0].1);
                assert_ne!(read.key, null_mut());
            }
        });
        let expected = program.sign(&program.read(pem));
        for _ in 0..50 {
            let key = program.read(pem);
            for _ in 0..10 {
                assert_eq!(program.sign(&key), expected);
                signed += 1;
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    // Until one question is answered, which OpenSSL then keeps.
    assert!(
        program.came() > signed / 2,
        "{} of {signed}",
        program.came()
    );
}
