//! The stack of OpenSSL's jobs (ASYNC_start_job(3)), in which haproxy and others run a connection's handshake: 32 KiB, with
//! nothing below that would stop an overflow. Here a page does.

use std::process::Command;

use oarlock_testing::lossy;

use crate::driver::libcrypto;
use crate::host::{Accelerated, compiled, open_folder, run};

/// Key types and what is done with them. Each is the first operation of a process, which looks for the default provider's
/// functions too.
const SINCE_3_0: [(&str, &str); 13] = [
    ("RSA", "generate"),
    ("RSA", "sign"),
    ("P-256", "sign"),
    ("P-384", "sign"),
    ("P-521", "sign"),
    ("ED25519", "sign"),
    ("X25519", "generate"),
    ("X25519MLKEM768", "generate"),
    ("X25519MLKEM768", "encapsulate"),
    ("SecP256r1MLKEM768", "encapsulate"),
    ("SecP384r1MLKEM1024", "generate"),
    ("SecP384r1MLKEM1024", "encapsulate"),
    ("X448", "generate"),
];
const SINCE_3_5: [(&str, &str); 8] = [
    ("ML-KEM-512", "encapsulate"),
    ("ML-KEM-768", "encapsulate"),
    ("ML-KEM-1024", "generate"),
    ("ML-KEM-1024", "encapsulate"),
    ("ML-DSA-44", "sign"),
    ("ML-DSA-65", "sign"),
    ("ML-DSA-87", "generate"),
    ("ML-DSA-87", "sign"),
];

/// The bytes of a job's stack that libssl and the program may need above an operation.
const OF_CALLERS: usize = 6 << 10;
const STACK_BYTES: usize = 32 << 10;

#[test]
fn operations_fit_the_stack_of_a_job() {
    let folder = open_folder();
    let program = compiled("jobs", folder.path());
    let accelerated = Accelerated::post_quantum(None);
    let is_new = libcrypto().release() >= (3, 5);
    let newer = if is_new { &SINCE_3_5[..] } else { &[] };
    for (key, operation) in SINCE_3_0.iter().chain(newer) {
        let mut command = Command::new(&program);
        let output = run(accelerated.apply(command.args([key, operation])));
        let said = lossy(&output.stdout);
        assert!(
            output.status.success(),
            "{key} {operation}: {}, {said} {}",
            output.status,
            lossy(&output.stderr)
        );
        let used: usize = said.trim_end().rsplit(' ').next().unwrap().parse().unwrap();
        assert!(used + OF_CALLERS <= STACK_BYTES, "{said}");
    }
}
