//! The `oarlock inspect` subcommand: what an age file reveals without a key.

use std::fmt::Write as _;
use std::io::{self, Read, Seek as _};
use std::path::PathBuf;

use oarlock_file::age::armored::{Armored, BEGIN};
use oarlock_file::age::{Header, NONCE_BYTES, TAG_BYTES, plain_bytes};

use crate::failure::{Failure, printable};
use crate::input::Input;
use crate::job::refused;
use crate::stdout;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Files to look at; standard input if absent or `-`
    #[arg(value_name = "FILE")]
    inputs: Vec<PathBuf>,

    /// Print a line of JSON for each file
    #[arg(long)]
    json: bool,
}

pub(crate) const EXAMPLES: &str = "\
Examples:
  oarlock inspect disk.img.age
  oarlock inspect --json *.age | jq .plaintext_bytes";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let stdin = [PathBuf::from("-")];
    let inputs = match args.inputs.is_empty() {
        true => &stdin[..],
        false => &args.inputs,
    };
    let mut failed = 0;
    for path in inputs {
        let text = Input::open(Some(path)).and_then(|input| {
            let found = Findings::of(&input)?;
            if args.json {
                let line = serde_json::to_string(&found);
                return Ok(line.map_err(|error| Failure::new(error.to_string()))? + "\n");
            }
            Ok(found.to_text())
        });
        match text {
            Ok(text) => stdout::write(&text)?,
            Err(failure) if inputs.len() == 1 => return Err(failure),
            Err(failure) => {
                failure.report();
                failed += 1;
            }
        }
    }
    match failed {
        0 => Ok(()),
        _ => Err(Failure::new(format!(
            "{failed} of {} files failed",
            inputs.len()
        ))),
    }
}

/// The findings about a file. None of them is authenticated, since that takes a key.
#[derive(serde::Serialize)]
struct Findings {
    file: String,
    version: &'static str,
    armored: bool,
    /// The kinds of the recipients, in the file's order.
    recipients: Vec<String>,
    /// The number of stanzas that open nothing. They keep readers tolerant of unknown ones.
    grease: usize,
    post_quantum: PostQuantum,
    header_bytes: u64,
    /// The bytes of the payload's nonce and tags.
    overhead_bytes: u64,
    plaintext_bytes: u64,
    /// The size of the file, armor included.
    file_bytes: u64,
}

/// Whether the file key is safe from a quantum computer, judged by the kinds of its stanzas.
#[derive(Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
enum PostQuantum {
    Yes,
    No,
    Unknown,
}

impl Findings {
    fn of(input: &Input) -> Result<Self, Failure> {
        let fail = |error| refused(&input.name, error);
        let reading = |error: io::Error| input.failed(0, &error);
        let mut counted = CountingReader {
            input: io::BufReader::new(&input.file),
            bytes: 0,
        };
        let mut begun = vec![0; BEGIN.len()];
        let mut filled = 0;
        while filled < begun.len() {
            match counted.read(&mut begun[filled..]).map_err(reading)? {
                0 => break,
                count => filled += count,
            }
        }
        begun.truncate(filled);
        let armored = begun.trim_ascii_start().first() == Some(&b'-');
        let mut all = io::Cursor::new(begun).chain(&mut counted);
        let (header, payload_bytes) = if armored {
            let armored = Armored::new(&mut all).map_err(fail)?;
            armored.into_payload_bytes().map_err(fail)?
        } else {
            let header = Header::read(&mut all).map_err(fail)?;
            let rest = match input.size {
                // The header has been parsed; the payload need not be read.
                Some(size) => {
                    let start = (&input.file).stream_position().map_err(reading)?;
                    let ahead = counted.input.buffer().len() as u64;
                    counted.bytes += size.saturating_sub(start);
                    size.saturating_sub(start - ahead)
                }
                None => io::copy(&mut all, &mut io::sink()).map_err(reading)?,
            };
            (header, rest)
        };
        let failed = |what: &str| Failure::new(format!("{}: {what}", input.name));
        let plaintext_bytes = match payload_bytes.checked_sub(NONCE_BYTES as u64) {
            Some(sealed) if sealed >= TAG_BYTES as u64 => plain_bytes(sealed).ok_or_else(|| {
                failed("no age file has this length: it was cut short, or something was appended")
            }),
            _ => Err(failed("incomplete: it ends before its first chunk does")),
        }?;
        let header_bytes = header.bytes();
        let recipients: Vec<_> = header.recipient_kinds().map(str::to_owned).collect();
        Ok(Self {
            file: input.name.clone(),
            version: "age-encryption.org/v1",
            armored,
            post_quantum: post_quantum(&header),
            grease: header.stanzas.len() - recipients.len(),
            recipients,
            header_bytes,
            overhead_bytes: payload_bytes - plaintext_bytes,
            plaintext_bytes,
            file_bytes: match armored {
                true => counted.bytes,
                false => header_bytes + payload_bytes,
            },
        })
    }

    fn to_text(&self) -> String {
        let name = printable(&self.file);
        let mut text = format!("{name}: an age file, version {}", self.version);
        text.push_str(match self.armored {
            true => ", armored\n\n",
            false => "\n\n",
        });
        text.push_str("recipients:\n");
        for kind in &self.recipients {
            // A plugin chooses the names of its stanzas, but the format allows only visible ASCII.
            let _ = writeln!(text, "  {kind}");
        }
        text.push_str(match self.post_quantum {
            PostQuantum::Yes => "safe from quantum computers\n\n",
            PostQuantum::No => "not safe from quantum computers\n\n",
            PostQuantum::Unknown => "unknown whether safe from quantum computers\n\n",
        });
        let sizes = [
            ("header", self.header_bytes),
            ("nonce and tags", self.overhead_bytes),
            ("plaintext", self.plaintext_bytes),
            (
                "armor",
                self.file_bytes - self.header_bytes - self.overhead_bytes - self.plaintext_bytes,
            ),
            ("file", self.file_bytes),
        ];
        for (what, bytes) in sizes {
            if what != "armor" || self.armored {
                let _ = writeln!(text, "{what:<16}{bytes:>20} bytes");
            }
        }
        text
    }
}

fn post_quantum(header: &Header) -> PostQuantum {
    let of = |tag: &str| match tag {
        "mlkem768x25519" | "age-encryption.org/mlkem768p256tag" => PostQuantum::Yes,
        // A passphrase is symmetric.
        "scrypt" => PostQuantum::Yes,
        "X25519" | "ssh-ed25519" | "ssh-rsa" | "piv-p256" | "age-encryption.org/p256tag" => {
            PostQuantum::No
        }
        _ => PostQuantum::Unknown,
    };
    let mut kinds = header.recipient_kinds().map(of).collect::<Vec<_>>();
    kinds.sort_by_key(|kind| match kind {
        PostQuantum::No => 0,
        PostQuantum::Unknown => 1,
        PostQuantum::Yes => 2,
    });
    kinds.first().copied().unwrap_or(PostQuantum::Unknown)
}

/// A reader that counts the bytes read.
struct CountingReader<R> {
    input: R,
    bytes: u64,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.bytes += count as u64;
        Ok(count)
    }
}
