//! The `oarlock serve` subcommand.

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;

use oarlock_net::server::config::Config;
use oarlock_net::server::{self, Server};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::failure::Failure;
use crate::stdout;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Configuration, as docs/cryptoserver.md describes it
    #[arg(short, long, value_name = "FILE")]
    config: PathBuf,

    /// Check the configuration and everything that it names, and serve nothing
    #[arg(long)]
    check: bool,

    /// Serve with this device alone: a device of the configuration, cpu, software, axl200 or nfast300
    #[arg(long, value_name = "NAME")]
    device: Option<String>,

    /// Worker threads of that device
    #[arg(long, value_name = "COUNT", requires = "device")]
    workers: Option<usize>,

    /// What to log on standard error: error, warn, info, debug, or a filter such as
    /// `info,oarlock_net=debug`
    #[arg(long, value_name = "FILTER", default_value = "info")]
    log: String,

    /// Log in JSON, one line for each event
    #[arg(long)]
    log_json: bool,
}

pub(crate) const EXAMPLES: &str = "\
Examples:
  oarlock serve --config cryptoserver.toml
  oarlock serve --config cryptoserver.toml --check
  oarlock serve --config cryptoserver.toml --device cpu --workers 2

On SIGHUP it reads the configuration again: keys, clients, limits and certificates. On SIGTERM it answers \
everything that it has accepted, and ends. `oarlock top` of the same user shows what it does.";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    start_log(args)?;
    let (device, workers) = (args.device.clone(), args.workers);
    let change = move |config: Config| match &device {
        Some(device) => config.single_device(device, workers),
        None => Ok(config),
    };
    let fail = |error: &dyn std::fmt::Display| Failure::new(error.to_string());
    if args.check {
        let config = Config::read(&args.config).map_err(|error| fail(&error))?;
        let config = change(config).map_err(|error| fail(&error))?;
        let found = server::check(&config).map_err(|error| fail(&error))?;
        let devices = found
            .devices
            .iter()
            .map(|(name, workers)| format!("{name} ({workers})"));
        let text = format!(
            "devices (workers): {}\nkeys: {}\n",
            devices.collect::<Vec<_>>().join(", "),
            found.keys.join(", ")
        );
        return stdout::write(&text);
    }
    server::serve(&args.config, change, announce).map_err(|error| fail(&error))
}

/// Prints the ports on standard output, for a process that started the server and waits for them.
fn announce(server: &Server) {
    // For `oarlock top`. Without a private folder, as in some containers, it serves all the same.
    let _ = oarlock_engine::costs::published::show(server.metrics());
    let mut text = String::new();
    for address in server.addresses() {
        text.push_str(&format!("listening on {address}\n"));
    }
    if let Some(address) = server.metrics() {
        text.push_str(&format!("metrics on http://{address}/metrics\n"));
    }
    let mut stdout = std::io::stdout().lock();
    // Serve whether or not anybody reads these lines.
    let _ = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
}

fn start_log(args: &Args) -> Result<(), Failure> {
    let filter: Targets = args.log.parse().map_err(|_| {
        Failure::usage(format!(
            "--log {}: give off, error, warn, info, debug or trace",
            args.log
        ))
    })?;
    let log = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none());
    let filtered = tracing_subscriber::registry().with(filter);
    if args.log_json {
        filtered.with(log.json()).init();
    } else {
        filtered.with(log).init();
    }
    Ok(())
}
