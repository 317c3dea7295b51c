//! What programs that are not ours bring along, read for the command as their own loader and their OpenSSL read it:
//!
//! ```text
//! elf.rs          what a file is linked with, and what it tells of OpenSSL
//! openssl_conf/   an OpenSSL configuration, and the lines to add to it
//! ```
//!
//! Both are input from outside: whatever a file holds, reading it ends with values or with an error of one line.

pub mod elf;
pub mod openssl_conf;
