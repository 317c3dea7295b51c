//! A temporary lack of sessions, and answers that a module must not return.

use oarlock_testing::until;

use super::{Bench, PIN, SCHEME, create, each_pullable, held, usage};
use crate::common::keys::RSA2048;
use crate::common::{accelerator, failure};

/// Held-up calls, which continue when this is dropped, also if a test fails.
struct Held<'a>(&'a Bench);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.let_go("held");
    }
}

#[test]
fn a_shortage_of_sessions_does_not_last_for_ever() {
    each_pullable(|bench| {
        bench.make_token("scarce", PIN, |session| {
            create(session, RSA2048, &usage(&[1], "key", false, true));
        });
        // CKR_SESSION_COUNT and CKR_DEVICE_MEMORY.
        for code in ["b1", "31"] {
            let device = bench.open("scarce").unwrap();
            let rsa = accelerator().rsa(&held(&device, "key"));
            let sign = || {
                rsa.sign(SCHEME, b"message").unwrap();
            };
            bench.steer("few", &format!("1 {code}"));
            let (inside, refused) = (bench.count("inside"), bench.count("refused"));
            std::thread::scope(|scope| {
                bench.steer("held", "");
                let _held = Held(bench);
                scope.spawn(sign);
                until("a call holds the only session", || {
                    bench.count("inside") == inside + 1
                });
                scope.spawn(sign);
                until("another one is refused", || {
                    bench.count("refused") == refused + 1
                });
            });
            bench.let_go("few");
            // Enough calls that the device tries again.
            for _ in 0..100 {
                sign();
            }
            let inside = bench.count("inside");
            std::thread::scope(|scope| {
                bench.steer("held", "");
                let _held = Held(bench);
                scope.spawn(sign);
                scope.spawn(sign);
                until("two calls are under way", || {
                    bench.count("inside") == inside + 2
                });
            });
        }
    });
}

#[test]
fn absurd_counts_are_errors_and_leave_no_session() {
    each_pullable(|bench| {
        bench.make_token("absurd", PIN, |session| {
            create(session, RSA2048, &usage(&[1], "key", false, true));
        });
        let told = |said: &str| {
            assert!(
                said.contains("pullable.so: token with label \"absurd\""),
                "{said}"
            );
            assert!(said.contains("PKCS#11 does not allow"), "{said}");
        };
        bench.steer("absurd-slots", "");
        told(&failure(bench.open("absurd")));
        bench.let_go("absurd-slots");
        let device = bench.open("absurd").unwrap();
        bench.steer("absurd-objects", "");
        told(&failure(device.keys()));
        assert_eq!(bench.count("opened"), bench.count("closed"));
        bench.let_go("absurd-objects");
        assert_eq!(device.keys().unwrap().len(), 1);
    });
}
