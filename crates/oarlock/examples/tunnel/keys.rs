//! Key files. Keys are never command-line arguments, which every user of the machine can read.
//!
//! ```text
//! # direction, SPI, suite, key with its salt in hexadecimal, and what else both ends agreed on
//! out 0x2f3a1c01 aes256gcm 00112233... esn
//! in 0x7d10be44 aes256gcm 8899aabb... esn window=1024
//! ```
//!
//! AES-GCM must not be used with keys that outlive a run (RFC 4106, 2): sequence numbers, and so nonces, restart with each
//! run. A key file is therefore used only once.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use clap::ValueEnum;
use oarlock::packet::ReplayWindow;
use oarlock::packet::esp::{Association, Suite};
use zeroize::Zeroizing;

use crate::forward::Fault;

/// The keys of both directions.
pub struct Keys {
    pub outbound: Line,
    pub inbound: Line,
}

/// A line of the file, without its direction.
pub struct Line {
    spi: u32,
    suite: Suite,
    key: Zeroizing<Vec<u8>>,
    extended: bool,
    window: usize,
    /// The number of the last packet sent under this key.
    pub after: u64,
}

impl Line {
    pub fn association(&self) -> Association<'_> {
        Association::new(self.spi, self.suite, &self.key)
            .extended_sequence_numbers(self.extended)
            .replay_window(self.window)
    }

    /// Parses a line into its direction and the rest.
    fn parse(text: &str) -> Result<(&str, Self), String> {
        let mut words = text.split_whitespace();
        let mut next = |what: &str| words.next().ok_or_else(|| format!("{what} is missing"));
        let direction = next("the direction")?;
        let spi = next("the SPI")?;
        let digits = spi
            .strip_prefix("0x")
            .ok_or("the SPI has to begin with 0x")?;
        let spi = u32::from_str_radix(digits, 16).map_err(|_| "the SPI is no number of 32 bits")?;
        let suite = next("the suite")?;
        let suite =
            SuiteName::from_str(suite, false).map_err(|_| format!("unknown suite `{suite}`"))?;
        let key = hex::decode(next("the key")?).map_err(|_| "the key is not hexadecimal")?;
        let mut line = Self {
            spi,
            suite: suite.suite(),
            key: Zeroizing::new(key),
            extended: false,
            window: WINDOW,
            after: 0,
        };
        for word in words {
            match word.split_once('=').unwrap_or((word, "")) {
                ("esn", "") => line.extended = true,
                ("window", number) => {
                    let number = number.parse().ok();
                    line.window = number
                        .filter(|number| (1..=ReplayWindow::SIZE_MAX).contains(number))
                        .ok_or_else(|| {
                            format!("a window has 1 to {} packets", ReplayWindow::SIZE_MAX)
                        })?;
                }
                ("after", number) => {
                    line.after = number.parse().map_err(|_| "`after` takes a number")?;
                }
                _ => return Err(format!("unknown word `{word}`")),
            }
        }
        Ok((direction, line))
    }
}

impl Keys {
    /// Reads a key file, which must be readable by this user only.
    pub fn read(path: &Path) -> Result<Self, Fault> {
        let fault = |error: &dyn std::fmt::Display| Fault::of(path.display(), error);
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32)
            .open(path)
            .map_err(|error| fault(&error))?;
        let about = file.metadata().map_err(|error| fault(&error))?;
        if !about.is_file() {
            return Err(fault(&"it is not a regular file"));
        }
        let mode = about.mode() & 0o7777;
        if mode & 0o077 != 0 || about.uid() != rustix::process::geteuid().as_raw() {
            return Err(fault(&format!(
                "others may read it (owner {}, mode {mode:04o}): make it yours with `chmod 600`, and use new \
                 keys if it ever was where they could",
                about.uid()
            )));
        }
        let mut bytes = Zeroizing::new(vec![0; BYTES_MAX]);
        let mut filled = 0;
        loop {
            match (&file)
                .read(&mut bytes[filled..])
                .map_err(|error| fault(&error))?
            {
                0 => break,
                more => filled += more,
            }
        }
        if filled == BYTES_MAX {
            return Err(fault(&format!(
                "a file of keys has less than {BYTES_MAX} bytes"
            )));
        }
        let text = std::str::from_utf8(&bytes[..filled]).map_err(|error| fault(&error))?;
        Self::parse(text).map_err(|error| fault(&error))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut found = [None, None];
        for (number, text) in (1..).zip(text.lines()) {
            let text = text.split('#').next().unwrap_or_default();
            if text.trim().is_empty() {
                continue;
            }
            let (direction, line) =
                Line::parse(text).map_err(|error| format!("line {number}: {error}"))?;
            let place = match direction {
                "out" => &mut found[0],
                "in" => &mut found[1],
                _ => return Err(format!("line {number}: a direction is `out` or `in`")),
            };
            if place.replace(line).is_some() {
                return Err(format!("line {number}: a second `{direction}`"));
            }
        }
        let [Some(outbound), Some(inbound)] = found else {
            return Err("a file of keys has a line `out` and a line `in`".to_owned());
        };
        if outbound.key == inbound.key {
            return Err(
                "both directions have the same key, and so would use nonces twice".to_owned(),
            );
        }
        Ok(Self { outbound, inbound })
    }

    /// Removes the file, so that no other run uses its keys.
    pub fn remove(&self, path: &Path) -> Result<(), Fault> {
        fs::remove_file(path).map_err(|error| {
            Fault::of(
                format!("cannot remove {}, and keys serve once", path.display()),
                error,
            )
        })
    }
}

/// Creates two new files: an association that is `out` in one is `in` in the other.
pub fn write_pair(left: &Path, right: &Path, suite: SuiteName) -> Result<(), Fault> {
    // Enough capacity for both lines: a string that reallocates leaves copies of the keys in memory.
    let mut files =
        [left, right].map(|path| (path, Zeroizing::new(String::with_capacity(BYTES_MAX))));
    for directions in [["out", "in"], ["in", "out"]] {
        let line = new_line(suite)?;
        for ((_, text), direction) in files.iter_mut().zip(directions) {
            text.push_str(direction);
            text.push_str(&line);
        }
    }
    for (path, text) in &files {
        let fault = |error: std::io::Error| Fault::of(path.display(), error);
        let mut file = create(path).map_err(fault)?;
        file.write_all(text.as_bytes()).map_err(fault)?;
    }
    Ok(())
}

fn create(path: &Path) -> std::io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

/// Returns a line without its direction. SPIs below 256 are reserved (RFC 4303, 2.1).
fn new_line(suite: SuiteName) -> Result<Zeroizing<String>, Fault> {
    let mut random = Zeroizing::new(vec![0; size_of::<u32>() + suite.suite().key_bytes()]);
    getrandom::fill(&mut random).map_err(|error| Fault::of("no random bytes", error))?;
    let (spi, key) = random.split_at(size_of::<u32>());
    let spi = spi.iter().fold(0, |spi, byte| spi << 8 | u32::from(*byte)) | 0x100;
    let mut digits = Zeroizing::new(vec![0; 2 * key.len()]);
    hex::encode_to_slice(key, &mut digits).map_err(|error| Fault::of("a key", error))?;
    let digits = std::str::from_utf8(&digits).map_err(|error| Fault::of("a key", error))?;
    let name = suite
        .to_possible_value()
        .map(|value| value.get_name().to_owned());
    let name = name.unwrap_or_default();
    Ok(Zeroizing::new(format!(
        " {spi:#010x} {name} {digits} esn window={WINDOW}\n"
    )))
}

/// The names of suites in key files and options.
#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "lower")]
pub enum SuiteName {
    Aes128Gcm,
    Aes192Gcm,
    Aes256Gcm,
    ChaCha20Poly1305,
}

impl SuiteName {
    fn suite(self) -> Suite {
        match self {
            Self::Aes128Gcm => Suite::Aes128Gcm,
            Self::Aes192Gcm => Suite::Aes192Gcm,
            Self::Aes256Gcm => Suite::Aes256Gcm,
            Self::ChaCha20Poly1305 => Suite::ChaCha20Poly1305,
        }
    }
}

/// The replay window's size, in packets: how far packets may overtake each other.
const WINDOW: usize = 1024;
const BYTES_MAX: usize = 4096;
