//! `oarlock enc` compared with `openssl enc` on a file in memory.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use oarlock_measure::Error;

use super::data::{TMPFS, are_alike, make};

const FILE_BYTES: usize = 1 << 30;
const KEY: &str = "000102030405060708090a0b0c0d0e0f";
const IV: &str = "0f1e2d3c4b5a69788796a5b400000000";

/// Returns the ratios of the wall times of the two in turn, pair by pair.
pub(crate) fn ratios(oarlock: Option<&Path>, quick: bool) -> Result<Vec<f64>, Error> {
    let oarlock = super::setup::oarlock(oarlock)?;
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

    // One unmeasured run each: programs and libraries are read from disk, and the outputs are compared.
    by_oarlock()?;
    by_openssl()?;
    if !are_alike(&ours, &theirs)? {
        return Err(Error::Mismatch(
            "oarlock enc and openssl enc wrote different bytes".to_owned(),
        ));
    }
    let mut ratios = Vec::new();
    for round in 0..if quick { 3 } else { 7 } {
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

/// Returns the seconds in which a command writes `output` from scratch.
fn timed(mut command: Command, output: &Path) -> Result<f64, Error> {
    // Outside the measured time: freeing the old pages takes as long as writing some.
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
