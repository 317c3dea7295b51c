//! Chores of the workspace, run as `cargo xtask COMMAND`.

mod age_peers;
mod ci;
mod constant_time;
mod fetch;
mod go;
mod kernels;
mod peers;
mod plan;
mod structure;
mod tokens;
mod tool;
mod vectors;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  ci             everything CI runs, in order; stops at the first failure. With --long what
                 `make test-long` runs
  structure      who may depend on whom, by crate and by module, and which rooms may hold unsafe,
                 intrinsics and threads; with `--modules [CRATE]` prints rooms, arrows and circles
  kernels        writes the assembly of the kernels; with --check finds whether it is as written
  plan           measures this machine for the tables of the plan, and writes them
  vectors        fetches published test vectors into the target folder
  peers          fetches and builds the benchmark's optional peers into the target folder; with
                 `age` only age and rage, which tests want, too, and with `tokens` only
                 kryoptic, which tests of tokens take where it is
  constant-time  looks for times of the kernels that depend on secrets; more words are for
                 oarlock-timing: try `cargo xtask constant-time --help`";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let result = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["ci"] => ci::run(),
        ["ci", "--long"] => ci::run_long(),
        ["structure"] => structure::run(),
        ["structure", "--modules"] => structure::print_modules(None),
        ["structure", "--modules", package] => structure::print_modules(Some(package)),
        ["vectors"] => vectors::run(),
        ["plan"] => plan::run(),
        ["kernels"] => kernels::run(),
        ["kernels", "--check"] => kernels::check_all(),
        ["peers"] => peers::run(),
        ["peers", "age"] => peers::run_age(),
        ["peers", "tokens"] => peers::run_tokens(),
        ["constant-time", ref options @ ..] => constant_time::run(options),
        [] | ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        _ => Err(format!(
            "unknown command {:?}: see `cargo xtask help`",
            words.join(" ")
        )),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}
