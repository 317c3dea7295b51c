//! The `oarlock provider status` subcommand.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use serde::Serialize;

use super::block;
use super::change::failed;
use super::module;
use super::place::{Place, in_file, works};
use crate::failure::Failure;
use crate::offers::{self, Offer};
use crate::{options, stdout};

/// The content of `--json`.
#[derive(Serialize)]
struct Status {
    config: PathBuf,
    is_installed: bool,
    module: Option<PathBuf>,
    /// The reasons why programs do not get the provider, in one line each.
    problems: Vec<String>,
    /// The operations that programs get, and the reason for each that is withheld; empty if they get nothing.
    offers: Vec<Offer>,
}

pub(super) fn run(place: &Place, json: bool) -> Result<ExitCode, Failure> {
    let status = Status::of(place.find()?)?;
    if json {
        stdout::write(stdout::json("status", &status)?)?;
    } else {
        stdout::write(status.to_text())?;
    }
    let is_working = status.is_installed && status.problems.is_empty();
    Ok(if is_working {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

impl Status {
    fn of(config: PathBuf) -> Result<Self, Failure> {
        let bytes = fs::read(&config).map_err(failed(&config))?;
        let mut problems = Vec::new();
        let lines = match block::divide(&bytes) {
            Ok(divided) => divided.block,
            Err(what) => {
                problems.push(in_file(&config, &what));
                None
            }
        };
        let Some(lines) = lines else {
            return Ok(Self {
                config,
                is_installed: false,
                module: None,
                problems,
                offers: Vec::new(),
            });
        };
        let module = block::module(&lines);
        match &module {
            Some(path) if path.is_file() => problems.extend(module::check(path).err()),
            Some(path) => problems.push(format!("{}: No such file", path.display())),
            None => problems.push(
                "the lines that name the module were changed by hand, or the file that they include is gone: \
                 install it again"
                    .into(),
            ),
        }
        let wrong_options = block::options(&lines).and_then(|options| {
            let error = options::of_provider(&options).err()?;
            Some(error.to_string())
        });
        problems.extend(wrong_options);
        if problems.is_empty() {
            problems.extend(works(&config).err());
        }
        let offers = match problems.is_empty() {
            true => offers::of_machine()?.1,
            false => Vec::new(),
        };
        Ok(Self {
            config,
            is_installed: true,
            module,
            problems,
            offers,
        })
    }

    fn to_text(&self) -> String {
        let mut text = String::new();
        let installed = if self.is_installed { "yes" } else { "no" };
        // Writing to a String does not fail.
        let _ = writeln!(text, "configuration  {}", self.config.display());
        let _ = writeln!(text, "installed      {installed}");
        if let Some(module) = &self.module {
            let _ = writeln!(text, "module         {}", module.display());
        }
        if self.is_installed && self.problems.is_empty() {
            let _ = writeln!(text, "works          yes");
            let offered = self.offers.iter().filter(|one| one.is_offered).count();
            let _ = writeln!(
                text,
                "offers         {offered} of {} operations (oarlock doctor lists them)",
                self.offers.len()
            );
        }
        for problem in &self.problems {
            let _ = writeln!(text, "problem        {problem}");
        }
        text
    }
}
