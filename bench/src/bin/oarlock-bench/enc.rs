//! Whole programs: `oarlock enc` beside `openssl enc` on a file in memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use oarlock_bench::Error;

use crate::programs::data::{TMPFS, are_alike, make};
use crate::targets::Outcome;

pub(crate) const NAME: &str = "oarlock enc of 1 GiB in tmpfs: over openssl enc, aes-128-ctr";
const FILE_BYTES: usize = 1 << 30;
const REQUIRED: f64 = 1.7;
const KEY: &str = "000102030405060708090a0b0c0d0e0f";
const IV: &str = "0f1e2d3c4b5a69788796a5b400000000";

/// Wall time of the two in turn, the ratio pair by pair.
pub(crate) fn measure(oarlock: Option<&Path>, quick: bool) -> Outcome {
    let name = NAME.to_owned();
    match ratios(oarlock, if quick { 3 } else { 7 }) {
        Ok(mut ratios) => {
            ratios.sort_by(f64::total_cmp);
            let last = ratios.len() - 1;
            let ratio = [ratios[0], ratios[last / 2], ratios[last]];
            Outcome::measured(name, REQUIRED, ratio, String::new())
        }
        Err(error) => Outcome::not_measured(name, REQUIRED, error.to_string()),
    }
}

fn ratios(oarlock: Option<&Path>, rounds: usize) -> Result<Vec<f64>, Error> {
    let oarlock = find(oarlock)?;
    let folder = tempfile::tempdir_in(TMPFS).map_err(Error::io(TMPFS))?;
    let input = folder.path().join("input");
    make(&input, FILE_BYTES, 1)?;
    let (ours, theirs) = (folder.path().join("oarlock"), folder.path().join("openssl"));

    let by_oarlock = || {
        let mut command = Command::new(&oarlock);
        command.args(["enc", "--cipher", "aes-128-ctr", "-K", KEY, "--iv", IV]);
        command.arg(&input).arg("-o").arg(&ours);
        timed(command, &ours)
    };
    let by_openssl = || {
        let mut command = Command::new("openssl");
        command.args(["enc", "-aes-128-ctr", "-K", KEY, "-iv", IV, "-in"]);
        command.arg(&input).arg("-out").arg(&theirs);
        timed(command, &theirs)
    };

    // Once unmeasured: programs and libraries are read from disk, and the bytes are compared.
    by_oarlock()?;
    by_openssl()?;
    if !are_alike(&ours, &theirs)? {
        return Err(Error::Mismatch(
            "oarlock enc and openssl enc wrote different bytes".to_owned(),
        ));
    }
    let mut ratios = Vec::new();
    for round in 0..rounds {
        let (ours, theirs) = if round % 2 == 0 {
            let ours = by_oarlock()?;
            (ours, by_openssl()?)
        } else {
            let theirs = by_openssl()?;
            (by_oarlock()?, theirs)
        };
        ratios.push(theirs / ours);
    }
    Ok(ratios)
}

/// The one that was named, or the one that was built beside this.
pub(crate) fn find(named: Option<&Path>) -> Result<PathBuf, Error> {
    let beside = || {
        let program = std::env::current_exe().ok()?;
        Some(program.with_file_name("oarlock"))
    };
    named
        .map(Path::to_owned)
        .or_else(beside)
        .filter(|file| file.is_file())
        .ok_or_else(|| {
            Error::Unavailable(
                "no `oarlock` beside this program: build it (cargo build --release --package \
                 oarlock-cli) or name it with --oarlock"
                    .to_owned(),
            )
        })
}

/// Seconds that a command takes to write `output` anew.
fn timed(mut command: Command, output: &Path) -> Result<f64, Error> {
    // Not under the clock: to free the old pages takes as long as to write some.
    let _ = fs::remove_file(output);
    let name = command.get_program().to_string_lossy().into_owned();
    let began = Instant::now();
    let done = command
        .stdin(Stdio::null())
        .output()
        .map_err(Error::io(&name))?;
    let took = began.elapsed();
    if done.status.success() {
        Ok(took.as_secs_f64())
    } else {
        let why = String::from_utf8_lossy(&done.stderr);
        Err(Error::Failed(format!("{name}: {}", why.trim())))
    }
}
