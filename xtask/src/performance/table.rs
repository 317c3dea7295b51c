//! A table of the page.

use std::fmt::Write as _;

use super::line::{Point, Rate, Ratio};
use super::text::{figure, size};

/// The measurements of one kind: a row for each point, a column for each implementation.
pub struct Table {
    pub title: String,
    /// The names of the implementations.
    columns: Vec<String>,
    rows: Vec<Row>,
}

impl Table {
    pub fn new(title: String) -> Self {
        Self {
            title,
            columns: Vec::new(),
            rows: Vec::new(),
        }
    }

    pub fn has_row(&self, point: &Point) -> bool {
        self.rows.iter().any(|row| row.point == *point)
    }

    pub fn rate(&mut self, point: Point, rate: &Rate) {
        let mut text = figure(rate.median);
        if let (Some(p50), Some(p99)) = (rate.latency_us_p50, rate.latency_us_p99) {
            let _ = write!(text, "; {} / {} µs", figure(p50), figure(p99));
        }
        self.cell(point, &rate.implementation).rate = text;
    }

    pub fn ratio(&mut self, point: Point, ratio: &Ratio) {
        let name = match ratio.vs_depth {
            Some(depth) => format!("{} with {depth} in flight", ratio.vs),
            None => ratio.vs.clone(),
        };
        self.cell(point, &name).ratio = format!("{}x", figure(ratio.ratio_median));
    }

    fn cell(&mut self, point: Point, name: &str) -> &mut Cell {
        if !self.columns.iter().any(|column| column == name) {
            self.columns.push(name.to_owned());
        }
        let rows = &mut self.rows;
        let at = rows.iter().position(|row| row.point == point);
        let at = at.unwrap_or_else(|| {
            let cells = Vec::new();
            rows.push(Row { point, cells });
            rows.len() - 1
        });
        let cells = &mut rows[at].cells;
        let at = cells.iter().position(|cell| cell.name == name);
        let at = at.unwrap_or_else(|| {
            cells.push(Cell {
                name: name.to_owned(),
                rate: String::new(),
                ratio: String::new(),
            });
            cells.len() - 1
        });
        &mut cells[at]
    }

    pub fn write(&self, out: &mut String) {
        let has_depths = self.rows.iter().any(|row| row.point.depth > 1);
        let depth = |text: &str| match has_depths {
            true => format!(" {text} |"),
            false => String::new(),
        };
        let _ = writeln!(out, "#### {}\n", self.title);
        let _ = write!(out, "| case | bytes |{}", depth("in flight"));
        for column in &self.columns {
            let _ = write!(out, " {column} |");
        }
        let _ = write!(out, "\n|---|--:|{}", depth("--:").replace(' ', ""));
        out.push_str(&"--:|".repeat(self.columns.len()));
        out.push('\n');
        for row in &self.rows {
            let Point { case, bytes, .. } = &row.point;
            let in_flight = depth(&row.point.depth.to_string());
            let _ = write!(out, "| {case} | {} |{in_flight}", size(*bytes));
            for column in &self.columns {
                let cell = row.cells.iter().find(|cell| cell.name == *column);
                let _ = write!(out, " {} |", cell.map(Cell::text).unwrap_or_default());
            }
            out.push('\n');
        }
        out.push('\n');
    }
}

struct Row {
    point: Point,
    cells: Vec<Cell>,
}

/// One implementation at one point.
struct Cell {
    name: String,
    rate: String,
    ratio: String,
}

impl Cell {
    fn text(&self) -> String {
        match (self.rate.is_empty(), self.ratio.is_empty()) {
            (false, false) => format!("{} ({})", self.rate, self.ratio),
            (false, true) => self.rate.clone(),
            (true, _) => self.ratio.clone(),
        }
    }
}
