//! The `oarlock encrypt` subcommand.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use age::{Recipient, scrypt};
use oarlock_file::age::{Encryptor, WORK_FACTOR, armored};

use super::job::{self, Call, Content, Destination, Hands};
use super::keys::SharedRecipient;
use super::report::Outcome;
use super::ui::Ui;
use super::{EXTENSION, keys, many};
use crate::failure::Failure;
use crate::folder::Place;
use crate::input::Input;
use crate::job::refused;
use crate::output::Needed;
use crate::passphrase::{self, Given};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Encrypt to RECIPIENT: `age1...`, `age1pq1...`, an SSH public key, or a plugin's; repeat for several
    #[arg(short, long, value_name = "RECIPIENT")]
    recipient: Vec<String>,

    /// Encrypt to the recipients that FILE lists, one a line; repeat for several
    #[arg(short = 'R', long, value_name = "FILE")]
    recipients_file: Vec<String>,

    /// Encrypt to the recipients of the identities in FILE
    #[arg(short, long, value_name = "FILE")]
    identity: Vec<String>,

    /// Encrypt with a passphrase, which is asked for twice on the terminal. An empty one asks for ten
    /// random words
    #[arg(short, long, conflicts_with_all = ["recipient", "recipients_file", "identity"])]
    passphrase: bool,

    #[command(flatten)]
    given: Given,

    /// Write text (PEM), a third longer
    #[arg(short, long)]
    armor: bool,

    #[command(flatten)]
    common: job::Common,
}

pub(crate) const EXAMPLES: &str = "\
Examples:
  oarlock encrypt -r age1... disk.img                        # to disk.img.age
  oarlock encrypt -r age1... --rm *.log
  oarlock encrypt -r age1... --recursive -o sealed photos    # to sealed/photos
  tar c photos | oarlock encrypt -R ~/.ssh/id_ed25519.pub > photos.tar.age
  age -d -i key.txt photos.tar.age | tar x

age writes the output of a FILE to standard output, and so does -o - here. Where standard output is a pipe or a \
file, one FILE needs -o or --each, which says where the output goes.

Exit status: 0 done, 1 something failed, 2 wrong arguments, 3 all done but what --recursive leaves out and \
names, 128 and its number after a signal.";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.check()?;
    let call = Call::new(&args.common, args.needed()?, false)?;
    if call.is_many {
        many::check_one(&call, |input| output_name(input, true))?;
        let encrypt = Encrypt {
            call: &call,
            recipients: recipients(&call, args)?,
            armor: args.armor,
        };
        return many::run_on_threads(&call, &encrypt);
    }
    job::one(&call, content(args.armor), |input, output, hands| {
        let encrypt = Encrypt {
            call: &call,
            recipients: recipients(&call, args)?,
            armor: args.armor,
        };
        encrypt.file(input, output, hands)
    })
}

impl Args {
    fn has_recipients(&self) -> bool {
        !(self.recipient.is_empty() && self.recipients_file.is_empty() && self.identity.is_empty())
    }

    /// Returns the files that it reads besides the inputs.
    fn needed(&self) -> Result<Vec<Needed>, Failure> {
        let has_others = !(self.recipient.is_empty() && self.recipients_file.is_empty());
        let identities = self.identity.iter().map(|file| {
            let identity = Needed::new("the identity file", file);
            identity.only_key(!has_others)
        });
        let recipients = self.recipients_file.iter();
        let recipients = recipients.map(|file| Needed::new("the file of recipients", file));
        let source = self.given.source(self.common.reads_stdin())?;
        let passphrase = source.and_then(|source| Some(source.needed()?.only_key(true)));
        Ok(identities.chain(recipients).chain(passphrase).collect())
    }

    /// Checks that the arguments fit together, before any file is opened.
    fn check(&self) -> Result<(), Failure> {
        let is_given = self.given.source(self.common.reads_stdin())?.is_some();
        match (self.has_recipients(), self.passphrase || is_given) {
            (true, _) if is_given => Err(Failure::usage(
                "a file has either a passphrase or recipients: leave out -r, -R and -i, or --passphrase-file and --passphrase-fd",
            )),
            (false, false) => Err(Failure::usage(
                "no recipient: give -r RECIPIENT, -R FILE, -i IDENTITY, or -p or --passphrase-file for a passphrase",
            )),
            _ => Ok(()),
        }
    }
}

struct Encrypt<'a> {
    call: &'a Call<'a>,
    recipients: Vec<SharedRecipient>,
    armor: bool,
}

impl Encrypt<'_> {
    fn file(
        &self,
        input: Input,
        output: Destination<'_>,
        hands: Hands<'_>,
    ) -> Result<Outcome, Failure> {
        let recipients: Vec<&dyn Recipient> = self.recipients.iter().map(|r| &**r as _).collect();
        let encryptor =
            Encryptor::new(&recipients, self.call.accelerator.cpu()).map_err(|error| match self
                .call
                .interrupt
                .check()
            {
                Err(interrupted) => interrupted,
                Ok(()) => refused("recipients", error),
            })?;
        let job = self.call.job(input, output, content(self.armor))?;
        let result = if self.armor {
            armored::seal(&encryptor, &mut job.read(), job.written(), &mut |bytes| {
                job.advance(bytes)
            })
            .map_err(|error| job.failed(error))
        } else {
            job.output
                .file()
                .write_all(&encryptor.prologue)
                .map_err(|error| job.output.failed(0, &error))
                .and_then(|()| job.run(&encryptor.payload, hands, None))
        };
        let result = result.and_then(|()| job.input.check_unchanged());
        job.end(result)
    }
}

impl many::Work for Encrypt<'_> {
    fn output_name(&self, input: &Path, is_beside: bool) -> Option<PathBuf> {
        output_name(input, is_beside)
    }

    fn passed_over(&self) -> &'static str {
        "the name ends in .age, as if encrypted already"
    }

    fn run(&self, input: Input, output: Place, hands: Hands<'_>) -> Result<Outcome, Failure> {
        self.file(input, Destination::Place(output), hands)
    }
}

fn output_name(input: &Path, is_beside: bool) -> Option<PathBuf> {
    let is_ours = input
        .extension()
        .is_some_and(|extension| extension == EXTENSION);
    if is_beside && is_ours {
        return None;
    }
    let mut name = input.as_os_str().to_os_string();
    name.push(".");
    name.push(EXTENSION);
    Some(name.into())
}

fn content(armor: bool) -> Content {
    match armor {
        true => Content::Armor,
        false => Content::Ciphertext,
    }
}

fn recipients(call: &Call<'_>, args: &Args) -> Result<Vec<SharedRecipient>, Failure> {
    let reads_stdin = args.common.reads_stdin();
    let given = args.given.read(reads_stdin)?;
    if args.passphrase || given.is_some() {
        let passphrase = match given {
            Some(passphrase) => passphrase,
            None => passphrase::ask_for_new(&call.asker())?,
        };
        let mut recipient = scrypt::Recipient::new(passphrase.secret()?);
        recipient.set_work_factor(WORK_FACTOR);
        return Ok(vec![Box::new(recipient)]);
    }
    let recipients = keys::Recipients {
        strings: &args.recipient,
        files: &args.recipients_file,
        identity_files: &args.identity,
    };
    let ui = Ui::new(call.asker(), None);
    recipients.read(reads_stdin, &call.interrupt, &ui)
}
