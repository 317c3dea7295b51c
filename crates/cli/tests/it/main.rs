//! The command as its users start it. All tests are in one program and run in parallel.
//!
//! | what | where |
//! |---|---|
//! | `enc` and `dec` compared with openssl | `agreement`, `openssl_enc`, `streams`, `failures` |
//! | age files compared with age and rage, and the age community's vectors | `age`, `age_damage`, `age_failures`, `age_habits`, `age_hybrid`, `age_peers`, `age_vectors` |
//! | many files, directories, ranges | `files`, `trees`, `durable` |
//! | passphrases, typed and given | `passphrases` |
//! | closed outputs, terminals | `outputs` |
//! | the rights to an output; hostile files, folders and plugins; outputs that would replace a key | `rights`, `hostile`, `apart` |
//! | `run`, `provider`, `doctor` and the provider's counters | `run`, `stats`, `provider`, `doctor`, `module`, `queries` |
//! | a program whose processes share memory | `kamailio` |
//! | programs with TLS libraries of every kind; programs that choose their providers; what a command leaves running |
//! `libraries`, `choice`, `kept` |
//! | what the provider offers, and the calibration behind it | `calibration` |
//! | `keygen --type`, `sign`, `verify` and `pubkey` with keys in files, both ways with openssl | `key_files` |
//! | the cryptoserver's `serve`, `sign`, `verify`, `keys`, `pubkey` and `pki` | `serve` |
//! | `make install` and `uninstall`, manual pages | `install` |
//! | `top`, and what other users write into its files | `top`, `top_strangers` |
//! | `devices`, `completions`, `bench --report` | `listing`, `report` |
//! | typing errors, help and colours; messages of libraries | `arguments`, `words` |
//!
//! Each test starts commands in a folder of its own and changes nothing of this process.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod age;
mod age_damage;
mod age_failures;
mod age_habits;
mod age_hybrid;
mod age_peers;
mod age_vectors;
mod agreement;
mod apart;
mod arguments;
mod calibration;
mod choice;
mod common;
mod doctor;
mod durable;
mod failures;
mod files;
mod hostile;
mod install;
mod kamailio;
mod kept;
mod key_files;
mod libraries;
mod listing;
mod local;
mod module;
mod openssl_enc;
mod outputs;
mod passphrases;
mod provider;
mod queries;
mod report;
mod rights;
mod run;
mod serve;
mod stats;
mod streams;
mod top;
mod top_strangers;
mod trees;
mod words;
