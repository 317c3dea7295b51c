//! Whole programs: unmodified `openssl` and OpenSSH, stock and with the provider; and `oarlock` itself on files and streams,
//! compared with age, rage, openssl, gpg and cp, and as a cryptoserver.
//!
//! ```text
//! cases.rs        what is measured            versions.rs of the programs
//! speed.rs        openssl speed               start.rs    what the provider adds to a program's start
//! context.rs      contexts, call by call      enc.rs      oarlock enc and openssl enc
//! in_memory.rs    handshakes in memory        certificates.rs  of servers
//! operations.rs   those of a handshake, one by one
//! https.rs        nginx and curl              handshakes/ of servers and clients
//! ssh/            connections of our own      link.rs     a gigabit between two namespaces
//! files/          files and streams           server/     cryptoservers and clients
//! packets/        many packets in one call: no program of its own, but measured as they are
//! file_to_tls.rs  a file over TLS in one call  device.rs   the framework over boards
//! c_library.rs    the C library, as a program in C has it
//! python/         the Python package
//! compared.rs     what came out               data.rs     files in memory
//! setup.rs        the two configurations, proof that ours is used
//! ```
//!
//! All sides take turns, and another begins in each round. Each round yields a ratio of two figures, and the median of the
//! ratios counts: a temporary slowdown of the machine affects both sides.
//!
//! These cases take seconds per round, so they run only if the pattern begins like their names.

pub(crate) mod c_library;
mod cases;
mod certificates;
mod compared;
mod context;
mod data;
pub(crate) mod device;
pub(crate) mod enc;
pub(crate) mod file_to_tls;
mod files;
pub(crate) mod handshakes;
mod https;
pub(crate) mod in_memory;
mod link;
pub(crate) mod operations;
pub(crate) mod packets;
pub(crate) mod python;
pub(crate) mod server;
mod setup;
mod speed;
mod ssh;
mod start;
mod versions;

use std::io::Write;

use oarlock_measure::Error;
use oarlock_measure::cases::glob;
use oarlock_measure::output::{Record, json, write_out};

use crate::system::interrupt;
pub(crate) use cases::{ProgramCase, all as cases, are_named_by};
pub(crate) use compared::{Compared, Quantity, STOCK};
pub(crate) use setup::{Named, Setup};

pub(crate) const HELP: &str = "\
Whole programs are cases and targets of their own: openssl-speed-*, openssl-context-*, openssl-key-*, openssl-start,
evp-copy-*, evp-new-* and evp-rekey-* (a context or a key for each message), evp-handshake-* (TLS in memory, a
server and a client), the operations that a handshake consists of (evp-tls13-*, evp-x25519-* and others, compared with
aws-lc as well), ssh-* and https-* (nginx and curl) and tls-* (handshakes of haproxy, nginx, Apache, curl and Python,
and openssl speed of keys), stock and with the OpenSSL provider in turn; file-* and pipe-*, oarlock encrypt and decrypt
against cp, age, rage (cargo xtask peers), openssl enc and gpg; file-many-* 10,000 files of 4 KiB in one call against
loops of rage and age over 500 of them, files a second; server-*, oarlock serve on one CPU and its clients on another;
hostile-*, a client that attacks the server, compared with one that does not; packet-*, many packets in one
call, from 16 bytes to 64 KiB or as --size says; device-*, requests to the framework, alone and on simulated boards; c-*, the
C library against the Rust one and EVP; python-*, the Python package against `cryptography`; fleet-*, `oarlock.ray` on
a local Ray against other programs in the same tasks, which takes 20 GB of disk; pkcs11-*, the PKCS#11 module against
the server's own client and SoftHSM. They take minutes, so only a pattern that begins as their names do measures
them: --case 'ssh-*', --targets='file-*'. Of the other options, --class, --quick, --json and --record count.

Never slower: --targets='class-*' measures every cipher at every size against every peer, openssl speed, ssh, scp, curl
and nginx, on this CPU or, with --class, as if it were of a lower class. It takes an hour, with --quick 20 minutes.";

/// Measures the cases whose names match `--case`.
pub(crate) fn run(
    args: &oarlock_measure::args::Args,
    named: &Named,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let pattern = &args.case;
    let all = cases::all();
    let cases: Vec<_> = all
        .iter()
        .filter(|case| glob::matches(pattern, &case.name))
        .collect();
    if cases.is_empty() {
        let names: Vec<_> = all.iter().map(|case| case.name.as_str()).collect();
        return Err(Error::Usage(format!(
            "no case matches {pattern:?}: there are {}",
            names.join(", ")
        )));
    }
    let takes_provider = cases.iter().any(|case| case.takes_provider());
    let mut setup = Setup::new(named, args.quick, takes_provider)?;
    setup.sizes = Some(args.size.clone());
    let mut record = match args.record {
        true => Some(Record::open(&versions::versions(&setup))?),
        false => None,
    };
    if !args.json {
        let versions = versions::versions(&setup).join(" · ");
        let heading = match cases.iter().all(|case| case.batch().is_some()) {
            true => "",
            false => Compared::HEADING,
        };
        write_out(out, &format!("{versions}\n{heading}\n"))?;
    }
    let mut left_out = 0;
    for case in cases {
        interrupt::check()?;
        let compared = match case.measure(&setup) {
            Ok(compared) => compared,
            Err(Error::Unavailable(why) | Error::NotOffered(why)) => {
                eprintln!("oarlock-bench: {} left out: {why}", case.name);
                left_out += 1;
                continue;
            }
            Err(error) => return Err(error),
        };
        if let (Some(line), false) = (case.batch(), args.json) {
            write_out(out, &packets::table(line.name, line.packets, &compared))?;
        }
        for compared in compared {
            for line in compared.lines(&case.name) {
                if let Some(record) = &mut record {
                    record.add(&line)?;
                }
                if args.json {
                    write_out(out, &json(&line)?)?;
                }
            }
            if !args.json && case.batch().is_none() {
                write_out(out, &(compared.row(&case.name) + "\n"))?;
            }
        }
    }
    match left_out {
        0 => Ok(()),
        cases => Err(Error::Unavailable(format!("{cases} cases left out"))),
    }
}
