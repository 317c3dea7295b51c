//! Many small files in one directory; programs that accept one file per call run in a shell loop.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use oarlock_measure::Error;
use oarlock_measure::cases::Direction;

use super::bench::{Bench, RunCost, remove};
use super::point::Pairing;
use super::tools::Tool;
use crate::programs::compared::{Compared, Quantity};
use crate::programs::data::{are_alike, make};
use crate::programs::setup::Setup;

pub(super) fn measure(
    setup: &Setup,
    case: &str,
    direction: Direction,
) -> Result<Vec<Compared>, Error> {
    let counts = if setup.quick { QUICK } else { USUAL };
    // The plain and the encrypted files, each twice; an encrypted file needs one more page.
    let bench = Bench::new(setup, case, counts.all * FILE_BYTES * 6)?;
    let tools = bench.here(TOOLS);
    let folders = Folders::new(&bench, counts.all)?;
    folders.seal(&bench)?;
    folders.verify(&bench, &tools)?;

    let rounds = setup.rounds(5, 2);
    let samples = bench.in_turn(rounds, tools.len(), |side| {
        let tool = tools[side];
        folders.run(&bench, tool, direction, counts.of(tool))
    })?;
    let mut sides = tools.iter().zip(&samples);
    let Some((ours, of_ours)) = sides.next() else {
        return Ok(Vec::new());
    };
    let mut compared = Vec::new();
    for (vs, of_theirs) in sides {
        // Per file, since a loop handles fewer files.
        let by_file = |tool: Tool, samples: &[RunCost]| {
            let files = counts.of(tool) as f64;
            let by_file = samples.iter().map(|taken| RunCost {
                seconds: taken.seconds / files,
                ..*taken
            });
            by_file.collect::<Vec<_>>()
        };
        let point = Pairing {
            bytes: FILE_BYTES,
            vs: vs.name(),
            threads: None,
            ours: &by_file(*ours, of_ours),
            theirs: &by_file(*vs, of_theirs),
        };
        compared.push(point.compared(Quantity::Files, |taken| 1.0 / taken.seconds));
        compared.push(point.resident());
    }
    Ok(compared)
}

/// The number of files for programs that handle all in one call, and for those started for each file.
#[derive(Clone, Copy)]
struct Counts {
    all: usize,
    in_loop: usize,
}

impl Counts {
    const fn of(self, tool: Tool) -> usize {
        if takes_one(tool) {
            self.in_loop
        } else {
            self.all
        }
    }
}

/// Three directories: `plain` has the files, `sealed` the encrypted ones with the suffix `.age`, and `out` the output of a
/// loop or of cp.
struct Folders {
    names: Vec<String>,
    plain: PathBuf,
    sealed: PathBuf,
    out: PathBuf,
}

impl Folders {
    fn new(bench: &Bench<'_>, files: usize) -> Result<Self, Error> {
        let folders = Self {
            names: (0..files).map(|number| format!("f{number:05}")).collect(),
            plain: bench.make_folder("plain")?,
            sealed: bench.make_folder("sealed")?,
            out: bench.make_folder("out")?,
        };
        for (number, name) in folders.names.iter().enumerate() {
            make(&folders.plain.join(name), FILE_BYTES, number as u64)?;
        }
        Ok(folders)
    }

    /// Encrypts all files with our command, and moves them to where they are decrypted.
    fn seal(&self, bench: &Bench<'_>) -> Result<(), Error> {
        let takes_several = self.run(bench, Tool::Oarlock, Direction::Encrypt, 2);
        takes_several.map_err(|error| {
            Error::Unavailable(format!("several files in one call are refused: {error}"))
        })?;
        self.run(bench, Tool::Oarlock, Direction::Encrypt, self.names.len())?;
        for name in &self.names {
            let [from, to] = [&self.plain, &self.sealed].map(|folder| folder.join(sealed(name)));
            fs::rename(&from, &to).map_err(Error::io(from.display()))?;
        }
        Ok(())
    }

    /// Checks that all files decrypt correctly, and the first one also across programs in both directions.
    fn verify(&self, bench: &Bench<'_>, tools: &[Tool]) -> Result<(), Error> {
        let come_back = |folder: &Path, names: &[String]| {
            for name in names {
                let is_so = are_alike(&self.plain.join(name), &folder.join(name))?;
                bench.check_alike(is_so, &format!("what came back as {name}"))?;
            }
            Ok::<_, Error>(())
        };
        self.run(bench, Tool::Oarlock, Direction::Decrypt, self.names.len())?;
        come_back(&self.sealed, &self.names)?;
        for tool in tools.iter().filter(|tool| takes_one(**tool)) {
            self.run(bench, *tool, Direction::Decrypt, 1)?;
            come_back(&self.out, &self.names[..1])?;
        }
        Ok(())
    }

    /// Runs `tool` to encrypt or decrypt the first `files` files.
    fn run(
        &self,
        bench: &Bench<'_>,
        tool: Tool,
        direction: Direction,
        files: usize,
    ) -> Result<RunCost, Error> {
        let names = self.names[..files].iter();
        let (from, names): (_, Vec<_>) = match direction {
            Direction::Encrypt => (&self.plain, names.cloned().collect()),
            Direction::Decrypt => (&self.sealed, names.map(|name| sealed(name)).collect()),
        };
        self.clear()?;
        let filter = bench.tools.filter(bench.setup, tool, direction);
        let mut command = if takes_one(tool) {
            let mut command = Command::new("sh");
            command.args(["-c", &script(&filter, direction)?, "sh"]);
            command
        } else {
            filter
        };
        command.current_dir(from).args(names);
        if tool == Tool::Cp {
            command.arg(&self.out);
        }
        bench.run(command, &self.out.join("none"))
    }

    /// Removes everything that a run in either direction has written.
    fn clear(&self) -> Result<(), Error> {
        for name in &self.names {
            remove(&self.plain.join(sealed(name)))?;
            remove(&self.sealed.join(name))?;
            remove(&self.out.join(name))?;
            remove(&self.out.join(sealed(name)))?;
        }
        Ok(())
    }
}

/// Whether the tool is started for each file.
const fn takes_one(tool: Tool) -> bool {
    matches!(tool, Tool::Age | Tool::Rage)
}

fn sealed(name: &str) -> String {
    format!("{name}.age")
}

/// Returns a shell loop over its arguments, which writes to `../out`.
fn script(filter: &Command, direction: Direction) -> Result<String, Error> {
    let quoted = |word: &OsStr| {
        let word = word.to_str().filter(|word| !word.contains('\''));
        let word = word.map(|word| format!("'{word}'"));
        word.ok_or_else(|| Error::Failed("a path that a shell script cannot hold".to_owned()))
    };
    let words = [filter.get_program()].into_iter().chain(filter.get_args());
    let words = words.map(quoted).collect::<Result<Vec<_>, Error>>()?;
    let output = match direction {
        Direction::Encrypt => "$file.age",
        Direction::Decrypt => "${file%.age}",
    };
    Ok(format!(
        "for file; do {} -o \"../out/{output}\" \"$file\" || exit; done",
        words.join(" ")
    ))
}

const FILE_BYTES: usize = 4096;
const USUAL: Counts = Counts {
    all: 10_000,
    in_loop: 500,
};
const QUICK: Counts = Counts {
    all: 2_000,
    in_loop: 100,
};
/// Our command is the first.
const TOOLS: &[Tool] = &[Tool::Oarlock, Tool::Rage, Tool::Age, Tool::Cp];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loop_names_outputs_as_ours_does_and_ends_with_the_first_failure() {
        let folder = tempfile::tempdir().unwrap();
        let [from, out] = ["from", "out"].map(|name| folder.path().join(name));
        fs::create_dir(&from).unwrap();
        fs::create_dir(&out).unwrap();
        // The arguments of age: -d -o OUTPUT INPUT.
        let program = folder.path().join("program");
        fs::write(&program, "#!/bin/sh\ncat \"$4\" > \"$3\"\n").unwrap();
        let run = |direction, names: &[&str]| {
            let mut filter = Command::new("sh");
            filter.arg(&program).arg("-d");
            let mut command = Command::new("sh");
            command.args(["-c", &script(&filter, direction).unwrap(), "sh"]);
            let status = command.current_dir(&from).args(names).status();
            status.unwrap().success()
        };
        for name in ["a", "b.age", "c.age"] {
            fs::write(from.join(name), name).unwrap();
        }
        assert!(run(Direction::Encrypt, &["a"]));
        assert!(run(Direction::Decrypt, &["b.age", "c.age"]));
        for (name, text) in [("a.age", "a"), ("b", "b.age"), ("c", "c.age")] {
            assert_eq!(fs::read_to_string(out.join(name)).unwrap(), text);
        }
        fs::remove_file(out.join("a.age")).unwrap();
        assert!(!run(Direction::Encrypt, &["missing", "a"]));
        assert!(!out.join("a.age").exists());
    }

    #[test]
    fn a_script_holds_no_word_that_would_end_its_quotes() {
        let error = script(&Command::new("/it's/rage"), Direction::Encrypt);
        assert!(error.is_err());
    }
}
