//! Differential fuzzing under AddressSanitizer, in the long form.

use std::path::Path;
use std::process::Command;

use crate::files;
use crate::tool::{self, Result, cargo};

/// Seconds of fuzzing for each target.
const SECONDS: u32 = 60;
const TARGETS: &str = "fuzz/libfuzzer/fuzz_targets";
const CARGO_FUZZ_VERSION: &str = "0.13.1";

/// Runs the fuzzer. Sanitizers need unstable flags, which this enables in the stable compiler.
pub fn run(root: &Path, target: &Path) -> Result<()> {
    let tools = target.join("tools");
    let program = tools.join("bin/cargo-fuzz");
    if !program.exists() {
        tool::status(
            cargo()
                .args(["install", "cargo-fuzz", "--locked", "--quiet"])
                .args(["--version", CARGO_FUZZ_VERSION, "--root"])
                .arg(&tools)
                .env("CARGO_TARGET_DIR", tools.join("build")),
        )?;
    }
    for source in files::entries(&root.join(TARGETS))? {
        let name = source.file_stem().unwrap_or_default();
        // The corpus is kept; a crash is written below fuzz/artifacts and named in the output.
        let corpus = target.join("fuzz-corpus").join(name);
        files::create_dir(&corpus)?;
        tool::status(
            Command::new(&program)
                .args(["run", "--fuzz-dir", "fuzz/libfuzzer"])
                .arg(name)
                .arg(corpus)
                .arg(root.join("fuzz/corpus").join(name))
                .arg("--target-dir")
                .arg(target.join("fuzz"))
                .args(["--", &format!("-max_total_time={SECONDS}")])
                // Prints only findings and, at the end, the number of tries.
                .args(["-verbosity=0", "-print_final_stats=1"])
                .env("RUSTC_BOOTSTRAP", "1")
                .current_dir(root),
        )?;
    }
    Ok(())
}
