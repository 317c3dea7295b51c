//! The `oarlock decrypt` subcommand.

use std::io::{BufReader, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use age::{Identity, scrypt, ssh, x25519};
use oarlock_file::age::{
    CHUNK_BYTES, Decryptor, Header, SEALED_CHUNK_BYTES, WORK_FACTOR_MAX, armored, hybrid,
};
use oarlock_file::{Error, Range, Waiting};
use zeroize::Zeroizing;

use super::job::{self, Call, Content, Destination, Hands};
use super::keys::KEY_FILE_BYTES_MAX;
#[cfg(feature = "servers")]
use super::remote::Remote;
use super::report::Outcome;
use super::ssh::identity as ssh_identity;
use super::ui::Ui;
use super::{EXTENSION, keys, many};
use crate::failure::{Failure, shown};
use crate::folder::Place;
use crate::input::Input;
use crate::job::refused;
use crate::output::Needed;
use crate::passphrase::{self, Given, Passphrase};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Decrypt with the identities in FILE (age's, or an SSH private key); repeat for several
    #[arg(short, long, value_name = "FILE")]
    identity: Vec<String>,

    #[cfg(feature = "servers")]
    #[command(flatten)]
    remote: Remote,

    #[command(flatten)]
    given: Given,

    /// Decrypt only LENGTH bytes of the plaintext from byte OFFSET on; without LENGTH, to its end. K, M,
    /// G and T mean KiB to TiB. Needs a file without armor, and reads only that part of it and its end,
    /// which shows that the file is whole
    #[arg(long, value_name = "OFFSET:LENGTH", value_parser = PartOf::parse, conflicts_with = "rm")]
    range: Option<PartOf>,

    #[command(flatten)]
    common: job::Common,
}

pub(crate) const EXAMPLES: &str = "\
Examples:
  oarlock decrypt -i key.txt disk.img.age    # to disk.img
  oarlock decrypt -i ~/.ssh/id_ed25519 -o - backup.tar.age | tar x
  oarlock decrypt -i key.txt --recursive -o restored sealed/photos
  oarlock decrypt -i key.txt --range 1G:512 disk.img.age | xxd
  oarlock decrypt --remote localhost:7443 --pki demo --key archive disk.img.age    # its identity stays there

age writes the output of a FILE to standard output, and so does -o - here; --range does without it. Where standard \
output is a pipe or a file, one FILE needs -o or --each, which says where the output goes.

Exit status: 0 done, 1 something failed, 2 wrong arguments, 3 all done but what --recursive leaves out and \
names, 128 and its number after a signal.";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    // A range of a file does not get the output name of the whole file.
    let is_part = args.range.is_some() && args.common.inputs.len() == 1;
    let call = Call::new(&args.common, args.needed()?, is_part)?;
    let given = args.given.read(args.common.reads_stdin())?;
    let ui = Ui::new(call.asker(), given.clone());
    let keys = || identities(&call, args, &ui);
    if !call.is_many {
        return job::one(&call, Content::Plaintext, |input, output, hands| {
            let keys = Keys::new(&call, args, given, keys()?);
            Decrypt::new(&call, args, keys).file(input, output, hands)
        });
    }
    if args.range.is_some() {
        return Err(Failure::usage("--range takes one FILE"));
    }
    many::check_one(&call, output_name)?;
    match shared_identities(&args.identity) {
        Some(mut identities) => {
            identities.extend(of_servers(args)?);
            let decrypt = Decrypt::new(&call, args, Keys::new(&call, args, given, identities));
            many::run_on_threads(&call, &decrypt)
        }
        None => {
            let decrypt = Decrypt::new(&call, args, Keys::new(&call, args, given, keys()?));
            many::run_on_one_thread(&call, &decrypt)
        }
    }
}

impl Args {
    /// Returns the files that it reads besides the inputs.
    fn needed(&self) -> Result<Vec<Needed>, Failure> {
        let identities = self.identity.iter();
        let mut needed: Vec<_> = identities
            .map(|file| Needed::new("the identity file", file))
            .collect();
        let source = self.given.source(self.common.reads_stdin())?;
        needed.extend(source.and_then(|source| source.needed()));
        #[cfg(feature = "servers")]
        needed.extend(self.remote.needed());
        Ok(needed)
    }
}

struct Decrypt<'a, I> {
    call: &'a Call<'a>,
    range: Option<PartOf>,
    keys: Keys<'a, I>,
}

impl<'a, I: AsIdentity> Decrypt<'a, I> {
    fn new(call: &'a Call<'a>, args: &'a Args, keys: Keys<'a, I>) -> Self {
        let range = args.range;
        Self { call, range, keys }
    }

    fn file(
        &self,
        mut input: Input,
        output: Destination<'_>,
        hands: Hands<'_>,
    ) -> Result<Outcome, Failure> {
        let call = self.call;
        let cpu = call.accelerator.cpu();
        let fail = |name: &str| {
            let name = name.to_string();
            // A read that a signal interrupts also fails.
            move |error| match call.interrupt.check() {
                Err(interrupted) => interrupted,
                Ok(()) => refused(&name, error),
            }
        };
        let begun = first_bytes(call, &input)?;
        if begun.last() == Some(&b'-') {
            if self.range.is_some() {
                return Err(Failure::new(format!(
                    "{}: --range needs a file without armor: decrypt the whole file",
                    input.name
                )));
            }
            let file = input.file.try_clone();
            let file = file.map_err(|error| input.failed(0, &error))?;
            let rest = Waiting::new(&file, input.size.is_some(), call);
            let armored = armored::Armored::new(std::io::Cursor::new(begun).chain(rest));
            let armored = armored.map_err(fail(&input.name))?;
            let identities = self.keys.of(&input.name, &armored.header)?;
            let job = call.job(input, output, Content::Plaintext)?;
            let result = armored
                .open(&identities, cpu, job.written(), &mut |bytes| {
                    job.advance(bytes)
                })
                .map_err(|error| job.failed(error));
            return job.end(result);
        }
        // In a file, the position is corrected below. A pipe must not be read beyond the header.
        let start = match input.size {
            Some(_) => {
                let at = input.file.stream_position();
                let at = at.map_err(|error| input.failed(0, &error))?;
                Some(at - begun.len() as u64)
            }
            None => None,
        };
        let rest: Box<dyn Read + '_> = match start {
            Some(_) => Box::new(BufReader::with_capacity(HEADER_BYTES, &input.file)),
            None => Box::new(Waiting::new(&input.file, false, call)),
        };
        let mut reader = (&begun[..]).chain(rest);
        let header = Header::read(&mut reader).map_err(fail(&input.name))?;
        let identities = self.keys.of(&input.name, &header)?;
        let decryptor = Decryptor::of_header(&header, &mut reader, &identities, cpu);
        let decryptor = decryptor.map_err(fail(&input.name))?;
        drop(reader);
        let mut range = None;
        let payload_start = start.map(|start| start + decryptor.prologue_bytes);
        if let Some(part) = self.range {
            let (Some(at), Some(size)) = (payload_start, input.size) else {
                return Err(Failure::new(format!(
                    "{}: --range needs a seekable file: decrypt the whole file",
                    input.name
                )));
            };
            // A range that ends before the last chunk does not show whether the file was cut or grew.
            let of = decryptor.payload.check_length(&input.file, at, size);
            range = Some(part.of(&input.name, of.map_err(fail(&input.name))?)?);
        }
        if let Some(at) = payload_start {
            let chunk = range.map_or(0, |range| range.from / CHUNK_BYTES as u64);
            let at = at + chunk * SEALED_CHUNK_BYTES as u64;
            input
                .file
                .seek(SeekFrom::Start(at))
                .map_err(|error| input.failed(at, &error))?;
        }
        let job = call.job(input, output, Content::Plaintext)?;
        let result = match range {
            Some(range) if range.bytes == 0 => Ok(()),
            range => job.run(&decryptor.payload, hands, range),
        };
        let mut outcome = job.end(result)?;
        if range.is_some() {
            // Only the chunks of the range were read.
            outcome.bytes_read = None;
        }
        Ok(outcome)
    }
}

impl<I: AsIdentity> many::Work for Decrypt<'_, I> {
    fn output_name(&self, input: &Path, _: bool) -> Option<PathBuf> {
        output_name(input)
    }

    fn passed_over(&self) -> &'static str {
        "the name does not end in .age"
    }

    fn run(&self, input: Input, output: Place, hands: Hands<'_>) -> Result<Outcome, Failure> {
        self.file(input, Destination::Place(output), hands)
    }
}

fn output_name(input: &Path) -> Option<PathBuf> {
    let is_ours = input
        .extension()
        .is_some_and(|extension| extension == EXTENSION);
    is_ours.then(|| input.with_extension(""))
}

/// The value of `--range OFFSET:LENGTH`, in bytes of the plaintext.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct PartOf {
    from: u64,
    /// The length; `None` means to the end.
    bytes: Option<u64>,
}

impl PartOf {
    fn parse(text: &str) -> Result<Self, String> {
        let (from, bytes) = text
            .split_once(':')
            .ok_or("give OFFSET:LENGTH, or OFFSET: for everything from there on")?;
        let bytes = (!bytes.is_empty()).then(|| size(bytes)).transpose()?;
        let from = size(from)?;
        Ok(Self { from, bytes })
    }

    /// Returns this part of the file `name`, whose plaintext has `of` bytes.
    fn of(self, name: &str, of: u64) -> Result<Range, Failure> {
        let left = of.checked_sub(self.from).ok_or_else(|| {
            Failure::new(format!(
                "{name}: --range begins at byte {}, but the file has {of}",
                self.from
            ))
        })?;
        Ok(Range {
            from: self.from,
            bytes: self.bytes.unwrap_or(left).min(left),
            of,
        })
    }
}

/// Parses a number of bytes with an optional unit: K, M, G or T for KiB to TiB.
fn size(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.find(|c: char| !c.is_ascii_digit()) {
        None => (text, 0),
        Some(at) => {
            let (digits, unit) = text.split_at(at);
            let shift = match unit.trim_end_matches("iB") {
                "K" => 10,
                "M" => 20,
                "G" => 30,
                "T" => 40,
                _ => {
                    let text = shown(text);
                    return Err(format!("{text}: give bytes, or a number with K, M, G or T"));
                }
            };
            (digits, shift)
        }
    };
    let number = digits
        .parse::<u64>()
        .map_err(|_| format!("{}: invalid number of bytes", shown(text)))?;
    number
        .checked_mul(1 << shift)
        .ok_or_else(|| format!("{}: too large", shown(text)))
}

/// Reads up to and including the first byte that is not white space. It is `-` if there is armor.
fn first_bytes(call: &Call<'_>, input: &Input) -> Result<Vec<u8>, Failure> {
    let mut reader = Waiting::new(&input.file, input.size.is_some(), call);
    let mut begun = Vec::new();
    let mut byte = [0];
    while begun.len() < WHITE_SPACE_BYTES_MAX {
        match reader.read(&mut byte) {
            Ok(0) => break,
            Ok(_) => begun.push(byte[0]),
            Err(error) => {
                call.interrupt.check()?;
                return Err(input.failed(begun.len() as u64, &error));
            }
        }
        if !byte[0].is_ascii_whitespace() {
            break;
        }
    }
    Ok(begun)
}

/// The keys that open headers.
struct Keys<'a, I> {
    call: &'a Call<'a>,
    args: &'a Args,
    identities: Vec<I>,
    given: Option<Passphrase>,
    /// The passphrase, asked for when the first file needs it, unless it was given.
    passphrase: OnceLock<scrypt::Identity>,
    asking: Mutex<()>,
}

impl<'a, I: AsIdentity> Keys<'a, I> {
    fn new(
        call: &'a Call<'a>,
        args: &'a Args,
        given: Option<Passphrase>,
        identities: Vec<I>,
    ) -> Self {
        Self {
            call,
            args,
            identities,
            given,
            passphrase: OnceLock::new(),
            asking: Mutex::new(()),
        }
    }

    fn of(&self, name: &str, header: &Header) -> Result<Vec<&dyn Identity>, Failure> {
        if header.is_scrypt() {
            if !self.identities.is_empty() {
                let option = match self.args.identity.is_empty() {
                    true => "--remote",
                    false => "-i",
                };
                return Err(Failure::new(format!(
                    "{name}: encrypted with a passphrase: leave {option} out to be asked for it"
                )));
            }
            // Check this before asking for a passphrase.
            if header
                .work_factor()
                .is_none_or(|work| work > WORK_FACTOR_MAX)
            {
                let most = Error::ExcessiveWork(WORK_FACTOR_MAX);
                return Err(refused(name, most));
            }
            return Ok(vec![self.passphrase()?]);
        }
        if self.identities.is_empty() {
            return Err(Failure::new(format!(
                "{name}: encrypted to {}, not with a passphrase: give the file of an identity with -i",
                kinds(header)
            )));
        }
        Ok(self.identities.iter().map(I::as_identity).collect())
    }

    fn passphrase(&self) -> Result<&scrypt::Identity, Failure> {
        let _asking = self.asking.lock();
        if let Some(identity) = self.passphrase.get() {
            return Ok(identity);
        }
        let passphrase = match &self.given {
            Some(given) => given.secret(),
            None => passphrase::ask(&self.call.asker())?.secret(),
        }?;
        Ok(self.passphrase.get_or_init(|| {
            let mut identity = scrypt::Identity::new(passphrase);
            identity.set_max_work_factor(WORK_FACTOR_MAX);
            identity
        }))
    }
}

/// Returns the kinds of a header's recipients, for a message.
fn kinds(header: &Header) -> String {
    let mut kinds: Vec<&str> = Vec::new();
    for kind in header.recipient_kinds() {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
        if kinds.len() > KINDS_MAX {
            kinds[KINDS_MAX] = "others";
            break;
        }
    }
    match &kinds[..] {
        [] => "nobody".into(),
        [one] => (*one).into(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// An identity, which may or may not be shared by threads.
trait AsIdentity {
    fn as_identity(&self) -> &dyn Identity;
}

impl AsIdentity for Box<dyn Identity> {
    fn as_identity(&self) -> &dyn Identity {
        &**self
    }
}

impl AsIdentity for Box<dyn Identity + Send + Sync> {
    fn as_identity(&self) -> &dyn Identity {
        &**self
    }
}

fn identities(call: &Call<'_>, args: &Args, ui: &Ui) -> Result<Vec<Box<dyn Identity>>, Failure> {
    let reads_stdin = args.common.reads_stdin();
    let mut identities = keys::identities(&args.identity, reads_stdin, &call.interrupt, ui)?;
    identities.extend(of_servers(args)?.map(|identity| identity as Box<dyn Identity>));
    Ok(identities)
}

/// Returns the identity that stays on a server, if one is named.
fn of_servers(args: &Args) -> Result<Option<Box<dyn Identity + Send + Sync>>, Failure> {
    #[cfg(feature = "servers")]
    if let Some(identity) = args.remote.identity()? {
        return Ok(Some(Box::new(identity)));
    }
    let _ = args;
    Ok(None)
}

/// Reads identities that several threads can share. Returns `None` if one needs a passphrase or a plugin, or if a file is
/// invalid or can be read only once.
fn shared_identities(paths: &[String]) -> Option<Vec<Box<dyn Identity + Send + Sync>>> {
    let mut identities: Vec<Box<dyn Identity + Send + Sync>> = Vec::new();
    for path in paths {
        let metadata = std::fs::metadata(path).ok()?;
        if !metadata.is_file() || metadata.len() > KEY_FILE_BYTES_MAX {
            return None;
        }
        let text = Zeroizing::new(std::fs::read_to_string(path).ok()?);
        if text.starts_with("-----BEGIN") {
            match ssh_identity(text.as_bytes(), None).ok()? {
                key @ ssh::Identity::Unencrypted(_) => identities.push(Box::new(key)),
                _ => return None,
            }
            continue;
        }
        for line in text.lines() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            identities.push(match line.parse::<hybrid::Identity>() {
                Ok(identity) => Box::new(identity),
                Err(_) => Box::new(line.parse::<x25519::Identity>().ok()?),
            });
        }
    }
    Some(identities)
}

/// The number of kinds that a message names.
const KINDS_MAX: usize = 3;
const WHITE_SPACE_BYTES_MAX: usize = 1024;
/// Enough for most headers.
const HEADER_BYTES: usize = 1024;
