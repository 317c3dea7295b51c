//! `oarlock man`: manual pages, generated from the definitions of the command line.

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
                .filter(|command| command.get_name() != "help" && !command.is_hide_set())
                .cloned(),
        );
        let (name, text) = render(page)?;
        let path = directory.join(name);
        fs::write(&path, text)
            .map_err(|error| Failure::new(format!("{}: {}", path.display(), reason(&error))))?;
    }
    Ok(())
}

/// Returns the name of the page's file, and the page.
fn render(command: Command) -> Result<(String, Vec<u8>), Failure> {
    let name = command.get_name().to_owned();
    let man = Man::new(command);
    let mut text = Vec::new();
    man.render(&mut text)
        .map_err(|error| Failure::new(format!("manual: {}", reason(&error))))?;
    let mut text = with_examples_as_they_are(text);
    let file = man.get_filename();
    text.extend(exit_status(&name).bytes());
    text.extend(see_also(&file).bytes());
    Ok((file, text))
}

/// Keeps lines that begin with blanks, since they are for pasting: troff would fill and break them.
fn with_examples_as_they_are(page: Vec<u8>) -> Vec<u8> {
    let mut kept = Vec::with_capacity(page.len());
    let mut is_example = false;
    for line in page.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(b"  ") != is_example {
            kept.extend(if is_example { b".fi\n" } else { b".nf\n" });
            is_example = !is_example;
        }
        kept.extend(line);
    }
    if is_example {
        kept.extend(b".fi\n");
    }
    kept
}

/// Returns the section on exit statuses, on which scripts rely.
fn exit_status(command: &str) -> String {
    let failed = match command {
        "verify" => {
            "The signature is bad, or cannot be verified; a line on standard error says why."
        }
        "doctor" => "The machine or the program does not take the provider.",
        "status" => "The provider is not installed, or does not work.",
        _ => {
            "The work failed; a line on standard error says why. Files that it names are as they were before."
        }
    };
    let mut rows = vec![
        ("0", "The work is done."),
        ("1", failed),
        ("2", "The arguments are wrong."),
        ("128 + N", "Signal N ended it: 130 after Ctrl-C."),
    ];
    if let "encrypt" | "decrypt" = command {
        let left_out = "All is done but what --recursive leaves out and names.";
        rows.insert(3, ("3", left_out));
    }
    if command == "doctor" {
        rows.insert(3, ("127", "There is no such program."));
    }
    if command == "run" {
        rows = vec![
            ("2", "The arguments are wrong."),
            ("125", "oarlock itself failed."),
            ("126, 127", "The command cannot be run, cannot be found."),
            ("128 + N", "Signal N ended the command."),
            ("any other", "That of the command."),
        ];
    }
    let rows = rows
        .iter()
        .map(|(status, meaning)| format!(".TP\n\\fB{status}\\fR\n{meaning}\n"));
    format!(".SH \"EXIT STATUS\"\n{}", rows.collect::<String>())
}

/// Returns the section on other pages, and on documents, which `make install` puts below share/doc/oarlock.
fn see_also(file: &str) -> String {
    let command = file.trim_end_matches(".1").trim_start_matches("oarlock-");
    let documents = match command.split('-').next().unwrap_or_default() {
        "encrypt" | "decrypt" | "keygen" | "inspect" | "enc" | "dec" => "command.md",
        "run" | "provider" | "doctor" => "provider.md, limits.md",
        "local" | "relay" => "tls-servers.md",
        "serve" | "pki" | "sign" | "verify" | "keys" | "pubkey" => {
            "cryptoserver.md, cryptoserver-operation.md"
        }
        "bench" | "devices" => "performance.md",
        _ => "command.md, provider.md, cryptoserver.md",
    };
    let main = if file == "oarlock.1" {
        "oarlock-encrypt(1), oarlock-run(1), oarlock-serve(1)"
    } else {
        "oarlock(1)"
    };
    format!(".SH \"SEE ALSO\"\n{main}; in share/doc/oarlock/docs: {documents}\n")
}
