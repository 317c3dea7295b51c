//! Either end of a file's way over TLS 1.3.
//!
//! Both do the handshake with libssl. The sender then sends a file, by libssl or by Oarlock with the keys of that
//! handshake; the receiver reads what comes, and opens it only where it is to be compared.

mod receive;
mod send;
mod ssl;

use std::error::Error;
use std::process::ExitCode;

pub(crate) use receive::{Args as Receive, run as receive};
pub(crate) use send::{Args as Send, run as send};

/// How the process ends.
pub(crate) fn ended(result: Result<(), Box<dyn Error>>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("oarlock-bench-process: {fault}");
            // For oarlock-bench: something is not on this machine.
            ExitCode::from(if fault.is::<ssl::Missing>() { 3 } else { 1 })
        }
    }
}
