//! The `oarlock local` subcommand.

use std::io::Write as _;
use std::path::PathBuf;

use oarlock_local::{Limits, Server};
use rustix::process::geteuid;

use crate::daemon;
use crate::failure::Failure;
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

    /// A user whose processes are served, by name or number; may be repeated. Root and the daemon's own user are
    /// always served
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
        users.push(daemon::user(name)?);
    }
    let limits = Limits {
        users,
        boards_of_user: OF_USER,
    };
    // Otherwise a process that can read this one's descriptors would get boards without a key.
    daemon::prepare()?;
    let interrupt = Interrupt::catch(true)?;
    interrupt.leaves_something();
    let server = if args.stdin {
        Server::on(daemon::listener()?).map_err(fail)?
    } else {
        daemon::make_folder_of(&args.socket);
        let server = Server::bind(&args.socket).map_err(fail)?;
        // Serve whether or not anybody reads this line.
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

/// The most boards per user. Each key of the user's servers has a board.
const OF_USER: usize = 256;
