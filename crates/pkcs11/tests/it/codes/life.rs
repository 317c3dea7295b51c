//! Initialization and the end, threads and forks.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cryptoki_sys::*;
use oarlock_local::relay::Operation;

use super::{Module, few};
use crate::common::{Relayed, home, is_over};

#[test]
fn nothing_works_before_initialization_and_after_the_end() {
    if is_over(few) {
        return;
    }
    let module = Module::loaded();
    let mut count = 0;
    for _ in 0..3 {
        let code = call!(module, C_GetSlotList, 1, null_mut(), &mut count);
        assert_eq!(code, CKR_CRYPTOKI_NOT_INITIALIZED);
        assert_eq!(
            call!(module, C_Finalize, null_mut()),
            CKR_CRYPTOKI_NOT_INITIALIZED
        );
        assert_eq!(call!(module, C_Initialize, null_mut()), CKR_OK);
        let code = call!(module, C_Initialize, null_mut());
        assert_eq!(code, CKR_CRYPTOKI_ALREADY_INITIALIZED);
        let session = module.session(0);
        assert_eq!(
            call!(module, C_Finalize, (&raw mut count).cast()),
            CKR_ARGUMENTS_BAD
        );
        assert_eq!(call!(module, C_Finalize, null_mut()), CKR_OK);
        assert_eq!(
            call!(module, C_CloseSession, session),
            CKR_CRYPTOKI_NOT_INITIALIZED
        );
    }
}

extern "C" fn create(_: *mut *mut c_void) -> CK_RV {
    CKR_OK
}

extern "C" fn other(_: *mut c_void) -> CK_RV {
    CKR_OK
}

#[test]
fn locks_of_the_program_are_refused_and_those_of_the_system_taken() {
    if is_over(few) {
        return;
    }
    let module = Module::loaded();
    let arguments = |functions, flags, reserved| {
        let (create, other): (CK_CREATEMUTEX, CK_DESTROYMUTEX) = match functions {
            true => (Some(create), Some(other)),
            false => (None, None),
        };
        CK_C_INITIALIZE_ARGS {
            CreateMutex: create,
            DestroyMutex: other,
            LockMutex: other,
            UnlockMutex: other,
            flags,
            pReserved: reserved,
        }
    };
    let mut something = 0u8;
    let something = (&raw mut something).cast();
    let mut partial = arguments(true, CKF_OS_LOCKING_OK, null_mut());
    partial.LockMutex = None;
    for (mut arguments, code) in [
        (arguments(true, 0, null_mut()), CKR_CANT_LOCK),
        (partial, CKR_ARGUMENTS_BAD),
        (arguments(false, 0, something), CKR_ARGUMENTS_BAD),
        (arguments(true, CKF_OS_LOCKING_OK, null_mut()), CKR_OK),
        (arguments(false, 0, null_mut()), CKR_OK),
        (
            arguments(
                false,
                CKF_OS_LOCKING_OK | CKF_LIBRARY_CANT_CREATE_OS_THREADS,
                null_mut(),
            ),
            CKR_OK,
        ),
    ] {
        assert_eq!(
            call!(module, C_Initialize, (&raw mut arguments).cast()),
            code
        );
        if code == CKR_OK {
            let session = module.session(0);
            let key = module.object(session, CKO_PRIVATE_KEY, "rsa");
            assert_eq!(module.sign(session, key, CKM_SHA256_RSA_PKCS), CKR_OK);
            assert_eq!(call!(module, C_Finalize, null_mut()), CKR_OK);
        }
    }
}

/// A wrong configuration is reported, and there is no token.
#[test]
fn a_wrong_configuration_is_an_error() {
    if is_over(|| {
        let home = few();
        home.configure("[[token]]\nlabel = \"files\"\nrelais = \"/tmp\"\n");
        home
    }) {
        return;
    }
    let module = Module::loaded();
    assert_eq!(call!(module, C_Initialize, null_mut()), CKR_GENERAL_ERROR);
    let mut count = 0;
    let code = call!(module, C_GetSlotList, 1, null_mut(), &mut count);
    assert_eq!(code, CKR_CRYPTOKI_NOT_INITIALIZED);
}

#[test]
fn a_thousand_sessions_sign_in_parallel() {
    if is_over(|| {
        let home = few();
        home.configure(&format!("{}{}", home.files_token(""), home.relay_token()));
        home
    }) {
        return;
    }
    let _relay = Relayed::honest(&home());
    let module = Module::initialized();
    let sessions: Vec<_> = (0..1000).map(|number| module.session(number % 2)).collect();
    let key = [0, 1].map(|slot| module.object(sessions[slot], CKO_PRIVATE_KEY, "p256"));
    std::thread::scope(|scope| {
        for thread in 0..16 {
            let (module, sessions) = (&module, &sessions);
            scope.spawn(move || {
                for place in (thread..1000).step_by(16) {
                    let code = module.sign(sessions[place], key[place % 2], CKM_ECDSA_SHA256);
                    assert_eq!(code, CKR_OK, "{place}");
                }
            });
        }
    });
    for session in sessions {
        assert_eq!(call!(module, C_CloseSession, session), CKR_OK);
    }
    let mut info = CK_TOKEN_INFO::default();
    assert_eq!(call!(module, C_GetTokenInfo, 0, &mut info), CKR_OK);
    assert_eq!(info.ulSessionCount, 0);
}

/// Threads that share a session, one that closes it, and one that ends the module: every call ends, with a number that fits.
#[test]
fn the_end_under_operations_harms_none_of_them() {
    if is_over(few) {
        return;
    }
    let module = Module::loaded();
    for round in 0..20 {
        assert_eq!(call!(module, C_Initialize, null_mut()), CKR_OK);
        let session = module.session(0);
        let key = module.object(session, CKO_PRIVATE_KEY, "rsa");
        let (signed, barrier) = (AtomicUsize::new(0), Barrier::new(5));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let (module, signed, barrier) = (&module, &signed, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    loop {
                        match module.sign(session, key, CKM_SHA256_RSA_PKCS) {
                            CKR_OK => {
                                signed.fetch_add(1, Ordering::Relaxed);
                            }
                            // The operations of a session are shared by all threads.
                            CKR_OPERATION_ACTIVE | CKR_OPERATION_NOT_INITIALIZED => {}
                            CKR_CRYPTOKI_NOT_INITIALIZED | CKR_SESSION_HANDLE_INVALID => break,
                            other => panic!("{other:#x}"),
                        }
                    }
                });
            }
            barrier.wait();
            while signed.load(Ordering::Relaxed) < 5 {
                std::thread::yield_now();
            }
            if round % 2 == 0 {
                assert_eq!(call!(module, C_CloseSession, session), CKR_OK);
            }
            assert_eq!(call!(module, C_Finalize, null_mut()), CKR_OK);
        });
    }
}

/// The last session that closes logs the user out, and none that opens meets half of that.
#[test]
fn a_login_lasts_as_long_as_the_session_that_found_it() {
    if is_over(|| {
        let home = few();
        home.configure(&home.files_token("pin = \"1234\""));
        home
    }) {
        return;
    }
    let module = Module::initialized();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            let module = &module;
            scope.spawn(move || {
                for round in 0..100_000 {
                    let session = module.session(0);
                    let (mut pin, bytes) = (*b"1234", 4);
                    let code = call!(module, C_Login, session, CKU_USER, pin.as_mut_ptr(), bytes);
                    assert!(
                        matches!(code, CKR_OK | CKR_USER_ALREADY_LOGGED_IN),
                        "{code:#x}"
                    );
                    // The login cannot end before this session does.
                    for _ in 0..2 {
                        let mut info = CK_SESSION_INFO::default();
                        assert_eq!(call!(module, C_GetSessionInfo, session, &mut info), CKR_OK);
                        assert_eq!(info.state, CKS_RO_USER_FUNCTIONS, "{round}");
                    }
                    assert_eq!(call!(module, C_CloseSession, session), CKR_OK);
                }
            });
        }
    });
}

#[test]
fn the_end_does_not_wait_for_a_relay_that_hangs() {
    if is_over(|| {
        let home = few();
        home.configure(&home.relay_token());
        home
    }) {
        return;
    }
    let (asked, hangs) = std::sync::mpsc::channel();
    let mut kept = Vec::new();
    let _relay = Relayed::with(
        &home(),
        Box::new(move |keys, question, reply| match question.operation {
            Operation::Keys => keys.give(question, reply),
            _ => {
                kept.push(reply);
                asked.send(()).unwrap();
            }
        }),
    );
    let module = Module::initialized();
    let session = module.session(0);
    let key = module.object(session, CKO_PRIVATE_KEY, "p256");
    std::thread::scope(|scope| {
        let module = &module;
        let signing = scope.spawn(move || module.sign(session, key, CKM_ECDSA_SHA256));
        hangs.recv().unwrap();
        let began = Instant::now();
        assert_eq!(call!(module, C_Finalize, null_mut()), CKR_OK);
        assert!(began.elapsed() < Duration::from_secs(3));
        assert_eq!(signing.join().unwrap(), CKR_DEVICE_ERROR);
    });
    assert_eq!(call!(module, C_Initialize, null_mut()), CKR_OK);
    module.session(0);
}

/// A child has no library, whatever its parent's threads did at the fork, and makes one of its own.
#[test]
fn a_forked_child_begins_anew() {
    if is_over(|| {
        let home = few();
        home.configure(&format!("{}{}", home.files_token(""), home.relay_token()));
        home
    }) {
        return;
    }
    let _relay = Relayed::honest(&home());
    let module = Module::initialized();
    let sessions = [module.session(0), module.session(1)];
    let keys = sessions.map(|session| module.object(session, CKO_PRIVATE_KEY, "p256"));
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for (slot, key) in (0..).zip(keys) {
            let (module, is_over) = (&module, &is_over);
            let own = module.session(slot);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    assert_eq!(module.sign(own, key, CKM_ECDSA_SHA256), CKR_OK);
                }
            });
        }
        for _ in 0..20 {
            // SAFETY: the child calls the module, and ends without returning from here.
            let child = unsafe { libc_fork() };
            if child == 0 {
                let code = in_the_child(&module, sessions, keys);
                // SAFETY: ends the child at once.
                unsafe { _exit(code) };
            }
            let mut status = 0;
            // SAFETY: waits for the child.
            assert_eq!(unsafe { waitpid(child, &mut status, 0) }, child);
            assert_eq!(status, 0);
            std::thread::sleep(Duration::from_millis(2));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(module.sign(sessions[1], keys[1], CKM_ECDSA_SHA256), CKR_OK);
}

fn in_the_child(
    module: &Module,
    sessions: [CK_SESSION_HANDLE; 2],
    keys: [CK_OBJECT_HANDLE; 2],
) -> i32 {
    for place in 0..2 {
        let code = module.sign(sessions[place], keys[place], CKM_ECDSA_SHA256);
        if code != CKR_CRYPTOKI_NOT_INITIALIZED {
            return 1;
        }
    }
    if call!(module, C_Finalize, null_mut()) != CKR_CRYPTOKI_NOT_INITIALIZED {
        return 2;
    }
    if call!(module, C_Initialize, null_mut()) != CKR_OK {
        return 3;
    }
    for place in 0..2 {
        let mut session = 0;
        let (slot, flags) = (place as CK_SLOT_ID, CKF_SERIAL_SESSION);
        if call!(
            module,
            C_OpenSession,
            slot,
            flags,
            null_mut(),
            None,
            &mut session
        ) != CKR_OK
        {
            return 4;
        }
        let key = module.object(session, CKO_PRIVATE_KEY, "p256");
        if module.sign(session, key, CKM_ECDSA_SHA256) != CKR_OK {
            return 5;
        }
    }
    i32::from(call!(module, C_Finalize, null_mut()) != CKR_OK)
}

unsafe extern "C" {
    #[link_name = "fork"]
    fn libc_fork() -> i32;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(code: i32) -> !;
}

#[test]
fn interfaces_are_found_by_name_and_version() {
    if is_over(few) {
        return;
    }
    let module = Module::loaded();
    let name = |text: &'static std::ffi::CStr| text.as_ptr().cast_mut().cast();
    let get = |name, version: *mut CK_VERSION, flags| {
        let mut interface = null_mut();
        let code = call!(module, C_GetInterface, name, version, &mut interface, flags);
        // SAFETY: the interface that was returned, whose list begins with a version.
        let version =
            (code == CKR_OK).then(|| unsafe { *(*interface).pFunctionList.cast::<CK_VERSION>() });
        (code, version.map(|version| (version.major, version.minor)))
    };
    assert_eq!(get(null_mut(), null_mut(), 0), (CKR_OK, Some((3, 0))));
    assert_eq!(get(name(c"PKCS 11"), null_mut(), 0), (CKR_OK, Some((3, 0))));
    let mut version = CK_VERSION {
        major: 2,
        minor: 40,
    };
    assert_eq!(get(null_mut(), &mut version, 0), (CKR_OK, Some((2, 40))));
    assert_eq!(
        get(name(c"Other"), null_mut(), 0),
        (CKR_ARGUMENTS_BAD, None)
    );
    assert_eq!(
        get(null_mut(), null_mut(), CKF_INTERFACE_FORK_SAFE),
        (CKR_ARGUMENTS_BAD, None)
    );
    version.minor = 39;
    assert_eq!(get(null_mut(), &mut version, 0), (CKR_ARGUMENTS_BAD, None));
    let mut count = 0;
    assert_eq!(
        call!(module, C_GetInterfaceList, null_mut(), &mut count),
        CKR_OK
    );
    assert_eq!(count, 2);
    let mut list = null_mut();
    assert_eq!(call!(module, C_GetFunctionList, &mut list), CKR_OK);
    assert_ne!(list.cast_const(), null());
    // SAFETY: the list that was returned.
    let version = unsafe { (*list).version };
    assert_eq!((version.major, version.minor), (2, 40));
}
