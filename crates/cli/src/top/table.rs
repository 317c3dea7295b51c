//! Tables that fit a width. The columns that matter least are left out first, and a column of text grows into the rest.
//!
//! ratatui's own `Table` would not be shorter: it keeps all columns, cuts text without a mark, and draws into a rectangle.
//! The details scroll through several tables line by line, and `--once` prints lines.

use ratatui::style::{Style, Stylize as _};
use ratatui::text::{Line, Span};

use super::row::Health;
use super::units;

/// A table of text, with its titles in the first row.
#[derive(Debug, Default)]
pub(super) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Span<'static>>>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    title: &'static str,
    width: usize,
    is_number: bool,
    /// Without room for all columns, the one of the highest rank is left out first.
    rank: u8,
}

impl Column {
    /// Creates a column of text, which may grow.
    pub(super) const fn text(title: &'static str, width: usize, rank: u8) -> Self {
        Self {
            title,
            width,
            is_number: false,
            rank,
        }
    }

    pub(super) const fn number(title: &'static str, width: usize, rank: u8) -> Self {
        Self {
            is_number: true,
            ..Self::text(title, width, rank)
        }
    }
}

/// Formats a count of faults: bad unless it is zero.
pub(super) fn fault(faults: u64) -> Span<'static> {
    match faults {
        0 => count(0.0),
        _ => count(faults as f64).style(Health::Bad.style()),
    }
}

/// Formats a count: faint if it is zero.
pub(super) fn count(number: f64) -> Span<'static> {
    faint_if_zero(units::count(number), number)
}

pub(super) fn bytes(number: f64) -> Span<'static> {
    faint_if_zero(units::bytes(number), number)
}

fn faint_if_zero(text: String, number: f64) -> Span<'static> {
    match number > 0.0 {
        true => text.into(),
        false => Span::styled(text, FAINT),
    }
}

impl Health {
    pub(super) fn style(self) -> Style {
        match self {
            Self::Good => Style::new().green(),
            Self::Doubtful => Style::new().yellow(),
            Self::Bad => Style::new().red().bold(),
            Self::Gone => FAINT,
        }
    }
}

pub(super) const FAINT: Style = Style::new().dark_gray();

impl Table {
    pub(super) fn new(columns: &[Column]) -> Self {
        let titles = columns.iter().map(|column| column.title.bold());
        Self {
            columns: columns.to_vec(),
            rows: vec![titles.collect()],
        }
    }

    /// Adds a row, with a cell for each column.
    pub(super) fn add(&mut self, cells: Vec<Span<'static>>) {
        self.rows.push(cells);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.len() <= 1
    }

    /// Returns the lines, titles first, each at most `width` columns wide.
    pub(super) fn lines(&self, width: usize) -> Vec<Line<'static>> {
        let mut shown = self.shown(width);
        let taken: usize = shown.iter().map(|(_, width)| width + 1).sum();
        let mut left = (width + 1).saturating_sub(taken);
        for (at, width) in &mut shown {
            // Text grows to what it needs.
            if !self.columns[*at].is_number {
                let needed = self.rows[1..].iter().map(|row| row[*at].width()).max();
                let more = needed.unwrap_or(0).saturating_sub(*width).min(left);
                left -= more;
                *width += more;
            }
        }
        let line = |cells: &Vec<Span<'static>>| {
            let mut line = Line::default();
            for (at, width) in &shown {
                if !line.spans.is_empty() {
                    line.push_span(" ");
                }
                line.push_span(fitted(&cells[*at], *width, self.columns[*at].is_number));
            }
            line
        };
        self.rows.iter().map(line).collect()
    }

    /// Appends the table to `text`, without styles.
    pub(super) fn write_to(&self, text: &mut String, width: usize) {
        for line in self.lines(width) {
            text.push_str(line.to_string().trim_end_matches(' '));
            text.push('\n');
        }
    }

    /// Returns the indices and widths of the columns that fit.
    fn shown(&self, width: usize) -> Vec<(usize, usize)> {
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        let taken = |shown: &[usize]| {
            let widths = shown.iter().map(|at| self.columns[*at].width + 1);
            widths.sum::<usize>().saturating_sub(1)
        };
        while taken(&shown) > width && shown.len() > 1 {
            let last = (0..shown.len()).max_by_key(|at| (self.columns[shown[*at]].rank, *at));
            shown.remove(last.unwrap_or(0));
        }
        shown
            .into_iter()
            .map(|at| (at, self.columns[at].width.min(width)))
            .collect()
    }
}

/// Pads `cell` to `width` columns, or truncates it and marks the cut with `~`.
fn fitted(cell: &Span<'static>, width: usize, is_number: bool) -> Span<'static> {
    let width_of = |text: &str| Span::raw(text).width();
    let mut text = cell.content.to_string();
    if cell.width() > width {
        while width_of(&text) + 1 > width && text.pop().is_some() {}
        text.push('~');
    }
    let fill = " ".repeat(width.saturating_sub(width_of(&text)));
    let text = match is_number {
        true => fill + &text,
        false => text + &fill,
    };
    Span::styled(text, cell.style)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&[
            Column::number("PID", 5, 0),
            Column::text("NAME", 6, 0),
            Column::number("RATE", 6, 1),
            Column::number("MORE", 6, 2),
        ]);
        table.add(vec!["1".into(), "a".into(), "2".into(), "3".into()]);
        table.add(vec![
            "12".into(),
            "a-long-name".into(),
            "1.23k".into(),
            "4".into(),
        ]);
        table
    }

    fn text(width: usize) -> String {
        let mut text = String::new();
        table().write_to(&mut text, width);
        text
    }

    #[test]
    fn text_grows_into_what_is_left_and_is_cut_where_nothing_is() {
        assert_eq!(
            text(40),
            "  PID NAME          RATE   MORE\n    1 a                2      3\n   12 a-long-name  1.23k      4\n"
        );
        assert_eq!(
            text(28),
            "  PID NAME       RATE   MORE\n    1 a             2      3\n   12 a-long-~  1.23k      4\n"
        );
    }

    #[test]
    fn the_column_that_matters_least_goes_first_and_no_line_is_wider() {
        assert_eq!(
            text(19),
            "  PID NAME     RATE\n    1 a           2\n   12 a-lon~  1.23k\n"
        );
        for width in 1..50 {
            for line in table().lines(width) {
                assert!(line.width() <= width, "{width}: {line:?}");
            }
        }
    }

    #[test]
    fn wide_characters_take_two_columns() {
        let fitted = |text, width, is_number| fitted(&Span::raw(text), width, is_number).content;
        assert_eq!(fitted("日本語", 4, false), "日~ ");
        assert_eq!(fitted("日本", 6, true), "  日本");
    }
}
