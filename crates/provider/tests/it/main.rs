//! The provider as programs load it: one program, whose tests run concurrently.
//!
//! | what | where |
//! |---|---|
//! | calls of libcrypto in this process, next to the default provider | `differential`, `primitives`, `ec`, `rsa`, `differences`, `advisories`, `skey`, `vectors`; by `driver` |
//! | `openssl`, OpenSSH, nginx and curl, strongSwan, OpenVPN, Python and node | `openssl`, `tls`, `ssh`, `tls_servers`, `strongswan`, `openvpn`, `languages`; by `host` |
//! | RSA keys: servers that sign, and a TPM's keys next to ours | `handshakes`, `tpm`; by `host` |
//! | groups of TLS by ML-KEM: OpenSSL of other releases, Go, nginx, haproxy, Python | `groups`; by `host` |
//! | every moment in the life of a process | `process`; threads in it: `helpers`; by `host` |
//! | the memory of idle connections | `connections`; by `host` |
//! | programs with an allocator of their own | `allocators`; by `host` |
//! | the stack of OpenSSL's jobs | `jobs`; by `host` |
//! | providers that are unloaded while a key lives | `unload`; by `host` |
//! | the file that says what is offered | `calibration`; by `host`; its content in `crates/cli/tests/it/calibration.rs` |
//!
//! This process loads libcrypto and the provider once, into library contexts that its tests share. Tests that fork, confine
//! a process or count start a program of their own.
#![allow(unsafe_code, clippy::unwrap_used, clippy::expect_used)]

mod advisories;
mod allocators;
mod calibration;
mod connections;
mod differences;
mod differential;
mod driver;
mod ec;
mod groups;
mod handshakes;
mod helpers;
mod host;
mod jobs;
mod languages;
mod openssl;
mod openvpn;
mod primitives;
mod process;
mod pure;
mod rsa;
mod skey;
mod ssh;
mod strongswan;
mod tls;
mod tls_servers;
mod tpm;
mod unload;
mod vectors;
