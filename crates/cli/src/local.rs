//! `oarlock local`.

use std::io::Write as _;
use std::path::PathBuf;

use nix::unistd::User;
use oarlock_local::{Limits, Server};
use rustix::io::dup;
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, geteuid, getrlimit, set_dumpable_behavior, setrlimit,
};

use crate::failure::{Failure, reason};
use crate::interrupt::Interrupt;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The socket
    #[arg(
        long,
        value_name = "PATH",
        default_value = "/run/oarlock/local.sock",
        conflicts_with = "stdin"
    )]
    socket: PathBuf,

    /// The socket is standard input, and listens: as a service manager hands it over
    #[arg(long)]
    stdin: bool,

    /// A user whose processes are served, by name or number; may be repeated. Root and the user of the daemon are
    #[arg(long, value_name = "USER")]
    allow: Vec<String>,
}

pub(crate) const EXAMPLES: &str = "\
Processes of one user that have the same private key, such as the workers of nginx, sign together where the \
provider's section has the line `local = /run/oarlock/local.sock`. No key leaves them: the daemon brings them together, \
and may stop and start at any time.

Examples:
  sudo oarlock local --allow www-data
  sudo oarlock run --local -- nginx";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let fail = |error: oarlock_local::Error| Failure::new(error.to_string());
    let mut users = vec![0, geteuid().as_raw()];
    for name in &args.allow {
        users.push(user(name)?);
    }
    let limits = Limits {
        users,
        boards_of_user: OF_USER,
    };
    // Whoever could read this process's descriptors would have boards without a key.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|error| Failure::new(format!("prctl: {}", reason(&error.into()))))?;
    raise_descriptors();
    let interrupt = Interrupt::catch(true)?;
    interrupt.leaves_something();
    let server = if args.stdin {
        let listener = dup(rustix::stdio::stdin());
        let listener = listener
            .map_err(|error| Failure::new(format!("standard input: {}", reason(&error.into()))))?;
        Server::on(listener).map_err(fail)?
    } else {
        if args.socket.starts_with(RUN) {
            // As systemd makes it. Where that is refused, bind says why.
            let _ = std::fs::create_dir(RUN);
        }
        let server = Server::bind(&args.socket).map_err(fail)?;
        // It serves whether or not anybody reads that.
        let _ = writeln!(std::io::stdout(), "listening on {}", args.socket.display());
        server
    };
    let mut report = |what: &str| {
        let _ = writeln!(std::io::stderr(), "oarlock: {what}");
    };
    server
        .serve(&limits, interrupt.seen(), &mut report)
        .map_err(fail)
}

/// The number of a user.
fn user(name: &str) -> Result<u32, Failure> {
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    match User::from_name(name) {
        Ok(Some(user)) => Ok(user.uid.as_raw()),
        Ok(None) => Err(Failure::usage(format!("--allow {name}: no such user"))),
        Err(error) => Err(Failure::new(format!(
            "--allow {name}: {}",
            reason(&error.into())
        ))),
    }
}

/// As many descriptors as there may be: one for each board, and one for each answer that a client has not read.
fn raise_descriptors() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    let _ = setrlimit(Resource::Nofile, raised);
}

/// The folder of the usual socket.
const RUN: &str = "/run/oarlock";
/// Boards of one user: keys of its servers.
const OF_USER: usize = 256;
