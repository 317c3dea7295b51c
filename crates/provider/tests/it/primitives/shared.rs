//! Keys that processes and threads share: a fork between generation and derivation, and threads that use a new key at once.

use std::process::Command;

use oarlock_testing::lossy;

use crate::host::{Accelerated, compiled, run};

#[test]
fn new_keys_are_shared_with_forked_children_and_threads() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled("generated", folder.path());
    let accelerated = Accelerated::post_quantum(None);
    for (arguments, provider) in [
        (&["X25519", "exchange"][..], "oarlock\n"),
        (&["X25519MLKEM768", "kem"], "oarlock\n"),
        (&["SecP384r1MLKEM1024", "kem"], "oarlock\n"),
        // Keys of these curves stay with the default provider, except for long-lived ones.
        (&["EC", "exchange", "P-384"], "default\n"),
    ] {
        let mut command = Command::new(&program);
        let output = run(accelerated.apply(command.args(arguments)));
        let said = lossy(&output.stdout);
        assert!(
            output.status.success() && said == provider,
            "{arguments:?}: {said} {}",
            lossy(&output.stderr)
        );
    }
}
