//! `oarlock encrypt`.

use std::io::Write as _;

use age::cli_common::{Passphrase, read_or_generate_passphrase};
use age::{Recipient, scrypt};
use oarlock_file::age::{Encryptor, armored};

use super::job::{self, Job, refused};
use super::{keys, no_passphrase};
use crate::failure::Failure;
use crate::input::Input;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Encrypt to RECIPIENT: `age1...`, `age1pq1...`, an SSH public key, or a plugin's; may be given several times
    #[arg(short, long, value_name = "RECIPIENT")]
    recipient: Vec<String>,

    /// Encrypt to the recipients that FILE lists, one in a line; may be given several times
    #[arg(short = 'R', long, value_name = "FILE")]
    recipients_file: Vec<String>,

    /// Encrypt to the recipients of the identities in FILE
    #[arg(short, long, value_name = "FILE")]
    identity: Vec<String>,

    /// Encrypt with a passphrase, which is asked for
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
  tar c . | oarlock encrypt -R ~/.ssh/id_ed25519.pub > backup.tar.age
  age -d -i key.txt backup.tar.age | tar x";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let input = Input::open(args.common.input_path())?;
    let recipients = recipients(args)?;
    let accelerator = job::accelerator()?;
    let recipients: Vec<&dyn Recipient> = recipients.iter().map(|r| &**r as _).collect();
    let encryptor = Encryptor::new(&recipients, accelerator.cpu())
        .map_err(|error| refused("recipients", error))?;
    let job = Job::new(&args.common, accelerator, input, args.armor)?;
    let result = if args.armor {
        armored::seal(
            &encryptor,
            &mut &job.input.file,
            job.output.file(),
            &mut |bytes| job.advance(bytes),
        )
        .map_err(|error| job.failed(error))
    } else {
        job.output
            .file()
            .write_all(&encryptor.prologue)
            .map_err(|error| job.output.failed(0, &error))
            .and_then(|()| job.run(&encryptor.payload))
    };
    job.end(result)
}

fn recipients(args: &Args) -> Result<Vec<Box<dyn Recipient + Send>>, Failure> {
    if args.passphrase {
        let passphrase = match read_or_generate_passphrase() {
            Ok(Passphrase::Typed(passphrase)) => passphrase,
            Ok(Passphrase::Generated(passphrase)) => {
                use age::secrecy::ExposeSecret as _;
                let _ = writeln!(
                    std::io::stderr(),
                    "oarlock: made up a passphrase: {}",
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
            "nobody to encrypt to: give -r RECIPIENT, -R FILE, -i IDENTITY, or -p for a passphrase",
        ));
    }
    let recipients = keys::Recipients {
        strings: &args.recipient,
        files: &args.recipients_file,
        identity_files: &args.identity,
    };
    recipients.read(args.common.reads_stdin())
}

/// scrypt's log2 N, as age has it: 256 MiB and about a second.
const WORK_FACTOR: u8 = 18;
