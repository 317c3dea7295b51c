//! `oarlock decrypt`.

use std::io::{BufReader, Read, Seek as _, SeekFrom};

use age::cli_common::read_secret;
use age::{Identity, scrypt};
use oarlock_file::age::{Decryptor, Header, armored};

use super::job::{self, Job, refused};
use super::{keys, no_passphrase};
use crate::failure::Failure;
use crate::input::Input;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Decrypt with the identities in FILE: age's, or an SSH private key; may be given several times
    #[arg(short, long, value_name = "FILE")]
    identity: Vec<String>,

    #[command(flatten)]
    common: job::Common,
}

pub(crate) const EXAMPLES: &str = "\
Examples:
  oarlock decrypt -i key.txt -o disk.img disk.img.age
  oarlock decrypt -i ~/.ssh/id_ed25519 backup.tar.age | tar x";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut input = Input::open(args.common.input_path())?;
    let accelerator = job::accelerator()?;
    let cpu = accelerator.cpu();
    let fail = |name: &str| {
        let name = name.to_string();
        move |error| refused(&name, error)
    };
    let begun = first_bytes(&mut input)?;
    if begun.last() == Some(&b'-') {
        let file = input.file.try_clone();
        let file = file.map_err(|error| input.failed(0, &error))?;
        let armored = armored::Armored::new(std::io::Cursor::new(begun).chain(file));
        let armored = armored.map_err(fail(&input.name))?;
        let identities = identities(args, &armored.header)?;
        let job = Job::new(&args.common, accelerator, input, true)?;
        let result = armored
            .open(
                &borrowed(&identities),
                cpu,
                job.output.file(),
                &mut |bytes| job.advance(bytes),
            )
            .map_err(|error| job.failed(error));
        return job.end(result);
    }
    // A file can be gone back in; of a pipe not a byte too much may be read.
    let start = match input.size {
        Some(_) => {
            let at = input.file.stream_position();
            let at = at.map_err(|error| input.failed(0, &error))?;
            Some(at - begun.len() as u64)
        }
        None => None,
    };
    let rest: Box<dyn Read + '_> = match start {
        Some(_) => Box::new(BufReader::new(&input.file)),
        None => Box::new(&input.file),
    };
    let mut reader = (&begun[..]).chain(rest);
    let header = Header::read(&mut reader).map_err(fail(&input.name))?;
    let identities = identities(args, &header)?;
    let decryptor = Decryptor::of_header(&header, &mut reader, &borrowed(&identities), cpu);
    let decryptor = decryptor.map_err(fail(&input.name))?;
    drop(reader);
    if let Some(start) = start {
        let at = start + decryptor.prologue_bytes;
        input
            .file
            .seek(SeekFrom::Start(at))
            .map_err(|error| input.failed(at, &error))?;
    }
    let job = Job::new(&args.common, accelerator, input, true)?;
    let result = job.run(&decryptor.payload);
    job.end(result)
}

/// Up to the first that is no white space, which tells armor.
fn first_bytes(input: &mut Input) -> Result<Vec<u8>, Failure> {
    let mut begun = Vec::new();
    let mut byte = [0];
    while begun.len() < WHITE_SPACE_BYTES_MAX {
        match (&input.file).read(&mut byte) {
            Ok(0) => break,
            Ok(_) => begun.push(byte[0]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(input.failed(begun.len() as u64, &error)),
        }
        if !byte[0].is_ascii_whitespace() {
            break;
        }
    }
    Ok(begun)
}

fn identities(args: &Args, header: &Header) -> Result<Vec<Box<dyn Identity>>, Failure> {
    if header.is_scrypt() {
        if !args.identity.is_empty() {
            return Err(Failure::usage(
                "this file was encrypted with a passphrase: leave -i out, and it is asked for",
            ));
        }
        let passphrase = read_secret("Passphrase", "Passphrase", None);
        let passphrase = passphrase.map_err(|error| no_passphrase(&error))?;
        let mut identity = scrypt::Identity::new(passphrase);
        identity.set_max_work_factor(WORK_FACTOR_MAX);
        return Ok(vec![Box::new(identity)]);
    }
    if args.identity.is_empty() {
        return Err(Failure::usage(
            "an identity is missing: give the file that it is in by -i",
        ));
    }
    keys::identities(&args.identity, args.common.reads_stdin())
}

fn borrowed(identities: &[Box<dyn Identity>]) -> Vec<&dyn Identity> {
    identities.iter().map(|identity| &**identity as _).collect()
}

/// The most that age takes, too: 4 GiB and half a minute.
const WORK_FACTOR_MAX: u8 = 22;
const WHITE_SPACE_BYTES_MAX: usize = 1024;
