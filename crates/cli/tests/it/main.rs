//! The command as its users start it: one program, whose tests run side by side.
//!
//! | what | where |
//! |---|---|
//! | `enc` and `dec` beside openssl | `agreement`, `openssl_enc`, `streams`, `failures` |
//! | age files beside age and rage | `age`, `age_damage`, `age_failures`, `age_hybrid`, `age_peers` |
//! | many files, directories, ranges | `files`, `durable` |
//! | whose an output is; hostile files, folders and plugins | `rights`, `hostile` |
//! | `run`, `provider`, `doctor` and the provider's counters | `run`, `stats`, `provider`, `doctor` |
//! | the cryptoserver's `serve`, `sign`, `verify`, `keys`, `pubkey` and `pki` | `serve` |
//! | `make install` and `uninstall`, manual pages | `install` |
//! | `devices`, `completions`, `bench --report` | `listing`, `report` |
//!
//! Each test starts commands in a folder of its own and changes nothing of this process.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod age;
mod age_damage;
mod age_failures;
mod age_hybrid;
mod age_peers;
mod agreement;
mod common;
mod doctor;
mod durable;
mod failures;
mod files;
mod hostile;
mod install;
mod listing;
mod openssl_enc;
mod provider;
mod report;
mod rights;
mod run;
mod serve;
mod stats;
mod streams;
