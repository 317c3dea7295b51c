//! A stream: `cat FILE | oarlock encrypt | cat > /dev/null`, with other programs in the middle, and with none. Pipes hold 1
//! MiB; each program chooses its read and write sizes (128 KiB for cat).

use std::fs::File;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use oarlock_measure::Error;
use oarlock_measure::cases::Direction;
use rustix::pipe::fcntl_setpipe_size;

use super::bench::{Bench, LIMIT, Log, RunCost, name, remove, taken};
use super::one::bytes;
use super::point::Pairing;
use super::tools::Tool;
use crate::programs::compared::Compared;
use crate::programs::data::{are_alike, make};
use crate::programs::setup::Setup;
use crate::system::child::Running;

pub(super) fn measure(
    setup: &Setup,
    case: &str,
    direction: Direction,
) -> Result<Vec<Compared>, Error> {
    let bytes = bytes(setup);
    // The source, its encrypted form, and the output of a comparison.
    let bench = Bench::new(setup, case, bytes * 3)?;
    let source = bench.file("source");
    make(&source, bytes, 1)?;
    let sealed = verify(&bench, &source)?;

    let mut middles: Vec<_> = bench.here(TOOLS).into_iter().map(Some).collect();
    middles.push(None);
    let input = match direction {
        Direction::Encrypt => &source,
        Direction::Decrypt => &sealed,
    };
    let samples = bench.in_turn(setup.rounds(7, 3), middles.len(), |side| {
        through(
            &bench,
            input,
            middles[side],
            direction,
            Path::new("/dev/null"),
        )
    })?;
    let mut others = middles.iter().zip(&samples);
    let Some((_, ours)) = others.next() else {
        return Ok(Vec::new());
    };
    let compared = others.flat_map(|(middle, theirs)| {
        let point = Pairing {
            bytes,
            vs: middle.map_or("nothing in its place", Tool::name),
            threads: None,
            ours,
            theirs,
        };
        point.with_file()
    });
    Ok(compared.collect())
}

/// Encrypts `source` through a pipe, and checks that it decrypts correctly.
fn verify(bench: &Bench<'_>, source: &Path) -> Result<PathBuf, Error> {
    let (sealed, opened) = (bench.file("sealed"), bench.file("opened"));
    through(
        bench,
        source,
        Some(Tool::Oarlock),
        Direction::Encrypt,
        &sealed,
    )?;
    let others = bench.tools.lacks(Tool::Age).is_none().then_some(Tool::Age);
    for tool in [Tool::Oarlock].into_iter().chain(others) {
        through(bench, &sealed, Some(tool), Direction::Decrypt, &opened)?;
        let what = format!("what came through a pipe by {}", tool.name());
        bench.check_alike(are_alike(source, &opened)?, &what)?;
        remove(&opened)?;
    }
    Ok(sealed)
}

/// Runs `middle` from `source` to `sink`, between two processes of cat. The CPU time is that of all processes, the memory
/// that of the largest.
fn through(
    bench: &Bench<'_>,
    source: &Path,
    middle: Option<Tool>,
    direction: Direction,
    sink: &Path,
) -> Result<RunCost, Error> {
    let filter = |tool| bench.tools.filter(bench.setup, tool, direction);
    let mut first = filter(Tool::Cat);
    first.arg(source);
    let mut stages = vec![first];
    stages.extend(middle.map(filter));
    let sink = File::create(sink).map_err(Error::io(sink.display()))?;
    line(&bench.log, stages, filter(Tool::Cat), sink)
}

/// Runs commands in a pipeline, the last of which writes to `sink`.
fn line(log: &Log, stages: Vec<Command>, last: Command, sink: File) -> Result<RunCost, Error> {
    let errors = log.anew()?;
    // By value: dropping a command closes our copies of its pipe ends, without which no reader would see an end.
    let start = |mut command: Command, input: Stdio, output: Stdio| {
        let errors = errors.try_clone().map_err(Error::io("a log"))?;
        command.stdin(input).stdout(output).stderr(errors);
        Ok::<_, Error>((name(&command), Running::start(&mut command)?))
    };
    let mut running = Vec::new();
    let mut input = Stdio::null();
    let began = Instant::now();
    for command in stages {
        let (reader, writer) = std::io::pipe().map_err(Error::io("a pipe"))?;
        fcntl_setpipe_size(&writer, PIPE_BYTES)
            .map_err(|error| Error::Failed(format!("a pipe of {PIPE_BYTES} bytes: {error}")))?;
        running.push(start(command, input, writer.into())?);
        input = reader.into();
    }
    running.push(start(last, input, sink.into())?);
    let mut names = Vec::new();
    let mut all = Vec::new();
    for (name, process) in running {
        names.push(name);
        all.push(process.end(LIMIT)?);
    }
    let seconds = began.elapsed().as_secs_f64();
    // A process that lost its reader also failed, but the reader's failure is the reason.
    for has_lost_reader in [false, true] {
        for (name, ended) in names.iter().zip(&all) {
            if (ended.status.signal() == Some(libc::SIGPIPE)) == has_lost_reader {
                log.check(name, ended)?;
            }
        }
    }
    Ok(taken(seconds, &all))
}

const PIPE_BYTES: usize = 1 << 20;
/// Our command is the first.
const TOOLS: &[Tool] = &[Tool::Oarlock, Tool::Cat, Tool::Age, Tool::Rage];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::child::{BUSY, BUSY_SECONDS_MIN};

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_goes_in_comes_out_and_everybodys_time_counts() {
        let folder = tempfile::tempdir().unwrap();
        let (log, out) = (
            Log::at(&folder.path().join("log")),
            folder.path().join("out"),
        );
        let busy = |script| sh(&format!("{BUSY}; {script}"));
        let sink = File::create(&out).unwrap();
        let stages = vec![busy("echo oar"), busy("tr a-z A-Z")];
        let taken = line(&log, stages, busy("cat"), sink).unwrap();
        assert_eq!(std::fs::read_to_string(&out).unwrap(), "OAR\n");
        assert!(
            taken.cpu_seconds >= 3.0 * BUSY_SECONDS_MIN && taken.resident_bytes > 0,
            "{taken:?}"
        );
    }

    #[test]
    fn who_fails_is_named_and_not_who_wrote_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let log = Log::at(&folder.path().join("log"));
        let null = || File::create("/dev/null").unwrap();
        let stages = || vec![Command::new("yes"), sh("echo no such key >&2; exit 3")];
        let error = line(&log, stages(), sh("cat"), null()).unwrap_err();
        assert_eq!(error.to_string(), "sh: exit status: 3: no such key");
        // No other process failed, so the first one's failure is reported.
        let error = line(&log, vec![Command::new("yes")], sh("exit 0"), null()).unwrap_err();
        assert!(error.to_string().starts_with("yes: signal: 13"), "{error}");
    }
}
