//! The output of a run for people and records.

use std::io::Write;

use super::participants::Event;
use crate::args::Args;
use crate::error::Error;
use crate::output::{Record, Table, json, write_out};

/// The output of a run so far: a table or lines of JSON, and its record.
pub(crate) struct Shown<'a> {
    args: &'a Args,
    out: &'a mut dyn Write,
    table: Table,
    record: Option<Record>,
    /// Whether a run has begun; a report consists of several.
    has_begun: bool,
}

impl<'a> Shown<'a> {
    pub(crate) fn new(args: &'a Args, out: &'a mut dyn Write) -> Self {
        Self {
            args,
            out,
            table: Table::default(),
            record: None,
            has_begun: false,
        }
    }

    /// Writes a note, unless the output is JSON.
    pub(crate) fn note(&mut self, text: &str) -> Result<(), Error> {
        if self.args.json {
            return Ok(());
        }
        write_out(self.out, text)
    }

    pub(crate) fn on(&mut self, event: Event<'_>) -> Result<(), Error> {
        match event {
            Event::Started(_) if self.has_begun => {}
            Event::Started(versions) => {
                self.has_begun = true;
                if self.args.record {
                    self.record = Some(Record::open(versions)?);
                }
                self.note(&format!("{}\n\n", versions.join(" · ")))?;
            }
            Event::Measured(row, lines) => {
                if let Some(record) = &mut self.record {
                    lines.iter().try_for_each(|line| record.add(line))?;
                }
                if self.args.json {
                    for line in lines {
                        write_out(self.out, &json(line)?)?;
                    }
                } else {
                    self.table.row(row, lines, self.out)?;
                }
            }
        }
        Ok(())
    }
}
