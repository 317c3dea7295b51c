//! What is measured: every kernel that handles a secret, on every backend of this CPU, and what the
//! engine does with secrets itself.

mod aead;
mod ciphers;
mod controls;
mod handshake;
mod keyed;
#[cfg(target_arch = "x86_64")]
mod modexp;
mod padding;
mod rsa;

use crate::measure::Path;
use controls::{LEAKY, NOISE};

/// Every path but the leaky control.
pub fn all() -> Vec<Box<dyn Path>> {
    let mut paths: Vec<Box<dyn Path>> = vec![Box::new(NOISE)];
    ciphers::add(&mut paths);
    aead::add(&mut paths);
    padding::add(&mut paths);
    handshake::add(&mut paths);
    #[cfg(target_arch = "x86_64")]
    modexp::add(&mut paths);
    rsa::add(&mut paths);
    paths
}

/// A comparison of tags as one must not write it.
pub fn leaky_control() -> Box<dyn Path> {
    Box::new(LEAKY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use oarlock_kernels::cpu::Cpu;

    #[test]
    fn paths_have_names_of_their_own_and_run() {
        let mut paths = all();
        for path in &mut paths {
            path.prepare(&vec![1; path.secret_bytes()]);
            path.run();
        }
        let mut names: Vec<_> = paths.iter().map(|path| path.name()).collect();
        for what in [
            "ctr",
            "des-ede3",
            "serpent",
            "cbc",
            "gcm",
            "chacha20 ",
            "chacha20-poly1305",
            "rsa",
            "hmac",
            "hkdf",
            "pkcs#8",
        ] {
            assert!(names.iter().any(|name| name.contains(what)), "{what}");
        }
        for backend in Cpu::detect().aes_backends() {
            assert!(names.iter().any(|name| name.contains(backend.name())));
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), paths.len());
    }
}
