//! The bytes in an armored file: strict PEM, as age v1 defines it ("ASCII armor").
//!
//! The `age` crate's reader treats armor after white space as a file without armor, keeps lines of any length in memory, and
//! accepts padding before further lines.

use std::io::{self, BufRead as _, BufReader, Read};
use std::{error, fmt};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

/// The first line of an armored file. White space may precede it.
pub const BEGIN: &str = "-----BEGIN AGE ENCRYPTED FILE-----";

/// A reader of the armored bytes in `R`, which it reads to the end.
pub(super) struct Dearmored<R> {
    input: BufReader<R>,
    state: State,
    /// The number of lines begun; `line` is the last of them.
    lines: u64,
    line: Vec<u8>,
    bytes: [u8; LINE_BYTES],
    /// The start of the part of `bytes` that has not been read; `to` is its end.
    from: usize,
    to: usize,
}

#[derive(PartialEq)]
enum State {
    Begin,
    /// The lines of the body. If `is_over`, only the end may follow.
    Body {
        is_over: bool,
    },
    End,
}

/// A malformed line.
#[derive(Debug)]
pub(super) struct Malformed {
    /// The number of the line, from 1 on.
    pub(super) line: u64,
    pub(super) what: &'static str,
}

impl<R: Read> Dearmored<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input: BufReader::new(input),
            state: State::Begin,
            lines: 0,
            line: Vec::new(),
            bytes: [0; LINE_BYTES],
            from: 0,
            to: 0,
        }
    }

    /// Decodes the next line; returns false at the end.
    fn next_line(&mut self) -> io::Result<bool> {
        if self.state == State::Begin {
            self.skip_white_space()?;
            self.read_line()?;
            if self.line != BEGIN.as_bytes() {
                return Err(self.malformed("is not `-----BEGIN AGE ENCRYPTED FILE-----`"));
            }
            self.state = State::Body { is_over: false };
        }
        let State::Body { is_over } = self.state else {
            return Ok(false);
        };
        self.read_line()?;
        if self.line == END.as_bytes() {
            self.state = State::End;
            self.skip_white_space()?;
            return match self.input.fill_buf()? {
                [] => Ok(false),
                _ => Err(self.malformed("follows the end of the file")),
            };
        }
        match self.line.len() {
            0 => return Err(self.malformed("is empty, or the end is missing")),
            1..=COLUMNS if is_over => {
                return Err(self.malformed("follows one that must be the last: it is shorter"));
            }
            1..=COLUMNS => {}
            _ => return Err(self.malformed("is longer than 64 columns")),
        }
        let decoded = BASE64_STANDARD.decode_slice(&self.line, &mut self.bytes);
        self.to = decoded.map_err(|_| self.malformed("is not canonical base64"))?;
        self.from = 0;
        self.state = State::Body {
            is_over: self.to < LINE_BYTES,
        };
        Ok(true)
    }

    /// Reads the next line into `line`, without its line break. A line that is too long is not read in full.
    fn read_line(&mut self) -> io::Result<()> {
        self.lines += 1;
        self.line.clear();
        let mut input = (&mut self.input).take(COLUMNS as u64 + 3);
        input.read_until(b'\n', &mut self.line)?;
        for end in [b'\n', b'\r'] {
            if self.line.last() == Some(&end) {
                self.line.pop();
            }
        }
        Ok(())
    }

    fn skip_white_space(&mut self) -> io::Result<()> {
        for _ in 0..WHITE_SPACE_BYTES_MAX {
            match self.input.fill_buf()? {
                [byte, ..] if byte.is_ascii_whitespace() => {
                    self.lines += u64::from(*byte == b'\n');
                    self.input.consume(1);
                }
                _ => break,
            }
        }
        Ok(())
    }

    fn malformed(&self, what: &'static str) -> io::Error {
        let line = self.lines;
        io::Error::new(io::ErrorKind::InvalidData, Malformed { line, what })
    }
}

impl<R: Read> Read for Dearmored<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.from == self.to && !self.next_line()? {
            return Ok(0);
        }
        let bytes = buffer.len().min(self.to - self.from);
        buffer[..bytes].copy_from_slice(&self.bytes[self.from..][..bytes]);
        self.from += bytes;
        Ok(bytes)
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} {}", self.line, self.what)
    }
}

impl error::Error for Malformed {}

const END: &str = "-----END AGE ENCRYPTED FILE-----";
/// The columns of a full line, and the bytes that they encode.
const COLUMNS: usize = 64;
const LINE_BYTES: usize = 48;
/// The limit of Go's age.
pub(super) const WHITE_SPACE_BYTES_MAX: usize = 1024;
