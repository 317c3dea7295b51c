//! `oarlock man`: manual pages, made from the definitions of the command line.

use std::fs;
use std::path::PathBuf;

use clap::Command;
use clap_mangen::Man;

use crate::failure::{Failure, reason, without_keys};
use crate::{arguments, stdout};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A subcommand such as `encrypt`; without it, the page of `oarlock` itself
    #[arg(value_name = "COMMAND", conflicts_with = "output")]
    command: Option<String>,

    /// Write all pages to files in DIRECTORY, `oarlock.1` and `oarlock-COMMAND.1`
    #[arg(short, long, value_name = "DIRECTORY")]
    output: Option<PathBuf>,
}

pub(crate) const EXAMPLES: &str = "\
Examples:
  oarlock man encrypt | man -l -
  oarlock man -o /usr/local/share/man/man1";

pub(crate) fn run(args: &Args, mut root: Command) -> Result<(), Failure> {
    root.build();
    let Some(directory) = &args.output else {
        let page = match &args.command {
            None => root,
            Some(name) => match root.find_subcommand(name) {
                Some(page) => page.clone(),
                None => {
                    let what = without_keys(&arguments::unknown_command(&root, name));
                    return Err(Failure::usage(format!("{what} (see oarlock --help)")));
                }
            },
        };
        return stdout::write(&render(page)?.1);
    };
    let mut pages = vec![root];
    while let Some(page) = pages.pop() {
        pages.extend(
            page.get_subcommands()
                .filter(|command| command.get_name() != "help")
                .cloned(),
        );
        let (name, text) = render(page)?;
        let path = directory.join(name);
        fs::write(&path, text)
            .map_err(|error| Failure::new(format!("{}: {}", path.display(), reason(&error))))?;
    }
    Ok(())
}

/// The name of the page's file, and the page.
fn render(command: Command) -> Result<(String, Vec<u8>), Failure> {
    let man = Man::new(command);
    let mut text = Vec::new();
    man.render(&mut text)
        .map_err(|error| Failure::new(format!("manual: {}", reason(&error))))?;
    Ok((man.get_filename(), text))
}
