//! Tables that fit a width. The columns that matter least are left out first, and a column of text grows into the rest.

use ratatui::text::Span;

use super::row::Health;

/// A table of text.
#[derive(Debug, Default)]
pub(super) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    title: &'static str,
    width: usize,
    is_number: bool,
    /// Without room for all columns, the one of the highest rank is left out first.
    rank: u8,
}

/// A field of a table.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) text: String,
    pub(super) tone: Tone,
}

/// The style of a field, if there are colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tone {
    #[default]
    Plain,
    Title,
    Faint,
    Good,
    Doubtful,
    Bad,
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
            title,
            width,
            is_number: true,
            rank,
        }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self {
            text,
            tone: Tone::Plain,
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl Cell {
    /// Formats a count of faults: bad unless it is zero.
    pub(super) fn fault(count: u64) -> Self {
        let tone = if count > 0 { Tone::Bad } else { Tone::Faint };
        Self {
            text: super::units::count(count as f64),
            tone,
        }
    }

    /// Formats a count: faint if it is zero.
    pub(super) fn count(number: f64) -> Self {
        let tone = if number > 0.0 {
            Tone::Plain
        } else {
            Tone::Faint
        };
        Self {
            text: super::units::count(number),
            tone,
        }
    }

    pub(super) fn bytes(number: f64) -> Self {
        let tone = if number > 0.0 {
            Tone::Plain
        } else {
            Tone::Faint
        };
        Self {
            text: super::units::bytes(number),
            tone,
        }
    }

    pub(super) fn health(text: String, health: Health) -> Self {
        let tone = match health {
            Health::Good => Tone::Good,
            Health::Doubtful => Tone::Doubtful,
            Health::Bad => Tone::Bad,
            Health::Gone => Tone::Faint,
        };
        Self { text, tone }
    }
}

impl Table {
    pub(super) fn new(columns: &[Column]) -> Self {
        Self {
            columns: columns.to_vec(),
            rows: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the lines, titles first, each at most `width` columns wide.
    pub(super) fn lines(&self, width: usize) -> Vec<Vec<Cell>> {
        let shown = self.shown(width);
        let taken: usize = shown.iter().map(|(_, width)| width + 1).sum();
        let mut left = (width + 1).saturating_sub(taken);
        let widths: Vec<_> = shown
            .iter()
            .map(|(at, width)| {
                // Text grows to what it needs.
                let needed = || {
                    self.rows
                        .iter()
                        .filter_map(|row| Some(span_width(&row.get(*at)?.text)))
                        .max()
                };
                let more = match self.columns[*at].is_number {
                    true => 0,
                    false => needed().unwrap_or(0).saturating_sub(*width).min(left),
                };
                left -= more;
                (*at, width + more)
            })
            .collect();
        let titles = self.columns.iter().map(|column| Cell {
            text: column.title.into(),
            tone: Tone::Title,
        });
        let titles: Vec<_> = titles.collect();
        let line = |cells: &Vec<Cell>| {
            let mut line = Vec::new();
            for (number, (at, width)) in widths.iter().enumerate() {
                if number > 0 {
                    line.push(Cell::from(" "));
                }
                let empty = Cell::from("");
                let cell = cells.get(*at).unwrap_or(&empty);
                line.push(Cell {
                    text: fitted(&cell.text, *width, self.columns[*at].is_number),
                    tone: cell.tone,
                });
            }
            line
        };
        std::iter::once(&titles)
            .chain(&self.rows)
            .map(line)
            .collect()
    }

    /// Appends the table to `text`, without styles.
    pub(super) fn write_to(&self, text: &mut String, width: usize) {
        for line in self.lines(width) {
            for cell in line {
                text.push_str(&cell.text);
            }
            text.truncate(text.trim_end_matches(' ').len());
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

/// Pads `text` to `width` columns, or truncates it and marks the cut with `~`.
fn fitted(text: &str, width: usize, is_number: bool) -> String {
    let is = span_width(text);
    if is <= width {
        let fill = " ".repeat(width - is);
        return if is_number {
            fill + text
        } else {
            text.to_owned() + &fill
        };
    }
    let mut cut = String::new();
    for c in text.chars() {
        if span_width(&cut) + span_width(c.encode_utf8(&mut [0; 4])) + 1 > width {
            break;
        }
        cut.push(c);
    }
    cut.push('~');
    let fill = width.saturating_sub(span_width(&cut));
    cut + &" ".repeat(fill)
}

fn span_width(text: &str) -> usize {
    Span::raw(text).width()
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
                let wide: usize = line.iter().map(|cell| span_width(&cell.text)).sum();
                assert!(wide <= width, "{width}: {line:?}");
            }
        }
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(fitted("日本語", 4, false), "日~ ");
        assert_eq!(fitted("日本", 6, true), "  日本");
    }
}
