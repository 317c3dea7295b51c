//! `oarlock encrypt`.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use age::cli_common::{Passphrase, read_or_generate_passphrase};
use age::{Recipient, scrypt};
use oarlock_file::age::{Encryptor, armored};

use super::job::{self, Call, Destination, Hands};
use super::keys::SharedRecipient;
use super::report::Outcome;
use super::{EXTENSION, keys, many, no_passphrase};
use crate::failure::Failure;
use crate::folder::Place;
use crate::input::Input;
use crate::job::refused;

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

    /// Ask for a passphrase and encrypt with it
    #[arg(short, long, conflicts_with_all = ["recipient", "recipients_file", "identity"])]
    passphrase: bool,

    /// Write text (PEM), a third longer
    #[arg(short, long)]
    armor: bool,

    #[command(flatten)]
    common: job::Common,
}

pub(crate) const EXAMPLES: &str = "\
Examples:
  oarlock encrypt -r age1... -o disk.img.age disk.img
  oarlock encrypt -r age1... --rm *.log
  oarlock encrypt -r age1... --recursive -o sealed photos
  tar c . | oarlock encrypt -R ~/.ssh/id_ed25519.pub > backup.tar.age
  age -d -i key.txt backup.tar.age | tar x";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let call = Call::new(&args.common)?;
    if args.common.is_many() {
        let encrypt = Encrypt {
            call: &call,
            recipients: recipients(&call, args)?,
            armor: args.armor,
        };
        return many::run_on_threads(&call, &encrypt);
    }
    job::one(&call, |input, output, hands| {
        let encrypt = Encrypt {
            call: &call,
            recipients: recipients(&call, args)?,
            armor: args.armor,
        };
        encrypt.file(input, output, hands)
    })
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
        let job = self.call.job(input, output, self.armor)?;
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
    fn output_name(&self, input: &Path) -> Option<PathBuf> {
        if input
            .extension()
            .is_some_and(|extension| extension == EXTENSION)
        {
            return None;
        }
        let mut name = input.as_os_str().to_os_string();
        name.push(".");
        name.push(EXTENSION);
        Some(name.into())
    }

    fn passed_over(&self) -> &'static str {
        "the name ends in .age, as if encrypted already"
    }

    fn run(&self, input: Input, output: Place, hands: Hands<'_>) -> Result<Outcome, Failure> {
        self.file(input, Destination::Place(output), hands)
    }
}

fn recipients(call: &Call<'_>, args: &Args) -> Result<Vec<SharedRecipient>, Failure> {
    if args.passphrase {
        let passphrase = match read_or_generate_passphrase() {
            Ok(Passphrase::Typed(passphrase)) => passphrase,
            Ok(Passphrase::Generated(passphrase)) => {
                use age::secrecy::ExposeSecret as _;
                let _ = writeln!(
                    std::io::stderr(),
                    "oarlock: generated a passphrase: {}",
                    passphrase.expose_secret()
                );
                passphrase
            }
            Err(error) => return Err(no_passphrase(&error)),
        };
        let mut recipient = scrypt::Recipient::new(passphrase);
        recipient.set_work_factor(WORK_FACTOR);
        return Ok(vec![Box::new(recipient)]);
    }
    if args.recipient.is_empty() && args.recipients_file.is_empty() && args.identity.is_empty() {
        return Err(Failure::usage(
            "no recipient: give -r RECIPIENT, -R FILE, -i IDENTITY, or -p for a passphrase",
        ));
    }
    let recipients = keys::Recipients {
        strings: &args.recipient,
        files: &args.recipients_file,
        identity_files: &args.identity,
    };
    let recipients = recipients.read(args.common.reads_stdin(), &call.interrupt)?;
    Ok(recipients)
}

/// scrypt's log2 N, the value of age: 256 MiB and about a second.
const WORK_FACTOR: u8 = 18;
