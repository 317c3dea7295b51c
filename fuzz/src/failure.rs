//! What the files of the command that are compiled here (`elf.rs`, `openssl_conf.rs`) take from it.

use std::io;

pub(crate) fn reason(error: &io::Error) -> String {
    error.to_string()
}
