//! `oarlock devices`.

use crate::failure::Failure;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) const EXAMPLES: &str = "Example:\n  oarlock devices --json";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let _ = args.json;
    Err(Failure::new("devices: not there yet"))
}
