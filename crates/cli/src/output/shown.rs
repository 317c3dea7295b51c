//! Data for a terminal that the user did not name with `-o -`. They stay in memory until they are complete, and are shown if
//! they are text: a terminal acts on other bytes.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};

use rustix::fs::{MemfdFlags, memfd_create};
use zeroize::Zeroizing;

use crate::failure::{Failure, reason};

pub(super) struct Shown {
    memory: File,
    terminal: File,
}

impl Shown {
    pub(super) fn new(terminal: File) -> io::Result<Self> {
        let memory = memfd_create("oarlock", MemfdFlags::CLOEXEC)?.into();
        Ok(Self { memory, terminal })
    }

    pub(super) fn file(&self) -> &File {
        &self.memory
    }

    /// Whether it holds more than anybody reads on a terminal.
    pub(super) fn is_overfull(&self) -> bool {
        let metadata = self.memory.metadata();
        metadata.is_ok_and(|metadata| metadata.len() > SHOWN_BYTES_MAX)
    }

    pub(super) fn show(mut self) -> Result<(), Failure> {
        if self.is_overfull() {
            return Err(too_long());
        }
        let fail = |error: io::Error| {
            let reason = reason(&error);
            Failure::new(format!("standard output: {reason}"))
        };
        let mut bytes = Zeroizing::new(Vec::with_capacity(SHOWN_BYTES_MAX as usize));
        self.memory.rewind().map_err(fail)?;
        self.memory.read_to_end(&mut bytes).map_err(fail)?;
        if !is_text(&bytes) {
            return Err(Failure::new(
                "standard output is a terminal, and the data are not text: \
                 name a file with -o, or show them all the same with -o -",
            ));
        }
        self.terminal.write_all(&bytes).map_err(fail)
    }
}

pub(super) fn too_long() -> Failure {
    Failure::new(
        "standard output is a terminal, and the data are longer than 16 MiB: \
         name a file with -o, or show them all the same with -o -",
    )
}

/// Whether a terminal shows all of it, and acts only on tabs and line breaks.
fn is_text(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| {
        text.chars()
            .all(|c| !c.is_control() || matches!(c, '\t' | '\n' | '\r'))
    })
}

const SHOWN_BYTES_MAX: u64 = 16 << 20;
