//! Reads the files of other programs for the command, the way their loader and their OpenSSL read them:
//!
//! ```text
//! elf.rs          reads the libraries that a file is linked with, and what it contains of OpenSSL
//! openssl_conf/   parses an OpenSSL configuration, and adds lines to it
//! ```
//!
//! Both are untrusted input: whatever a file contains, reading it ends with values or with a one-line error.

pub mod elf;
pub mod openssl_conf;
